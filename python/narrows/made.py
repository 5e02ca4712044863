"""How a folder of results was made: everything that is needed to make it again."""

from __future__ import annotations

import json
import platform
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from narrows import _core
from narrows.errors import Error
from narrows.files import MADE, digest, read_text
from narrows.law_files import file_of
from narrows.metrics import numbers_of_runs


def _is_list_of(kind: type, least: int) -> Callable[[Any], bool]:
    def check(given: Any) -> bool:
        return (
            isinstance(given, list)
            and len(given) >= least
            and all(isinstance(item, kind) and not isinstance(item, bool) for item in given)
        )

    return check


def _are_cases(given: Any) -> bool:
    return _is_list_of(list, 1)(given) and all(
        len(case) == 2 and isinstance(case[0], dict) and isinstance(case[1], str) for case in given
    )


def _are_seeds(given: Any) -> bool:
    return _is_list_of(int, 1)(given) and all(0 <= seed < 2**64 for seed in given)


KINDS = (
    "run",
    "compare",
    "sweep",
    "lab",
    "conform",
    "score",
    "arena",
    "seek",
    "buffer",
    "theory",
    "why",
)
# What each field of a record must be.
_RECORD: dict[str, Callable[[Any], bool]] = {
    "kind": lambda given: given in KINDS,
    "cases": _are_cases,
    "seeds": _are_seeds,
    "until": lambda given: given is None or (isinstance(given, list) and len(given) == 3),
    "command": _is_list_of(str, 1),
    "version": lambda given: isinstance(given, str),
    "engine": lambda given: isinstance(given, str),
}


def laws_of(cases: Sequence[tuple[dict[str, Any], str]]) -> dict[str, str]:
    """Return the SHA-256 of each file that a flow's ``cc`` names, by its path; none of a lost one.

    Parameters
    ----------
    cases
        What was said of each scenario, and the scenario as TOML; empty for a capture.

    Returns
    -------
    dict of str to str
        As the files are now.
    """
    laws = {cc for _, text in cases if text for cc in _core.Scenario(text).laws}
    found = {}
    for path in sorted(path for path in map(file_of, laws) if path is not None):
        with suppress(OSError):
            found[path] = digest(Path(path))
    return found


@dataclass(frozen=True)
class Made:
    """A command's scenarios and seeds, and what it was run with.

    Attributes
    ----------
    kind
        The command: ``run``, ``compare``, ``sweep``, ``lab``, ``conform``, ``score``, ``arena``,
        ``seek``, ``buffer``, ``theory`` or ``why``.
    cases
        What was said of each scenario by name, and the scenario as TOML.
    seeds
        The seeds of each scenario.
    until
        Of a sweep: the share, the metric and the most seeds of its criterion for enough seeds.
    command
        The command line.
    version, engine
        Those of narrows.
    host
        The system and the kind of processor.
    files
        The SHA-256 of each file that was written, by name.
    laws
        The SHA-256 of each file that a flow's ``cc`` names, by its path, as it was when this was
        made, which is before the runs.
    """

    kind: str
    cases: list[tuple[dict[str, Any], str]]
    seeds: list[int]
    until: tuple[float, str, int] | None = None
    command: list[str] = field(default_factory=lambda: ["narrows", *sys.argv[1:]])
    version: str = field(default_factory=lambda: import_module("narrows").__version__)
    engine: str = field(default_factory=_core.engine)
    host: str = field(default_factory=lambda: f"{platform.system()} on {platform.machine()}")
    files: dict[str, str] = field(default_factory=dict)
    laws: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Take the laws' digests, unless they are told."""
        if not self.laws:
            self.laws.update(laws_of(self.cases))

    def to_json(self, files: dict[str, str]) -> str:
        """Return it as the contents of ``made.json`` beside these files."""
        return json.dumps(asdict(self) | {"files": files}, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def load(cls, folder: Path) -> Made:
        """Read how a folder was made.

        Raises
        ------
        Error
            If the folder has no record of that, or one that cannot be read.
        """
        file = folder / MADE
        try:
            text = read_text(file)
        except FileNotFoundError:
            raise Error(
                f"{folder}: there is no {MADE}; name a folder that narrows -o wrote"
            ) from None
        return cls.parse(text, file)

    @classmethod
    def parse(cls, text: str, file: Path) -> Made:
        """Read how a folder was made from a record that a file holds.

        Raises
        ------
        Error
            If it is not a record; the message names the file.
        """
        try:
            return cls._of(json.loads(text))
        except RecursionError:
            raise Error(f"{file}: it is nested too deeply for a record of narrows") from None
        except (ValueError, TypeError, KeyError) as error:
            raise Error(f"{file}: it does not say how a folder was made: {error}") from None

    @classmethod
    def _of(cls, given: Any) -> Made:
        """Check each field of a record."""
        for name, is_right in _RECORD.items():
            if not is_right(given[name]):
                raise ValueError(f"{name}: {str(given[name])[:60]!r} is not what narrows writes")
        cases = [(said, text) for said, text in given["cases"]]
        # A capture is of no scenario. Laws' files are read by who runs it, if they are still there.
        for _, text in cases if given["kind"] != "why" else []:
            _core.Scenario(text)
        until = None
        if given["until"]:
            within, metric, most_seeds = given["until"]
            if not 0 < within < 1 or metric not in numbers_of_runs() or most_seeds < 1:
                raise ValueError(f"until: {given['until']} is not a criterion")
            until = (float(within), metric, int(most_seeds))
        told = {name: given[name] for name in ("kind", "seeds", "command", "version", "engine")}
        files, laws = given.get("files", {}), given.get("laws", {})
        for name, digests in (("files", files), ("laws", laws)):
            if not isinstance(digests, dict) or not all(
                isinstance(told, str) for told in digests.values()
            ):
                raise ValueError(f"{name}: {str(digests)[:60]!r} is not what narrows writes")
        host = given.get("host", "")
        return cls(cases=cases, until=until, files=files, laws=laws, host=host, **told)

    @property
    def line(self) -> str:
        """The command line as it was typed."""
        return shlex.join(self.command)

    def __str__(self) -> str:
        seeds = self.seeds
        whole = seeds == list(range(seeds[0], seeds[-1] + 1)) and len(seeds) > 2
        told = f"{seeds[0]} to {seeds[-1]}" if whole else ", ".join(map(str, seeds))
        return (
            f"{self.line}\nnarrows {self.version}, engine {self.engine}"
            f"{f', {self.host}' if self.host else ''}; seed{'s' if len(seeds) > 1 else ''} {told}"
        )

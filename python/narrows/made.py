"""How a folder of results was made: everything that is needed to make it again."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from narrows import _core
from narrows._files import MADE
from narrows.errors import Error
from narrows.scenario import Scenario


@dataclass(frozen=True)
class Made:
    """A command's scenarios and seeds, and what it was run with.

    Attributes
    ----------
    kind
        The command: ``run``, ``compare``, ``sweep`` or ``lab``.
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
    """

    kind: str
    cases: list[tuple[dict[str, Any], str]]
    seeds: list[int]
    until: tuple[float, str, int] | None = None
    command: list[str] = field(default_factory=lambda: ["narrows", *sys.argv[1:]])
    version: str = field(default_factory=lambda: import_module("narrows").__version__)
    engine: str = field(default_factory=_core.engine)

    def to_json(self) -> str:
        """Return it as the contents of ``made.json``."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"

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
            given = json.loads(file.read_text(encoding="utf-8"))
            cases = [(said, text) for said, text in given.pop("cases")]
            made = cls(cases=cases, **given)
            for _, text in made.cases:
                Scenario.from_toml(text)
        except FileNotFoundError:
            raise Error(
                f"{folder}: there is no {MADE}; name a folder that narrows -o wrote"
            ) from None
        except (ValueError, TypeError, KeyError) as error:
            raise Error(f"{file}: it does not say how a folder was made: {error}") from None
        return made

    @property
    def line(self) -> str:
        """The command line as it was typed."""
        return shlex.join(self.command)

    def __str__(self) -> str:
        seeds = self.seeds
        whole = seeds == list(range(seeds[0], seeds[-1] + 1)) and len(seeds) > 2
        told = f"{seeds[0]} to {seeds[-1]}" if whole else ", ".join(map(str, seeds))
        return (
            f"{self.line}\nnarrows {self.version}, engine {self.engine}; "
            f"seed{'s' if len(seeds) > 1 else ''} {told}"
        )

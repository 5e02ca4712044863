"""Numbers of runs, kept in a file as they come: a score that was stopped goes on from there."""

from __future__ import annotations

import hashlib
import json
import math
import threading
from collections.abc import Callable
from pathlib import Path

from narrows import _core
from narrows.check import numbers
from narrows.errors import Error
from narrows.scenario import Scenario
from narrows.trace_files import digests

Numbers = list[list[float]]


class Store:
    """Numbers by scenario and seed, a line of JSON each.

    Parameters
    ----------
    path
        The file; None keeps nothing. Lines of another engine, and a last one that was cut off, do
        not count.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._known: dict[str, Numbers] = {}
        self._is_cut = False
        if path is not None and path.parent.exists() and not path.parent.is_dir():
            raise Error(f"--cache: {path.parent} is a file; name a folder")
        if path is not None and path.exists():
            if not path.is_file():
                raise Error(f"{path}: it is no file; name another folder with --cache")
            text = path.read_text(encoding="utf-8", errors="replace")
            self._is_cut = bool(text) and not text.endswith("\n")
            for line in text.splitlines():
                self._learn(line)

    def __len__(self) -> int:
        """Return how many runs are known."""
        return len(self._known)

    def get(self, key: tuple[str, int] | None) -> Numbers | None:
        """Return what is known of a run.

        Parameters
        ----------
        key
            Scenario and seed; None for what is not kept.

        Returns
        -------
        list of list of float, or None
            None if it is not known.
        """
        return None if key is None else self._known.get(_digest(*key))

    def put(self, key: tuple[str, int] | None, found: Numbers) -> None:
        """Keep what came of a run.

        Parameters
        ----------
        key
            Scenario and seed; None for what is not kept.
        found
            Numbers and bounds.
        """
        if key is None or self._path is None:
            return
        line = json.dumps({"run": _digest(*key), "found": _plain(found)})
        with self._lock:
            if self._is_cut:
                line, self._is_cut = f"\n{line}", False
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")

    def numbers(
        self,
        scenario: Scenario,
        checked: _core.Checked,
        seed: int,
        watch: Callable[[float], None],
        references: dict[str, _core.Run] | None = None,
    ) -> Numbers:
        """Return the numbers of a run, which is made and kept if they are not known.

        Parameters
        ----------
        scenario
            What is run.
        checked
            The same, as `narrows.check.lean` returns it.
        seed, watch, references
            As for `narrows.check.numbers`.

        Returns
        -------
        list of list of float
            A number and what its bound amounts to, for each expectation.

        Raises
        ------
        RuntimeError
            If the run fails.
        """
        key = key_of(scenario, seed)
        known = self.get(key)
        if known is None:
            known = numbers(checked, seed, watch, {} if references is None else references)
            self.put(key, known)
        return known

    def _learn(self, line: str) -> None:
        try:
            record = json.loads(line)
            self._known[str(record["run"])] = _numbers(record["found"])
        except (ValueError, KeyError, TypeError):
            # It was cut off, or is not ours.
            return


def key_of(scenario: Scenario, seed: int) -> tuple[str, int] | None:
    """Return what the numbers of a run are kept by.

    Parameters
    ----------
    scenario, seed
        Of the run.

    Returns
    -------
    tuple or None
        Scenario with the digests of the files that it names, and seed; None with a law that is not
        narrows' own, whose code may change.
    """
    if scenario.controllers:
        return None
    return scenario.to_toml() + digests(scenario.core), seed


def _digest(text: str, seed: int) -> str:
    return hashlib.sha256(f"{_core.engine()}\n{seed}\n{text}".encode()).hexdigest()[:32]


def _plain(found: Numbers) -> list[list[float | str]]:
    # JSON has no infinity and no NaN.
    return [[it if math.isfinite(it) else repr(it) for it in pair] for pair in found]


def _numbers(found: list[list[float | str]]) -> list[list[float]]:
    return [[float(value), float(bound)] for value, bound in found]

"""Numbers of runs, kept in a file as they come: a score that was stopped goes on from there."""

from __future__ import annotations

import hashlib
import json
import math
import threading
from pathlib import Path
from typing import Any

from narrows import _core

Numbers = list[list[float]] | str


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
        if path is not None and path.exists():
            text = path.read_text(encoding="utf-8")
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
        list of list of float, str or None
            Numbers, why it failed, or None if it is not known.
        """
        return None if key is None else self._known.get(_digest(*key))

    def put(self, key: tuple[str, int] | None, numbers: Numbers) -> None:
        """Keep what came of a run.

        Parameters
        ----------
        key
            Scenario and seed; None for what is not kept.
        numbers
            Numbers and bounds, or why it failed.
        """
        if key is None or self._path is None:
            return
        line = json.dumps({"run": _digest(*key), "found": _plain(numbers)})
        with self._lock:
            if self._is_cut:
                line, self._is_cut = f"\n{line}", False
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")

    def _learn(self, line: str) -> None:
        try:
            record = json.loads(line)
            run, found = record["run"], record["found"]
        except (ValueError, KeyError, TypeError):
            return
        self._known[run] = found if isinstance(found, str) else _numbers(found)


def _digest(text: str, seed: int) -> str:
    return hashlib.sha256(f"{_core.engine()}\n{seed}\n{text}".encode()).hexdigest()[:32]


def _plain(numbers: Numbers) -> Any:
    if isinstance(numbers, str):
        return numbers
    # JSON has no infinity and no NaN.
    return [[it if math.isfinite(it) else repr(it) for it in pair] for pair in numbers]


def _numbers(found: list[list[float | str]]) -> list[list[float]]:
    return [[float(it) for it in pair] for pair in found]

"""Finished runs, kept by content: one file a run, written whole or not at all, and found damaged where it is."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from narrows import _core
from narrows.output import write_at_once
from narrows.scenario import Scenario

DEFAULT = Path(".narrows")
_PLACE = b"0" * 64
# A temporary file of a writer that is long dead.
_STALE_SECONDS = 3600.0


class State(Enum):
    """What there is of a run."""

    DONE = "done"
    MISSING = "missing"
    DAMAGED = "damaged"


@dataclass(frozen=True)
class Entry:
    """One file of a cache."""

    path: Path
    bytes: int
    modified: float

    @property
    def key(self) -> str:
        """The run's key."""
        return self.path.stem


class Cache:
    """A folder of finished runs: ``runs/ab/abcd….parquet``, a row a file.

    Parameters
    ----------
    path
        Made when something is written. Any number of processes may share it, on network file systems too.

    Examples
    --------
    >>> import narrows as nw
    >>> scenario = nw.dumbbell("10Mbps", "40ms", "20p")
    >>> Cache(Path("nowhere")).state(key_of(canonical(scenario), seed=1))
    <State.MISSING: 'missing'>
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def file(self, key: str) -> Path:
        """Where a run's file is, or would be."""
        return self.path / "runs" / key[:2] / f"{key}.parquet"

    def state(self, key: str) -> State:
        """Whether a run is there, whole."""
        try:
            contents = self.file(key).read_bytes()
        except FileNotFoundError:
            return State.MISSING
        return State.DONE if is_whole(contents) else State.DAMAGED

    def put(self, key: str, contents: bytes) -> None:
        """Keep a run's file, sealed: written beside, synced, renamed."""
        write_at_once(self.file(key), sealed(contents), sync=True)

    def entries(self) -> Iterator[Entry]:
        """Every file of a finished run, in the order of their names."""
        for path in sorted(self.path.glob("runs/*/*.parquet")):
            try:
                found = path.stat()
            except FileNotFoundError:
                continue
            yield Entry(path, found.st_size, found.st_mtime)

    def leftovers(self) -> Iterator[Path]:
        """Temporary files of writers that were killed."""
        for path in sorted(self.path.glob("runs/*/*.tmp.*")):
            try:
                if time.time() - path.stat().st_mtime > _STALE_SECONDS:
                    yield path
            except FileNotFoundError:
                continue


def canonical(scenario: Scenario, series: bool = False) -> str:
    """Write a scenario so that equal ones are equal texts: units in one form, defaults spelled out, no seed, no traces.

    Parameters
    ----------
    scenario
        Checked.
    series
        Keep time series even where the scenario does not say how often to sample.
    """
    fields = scenario.fields
    for name in ("seed", "trace"):
        fields.pop(name, None)
    if not series:
        fields.setdefault("sample", "0s")
    return _core.to_toml(json.dumps(fields))


def key_of(scenario: str, seed: int) -> str:
    """Name a run: the SHA-256 of engine, seed and canonical scenario."""
    return hashlib.sha256(f"{_core.engine()}\n{seed}\n{scenario}".encode()).hexdigest()


def sealed(contents: bytes) -> bytes:
    """Put a file's digest in the place for it."""
    digest = hashlib.sha256(contents).hexdigest().encode()
    head, _, tail = contents.rpartition(_PLACE)
    return head + digest + tail


def is_whole(contents: bytes) -> bool:
    """Whether a sealed file is as it was written, to the last bit."""
    place = contents.rfind(b"narrows.seal")
    if place < 0:
        return False
    digest = _digest_after(contents, place)
    if digest is None:
        return False
    start, found = digest
    blank = contents[:start] + _PLACE + contents[start + len(_PLACE) :]
    return hashlib.sha256(blank).hexdigest().encode() == found


def _digest_after(contents: bytes, place: int) -> tuple[int, bytes] | None:
    """The digest is the next 64 hexadecimal digits, a few bytes of Thrift later."""
    name_ends = place + len(b"narrows.seal")
    for start in range(name_ends, min(name_ends + 16, len(contents) - 64)):
        found = contents[start : start + 64]
        if all(byte in b"0123456789abcdef" for byte in found):
            return start, found
    return None


def metadata(path: Path) -> dict[str, Any]:
    """Read what a run's file says of itself: key, engine, scenario, and the scalars of its summary."""
    import polars as pl  # noqa: PLC0415

    names = ["key", "engine", "scenario", "cc", "pacing", "seed", "utilisation"]
    return pl.read_parquet(path, columns=names).row(0, named=True)

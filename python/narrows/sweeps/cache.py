"""Finished runs, kept by content.

Each run is one file. It is written completely or not at all, and any damage to it is detected.
"""

from __future__ import annotations

import hashlib
import shutil
import stat
import tempfile
import time
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from narrows import _core
from narrows.errors import SweepError
from narrows.files import write_at_once
from narrows.scenario import Scenario

DEFAULT = Path(".narrows")
_PLACE = b"0" * 64
# A temporary file older than this belongs to a writer that died long ago.
_STALE_SECONDS = 3600.0


class State(Enum):
    """The state of a run in a cache."""

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
    """A folder of finished runs in ``runs/ab/abcd….parquet``, files of one row each.

    Parameters
    ----------
    path
        The folder, which is created when something is written. Any number of processes may share
        it, on network file systems too.

    Examples
    --------
    >>> import narrows as nw
    >>> scenario = nw.dumbbell("10Mbps", "40ms", "20p")
    >>> Cache(Path("nowhere")).state(key_of(canonical(scenario).to_toml(), seed=1))
    <State.MISSING: 'missing'>
    """

    def __init__(self, path: Path) -> None:
        if path.exists() and not path.is_dir():
            raise NotADirectoryError(f"{path} is a file, not a folder of runs; name another cache")
        self.path = path

    def file(self, key: str) -> Path:
        """Return the path of a run's file, whether or not the file exists.

        Parameters
        ----------
        key
            The key of a run.

        Returns
        -------
        Path
            In the folder of the cache.
        """
        return self.path / "runs" / key[:2] / f"{key}.parquet"

    def state(self, key: str) -> State:
        """Return whether a run is finished, missing or damaged.

        Parameters
        ----------
        key
            The key of a run.

        Returns
        -------
        State
            ``DONE``, ``MISSING`` or ``DAMAGED``.

        Raises
        ------
        SweepError
            If a folder is where the run belongs.
        """
        try:
            contents = self.file(key).read_bytes()
        except FileNotFoundError:
            return State.MISSING
        except IsADirectoryError:
            raise SweepError(
                f"{self.file(key)}: a folder is where a run belongs; remove it"
            ) from None
        return State.DONE if is_whole(contents, key) else State.DAMAGED

    def put(self, key: str, contents: bytes) -> None:
        """Keep a run's file: seal it, write it under a temporary name, sync it and rename it.

        Parameters
        ----------
        key
            The key of the run.
        contents
            Its Parquet file, with room for the seal.
        """
        write_at_once(self.file(key), sealed(contents, key), sync=True)

    def entries(self) -> Iterator[Entry]:
        """Yield every file of a finished run, in order of name.

        Yields
        ------
        Entry
            With key, size in bytes and time of writing.
        """
        for path in sorted(self.path.glob("runs/*/*.parquet")):
            try:
                found = path.stat()
            except FileNotFoundError:
                continue
            if not stat.S_ISREG(found.st_mode):
                continue
            yield Entry(path, found.st_size, found.st_mtime)

    def leftovers(self) -> Iterator[Path]:
        """Yield the temporary files of writers that were killed.

        Yields
        ------
        Path
            In the folder of the cache.
        """
        for path in sorted(self.path.glob("runs/*/*.tmp.*")):
            try:
                if time.time() - path.stat().st_mtime > _STALE_SECONDS:
                    yield path
            except FileNotFoundError:
                continue


class Passing(Cache):
    """A cache within another's folder that is gone once nobody uses it any more."""

    def __init__(self, beside: Cache) -> None:
        beside.path.mkdir(parents=True, exist_ok=True)
        super().__init__(Path(tempfile.mkdtemp(prefix="passing-", dir=beside.path)))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def canonical(scenario: Scenario, series: bool = False) -> Scenario:
    """Return a scenario in the form in which equal scenarios are equal texts, unchecked.

    Units have one form, what was not given is not written, and the seed and the traces are left
    out: a new field of scenarios changes no text that is kept.

    Parameters
    ----------
    scenario
        The scenario, checked or not.
    series
        Whether to keep time series even if the scenario has no ``sample``.

    Returns
    -------
    Scenario
        Not checked.
    """
    return Scenario.draft(scenario.core.canonical(series), scenario.controllers)


def key_of(scenario: str, seed: int) -> str:
    """Compute a run's key: the SHA-256 of engine, seed and canonical scenario.

    Parameters
    ----------
    scenario
        A canonical scenario as text.
    seed
        The seed.

    Returns
    -------
    str
        In hexadecimal.
    """
    return hashlib.sha256(f"{_core.engine()}\n{seed}\n{scenario}".encode()).hexdigest()


def sealed(contents: bytes, key: str) -> bytes:
    """Write the digest of a file and its run's key over the placeholder for it.

    Parameters
    ----------
    contents
        A file with a placeholder.
    key
        The key of its run.

    Returns
    -------
    bytes
        Of the same length.
    """
    digest = _digest(contents, key)
    head, _, tail = contents.rpartition(_PLACE)
    return head + digest + tail


def is_whole(contents: bytes, key: str) -> bool:
    """Return whether a sealed file is, bit for bit, as it was written, and the run of this key.

    Parameters
    ----------
    contents
        A file.
    key
        The key of the run that it should be.

    Returns
    -------
    bool
        Whether it is.
    """
    place = contents.rfind(b"narrows.seal")
    if place < 0:
        return False
    digest = _digest_after(contents, place)
    if digest is None:
        return False
    start, found = digest
    blank = contents[:start] + _PLACE + contents[start + len(_PLACE) :]
    return _digest(blank, key) == found


def _digest(contents: bytes, key: str) -> bytes:
    digest = hashlib.sha256(key.encode())
    digest.update(contents)
    return digest.hexdigest().encode()


def _digest_after(contents: bytes, place: int) -> tuple[int, bytes] | None:
    """Find the digest: the next 64 hexadecimal digits, a few bytes of Thrift after the name."""
    name_ends = place + len(b"narrows.seal")
    for start in range(name_ends, min(name_ends + 16, len(contents) - 64)):
        found = contents[start : start + 64]
        if all(byte in b"0123456789abcdef" for byte in found):
            return start, found
    return None


def metadata(path: Path) -> dict[str, Any]:
    """Read from a run's file its key, engine and scenario, and some scalars of its summary.

    Parameters
    ----------
    path
        A whole file.

    Returns
    -------
    dict
        By name.
    """
    import polars as pl  # noqa: PLC0415

    names = ["key", "engine", "scenario", "cc", "pacing", "seed", "utilisation"]
    return pl.read_parquet(path, columns=names).row(0, named=True)

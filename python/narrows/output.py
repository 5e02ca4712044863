"""An output folder: made only when there is something to write, never overwritten by accident."""

from __future__ import annotations

import io
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from narrows._core import ScenarioError

if TYPE_CHECKING:
    import polars as pl


def write_at_once(file: Path, contents: bytes, *, sync: bool = False) -> None:
    """Write a file beside its place and move it there: it is whole or not there, whoever else writes it.

    Parameters
    ----------
    file
        Where; folders above it are made.
    contents
        All of it.
    sync
        Wait until the disk has it before it is moved.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_name(f"{file.stem}.tmp.{os.getpid()}.{threading.get_ident()}")
    try:
        with beside.open("wb") as stream:
            stream.write(contents)
            if sync:
                stream.flush()
                os.fsync(stream.fileno())
        beside.replace(file)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def parquet(frame: pl.DataFrame) -> bytes:
    """Give a data frame as the bytes of a Parquet file."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


class Folder:
    """A folder for one command's results.

    Parameters
    ----------
    path
        Where.
    force
        Write into it even where it exists.

    Raises
    ------
    ScenarioError
        Where it exists and `force` is not set.
    """

    def __init__(self, path: Path, force: bool) -> None:
        if path.exists() and not path.is_dir():
            raise ScenarioError(f"{path} is a file; give a folder")
        if path.exists() and any(path.iterdir()) and not force:
            raise ScenarioError(
                f"{path} exists and is not empty; give another folder, or --force to write into it"
            )
        self.path = path
        self._written: list[str] = []

    def make(self) -> None:
        """Make the folder and those above it."""
        self.path.mkdir(parents=True, exist_ok=True)

    def text(self, name: str, contents: str) -> None:
        """Write a text file, whole or not at all."""
        self.data(name, contents.encode())

    def data(self, name: str, contents: bytes) -> None:
        """Write a file, whole or not at all."""
        write_at_once(self.path / name, contents)
        self._written.append(name)

    def note(self, names: list[str]) -> None:
        """Remember files that something else wrote here."""
        self._written += [Path(name).name for name in names]

    def written(self) -> list[str]:
        """Names of the files written, tables of one kind counted together."""
        tables = [name for name in self._written if name.endswith(".parquet")]
        others = [name for name in self._written if not name.endswith(".parquet")]
        return others + ([f"{len(tables)} Parquet tables"] if tables else [])

"""An output folder: created only if there is something to write, never overwritten by accident."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def write_at_once(file: Path, contents: bytes, *, sync: bool = False) -> None:
    """Write a temporary file next to `file` and rename it, so that `file` is complete or absent.

    This holds even if several processes write the same file at once.

    Parameters
    ----------
    file
        The path to write; missing parent folders are created.
    contents
        The bytes to write.
    sync
        Whether to wait until the bytes are on disk before the file is renamed.
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
    """Return a data frame as the bytes of a Parquet file."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


class Folder:
    """A folder for one command's results.

    Parameters
    ----------
    path
        The path of the folder.
    force
        Whether to write into it even if it is not empty.

    Raises
    ------
    NotADirectoryError
        If it is a file.
    FileExistsError
        If it is not empty and `force` is not set.
    """

    def __init__(self, path: Path, force: bool) -> None:
        if path.exists() and not path.is_dir():
            raise NotADirectoryError(f"{path} is a file, not a folder; name another folder")
        if path.exists() and any(path.iterdir()) and not force:
            raise FileExistsError(
                f"{path} is not empty; name another folder, or use --force to write into this one"
            )
        self.path = path
        self._written: list[str] = []

    def make(self) -> None:
        """Create the folder and its missing parents."""
        self.path.mkdir(parents=True, exist_ok=True)

    def text(self, name: str, contents: str) -> None:
        """Write a text file, completely or not at all."""
        self.data(name, contents.encode())

    def data(self, name: str, contents: bytes) -> None:
        """Write a file, completely or not at all."""
        write_at_once(self.path / name, contents)
        self._written.append(name)

    def note(self, names: Iterable[str | os.PathLike[str]]) -> None:
        """Record files that other code wrote into this folder."""
        self._written += [Path(name).name for name in names]

    def written(self) -> list[str]:
        """Return the names of the files written, with all Parquet tables as one count."""
        tables = [name for name in self._written if name.endswith(".parquet")]
        others = [name for name in self._written if not name.endswith(".parquet")]
        return others + ([f"{len(tables)} Parquet tables"] if tables else [])

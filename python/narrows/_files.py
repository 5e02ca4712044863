"""Files and folders of results: whole or absent, and never overwritten by accident."""

from __future__ import annotations

import io
import os
import shutil
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    import polars as pl


# How a folder of results was made, for `narrows again`; and who is writing it.
MADE = "made.json"
PROCESS = ".process"


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
    """A folder to write into, file by file; it is created with its missing parents."""

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._written: list[str] = []

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


class Output(Folder):
    """The folder for one command's results, which appears whole or not at all.

    Everything is written into a folder beside it, which takes its place at the end. Use it as a
    context manager: what is not finished is removed.

    Parameters
    ----------
    target
        The path of the folder.
    force
        Whether to replace it if it has results of narrows.

    Raises
    ------
    FileExistsError
        If it is not empty and `force` is not set; if it has files that narrows did not write; if
        another process is writing it.
    NotADirectoryError
        If it is a file.
    """

    def __init__(self, target: Path, force: bool) -> None:
        self.target = target
        self._check(force)
        staging = target.absolute().parent / f".{target.name}.part"
        try:
            staging.parent.mkdir(parents=True, exist_ok=True)
            if staging.exists():
                self._clear(staging)
            staging.mkdir()
        except FileExistsError:
            raise
        except OSError as error:
            raise OSError(error.errno, f"{error.strerror}; name another folder", target) from None
        (staging / PROCESS).write_text(str(os.getpid()))
        super().__init__(staging)

    def finish(self, made: str) -> None:
        """Write how it was made, and put the folder in its place."""
        self.text(MADE, made)
        self._check(force=True)
        (self.path / PROCESS).unlink()
        if self.target.exists():
            shutil.rmtree(self.target)
        self.path.rename(self.target)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def _check(self, force: bool) -> None:
        path = self.target
        if path.exists() and not path.is_dir():
            raise NotADirectoryError(f"{path} is a file, not a folder; name another folder")
        if not path.exists() or not any(path.iterdir()):
            return
        if not (path / MADE).exists():
            raise FileExistsError(
                f"{path} has files and no {MADE}, so narrows did not write it; name another folder"
            )
        if not force:
            raise FileExistsError(
                f"{path} is not empty; name another folder, or use --force to replace it"
            )

    def _clear(self, staging: Path) -> None:
        """Remove what a process that was killed has left behind."""
        process = staging / PROCESS
        number = process.read_text() if process.exists() else ""
        if number.isdigit() and Path("/proc", number).exists():
            raise FileExistsError(
                f"{self.target} is being written by process {number}; name another folder"
            )
        shutil.rmtree(staging)

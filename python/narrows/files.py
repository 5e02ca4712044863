"""Files and folders of results: whole or absent, and never overwritten by accident."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import io
import itertools
import json
import os
import shutil
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

from narrows.errors import Error
from narrows.stamp import ENDINGS, LARGEST_TEXT, stamped

if TYPE_CHECKING:
    import polars as pl

    from narrows.made import Made

# How a folder of results was made, for `narrows again`; and who is writing it.
MADE = "made.json"
PROCESS = ".process"
# Linux's renameat2 (linux/fs.h, fcntl.h).
_EXCHANGE = 2
_AT_FDCWD = -100


def read_text(file: Path, most: int = LARGEST_TEXT) -> str:
    """Read a text file of a user's.

    Raises
    ------
    OSError
        If it cannot be read, or is larger than `most` bytes, which is a number of MiB.
    UnicodeDecodeError
        If it is not UTF-8.
    """
    with file.open("rb") as stream:
        contents = stream.read(most + 1)
    if len(contents) > most:
        raise OSError(
            errno.EFBIG, f"it has more than {most >> 20} MiB, which no such file has", file
        )
    return contents.decode()


@contextmanager
def writing_into(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Make a folder of the caller's if need be, in which no command has put results.

    Raises
    ------
    Error
        If one has, or if the system lets nobody write there.
    """
    place = Path(folder)
    if (place / MADE).exists():
        raise Error(f"{place} holds results that a command wrote ({MADE}); name another folder")
    try:
        place.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise Error(f"{place}: {error.strerror or error}") from None


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
    context manager: what is not finished is removed. If what is finished cannot be put in its
    place, it stays beside it, and the error says where.

    Parameters
    ----------
    target
        The path of the folder.
    force
        Whether to replace it if it has results of narrows and nothing else.

    Raises
    ------
    FileExistsError
        If it is not empty and `force` is not set; if it has files that narrows did not write, or
        that were changed since; if another process is writing it.
    NotADirectoryError
        If it is a file.
    OSError
        If it cannot be replaced: a link, a mount point, the working directory or one above it.
    """

    def __init__(self, target: Path, force: bool) -> None:
        self.target = target
        self._absolute = Path(os.path.abspath(target))
        self._keeps = False
        self._check(force)
        staging = self._absolute.with_name(f".{self._absolute.name}.part")
        try:
            staging.parent.mkdir(parents=True, exist_ok=True)
            if os.path.lexists(staging):
                self._clear(staging)
            staging.mkdir()
        except FileExistsError:
            raise
        except OSError as error:
            raise OSError(error.errno, f"{error.strerror}; name another folder", target) from None
        (staging / PROCESS).write_text(str(os.getpid()))
        super().__init__(staging)

    def finish(self, made: Made) -> None:
        """Write how it was made, and put the folder in its place.

        Raises
        ------
        OSError
            If it cannot be put there; the message names the folder in which the results are.
        """
        record = made.to_json({})
        for file in sorted(self.path.rglob("*")):
            if file.suffix in ENDINGS and not file.is_symlink():
                write_at_once(file, stamped(file.read_bytes(), record))
        self.text(MADE, made.to_json(digests(self.path)))
        try:
            self._check(force=True)
            self._put()
        except OSError as error:
            kept = self._keep()
            reason = error.strerror or str(error)
            raise OSError(
                error.errno, f"{reason}; the results are in {kept}", self.target
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._keeps:
            shutil.rmtree(self.path, ignore_errors=True)

    def _put(self) -> None:
        target = self._absolute
        if target.exists():
            # The new folder is in its place before anything of the old one goes; what is left of
            # that if this process is killed here can be cleared by the next.
            (target / PROCESS).write_text(str(os.getpid()))
            exchange(self.path, target)
        else:
            self.path.rename(target)
        (target / PROCESS).unlink(missing_ok=True)

    def _keep(self) -> Path:
        """Let the results stay under a name that no later command clears; return it."""
        (self.path / PROCESS).unlink(missing_ok=True)
        self._keeps = True
        name = self._absolute.name
        for number in itertools.count(1):
            place = self._absolute.with_name(f"{name}.results{number}")
            if not os.path.lexists(place):
                break
        try:
            return self.path.rename(place)
        except OSError:
            return self.path

    def _check(self, force: bool) -> None:
        path = self._absolute
        if path.is_symlink():
            raise FileExistsError(f"{self.target} is a link; name the folder that it leads to")
        if not path.exists():
            return
        if not path.is_dir():
            raise NotADirectoryError(f"{self.target} is a file, not a folder; name another folder")
        here = Path.cwd()
        if path.resolve() in (here, *here.parents):
            raise FileExistsError(
                f"{self.target} is the working directory or holds it, which cannot be replaced; "
                "name a folder within it"
            )
        if path.is_mount():
            raise FileExistsError(
                f"{self.target} is a mount point, which cannot be replaced; name a folder within it"
            )
        if _is_anothers(path):
            raise FileExistsError(f"{self.target} belongs to another user; name another folder")
        if not any(path.iterdir()):
            return
        self._check_contents(force)

    def _check_contents(self, force: bool) -> None:
        path = self._absolute
        if not os.path.lexists(path / MADE):
            raise FileExistsError(
                f"{self.target} has files and no {MADE}, so narrows did not write it; name another "
                "folder"
            )
        if not force:
            raise FileExistsError(
                f"{self.target} is not empty; name another folder, or use --force to replace it"
            )
        listed = listed_in(path / MADE)
        if not listed:
            raise FileExistsError(
                f"{self.target}/{MADE} does not list what narrows wrote; move the folder away, or "
                "name another"
            )
        foreign = not_written(path, listed)
        if foreign:
            more = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
            raise FileExistsError(
                f"{self.target} has what narrows did not write, or what was changed since: "
                f"{', '.join(foreign[:3])}{more}; move it away, or name another folder"
            )

    def _clear(self, staging: Path) -> None:
        """Remove what a process that was killed has left behind."""
        process = staging / PROCESS
        if staging.is_symlink() or not process.is_file():
            raise FileExistsError(
                f"{staging} is in the way, and narrows did not write it; name another folder"
            )
        number = process.read_text()
        if number.isdigit() and Path("/proc", number).exists():
            raise FileExistsError(
                f"{self.target} is being written by process {number}; name another folder"
            )
        shutil.rmtree(staging)


def digest(file: Path) -> str:
    """Return the SHA-256 of a file's contents."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of a folder and those below it, by its path within."""
    found = {}
    for file in sorted(folder.rglob("*")):
        if file.is_symlink() or not file.is_file():
            continue
        name = file.relative_to(folder).as_posix()
        if name in (MADE, PROCESS):
            continue
        found[name] = digest(file)
    return found


def not_written(folder: Path, listed: dict[str, str]) -> list[str]:
    """Return what a folder has beside the files that were listed with these digests."""
    whole = digests(folder)
    names = [
        entry.relative_to(folder).as_posix()
        for entry in sorted(folder.rglob("*"))
        if entry.is_symlink() or not entry.is_dir()
    ]
    return [
        name
        for name in names
        if name not in (MADE, PROCESS) and (name not in listed or whole.get(name) != listed[name])
    ]


def listed_in(record: Path) -> dict[str, str]:
    """Return the digests that a folder's record lists; none if it is not a record."""
    try:
        files = json.loads(read_text(record))["files"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return files if isinstance(files, dict) else {}


def exchange(one: Path, other: Path) -> None:
    """Let two folders of one file system change places at once.

    Where the system or the file system cannot do that, the second one is beside its place, named
    `.NAME.old`, for the moment in between.
    """
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is not None:
        if rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _EXCHANGE) == 0:
            return
        number = ctypes.get_errno()
        if number not in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
            raise OSError(number, os.strerror(number), str(other))
    old = other.with_name(f".{other.name}.old")
    other.rename(old)
    try:
        one.rename(other)
    except OSError:
        old.rename(other)
        raise
    old.rename(one)


def _is_anothers(path: Path) -> bool:
    """Return whether another user owns it; Windows does not say."""
    if sys.platform == "win32":
        return False
    return path.stat().st_uid != os.geteuid() and os.geteuid() != 0

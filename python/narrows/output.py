"""An output folder: made only when there is something to write, never overwritten by accident."""

from __future__ import annotations

import os
from pathlib import Path

from narrows._core import ScenarioError


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
            raise ScenarioError(f"{path} exists and is not empty; give another folder, or --force to write into it")
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
        beside = self.path / f"{name}.tmp.{os.getpid()}"
        beside.write_bytes(contents)
        beside.rename(self.path / name)
        self._written.append(name)

    def note(self, names: list[str]) -> None:
        """Remember files that something else wrote here."""
        self._written += [Path(name).name for name in names]

    def written(self) -> list[str]:
        """Names of the files written, tables of one kind counted together."""
        tables = [name for name in self._written if name.endswith(".parquet")]
        others = [name for name in self._written if not name.endswith(".parquet")]
        return others + ([f"{len(tables)} Parquet tables"] if tables else [])

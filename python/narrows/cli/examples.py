"""`narrows examples`: the scenario files that come with narrows."""

from __future__ import annotations

import shutil
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from narrows._terminal import console, say
from narrows.errors import Error


def files() -> dict[str, Traversable]:
    """Return the examples by name; those of sweeps are called like ``sweeps/buffer``."""
    home = resources.files("narrows") / "examples"
    places = [("", home), ("sweeps/", home / "sweeps")]
    found = {
        prefix + file.name.removesuffix(".toml"): file
        for prefix, folder in places
        for file in folder.iterdir()
        if file.name.endswith((".toml", ".py"))
    }
    return dict(sorted(found.items()))


def listed() -> None:
    """Print each example with what it is, from its first comment or its docstring."""
    table = Table("example", "", box=None)
    for name, file in files().items():
        table.add_row(name, escape(_summary(file.read_text(encoding="utf-8"))))
    console().print(table)


def _summary(text: str) -> str:
    """Return the first sentence of the comment or docstring that a file begins with."""
    lines = text.splitlines()
    if lines[0].startswith('"""'):
        return lines[0].strip('"')
    comment = []
    for line in lines:
        if not line.startswith("#"):
            break
        comment.append(line.lstrip("# "))
    return " ".join(comment).split(". ")[0].split(": ")[0].rstrip(".")


def shown(name: str) -> str:
    """Return an example's text.

    Raises
    ------
    Error
        If there is no such example.
    """
    known = files()
    if name not in known:
        raise Error(f'examples: no example "{name}"; known: {", ".join(known)}')
    return known[name].read_text(encoding="utf-8")


def copied(folder: Path) -> None:
    """Copy all examples into a folder, which must not exist."""
    if folder.exists():
        raise FileExistsError(f"{folder} exists; name another folder")
    with resources.as_file(resources.files("narrows") / "examples") as home:
        shutil.copytree(home, folder, ignore=shutil.ignore_patterns("__pycache__"))
    say(f"{len(files())} examples written to {folder}/")

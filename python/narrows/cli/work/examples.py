"""`narrows examples`: the scenario files that come with narrows."""

from __future__ import annotations

import json
import shutil
from difflib import get_close_matches
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from narrows.errors import Error
from narrows.terminal import console, say

# The example that is a project of its own, for cargo.
PROJECT = "stack-ci"
LEFT_OUT = shutil.ignore_patterns("__pycache__", "target")


def files() -> dict[str, Traversable]:
    """Return the examples by name; those in folders are called like ``sweeps/buffer``."""
    home = resources.files("narrows") / "examples"
    places = [("", home), *((f"{name}/", home / name) for name in ("checks", "sweeps"))]
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
        table.add_row(name, escape(summary(file.read_text(encoding="utf-8"))))
    console().print(table)


def summary(text: str) -> str:
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
        near = get_close_matches(name, known, n=1)
        meant = f'did you mean "{near[0]}"? ' if near else ""
        raise Error(f'examples: no example "{name}"; {meant}narrows examples lists them')
    return known[name].read_text(encoding="utf-8")


def copied(folder: Path, name: str | None) -> None:
    """Copy all examples, or the one of that name, into a folder, which must not exist.

    Raises
    ------
    Error
        If there is no such example, or the folder is there.
    """
    if folder.exists() or folder.is_symlink():
        raise Error(f"--copy: {folder} is there; name another folder")
    with resources.as_file(resources.files("narrows") / "examples") as home:
        has_project = (home / PROJECT).is_dir()
        if name is None:
            shutil.copytree(home, folder, ignore=LEFT_OUT)
            if has_project:
                _settle(folder / PROJECT, home)
            beside = f" and the project {PROJECT}" if has_project else ""
            return say(f"{len(files())} examples{beside} written to {folder}/")
        if name == PROJECT and not has_project:
            message = (
                "is a project of Rust's, which the sources of narrows have and a wheel has not"
            )
            raise Error(f"examples: {PROJECT} {message}")
        if name == PROJECT:
            shutil.copytree(home / PROJECT, folder, ignore=LEFT_OUT)
            _settle(folder, home)
            return say(f"{name} written to {folder}/; cargo test runs it there")
        text = shown(name)
    folder.mkdir(parents=True)
    file = folder / (Path(name).name if name.endswith(".py") else f"{Path(name).name}.toml")
    file.write_text(text, encoding="utf-8")
    return say(f"{file} written")


def _settle(project: Path, home: Path) -> None:
    """Let a copied project find narrows' crates: in the checkout, or where cargo finds crates."""
    crates = home.parents[2] / "crates"
    manifest = project / "Cargo.toml"
    text = manifest.read_text(encoding="utf-8")
    for name in ("lab", "hosts"):
        there = json.dumps(str(crates / name))
        place = f"path = {there}" if (crates / name).is_dir() else 'version = "0.1"'
        text = text.replace(f'path = "../../../../crates/{name}"', place)
    manifest.write_text(text, encoding="utf-8")
    if not crates.is_dir():
        say(f"{manifest} names narrows' crates by version; name the path of a checkout instead")

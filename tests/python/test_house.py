"""How the sources are kept: lengths of functions, documentation of what is public."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from binary import ROOT

PACKAGES = [ROOT / "python" / "narrows", ROOT / "papers" / "narrows_papers"]
LONGEST = 60

Function = ast.FunctionDef | ast.AsyncFunctionDef


def sources() -> Iterator[Path]:
    for package in PACKAGES:
        found = sorted(package.rglob("*.py"))
        assert found, f"{package} has no sources"
        yield from found


def body_lines(function: Function) -> int:
    """Return the lines of a function below its signature and docstring."""
    statements = function.body[1:] if ast.get_docstring(function) else function.body
    if not statements:
        return 0
    return (statements[-1].end_lineno or 0) - statements[0].lineno + 1


def test_functions_fit_on_a_screen() -> None:
    long = [
        f"{file}:{node.lineno}: {node.name} has {lines} lines"
        for file in sources()
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, Function) and (lines := body_lines(node)) > LONGEST
    ]
    assert not long, "\n".join(long)

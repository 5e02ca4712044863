"""How the sources are kept: lengths of functions, documentation of what is public."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from numpydoc.validate import validate

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


# What users import; the rest serves it.
PUBLIC = [
    "narrows.bulk",
    "narrows.comparison",
    "narrows.controller",
    "narrows.kernel",
    "narrows.lab",
    "narrows.listing",
    "narrows.metrics",
    "narrows.networks",
    "narrows.plot",
    "narrows.pool",
    "narrows.reality",
    "narrows.report.page",
    "narrows.results",
    "narrows.scenario",
    "narrows.stack",
    "narrows.statistics",
    "narrows.sweeps",
    "narrows.sweeps.cache",
    "narrows.sweeps.expression",
    "narrows.sweeps.file",
    "narrows.sweeps.plan",
    "narrows.sweeps.points",
    "narrows.sweeps.ranges",
    "narrows.sweeps.result",
    "narrows.theory.aimd",
    "narrows.theory.delay",
    "narrows.theory.domain",
    "narrows.theory.evolution",
    "narrows.theory.gwa",
    "narrows.theory.mixtures",
    "narrows.theory.queue",
    "narrows.theory.response",
    "narrows.theory.stability",
    "narrows.theory.xcp",
    "narrows_papers.bench",
    "narrows_papers.claims",
    "narrows_papers.pages",
    "narrows_papers.registry",
    "narrows_papers.reproduce",
]
# Parameters that are missing, unknown; no Returns, no Yields; sections out of order.
WRONG = {"PR01", "PR02", "RT01", "YD01", "GL07"}


def public_functions(module: str) -> Iterator[tuple[str, Function]]:
    """Yield the name and syntax of public functions and methods; properties are not called."""
    source = inspect.getsource(importlib.import_module(module))

    def found(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, Function]]:
        for node in body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield from found(node.body, f"{prefix}.{node.name}")
            elif isinstance(node, Function) and not node.name.startswith("_"):
                decorators = {ast.unparse(it) for it in node.decorator_list}
                if not decorators & {"property", "cached_property"}:
                    yield f"{prefix}.{node.name}", node

    yield from found(ast.parse(source).body, module)


@pytest.mark.parametrize("part", PUBLIC)
def test_public_functions_say_what_they_take_return_and_raise(part: str) -> None:
    wrong = []
    for name, function in public_functions(part):
        wrong += [f"{name}: {text}" for code, text in validate(name)["errors"] if code in WRONG]
        raises = any(isinstance(node, ast.Raise) for node in ast.walk(function))
        if raises and "Raises\n" not in (ast.get_docstring(function) or ""):
            wrong.append(f"{name}: no Raises section found")
    assert not wrong, "\n".join(wrong)


def test_pages_name_files_that_exist() -> None:
    named = re.compile(r"`((?:crates|python|papers|docs|validation)/[\w./-]+\.\w+)`")
    missing = [
        f"{page.relative_to(ROOT)}: {name}"
        for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
        # Its reader is to make them.
        if page.name != "your-own-controller.md"
        for name in named.findall(page.read_text())
        if not (ROOT / name).exists() and "<" not in name
    ]
    assert not missing, "\n".join(missing)


def test_the_source_distribution_is_a_workspace(tmp_path: Path) -> None:
    """A workspace that lacks one crate cannot be read, and `pip install` compiles nothing."""
    maturin = Path(sys.executable).with_name("maturin")
    made = subprocess.run(
        [maturin, "sdist", "-o", tmp_path], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    [archive] = tmp_path.glob("narrows-*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    [folder] = tmp_path.glob("narrows-*/")
    read = subprocess.run(
        ["cargo", "metadata", "--offline", "--format-version", "1"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert read.returncode == 0, read.stderr

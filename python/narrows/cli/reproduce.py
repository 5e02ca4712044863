"""`narrows reproduce`: the experiments of the papers, which are a package of their own."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from narrows.cli import complete
from narrows.cli.errors import end_unless
from narrows.cli.options import CacheFolder, Json
from narrows.errors import Error

commands = typer.Typer()


@commands.command(epilog="Example: narrows reproduce htcp/fig03 --scale quick")
def reproduce(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            help="Experiments like etcp/fig06, papers like etcp, or all.",
            show_default=False,
            autocompletion=complete.experiments,
        ),
    ] = None,
    scale: Annotated[
        str,
        typer.Option(
            help="Share of the paper's durations and numbers of seeds: full, quick (a tenth), or a "
            "number like 0.5."
        ),
    ] = "full",
    list_only: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
    cache: CacheFolder = Path(".narrows"),
    json_: Json = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Output folder for figures, data, claims and the papers' pages.  "
            "[default: out/papers, out/papers-0.1 with --scale quick; out/real with --real]",
        ),
    ] = None,
    scenario: Annotated[
        bool,
        typer.Option(
            "--scenario", help="Write the scenarios of each experiment, too, for narrows run."
        ),
    ] = False,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Change one thing in every scenario: buffer=40p, flows[1].cc=bbr; repeatable.",
        ),
    ] = None,
    real: Annotated[
        bool,
        typer.Option("--real", help="Over this machine's kernel: ltcp/tab09, tab10 and fig11."),
    ] = False,
) -> None:
    """Run a paper's experiments and check its claims.

    Nothing is decided from shortened or changed runs. The exit status is 1 if a claim differs or an
    experiment could not be computed.
    """
    papers = _papers()
    if list_only:
        papers.catalogue(json_)
        return
    if not what:
        raise Error("reproduce: no experiment given; narrows reproduce --list lists them")
    changes = dict(map(_change, set_ or []))
    bench = papers.Bench(papers.parse_scale(scale), cache, progress=not json_, changes=changes)
    usual = "out/real" if real else "out/papers"
    # Results of shorter or of changed runs have a folder of their own.
    usual += "" if bench.scale == 1 else f"-{bench.scale:g}"
    usual += "-changed" if changes else ""
    end_unless(papers.reproduce(what, bench, output or Path(usual), json_, real, scenario))


def _papers() -> ModuleType:
    """Return the papers' package, which users of the simulator need not install."""
    try:
        return import_module("narrows_papers.reproduce")
    except ModuleNotFoundError as error:
        if error.name == "narrows_papers":
            raise Error(
                "reproduce: the papers are a package of their own; pip install narrows-papers, "
                "which make wheel puts into dist beside narrows, or make setup in a checkout"
            ) from None
        if (error.name or "").startswith("narrows_papers."):
            raise Error(
                f"reproduce: the papers' package is not whole, it has no {error.name}; install it "
                "again"
            ) from None
        raise


def _change(text: str) -> tuple[str, Any]:
    """Read NAME=VALUE; a value that is no number or truth value is a text.

    Examples
    --------
    >>> _change("buffer=40p"), _change("flows[0].count=3")
    (('buffer', '40p'), ('flows[0].count', 3))
    """
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise Error(f'--set: "{text}" is not NAME=VALUE; try buffer=40p or flows[1].cc=bbr')
    try:
        return name.strip(), json.loads(value)
    except ValueError:
        return name.strip(), value.strip()

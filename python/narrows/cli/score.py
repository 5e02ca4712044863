"""`narrows score`: controllers held against suites of requirements."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from narrows.cli.errors import end_unless
from narrows.cli.options import CacheFolder, Force, Json, Junit, check_force, split_list
from narrows.errors import Error

commands = typer.Typer()


@commands.command(epilog="Example: narrows score --cc cubic,bbr --quick -o out/score")
def score(
    suites: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SUITE…]",
            help="Suites by name, folders or files.  [default: rfc9743]",
            show_default=False,
        ),
    ] = None,
    cc: Annotated[
        str | None,
        typer.Option(
            help="Laws and stacks, like etcp,quinn:cubic, or mine.py:Mine.", show_default=False
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few points of each grid, under one seed.")
    ] = False,
    seeds: Annotated[
        int | None, typer.Option(help="The number of seeds.  [default: each file's]", min=1)
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="Print what is asked, with its source, and run nothing.")
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Exit with 1 if a bound of what a MUST asks to be evaluated fails."
        ),
    ] = False,
    junit: Junit = None,
    cache: CacheFolder = Path(".narrows"),
    json_: Json = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Write cards as pages, with every scenario, into this folder."
        ),
    ] = None,
    figures: Annotated[
        bool,
        typer.Option(
            "--figures",
            help="With -o: run the worst point of each requirement once more, for its figures.",
        ),
    ] = False,
    force: Force = False,
) -> None:
    """Hold controllers against what documents ask of them, over grids of networks.

    There is no total: RFC 9743 gives no thresholds, and leaves the judgement to its readers.
    """
    from narrows.cli.work.score import Ask, Cards, listed, score_all

    chosen = suites or ["rfc9743"]
    if list_:
        listed(chosen, json_)
        return
    check_force(output, force)
    names = split_list("--cc", "reno,cubic,bbr" if cc is None else cc)
    ask = Ask(chosen, names, quick, seeds, cache)
    if figures and output is None:
        raise Error("--figures: figures are written into the folder of -o; name one")
    cards = Cards(output, force, figures) if output else None
    end_unless(score_all(ask, strict, junit, json_, cards))

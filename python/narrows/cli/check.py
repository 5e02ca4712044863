"""`narrows check`: whether runs show what scenario files expect."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from narrows.cli.errors import end_unless
from narrows.cli.options import Json, Junit

commands = typer.Typer()


@commands.command(epilog="Example: narrows check examples/checks --junit out/narrows.xml")
def check(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH…", help="Scenario files, or folders with some."),
    ],
    seeds: Annotated[
        str | None,
        typer.Option(
            help="The number of seeds, like 10, or a range of them, like 1..10.  "
            "[default: each file's]"
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail, too, if something is not decided.")
    ] = False,
    junit: Junit = None,
    keep: Annotated[
        Path,
        typer.Option("-o", "--output", help="Keep what shows a failure in folders below this."),
    ] = Path("out/check"),
    json_: Json = False,
) -> None:
    """Find out whether runs show what scenarios expect of them ([expect] in a file).

    The exit status is 0 if nothing fails, 1 if something does, and 2 if a file cannot be run.
    """
    from narrows.cli.work.check import check_files

    end_unless(check_files(paths, seeds, strict, junit, keep, json_))

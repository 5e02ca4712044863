"""`narrows run`: a scenario file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from narrows.cli.options import Csv, Force, Json, Out, Seeds

commands = typer.Typer()


@commands.command(epilog="Example: narrows run examples/dumbbell.toml -o out/dumbbell")
def run(
    file: Annotated[Path, typer.Argument(help="A scenario file; - for standard input.")],
    seeds: Seeds = "1",
    seed: Annotated[
        int | None, typer.Option(help="The first seed.  [default: the scenario file's]")
    ] = None,
    json_: Json = False,
    csv: Csv = False,
    output: Out = None,
    force: Force = False,
) -> None:
    """Run a scenario file."""
    from narrows.cli.work.run import run_file

    run_file(file, seeds, seed, json_, csv, output, force)

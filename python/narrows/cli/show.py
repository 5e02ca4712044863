"""`narrows show`: how a file of results was made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from narrows.cli.errors import end_unless
from narrows.cli.options import Json

commands = typer.Typer()


@commands.command("show", epilog="Example: narrows show out/demo/comparison.png")
def show_(
    file: Annotated[
        Path, typer.Argument(help="A picture, a table or a page that -o has written, or a folder.")
    ],
    scenarios: Annotated[
        bool, typer.Option("--scenarios", help="Print the scenarios as well, as TOML.")
    ] = False,
    json_: Json = False,
) -> None:
    """Say how a file was made: the command, the version, the seeds, the scenarios.

    Pictures, tables and pages know it wherever they have gone, other files as long as they lie in
    their folder. The exit status is 1 if the file is not as it was written.
    """
    from narrows.cli.work.show import show

    end_unless(show(file, scenarios, json_))

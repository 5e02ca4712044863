"""`narrows again`: a folder of results, made again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from narrows.cli.errors import end_unless
from narrows.cli.options import Force, Out

commands = typer.Typer()


@commands.command("again", epilog="Example: narrows again out/demo")
def again_(
    folder: Annotated[Path, typer.Argument(help="A folder that -o has written.")],
    output: Out = None,
    force: Force = False,
) -> None:
    """Make a folder of results again, and say whether they are the same.

    The exit status is 1 if a table differs.
    """
    from narrows.cli.work.again import again
    from narrows.cli.work.printing import folder_of

    with folder_of(output, force) as place:
        same = again(folder, place)
    end_unless(same)

"""`narrows trace`: recorded opportunities to send, as mahimahi has them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from narrows.cli.options import Json, group

of_trace = group("Traces of opportunities to send, in mahimahi's format.")
commands = typer.Typer()
commands.add_typer(of_trace, name="trace")


@of_trace.command("info", epilog="Example: narrows trace info examples/traces/made-up-lte.down")
def trace_info(
    file: Annotated[Path, typer.Argument(help="A file with a line for each 1500 bytes, in ms.")],
    json_: Json = False,
) -> None:
    """Say how fast a trace is, and for how long it is silent."""
    from narrows.cli.work.trace import info

    info(file, json_)

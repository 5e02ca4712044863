"""`narrows why`: what held back the connections of a capture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from narrows.cli.options import Force, Json

commands = typer.Typer()


@commands.command(epilog="Example: narrows why capture.pcapng -o out/why")
def why(
    file: Annotated[Path, typer.Argument(help="A pcap or pcapng file of TCP connections.")],
    flows: Annotated[
        int, typer.Option(help="Flows to show, the largest; --json and -o have all.", min=1)
    ] = 10,
    anonymous: Annotated[
        bool,
        typer.Option("--anonymous", help="Put numbers in the place of addresses and of the name."),
    ] = False,
    json_: Json = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write a page and Parquet tables into this folder."),
    ] = None,
    force: Force = False,
) -> None:
    """Say what held each connection of a capture back.

    Window, pacer, application, receiver, repairs, timers or the path, by shares of time. Estimates
    come with it: base RTT, the bottleneck's rate and buffer, what lost packets. The exit
    status is 1 if the file breaks off or has blocks that cannot be read; all before is shown.
    """
    from narrows.cli.errors import end_unless
    from narrows.cli.work.why import Ask, explain

    end_unless(explain(Ask(file, flows, anonymous), json_, output, force))

"""`narrows why` and `narrows fit`: what captures tell."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from narrows.cli.options import Force, rate_of, split_list
from narrows.errors import Error

commands = typer.Typer()


@commands.command(epilog="Example: narrows why capture.pcapng -o out/why")
def why(
    file: Annotated[
        Path, typer.Argument(help="A pcap or pcapng file of TCP connections, or a qlog.")
    ],
    flows: Annotated[
        int, typer.Option(help="Flows to show, the largest; --json and -o have all.", min=1)
    ] = 10,
    law: Annotated[
        bool,
        typer.Option(
            "--law",
            help="Say which law each of these flows ran: many are tried on the path that it saw.",
        ),
    ] = False,
    rate: Annotated[
        str | None,
        typer.Option(help="With --law: the bottleneck's rate, if it is not told, like 50Mbps."),
    ] = None,
    anonymous: Annotated[
        bool,
        typer.Option(
            "--anonymous",
            help="Put numbers in the place of addresses, and no file's name; ports stay.",
        ),
    ] = False,
    json_: Annotated[
        bool, typer.Option("--json", "-J", help="Print all that is told as one JSON object.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Write index.html and Parquet tables into this folder."
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Say what held each connection of a capture back.

    Window, pacer, application, receiver, repairs, timers or the path, by shares of time. Estimates
    come with it: base RTT, the bottleneck's rate and buffer, what lost packets. The exit
    status is 1 if the file breaks off or has blocks that cannot be read; all before is shown.
    """
    from narrows.cli.errors import end_unless
    from narrows.cli.work.why import Capture, Laws, explain

    if rate and not law:
        raise Error("--rate: nothing but --law asks for it; add that, or leave it out")
    laws = Laws(law, None if rate is None else rate_of("--rate", rate))
    end_unless(explain(Capture(file, anonymous), flows, laws, json_, output, force))


@commands.command(epilog="Example: narrows fit capture.pcapng --compare cubic,bbr -o path.toml")
def fit(
    file: Annotated[
        Path, typer.Argument(help="A pcap or pcapng file of TCP connections, or a qlog.")
    ],
    flow: Annotated[int, typer.Option(help="The flow, by its number in `narrows why`.", min=0)] = 0,
    cc: Annotated[
        str | None, typer.Option(help="The law in its place, in the scenario.  [default: cubic]")
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(help="Say what these laws would have got, like cubic,bbr; five seeds each."),
    ] = None,
    rate: Annotated[
        str | None, typer.Option(help="The bottleneck's rate, if it is not told, like 50Mbps.")
    ] = None,
    anonymous: Annotated[
        bool, typer.Option("--anonymous", help="Leave the file's name out.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the scenario into this file.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file.")] = False,
) -> None:
    """Write the path that a flow saw as a scenario, or say what other laws would have done on it.

    Comments say how sure each value is.
    """
    from narrows.cli.work.why import Capture, Wanted, fit_path

    laws = [] if compare is None else split_list("--compare", compare)
    wanted = Wanted(flow, None if rate is None else rate_of("--rate", rate), cc, laws)
    fit_path(Capture(file, anonymous), wanted, output, force)

"""`narrows theory`: what formulas and fluid models say of a link, beside packets where both can."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from narrows.cli.options import Force, Json, group, with_unit

of_theory = group("What theory says of a link, and packets beside it.")
commands = typer.Typer()
commands.add_typer(of_theory, name="theory")

Rate = Annotated[str, typer.Option(help="The link's rate.")]
Rtt = Annotated[str, typer.Option(help="Base round-trip time.")]
Buffer = Annotated[str, typer.Option(help="The drop-tail queue, like 20p, 1ms or 0.5bdp.")]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", help="Write a figure into this folder.")
]


@of_theory.command("queue", epilog="Example: narrows theory queue --load 0.9,0.98 --buffer 20")
def queue(
    load: Annotated[str, typer.Option(help="What is offered over the rate, between commas.")],
    buffer: Annotated[int, typer.Option(help="Packets, that in service included.", min=1)] = 20,
    burst: Annotated[int, typer.Option(help="Packets that come together.", min=1)] = 1,
    json_: Json = False,
) -> None:
    """Say what a short queue loses, by each model of what comes to it."""
    from narrows.cli.work.theory import losses

    losses(load, buffer, burst, json_)


@of_theory.command(
    "stability", epilog="Example: narrows theory stability --rate 1Gbps --buffer 20p --flows 10"
)
def stability(
    rate: Rate = "1Gbps",
    rtt: Rtt = "100ms",
    buffer: Buffer = "20p",
    flows: Annotated[int, typer.Option(help="Equal flows on the link.", min=1)] = 1,
    cc: Annotated[
        str, typer.Option(help="Laws, between commas; settings as in etcp:b=10:p0=0.02.")
    ] = "reno,compound,scalable,highspeed,ltcp,etcp",
    json_: Json = False,
) -> None:
    """Say which laws are stable on a link with a small buffer, and by what factor."""
    from narrows.cli.work.theory import Wire, stable

    stable(Wire(rate, rtt, buffer), flows, cc, json_)


@of_theory.command(
    "shares", epilog="Example: narrows theory shares --cc 10*etcp/10*reno --rate 1Gbps"
)
def shares(
    cc: Annotated[str, typer.Option(help="A mixture, like 10*etcp/10*reno or cubic/bbr1.")],
    rate: Rate = "1Gbps",
    rtt: Rtt = "100ms",
    buffer: Buffer = "20p",
    duration: Annotated[
        str, typer.Option(help='Simulated time of the packets; "0" for theory alone.')
    ] = "60s",
    seed: Annotated[int, typer.Option(help="The packets' seed.", min=0)] = 1,
    json_: Json = False,
) -> None:
    """Predict what each law of a mixture gets, and run the packets."""
    from narrows.cli.work.theory import Wire, mixed

    mixed(Wire(rate, rtt, buffer), cc, with_unit(duration), seed, json_)


@of_theory.command(
    "fluid", epilog="Example: narrows theory fluid --cc 50*reno --rate 100Mbps --buffer 100p -o out"
)
def fluid(
    cc: Annotated[
        str,
        typer.Option(help="A law, or a mixture, like 10*cubic/10*reno; 10*xcp and gwa-rate alone."),
    ],
    rate: Rate = "100Mbps",
    rtt: Rtt = "50ms",
    buffer: Buffer = "1bdp",
    mark: Annotated[
        str | None,
        typer.Option(help="For dctcp: mark all that finds so much queued, like 20p."),
    ] = None,
    duration: Annotated[
        str | None,
        typer.Option(help="Simulated time.  [default: 60s, or 12,500 RTTs if that is less]"),
    ] = None,
    seed: Annotated[int, typer.Option(help="The packets' seed.", min=0)] = 1,
    json_: Json = False,
    output: Output = None,
    force: Force = False,
) -> None:
    """Solve a fluid model, run the packets, and draw both over each other."""
    from narrows.cli.work.theory import Wire, flow

    length = with_unit(duration) if duration else None
    flow(Wire(rate, rtt, buffer, mark), cc, length, seed, json_, output, force)

"""`narrows arena`: who wins beside whom, in which buffer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from narrows.cli.options import CacheFolder, Force, Json, Seeds, split_list, split_seeds, with_unit

commands = typer.Typer()


@commands.command(epilog="Example: narrows arena --cc reno,cubic,bbr --buffer 20p,2bdp")
def arena(
    cc: Annotated[
        str,
        typer.Option(
            help="Laws and stacks, like etcp,quinn:cubic, or mine.py:Mine; all for every law that "
            "needs nothing of its queue."
        ),
    ] = "reno,cubic,bbr",
    buffer: Annotated[
        str | None,
        typer.Option(help="The bottleneck's buffers.  [default: seven, from 5p to 5bdp]"),
    ] = None,
    rate: Annotated[str, typer.Option(help="The bottleneck's rate.")] = "100Mbps",
    rtt: Annotated[str, typer.Option(help="Base round-trip time.")] = "30ms",
    flows: Annotated[
        str, typer.Option(help="How many of one meet how many of the other, like 1v1 or 1v10.")
    ] = "1v1",
    later: Annotated[
        str, typer.Option(help="By how much the column's flows begin later than the row's.")
    ] = "5s",
    duration: Annotated[str, typer.Option(help="Simulated time of each meeting.")] = "120s",
    warmup: Annotated[str, typer.Option(help="The measured part begins here.")] = "40s",
    seeds: Seeds = "3",
    cache: CacheFolder = Path(".narrows"),
    json_: Json = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write a Parquet table and figures into this folder."),
    ] = None,
    force: Force = False,
) -> None:
    """Let each controller meet each over one bottleneck, in several buffers.

    Each pair meets twice, as either may begin first. A share is of the goodput of both.
    """
    from narrows.arena import BUFFERS, Ring
    from narrows.cli.work.arena import meet, versus

    ring = Ring(
        rate,
        rtt,
        split_list("--buffer", buffer) if buffer else BUFFERS,
        versus(flows),
        with_unit(duration),
        with_unit(warmup),
        with_unit(later),
    )
    meet(split_list("--cc", cc), ring, split_seeds(seeds, None), cache, json_, output, force)

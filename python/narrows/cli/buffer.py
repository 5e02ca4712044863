"""`narrows buffer`: how much buffer a link needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from narrows.cli.chips import chip_of
from narrows.cli.errors import end_unless
from narrows.cli.options import CacheFolder, Force, Json, told_by_option, with_unit
from narrows.cli.places import PLACES, Place, place_of
from narrows.errors import Error

commands = typer.Typer()


@commands.command(
    epilog="Example: narrows buffer --rate 1Gbps --rtt 20ms..80ms --flows 100 --target "
    '"utilisation >= 0.98, delay_p99 <= 10ms"'
)
def buffer(
    rate: Annotated[
        str | None, typer.Option(help="The link's rate.  [default: the place's, or 1Gbps]")
    ] = None,
    rtt: Annotated[
        str | None,
        typer.Option(
            help="Base round-trip time, or a range over which flows are spread.  [default: the "
            "place's, or 20ms..80ms]"
        ),
    ] = None,
    flows: Annotated[
        int | None,
        typer.Option(
            help="The number of flows.  [default: the mixture's, the place's, or 100]", min=1
        ),
    ] = None,
    cc: Annotated[
        str | None,
        typer.Option(
            help="A law, a stack, or a mixture, like 400*cubic/100*bbr.  [default: the place's, or "
            "cubic]"
        ),
    ] = None,
    place: Annotated[
        str | None,
        typer.Option(help=f"Where the link is, for what is not given: {', '.join(PLACES)}."),
    ] = None,
    target: Annotated[
        str, typer.Option(help="What is to be met, between commas.")
    ] = "utilisation >= 0.98",
    pacing: Annotated[
        str | None, typer.Option(help="The senders' pacing: none, even, fq.  [default: the law's]")
    ] = None,
    queue: Annotated[str, typer.Option("--queue", "-q", help="The link's queue.")] = "drop-tail",
    quantum: Annotated[
        str | None,
        typer.Option(
            help="What leaves together: packets, or bytes like 64KiB; auto, or linux for what "
            "Linux does.  [default: linux]"
        ),
    ] = None,
    short: Annotated[
        float | None,
        typer.Option(
            help="Load of short flows beside (web search up to 1 MB), like 0.1.",
            min=0.01,
            max=0.95,
        ),
    ] = None,
    two_way: Annotated[
        bool, typer.Option("--two-way", help="As many flows of the same the other way.")
    ] = False,
    duration: Annotated[
        str | None,
        typer.Option(
            help="Simulated time of a run.  [default: the longest of 10s, 100 RTTs, what windows "
            "take to get out of step, and 60s with BBR; 20s with many BBR flows from 4 Gbps on]"
        ),
    ] = None,
    most: Annotated[
        str | None, typer.Option(help="The largest buffer to try.  [default: 4bdp]")
    ] = None,
    chip: Annotated[
        str | None,
        typer.Option(
            help="A switch's memory, like 32MB, trident2+ or trident2+:alpha=8: what a congested "
            "port of it may hold stands among the rules."
        ),
    ] = None,
    given: Annotated[
        str | None,
        typer.Option(
            help="The inverse: with this buffer, like 1ms, how many flows of which law meet the "
            "target.  --cc, --pacing and --quantum are lists between commas then."
        ),
    ] = None,
    cache: CacheFolder = Path(".narrows"),
    json_: Json = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write a figure and what was seen into this folder."),
    ] = None,
    force: Force = False,
) -> None:
    """Find the least and the greatest buffer that meet targets, beside what each rule says.

    Senders are Linux's unless --quantum or --pacing says otherwise. The exit status is 1 if no
    buffer meets all.
    """
    from narrows.cli.work.buffer import OPTIONS, Ask, Load, advise
    from narrows.cli.work.inverse import OPTIONS_OF_GIVEN, invert

    texts = {"rate": rate, "rtt": rtt, "cc": cc, "place": place, "duration": duration}
    for option, text in (texts | {"most": most, "given": given, "chip": chip}).items():
        if text is not None and not text.strip():
            raise Error(f"--{option}: it is empty; leave it out for the usual")
    usual = place_of(place) if place else Place()
    asks = "--given" if given or usual.given is None else f"--place {place}"
    given = given or usual.given
    unused = {"--flows": flows is not None, "--most": most is not None, "--chip": bool(chip)}
    for option, said in unused.items():
        if given and said:
            raise Error(f"{option}: {asks} asks how many flows one buffer serves; leave it out")
    if given and cc is None and "*" in usual.cc:
        raise Error(
            f"--place: {place} has {usual.cc}, and {asks} asks how many flows of which law; give "
            "--cc, like cubic,bbr"
        )
    rate, rtt, cc = rate or usual.rate, rtt or usual.rtt, cc or usual.laws(flows)
    # A mixture that is given says how many flows there are.
    flows = flows or (None if "*" in cc else usual.flows)
    load = Load(pacing, queue, quantum, short, two_way)
    length = with_unit(duration) if duration else None
    ask = Ask(rate, rtt, flows, cc, target, load, length, most or "4bdp", cache)
    if "," in cc and not given:
        raise Error(f'--cc: "{cc}" is a list, which --given takes; for a mixture write cubic/bbr')
    with told_by_option(OPTIONS_OF_GIVEN if given else OPTIONS):
        if given:
            invert(ask, given, asks, json_, output, force)
            return
        end_unless(advise(ask, chip_of(chip) if chip else None, json_, output, force))

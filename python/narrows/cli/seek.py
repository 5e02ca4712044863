"""`narrows seek`: the worst case of an expectation, searched for and made small."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from narrows.cli.errors import end_unless
from narrows.cli.options import CacheFolder, Force, Json, with_unit

commands = typer.Typer()


@commands.command(epilog="Example: narrows seek --cc bbr --against cubic --worst others-share")
def seek(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="A scenario over a dumbbell with [expect], in place of --cc.", show_default=False
        ),
    ] = None,
    cc: Annotated[
        str | None, typer.Option(help="A law or stack, or mine.py:Mine.", show_default=False)
    ] = None,
    against: Annotated[
        str | None, typer.Option(help="What the other flow has, if there is one.")
    ] = None,
    worst: Annotated[
        str,
        typer.Option(
            help="What is to be bad: share, others-share, utilisation, delay, loss, harm, "
            'starvation; or an expectation, like "jain >= 0.8".'
        ),
    ] = "utilisation",
    vary: Annotated[
        str | None,
        typer.Option(
            help="What varies, each with its own range if that is given, like rate=1Mbps..1Gbps: "
            "rate, rtt, buffer, start, loss, jitter, batch, on, off, other_rtt.  [default: "
            "rate,rtt,buffer,start; rtt,buffer with --served]",
            show_default=False,
        ),
    ] = None,
    changes: Annotated[
        str,
        typer.Option(
            help="How many changes there may be, and of which kinds, like 3:rate,hold: rate, rtt, "
            "loss, outage, hold."
        ),
    ] = "0",
    served: Annotated[
        str | None,
        typer.Option(
            help="For how long what the bottleneck serves is bred packet by packet, like 5s; then "
            "it serves 12 Mbps evenly, and only that counts. Needs -o and a --budget of thousands.",
            show_default=False,
        ),
    ] = None,
    duration: Annotated[
        str | None, typer.Option(help="Simulated time of a run.  [default: 60s, or the file's]")
    ] = None,
    budget: Annotated[int, typer.Option(help="How many candidates are tried; 48 or more.")] = 600,
    count: Annotated[
        int, typer.Option(help="How many cases to print, each of a region of its own.", min=1)
    ] = 1,
    seed: Annotated[int, typer.Option(help="The seed of the search.", min=0)] = 1,
    cache: CacheFolder = Path(".narrows"),
    json_: Json = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write what is found into this folder.")
    ] = None,
    force: Force = False,
) -> None:
    """Search networks for the worst case of an expectation, and print it as a small scenario.

    What is found fails under fresh seeds, too. The exit status is 1 if nothing is found.
    """
    from narrows.cli.work.seek import Ask, found

    length = with_unit(duration) if duration else None
    bred = None if served is None else with_unit(served)
    ask = Ask(file, cc, against, worst, vary, changes, bred, length, budget, count, seed)
    end_unless(found(ask, cache, json_, output, force))

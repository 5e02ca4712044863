"""`narrows compare`: controllers over one bottleneck; `narrows demo`: four of them."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Annotated

import typer

from narrows.cli import complete
from narrows.cli.errors import end_unless
from narrows.cli.options import Csv, Force, Json, Out, Seeds, split_list, split_seeds, with_unit
from narrows.errors import Error

commands = typer.Typer()


def _no_delay(value: str | None) -> str | None:
    if value is not None:
        raise typer.BadParameter(
            "it is not clear whether a delay is one-way or round-trip; use --rtt with the "
            f"round-trip time, which is twice {value} if that is the one-way delay."
        )
    return value


@commands.command(
    epilog=(
        "Example: narrows compare --rate 1Gbps --rtt 100ms --buffer 20p --flows 50 "
        "--cc newreno,cubic --pacing none,even"
    )
)
def compare(
    context: typer.Context,
    file: Annotated[
        Path | None,
        typer.Argument(
            help="A scenario file, as narrows fit writes it: laws take the place of its group own, "
            "or of all its flows.  [default: the options' dumbbell]",
            show_default=False,
        ),
    ] = None,
    rate: Annotated[
        str, typer.Option(help="The bottleneck's rate, or several: 100Mbps,1Gbps.")
    ] = "100Mbps",
    rtt: Annotated[
        str, typer.Option(help="Base round-trip time of the first flow, or several.")
    ] = "50ms",
    rtt_step: Annotated[
        str, typer.Option(help="Amount by which each flow's RTT exceeds the previous flow's.")
    ] = "0ms",
    buffer: Annotated[
        str,
        typer.Option(
            help="The bottleneck's buffer: 20p, 30kB, 5ms, 0.5bdp, bdp/sqrt(n); or several."
        ),
    ] = "1bdp",
    queue: Annotated[
        str,
        typer.Option(
            "--queue",
            "-q",
            help="The bottleneck's queue: drop-tail, red, codel, fq-codel, xcp …; or several.",
            autocompletion=complete.queues,
        ),
    ] = "drop-tail",
    ecn: Annotated[
        bool, typer.Option("--ecn", help="Flows use ECN: they respond to marks (RFC 3168).")
    ] = False,
    flows: Annotated[
        int | None,
        typer.Option(
            "--flows",
            "-P",
            help="The number of flows.  [default: as many as a mixture of --cc says, or 1]",
            min=1,
            show_default=False,
        ),
    ] = None,
    cc: Annotated[
        str,
        typer.Option(
            "--cc",
            "-C",
            help="Controllers, separated by commas: cubic, cubic:beta=0.8, reno+newreno; mixtures "
            "of flows: cubic/bbr, 40*cubic/10*bbr.",
            autocompletion=complete.controllers,
        ),
    ] = "reno,cubic",
    pacing: Annotated[
        str | None,
        typer.Option(
            help="How packets are spaced, separated by commas: none, even, exponential, fq.  "
            "[default: none; over QUIC 1.25 windows per round trip]",
            autocompletion=complete.pacings,
        ),
    ] = None,
    packet_size: Annotated[
        str | None,
        typer.Option(
            help="Size of a data packet on the wire.  [default: 1500B; 1000B with --tcp ns2]"
        ),
    ] = None,
    duration: Annotated[
        str,
        typer.Option(
            "--duration",
            "-t",
            help="Simulated time, or real time; a number without a unit is in seconds.",
        ),
    ] = "60s",
    warmup: Annotated[
        str | None,
        typer.Option(
            help="Initial part of the run that is not measured.  "
            "[default: a quarter of the duration]"
        ),
    ] = None,
    start_spread: Annotated[
        str, typer.Option(help="Flows start at random times within this interval.")
    ] = "100ms",
    overhead: Annotated[
        str,
        typer.Option(
            help="Senders wait a random time up to this before they send; breaks phase effects."
        ),
    ] = "0s",
    tcp: Annotated[
        str,
        typer.Option(
            help="The TCP implementation that flows imitate: linux, linux5, l4steam, "
            "linux24, ns2, ns2-2005 or ns2-2000."
        ),
    ] = "linux",
    max_ssthresh: Annotated[
        float,
        typer.Option(
            help="max_ssthresh of limited slow start (RFC 3742), in packets; 0 for the usual slow "
            "start."
        ),
    ] = 0.0,
    seeds: Seeds = "1",
    seed: Annotated[
        int | None,
        typer.Option(help="The first seed, if --seeds is the number of seeds.  [default: 1]"),
    ] = None,
    real: Annotated[
        bool,
        typer.Option(
            "--real",
            help="In real time over this machine's TCP; narrows' laws are loaded into the kernel.",
        ),
    ] = False,
    both: Annotated[
        bool,
        typer.Option(
            "--both", help="Each case real, simulated, and simulated with this machine's timing."
        ),
    ] = False,
    json_: Json = False,
    csv: Csv = False,
    output: Out = None,
    force: Force = False,
    delay: Annotated[str | None, typer.Option(hidden=True, callback=_no_delay)] = None,
) -> None:
    """Compare controllers over one bottleneck.

    With --real and --both the exit status is 1 if the machine was too late for a run to be
    believed.
    """
    from narrows.cli.work import compare as work

    ccs = split_list("--cc", cc)
    told = work.Shown((real, both), json_, csv, output, force)
    if file:
        _refuse_beside(context, file)
        chosen = functools.partial(split_seeds, seeds, seed)
        end_unless(work.compare_in(file, ccs, chosen, told))
        return
    combinations = work.Combinations(
        networks={
            "rate": split_list("--rate", rate),
            "rtt": split_list("--rtt", rtt),
            "rtt_step": [rtt_step],
            "buffer": split_list("--buffer", buffer),
            "queue": split_list("--queue", queue),
        },
        ccs=ccs,
        pacings=split_list("--pacing", pacing) if pacing else [None],
        seeds=split_seeds(seeds, seed),
        flows=work.flows_of(ccs) if flows is None else flows,
        fields={
            "duration": with_unit(duration),
            "warmup": warmup and with_unit(warmup),
            "tcp": tcp,
            "packet": packet_size,
        },
        flow={
            "start_spread": start_spread,
            "overhead": overhead,
            "max_ssthresh": max_ssthresh,
            "ecn": ecn,
        },
    )
    end_unless(work.compare(combinations, told))


# What may be said beside a scenario file; all else is in it.
BESIDE_A_FILE = ("file", "cc", "seeds", "seed", "json_", "csv", "output", "force")


def _refuse_beside(context: typer.Context, file: Path) -> None:
    """Fail if an option describes what is in the file."""
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        if source and source.name == "COMMANDLINE" and name not in BESIDE_A_FILE:
            raise Error(f"{parameter.opts[0]}: {file} is the whole scenario; leave one of them out")


@commands.command(epilog="Example: narrows demo -o out/demo")
def demo(
    output: Annotated[Path, typer.Option("-o", "--output", help="Output folder.")] = Path(
        "out/demo"
    ),
    duration: Annotated[str, typer.Option("--duration", "-t", help="Simulated time.")] = "30s",
    force: Force = False,
) -> None:
    """Compare four TCPs with and without pacing.

    50 flows share a bottleneck of 1 Gbps with an RTT of 100 ms and a buffer of 20 packets.
    """
    from narrows.cli.work import compare as work

    combinations = work.Combinations(
        networks={"rate": ["1Gbps"], "rtt": ["100ms"], "buffer": ["20p"]},
        ccs=["reno+reno", "newreno", "sack", "cubic"],
        pacings=["none", "even"],
        seeds=[1],
        flows=50,
        fields={
            "duration": with_unit(duration),
            "tcp": "ns2",
        },
        flow={"overhead": "8us"},
    )
    work.compare(combinations, work.Shown((False, False), False, False, output, force))

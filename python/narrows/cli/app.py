"""The command line.

Its commands: `narrows compare`, `run`, `again`, `sweep`, `cache`, `reproduce`, `lab`, `doctor`,
`list`, `examples`, `demo` and `schema`.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from csv import DictWriter
from dataclasses import asdict
from enum import StrEnum
from io import StringIO, TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer

from narrows import _core
from narrows._files import Output
from narrows._terminal import complain, console, put, say, warn
from narrows.cli import complete
from narrows.errors import Error
from narrows.made import Made

app = typer.Typer(
    name="narrows",
    help="A laboratory for congestion control on fast links with small router buffers.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)

FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130
BROKEN_PIPE = 141
TERMINATED = 143
# Of a longer path the end is shown.
LONGEST_PLACE = 60

Json = Annotated[
    bool,
    typer.Option(
        "--json", "-J", help="Print JSON instead of tables; runs are one object per line."
    ),
]
Csv = Annotated[
    bool, typer.Option("--csv", help="Print CSV instead of tables, one line for each run.")
]
Out = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", help="Write Parquet tables, a figure and a report into this folder."
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Replace the output folder if it has results of narrows.")
]
Seeds = Annotated[
    str, typer.Option(help="The number of seeds, like 10, or a range of them, like 1..10.")
]

CacheFolder = Annotated[
    Path, typer.Option("--cache", help="The folder in which finished runs are kept.")
]


class CacheTask(StrEnum):
    """The tasks of `narrows cache`."""

    LIST = "list"
    SIZE = "size"
    PRUNE = "prune"


def _version(asked: bool) -> None:
    if asked:
        from narrows import __version__  # noqa: PLC0415

        put(f"narrows {__version__}, engine {_core.engine()}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_version, is_eager=True
        ),
    ] = False,
) -> None:
    """A laboratory for congestion control on fast links with small router buffers."""


def main() -> None:
    """Run the command line.

    The exit status is 0 on success, 1 if a run failed or a claim differs, 2 on bad input, 130 if
    interrupted, 141 if the reader of the output has gone, and 143 if terminated.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A sign that the terminal's encoding lacks is shown as ?, and stops nothing.
            stream.reconfigure(errors="replace")
    signal.signal(signal.SIGTERM, _terminate)
    try:
        with _one_line_errors():
            app()
    except typer.Exit as exit_:
        sys.exit(exit_.exit_code)


class _TerminatedError(KeyboardInterrupt):
    """SIGTERM, which ends a command as Ctrl-C does."""


def _terminate(*_: object) -> None:
    raise _TerminatedError


@contextmanager
def _one_line_errors() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        # The reader, like head(1), has closed the pipe. Python flushes its buffer at exit; with
        # standard output on /dev/null, that flush does not fail as well.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(BROKEN_PIPE) from None
    except Error as error:
        complain(str(error))
        raise typer.Exit(BAD_INPUT) from None
    except OSError as error:
        complain(_told(error))
        raise typer.Exit(BAD_INPUT) from None
    except RuntimeError as error:
        complain(str(error))
        raise typer.Exit(FAILED) from None
    except _TerminatedError:
        complain("terminated")
        raise typer.Exit(TERMINATED) from None
    except KeyboardInterrupt:
        complain("interrupted")
        raise typer.Exit(INTERRUPTED) from None


def _told(error: OSError) -> str:
    """Return what an error of the system says, with its place first."""
    if error.strerror is None or error.filename is None:
        return str(error).removeprefix(f"[Errno {error.errno}] ")
    place = str(error.filename)
    shown = place if len(place) <= LONGEST_PLACE else "…" + place[-LONGEST_PLACE:]
    return f"{shown}: {error.strerror}"


def _no_delay(value: str | None) -> str | None:
    if value is not None:
        raise typer.BadParameter(
            "it is not clear whether a delay is one-way or round-trip; use --rtt with the "
            f"round-trip time, which is twice {value} if that is the one-way delay."
        )
    return value


@app.command(
    epilog=(
        "Example: narrows compare --rate 1Gbps --rtt 100ms --buffer 20p --flows 50 "
        "--cc newreno,cubic --pacing none,even"
    )
)
def compare(
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
    ] = "sack,cubic",
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
        str, typer.Option(help="The TCP implementation that flows imitate: linux or ns2.")
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
    from narrows.cli.compare import (  # noqa: PLC0415
        Combinations,
        flows_of,
        split_list,
        split_seeds,
    )

    with _one_line_errors():
        ccs = split_list("--cc", cc)
        combinations = Combinations(
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
            flows=flows_of(ccs) if flows is None else flows,
            fields={
                "duration": _seconds(duration),
                "warmup": warmup and _seconds(warmup),
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
        is_valid = _compare(combinations, (real, both), json_, csv, output, force)
    if not is_valid:
        raise typer.Exit(FAILED)


def _input() -> str:
    """Read a scenario from standard input."""
    from narrows.scenario import LARGEST  # noqa: PLC0415

    text = sys.stdin.read(LARGEST + 1)
    if len(text) > LARGEST:
        raise Error(f"standard input: it has more than {LARGEST >> 20} MiB, which no scenario has")
    return text


def _one_form(json_: bool, csv: bool) -> None:
    if json_ and csv:
        raise Error("--csv: --json is another form; leave one out")


def _print_csv(records: Sequence[dict[str, Any]]) -> None:
    """Print runs as CSV; what is a list has a cell with its values between spaces."""
    rows = [
        {
            name: _joined(value) if isinstance(value, list) else value
            for name, value in record.items()
            if name not in ("groups", "lateness")
        }
        | {f"late_{name}": value for name, value in record.get("lateness", {}).items()}
        for record in records
    ]
    columns = dict.fromkeys(name for row in rows for name in row)
    text = StringIO()
    writer = DictWriter(text, list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    put(text.getvalue(), end="")


def _joined(values: list[Any]) -> str:
    between = "; " if any(isinstance(value, str) for value in values) else " "
    return between.join(map(str, values))


def _seconds(text: str) -> str:
    """Append seconds as the unit to a bare number, as in iperf3's `-t 10`."""
    return f"{text}s" if text.replace(".", "", 1).isdigit() else text


def _change(text: str) -> tuple[str, Any]:
    """Read NAME=VALUE; a value that is no number or truth value is a text.

    Examples
    --------
    >>> _change("buffer=40p"), _change("flows[0].count=3")
    (('buffer', '40p'), ('flows[0].count', 3))
    """
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise Error(f'--set: "{text}" is not NAME=VALUE; try buffer=40p or flows[1].cc=bbr')
    try:
        return name.strip(), json.loads(value)
    except ValueError:
        return name.strip(), value.strip()


def _as_seconds(text: str) -> float:
    """Read a time like 100ms as seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(us|ms|s|min|h)?", text.strip())
    if not match or not float(match[1]):
        raise Error(f'"{text}" is not a time above 0; try 100ms')
    units = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, None: 1.0}
    return float(match[1]) * units[match[2]]


def _compare(
    combinations: Any,
    how: tuple[bool, bool],
    json_: bool,
    csv: bool,
    output: Path | None,
    force: bool,
) -> bool:
    """Compare; `how` is whether for real, and whether simulated as well.

    Returns whether all that was measured is to be believed.
    """
    from narrows import tables  # noqa: PLC0415
    from narrows._batch import check_memory  # noqa: PLC0415
    from narrows.cli.compare import write  # noqa: PLC0415
    from narrows.comparison import run_cases, varying  # noqa: PLC0415
    from narrows.reality import run_both, run_real  # noqa: PLC0415

    _one_form(json_, csv)
    real, both = how
    if real and both:
        raise Error("--both: it has the runs of --real; leave one out")
    planned = combinations.planned()
    if not (real or both):
        check_memory(
            [scenario.checked.weight() for _, scenario in planned], len(combinations.seeds)
        )
    with Output(output, force) if output else nullcontext() as folder:
        if not (json_ or csv):
            for buffer in dict.fromkeys(scenario.buffers["bottleneck"] for _, scenario in planned):
                say(f"bottleneck buffer: {buffer}")
            for line in combinations.left_out():
                say(line)
        compare_cases = run_both if both else run_real if real else run_cases
        comparison = compare_cases(planned, combinations.seeds)
        names = varying(comparison.cases)
        records = [
            {**{name: case.said.get(name) for name in names}, **run.record()}
            for case in comparison.cases
            for run in case.runs
        ]
        if json_ or csv:
            _print_records(records, csv)
        else:
            shown = tables.of_comparison(comparison.cases)
            if both:
                shown.append(tables.differences(comparison.cases))
            for table in shown:
                console().print(table)
            if not (real or both):
                say(_speed(records))
        if not (json_ or csv) or real or both:
            warn(comparison.warnings)
        if folder:
            made = combinations.made(planned, "lab" if real or both else "compare")
            write(folder, comparison, made)
            _finish(folder, made, quiet=json_ or csv)
    return all(record.get("valid", True) for record in records)


def _print_records(records: Sequence[dict[str, Any]], csv: bool) -> None:
    if csv:
        _print_csv(records)
    else:
        for record in records:
            put(json.dumps(record))


def _speed(records: Sequence[dict[str, Any]]) -> str:
    wall = sum(record["wall"] for record in records)
    packets = sum(record["delivered"] for record in records)
    runs = "1 run" if len(records) == 1 else f"{len(records)} runs"
    return f"{runs}, {wall:.2f} s of one core, {packets / wall / 1e6:.1f} Mpkt/s"


def _finish(folder: Output, made: Made, quiet: bool) -> None:
    folder.finish(made)
    if not quiet:
        say(f"written to {folder.target}/: " + ", ".join(folder.written()))


@app.command(epilog="Example: narrows run examples/dumbbell.toml -o out/dumbbell")
def run(
    file: Annotated[Path, typer.Argument(help="A scenario file; - for standard input.")],
    seeds: Annotated[
        str | None,
        typer.Option(help="The number of seeds, like 10, or a range of them, like 1..10."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="The first seed.  [default: the scenario file's]")
    ] = None,
    json_: Json = False,
    csv: Csv = False,
    output: Out = None,
    force: Force = False,
) -> None:
    """Run a scenario file."""
    from narrows import tables  # noqa: PLC0415
    from narrows._batch import run_all  # noqa: PLC0415
    from narrows.cli import single  # noqa: PLC0415
    from narrows.cli.compare import split_seeds  # noqa: PLC0415
    from narrows.scenario import Scenario  # noqa: PLC0415

    with _one_line_errors():
        _one_form(json_, csv)
        from_input = str(file) == "-"
        scenario = Scenario.from_toml(_input()) if from_input else Scenario.load(file)
        made = Made(
            "run", [({}, scenario.to_toml())], split_seeds(seeds or "1", seed, scenario.seed)
        )
        with Output(output, force) if output else nullcontext() as folder:
            traced = "trace" in scenario.fields
            if traced and not folder:
                warn(["trace: traces are written into the folder of -o, and there is none"])
            place = str(folder.path) if folder and traced else None
            results = run_all([(scenario, seed) for seed in made.seeds], place)
            if json_ or csv:
                _print_records([result.record() for result in results], csv)
            else:
                for table in tables.of_runs(results):
                    console().print(table)
            if not (json_ or csv):
                warn(single.warnings(results))
            if folder:
                single.write(folder, results, made)
                _finish(folder, made, quiet=json_ or csv)


lab_app = typer.Typer(
    help="Real connections of this machine's kernel over a real path with narrows' queues.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(lab_app, name="lab")


@lab_app.callback()
def lab_() -> None:
    """Real connections of this machine's kernel over a real path with narrows' queues."""


@lab_app.command("run", epilog="Example: narrows lab run examples/lab.toml -o out/lab")
def lab_run(
    file: Annotated[Path, typer.Argument(help="A scenario file with a dumbbell.")],
    seed: Annotated[
        int | None, typer.Option(help="The seed.  [default: the scenario file's]")
    ] = None,
    json_: Json = False,
    output: Out = None,
    force: Force = False,
) -> None:
    """Run a scenario file in real time over this machine's TCP.

    The exit status is 1 if the machine was too late for the run to be believed.
    """
    from narrows.cli.lab import run as run_lab  # noqa: PLC0415
    from narrows.errors import ScenarioError  # noqa: PLC0415
    from narrows.scenario import Scenario  # noqa: PLC0415

    with _one_line_errors():
        scenario = Scenario.load(file)
        with Output(output, force) if output else nullcontext() as folder:
            chosen = scenario.seed if seed is None else seed
            try:
                is_valid = run_lab(scenario, chosen, json_, folder)
            except ScenarioError as error:
                raise ScenarioError(f"{file}: {error}") from None
    if not is_valid:
        raise typer.Exit(FAILED)


@lab_app.command(
    "up", epilog="Example: narrows lab up --rate 500Mbps --rtt 70ms --buffer 0.2bdp -q fq-codel"
)
def lab_up(
    rate: Annotated[str, typer.Option(help="The bottleneck's rate.")] = "100Mbps",
    rtt: Annotated[str, typer.Option(help="The round-trip time without queues.")] = "50ms",
    buffer: Annotated[
        str, typer.Option(help="The bottleneck's buffer: 20p, 30kB, 5ms, 0.5bdp.")
    ] = "1bdp",
    queue: Annotated[
        str,
        typer.Option(
            "--queue", "-q", help="The bottleneck's queue.", autocompletion=complete.queues
        ),
    ] = "drop-tail",
    loss: Annotated[str, typer.Option(help="Random loss on the way there.")] = "0%",
    jitter: Annotated[str, typer.Option(help="The longest random addition to the delay.")] = "0ms",
    seed: Annotated[int, typer.Option(help="The seed of what the path does at random.")] = 1,
    single: Annotated[
        bool,
        typer.Option(
            "--single",
            help="Segments leave one by one, without segmentation offload; paced laws need it.",
        ),
    ] = False,
    name: Annotated[str, typer.Option(help="Its name, if several are to stand.")] = "lab",
) -> None:
    """Let a path stand between two network namespaces, for your own programs."""
    from narrows.cli.standing import up  # noqa: PLC0415
    from narrows.scenario import Scenario  # noqa: PLC0415

    path = {"rate": rate, "rtt": rtt, "buffer": buffer, "queue": queue}
    extra = {"loss": (loss, "0%"), "jitter": (jitter, "0ms")}
    path |= {field: value for field, (value, usual) in extra.items() if value != usual}
    with _one_line_errors():
        try:
            up(Scenario(seed=seed, dumbbell=path, flows=[{"cc": "cubic"}]), name, single)
        except (_TerminatedError, KeyboardInterrupt):
            say("the path is down")


@lab_app.command(
    "exec",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="Example: narrows lab exec left -- ping 10.77.0.2",
)
def lab_exec(
    end: Annotated[str, typer.Argument(help="left or right.")],
    command: Annotated[list[str], typer.Argument(help="The command and its arguments.")],
    name: Annotated[str, typer.Option(help="The path's name.")] = "lab",
) -> None:
    """Run a command at one end of a standing path."""
    from narrows.cli.standing import execute  # noqa: PLC0415

    with _one_line_errors():
        execute(name, end, command[1:] if command[0] == "--" else command)


@lab_app.command("down")
def lab_down(
    name: Annotated[str, typer.Option(help="The path's name.")] = "lab",
) -> None:
    """Take a standing path down."""
    from narrows.cli.standing import down  # noqa: PLC0415

    with _one_line_errors():
        down(name)


kernel_app = typer.Typer(
    help="narrows' laws as congestion controls of Linux's kernel.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(kernel_app, name="kernel")


@kernel_app.command("list")
def kernel_list() -> None:
    """Say which laws there are for the kernel, and which are loaded."""
    from narrows.cli.kernel import show  # noqa: PLC0415

    with _one_line_errors():
        show()


@kernel_app.command("load", epilog="Example: narrows kernel load etcp:p0=0.005 ltcp")
def kernel_load(
    laws: Annotated[list[str], typer.Argument(help="Laws, with settings: etcp, ltcp:beta=0.2.")],
) -> None:
    """Load laws into the kernel, as nw_etcp …, until they are unloaded."""
    from narrows.cli.kernel import load  # noqa: PLC0415

    with _one_line_errors():
        load(laws)


@kernel_app.command("unload")
def kernel_unload(
    laws: Annotated[list[str] | None, typer.Argument(help="Laws; all if none is named.")] = None,
) -> None:
    """Take laws away that narrows kernel load has brought."""
    from narrows.cli.kernel import unload  # noqa: PLC0415

    with _one_line_errors():
        unload(laws or [])


@kernel_app.command("watch", epilog="Example: narrows kernel watch --cc nw_etcp -o etcp.parquet")
def kernel_watch(
    every: Annotated[str, typer.Option(help="Time between two looks.")] = "100ms",
    duration: Annotated[
        str | None, typer.Option("--duration", "-t", help="For how long.  [default: until Ctrl-C]")
    ] = None,
    cc: Annotated[
        str | None, typer.Option("--cc", "-C", help="Only this law, by its name in the kernel.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="A Parquet file, like a run's flow_series; which flow is which: .flows.csv.",
        ),
    ] = None,
) -> None:
    """Show the window, RTT, pacing rate and losses of every TCP connection.

    Of this network namespace: a path's are shown by narrows lab exec left -- narrows kernel watch.
    """
    from narrows.cli.kernel import watch  # noqa: PLC0415

    with _one_line_errors():
        span = None if duration is None else _as_seconds(duration)
        watch(_as_seconds(every), span, cc, output)


@app.command()
def doctor(
    host: Annotated[
        bool,
        typer.Option("--host", help="Measure this machine's timing, and print a flow's host line."),
    ] = False,
    duration: Annotated[
        str, typer.Option("--duration", "-t", help="For how long --host measures.")
    ] = "60s",
) -> None:
    """Say what this machine can do for a lab, and what to do about what it cannot.

    The exit status is 0 if a lab can run.
    """
    from narrows.cli import lab as of_lab  # noqa: PLC0415

    with _one_line_errors():
        if host:
            of_lab.host(_as_seconds(duration))
            return
        is_able = of_lab.doctor()
    if not is_able:
        raise typer.Exit(FAILED)


@app.command(epilog="Example: narrows send data.parquet 192.0.2.7:4433/3f… --cc etcp:p0=0.01")
def send(
    file: Annotated[Path, typer.Argument(help="The file, or a directory with all its files.")],
    ticket: Annotated[
        str,
        typer.Argument(
            envvar="NARROWS_TICKET",
            help="What narrows recv has printed; or in the variable, which others cannot see.",
        ),
    ],
    cc: Annotated[str, typer.Option("--cc", "-C", help="The law that decides how fast.")] = "cubic",
    patience: Annotated[
        str, typer.Option(help="For how long a receiver that says nothing is tried again.")
    ] = "60s",
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object.")] = False,
) -> None:
    """Send a file or a directory to a machine where narrows recv runs, over UDP, with any law.

    What has arrived is kept: sent again, it goes on where it stopped. The exit status is 1 if the
    receiver refuses or does not answer.
    """
    from narrows.cli import bulk  # noqa: PLC0415

    with _one_line_errors():
        is_taken = bulk.send(file, ticket, cc, _as_seconds(patience), as_json)
    if not is_taken:
        raise typer.Exit(FAILED)


@app.command(epilog="Example: narrows recv in --host lab.example.org")
def recv(
    directory: Annotated[Path, typer.Argument(help="Where files go; made if need be.")] = Path(),
    listen: Annotated[
        str, typer.Option(help="Address and UDP port; port 0 is any that is free.")
    ] = "0.0.0.0:4433",
    host: Annotated[
        str | None,
        typer.Option(
            help="Name or address by which senders find this machine.  [default: its own]"
        ),
    ] = None,
    fresh: Annotated[
        bool,
        typer.Option("--fresh", help="Use a key of its own, so that earlier tickets do nothing."),
    ] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="Take any number of files, until Ctrl-C.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object in each line: the ticket, files.")
    ] = False,
) -> None:
    """Take a file from whoever has the ticket that this prints, over UDP.

    Only a sender that knows the ticket's secret is listened to. An existing file is never replaced.
    """
    from narrows.cli import bulk  # noqa: PLC0415

    with _one_line_errors():
        bulk.receive(directory, listen, host, fresh, keep, as_json)


@app.command("again", epilog="Example: narrows again out/demo")
def again_(
    folder: Annotated[Path, typer.Argument(help="A folder that -o has written.")],
    output: Out = None,
    force: Force = False,
) -> None:
    """Make a folder of results again, and say whether they are the same.

    The exit status is 1 if a table differs.
    """
    from narrows.cli.again import again  # noqa: PLC0415

    with _one_line_errors(), Output(output, force) if output else nullcontext() as place:
        same = again(folder, place)
    if not same:
        raise typer.Exit(FAILED)


@app.command(epilog="Example: narrows sweep examples/sweeps/buffer.toml --seeds 10 -o out/buffer")
def sweep(
    file: Annotated[Path, typer.Argument(help="A sweep file.")],
    seeds: Annotated[
        str | None,
        typer.Option(
            help="The number of seeds, like 10, or a range of them, like 1..10.  "
            "[default: the sweep file's]"
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            help="Add seeds until half of the 95% confidence interval of --metric is within this "
            "share of its mean, like 2%."
        ),
    ] = None,
    metric: Annotated[
        str, typer.Option(help="The metric for --until and the figure; the table shows it too.")
    ] = "utilisation",
    most_seeds: Annotated[
        int, typer.Option(help="The largest number of seeds per point that --until may use.", min=1)
    ] = 100,
    workers: Annotated[
        int | None, typer.Option(help="The number of threads.  [default: one per core]", min=1)
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(help="Address of a Dask scheduler to run on; needs narrows[dask]."),
    ] = None,
    cache: CacheFolder = Path(".narrows"),
    json_: Json = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Write tidy Parquet tables and a figure into this folder."
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Run every combination with every seed.

    A sweep can be interrupted and resumed at any time; finished runs are not repeated.
    """
    from narrows.cli.sweep import run_file  # noqa: PLC0415

    with _one_line_errors():
        target = (lambda: Output(output, force)) if output else None
        failed = run_file(
            file, seeds, until, metric, most_seeds, workers, dask, cache, json_, target
        )
    if failed:
        raise typer.Exit(FAILED)


@app.command("cache", epilog="Example: narrows cache prune --older 30d")
def cache_(
    what: Annotated[CacheTask, typer.Argument(help="list, size or prune.")] = CacheTask.SIZE,
    cache: CacheFolder = Path(".narrows"),
    older: Annotated[
        str | None,
        typer.Option(help="With prune: also remove runs older than this, like 30d or 12h."),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="With prune: remove every run.")] = False,
    json_: Json = False,
) -> None:
    """List, count or prune the runs that sweeps keep.

    list prints each run, and size their number and total size. prune removes damaged runs, runs of
    other engine versions, and leftover temporary files.
    """
    from narrows.cli.sweep import listed, prune, sizes  # noqa: PLC0415

    with _one_line_errors():
        for option, given in (("--older", older), ("--all", all_)):
            if given and what is not CacheTask.PRUNE:
                raise Error(f"{option}: is for prune; leave it out of {what}")
        if what is CacheTask.LIST:
            listed(cache, json_)
        elif what is CacheTask.SIZE:
            sizes(cache, json_)
        else:
            prune(cache, older, all_, json_)


@app.command(epilog="Example: narrows reproduce htcp/fig03 --scale quick")
def reproduce(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            help="Experiments like etcp/fig06, papers like etcp, or all.",
            show_default=False,
            autocompletion=complete.experiments,
        ),
    ] = None,
    scale: Annotated[
        str,
        typer.Option(
            help="Share of the paper's durations and numbers of seeds: full, quick (a tenth), or a "
            "number like 0.5."
        ),
    ] = "full",
    list_only: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
    cache: CacheFolder = Path(".narrows"),
    json_: Json = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Output folder for figures, data, claims and the papers' pages.  "
            "[default: out/papers, out/papers-0.1 with --scale quick; out/real with --real]",
        ),
    ] = None,
    scenario: Annotated[
        bool,
        typer.Option(
            "--scenario", help="Write the scenarios of each experiment, too, for narrows run."
        ),
    ] = False,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Change one thing in every scenario: buffer=40p, flows[1].cc=bbr; repeatable.",
        ),
    ] = None,
    real: Annotated[
        bool,
        typer.Option("--real", help="Over this machine's kernel: ltcp/tab09, tab10 and fig11."),
    ] = False,
) -> None:
    """Run a paper's experiments and check its claims.

    Nothing is decided from shortened or changed runs. The exit status is 1 if a claim differs or an
    experiment could not be computed.
    """
    from narrows.papers.lab import Lab  # noqa: PLC0415
    from narrows.papers.reproduce import catalogue, parse_scale  # noqa: PLC0415
    from narrows.papers.reproduce import reproduce as run_experiments  # noqa: PLC0415

    with _one_line_errors():
        if list_only:
            catalogue(json_)
            return
        if not what:
            raise Error("reproduce: no experiment given; narrows reproduce --list lists them")
        changes = dict(map(_change, set_ or []))
        lab = Lab(parse_scale(scale), cache, progress=not json_, changes=changes)
        usual = "out/real" if real else "out/papers"
        # Results of shorter or of changed runs have a folder of their own.
        usual += "" if lab.scale == 1 else f"-{lab.scale:g}"
        usual += "-changed" if changes else ""
        folder = output or Path(usual)
        holds = run_experiments(what, lab, folder, json_, real, scenario)
    if not holds:
        raise typer.Exit(FAILED)


@app.command("list", epilog="Example: narrows list --json")
def list_(
    what: Annotated[
        str | None,
        typer.Argument(
            help="A kind, like queues, or a name, like cubic.",
            show_default=False,
            autocompletion=complete.listed,
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """List controllers, queues, recoveries, slow starts and presets, with their sources."""
    from rich.table import Table  # noqa: PLC0415

    from narrows import listing  # noqa: PLC0415

    with _one_line_errors():
        kinds = listing.chosen(what)
        if json_:
            put(json.dumps({kind: list(map(asdict, lines)) for kind, lines in kinds.items()}))
            return
        for kind, lines in kinds.items():
            table = Table(
                "name", "", "source", title=kind.replace("_", " "), title_justify="left", box=None
            )
            for line in lines:
                settings = "".join(
                    f"\n  {setting.name}={setting.default}: {setting.meaning}"
                    for setting in line.settings
                )
                table.add_row(line.name, line.summary + settings, line.source)
            console().print(table, "")


@app.command(epilog="Example: narrows examples parking_lot > lot.toml")
def examples(
    name: Annotated[
        str | None,
        typer.Argument(
            help="An example to print.", show_default=False, autocompletion=complete.example
        ),
    ] = None,
    copy: Annotated[
        Path | None, typer.Option(help="Copy the example, or all, into this new folder.")
    ] = None,
) -> None:
    """List the examples, print one, or copy one or all."""
    from narrows.cli.examples import copied, listed, shown  # noqa: PLC0415

    with _one_line_errors():
        if copy:
            copied(copy, name)
        elif name:
            put(shown(name), end="")
        else:
            listed()


@app.command(epilog="Example: narrows demo -o out/demo")
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
    from narrows.cli.compare import Combinations  # noqa: PLC0415

    with _one_line_errors():
        combinations = Combinations(
            networks={"rate": ["1Gbps"], "rtt": ["100ms"], "buffer": ["20p"]},
            ccs=["reno", "newreno", "sack", "cubic"],
            pacings=["none", "even"],
            seeds=[1],
            flows=50,
            fields={
                "duration": _seconds(duration),
                "tcp": "ns2",
            },
            flow={"overhead": "8us"},
        )
        _compare(combinations, (False, False), json_=False, csv=False, output=output, force=force)


@app.command()
def schema() -> None:
    """Print the JSON schema of a scenario file."""
    put(_core.schema())

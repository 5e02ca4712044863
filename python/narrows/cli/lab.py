"""`narrows lab`: this machine's kernel over a real path; `narrows doctor`: what it can do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from narrows.cli import complete
from narrows.cli.errors import TerminatedError, end_unless
from narrows.cli.options import Force, Json, Out, group, seconds_of
from narrows.errors import Error
from narrows.terminal import say

ABOUT = "Real connections of this machine's kernel over a real path with narrows' queues."

of_lab = group(ABOUT)
commands = typer.Typer()
commands.add_typer(of_lab, name="lab")


@of_lab.command("run", epilog="Example: narrows lab run examples/lab.toml -o out/lab")
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
    from narrows.cli.work.lab import run as run_lab
    from narrows.cli.work.printing import folder_of
    from narrows.errors import ScenarioError
    from narrows.scenario import Scenario

    scenario = Scenario.load(file)
    with folder_of(output, force) as folder:
        chosen = scenario.seed if seed is None else seed
        try:
            is_valid = run_lab(scenario, chosen, json_, folder)
        except ScenarioError as error:
            raise ScenarioError(f"{file}: {error}") from None
    end_unless(is_valid)


Rate = Annotated[str | None, typer.Option(help="The rate of the way there.  [default: 100Mbps]")]
Rtt = Annotated[
    str | None, typer.Option(help="The round-trip time without queues.  [default: 50ms]")
]
Buffer = Annotated[
    str | None,
    typer.Option(help="The buffer: 20p, 30kB, 5ms, 0.5bdp.  [default: 1bdp]"),
]
Queue = Annotated[
    str | None,
    typer.Option(
        "--queue", "-q", help="The queue.  [default: drop-tail]", autocompletion=complete.queues
    ),
]
Loss = Annotated[str | None, typer.Option(help="Random loss on the way there.")]
Jitter = Annotated[str | None, typer.Option(help="The longest random addition to the delay.")]
TraceFile = Annotated[
    str | None,
    typer.Option(help="Opportunities to send in place of the rate: a file in mahimahi's format."),
]
UpRate = Annotated[str | None, typer.Option("--up-rate", help="The rate of the way back.")]
UpTrace = Annotated[str | None, typer.Option("--up-trace", help="The trace of the way back.")]
PathFile = Annotated[
    Path | None,
    typer.Option("--file", help="A scenario file whose dumbbell it is, with all that changes."),
]
Seed = Annotated[int, typer.Option(help="The seed of what the path does at random.")]
Single = Annotated[
    bool,
    typer.Option(
        "--single",
        help="Segments leave one by one, without segmentation offload; paced laws need it.",
    ),
]


def _given(*values: str | None) -> dict[str, str | None]:
    """Return fields of a path by name, in the order of the options."""
    names = ("rate", "rtt", "buffer", "queue", "loss", "jitter", "trace")
    return dict(zip(names, values, strict=True))


@of_lab.command(
    "up", epilog="Example: narrows lab up --rate 500Mbps --rtt 70ms --buffer 0.2bdp -q fq-codel"
)
def lab_up(
    rate: Rate = None,
    rtt: Rtt = None,
    buffer: Buffer = None,
    queue: Queue = None,
    loss: Loss = None,
    jitter: Jitter = None,
    trace: TraceFile = None,
    up_rate: UpRate = None,
    up_trace: UpTrace = None,
    file: PathFile = None,
    seed: Seed = 1,
    single: Single = False,
    name: Annotated[str, typer.Option(help="Its name, if several are to stand.")] = "lab",
) -> None:
    """Let a path stand between two network namespaces, for your own programs."""
    from narrows.cli.work.standing import path_of, up

    given = _given(rate, rtt, buffer, queue, loss, jitter, trace)
    path = path_of(given, up_rate, up_trace, file, seed, single)
    try:
        up(path, name, single)
    except (TerminatedError, KeyboardInterrupt):
        say("the path is down")


@of_lab.command(
    "exec",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="Examples: narrows lab exec --rate 10Mbps --rtt 60ms -- curl -s 10.77.0.1:8000;  "
    "narrows lab exec left -- ping 10.77.0.2",
)
def lab_exec(
    command: Annotated[
        list[str],
        typer.Argument(
            help="left or right of a path that stands, then the command; or after "
            "options of a path, and --, the command alone."
        ),
    ],
    rate: Rate = None,
    rtt: Rtt = None,
    buffer: Buffer = None,
    queue: Queue = None,
    loss: Loss = None,
    jitter: Jitter = None,
    trace: TraceFile = None,
    up_rate: UpRate = None,
    up_trace: UpTrace = None,
    file: PathFile = None,
    seed: Seed = 1,
    single: Single = False,
    beside: Annotated[
        str | None,
        typer.Option(help="A server to run before the path, by the shell, while the command runs."),
    ] = None,
    name: Annotated[str, typer.Option(help="The path's name, of one that stands.")] = "lab",
) -> None:
    """Run a command at one end of a standing path, or behind a path of its own.

    A path of its own begins in this network and ends in a new one, in which the command runs: the
    way there is to the command. It may begin behind another. Without root it begins in a network
    that has nothing but what --beside runs.
    """
    from narrows.cli.work.standing import execute, execute_behind, path_of

    given = _given(rate, rtt, buffer, queue, loss, jitter, trace)
    words = command[1:] if command[0] == "--" else command
    if command[0].startswith("-") and command[0] != "--":
        raise Error(f"there is no option {command[0]}; narrows lab exec --help has all")
    if not any([*given.values(), up_rate, up_trace, file]):
        if beside is not None:
            raise Error("--beside: is for a path of the command's own; say its --rate")
        if len(words) < 2 or words[0] not in ("left", "right"):
            raise Error(
                "say left or right of a path that stands, and a command; or a path, like --rate "
                "10Mbps, and -- COMMAND"
            )
        rest = words[1:]
        execute(name, words[0], rest[1:] if rest[0] == "--" else rest)
        return
    if words[0] in ("left", "right") or name != "lab":
        raise Error("a path that stands is as it is: leave out the options of a path, or its name")
    path = path_of(given, up_rate, up_trace, file, seed, single)
    raise typer.Exit(execute_behind(path, single, words, beside))


@of_lab.command("down")
def lab_down(
    name: Annotated[str, typer.Option(help="The path's name.")] = "lab",
) -> None:
    """Take a standing path down."""
    from narrows.cli.work.standing import down

    down(name)


@commands.command()
def doctor(
    host: Annotated[
        bool,
        typer.Option("--host", help="Measure this machine's timing, and print a flow's host line."),
    ] = False,
    duration: Annotated[
        str | None,
        typer.Option("--duration", "-t", help="For how long --host measures.  [default: 60s]"),
    ] = None,
) -> None:
    """Say what this machine can do for a lab, and what to do about what it cannot.

    The exit status is 0 if a lab can run.
    """
    from narrows.cli.work import lab as work

    if host:
        work.host(seconds_of("--duration", duration or "60s"))
        return
    if duration is not None:
        raise Error("--duration: is for --host; leave it out")
    is_able = work.doctor()
    end_unless(is_able)

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


@of_lab.command(
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
    from narrows.cli.work.standing import up
    from narrows.scenario import Scenario

    path = {"rate": rate, "rtt": rtt, "buffer": buffer, "queue": queue}
    extra = {"loss": (loss, "0%"), "jitter": (jitter, "0ms")}
    path |= {field: value for field, (value, usual) in extra.items() if value != usual}
    try:
        up(Scenario(seed=seed, dumbbell=path, flows=[{"cc": "cubic"}]), name, single)
    except (TerminatedError, KeyboardInterrupt):
        say("the path is down")


@of_lab.command(
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
    from narrows.cli.work.standing import execute

    execute(name, end, command[1:] if command[0] == "--" else command)


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

"""`narrows judge`: a law that nobody trusts, over scenarios that it has not seen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from narrows.cli.errors import end_unless
from narrows.cli.options import split_list

commands = typer.Typer()


@commands.command(epilog="Example: narrows judge law.py --against cubic,bbr --json")
def judge(
    law: Annotated[
        str,
        typer.Argument(
            help="A Python file with one class of a controller, a formula, a WebAssembly module "
            "or, with --trusted, its source in Rust, or a law's name."
        ),
    ],
    key: Annotated[
        str | None,
        typer.Option(
            help="Draw the held-out scenarios from this text, and show them.  [default: a fresh "
            "one, and they are not shown]",
            show_default=False,
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Seeds of each scenario.", min=1)] = 3,
    against: Annotated[
        str,
        typer.Option(help='Laws to compare it with, on the same scenarios and seeds; "" for none.'),
    ] = "cubic,bbr",
    budget: Annotated[
        str, typer.Option(help="Judge what has been run after this wall-clock time.")
    ] = "120s",
    count: Annotated[
        int, typer.Option(help="Scenarios of each part, shown and held out.", min=1, max=1000)
    ] = 100,
    suite: Annotated[
        Path | None,
        typer.Option(
            help="A file of TOML that says what scenarios are drawn from: rate, rtt, buffer, loss "
            "and kinds.  [default: the usual ones]",
            show_default=False,
        ),
    ] = None,
    seconds: Annotated[
        int, typer.Option(help="Seconds of a processor that a file may take in one run.", min=1)
    ] = 3,
    only: Annotated[str | None, typer.Option(help="Run one scenario only, like shown/017.")] = None,
    trusted: Annotated[
        bool, typer.Option("--trusted", help="Run the file in this process, without a sandbox.")
    ] = False,
    json_: Annotated[
        bool, typer.Option("--json", "-J", help="Print the whole answer as one JSON object.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write that JSON into this file.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file.")] = False,
) -> None:
    """Judge a law over a hundred scenarios that it may know and a hundred that it cannot.

    Its file runs in a sandbox: no files, no network, no other process, little time. The exit status
    is 1 if the law failed (it raised, answered what cannot be, was too slow), did not do the same
    twice, or was not judged within the budget.
    """
    from narrows.cli.work.judge import Asked, show

    laws = split_list("--against", against) if against.strip() else []
    asked = Asked(law, key, seeds, laws, budget, count, seconds, only, trusted, suite)
    end_unless(show(asked, json_, output, force))

"""The command line: its groups of commands, one file each.

A file here says what a command is asked; what it does is in `work`, imported when it is called.
"""

from __future__ import annotations

import os
import signal
import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from narrows import _core
from narrows.cli import (
    again,
    arena,
    buffer,
    check,
    choices,
    compare,
    conform,
    judge,
    kernel,
    lab,
    play,
    reproduce,
    run,
    score,
    seek,
    send,
    show,
    sweep,
    theory,
    trace,
    why,
)
from narrows.cli.errors import TerminatedError, one_line_errors
from narrows.terminal import put

# By this a shell asks for completions.
COMPLETION = "_NARROWS_COMPLETE"

app = typer.Typer(
    name="narrows",
    help="A laboratory for congestion control on fast links with small router buffers.",
    epilog="Begin with narrows demo, narrows play, or narrows examples.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)
# In the order of --help.
for _part in (
    compare,
    run,
    again,
    show,
    sweep,
    check,
    conform,
    score,
    arena,
    seek,
    judge,
    buffer,
    theory,
    why,
    reproduce,
    play,
    lab,
    kernel,
    send,
    trace,
    choices,
):
    app.add_typer(_part.commands)


def _version(asked: bool) -> None:
    if asked:
        from narrows import __version__

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
    command = typer.main.get_command(app)
    if COMPLETION in os.environ:
        command()
    try:
        # Not by `command()`, which tells errors and interruptions in its own way.
        with (
            one_line_errors(),
            command.make_context("narrows", sys.argv[1:]) as context,
        ):
            command.invoke(context)
    except typer.Exit as exit_:
        sys.exit(exit_.exit_code)


def _terminate(*_: object) -> None:
    raise TerminatedError

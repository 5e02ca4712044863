"""The command line: its groups of commands, one file each.

A file here says what a command is asked; what it does is in `work`, imported when it is called.
"""

from __future__ import annotations

import signal
import sys
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from narrows import _core
from narrows.cli import again, choices, compare, kernel, lab, reproduce, run, send, sweep
from narrows.cli.errors import TerminatedError, one_line_errors
from narrows.terminal import put


class Commands(TyperGroup):
    """The commands, whose errors are told in one line, whichever of them is called."""

    def invoke(self, ctx: Any) -> Any:
        """Call the command."""
        with one_line_errors():
            return super().invoke(ctx)


app = typer.Typer(
    cls=Commands,
    name="narrows",
    help="A laboratory for congestion control on fast links with small router buffers.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)
# In the order of --help.
for _part in (compare, run, again, sweep, reproduce, lab, send, choices):
    app.add_typer(_part.commands)
app.add_typer(kernel.commands, name="kernel")


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
    try:
        with one_line_errors():
            app()
    except typer.Exit as exit_:
        sys.exit(exit_.exit_code)


def _terminate(*_: object) -> None:
    raise TerminatedError

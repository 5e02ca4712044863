"""The one place where an error becomes a line on standard error and an exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import typer

from narrows import _core
from narrows.errors import Error
from narrows.terminal import complain

FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130
BROKEN_PIPE = 141
TERMINATED = 143
# What is wrong with arguments; typer names its classes by the one that it lets others raise.
UsageError = cast("type[typer.BadParameter]", typer.BadParameter.__mro__[1])
# Of a longer path the end is shown.
LONGEST_PLACE = 60


class TerminatedError(KeyboardInterrupt):
    """SIGTERM, which ends a command as Ctrl-C does."""


def end_unless(holds: bool) -> None:
    """End the command with the status of a failure, unless what it found holds."""
    if not holds:
        raise typer.Exit(FAILED)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn an error into one line on standard error and the exit status."""
    try:
        yield
    except typer.Exit:
        # An exit status is not an error, though it is a RuntimeError.
        raise
    except UsageError as error:
        error.show()
        raise typer.Exit(error.exit_code) from None
    except BrokenPipeError:
        # The reader, like head(1), has closed the pipe. Python flushes its buffer at exit; with
        # standard output on /dev/null, that flush does not fail as well.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(BROKEN_PIPE) from None
    except Error as error:
        complain(str(error))
        raise typer.Exit(BAD_INPUT) from None
    except _core.BoundsError as error:
        # A law that a file describes has failed in its run.
        complain(str(error))
        raise typer.Exit(FAILED) from None
    except OSError as error:
        complain(_told(error))
        raise typer.Exit(BAD_INPUT) from None
    except RuntimeError as error:
        complain(str(error))
        raise typer.Exit(FAILED) from None
    except TerminatedError:
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

"""The console and stream that tables and messages are printed to."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

PIPED_WIDTH = 200


def console() -> Console:
    """Return a console as wide as the terminal, or wide enough for any table if there is none."""
    from rich.console import Console  # noqa: PLC0415

    plain = Console()
    return plain if plain.is_terminal else Console(width=PIPED_WIDTH)


def warn(warnings: Iterable[str]) -> None:
    """Print each warning once, to standard error, whatever else is printed where."""
    for warning in dict.fromkeys(warnings):
        print(f"narrows: warning: {warning}", file=sys.stderr)


def say(text: str) -> None:
    """Print a message that is not a result; it goes to standard error if the output is piped."""
    print(text, file=sys.stdout if sys.stdout.isatty() else sys.stderr)

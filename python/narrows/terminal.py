"""Where tables and messages go."""

from __future__ import annotations

import sys

from rich.console import Console

PIPED_WIDTH = 200


def console() -> Console:
    """Give a console as wide as the terminal; wide enough for any table where there is none."""
    plain = Console()
    return plain if plain.is_terminal else Console(width=PIPED_WIDTH)


def say(text: str) -> None:
    """Print a message beside the results: to standard error where standard output is piped."""
    print(text, file=sys.stdout if sys.stdout.isatty() else sys.stderr)

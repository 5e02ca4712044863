"""The one door to the terminal: whatever is printed goes through `plain`.

Texts come from scenario files, file names, other people's stacks and machines; a terminal obeys
control characters in them, and hides or reorders others.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

PIPED_WIDTH = 200
# Control and format characters, surrogates, and separators of lines and paragraphs.
_OBEYED = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def plain(text: str) -> str:
    r"""Write what a terminal would obey, hide or reorder as its code; line ends and tabs stay.

    Examples
    --------
    >>> plain("red\x1b[31m, right to left\u202e")
    'red\\x1b[31m, right to left\\u202e'
    """
    if text.isprintable():
        return text
    return "".join(
        sign.encode("unicode_escape").decode()
        if sign not in "\n\t" and unicodedata.category(sign) in _OBEYED
        else sign
        for sign in text
    )


def put(text: str = "", end: str = "\n") -> None:
    """Print a result, to standard output."""
    print(plain(text), end=end, flush=True)


def tell(text: str) -> None:
    """Print a message to standard error.

    Lines after the first are indented, so that none can pass for a message of its own.
    """
    first, *others = plain(text).split("\n")
    print("\n".join([first, *(f"  {line}" for line in others)]), file=sys.stderr, flush=True)


def complain(text: str) -> None:
    """Print an error to standard error, with the program's name."""
    tell(f"narrows: {text}")


def say(text: str) -> None:
    """Print a message that is not a result; it goes to standard error if the output is piped."""
    if sys.stdout.isatty():
        put(text)
    else:
        print(plain(text), file=sys.stderr, flush=True)


def warn(warnings: Iterable[str]) -> None:
    """Print each warning once, to standard error, whatever else is printed where."""
    for warning in dict.fromkeys(warnings):
        complain(f"warning: {warning}")


def live(text: str) -> None:
    """Print over the last line of a terminal, to standard error."""
    print(f"\r\x1b[K{plain(text)}", end="", file=sys.stderr, flush=True)


@cache
def _console_class() -> type[Console]:
    from rich.console import Console  # noqa: PLC0415
    from rich.segment import Segment  # noqa: PLC0415

    class Plain(Console):
        """A console whose texts go through `plain`."""

        def render(self, renderable, options=None):  # type: ignore[no-untyped-def]
            for segment in super().render(renderable, options):
                yield (segment if segment.control else Segment(plain(segment.text), segment.style))

        def on_broken_pipe(self) -> None:
            # Rich would end the process by itself, with another status.
            raise BrokenPipeError

    return Plain


def console() -> Console:
    """Return a console for results.

    It is as wide as the terminal, or as COLUMNS says, or wide enough for any table if there is
    neither.
    """
    made = _console_class()()
    if made.is_terminal or os.environ.get("COLUMNS", "").isdigit():
        return made
    return _console_class()(width=PIPED_WIDTH)


def console_of_errors() -> Console:
    """Return a console for progress, on standard error."""
    return _console_class()(stderr=True, force_jupyter=False)


def console_into(stream: IO[str], width: int) -> Console:
    """Return a console that writes plain text of a width into a stream."""
    return _console_class()(file=stream, width=width, color_system=None, force_jupyter=False)

"""The page of all commands, as they say themselves what they are asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from narrows.cli.app import app

# As click wraps at 80 columns.
WIDTH = 78
HEAD = """# Commands

Each command says this with `--help`, and this page is made from it.
"""


def page() -> str:
    """Return the page.

    Returns
    -------
    str
        Markdown: a section for each command, with its help.
    """
    command = typer.main.get_command(app)
    sections = [
        f"## {name}\n\n```text\n{told}\n```\n" for name, told in _of("narrows", command, None)
    ]
    return "\n".join([HEAD, *sections])


def _of(name: str, command: Any, above: typer.Context | None) -> Iterator[tuple[str, str]]:
    context = typer.Context(
        command,
        info_name=name,
        parent=above,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        **({} if above else command.context_settings),
    )
    if above is not None:
        yield context.command_path, command.get_help(context).rstrip()
    # Only a group has commands.
    for below, found in getattr(command, "commands", {}).items():
        if not found.hidden:
            yield from _of(below, found, context)

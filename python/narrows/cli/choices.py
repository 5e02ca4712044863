"""`narrows list`, `examples` and `schema`: what there is to choose from."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from narrows import _core
from narrows.cli import complete
from narrows.cli.options import Json
from narrows.terminal import console, put

commands = typer.Typer()


@commands.command("list", epilog="Example: narrows list --json")
def list_(
    what: Annotated[
        str | None,
        typer.Argument(
            help="A kind, like queues, or a name, like cubic.",
            show_default=False,
            autocompletion=complete.listed,
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """List controllers, queues, recoveries, slow starts and presets, with their sources."""
    from rich.table import Table

    from narrows import listing

    kinds = listing.chosen(what)
    if json_:
        put(json.dumps({kind: list(map(asdict, lines)) for kind, lines in kinds.items()}))
        return
    for kind, lines in kinds.items():
        table = Table(
            "name", "", "source", title=kind.replace("_", " "), title_justify="left", box=None
        )
        for line in lines:
            settings = "".join(
                f"\n  {setting.name}={setting.default}: {setting.meaning}"
                for setting in line.settings
            )
            table.add_row(line.name, line.summary + settings, line.source)
        console().print(table, "")


@commands.command(epilog="Example: narrows examples parking_lot > lot.toml")
def examples(
    name: Annotated[
        str | None,
        typer.Argument(
            help="An example to print.", show_default=False, autocompletion=complete.example
        ),
    ] = None,
    copy: Annotated[
        Path | None, typer.Option(help="Copy the example, or all, into this new folder.")
    ] = None,
) -> None:
    """List the examples, print one, or copy one or all."""
    from narrows.cli.work.examples import copied, listed, shown

    if copy:
        copied(copy, name)
    elif name:
        put(shown(name), end="")
    else:
        listed()


@commands.command()
def schema() -> None:
    """Print the JSON schema of a scenario file."""
    put(_core.schema())

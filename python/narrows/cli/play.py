"""`narrows play`: a bottleneck to play with, in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from narrows.terminal import put, say

commands = typer.Typer()


@commands.command("play", epilog="Example: narrows play examples/bbr1.toml")
def play(
    file: Annotated[Path | None, typer.Argument(help="A scenario file to begin with.")] = None,
    port: Annotated[int, typer.Option(help="The port; a free one unless given.", min=0)] = 0,
    open_: Annotated[bool, typer.Option("--open/--no-open", help="Open a browser.")] = True,
) -> None:
    """Play with a bottleneck in a browser; Ctrl-C ends it.

    The page is served to this machine only, and asks nothing of any other.
    """
    import webbrowser

    from narrows.playground import Playground
    from narrows.scenario import Scenario

    scenario = None if file is None else Scenario.load(file)
    playground = Playground(scenario, port)
    put(playground.url)
    if open_ and not webbrowser.open(playground.url):
        say("no browser opened; open the address above")
    try:
        playground.wait()
    finally:
        playground.close()

"""`narrows conform`: whether congestion controllers do what their RFCs say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from narrows.cli.errors import end_unless
from narrows.cli.options import Json, Junit
from narrows.errors import Error

commands = typer.Typer()


@commands.command(epilog="Example: narrows conform --cc cubic+quic --only timeouts")
def conform(
    cc: Annotated[
        str | None,
        typer.Option(help="Laws and stacks, like cubic,quinn:cubic.", show_default=False),
    ] = None,
    as_: Annotated[
        str | None,
        typer.Option(
            "--as",
            help="What it is to be: reno, cubic, bbr, bbr1, dctcp, prague, any.  "
            "[default: as its name says]",
        ),
    ] = None,
    only: Annotated[
        str, typer.Option(help="The checks: T1, D*, timeouts, several between commas.")
    ] = "all",
    skip: Annotated[
        str | None, typer.Option(help="Checks to leave out.", show_default=False)
    ] = None,
    transport: Annotated[
        str | None,
        typer.Option(help="tcp or quic.  [default: as the name says]"),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Fail, too, if something differs or is undecided."),
    ] = False,
    baseline: Annotated[
        Path | None,
        typer.Option(help="Fail only for what is not known from this JSON file."),
    ] = None,
    bless: Annotated[
        bool, typer.Option("--bless", help="Write what is found into the file of --baseline.")
    ] = False,
    list_: Annotated[
        bool, typer.Option("--list", help="Print the checks with their sources, and run none.")
    ] = False,
    junit: Junit = None,
    badge: Annotated[
        Path | None,
        typer.Option(help="Write how many hold, as JSON for shields.io's endpoint badge."),
    ] = None,
    keep: Annotated[
        Path,
        typer.Option("-o", "--output", help="Keep a page for each failure in folders below this."),
    ] = Path("out/conform"),
    json_: Json = False,
) -> None:
    """Judge congestion controllers by what they do on the wire.

    The exit status is 0 if nothing fails, 1 if something does, and 2 if it cannot be run.
    """
    from narrows.cli.work.conform import Ask, Known, Papers, judge, listed

    if list_:
        listed(json_)
        return
    if not cc:
        raise Error("--cc: name a law or a stack, like cubic or quinn:cubic; or give --list")
    if bless and baseline is None:
        raise Error("--bless: it writes the file of --baseline; name one")
    ask = Ask(cc, as_, only, skip, transport)
    end_unless(judge(ask, strict, Known(baseline, bless), Papers(junit, badge, keep), json_))

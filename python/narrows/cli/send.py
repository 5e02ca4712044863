"""`narrows send` and `narrows recv`: a file to another machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from narrows.cli.errors import end_unless
from narrows.cli.options import seconds_of

commands = typer.Typer()


@commands.command(epilog="Example: narrows send data.parquet 192.0.2.7:4433/3f… --cc etcp:p0=0.01")
def send(
    file: Annotated[Path, typer.Argument(help="The file, or a directory with all its files.")],
    ticket: Annotated[
        str,
        typer.Argument(
            envvar="NARROWS_TICKET",
            help="What narrows recv has printed; or in the variable, which others cannot see.",
        ),
    ],
    cc: Annotated[str, typer.Option("--cc", "-C", help="The law that decides how fast.")] = "cubic",
    patience: Annotated[
        str, typer.Option(help="For how long a receiver that says nothing is tried again.")
    ] = "60s",
    as_json: Annotated[bool, typer.Option("--json", "-J", help="Print a JSON object.")] = False,
) -> None:
    """Send a file or a directory to a machine where narrows recv runs, over UDP, with any law.

    What has arrived is kept: sent again, it goes on where it stopped. The exit status is 1 if the
    receiver refuses or does not answer.
    """
    from narrows.cli.work import bulk

    is_taken = bulk.send(file, ticket, cc, seconds_of("--patience", patience), as_json)
    end_unless(is_taken)


@commands.command(epilog="Example: narrows recv in --host lab.example.org")
def recv(
    directory: Annotated[Path, typer.Argument(help="Where files go; made if need be.")] = Path(),
    listen: Annotated[
        str, typer.Option(help="Address and UDP port; port 0 is any that is free.")
    ] = "0.0.0.0:4433",
    host: Annotated[
        str | None,
        typer.Option(
            help="Name or address by which senders find this machine.  [default: its own]"
        ),
    ] = None,
    fresh: Annotated[
        bool,
        typer.Option("--fresh", help="Use a key of its own, so that earlier tickets do nothing."),
    ] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="Take any number of files, until Ctrl-C.")
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option("--json", "-J", help="Print a JSON object in each line: the ticket, files."),
    ] = False,
) -> None:
    """Take a file from whoever has the ticket that this prints, over UDP.

    Only a sender that knows the ticket's secret is listened to. An existing file is never replaced.
    """
    from narrows.cli.work import bulk

    bulk.receive(directory, listen, host, fresh, keep, as_json)

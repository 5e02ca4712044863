"""`narrows kernel`: narrows' laws in Linux's kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from narrows.cli.options import group, seconds_of

of_kernel = group("narrows' laws as congestion controls of Linux's kernel.")
commands = typer.Typer()
commands.add_typer(of_kernel, name="kernel")


@of_kernel.command("list")
def kernel_list() -> None:
    """Say which laws there are for the kernel, and which are loaded."""
    from narrows.cli.work.kernel import show

    show()


@of_kernel.command("load", epilog="Example: narrows kernel load etcp:p0=0.005 ltcp")
def kernel_load(
    laws: Annotated[list[str], typer.Argument(help="Laws, with settings: etcp, ltcp:beta=0.2.")],
) -> None:
    """Load laws into the kernel, as nw_etcp …, until they are unloaded."""
    from narrows.cli.work.kernel import load

    load(laws)


@of_kernel.command("unload")
def kernel_unload(
    laws: Annotated[list[str] | None, typer.Argument(help="Laws; all if none is named.")] = None,
) -> None:
    """Take laws away that narrows kernel load has brought."""
    from narrows.cli.work.kernel import unload

    unload(laws or [])


@of_kernel.command("watch", epilog="Example: narrows kernel watch --cc nw_etcp -o etcp.parquet")
def kernel_watch(
    every: Annotated[str, typer.Option(help="Time between two looks.")] = "100ms",
    duration: Annotated[
        str | None, typer.Option("--duration", "-t", help="For how long.  [default: until Ctrl-C]")
    ] = None,
    cc: Annotated[
        str | None, typer.Option("--cc", "-C", help="Only this law, by its name in the kernel.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="A Parquet file, like a run's flow_series; which flow is which: .flows.csv.",
        ),
    ] = None,
) -> None:
    """Show the window, RTT, pacing rate and losses of every TCP connection.

    Of this network namespace: a path's are shown by narrows lab exec left -- narrows kernel watch.
    """
    from narrows.cli.work.kernel import watch

    span = None if duration is None else seconds_of("--duration", duration)
    watch(seconds_of("--every", every), span, cc, output)

"""`narrows sweep`: a sweep file; `narrows cache`: the runs that sweeps keep."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from narrows.cli.errors import end_unless
from narrows.cli.options import CacheFolder, Force, Json, check_force
from narrows.errors import Error

commands = typer.Typer()


class CacheTask(StrEnum):
    """The tasks of `narrows cache`."""

    LIST = "list"
    SIZE = "size"
    PRUNE = "prune"


@commands.command(
    epilog="Example: narrows sweep examples/sweeps/buffer.toml --seeds 10 -o out/buffer"
)
def sweep(
    file: Annotated[Path, typer.Argument(help="A sweep file.")],
    seeds: Annotated[
        str | None,
        typer.Option(
            help="The number of seeds, like 10, or a range of them, like 1..10.  "
            "[default: the sweep file's]"
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            help="Add seeds until half of the 95% confidence interval of --metric is within this "
            "share of its mean, like 2%."
        ),
    ] = None,
    metric: Annotated[
        str, typer.Option(help="The metric for --until and the figure; the table shows it too.")
    ] = "utilisation",
    most_seeds: Annotated[
        int, typer.Option(help="The largest number of seeds per point that --until may use.", min=1)
    ] = 100,
    workers: Annotated[
        int | None, typer.Option(help="The number of threads.  [default: one per core]", min=1)
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(help="Address of a Dask scheduler to run on; needs narrows[dask]."),
    ] = None,
    cache: CacheFolder = Path(".narrows"),
    json_: Json = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Write tidy Parquet tables and a figure into this folder."
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Run every combination with every seed.

    A sweep can be interrupted and resumed at any time; finished runs are not repeated.
    """
    from narrows.cli.work.sweep import run_file
    from narrows.files import Output

    check_force(output, force)
    target = (lambda: Output(output, force)) if output else None
    failed = run_file(file, seeds, until, metric, most_seeds, workers, dask, cache, json_, target)
    end_unless(not failed)


@commands.command("cache", epilog="Example: narrows cache prune --older 30d")
def cache_(
    what: Annotated[CacheTask, typer.Argument(help="list, size or prune.")] = CacheTask.SIZE,
    cache: CacheFolder = Path(".narrows"),
    older: Annotated[
        str | None,
        typer.Option(help="With prune: also remove runs older than this, like 30d or 12h."),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="With prune: remove every run.")] = False,
    json_: Json = False,
) -> None:
    """List, count or prune the runs that sweeps keep.

    list prints each run, and size their number and total size. prune removes damaged runs, runs of
    other engine versions, and leftover temporary files.
    """
    from narrows.cli.work.sweep import listed, prune, sizes

    for option, given in (("--older", older), ("--all", all_)):
        if given not in (None, False) and what is not CacheTask.PRUNE:
            raise Error(f"{option}: is for prune; leave it out of {what}")
    if what is CacheTask.LIST:
        listed(cache, json_)
    elif what is CacheTask.SIZE:
        sizes(cache, json_)
    else:
        prune(cache, older, all_, json_)

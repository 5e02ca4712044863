"""`narrows arena`: matrices, printed and written."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from narrows import listing, own, plot
from narrows.arena import Arena, Ring, arena
from narrows.cli.work.score import KEPT
from narrows.errors import Error
from narrows.files import Output, parquet
from narrows.made import Made
from narrows.networks import dumbbell
from narrows.score.store import Store
from narrows.terminal import console, put, say

# Matrices of more controllers do not fit into a terminal; the table of means does.
MOST_SHOWN = 8


def versus(text: str) -> tuple[int, int]:
    """Read how many meet how many.

    Examples
    --------
    >>> versus("1v10")
    (1, 10)
    """
    match = re.fullmatch(r"(\d+)v(\d+)", text.strip())
    if not match or "0" in match.groups():
        raise Error(f'--flows: "{text}" does not say how many meet how many; try 1v1')
    return int(match[1]), int(match[2])


def everybody() -> list[str]:
    """Return every law that runs behind a drop-tail queue without a warning."""
    names = [line.name for line in listing.controllers()]
    return [name for name in names if not dumbbell("10Mbps", "50ms", "20p", name).warnings]


def meet(
    names: Sequence[str],
    ring: Ring,
    seeds: Sequence[int],
    cache: Path,
    as_json: bool,
    output: Path | None,
    force: bool,
) -> None:
    """Let controllers meet, print the matrices, and write them."""
    said = [law for name in names for law in (everybody() if name == "all" else [name])]
    try:
        found = arena(own.named("--cc", said), ring, seeds, Store(cache / KEPT))
    except KeyboardInterrupt:
        say(f"what was done is kept in {cache / KEPT}; the same command goes on from there")
        raise
    if as_json:
        for row in found.frame.iter_rows(named=True):
            put(json.dumps(row))
    else:
        _print(found)
    if output:
        with Output(output, force) as folder:
            _write(folder, found, seeds)
        if not as_json:
            say(f"matrices written to {output}/share.png and {output}/harm.png")


def _print(found: Arena) -> None:
    ring = found.ring
    if len(found.names) <= MOST_SHOWN:
        for buffer in ring.buffers:
            put(f"share of the row's flows, buffer {buffer}")
            table = Table("", *found.names, box=None)
            for name, shares in zip(found.names, found.matrix("share", buffer), strict=True):
                table.add_row(name, *(f"{share:.2f}" for share in shares))
            console().print(table)
    means = {buffer: found.wins(buffer) for buffer in ring.buffers}
    put("mean share beside the others, by buffer")
    table = Table("", *ring.buffers, box=None)
    for name in sorted(found.names, key=lambda name: -means[ring.buffers[0]][name]):
        table.add_row(name, *(f"{means[buffer][name]:.2f}" for buffer in ring.buffers))
    console().print(table)
    fair = ring.flows[0] / sum(ring.flows)
    put(f"{ring.flows[0]} beside {ring.flows[1]} flows: {fair:.2f} is a fair share")


def _write(folder: Output, found: Arena, seeds: Sequence[int]) -> None:
    folder.data("arena.parquet", parquet(found.frame))
    for metric in ("share", "harm"):
        folder.data(f"{metric}.png", plot.png(plot.arena(found, metric)))
    made = Made("arena", [({"bout": name}, text) for name, text in found.texts.items()], [*seeds])
    folder.finish(made)

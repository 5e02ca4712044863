"""`narrows arena`: matrices, printed and written."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from narrows import listing, own, plot
from narrows.arena import Arena, Ring, arena
from narrows.cli.work.printing import finish, folder_of
from narrows.cli.work.score import KEPT, MOST_SHOWN, goes_on
from narrows.errors import Error
from narrows.files import Output, parquet
from narrows.made import Made
from narrows.networks import dumbbell
from narrows.score.store import Store
from narrows.terminal import console, put, say


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
    ccs = own.named("--cc", said)
    with folder_of(output, force) as folder:
        found = _meet(ccs, ring, seeds, cache, as_json)
        if folder:
            _write(folder, found, seeds, quiet=as_json)


def _meet(
    ccs: Sequence[Any], ring: Ring, seeds: Sequence[int], cache: Path, as_json: bool
) -> Arena:
    try:
        found = arena(ccs, ring, seeds, Store(cache / KEPT))
    except KeyboardInterrupt:
        say(goes_on(cache / KEPT, ccs))
        raise
    if as_json:
        for row in found.frame.iter_rows(named=True):
            put(json.dumps(row))
    else:
        _print(found)
    return found


def _print(found: Arena) -> None:
    ring = found.ring
    if len(found.names) <= MOST_SHOWN:
        for metric, what in (("share", "share of the row's flows"), ("harm", "harm to the row's")):
            for buffer in ring.buffers:
                put(f"{what}, buffer {buffer}")
                console().print(_matrix(found, metric, buffer))
    means = {buffer: found.wins(buffer) for buffer in ring.buffers}
    put("mean share beside the others, by buffer")
    table = Table("", *ring.buffers, box=None)
    for name in sorted(found.names, key=lambda name: -means[ring.buffers[0]][name]):
        table.add_row(name, *(f"{means[buffer][name]:.2f}" for buffer in ring.buffers))
    console().print(table)
    fair = ring.flows[0] / sum(ring.flows)
    put(
        f"{ring.flows[0]} beside {ring.flows[1]} flows: {fair:.2f} is a fair share of a row's, and "
        "0.50 of both roles together"
    )


def _matrix(found: Arena, metric: str, buffer: str) -> Table:
    """Return a matrix: means, with half of the interval where there are several seeds."""
    table = Table("", *map(escape, found.names), box=None)
    halves = found.halves(metric, buffer)
    rows = zip(found.names, found.matrix(metric, buffer), halves, strict=True)
    for name, means, half in rows:
        cells = [
            f"{mean:.2f}" if math.isnan(side) else f"{mean:.2f} ± {side:.2f}"
            for mean, side in zip(means, half, strict=True)
        ]
        table.add_row(escape(name), *cells)
    return table


def _write(folder: Output, found: Arena, seeds: Sequence[int], quiet: bool) -> None:
    folder.data("arena.parquet", parquet(found.frame))
    for metric in ("share", "harm"):
        folder.data(f"{metric}.png", plot.png(plot.arena(found, metric)))
    made = Made("arena", [({"bout": name}, text) for name, text in found.texts.items()], [*seeds])
    finish(folder, made, quiet)

"""Run a sample of other laboratories' testbeds and compare (`papers/narrows_papers/testbeds`).

`narrows reproduce testbeds` has all cells; this is every seventh of each set, under one seed, so
that a law or a queue that gets worse is seen within minutes. Cells come in fives, a buffer each, so
that every fifth would be of one.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from textwrap import fill

import polars as pl

from narrows_papers.bench import Bench
from narrows_papers.testbeds import cell as cells
from narrows_papers.testbeds.cell import Cell
from narrows_papers.testbeds.compare import run, shares, worst
from narrows_papers.testbeds.setup import why_not
from narrows_papers.testbeds.shared import SHARED, shared_set
from tables import Section

REFERENCE = Path(cells.__file__).with_name("cells")
EACH = 7


def sample(only: str | None) -> list[Cell]:
    """Return every seventh cell of each set that can be run; with ``only``, those it is part of."""
    chosen: list[Cell] = []
    for name in SHARED:
        runnable = [cell for cell in shared_set(name)[0] if not why_not(cell)]
        chosen += runnable[::EACH]
    return [cell for cell in chosen if only is None or only in cell.id]


def sections(reference: Path, only: str | None) -> list[Section]:
    """Run the sample and return one table; none if no cell has ``only`` in its key."""
    if reference != REFERENCE:
        raise SystemExit(f"{reference}: testbeds has no other reference; leave --reference out")
    chosen = sample(only)
    if not chosen:
        return []
    with TemporaryDirectory() as folder:
        table = worst(shares(chosen, run(Bench(cache=Path(folder)), chosen, seeds=1)))
    kinds = pl.DataFrame({"cell": [cell.id for cell in chosen], "lab": [c.lab for c in chosen]})
    rows = [
        [str(lab), str(laws), *_told(part)]
        for (lab, laws), part in sorted(table.join(kinds, on="cell").group_by("lab", "laws"))
    ]
    within = int(table["within"].sum())
    summary = fill(
        f"{within} of {table.height} cells within 5 points of the link, or within the kernel's own "
        "trials; every seventh cell, one seed. All of them: [testbeds](papers/testbeds.md).",
        100,
        break_on_hyphens=False,
    )
    head = ["laboratory", "laws", "cells", "within", "median error, points"]
    return [Section("testbeds", head, rows, summary)]


def _told(part: pl.DataFrame) -> list[str]:
    errors = [abs(error) for error in part["error"]]
    return [str(part.height), str(int(part["within"].sum())), f"{median(errors):.1f}"]

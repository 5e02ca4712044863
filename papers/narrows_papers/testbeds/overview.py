"""All cells that tell shares, in one table and one picture."""

from __future__ import annotations

import polars as pl

from narrows_papers.bench import Bench
from narrows_papers.registry import Finding, experiment
from narrows_papers.testbeds.cell import Cell
from narrows_papers.testbeds.compare import run, shares, worst
from narrows_papers.testbeds.judge import biases, scatter, within, within_each
from narrows_papers.testbeds.setup import why_not
from narrows_papers.testbeds.shared import SHARED, shared_set


@experiment("testbeds/all", "all cells that tell shares, by law, queue, buffer and number of flows")
def overview(bench: Bench) -> Finding:
    """Judge the sets together: runs that the sets have made are not made again."""
    tables, chosen = [], []
    for name in SHARED:
        cells, seeds = shared_set(name)
        runnable = [cell for cell in cells if not why_not(cell)]
        tables.append(shares(runnable, run(bench, runnable, seeds)))
        chosen += runnable
    table = pl.concat(tables)
    kinds = pl.DataFrame([_kinds(cell) for cell in chosen])
    cells_of = worst(table).join(kinds, on="cell")
    claims = [within("all cells", cells_of)]
    without = cells_of.filter(~pl.col("laws").str.contains("prague"))
    claims.append(within("without Prague", without))
    words = {"lab": "laboratory", "depth": "FIFO of", "flows": "flows:", "queue": "queue"}
    for kind, said in words.items():
        claims += within_each(cells_of, kind, said)
    claims += biases(table)
    note = f"{len(chosen)} cells are run; the sets say what is left out, and why."
    return Finding(claims, {"shares": table}, scatter(table), note)


def _kinds(cell: Cell) -> dict[str, str]:
    """Return what classes a cell belongs to; empty where it belongs to none."""
    count = sum(group.count for group in cell.groups)
    flows = "1 or 2" if count <= 2 else "3 to 10" if count <= 10 else "more than 10"
    return {"cell": cell.id, "lab": cell.lab, "depth": _depth(cell), "flows": flows}


def _depth(cell: Cell) -> str:
    if cell.queue["kind"] != "fifo":
        return ""
    size = cell.queue.get("buffer_bytes", 1514 * cell.queue.get("buffer_packets", 0))
    bdp = size / (cell.rate_mbps * cell.rtt_ms * 125)
    return "up to 2 BDP" if bdp <= 2.1 else "3 to 16 BDP" if bdp <= 17 else "more than 16 BDP"

"""What narrows says of cells beside what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from narrows_papers.bench import Bench
from narrows_papers.testbeds.cell import Cell
from narrows_papers.testbeds.setup import longer, scenario

# A cell is predicted if each group is within so many hundredths of the link of its mean or, if the
# kernel's own trials are further apart than that, among them; a loss if it is within this factor.
POINTS, LOSS = 5.0, 1.3


class Runs(NamedTuple):
    """Tables of runs, as those of a sweep with the axis ``cell``."""

    groups: pl.DataFrame
    flows: pl.DataFrame
    links: pl.DataFrame


def run(bench: Bench, chosen: Sequence[Cell], seeds: int) -> Runs:
    """Run cells, each seed over another of the RTTs that were published of their hosts.

    Parameters
    ----------
    bench
        What runs them.
    chosen
        Which.
    seeds
        Under how many seeds each.

    Returns
    -------
    Runs
        Of all seeds.
    """
    by_id = {cell.id: cell for cell in chosen}
    count = bench.seeds(seeds)

    def at(part: float, seed: int) -> Runs:
        found = bench.sweep(
            lambda cell: scenario(bench, by_id[cell], part), cell=list(by_id), seeds=[seed]
        )
        return Runs(found.groups, found.flows, found.links)

    # In the middles of as many equal parts.
    each = [at((seed - 0.5) / count, seed) for seed in range(1, count + 1)]
    return Runs(*(pl.concat(tables) for tables in zip(*each, strict=True)))


def shares(chosen: Sequence[Cell], result: Runs) -> pl.DataFrame:
    """Return the goodput of each group of each cell, measured and predicted.

    Parameters
    ----------
    chosen
        The cells that were run.
    result
        What was found.

    Returns
    -------
    polars.DataFrame
        ``cell``, ``laws``, ``queue``, ``group``, ``law``, ``kernel``, ``kernel_min``,
        ``kernel_max``, ``narrows``, ``narrows_min``, ``narrows_max`` (all in hundredths of the
        link's nominal rate), ``error`` and ``within``.
    """
    groups = result.groups.select("cell", "group", "goodput")
    found = groups.group_by("cell", "group").agg(
        pl.col("goodput").mean().alias("mean"),
        pl.col("goodput").min().alias("least"),
        pl.col("goodput").max().alias("most"),
    )
    numbers = {(row[0], row[1]): row[2:] for row in found.iter_rows()}
    rows = []
    for cell in chosen:
        for number, (group, kernel) in enumerate(zip(cell.groups, cell.goodput, strict=True)):
            scale = 100 / cell.rate_mbps
            of_own = scale * longer(cell) / 1e6
            mean, least, most = (value * of_own for value in numbers[cell.id, number])
            low, high = kernel.min * scale, kernel.max * scale
            error = mean - kernel.mean * scale
            within = abs(error) <= POINTS or (high - low > POINTS and low <= mean <= high)
            row = (cell.id, cell.laws, cell.queue["kind"], number, group.law)
            rows.append((*row, kernel.mean * scale, low, high, mean, least, most, error, within))
    names = ["cell", "laws", "queue", "group", "law", "kernel", "kernel_min", "kernel_max"]
    names += ["narrows", "narrows_min", "narrows_max", "error", "within"]
    return pl.DataFrame(rows, schema=names, orient="row")


def worst(table: pl.DataFrame) -> pl.DataFrame:
    """Return each cell's group that is furthest off.

    Parameters
    ----------
    table
        What `shares` returns.

    Returns
    -------
    polars.DataFrame
        A row a cell; ``within`` is whether all groups are.
    """
    whole = table.group_by("cell").agg(pl.col("within").all().alias("all_within"))
    largest = table.sort(pl.col("error").abs(), descending=True).unique("cell", keep="first")
    joined = largest.join(whole, on="cell").drop("within").rename({"all_within": "within"})
    return joined.sort("cell")

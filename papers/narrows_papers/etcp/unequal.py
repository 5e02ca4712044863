"""The rate law between few connections whose round trips differ (§VII-A)."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, interval, near
from narrows_papers.etcp.setup import scenario
from narrows_papers.registry import Finding, experiment

# Connections of each RTT.
COUNTS = [1, 2, 5, 10]
SECONDS, SEEDS = 2000, 3


@experiment("etcp/unequal", "the rate law between few connections, half of them with twice the RTT")
def unequal(bench: Bench) -> Finding:
    """Run equal numbers of connections of 50 and 100 ms over 100 Mbps and 20 packets."""
    flows = bench.sweep(
        lambda count: _both(bench, count), count=COUNTS, seeds=bench.seeds(SEEDS)
    ).flows
    table = (
        flows.with_columns(far=pl.col("flow") >= pl.col("count"))
        .group_by("count", "seed", "far")
        .agg(pl.col("goodput").mean() / 1e6, pl.col("loss_rate").mean())
        .sort("count", "seed", "far")
    )
    ratios = {count: _ratios(table, count) for count in COUNTS}
    figure, axes = panels()
    for count in COUNTS:
        axes[0][0].plot([2 * count] * len(ratios[count]), ratios[count], "C0o", ms=4)
    axes[0][0].axhline(1, color="k", lw=0.5)
    axes[0][0].set(
        xlabel="connections", ylabel="goodput, 50 ms over 100 ms", xscale="log", ylim=(0, 1.2)
    )
    axes[0][0].set_xticks([2 * count for count in COUNTS], [str(2 * count) for count in COUNTS])
    axes[0][0].set_xticks([], minor=True)
    note = (
        "Figure 18 has fifty connections with 50 to 295 ms, of which groups of ten are compared. "
        f"Values are over {bench.seeds(SEEDS)} seeds of {SECONDS} s, a quarter of which is not "
        "measured."
    )
    claims = [_equal(table, count, ratios[count]) for count in COUNTS]
    return Finding(claims, {"goodput": table}, figure, note)


def _both(bench: Bench, count: int) -> Scenario:
    near_ones: dict[str, Any] = {"cc": "etcp-rate", "count": count}
    flows = [near_ones, {**near_ones, "rtt": "100ms"}]
    return scenario(bench, "100Mbps", "50ms", flows, SECONDS)


def _ratios(table: pl.DataFrame, count: int) -> list[float]:
    rows = table.filter(pl.col("count") == count)
    short, long = (rows.filter(pl.col("far") == far)["goodput"].to_numpy() for far in (False, True))
    return [float(ratio) for ratio in short / long]


def _equal(table: pl.DataFrame, count: int, ratios: list[float]) -> Claim:
    rows = table.filter(pl.col("count") == count).group_by("far").mean().sort("far")
    goodputs, losses = rows["goodput"].to_list(), rows["loss_rate"].to_list()
    return near(
        f"connections have the same throughput regardless of their round trip times (§VII-A): "
        f"{count} of 50 and {count} of 100 ms, mean goodput of the former over that of the latter",
        1,
        float(np.mean(ratios)),
        0.1,
        why=f"goodputs are {goodputs[0]:.1f} and {goodputs[1]:.1f} Mbps, the ratio "
        f"{interval(ratios)} over seeds. Those with the shorter RTT lose {losses[0]:.4f}, the "
        f"others {losses[1]:.4f}, and in 2/(p − p0) so small a difference is a large one where p "
        "is just above p0",
        since="as groups of figure 18",
        by="eq. 11",
    )

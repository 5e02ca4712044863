"""Which b is stable over which buffer: packets against three models of the queue (§III-B)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.theory.fluid_queues import equal_loss, overload_loss, power_loss
from narrows.theory.stability import least_b
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, ours, stated
from narrows_papers.etcp.setup import P0
from narrows_papers.readings import most
from narrows_papers.registry import Finding, experiment
from narrows_papers.series import each_run, over_poisson

FLOWS, MEGABITS, RTT_MS = 4, 400, 100
BITS = 12_000
BDP = round(MEGABITS * 1e3 * RTT_MS / BITS)
SHARE = BDP / FLOWS
BUFFERS = [5, 10, 20, 50, 100, 200, BDP]
BS = [2, 4, 8, 12, 16, 25, 50, 100, 200]
# Windows grow by a factor of e in bT, 20 s for the largest b: until they are there takes 100 s.
SECONDS, WARMUP, SEEDS, SAMPLES_A_TRIP = 240, 160, 2, 4
# Rates swing where the arrivals of a round trip deviate by a twentieth, over Poisson's here.
SWINGS = 0.05 * math.sqrt(BDP)
STEADY = most(SWINGS, "a twentieth of a round trip's arrivals")
FACTOR = 1.75


@experiment("etcp/stability", "which b is stable over which buffer: packets and theory")
def stability(bench: Bench) -> Finding:
    """Draw how arrivals swing over b and the buffer, with the bounds of theory (§III-B)."""

    def at(buffer: int, b: int) -> Scenario:
        return Scenario(
            duration=bench.seconds(SECONDS),
            warmup=bench.seconds(WARMUP),
            sample=f"{RTT_MS / SAMPLES_A_TRIP:g}ms",
            packet="1500B",
            dumbbell={
                "rate": f"{MEGABITS}Mbps",
                "rtt": f"{RTT_MS}ms",
                "buffer": f"{buffer}p",
            },
            flows=[{"cc": f"etcp:b={b}", "count": FLOWS}],
        )

    sweep = bench.sweep(at, buffer=BUFFERS, b=BS, seeds=bench.seeds(SEEDS), series=True)
    keys = ["buffer", "b", "seed"]
    runs = each_run(sweep.link_series, keys, lambda run: {"deviation": _deviation(run)})
    table = runs.group_by("buffer", "b", maintain_order=True)
    means = table.agg(pl.col("deviation").mean()).sort("buffer", "b")
    found = {buffer: _least(means, buffer) for buffer in BUFFERS}
    claims = [
        *(_beyond_the_buffer(means, buffer) for buffer in BUFFERS if buffer < max(BS)),
        *(ours(_on_the_line(found, buffer)) for buffer in BUFFERS),
        ours(_no_more_than_100(means)),
    ]
    note = (
        f"{FLOWS} connections over {MEGABITS} Mbps and {RTT_MS} ms, exponential gaps, {SEEDS} "
        "seeds: the deviation of the arrivals of a round trip over that of Poisson's. Equal "
        "packets at random see M/D/1/B, whose elasticity grows no further than 1/p0: 1.25·B, the "
        f"paper's rule, is 42 times too much for a bandwidth-delay product of {BDP} packets."
    )
    return Finding(claims, {"deviation": means, "least": _table(found)}, _figure(means), note)


def _deviation(link: pl.DataFrame) -> float:
    rows = link.filter(
        (pl.col("link") == 0) & (pl.col("time") > WARMUP / SECONDS * pl.col("time").max())
    )
    return over_poisson(rows["arrivals"], SAMPLES_A_TRIP)


def _least(means: pl.DataFrame, buffer: int) -> float:
    """Return the b at which the deviation falls below `SWINGS`, between two by their logarithms."""
    rows = means.filter(buffer=buffer).sort("b")
    logs, deviations = np.log(rows["b"].to_numpy()), np.log(rows["deviation"].to_numpy())
    above = np.flatnonzero(deviations > math.log(SWINGS))
    if not len(above) or above[-1] + 1 == len(logs):
        return math.nan
    k = above[-1]
    part = (deviations[k] - math.log(SWINGS)) / (deviations[k] - deviations[k + 1])
    return float(np.exp(logs[k] + part * (logs[k + 1] - logs[k])))


def _line(buffer: int) -> float:
    """Return theory's least b: of M/D/1/B, or where the buffer stays full of its overload."""
    loss = equal_loss(buffer) if buffer < 1 / P0 * 10 else overload_loss
    return least_b(loss, SHARE)


def _table(found: dict[int, float]) -> pl.DataFrame:
    rows = [
        {
            "buffer": buffer,
            "packets": least,
            "line": _line(buffer),
            "power": least_b(power_loss(buffer), SHARE),
        }
        for buffer, least in found.items()
    ]
    return pl.DataFrame(rows)


def _on_the_line(found: dict[int, float], buffer: int) -> Claim:
    line, least = _line(buffer), found[buffer]
    model = "1 − 1/ρ" if buffer == BDP else f"M/D/1/{buffer}"
    return stated(
        f"over {buffer} packets rates are steady from a b on that the linear loop of {model} gives "
        f"(within a factor of {FACTOR}: between two b there is up to 2)",
        f"{line:.1f}",
        f"{least:.1f}",
        bool(abs(math.log(least / line)) <= math.log(FACTOR)),
    )


def _beyond_the_buffer(means: pl.DataFrame, buffer: int) -> Claim:
    wanted = min(b for b in BS if b > buffer)
    rows = means.filter(buffer=buffer, b=wanted)
    return STEADY.claim(
        f"b > B is enough for stability: B = {buffer}, b = {wanted}: deviation of the arrivals of "
        "a round trip over Poisson's",
        float(rows["deviation"][0]),
        says="stable",
    )


def _no_more_than_100(means: pl.DataFrame) -> Claim:
    rows = means.filter(buffer=BDP, b=100)
    return STEADY.claim(
        f"b = 1/p0 = 100 is stable over a bandwidth-delay product of {BDP} packets: deviation",
        float(rows["deviation"][0]),
        says="stable",
    )


def _figure(means: pl.DataFrame) -> Any:
    figure, axes = panels(1, 1, width=6.5, height=4.0)
    ax = axes[0][0]
    points = means.sort("deviation")
    colours = np.log10(points["deviation"].to_numpy())
    drawn = ax.scatter(points["buffer"], points["b"], c=colours, s=90, cmap="viridis_r")
    figure.colorbar(drawn, label="log₁₀ deviation over Poisson's")
    small = np.unique(np.geomspace(5, 1000, 25).astype(int)).tolist()
    ax.plot(small, [least_b(power_loss(b), SHARE) for b in small], "k:", lw=1, label="ρ^B")
    ax.plot(small, [_line(b) for b in small], "k-", lw=1, label="M/D/1/B; 1 − 1/ρ from 1000")
    ax.plot(small, small, "r--", lw=0.9, label="b = B (Vinnicombe, ρ^B)")
    ax.axhline(1 / P0, color="b", ls="--", lw=0.9, label="b = 1/p0")
    ax.set(xscale="log", yscale="log", xlabel="buffer (packets)", ylabel="b", ylim=(1.7, 260))
    ax.legend(fontsize="x-small", loc="lower right")
    return figure

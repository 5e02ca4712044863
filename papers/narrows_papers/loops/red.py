"""For which flows and weights RED's queue swings: Hollot's proof, the linear loop, and packets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
from scipy.optimize import brentq

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.theory import stability
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, ours, stated
from narrows_papers.registry import Finding, experiment
from narrows_papers.series import each_run

# Hollot's link: 3750 packets a second.
MEGABITS, BITS, DELAY_S, BUFFER = 45, 12_000, 0.2, 2000
CAPACITY = MEGABITS * 1e6 / BITS
LEAST, MOST, P_MAX = 100, 700, 0.1
# Hollot's L, twice: between two drops the chance grows to p/(1 − count·p), so that twice as many
# are dropped as by p alone.
SLOPE = 2 * P_MAX / (MOST - LEAST)
FLOWS = [15, 30, 60, 120, 200]
WEIGHTS = [1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2]
SECONDS, WARMUP, SEEDS = 300, 150, 2
# The deviation over the mean of a queue that goes from empty to twice its mean in straight lines.
SWINGS = 1 / math.sqrt(3)


@experiment("loops/red", "for which flows and weights RED's queue swings: theory and packets")
def loop(bench: Bench) -> Finding:
    """Measure how RED's queue deviates beside Reno, unpaced, over flows and weight."""

    def at(flows: int, weight: float) -> Scenario:
        flow = {"cc": "reno+sack", "count": flows, "rtt_spread": f"{50 * DELAY_S:g}ms"}
        red = f"red:min={LEAST}:max={MOST}:p_max={P_MAX}:weight={weight}:ecn=false"
        return Scenario(
            duration=bench.seconds(SECONDS),
            warmup=bench.seconds(WARMUP),
            sample="100ms",
            tcp="ns2",
            packet="1500B",
            dumbbell={
                "rate": f"{MEGABITS}Mbps",
                "rtt": f"{1e3 * DELAY_S:g}ms",
                "buffer": f"{BUFFER}p",
                "queue": red,
            },
            flows=[flow],
        )

    sweep = bench.sweep(at, flows=FLOWS, weight=WEIGHTS, seeds=bench.seeds(SEEDS), series=True)
    keys = ["flows", "weight"]
    runs = each_run(sweep.link_series, [*keys, "seed"], _deviation)
    means = runs.group_by(keys, maintain_order=True).agg(pl.col("mean", "deviation").mean())
    theory = pl.DataFrame([_theory(flows, weight) for flows in FLOWS for weight in WEIGHTS])
    table = theory.join(means, on=keys).sort(keys)
    note = (
        f"Reno without pacing over a link of {CAPACITY:g} packets a second, as Hollot's, RTTs of "
        f"{1e3 * DELAY_S:g} to {1050 * DELAY_S:g} ms without the queue, thresholds of ours, "
        f"{LEAST} and {MOST} packets, p_max {P_MAX}, {SEEDS} seeds: the deviation of the queue "
        "over its mean. One that goes from empty to twice its mean in straight lines has 0.58. "
        "RED drops twice as many as its p says, as it counts packets since the last (measured: "
        "1.8 to 2.1 times), so theory has twice the slope. Its queue rests where W²p = 2; W²p in "
        "packets was 1.0 with 200 flows and 1.4 to 1.65 with fewer."
    )
    return Finding(_claims(table), {"swings": table}, _figure(table), note)


def _deviation(link: pl.DataFrame) -> dict[str, float]:
    rows = link.filter(
        (pl.col("link") == 0) & (pl.col("time") > WARMUP / SECONDS * pl.col("time").max())
    )
    queue = rows["queue"].to_numpy().astype(np.float64)
    return {"mean": float(queue.mean()), "deviation": float(queue.std() / queue.mean())}


def _rest(flows: float) -> float:
    """Return the mean queue in packets at which W²p = 2 (Hollot, Misra, Towsley, Gong, §II)."""

    def more(queue: float) -> float:
        window = (DELAY_S + queue / CAPACITY) * CAPACITY / flows
        return LEAST + 2 / window**2 / SLOPE - queue

    return float(brentq(more, LEAST, 100 * MOST))


def _loop(flows: float, weight: float) -> tuple[complex, bool]:
    rtt = DELAY_S + _rest(flows) / CAPACITY
    return stability.red(flows, CAPACITY, rtt, SLOPE, -CAPACITY * math.log1p(-weight))


def _theory(flows: int, weight: float) -> dict[str, float | bool]:
    root, proven = _loop(flows, weight)
    at_rest = _rest(flows)
    return {
        "flows": flows,
        "weight": weight,
        "rest": at_rest,
        "linear_rests": bool(root.real < 0),
        "proven": bool(proven),
    }


def _claims(table: pl.DataFrame) -> list[Claim]:
    swings = pl.col("deviation") > SWINGS
    proven = table.filter("proven")
    other = table.filter(swings == pl.col("linear_rests"))
    where = ", ".join(
        f"{flows} at {weight:g}" for flows, weight in other[["flows", "weight"]].rows()
    )
    largest = max(proven["deviation"].to_list(), default=math.nan)
    return [
        stated(
            "where the loop is proven stable the queue does not swing between empty and twice its "
            "mean: largest deviation over the mean",
            f"< {SWINGS:.2f}",
            f"{largest:.2f}",
            not proven.filter(swings).height,
        ),
        ours(
            stated(
                "packets swing where the linear loop is unstable, and nowhere else: set-ups",
                f"{table.height}",
                f"{table.height - other.height}",
                not other.height,
                f"not with flows at a weight of {where}",
            )
        ),
    ]


def _boundary(flows: float) -> tuple[float, float]:
    """Return the weights between which the linear loop is unstable, or NaN twice."""
    logs = np.linspace(-6, -1, 41)
    unstable = [x for x in logs if _loop(flows, 10.0**x)[0].real > 0]
    return (10 ** unstable[0], 10 ** unstable[-1]) if unstable else (math.nan, math.nan)


def _figure(table: pl.DataFrame) -> Any:
    figure, axes = panels(1, 1, width=6.5, height=4.0)
    ax = axes[0][0]
    drawn = ax.scatter(
        table["flows"], table["weight"], c=table["deviation"], s=90, cmap="viridis_r"
    )
    figure.colorbar(drawn, label="deviation over the mean, simulated")
    flows = np.geomspace(13, 230, 24)
    lower, upper = zip(*(_boundary(n) for n in flows), strict=True)
    ax.plot(flows, lower, "k-", lw=1, label="linear loop: unstable within")
    ax.plot(flows, upper, "k-", lw=1)
    weights = np.geomspace(1e-7, 1e-3, 13)
    proven = [max((w for w in weights if _loop(n, w)[1]), default=math.nan) for n in flows]
    ax.plot(flows, proven, "b--", lw=1, label="proven stable below")
    ax.set(
        xscale="log", yscale="log", xlabel="flows", ylabel="weight of the mean", ylim=(6e-7, 2e-2)
    )
    ax.set_xticks(FLOWS, [f"{flows}" for flows in FLOWS])
    ax.minorticks_off()
    ax.legend(fontsize="x-small", loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2)
    return figure

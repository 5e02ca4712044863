"""Small, intermediate and large drop-tail buffers: where rates swing."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.theory.fluid import reno
from narrows.theory.fluid_queues import equal_loss, overload_loss
from narrows.theory.stability import one_link
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, above, below, ours, ranked
from narrows_papers.raina.spectra import CYCLE, SAMPLES_A_TRIP, draw, swings
from narrows_papers.readings import MUCH_MORE, NOT_MUCH_MORE
from narrows_papers.registry import Finding, experiment
from narrows_papers.series import each_run

# 60 flows over 100 Mbps: a bandwidth-delay product is 833 packets at 100 ms.
FLOWS, MEGABITS, BITS = 60, 100, 12_000
BUFFERS = {"small": 15, "intermediate": 100, "large": 833}
RTTS = [50, 100, 200]
PACINGS = ["exponential", "none"]
SECONDS, SEEDS = 60, 4


@experiment("raina/cycles", "Reno over small, intermediate and large buffers: limit cycles")
def cycles(bench: Bench) -> Finding:
    """Measure how arrivals swing from round trip to round trip, and how often."""

    def at(rtt: int, buffer: str, pacing: str) -> Scenario:
        flow = {"cc": "reno+sack", "count": FLOWS, "pacing": pacing}
        return Scenario(
            duration=bench.seconds(SECONDS),
            warmup=bench.seconds(SECONDS / 3),
            sample=f"{rtt / SAMPLES_A_TRIP:g}ms",
            tcp="ns2",
            packet="1500B",
            dumbbell={
                "rate": f"{MEGABITS}Mbps",
                "rtt": f"{rtt}ms",
                "buffer": f"{BUFFERS[buffer]}p",
            },
            flows=[flow | {"rtt_spread": f"{rtt / 20:g}ms"}],
        )

    sweep = bench.sweep(
        at,
        rtt=RTTS,
        buffer=list(BUFFERS),
        pacing=PACINGS,
        seeds=bench.seeds(SEEDS),
        series=True,
    )
    keys = ["rtt", "buffer", "pacing", "seed"]
    table = each_run(sweep.link_series, keys, swings).join(
        sweep.runs.select(*keys, "utilisation", "loss_rate", "delay_p99"), on=keys
    )
    claims = [
        *(_swing_less(table, rtt) for rtt in RTTS),
        *_cycle(table),
        *_linear(),
        *(_wait_less(table, rtt) for rtt in RTTS),
        _alike(table),
    ]
    note = (
        "Only the abstracts of Raina and Wischik (NGI 2005) and of Malangadan, Raina and Ghosh "
        "(arXiv 2303.10220) could be read, and a review of a sequel has their model; the set-up is "
        f"ours: {FLOWS} flows over {MEGABITS} Mbps, RTTs within a twentieth, one link where they "
        "have edges and a core. Small is 15 packets, intermediate 100, large 833, a "
        f"bandwidth-delay product at 100 ms. {SEEDS} seeds. The linear loop swings with a period "
        "of four round trips where it becomes unstable; its gain in the intermediate buffer is "
        "four times that, and packets swing with a period of six."
    )
    return Finding(claims, {"swings": table}, _figure(sweep.link_series), note)


def _of(table: pl.DataFrame, column: str, **at: Any) -> list[float]:
    rows = table.filter(**at)[column].to_list()
    return [float(value) for value in rows]


def _swing_less(table: pl.DataFrame, rtt: int) -> Claim:
    names = ["intermediate", "small"]
    values = [_of(table, "variation", rtt=rtt, buffer=name, pacing="exponential") for name in names]
    return ranked(
        f"small buffers are preferable over intermediate ones, in which rates swing: {rtt} ms, "
        "paced: deviation of the arrivals of a round trip over Poisson's",
        names,
        values,
    )


def _cycle(table: pl.DataFrame) -> list[Claim]:
    """Claim a limit cycle of three to seven round trips, and none in a small buffer."""
    peaks = {
        name: float(np.mean(_of(table, "cycle", rtt=100, buffer=name, pacing="none")))
        for name in BUFFERS
    }
    return [
        MUCH_MORE.claim(
            "beyond the stability condition there are limit cycles: 100 ms, an intermediate "
            f"buffer, unpaced: power of {CYCLE[0]} to {CYCLE[1]} cycles per round trip over the "
            "mean",
            peaks["intermediate"],
            says="limit cycles",
        ),
        ours(NOT_MUCH_MORE.claim("in a small buffer there is none", peaks["small"], says="none")),
    ]


def _linear() -> list[Claim]:
    share = MEGABITS * 1e6 / BITS * 0.1 / FLOWS
    small = one_link(reno(), equal_loss(BUFFERS["small"]), share)
    intermediate = one_link(reno(), overload_loss, share)
    return [
        ours(
            above(
                "the linear loop is stable in the small buffer (M/D/1/15) at 100 ms: margin",
                1.0,
                small.margin,
            )
        ),
        below(
            "it is unstable in an intermediate buffer, max(0, 1 − 1/ρ): margin",
            1.0,
            intermediate.margin,
        ),
    ]


def _wait_less(table: pl.DataFrame, rtt: int) -> Claim:
    names = list(reversed(BUFFERS))
    values = [_of(table, "delay_p99", rtt=rtt, buffer=name, pacing="exponential") for name in names]
    return ranked(
        f"small buffers keep latency low: {rtt} ms: 99th percentile of the wait (s)", names, values
    )


def _alike(table: pl.DataFrame) -> Claim:
    paced = table.filter(rtt=100, pacing="exponential")
    names = ("large", "intermediate")
    means = {name: float(np.mean(_of(paced, "variation", buffer=name))) for name in names}
    return NOT_MUCH_MORE.claim(
        "large buffers behave as intermediate ones: 100 ms, paced: the ratio of their deviations, "
        "the larger over the smaller",
        max(means.values()) / min(means.values()),
        says="much the same",
    )


def _figure(series: pl.DataFrame) -> Any:
    figure, axes = panels(1, 2, width=6.0)
    for ax, pacing in zip(axes[0], PACINGS, strict=True):
        runs = series.filter(pacing=pacing, rtt=100)
        title = "paced" if pacing == "exponential" else "not paced"
        draw(ax, title, ((name, runs.filter(buffer=name)) for name in BUFFERS))
    return figure

"""Why gaps are exponential: fairness among a few connections (§III-C)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.sweeps import Sweep
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, interval, ranked
from narrows_papers.etcp.arrivals import TIMES
from narrows_papers.etcp.setup import scenario
from narrows_papers.registry import Finding, experiment

GAPS: dict[str, dict[str, Any]] = {
    "exponential gaps": {"cc": "etcp"},
    "even gaps": {"cc": "etcp", "pacing": "even"},
}
COUNTS, MEGABITS, SECONDS, SEEDS = [2, 3, 5], [10, 50], 100, 5
# Mbps, the RTT of the second of two connections, and how many seconds it comes after the first,
# whose RTT is 50 ms.
UNEQUAL: dict[str, tuple[int, str, float]] = {
    "RTTs of 50 and 100 ms, 100 Mbps": (100, "100ms", 0),
    "RTTs of 50 and 100 ms, 10 Mbps": (10, "100ms", 0),
    "RTT 50 ms, the second 30 s later, 100 Mbps": (100, "50ms", 30),
}
LONG = 200


@experiment("etcp/gaps", "exponential against even gaps: fairness among a few connections")
def gaps(bench: Bench) -> Finding:
    """Run what §III-C argues: even gaps make some senders lose more than others."""
    seeds = max(2, bench.seeds(SEEDS))
    unequal = _unequal(bench, seeds)
    late = _with_even_gaps(bench, seeds)
    equal = _equal(bench, seeds)
    claims = [
        *(_starves(unequal.runs, case) for case in UNEQUAL),
        *_losses(unequal.flows),
        _figure_11(late),
        *(_fairer(equal, count, mbps) for count in COUNTS for mbps in MEGABITS),
    ]
    note = (
        f"20 packets of buffer; two connections that differ run {LONG} s, those that are alike "
        f"{SECONDS} s, of which the last three quarters count; {seeds} seeds, which spread starts "
        "over 100 ms. The paper argues and has no run of this. Connections that are alike, in RTT "
        "and start, are fair either way, and even gaps the fairer: there chance does not decide "
        "who loses more. Where they differ, even gaps let the one that fills the queue lose least."
    )
    data = {
        "unequal": unequal.flows.select("case", "spacing", "seed", "flow", "goodput", "loss_rate"),
        "figure 11": late.flows.select("spacing", "seed", "flow", "goodput", "loss_rate"),
        "equal": equal.select("spacing", "count", "mbps", "seed", "jain", "loss_rate"),
    }
    return Finding(claims, data, _draw(unequal.flows, equal, seeds), note)


def _unequal(bench: Bench, seeds: int) -> Sweep:
    def at(case: str, spacing: str) -> Scenario:
        mbps, rtt, later = UNEQUAL[case]
        second = {"rtt": rtt, "start": bench.seconds(later)}
        flows = [GAPS[spacing], {**GAPS[spacing], **second}]
        return scenario(bench, f"{mbps}Mbps", "50ms", flows, LONG)

    return bench.sweep(at, case=list(UNEQUAL), spacing=list(GAPS), seeds=seeds)


def _with_even_gaps(bench: Bench, seeds: int) -> Sweep:
    """Run figure 11 at 100 Mbps with both gaps; the last 20 s with all three are measured."""

    def at(spacing: str) -> Scenario:
        flows = [{**GAPS[spacing], "start": bench.seconds(start)} for start, _ in TIMES]
        return scenario(bench, "100Mbps", "50ms", flows, 180, warmup=160 / 180)

    return bench.sweep(at, spacing=list(GAPS), seeds=seeds)


def _equal(bench: Bench, seeds: int) -> pl.DataFrame:
    def at(spacing: str, count: int, mbps: int) -> Scenario:
        flows = [{**GAPS[spacing], "count": count}]
        return scenario(bench, f"{mbps}Mbps", "50ms", flows, SECONDS)

    return bench.sweep(at, spacing=list(GAPS), count=COUNTS, mbps=MEGABITS, seeds=seeds).runs


def _starves(runs: pl.DataFrame, case: str) -> Claim:
    """Judge which gaps are fairer among connections that differ, by Jain's index over the seeds."""
    jain = _jain(runs, case=case)
    return ranked(
        f"exponential gaps avoid the unfairness of even ones: {case}: Jain's index (1 is fair, "
        "0.5 one connection alone)",
        list(jain),
        list(jain.values()),
    )


def _losses(flows: pl.DataFrame) -> list[Claim]:
    """Claim what §III-C says even gaps do: some senders lose more than others."""
    claims = []
    for case in UNEQUAL:
        apart = {name: _apart(flows.filter(case=case, spacing=name), "loss_rate") for name in GAPS}
        claims.append(
            ranked(
                f"with even gaps some senders lose more than others: {case}: the larger loss rate "
                "of the two over the smaller",
                list(GAPS)[::-1],
                [apart[name] for name in list(GAPS)[::-1]],
            )
        )
    return claims


def _apart(flows: pl.DataFrame, column: str) -> list[float]:
    """Return the largest over the smallest of each seed's connections."""
    grouped = flows.group_by("seed").agg(
        (pl.col(column).max() / pl.col(column).min()).alias("ratio")
    )
    return [float(value) for value in grouped.sort("seed")["ratio"]]


def _figure_11(late: Sweep) -> Claim:
    jain = _jain(late.runs)
    claim = ranked(
        "figure 11 at 100 Mbps, three connections of which each comes 60 s after the one before: "
        "Jain's index from 160 to 180 s",
        list(jain),
        list(jain.values()),
    )
    goodputs = "; ".join(f"with {name} {_goodputs(late.flows, name)} Mbps" for name in GAPS)
    return replace(claim, found=f"{claim.found}; goodputs {goodputs}")


def _goodputs(flows: pl.DataFrame, spacing: str) -> str:
    of = flows.filter(spacing=spacing)
    each = [
        interval([value / 1e6 for value in of.filter(flow=flow)["goodput"].to_list()])
        for flow in sorted(set(of["flow"].to_list()))
    ]
    return ", ".join(each)


def _jain(runs: pl.DataFrame, **where: Any) -> dict[str, list[float]]:
    """Return Jain's index over the seeds, by gaps."""
    return {name: runs.filter(spacing=name, **where)["jain"].to_list() for name in GAPS}


def _fairer(runs: pl.DataFrame, count: int, mbps: int) -> Claim:
    """Judge which gaps are fairer among connections that are alike, by nines of Jain's index."""
    nines = {
        name: [-math.log10(max(1 - value, 1e-12)) for value in jain]
        for name, jain in _jain(runs, count=count, mbps=mbps).items()
    }
    return ranked(
        f"exponential gaps are fairer amongst a small number of connections: {count} that are "
        f"alike, over {mbps} Mbps, by nines of Jain's index, −log₁₀(1 − J)",
        list(nines),
        list(nines.values()),
        "both are fair to a thousandth, and chance does not decide who loses more",
    )


def _draw(flows: pl.DataFrame, equal: pl.DataFrame, seeds: int) -> Any:
    figure, axes = panels(1, 2, width=4.4)
    cases, place = list(UNEQUAL), np.arange(len(UNEQUAL))
    for number, name in enumerate(GAPS):
        for flow in (0, 1):
            of = [
                flows.filter(case=case, spacing=name, flow=flow)["goodput"].to_numpy().mean()
                / (UNEQUAL[case][0] * 1e6)
                for case in cases
            ]
            label = f"{name}, {('first', 'second')[flow]}"
            x = place + 0.2 * (2 * number + flow) - 0.3
            axes[0][0].bar(x, of, 0.19, label=label, color=f"C{number}", alpha=1 - 0.45 * flow)
    short = ["RTTs differ\n100 Mbps", "RTTs differ\n10 Mbps", "one is late\n100 Mbps"]
    axes[0][0].set_xticks(place, short, fontsize="x-small")
    axes[0][0].set(ylabel="goodput over capacity", ylim=(0, 1.35), title="connections that differ")
    axes[0][0].legend(fontsize="x-small", ncols=2, loc="upper center")
    for mbps, style in zip(MEGABITS, ("o-", "s--"), strict=True):
        by_count = [_jain(equal, count=count, mbps=mbps) for count in COUNTS]
        for number, name in enumerate(GAPS):
            means = [1 - sum(jain[name]) / seeds for jain in by_count]
            label = f"{name}, {mbps} Mbps"
            axes[0][1].semilogy(COUNTS, means, style, color=f"C{number}", ms=4, label=label)
    axes[0][1].set(xlabel="connections", ylabel="1 − Jain's index", title="connections alike")
    axes[0][1].set_xticks(COUNTS)
    axes[0][1].legend(fontsize="x-small")
    return figure

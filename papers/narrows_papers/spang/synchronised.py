"""How many flows lose together, and what makes all of them (their figures 8 and 10)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, stated
from narrows_papers.readings import FULL, MUCH_MORE
from narrows_papers.registry import Finding, experiment
from narrows_papers.series import each_run
from narrows_papers.spang.setup import ASSUMED, LAWS, WARMUP, scenario

FLOWS = [4, 8, 16, 32, 64]
BUFFER = 133
SEEDS = 3
FACTOR = 1.6
# Read off their figure.
THEIRS = {
    "Reno": {16: 5.2, 32: 10.7, 64: 20.9},
    "CUBIC": {16: 4.9, 32: 8.1, 64: 13.9},
    "Scalable": {16: 5.8, 32: 16.3, 64: 28.8},
    "BBRv1": {16: 15.4, 32: 25.4, 64: 41.8},
}
MARKED = {"marked": {"mark": "166p"}, "dropped": {}}


def _lose_together(flows: int) -> float:
    """Return √n + n²/(2B): what they expect of flows that lose in an event."""
    return math.sqrt(flows) + flows * flows / (2 * BUFFER)


def _cuts(series: pl.DataFrame) -> pl.DataFrame:
    """Return when which flows reduce their windows."""
    counted = series.filter(pl.col("time") > WARMUP * pl.col("time").max()).sort("flow", "time")
    moved = counted.with_columns(pl.col("ssthresh").diff().over("flow").alias("moved"))
    return moved.filter(pl.col("moved").is_not_null() & (pl.col("moved") != 0))


def _in_bins(series: pl.DataFrame) -> float:
    """Return how many flows reduce their window between two samples, if any does, on average."""
    per_bin = _cuts(series).group_by("time").len()["len"]
    return float(np.mean(per_bin.to_numpy())) if len(per_bin) else math.nan


def _in_events(series: pl.DataFrame, seconds: float = 0.005) -> float:
    """Return how many flows reduce their window within 5 ms of the first that does, on average."""
    events: list[set[int]] = []
    began = -math.inf
    for time, flow in _cuts(series).sort("time").select("time", "flow").iter_rows():
        if time > began + seconds:
            began = time
            events.append(set())
        events[-1].add(flow)
    return float(np.mean([len(event) for event in events])) if events else math.nan


@experiment("spang/fig10", "how many flows reduce their windows together")
def together(bench: Bench) -> Finding:
    """Count the flows that reduce their windows in 5 ms in which any does (figure 10)."""
    laws = [law for law in LAWS if law != "BBRv1"]

    def at(law: str, flows: int) -> Scenario:
        return scenario(bench, law, flows, BUFFER, sample="5ms")

    sweep = bench.sweep(at, law=laws, flows=FLOWS, seeds=bench.seeds(SEEDS), series=True)
    keys = ["law", "flows", "seed"]
    runs = each_run(sweep.flow_series, keys, lambda run: {"together": _in_bins(run)})
    table = runs.group_by("law", "flows", maintain_order=True)
    means = table.agg(pl.col("together").mean())
    found = {(row["law"], row["flows"]): row["together"] for row in means.iter_rows(named=True)}
    claims = [_near_the_formula(found, law) for law in ("Reno", "CUBIC")]
    claims += [_as_theirs(found, law) for law in laws]
    note = (
        f"{ASSUMED}{BUFFER} packets; a flow counts that has a new slow-start threshold, the mean "
        f"of {SEEDS} seeds. They count flows that lose a packet; a flow whose window has been "
        "reduced a round trip ago loses without reducing it again. BBRv1 has no threshold."
    )
    return Finding(claims, {"together": means}, _figure(found, laws), note)


def _near_the_formula(found: dict[tuple[str, int], float], law: str) -> Claim:
    ratios = {flows: found[law, flows] / _lose_together(flows) for flows in FLOWS}
    worst = max(ratios, key=lambda flows: abs(math.log(ratios[flows])))
    return stated(
        f"of n {law} flows √n + n²/(2B) lose together, 4 to 64 flows: the ratio furthest from 1 "
        f"(within a factor of {FACTOR}, as theirs)",
        "1",
        f"{ratios[worst]:.2f} with {worst}",
        abs(math.log(ratios[worst])) <= math.log(FACTOR),
    )


def _as_theirs(found: dict[tuple[str, int], float], law: str) -> Claim:
    mine = {flows: found[law, flows] for flows in THEIRS[law]}
    ratios = [mine[flows] / value for flows, value in THEIRS[law].items()]
    return stated(
        f"{law} flows that lose together, of 16, 32 and 64 (within a factor of {FACTOR})",
        ", ".join(f"{value:g}" for value in THEIRS[law].values()),
        ", ".join(f"{value:.1f}" for value in mine.values()),
        all(abs(math.log(ratio)) <= math.log(FACTOR) for ratio in ratios),
    )


def _figure(found: dict[tuple[str, int], float], laws: list[str]) -> Any:
    figure, axes = panels(1, 1, width=4.5)
    ax = axes[0][0]
    for number, law in enumerate(laws):
        mine = [found[law, flows] for flows in FLOWS]
        ax.loglog(FLOWS, mine, "o-", ms=3, color=f"C{number}", label=law)
        theirs = "the laboratory" if number == 0 else None
        ax.loglog(
            list(THEIRS[law]),
            list(THEIRS[law].values()),
            "x:",
            ms=4,
            color=f"C{number}",
            label=theirs,
        )
    ax.loglog(FLOWS, [_lose_together(n) for n in FLOWS], "k--", lw=0.8, label="√n + n²/(2B)")
    ax.set(xlabel="flows", ylabel="flows that cut together")
    ax.set_xticks(FLOWS, [str(flows) for flows in FLOWS])
    ax.set_xticks([], minor=True)
    ax.legend(fontsize="x-small")
    return figure


@experiment("spang/fig08", "marking everything above a threshold synchronises flows")
def marked(bench: Bench) -> Finding:
    """Mark everything above 166 packets instead of dropping it (figure 8)."""

    def at(way: str) -> Scenario:
        more: dict[str, Any] = dict(MARKED[way])
        flow = {"ecn": True} if way == "marked" else {}
        buffer = 600 if way == "marked" else 166
        return scenario(bench, "Reno", 32, buffer, sample="1ms", flow=flow, **more)

    sweep = bench.sweep(at, way=list(MARKED), seeds=bench.seeds(SEEDS), series=True)
    cuts = {
        way: [_in_events(group) for _, group in rows.group_by("seed")]
        for (way,), rows in sweep.flow_series.group_by("way")
    }
    means = {str(way): float(np.mean(values)) for way, values in cuts.items()}
    claims = [
        FULL.claim(
            "of 32 Reno flows whose packets are marked while the queue is above 166, the share "
            "that reduce their windows together",
            means["marked"] / 32,
            says="all flows cut together",
        ),
        MUCH_MORE.claim(
            "that is much more than if the queue drops what is above 166: the ratio",
            means["marked"] / means["dropped"],
            says="marking breaks the rule of √n",
        ),
    ]
    note = f"{ASSUMED}The mean of {SEEDS} seeds; marks as of RFC 3168. Together is within 5 ms."
    table = pl.DataFrame({"way": list(means), "together": list(means.values())})
    return Finding(claims, {"together": table}, _queues(sweep.link_series), note)


def _queues(series: pl.DataFrame) -> Any:
    figure, axes = panels(1, len(MARKED), width=4.2)
    for ax, way in zip(axes[0], MARKED, strict=True):
        rows = series.filter((pl.col("link") == 0) & (pl.col("way") == way))
        rows = rows.filter(pl.col("seed") == rows["seed"].min())
        ax.plot(rows["time"], rows["queue"], lw=0.6)
        ax.set(title=way, xlabel="time (s)", ylabel="queue (packets)", ylim=(0, None))
    return figure

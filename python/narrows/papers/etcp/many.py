"""Fifty connections, one bottleneck: figures 7 to 10 and 18."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from narrows.papers.claims import above, below, near, stated
from narrows.papers.etcp.setup import (
    ETCP,
    PEERS,
    averaged,
    cumulative_loss,
    later,
    loss_of,
    mean,
    scenario,
    with_rate,
)
from narrows.papers.lab import Lab, bottleneck
from narrows.papers.registry import Finding, experiment
from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.sweeps import Sweep

FLOWS = 50
SHOWN = [0, 10, 30]


@experiment("etcp/fig07", "fifty connections over 1 Gbps and 100 ms: windows, queue, loss")
def fig07(lab: Lab) -> Finding:
    """Reproduce figure 7 (§VI-C, "System dynamics"); starts are uniform in the first 100 ms."""
    result = lab.run(
        scenario(lab, "1Gbps", "100ms", [{"cc": "etcp", "count": FLOWS}], 100, sample="100ms")
    )
    flow, link = result.series("flow_series"), bottleneck(result)
    halves = [mean(later(link, share), "queue") for share in (0.3, 0.65)]
    claims = [
        near(
            "the windows stabilise at 240", 240, mean(later(flow, 0.3), "window"), 0.03, "packets"
        ),
        near("the loss rate stabilises at 0.018", 0.018, loss_of(later(link, 0.3)), 0.02),
        below(
            "the queue is stable: relative difference between its means over the last third and "
            "the last two thirds",
            0.05,
            abs(halves[1] / halves[0] - 1),
        ),
    ]
    figure, axes = panels(1, 3, width=3.6)
    _windows(axes[0][0], flow, "window", "cwnd (packets)")
    axes[0][1].plot(
        link["time"].to_numpy()[9::10][: len(averaged(link["queue"], 10))],
        averaged(link["queue"], 10),
        lw=0.8,
    )
    axes[0][1].set(xlabel="time (s)", ylabel="queue, 1 s means (packets)", ylim=(0, 20))
    axes[0][2].plot(link["time"], link["loss_rate"], lw=0.4)
    axes[0][2].plot(link["time"], cumulative_loss(link), "k", lw=1)
    axes[0][2].set(xlabel="time (s)", ylabel="loss rate", ylim=(0, 0.05))
    return Finding(claims, {"flow": flow.filter(pl.col("flow").is_in(SHOWN)), "link": link}, figure)


@experiment("etcp/fig08", "utilisation of fifty connections at 2.5 and 5 Gbps, six protocols")
def fig08(lab: Lab) -> Finding:
    """Reproduce figure 8 (§VI-C, "Link utilization"): 100 s, the first 25 s are not measured."""
    protocols = {**ETCP, **PEERS}
    rates, rtts = {"2.5Gbps": 2500, "5Gbps": 5000}, ["50ms", "100ms", "200ms"]

    def at(protocol: str, rate: str, rtt: str) -> Scenario:
        return scenario(lab, rate, rtt, [{**protocols[protocol], "count": FLOWS}], 100)

    runs = lab.sweep(at, protocol=list(protocols), rate=list(rates), rtt=rtts).runs
    capacity = pl.col("rate").replace_strict(rates, return_dtype=pl.Float64) * 1e6
    frame = runs.select(
        "protocol",
        "rate",
        "rtt",
        "utilisation",
        "jain",
        (pl.col("goodput") / capacity).alias("goodput_utilisation"),
    )
    table = {
        name: frame.filter(pl.col("protocol") == name)["goodput_utilisation"].to_numpy()
        for name in protocols
    }
    best_peer = np.max([table[name] for name in PEERS], axis=0)
    apart = float(np.abs(table["NewReno"] - table["HSTCP"]).max())
    claims = [
        stated(
            "E-TCP has the highest utilisation in all six cases",
            "6 of 6",
            f"{int((table['E-TCP'] > best_peer).sum())} of 6",
            bool((table["E-TCP"] > best_peer).all()),
        ),
        below(
            "the curves of NewReno and HSTCP overlap: the largest difference in utilisation",
            0.1,
            apart,
            why=_how_far_apart(table),
        ),
    ]
    figure, axes = panels(width=6)
    labels = [f"{rate[:-4]} G\n{rtt}" for rate in rates for rtt in rtts]
    for name in protocols:
        axes[0][0].plot(labels, table[name], "o-", ms=3, label=name)
    axes[0][0].set(ylabel="utilisation by goodput", ylim=(0, 1))
    axes[0][0].legend(fontsize="x-small", ncols=2)
    return Finding(claims, {"utilisation": frame}, figure)


@experiment("etcp/fig09", "fairness among fifty connections: Jain's index over the past second")
def fig09(lab: Lab) -> Finding:
    """Reproduce figure 9 (§VI-C, "Fairness")."""
    cases = {"1 Gbps, 50 ms": ("1Gbps", "50ms"), "5 Gbps, 200 ms": ("5Gbps", "200ms")}
    figure, axes = panels(2, 2)
    fair_from, ends, data = {}, {}, {}
    for (name, (rate, rtt)), row in zip(cases.items(), axes, strict=True):
        flow = lab.run(
            scenario(lab, rate, rtt, [{"cc": "etcp", "count": FLOWS}], 300, sample="1s")
        ).series("flow_series")
        wide = flow.pivot("flow", index="time", values="goodput").sort("time")
        rates = wide.drop("time").to_numpy()[1:]
        time = wide["time"].to_numpy()[1:]
        jain = rates.sum(axis=1) ** 2 / (FLOWS * (rates**2).sum(axis=1))
        unfair = np.flatnonzero(jain < 0.95)
        fair_from[name] = float(time[min(unfair[-1] + 1, len(time) - 1)]) if len(unfair) else 0.0
        ends[name] = float(jain[-len(jain) // 5 :].mean())
        data[name.replace(" ", "").replace(",", "-")] = pl.DataFrame({"time": time, "jain": jain})
        row[0].plot(time, jain)
        row[0].set(xlabel="time (s)", ylabel="Jain index", ylim=(0, 1), title=name)
        for shown in SHOWN:
            row[1].plot(time, rates[:, shown] / 1e6, lw=0.7)
        row[1].set(xlabel="time (s)", ylabel="goodput (Mbps)", ylim=(0, None))
    small, large = cases
    claims = [
        *(
            above(
                f"{name}: converges to a fair state: Jain's index over the last fifth of the run",
                0.95,
                ends[name],
            )
            for name in cases
        ),
        stated(
            "the larger bandwidth-delay product takes longer: time from which Jain's index stays "
            "at 0.95 or above",
            "longer",
            f"{fair_from[large]:.0f} s against {fair_from[small]:.0f} s",
            fair_from[large] > fair_from[small],
        ),
    ]
    return Finding(claims, data, figure)


@experiment("etcp/fig10", "fifty connections of different RTTs: the windows become equal")
def fig10(lab: Lab) -> Finding:
    """Reproduce figure 10 (§VI-D): 500 Mbps, RTT_i = 50 + 5i ms."""
    result, flow, link = _heterogeneous(lab, "etcp")
    windows = _by_rtt(flow, "window")
    goodput = float(result.runs["goodput"][0]) / 500e6
    claims = [
        below(
            "all windows converge to one size: max/min − 1 of the mean windows of groups of ten "
            "connections by RTT",
            0.05,
            max(windows) / min(windows) - 1,
        ),
        near(
            "utilisation by goodput",
            0.947,
            goodput,
            0.01,
            why=f"departures fill {float(result.runs['utilisation'][0]):.3f} of the link, and "
            "1000 of every 1040 bytes are payload. With one connection at 1 % loss, figure 5, "
            f"departures fill 0.947. Seed 2 gives {_second(lab, 'etcp')[1]:.4f}",
        ),
    ]
    shown = flow.filter(pl.col("flow").is_in(SHOWN))
    note = (
        "Mean windows over the second half of the run, of groups of ten connections of "
        "neighbouring RTTs: "
        + ", ".join(f"{window:.1f}" for window in windows)
        + ". A single window at 200 ms has a memory of bτ(2 + p0·W)/2 = 9 s, and its mean over "
        "150 s is still uncertain by 4 %."
    )
    return Finding(
        claims, {"flow": shown, "link": link}, _three(shown, link, "window", "cwnd (packets)"), note
    )


@experiment("etcp/fig18", "the rate law, connections of different RTTs: the rates become equal")
def fig18(lab: Lab) -> Finding:
    """Reproduce figure 18 (§VII-C) in the set-up of figure 10."""
    _, flow, link = _heterogeneous(lab, "etcp-rate")
    flow = with_rate(flow)
    rates = _by_rtt(flow, "rate")
    claims = [
        below(
            "all rates converge to one value: max/min − 1 of the mean rates of groups of ten "
            "connections by RTT",
            0.1,
            max(rates) / min(rates) - 1,
            why="at RTTs of 50 to 95 ms bτ is 1.3 to 2.4, while the window law has 25: each loss "
            "takes a twentieth of the rate or more, and the mean of a rate that swings lies below "
            f"the equilibrium. Seed 2 gives {_apart(_second(lab, 'etcp-rate')[0]):.3f}",
        ),
        stated(
            "the system is stable: the loss rate of the last third is that of the middle third",
            "constant",
            f"{loss_of(later(link, 0.7)):.4f}",
            _steady(link),
        ),
    ]
    shown = flow.filter(pl.col("flow").is_in(SHOWN))
    note = (
        "Mean rates over the second half of the run, "
        "of groups of ten connections of neighbouring RTTs: "
    )
    note += ", ".join(f"{rate:.0f}" for rate in rates) + " packets/s."
    return Finding(
        claims,
        {"flow": shown, "link": link},
        _three(shown, link, "rate", "sending rate (packets/s)"),
        note,
    )


def _how_far_apart(table: dict[str, Any]) -> str:
    below_it, above_it = (
        table["NewReno"][0] - table["HSTCP"][0],
        table["HSTCP"][5] - table["NewReno"][5],
    )
    return (
        f"HSTCP is {below_it:.2f} below NewReno at 2.5 Gbps and 50 ms, {above_it:.2f} above at "
        "5 Gbps and 200 ms: it backs off less at a loss, which is a disadvantage when losses come "
        "in bursts, and grows faster at large windows"
    )


def _apart(means: list[float]) -> float:
    return max(means) / min(means) - 1


def _second(lab: Lab, cc: str) -> tuple[list[float], float]:
    """Return rates by RTT and utilisation by goodput with another seed."""
    result = lab.sweep(_fifty_rtts(lab, cc), seeds=[2], series=True)
    flow = with_rate(result.series("flow_series"))
    return _by_rtt(flow, "rate"), float(result.runs["goodput"][0]) / 500e6


def _fifty_rtts(lab: Lab, cc: str) -> Scenario:
    return scenario(
        lab, "500Mbps", "50ms", [{"cc": cc, "count": FLOWS}], 300, rtt_step="5ms", sample="100ms"
    )


def _heterogeneous(lab: Lab, cc: str) -> tuple[Sweep, pl.DataFrame, pl.DataFrame]:
    result = lab.run(_fifty_rtts(lab, cc))
    return result, result.series("flow_series"), bottleneck(result)


def _by_rtt(flow: pl.DataFrame, column: str) -> list[float]:
    """Return the means over the second half of the run of groups of ten connections, by RTT."""
    ends = later(flow)
    return [
        mean(ends.filter((pl.col("flow") >= first) & (pl.col("flow") < first + 10)), column)
        for first in range(0, FLOWS, 10)
    ]


def _steady(link: pl.DataFrame) -> bool:
    """Return whether the loss rate of the last third is within 5 % of that of the middle third."""
    thirds = [link.filter((pl.col("time") >= a) & (pl.col("time") < b)) for a, b in _thirds(link)]
    return abs(loss_of(thirds[2]) / loss_of(thirds[1]) - 1) < 0.05


def _thirds(link: pl.DataFrame) -> list[tuple[float, float]]:
    end = float(link["time"].to_numpy().max())
    return [(0, end / 3), (end / 3, 2 * end / 3), (2 * end / 3, end + 1)]


def _windows(ax: Any, flow: pl.DataFrame, column: str, label: str) -> None:
    for shown in SHOWN:
        rows = flow.filter(pl.col("flow") == shown)
        ax.plot(rows["time"], rows[column], lw=0.6, label=f"connection {shown + 1}")
    ax.set(xlabel="time (s)", ylabel=label, ylim=(0, None))
    ax.legend(fontsize="x-small")


def _three(flow: pl.DataFrame, link: pl.DataFrame, column: str, label: str) -> Any:
    figure, axes = panels(1, 3, width=3.6)
    _windows(axes[0][0], flow, column, label)
    queue = averaged(link["queue"], 10)
    axes[0][1].plot(
        np.arange(len(queue)) * float(link["time"].to_numpy().max()) / len(queue), queue, lw=0.8
    )
    axes[0][1].set(xlabel="time (s)", ylabel="queue, 1 s means (packets)", ylim=(0, 20))
    axes[0][2].plot(link["time"], link["loss_rate"], lw=0.4)
    axes[0][2].plot(link["time"], cumulative_loss(link), "k", lw=1)
    axes[0][2].set(xlabel="time (s)", ylabel="loss rate", ylim=(0, 0.1))
    return figure

"""Several bottlenecks, and traffic both ways: figures 14, 15, 21."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from narrows.papers.claims import above, below, near, stated
from narrows.papers.etcp.setup import (
    averaged,
    cumulative_loss,
    later,
    mean,
    scenario,
    variation,
    with_rate,
)
from narrows.papers.lab import Lab
from narrows.papers.registry import Finding, experiment
from narrows.plot import panels
from narrows.scenario import Scenario

# Figure 13: five links; connection 1 over all, connection 2 over three, six over one each.
PATHS = [(1, 5), (2, 4), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (1, 1)]


THIRDS = "relative difference between its means over the last third and the last two thirds"


@experiment("etcp/fig14", "five bottlenecks in a row, eight connections")
def fig14(lab: Lab) -> Finding:
    """Reproduce figures 13 and 14 (§VI-F)."""
    return _bottlenecks(lab, "etcp", "window", "cwnd (packets)")


@experiment("etcp/fig21", "the rate law over five bottlenecks in a row")
def fig21(lab: Lab) -> Finding:
    """Reproduce figure 21 (§VII-C)."""
    return _bottlenecks(lab, "etcp-rate", "rate", "sending rate (packets/s)")


def _bottlenecks(lab: Lab, cc: str, column: str, label: str) -> Finding:
    lot = {"hops": 5, "rate": "600Mbps", "delay": "20ms", "buffer": "20p", "access_delay": "5ms"}
    flows = [{"cc": cc, "over": path} for path in PATHS]
    result = lab.run(
        Scenario(
            tcp="ns2",
            packet="1040B",
            duration=lab.seconds(300),
            sample="100ms",
            parking_lot=lot,
            flows=flows,
        )
    )
    flow = with_rate(result.series("flow_series"))
    names = result.links.select("link", "name").unique()
    second = names.filter(pl.col("name") == "link2")["link"][0]
    link = result.series("link_series").filter(pl.col("link") == second)
    swings = [
        variation(averaged(later(flow.filter(pl.col("flow") == number), 1 / 3)[column], 50))
        for number in (0, 1)
    ]
    cumulative = cumulative_loss(later(link, 1 / 3))
    drift = abs(cumulative[-1] / cumulative[len(cumulative) // 2] - 1)
    moved = [_moved(flow.filter(pl.col("flow") == number), column) for number in (0, 1)]
    claims = [
        below(f"connection 1: its {column} is stable: {THIRDS}", 0.1, moved[0]),
        below(f"connection 2: its {column} is stable: {THIRDS}", 0.1, moved[1]),
        below(f"the queue of link 2 is stable: {THIRDS}", 0.05, _moved(link, "queue")),
        below(
            "the cumulative loss rate of link 2 is stable: change over the last third of the run",
            0.05,
            float(drift),
        ),
    ]
    figure, axes = panels(1, 3, width=3.6)
    for number in (0, 1):
        rows = flow.filter(pl.col("flow") == number)
        axes[0][0].plot(rows["time"], rows[column], lw=0.6, label=f"connection {number + 1}")
    axes[0][0].set(xlabel="time (s)", ylabel=label, ylim=(0, None))
    axes[0][0].legend(fontsize="x-small")
    axes[0][1].plot(
        np.arange(len(averaged(link["queue"], 10))) * lab.scale, averaged(link["queue"], 10), lw=0.8
    )
    axes[0][1].set(xlabel="time (s)", ylabel="queue of link 2 (packets)", ylim=(0, 20))
    axes[0][2].plot(link["time"], link["loss_rate"], lw=0.4)
    axes[0][2].plot(link["time"], cumulative_loss(link), "k", lw=1)
    axes[0][2].set(xlabel="time (s)", ylabel="loss rate of link 2", ylim=(0, 0.1))
    note = (
        "The paper does not say which links connection 2 and the sixth short connection take; here "
        f"it is links 2 to 4, and link 1. Stable means without drift; in means of 5 s the {column} "
        f"of connections 1 and 2 has a coefficient of variation of {swings[0]:.0%} and "
        f"{swings[1]:.0%}."
    )
    return Finding(claims, {"flow": flow.filter(pl.col("flow") < 2), "link": link}, figure, note)


def _seeds(lab: Lab, point: Scenario, capacity: float) -> str:
    """Return what other seeds give, as evidence for a number that differs."""
    goodput = lab.sweep(point, seeds=3).runs["goodput"].to_numpy() / capacity
    return f"seeds 1 to {len(goodput)} give " + ", ".join(f"{value:.3f}" for value in goodput)


def _both(etcp: Any, paced: Any) -> str:
    return (
        f"with 25 forward connections and two-way traffic, E-TCP carries {etcp.min():.2f} to "
        f"{etcp.max():.2f} of the capacity, paced NewReno {paced.min():.2f} to {paced.max():.2f}"
    )


def _moved(frame: pl.DataFrame, column: str) -> float:
    """Return the relative difference of a series' means over the last third and last two thirds."""
    return abs(mean(later(frame, 2 / 3), column) / mean(later(frame, 1 / 3), column) - 1)


@experiment(
    "etcp/fig15", "two-way traffic: 25 reverse connections, 1, 25 or 50 forward connections"
)
def fig15(lab: Lab) -> Finding:
    """Reproduce figure 15 (§VI-G): RTT 50 ms, buffers of 20 packets in both directions.

    Runs last 100 s, of which the first 25 s are not measured.
    """
    protocols: dict[str, dict[str, Any]] = {
        "E-TCP": {"cc": "etcp"},
        "NewReno paced": {"cc": "newreno", "pacing": "even"},
        "NewReno": {"cc": "newreno"},
    }
    megabits, counts = [50, 100, 250, 500, 1000], [1, 25, 50]

    def at(protocol: str, mbps: int, there: int, back: int) -> Scenario:
        sender = protocols[protocol]
        flows = [{**sender, "count": there}, {**sender, "count": back, "reverse": True}]
        return scenario(lab, f"{mbps}Mbps", "50ms", flows[: 1 + (back > 0)], 100)

    runs = lab.sweep(at, protocol=list(protocols), mbps=megabits, there=counts, back=[25, 0]).runs
    frame = runs.select(
        "protocol",
        "mbps",
        "there",
        "back",
        (pl.col("goodput") / (pl.col("mbps") * 1e6)).alias("goodput_utilisation"),
    )

    def values(protocol: str, there: int, back: int = 25) -> Any:
        rows = frame.filter(
            (pl.col("protocol") == protocol) & (pl.col("there") == there) & (pl.col("back") == back)
        )
        return rows["goodput_utilisation"].to_numpy()

    def impact(protocol: str) -> float:
        return float(
            np.mean([1 - values(protocol, there) / values(protocol, there, 0) for there in counts])
        )

    impacts = {name: impact(name) for name in protocols}
    above_it = (
        "the load at which 1 % is lost is lower when windows are large; at 50 and 100 Mbps "
        "utilisation is above 0.9. At 1 Gbps "
    )
    less = {there: above_it + _seeds(lab, at("E-TCP", 1000, there, 25), 1e9) for there in (25, 50)}
    claims = [
        near(
            "E-TCP, 1 forward connection: utilisation of about 80 %",
            0.8,
            float(values("E-TCP", 1).mean()),
            0.1,
        ),
        above(
            "E-TCP, 25 forward connections: the lowest utilisation",
            0.9,
            float(values("E-TCP", 25).min()),
            why=less[25],
        ),
        above(
            "E-TCP, 50 forward connections: the lowest utilisation",
            0.9,
            float(values("E-TCP", 50).min()),
            why=less[50],
        ),
        below(
            "NewReno falls below 30 % at 1 Gbps, 1 forward connection",
            0.3,
            float(values("NewReno", 1)[-1]),
        ),
        below(
            "NewReno falls below 30 % at 1 Gbps, 25 forward connections",
            0.3,
            float(values("NewReno", 25)[-1]),
            why=_seeds(lab, at("NewReno", 1000, 25, 25), 1e9),
        ),
        stated(
            "reverse traffic costs E-TCP least: mean share of one-way goodput that is lost",
            "least",
            ", ".join(f"{name} {share:.2f}" for name, share in impacts.items()),
            impacts["E-TCP"] == min(impacts.values()),
            "paced NewReno loses less of what it had, but it had less: "
            + _both(values("E-TCP", 25), values("NewReno paced", 25)),
        ),
    ]
    figure, axes = panels(width=5.5)
    for name in protocols:
        for there, style in zip(counts, ("o-", "s--", "^:"), strict=True):
            axes[0][0].plot(
                megabits, values(name, there), style, ms=3, lw=1, label=f"{name}, M = {there}"
            )
    axes[0][0].set(xlabel="capacity (Mbps)", ylabel="utilisation by goodput", ylim=(0, 1))
    figure.legend(
        *axes[0][0].get_legend_handles_labels(),
        loc="outside upper center",
        fontsize="x-small",
        ncols=3,
        frameon=False,
    )
    return Finding(claims, {"utilisation": frame}, figure)

"""H-TCP (Leith, Shorten: "H-TCP: TCP for high-speed and long-distance networks")."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from narrows.papers.claims import below, near, stated
from narrows.papers.lab import Lab
from narrows.papers.registry import Finding, experiment
from narrows.plot import panels
from narrows.scenario import Scenario

RATE = 10e6
RTT = 0.1
QUEUE = 40
PACKET_BITS = 8000
BETA = 0.5
SAMPLE = 0.01


@experiment("htcp/fig03", "one AIMD flow: throughput before and after back-off")
def fig03(lab: Lab) -> Finding:
    """§2 (iii), eqs. 7 and 8: α = 1, β = 0.5 on 10 Mbps, 100 ms, 40 packets."""
    scenario = Scenario(
        tcp="ns2",
        duration=lab.seconds(100),
        warmup="0s",
        sample=f"{SAMPLE}s",
        dumbbell={"rate": "10Mbps", "rtt": "100ms", "buffer": f"{QUEUE}p"},
        flows=[{"cc": "sack", "start_spread": "0s", "max_ssthresh": 0}],
    )
    result = lab.run(scenario)
    flow, link = result.series("flow_series"), result.series("link_series").filter(pl.col("link") == 0)
    window, time = flow["window"].to_numpy(), flow["time"].to_numpy()
    rate = _over_a_round_trip(link["utilisation"].to_numpy()) * RATE / 1e6
    queue = link["queue"].to_numpy()
    backoffs = [b for b in _backoffs(window) if time[b] > time[-1] * 0.2 and b + _samples(6 * RTT) < len(rate)]
    before = np.array([rate[b - 1] for b in backoffs])
    after = np.array([rate[b + _samples(2 * RTT) : b + _samples(4 * RTT)].mean() for b in backoffs])
    emptied = sum(bool((queue[b : b + _samples(4 * RTT)] == 0).any()) for b in backoffs)
    bdp = RATE * RTT / PACKET_BITS
    expected = BETA * (bdp + QUEUE) / bdp * RATE / 1e6
    claims = [
        near("R−, eq. 7: throughput before back-off is the link's", RATE / 1e6, float(before.mean()), 0.01, "Mbps"),
        near("R+, eq. 8: throughput after back-off is βw/T_d", expected, float(after.mean()), 0.05, "Mbps"),
        below("throughput falls at each back-off: the largest R+/R−", 1.0, float((after / before).max())),
        stated("the queue empties at each back-off", "each", f"{emptied} of {len(backoffs)}", emptied == len(backoffs) > 0),
    ]
    note = (
        f"1000-byte packets, so the bandwidth-delay product is {bdp:.0f} packets and β ≥ {bdp / (bdp + QUEUE):.3f} (eq. 9) would keep the "
        f"link busy. {len(backoffs)} back-offs after slow start; R+ is the mean from two to four round trips after each."
    )
    return Finding(claims, {"flow": flow, "link": link}, _drawn(time, window, rate, queue), note)


def _samples(seconds: float) -> int:
    return round(seconds / SAMPLE)


def _over_a_round_trip(values: Any) -> Any:
    """Running mean over the round trip that ends at each sample."""
    width = _samples(RTT)
    return np.convolve(values, np.ones(width) / width)[: len(values)]


def _backoffs(window: Any) -> list[int]:
    """Samples at which the window has fallen by a third or more."""
    return [int(number) for number in np.flatnonzero(window[1:] < window[:-1] * 2 / 3) + 1]


def _drawn(time: Any, window: Any, rate: Any, queue: Any) -> Any:
    figure, axes = panels(3, 1, width=6, height=1.8)
    for ax, values, label in zip(
        axes[:, 0], (window, rate, queue), ("cwnd (packets)", "throughput (Mbps)", "queue (packets)"), strict=True
    ):
        ax.plot(time[: len(values)], values[: len(time)], lw=0.8)
        ax.set_ylabel(label, fontsize="small")
        ax.set_ylim(bottom=0)
    axes[0][0].set_ylim(0, 250)
    axes[2][0].set_xlabel("time (s)")
    return figure

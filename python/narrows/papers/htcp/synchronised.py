"""Synchronised AIMD sources and their matrix (§2); figures 2 and 3."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from narrows.papers.claims import above, below, near, stated
from narrows.papers.htcp.setup import events, scenario, windows
from narrows.papers.lab import Lab, bottleneck
from narrows.papers.registry import Finding, experiment
from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.theory import aimd

RATE = 10e6
RTT = 0.1
QUEUE = 40
PACKET_BITS = 8000
BETA = 0.5
SAMPLE = 0.01


@experiment("htcp/sec2", "the matrix of synchronised AIMD sources")
def sec2(lab: Lab) -> Finding:
    """Check eqs. 1 to 6, theorem 2.1 and its corollary over random networks; no simulation."""
    random = np.random.default_rng(1)
    rows = []
    for _ in range(max(20, round(500 * lab.scale))):
        n = int(random.integers(2, 12))
        alpha, beta = random.uniform(0.1, 20, n), random.uniform(0.05, 0.95, n)
        values = aimd.eigenvalues(alpha, beta)
        shares = aimd.perron_vector(alpha, beta)
        moved = float(np.abs(aimd.matrix(alpha, beta) @ shares - shares).max())
        inside = bool(beta.min() - 1e-9 <= values[1:].min() and values[1] <= beta.max() + 1e-9)
        interlaced = bool(np.sort(beta)[-2] - 1e-9 <= values[1] <= beta.max() + 1e-9)
        fair = aimd.perron_vector(2 * (1 - beta), beta)
        rows.append(
            (n, float(values[0]), float(values[1]), moved, inside, interlaced, float(np.ptp(fair)))
        )
    found = pl.DataFrame(
        rows,
        schema=["sources", "first", "second", "moved", "inside", "interlaced", "unfair"],
        orient="row",
    )
    rise = aimd.rise_time([1.0, 1.0], [BETA, BETA])
    printed = float(np.log(0.95) / np.log(BETA))
    claims = [
        below(
            "the Perron vector is α_i/(1 − β_i): "
            "the largest change of a share when multiplied by A",
            1e-12,
            float(found["moved"].to_numpy().max()),
        ),
        near(
            "the eigenvalue of the Perron vector is 1: the one furthest from 1",
            1.0,
            _furthest(found["first"].to_numpy()),
            1e-9,
        ),
        stated(
            "all other eigenvalues lie in [β_1, β_n]",
            "all",
            f"{int(found['inside'].sum())} of {len(found)} networks",
            bool(found["inside"].all()),
        ),
        stated(
            "the second eigenvalue lies in [β_(n−1), β_n]",
            "all",
            f"{int(found['interlaced'].sum())} of {len(found)} networks",
            bool(found["interlaced"].all()),
        ),
        below(
            "α = 2(1 − β) is fair: the largest difference of shares",
            1e-12,
            float(found["unfair"].to_numpy().max()),
        ),
        near("rise time at β = 0.5: about 4 epochs, from log(0.05)/log λ", 4, rise, 0.1, "epochs"),
        near(
            "rise time at β = 0.5, from the formula as printed, log(0.95)/log λ",
            4,
            printed,
            0.1,
            "epochs",
            why="95 % of the way is covered when 5 % are left: the formula means log(0.05)",
        ),
    ]
    figure, axes = panels()
    axes[0][0].plot(aimd.evolve([1, 0.5], [0.5, 0.75], [100, 20], 12), "o-", ms=3)
    axes[0][0].set(
        xlabel="congestion epoch", ylabel="window at congestion (packets)", ylim=(0, None)
    )
    return Finding(
        claims,
        {"networks": found},
        figure,
        "500 random networks of 2 to 11 sources. "
        "The figure shows α = 2(1 − β) with β = 0.5 and 0.75.",
    )


def _furthest(values: Any) -> float:
    return float(values[np.abs(values - 1).argmax()])


@experiment("htcp/fig02", "two AIMD sources with different parameters, α = 2(1 − β)")
def fig02(lab: Lab) -> Finding:
    """Reproduce figure 2: 10 Mbps, 100 ms, 40 packets.

    The sources have α = 1, β = 0.5 and α = 0.5, β = 0.75; the second starts later.
    """
    seconds, start = 200, 30
    # The model's sources have no slow start, so that of the second source is limited to growth by
    # one packet per round trip.
    flows: list[dict[str, Any]] = [
        {"cc": "aimd"},
        {"cc": "aimd:alpha=0.5:beta=0.75", "start": lab.seconds(start), "max_ssthresh": 2},
    ]
    result = lab.run(scenario(lab, "10Mbps", QUEUE, flows, seconds))
    time, window = windows(result, 2)
    when, before, drops = events(window, time, 2 * RTT)
    late = when > 0.5 * seconds * lab.scale
    mean = before[late].mean(axis=0)
    joint = float(drops[late].all(axis=1).mean())
    rise = aimd.rise_time([1.0, 0.5], [0.5, 0.75])
    claims = [
        near(
            "equal windows at congestion: the second source's over the first's",
            1.0,
            float(mean[1] / mean[0]),
            0.1,
            why=_alone(drops[late]),
        ),
        above("drops are synchronised: share of events at which both sources see one", 0.5, joint),
        near(
            "congestion epochs after the second source starts until it has 95 % of its share",
            rise,
            _epochs(before, when, start * lab.scale, mean),
            0.5,
        ),
    ]
    figure, axes = panels(1, 1, width=6)
    for number, label in enumerate(("α = 1, β = 0.5", "α = 0.5, β = 0.75")):
        axes[0][0].plot(time, window[number], lw=0.8, label=label)
    axes[0][0].set(xlabel="time (s)", ylabel="cwnd (packets)", ylim=(0, None))
    axes[0][0].legend(fontsize="x-small")
    note = (
        f"The second eigenvalue is {aimd.eigenvalues([1, 0.5], [0.5, 0.75])[1]:.3f}: it takes "
        f"{rise:.1f} epochs to cover 95 % of the way."
    )
    return Finding(
        claims,
        {"events": pl.DataFrame({"time": when, "first": before[:, 0], "second": before[:, 1]})},
        figure,
        note,
    )


def _alone(drops: Any) -> str:
    only = [float((drops[:, n] & ~drops[:, 1 - n]).mean()) for n in (0, 1)]
    return (
        f"in {only[0]:.0%} of events only the first source sees a drop, in {only[1]:.0%} only the "
        "second; for equal windows the two shares must be equal"
    )


def _epochs(before: Any, when: Any, start: float, settled: Any) -> float:
    """Count events after `start` until the second window is at 95 % of its final mean."""
    later = before[when > start, 1]
    reached = np.flatnonzero(later >= 0.95 * settled[1])
    return float(reached[0] + 1) if len(reached) else float("inf")


@experiment("htcp/fig03", "one AIMD flow: throughput before and after back-off")
def fig03(lab: Lab) -> Finding:
    """Reproduce figure 3 (§2 (iii), eqs. 7, 8): α = 1, β = 0.5 on 10 Mbps, 100 ms, 40 packets."""
    scenario = Scenario(
        tcp="ns2",
        duration=lab.seconds(100),
        warmup="0s",
        sample=f"{SAMPLE}s",
        dumbbell={"rate": "10Mbps", "rtt": "100ms", "buffer": f"{QUEUE}p"},
        flows=[{"cc": "sack", "start_spread": "0s", "max_ssthresh": 0}],
    )
    result = lab.run(scenario)
    flow, link = result.series("flow_series"), bottleneck(result)
    window, time = flow["window"].to_numpy(), flow["time"].to_numpy()
    rate = _over_a_round_trip(link["utilisation"].to_numpy()) * RATE / 1e6
    queue = link["queue"].to_numpy()
    backoffs = [
        b
        for b in _backoffs(window)
        if time[b] > time[-1] * 0.2 and b + _samples(6 * RTT) < len(rate)
    ]
    before = np.array([rate[b - 1] for b in backoffs])
    after = np.array([rate[b + _samples(2 * RTT) : b + _samples(4 * RTT)].mean() for b in backoffs])
    emptied = sum(bool((queue[b : b + _samples(4 * RTT)] == 0).any()) for b in backoffs)
    bdp = RATE * RTT / PACKET_BITS
    expected = BETA * (bdp + QUEUE) / bdp * RATE / 1e6
    claims = [
        near(
            "R−, eq. 7: throughput before back-off is the link's rate",
            RATE / 1e6,
            float(before.mean()),
            0.01,
            "Mbps",
        ),
        near(
            "R+, eq. 8: throughput after back-off is βw/T_d",
            expected,
            float(after.mean()),
            0.05,
            "Mbps",
        ),
        below(
            "throughput falls at each back-off: the largest R+/R−",
            1.0,
            float((after / before).max()),
        ),
        stated(
            "the queue empties at each back-off",
            "each",
            f"{emptied} of {len(backoffs)}",
            emptied == len(backoffs) > 0,
        ),
    ]
    note = (
        f"Packets have 1000 bytes, so the bandwidth-delay product is {bdp:.0f} packets and β ≥ "
        f"{bdp / (bdp + QUEUE):.3f} (eq. 9) would keep the link busy. There are {len(backoffs)} "
        "back-offs after slow start; R+ is the mean from two to four round trips after each."
    )
    return Finding(claims, {"flow": flow, "link": link}, _drawn(time, window, rate, queue), note)


def _samples(seconds: float) -> int:
    return round(seconds / SAMPLE)


def _over_a_round_trip(values: Any) -> Any:
    """Return the running mean over the round trip that ends at each sample."""
    width = _samples(RTT)
    return np.convolve(values, np.ones(width) / width)[: len(values)]


def _backoffs(window: Any) -> list[int]:
    """Return the samples at which the window has fallen by a third or more."""
    return [int(number) for number in np.flatnonzero(window[1:] < window[:-1] * 2 / 3) + 1]


def _drawn(time: Any, window: Any, rate: Any, queue: Any) -> Any:
    figure, axes = panels(3, 1, width=6, height=1.8)
    for ax, values, label in zip(
        axes[:, 0],
        (window, rate, queue),
        ("cwnd (packets)", "throughput (Mbps)", "queue (packets)"),
        strict=True,
    ):
        ax.plot(time[: len(values)], values[: len(time)], lw=0.8)
        ax.set_ylabel(label, fontsize="small")
        ax.set_ylim(bottom=0)
    axes[0][0].set_ylim(0, 250)
    axes[2][0].set_xlabel("time (s)")
    return figure

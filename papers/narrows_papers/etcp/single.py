"""One connection, one bottleneck, the window law: figures 5, 6."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.theory.response import etcp_loss, per_packet_sent
from narrows.types import Floats
from narrows_papers.bench import Bench, bottleneck
from narrows_papers.claims import (
    Claim,
    above,
    digits,
    interval,
    measured,
    near,
    ranked,
    stated,
)
from narrows_papers.etcp.analysis import load_of
from narrows_papers.etcp.setup import (
    ETCP,
    EVEN,
    P0,
    PEERS,
    draw_band,
    draw_loss,
    later,
    loss_of,
    mean,
    packets_a_second,
    per_acknowledged,
    scenario,
    steady,
    steady_link,
)
from narrows_papers.marks import SAYS, level
from narrows_papers.readings import ABOUT, SAME
from narrows_papers.registry import Finding, experiment

CAPACITIES = ["100kbps", "1Mbps", "10Mbps", "100Mbps", "1Gbps", "2.5Gbps", "5Gbps"]
MEGABITS = [0.1, 1.0, 10.0, 100.0, 1000.0, 2500.0, 5000.0]
RTTS = ["50ms", "100ms", "200ms"]
SECONDS = 300
# Packets: 1 Gbps times 100 ms, the paper's 12,020.
BDP = packets_a_second(1000) * 0.1


@experiment("etcp/fig05", "one connection over 1 Gbps and 100 ms: window, queue, loss")
def fig05(bench: Bench) -> Finding:
    """Reproduce figure 5 (§VI-B, "System dynamics")."""
    result = bench.run(scenario(bench, "1Gbps", "100ms", [{"cc": "etcp"}], SECONDS, sample="10ms"))
    flow, link = result.series("flow_series"), bottleneck(result)
    settled = later(link, 0.2)
    loss = loss_of(settled)
    window = mean(later(flow, 0.2), "window")
    sent = float(per_packet_sent(etcp_loss(window)))
    claims = [
        near(
            "the congestion window stabilises close to 12,020: its mean from 60 s on",
            12_020,
            window,
            ABOUT,
            "packets",
            since='the paper says "close to"',
        ),
        steady("the window is stable", later(flow)["window"]),
        digits(
            "the loss rate stabilises at p0 + 2/W: losses per acknowledged packet, as in eq. 6",
            "0.0102",
            per_acknowledged(loss),
        ),
        digits(
            "the loss rate stabilises at p0 + 2/W: losses per packet that comes to the link, as "
            "figure 5 (c) counts them",
            "0.0102",
            loss,
            why="in eq. 6 a loss rate p is per acknowledged packet, of which 0.0102 leaves "
            f"p/(1 + p) = {sent:.5f} per packet sent (at the window found). The paper does not "
            "tell the two apart",
        ),
        above("the loss rate at the link is a little above p0", P0, loss),
        *steady_link(link),
    ]
    claims.append(_halved(flow, window))
    note = (
        f"The window settles at {window / BDP:.3f} bandwidth-delay products. A queue of equal "
        f"packets, M/D/1/20, loses {loss:.5f} at a load of {load_of(loss):.3f}. The paper takes "
        "the load to be 1."
    )
    return Finding(
        claims,
        {"flow": flow, "link": link},
        dynamics(flow, link, "window", "cwnd (packets)", (12_020, 0.0102)),
        note,
    )


def _halved(flow: pl.DataFrame, settled: float) -> Claim:
    """Claim that the halving at the end of slow start leads to the right window (§V-A)."""
    window = flow["window"].to_numpy()
    fall = int(np.flatnonzero(window[1:] < 0.75 * window[:-1])[0]) + 1
    time = flow["time"].to_numpy()
    there = time[fall:][window[fall:] >= 0.99 * settled]
    return near(
        "§V-A: alone on its path the halving at the first loss brings the window to the "
        "bandwidth-delay product: the window after it",
        BDP,
        float(window[fall]),
        0.05,
        "packets",
        "slow start overshoots by less than twice, as its losses are found a round trip after the "
        f"20 packets of buffer are full: at {2 * window[fall]:,.0f} packets. The window is "
        f"within 1 % of its equilibrium {there[0] - time[fall]:.2f} s later"
        if len(there)
        else "",
        since='of the same product figure 5 says "close to"',
    )


@experiment("etcp/fig06", "utilisation of one connection against capacity, seven protocols")
def fig06(bench: Bench) -> Finding:
    """Reproduce figure 6 (§VI-B, "Link utilization"), by goodput and by throughput."""
    protocols = {**ETCP, **EVEN, **PEERS}
    frame = capacities(bench, protocols)
    table = {name: row(frame, name) for name in protocols}
    etcp = table["E-TCP"]
    apart = np.abs(etcp - table["E-TCP, even gaps"]).max(axis=0)
    claims = [
        above(
            "E-TCP: utilisation is high at every capacity and RTT, by §II the 88 % of M/M/1/20 at "
            "p0: the lowest, rounded",
            0.875,
            float(etcp.min()),
        ),
        SAME.claim(
            "E-TCP: utilisation is almost constant over all capacities and RTTs: max − min",
            float(np.ptp(etcp)),
            why="at capacities of 1 Gbps and more 20 packets lose p0 at the load of M/D/1/20; at "
            "smaller ones windows are a few packets or the loss rate is larger",
            says="almost constant",
        ),
        *(_falls(bench, name, table[name]) for name in PEERS),
        stated(
            "from 1 Gbps on E-TCP's utilisation is above that of each other protocol, at each RTT",
            "above",
            f"the others' highest {max(table[name][:, 4:].max() for name in PEERS):.2f}, "
            f"E-TCP's lowest {etcp[:, 4:].min():.2f}",
            all((etcp > table[name])[:, 4:].all() for name in PEERS),
        ),
        _similar(frame, protocols),
        SAME.claim(
            "exponential gaps have no obvious effect: the largest difference in utilisation from "
            "that with even gaps, over all capacities and RTTs",
            float(apart.max()),
            why=_gaps(bench, frame, apart),
            says="no obvious effect",
        ),
    ]
    note = (
        "Access links take a twentieth of the RTT each way, where the paper's take 5 ms at every "
        "RTT. Figure 20 has the rate law."
    )
    return Finding(
        claims, {"utilisation": frame}, curves(frame, protocols, by_throughput=True), note
    )


def _falls(bench: Bench, name: str, values: Floats) -> Claim:
    """Claim that utilisation falls, or stays, at each step of capacity from 1 Mbps on.

    Steps that rise are run again with five seeds, and count if their mean rises with 95 %
    confidence.
    """
    rises = [
        (rtt, step)
        for rtt in range(len(RTTS))
        for step in range(len(MEGABITS) - 1)
        if values[rtt, step + 1] > values[rtt, step] + FULL
    ]
    steps = len(RTTS) * (len(MEGABITS) - 1)
    found = [f"{steps - len(rises)} of {steps}"]
    verdicts = []
    for rtt, step in rises:
        before, after = (_again(bench, name, rtt, place) for place in (step, step + 1))
        verdicts.append(ranked("", ["before", "after"], [before, after]).holds)
        found.append(
            f"from {CAPACITIES[step]} to {CAPACITIES[step + 1]} at {RTTS[rtt]} "
            f"{interval(before)} becomes {interval(after)}"
        )
    holds = False if False in verdicts else (None if None in verdicts else True)
    return stated(
        f"{name}: utilisation falls as capacity grows, at each step from 100 kbps to 5 Gbps, "
        "RTT 50, 100, 200 ms (or stays within 0.001, as where the link is full)",
        f"{steps} of {steps}",
        "; ".join(found),
        holds,
        WHY_IT_RISES.get(name, "not known"),
    )


FULL = 0.001
# What was tried where a peer's utilisation rises with capacity.
WHY_IT_RISES = {
    "HSTCP": "so it does in ns-2.35, where departures fill 0.844 of 10 Mbps and 0.860 of 100 Mbps "
    "at an RTT of 200 ms (validation/dumbbell.tcl with proto=hstcp n=1 rtt=200 buf=20 dur=300 "
    "warm=75 ssmax=100 size=1040; seeds 1 to 3 are alike)",
    "FAST": "not known; FAST wants 1000 packets in a queue of 20 at every capacity, and at 100 "
    "kbps a round trip has less than one packet",
    "NewReno paced": "a window that has been halved takes W/2 round trips to grow back: at 1 Gbps "
    "and 50 ms 150 s, so that the 225 s that are measured hold one or two losses, and at 100 Mbps "
    "fourteen",
}


def _again(bench: Bench, name: str, rtt: int, place: int) -> list[float]:
    """Return the utilisation by goodput of five seeds."""
    point = scenario(bench, CAPACITIES[place], RTTS[rtt], [PEERS[name]], SECONDS)
    runs = bench.sweep(point, seeds=max(2, bench.seeds(5))).runs
    return [float(value) / (MEGABITS[place] * 1e6) for value in runs["goodput"]]


def _similar(frame: pl.DataFrame, protocols: dict[str, dict[str, Any]]) -> Claim:
    """Claim that utilisation by throughput shows the same order of protocols and shape."""
    goodput = np.array([row(frame, name) for name in protocols])
    throughput = np.array([row(frame, name, "utilisation") for name in protocols])
    apart = np.abs(throughput - goodput * 1.04)
    name, rtt, rate = np.unravel_index(int(apart.argmax()), apart.shape)
    return measured(
        "utilisation by throughput is similar: the largest difference from that by goodput, when "
        "headers, 40 of 1040 bytes, count in both",
        "similar",
        f"{apart.max():.3f} ({list(protocols)[name]}, {CAPACITIES[rate]}, {RTTS[rtt]}), "
        f"E-TCP at most {apart[0].max():.3f}",
        "the rest of what departs is payload that arrives twice",
    )


def _gaps(bench: Bench, frame: pl.DataFrame, apart: Floats) -> str:
    """Return what was tried to explain the effect of exponential gaps."""
    shown = ", ".join(
        f"{value:.3f} at {rate}" for rate, value in zip(CAPACITIES, apart, strict=True)
    )
    slow = {
        gaps: bench.sweep(
            scenario(bench, "100Mbps", "50ms", [{"cc": "etcp:b=100", **law}], SECONDS)
        ).runs
        for gaps, law in (("exponential", {}), ("even", {"pacing": "even"}))
    }
    swing = ", ".join(
        f"{runs['goodput'][0] / 1e8:.3f} with {gaps} gaps" for gaps, runs in slow.items()
    )
    losses = [row(frame, name, "loss_rate")[0, 3] for name in ("E-TCP", "E-TCP, even gaps")]
    return (
        f"the largest differences over the RTTs are {shown}. At 100 Mbps and 50 ms the links lose "
        f"{losses[0]:.4f} and {losses[1]:.4f} with exponential and even gaps: the same loss at "
        "different loads, as a queue of 20 packets is full less often if packets come evenly. "
        "With b = 100 instead of 25 windows swing less, and utilisation is " + swing
    )


def capacities(bench: Bench, protocols: dict[str, dict[str, Any]]) -> pl.DataFrame:
    """Return the utilisation by goodput of each protocol at each capacity and RTT."""
    by_rate = dict(zip(CAPACITIES, MEGABITS, strict=True))

    def at(protocol: str, rate: str, rtt: str) -> Scenario:
        return scenario(bench, rate, rtt, [protocols[protocol]], SECONDS)

    runs = bench.sweep(at, protocol=list(protocols), rate=CAPACITIES, rtt=RTTS).runs
    capacity = pl.col("rate").replace_strict(by_rate, return_dtype=pl.Float64)
    return runs.select(
        "protocol",
        "rtt",
        "utilisation",
        "loss_rate",
        capacity.alias("megabits"),
        (pl.col("goodput") / (capacity * 1e6)).alias("goodput_utilisation"),
    )


def row(frame: pl.DataFrame, protocol: str, column: str = "goodput_utilisation") -> Floats:
    """Return a protocol's utilisation: one row per RTT, one column per capacity."""
    rows = frame.filter(pl.col("protocol") == protocol).sort("megabits")
    return np.array([rows.filter(pl.col("rtt") == rtt)[column].to_numpy() for rtt in RTTS])


def curves(
    frame: pl.DataFrame, protocols: dict[str, dict[str, Any]], by_throughput: bool = False
) -> Any:
    """Draw utilisation against capacity, one panel per RTT, and a second row by throughput."""
    columns = {"goodput_utilisation": "utilisation by goodput"}
    if by_throughput:
        columns["utilisation"] = "utilisation by throughput"
    figure, axes = panels(len(columns), len(RTTS), width=3.6)
    for line, (column, label) in zip(axes, columns.items(), strict=True):
        for rtt, ax in zip(RTTS, line, strict=True):
            for name in protocols:
                rows = frame.filter((pl.col("protocol") == name) & (pl.col("rtt") == rtt))
                rows = rows.sort("megabits")
                ax.semilogx(rows["megabits"], rows[column], "o-", ms=3, lw=1, label=name)
            ax.set(xlabel="capacity (Mbps)", ylim=(0, 1.02), title=f"RTT {rtt[:-2]} ms")
        line[0].set_ylabel(label)
    figure.legend(
        *axes[0][0].get_legend_handles_labels(),
        loc="outside upper center",
        fontsize="x-small",
        ncols=7,
        frameon=False,
    )
    return figure


def dynamics(
    flow: pl.DataFrame,
    link: pl.DataFrame,
    column: str,
    label: str,
    says: tuple[float, float],
    who: str = SAYS,
) -> Any:
    """Draw the paper's three panels: window or rate, queue, loss rate per 10 ms and cumulative.

    What the paper says of the first and the last is in `says`; `who` says it otherwise.
    """
    figure, axes = panels(1, 3, width=3.6)
    axes[0][0].plot(flow["time"], flow[column], lw=0.6)
    axes[0][0].set(xlabel="time (s)", ylabel=label, ylim=(0, None))
    draw_band(axes[0][1], link, "queue", 100, "samples")
    axes[0][1].set(xlabel="time (s)", ylabel="queue (packets)")
    axes[0][1].legend(fontsize="x-small", loc="upper right")
    top = float(np.quantile(link["loss_rate"].to_numpy(), 0.995)) * 1.5
    draw_loss(axes[0][2], link, 100, "10 ms means", max(top, 2 * P0))
    level(axes[0][0], says[0], who)
    level(axes[0][2], says[1], who)
    return figure

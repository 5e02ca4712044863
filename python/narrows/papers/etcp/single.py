"""One connection, one bottleneck: figures 5, 6, 19, 20, 22, 23."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from narrows.papers.claims import Claim, above, below, near, stated
from narrows.papers.etcp.setup import (
    ETCP,
    EVEN,
    P0,
    PEERS,
    averaged,
    cumulative_loss,
    later,
    loss_of,
    mean,
    packets_a_second,
    scenario,
    with_rate,
)
from narrows.papers.lab import Lab, bottleneck
from narrows.papers.registry import Finding, experiment
from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.theory.response import etcp_loss, per_packet_sent

CAPACITIES = ["100kbps", "1Mbps", "10Mbps", "100Mbps", "1Gbps", "2.5Gbps", "5Gbps"]
MEGABITS = [0.1, 1.0, 10.0, 100.0, 1000.0, 2500.0, 5000.0]
RTTS = ["50ms", "100ms", "200ms"]
SECONDS = 300


@experiment("etcp/fig05", "one connection over 1 Gbps and 100 ms: window, queue, loss")
def fig05(lab: Lab) -> Finding:
    """Reproduce figure 5 (§VI-B, "System dynamics")."""
    result = lab.run(scenario(lab, "1Gbps", "100ms", [{"cc": "etcp"}], SECONDS, sample="10ms"))
    flow, link = result.series("flow_series"), bottleneck(result)
    bdp = packets_a_second(1000) * 0.1
    settled = later(link, 0.2)
    claims = [
        near(
            "the window stabilises close to the bandwidth-delay product",
            12_020,
            mean(later(flow, 0.2), "window"),
            0.05,
            "packets",
        ),
        near(
            "loss per packet sent, from eq. 5 at W = 12,020",
            float(per_packet_sent(etcp_loss(bdp))),
            loss_of(settled),
            0.02,
        ),
        near(
            "loss stabilises at p0 + 2/W",
            0.0102,
            loss_of(settled),
            0.02,
            why="eq. 5 counts losses per acknowledged packet",
        ),
        near(
            "the cumulative loss rate tends to p0 + 2/W",
            0.0102,
            float(cumulative_loss(settled)[-1]),
            0.02,
        ),
    ]
    note = (
        "The window settles at the load at which a link loses 1 % of evenly distributed arrivals, "
        "0.957, so W = 0.957 bandwidth-delay products. The paper takes the load to be 1."
    )
    return Finding(
        claims,
        {"flow": flow, "link": link},
        _dynamics(flow, link, "window", "cwnd (packets)"),
        note,
    )


@experiment("etcp/fig06", "utilisation of one connection against capacity, seven protocols")
def fig06(lab: Lab) -> Finding:
    """Reproduce figure 6 (§VI-B, "Link utilization"): receivers' goodput over the link's rate."""
    protocols = {**ETCP, **EVEN, **PEERS}
    frame = _capacities(lab, protocols)
    table = {name: _row(frame, name) for name in protocols}
    etcp = frame.filter((pl.col("protocol") == "E-TCP") & (pl.col("megabits") >= 10))
    claims = [
        above(
            "E-TCP: utilisation is high at any capacity from 10 Mbps on: the lowest",
            0.85,
            _least(etcp),
        ),
        below(
            "E-TCP: utilisation is nearly constant from 10 Mbps on: max − min", 0.08, _spread(etcp)
        ),
        *(_falls(name, table[name], table["E-TCP"]) for name in PEERS),
        below(
            "exponential gaps instead of even ones make no visible difference from 10 Mbps on: "
            "the largest difference in utilisation",
            0.02,
            float(np.abs(table["E-TCP"] - table["E-TCP, even gaps"])[:, 2:].max()),
            why="one flow with even gaps loses nothing until the link is full, so at 1 % loss it "
            "fills the link; with exponential gaps it loads the link to 0.96",
        ),
    ]
    note = (
        "The rate law's figure 20 is drawn from runs of the same kind. Access links take a "
        "twentieth of the RTT each way."
    )
    return Finding(claims, {"utilisation": frame}, _curves(frame, protocols), note)


@experiment("etcp/fig19", "the rate law: one connection over 1 Gbps and 100 ms")
def fig19(lab: Lab) -> Finding:
    """Reproduce figure 19 (§VII-C)."""
    result = lab.run(scenario(lab, "1Gbps", "100ms", [{"cc": "etcp-rate"}], SECONDS, sample="10ms"))
    flow, link = with_rate(result.series("flow_series")), bottleneck(result)
    claims = [
        near(
            "the sending rate stabilises close to 120,200 packets/s",
            120_200,
            mean(later(flow, 0.2), "rate"),
            0.05,
            "packets/s",
        ),
        above(
            "the loss rate is a little above p0, per acknowledged packet",
            P0,
            _per_acknowledged(loss_of(later(link, 0.2))),
        ),
        below(
            "and only a little above p0", 1.05 * P0, _per_acknowledged(loss_of(later(link, 0.2)))
        ),
    ]
    return Finding(
        claims,
        {"flow": flow, "link": link},
        _dynamics(flow, link, "rate", "sending rate (packets/s)"),
    )


@experiment("etcp/fig20", "utilisation of one connection against capacity, rate law and window law")
def fig20(lab: Lab) -> Finding:
    """Reproduce figure 20 (§VII-C)."""
    protocols: dict[str, dict[str, Any]] = {"rate": {"cc": "etcp-rate"}, "window": {"cc": "etcp"}}
    frame = _capacities(lab, protocols)
    rate, window = _row(frame, "rate"), _row(frame, "window")
    claims = [
        below(
            "small capacity (1 Mbps): utilisation of the rate law minus that of the window law, "
            "the largest difference",
            0.0,
            float((rate - window)[:, 1].max()),
        ),
        below(
            "large capacity (from 1 Gbps on): "
            "the largest difference between the two laws' utilisation",
            0.02,
            float(np.abs(rate - window)[:, 4:].max()),
        ),
    ]
    return Finding(claims, {"utilisation": frame}, _curves(frame, protocols))


@experiment("etcp/fig22", "the rate law over a buffer of a bandwidth-delay product")
def fig22(lab: Lab) -> Finding:
    """Reproduce figure 22 (§VIII-A): 1 Gbps, 100 ms, 12,000 packets of buffer, b = 1.25 buffers."""
    result = lab.run(_large_buffer(lab, "1Gbps", "100ms", 12_000, sample="10ms"))
    flow, link = with_rate(result.series("flow_series")), bottleneck(result)
    rate = averaged(flow["rate"], 10)
    end = later(link, 0.7)
    capacity = packets_a_second(1000)
    claims = [
        above(
            "big overshoot after slow start: the largest rate over the capacity",
            1.5,
            float(rate.max() / capacity),
        ),
        above(
            "burst of losses after slow start: loss rate of the worst second",
            0.1,
            float(averaged(link["loss_rate"], 100).max()),
        ),
        near(
            "the rate converges to the equilibrium",
            capacity,
            mean(later(flow, 0.7), "rate"),
            0.05,
            "packets/s",
        ),
        near(
            "the loss rate converges to p0 + 2/x",
            P0 + 2 / capacity,
            _per_acknowledged(loss_of(end)),
            0.1,
        ),
    ]
    return Finding(
        claims,
        {"flow": flow, "link": link},
        _dynamics(flow, link, "rate", "sending rate (packets/s)"),
    )


@experiment(
    "etcp/fig23", "the rate law over buffers of a bandwidth-delay product, against capacity"
)
def fig23(lab: Lab) -> Finding:
    """Reproduce figure 23 (§VIII-B): 10 Mbps to 1 Gbps, 100 and 200 ms, b = 1.25 buffers."""
    megabits, rtts = [10, 50, 100, 250, 500, 1000], [100, 200]

    def at(mbps: int, rtt: int) -> Scenario:
        return _large_buffer(
            lab, f"{mbps}Mbps", f"{rtt}ms", round(packets_a_second(mbps) * rtt / 1000)
        )

    runs = lab.sweep(at, mbps=megabits, rtt=rtts).runs
    frame = runs.select(
        "mbps",
        "rtt",
        "utilisation",
        (pl.col("goodput") / (pl.col("mbps") * 1e6)).alias("goodput_utilisation"),
    )
    full = frame["goodput_utilisation"].to_numpy() / frame["utilisation"].to_numpy() * 1.04
    large = (frame["mbps"] * frame["rtt"]).to_numpy() >= 100_000
    claims = [
        above(
            "the link is nearly full in all cases: the lowest utilisation",
            0.95,
            float(frame["utilisation"].to_numpy().min()),
        ),
        stated(
            "goodput falls behind at large buffers: payload delivered over payload carried",
            "lower at large than at small buffers",
            f"{full[large].mean():.3f} at large, {full[~large].mean():.3f} at small",
            bool(full[large].mean() < full[~large].mean()),
            "goodput here counts data when it first arrives, in order or not, as docs/metrics.md "
            "says; the paper counts what the application gets in order, which waits for the burst "
            "of packets lost in the overshoot. How far in-order delivery falls behind is "
            "therefore not shown",
        ),
    ]
    figure, axes = panels()
    for rtt in rtts:
        rows = frame.filter(pl.col("rtt") == rtt)
        size = 8 if rtt == rtts[0] else 4
        axes[0][0].plot(rows["mbps"], rows["utilisation"], "o-", ms=size, label=f"link, {rtt} ms")
        axes[0][0].plot(
            rows["mbps"], rows["goodput_utilisation"], "s--", ms=size, label=f"goodput, {rtt} ms"
        )
    axes[0][0].set(xlabel="capacity (Mbps)", ylabel="utilisation", ylim=(0, 1.05))
    axes[0][0].legend(fontsize="x-small")
    return Finding(claims, {"utilisation": frame}, figure)


def _large_buffer(lab: Lab, rate: str, rtt: str, buffer: int, sample: str = "0s") -> Scenario:
    flow = {"cc": f"etcp-rate:b={1.25 * buffer}"}
    return scenario(lab, rate, rtt, [flow], SECONDS, buffer=f"{buffer}p", sample=sample)


def _capacities(lab: Lab, protocols: dict[str, dict[str, Any]]) -> pl.DataFrame:
    """Return the utilisation by goodput of each protocol at each capacity and RTT."""
    by_rate = dict(zip(CAPACITIES, MEGABITS, strict=True))

    def at(protocol: str, rate: str, rtt: str) -> Scenario:
        return scenario(lab, rate, rtt, [protocols[protocol]], SECONDS)

    runs = lab.sweep(at, protocol=list(protocols), rate=CAPACITIES, rtt=RTTS).runs
    capacity = pl.col("rate").replace_strict(by_rate, return_dtype=pl.Float64)
    return runs.select(
        "protocol",
        "rtt",
        "utilisation",
        "loss_rate",
        capacity.alias("megabits"),
        (pl.col("goodput") / (capacity * 1e6)).alias("goodput_utilisation"),
    )


def _row(frame: pl.DataFrame, protocol: str) -> Any:
    """Return a protocol's utilisation by goodput: one row per RTT, one column per capacity."""
    rows = frame.filter(pl.col("protocol") == protocol).sort("megabits")
    return np.array(
        [rows.filter(pl.col("rtt") == rtt)["goodput_utilisation"].to_numpy() for rtt in RTTS]
    )


def _falls(name: str, values: Any, etcp: Any) -> Claim:
    """Claim that utilisation is lower at 5 Gbps than at 10 Mbps, and below E-TCP's at 5 Gbps."""
    falls = bool((values[:, -1] < values[:, 2]).all() and (values[:, -1] < etcp[:, -1]).all())
    shown = ", ".join(
        f"{before:.2f} to {after:.2f}"
        for before, after in zip(values[:, 2], values[:, -1], strict=True)
    )
    return stated(
        f"{name}: utilisation falls as capacity grows (10 Mbps to 5 Gbps, 50/100/200 ms), "
        "to below E-TCP's",
        "falls",
        shown,
        falls,
    )


def _least(frame: pl.DataFrame) -> float:
    return float(frame["goodput_utilisation"].to_numpy().min())


def _spread(frame: pl.DataFrame) -> float:
    return float(np.ptp(frame["goodput_utilisation"].to_numpy()))


def _curves(frame: pl.DataFrame, protocols: dict[str, dict[str, Any]]) -> Any:
    figure, axes = panels(1, len(RTTS), width=3.6)
    for rtt, ax in zip(RTTS, axes[0], strict=True):
        for name in protocols:
            rows = frame.filter((pl.col("protocol") == name) & (pl.col("rtt") == rtt)).sort(
                "megabits"
            )
            ax.semilogx(rows["megabits"], rows["goodput_utilisation"], "o-", ms=3, lw=1, label=name)
        ax.set(xlabel="capacity (Mbps)", ylim=(0, 1), title=f"RTT {rtt}")
    axes[0][0].set_ylabel("utilisation by goodput")
    axes[0][0].legend(fontsize="x-small")
    return figure


def _per_acknowledged(per_sent: float) -> float:
    return per_sent / (1 - per_sent)


def _dynamics(flow: pl.DataFrame, link: pl.DataFrame, column: str, label: str) -> Any:
    """Draw the paper's three panels: window or rate, queue, loss rate per 10 ms and cumulative."""
    figure, axes = panels(1, 3, width=3.6)
    axes[0][0].plot(flow["time"], flow[column], lw=0.6)
    axes[0][0].set(xlabel="time (s)", ylabel=label, ylim=(0, None))
    axes[0][1].plot(link["time"], link["queue"], lw=0.3)
    axes[0][1].set(xlabel="time (s)", ylabel="queue (packets)")
    axes[0][2].plot(link["time"], link["loss_rate"], lw=0.3, label="every 10 ms")
    axes[0][2].plot(link["time"], cumulative_loss(link), "k", lw=1, label="cumulative")
    top = float(np.quantile(link["loss_rate"].to_numpy(), 0.995)) * 1.5
    axes[0][2].set(xlabel="time (s)", ylabel="loss rate", ylim=(0, max(top, 2 * P0)))
    axes[0][2].legend(fontsize="x-small", loc="upper right")
    return figure

"""The rate law over buffers of a bandwidth-delay product: figures 22 and 23 (§VIII)."""

from __future__ import annotations

import polars as pl

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.sweeps import Sweep
from narrows_papers.bench import Bench, bottleneck
from narrows_papers.claims import above, near
from narrows_papers.etcp.setup import (
    P0,
    later,
    loss_of,
    mean,
    packets_a_second,
    per_acknowledged,
    scenario,
    steady,
    with_rate,
)
from narrows_papers.etcp.single import SECONDS, dynamics
from narrows_papers.readings import APART, SAME
from narrows_papers.registry import Finding, experiment
from narrows_papers.series import averaged

LARGE_MBPS = [10, 50, 100, 250, 500, 1000]
LARGE_RTTS = [100, 200]


@experiment("etcp/fig22", "the rate law over a buffer of a bandwidth-delay product")
def fig22(bench: Bench) -> Finding:
    """Reproduce figure 22 (§VIII-A): 1 Gbps, 100 ms, 12,000 packets of buffer, b = 1.25 buffers."""
    result = bench.run(large_buffer(bench, "1Gbps", "100ms", 12_000, sample="10ms"))
    flow, link = with_rate(result.series("flow_series")), bottleneck(result)
    rate = averaged(flow["rate"], 10)
    end = later(link, 0.7)
    capacity = packets_a_second(1000)
    claims = [
        above(
            "big overshoot after slow start: the largest rate over the capacity, in means of "
            "100 ms (slow start doubles, and goes on while losses are not known: at least twice)",
            2.0,
            float(rate.max() / capacity),
        ),
        above(
            "large number of losses after slow start: loss rate of the worst second (ten times p0)",
            0.1,
            float(averaged(link["loss_rate"], 100).max()),
        ),
        steady(
            "the system tends to a stable state after that: the rate of the last 90 s",
            later(flow, 0.7)["rate"],
        ),
        near(
            "the rate converges to the expected equilibrium: mean of the last 90 s",
            capacity,
            mean(later(flow, 0.7), "rate"),
            0.05,
            "packets/s",
            since='of figure 19 the paper says "close to"',
            by="1 Gbps over 1040 bytes, figure 19's 120,200",
        ),
        near(
            "the loss rate converges to the expected equilibrium, p0 + 2/x: losses per "
            "acknowledged packet of the last 90 s",
            P0 + 2 / capacity,
            per_acknowledged(loss_of(end)),
            0.05,
            since='of figure 19 the paper says "a little above" p0',
            by="eq. 11",
        ),
    ]
    return Finding(
        claims,
        {"flow": flow, "link": link},
        dynamics(flow, link, "rate", "sending rate (packets/s)", (120_200, P0), "as figure 19"),
    )


@experiment(
    "etcp/fig23", "the rate law over buffers of a bandwidth-delay product, against capacity"
)
def fig23(bench: Bench) -> Finding:
    """Reproduce figure 23 (§VIII-B): 10 Mbps to 1 Gbps, 100 and 200 ms, b = 1.25 buffers."""

    def at(mbps: int, rtt: int) -> Scenario:
        buffer = round(packets_a_second(mbps) * rtt / 1000)
        return large_buffer(bench, f"{mbps}Mbps", f"{rtt}ms", buffer, sample="1s")

    result = bench.sweep(at, mbps=LARGE_MBPS, rtt=LARGE_RTTS, series=True)
    frame = _whole_runs(result)
    shortfall = 1 - (frame["in_order"] / frame["payload"]).to_numpy()
    products = (frame["mbps"] * frame["rtt"]).to_numpy()
    large = products == products.max()
    small = products <= 10_000
    claims = [
        above(
            "the link is nearly full in all cases, from 75 s on: the lowest utilisation (20 "
            "packets carry 0.949, by M/D/1/20 at p0)",
            0.949,
            float(frame["utilisation"].to_numpy().min()),
        ),
        SAME.claim(
            "where capacity and buffer are not so large (up to 100 Mbps at 100 ms) the reliable "
            "mechanism works fine: share of the payload carried in the whole run that the "
            "application has not got in order, the largest",
            float(shortfall[small].max()),
            says="works fine",
        ),
        APART.claim(
            "at 1 Gbps and 200 ms, the largest buffer, it does not recover the losses of the "
            "overshoot in time: share of the payload carried in the whole run that the application "
            "has not got in order",
            float(shortfall[large].max()),
            why=_recovered(result),
            says="not in time",
        ),
    ]
    figure, axes = panels(1, len(LARGE_RTTS), width=3.8)
    for rtt, ax in zip(LARGE_RTTS, axes[0], strict=True):
        rows = frame.filter(pl.col("rtt") == rtt)
        ax.semilogx(rows["mbps"], rows["carried"], "o-", ms=4, label="link, whole run")
        ax.semilogx(rows["mbps"], rows["payload"], "^:", ms=7, label="payload carried")
        ax.semilogx(rows["mbps"], rows["in_order"], "s--", ms=4, label="goodput in order")
        ax.set(xlabel="capacity (Mbps)", ylabel="over capacity", ylim=(0.85, 1.0))
        ax.set_title(f"RTT {rtt} ms")
    axes[0][0].legend(fontsize="x-small", loc="lower left")
    note = (
        "Goodput is what the application has got in order (`in_order` of the flow's time series), "
        "over the whole run, from the first packet on; payload carried is what left the link, "
        "less headers."
    )
    return Finding(claims, {"utilisation": frame}, figure, note)


def _whole_runs(result: Sweep) -> pl.DataFrame:
    """Return shares of the capacity: of the measured window, and of the whole run."""
    link = result.series("link_series").filter(pl.col("link") == 0)
    carried = link.group_by("mbps", "rtt", maintain_order=True).agg(
        pl.col("utilisation").mean().alias("carried")
    )
    delivered = (
        result.series("flow_series")
        .group_by("mbps", "rtt", maintain_order=True)
        .agg(pl.col("in_order", "goodput").mean() / (pl.col("mbps").first() * 1e6))
    )
    runs = result.runs.select("mbps", "rtt", "utilisation")
    return (
        runs.join(carried, on=["mbps", "rtt"])
        .join(delivered, on=["mbps", "rtt"])
        .with_columns((pl.col("carried") * 1000 / 1040).alias("payload"))
    )


def _recovered(result: Sweep) -> str:
    """Return what became of the packets lost in the overshoot, at 1 Gbps and 200 ms."""
    where = (pl.col("mbps") == LARGE_MBPS[-1]) & (pl.col("rtt") == LARGE_RTTS[-1])
    flow = result.series("flow_series").filter(where)
    interval = float(flow["time"][1])
    waiting = (flow["goodput"].cum_sum() - flow["in_order"].cum_sum()).to_numpy() * interval / 8e6
    counts = result.flows.filter(where).row(0, named=True)
    return (
        "not known why theirs fell behind. Here the overshoot's losses are sent again as soon as "
        f"they are found: at most {waiting.max():.0f} MB that have arrived wait for a lost packet, "
        f"{float(flow['time'][int(waiting.argmax())]):.0f} s after the start, and "
        f"{waiting[-1]:.0f} MB at the end, what the link carries in "
        f"{waiting[-1] * 8 / LARGE_MBPS[-1]:.1f} s, or two round trips with a full queue. From "
        f"75 s on {counts['lost']:,} packets were found lost, {counts['retransmitted']:,} sent "
        f"again, and {counts['duplicates']} arrived twice"
    )


def large_buffer(bench: Bench, rate: str, rtt: str, buffer: int, sample: str = "0s") -> Scenario:
    """Describe the rate law over `buffer` packets, with b of 1.25 buffers (§VIII)."""
    flow = {"cc": f"etcp-rate:b={1.25 * buffer}"}
    return scenario(bench, rate, rtt, [flow], SECONDS, buffer=f"{buffer}p", sample=sample)

"""A slow start for large buffers that ends with the RTT's rise (§VIII: future work)."""

from __future__ import annotations

from typing import Any

import polars as pl

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows_papers.bench import Bench, bottleneck
from narrows_papers.claims import Claim, stated
from narrows_papers.etcp.setup import P0, packets_a_second, scenario, with_rate
from narrows_papers.registry import Finding, experiment
from narrows_papers.series import averaged

STARTS = {"first loss": "loss", "RTT's rise": "delay"}
MEGABITS, RTTS = [10, 100, 1000], [100, 200]
SECONDS = 60
# The rate is drawn and judged as a mean over this many samples of 10 ms.
SAMPLES = 10
PEAK = 1.2
# Seconds in which both starts have ended and the law has not yet filled the buffer.
BURST = 5
SETTINGS = "10 Mbps to 1 Gbps, 100 and 200 ms"


@experiment("etcp/start", "slow start that ends with the RTT's rise, over the buffers of figure 23")
def start(bench: Bench) -> Finding:
    """Try what §VIII leaves to future work, beside figures 22 and 23.

    The rate law with b = 1.25 buffers over buffers of a bandwidth-delay product: slow start ends
    with the first loss, as in the paper, or with the rise of the RTT along a short train that is
    sent ahead at twice the rate.
    """

    def at(ends: str, mbps: int, rtt_ms: int) -> Scenario:
        buffer = round(packets_a_second(mbps) * rtt_ms / 1000)
        flow = {"cc": f"etcp-rate:b={1.25 * buffer}:start={STARTS[ends]}"}
        return scenario(
            bench,
            f"{mbps}Mbps",
            f"{rtt_ms}ms",
            [flow],
            SECONDS,
            buffer=f"{buffer}p",
            sample="10ms",
            warmup=0.0,
        )

    sweep = bench.sweep(at, ends=list(STARTS), mbps=MEGABITS, rtt_ms=RTTS, series=True)
    flows, links = with_rate(sweep.series("flow_series")), bottleneck(sweep)
    runs = sweep.runs.with_columns((pl.col("goodput") / (pl.col("mbps") * 1e6)).alias("filled"))
    table = pl.DataFrame(
        [
            {
                "ends": ends,
                "mbps": mbps,
                "rtt_ms": rtt_ms,
                "peak": _peak(_of(flows, ends, mbps, rtt_ms), mbps),
                "drops": _burst(_of(links, ends, mbps, rtt_ms)),
                "filled": float(_of(runs, ends, mbps, rtt_ms)["filled"][0]),
            }
            for ends in STARTS
            for mbps in MEGABITS
            for rtt_ms in RTTS
        ]
    )
    note = (
        "The rule is ours (docs/laws/etcp.md). Once in a round trip a train of a sixteenth of the "
        "window leaves at twice the rate; the whole rate doubles if the train arrives at most 5 % "
        "slower than it was sent, and otherwise becomes what arrived. The equilibrium is taken as "
        "the capacity over 1 − p0. The first 20 s at 1 Gbps and 100 ms are drawn. "
        "With jitter or with buffers shorter than a train it ends too early: docs/laws/etcp.md."
    )
    data = {"table": table, "flows": flows, "links": links}
    return Finding(_claims(table), data, _figure(flows, links), note)


def _claims(table: pl.DataFrame) -> list[Claim]:
    loss, delay = (table.filter(pl.col("ends") == ends) for ends in STARTS)
    gains = delay["filled"].to_numpy() - loss["filled"].to_numpy()
    peaks = [frame["peak"].to_numpy() for frame in (loss, delay)]
    drops = [int(frame["drops"].sum()) for frame in (loss, delay)]
    return [
        stated(
            'slow start until the first loss ends in "a huge over shoot": largest rate, mean over '
            f"0.1 s, over the equilibrium, the smallest of {SETTINGS}",
            f'"huge" (here: above {PEAK})',
            f"{peaks[0].min():.3g}",
            bool(peaks[0].min() > PEAK),
        ),
        stated(
            '"the increasing round trip time may serve as an indication to help determine the '
            'correct time to finish the slow start phase": the same with a start that ends with '
            f"the RTT's rise, the largest of {SETTINGS}",
            f"not given (our aim: at most {PEAK})",
            f"{peaks[1].max():.3g}",
            bool(peaks[1].max() <= PEAK),
        ),
        stated(
            'a better slow start avoids "a large number packet losses": packets lost in the '
            f"first {BURST} s, all settings together",
            "fewer",
            f"{drops[1]:,} instead of {drops[0]:,}",
            drops[1] < drops[0],
        ),
        stated(
            f"and it is no slower: payload that arrived within the first {SECONDS} s, in any "
            f"order, over what the link could carry, the gain over the paper's start, {SETTINGS}",
            "not given (our bound: no loss above 0.005)",
            f"{gains.min():+.3f} to {gains.max():+.3f}",
            bool(gains.min() > -0.005),
        ),
    ]


def _of(frame: pl.DataFrame, ends: str, mbps: int, rtt_ms: int) -> pl.DataFrame:
    return frame.filter(
        (pl.col("ends") == ends) & (pl.col("mbps") == mbps) & (pl.col("rtt_ms") == rtt_ms)
    )


def _peak(flow: pl.DataFrame, mbps: int) -> float:
    """Return the largest rate over the one in equilibrium."""
    equilibrium = packets_a_second(mbps) / (1 - P0)
    return float(averaged(flow["rate"], SAMPLES).max() / equilibrium)


def _burst(link: pl.DataFrame) -> int:
    """Return the packets lost in the first seconds."""
    return int(link.filter(pl.col("time") <= BURST)["drops"].sum())


def _figure(flows: pl.DataFrame, links: pl.DataFrame) -> Any:
    figure, axes = panels(1, 3, width=3.6)
    rate, queue, loss = axes[0]
    for ends in STARTS:
        flow = _of(flows, ends, 1000, 100).filter(pl.col("time") <= 20)
        link = _of(links, ends, 1000, 100).filter(pl.col("time") <= 20)
        rate.plot(flow["time"], flow["rate"] / 1e3, lw=1, label=ends)
        queue.plot(link["time"], link["queue"], lw=1, label=ends)
        loss.plot(link["time"], link["drops"].cum_sum() / 1e6, lw=1, label=ends)
    rate.set(xlabel="time (s)", ylabel="rate (1000 packets/s)", ylim=(0, None))
    queue.set(xlabel="time (s)", ylabel="queue (packets)", ylim=(0, None))
    loss.set(xlabel="time (s)", ylabel="lost so far (million packets)", ylim=(0, None))
    rate.legend(fontsize="x-small", title="slow start ends with", title_fontsize="x-small")
    return figure

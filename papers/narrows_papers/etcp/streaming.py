"""Unreliable delivery, as for streams (§I, §III-B)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, ranked, stated
from narrows_papers.etcp.setup import PEERS, later, scenario, variation
from narrows_papers.registry import Finding, experiment
from narrows_papers.series import averaged

STREAMS = "E-TCP, unreliable"
SENDERS: dict[str, dict[str, Any]] = {
    STREAMS: {"cc": "etcp", "reliable": False},
    "E-TCP, reliable": {"cc": "etcp"},
    **{name: PEERS[name] for name in ("NewReno", "NewReno paced", "HSTCP")},
}
FLOWS, SEEDS, SECONDS = 10, 5, 100
# Rates are means over five samples of 200 ms, ten round trips.
SAMPLES = 5


@experiment("etcp/streaming", "unreliable delivery: how smooth the sending rate is")
def streaming(bench: Bench) -> Finding:
    """Send ten streams without reliability over 100 Mbps and 100 ms, and ten connections of others.

    §III-B: "E-TCP's congestion control algorithm does not exhibit sharp rate changes, which may
    make it suitable for applications like streaming that don't require reliability but do require
    a smooth sending rate."
    """

    def at(sender: str) -> Scenario:
        flow = {"count": FLOWS, **SENDERS[sender]}
        return scenario(bench, "100Mbps", "100ms", [flow], SECONDS, sample="200ms")

    sweep = bench.sweep(at, seeds=bench.seeds(SEEDS), sender=list(SENDERS), series=True)
    series = sweep.series("flow_series")
    changes = {name: _seeds(series, name) for name in SENDERS}
    others = [name for name in SENDERS if not name.startswith("E-TCP")]
    claims = [
        *(
            ranked(
                "the sending rate has no sharp changes: coefficient of variation of a "
                f"connection's rate over 1 s, mean of the {FLOWS} connections, {name}'s and "
                "E-TCP's",
                [name, STREAMS],
                [[rows["variation"] for rows in changes[sender]] for sender in (name, STREAMS)],
            )
            for name in others
        ),
        *(
            ranked(
                "the same by the largest fall of a connection's rate from one second to the next, "
                f"mean of the {FLOWS} connections, {name}'s and E-TCP's",
                [name, STREAMS],
                [[rows["fall"] for rows in changes[sender]] for sender in (name, STREAMS)],
            )
            for name in others
        ),
        _same(series),
        _delay(bench),
    ]
    table = pl.DataFrame(
        [{"sender": name} | rows for name, found in changes.items() for rows in found]
    )
    return Finding(claims, {"table": table}, _figure(series))


def _seeds(series: pl.DataFrame, sender: str) -> list[dict[str, float]]:
    """Return for each seed how much the connections' rates vary, and how far they fall."""
    rows = later(series.filter(pl.col("sender") == sender), 0.25)
    found = []
    for _, run in rows.group_by("seed", maintain_order=True):
        rates = [
            averaged(flow["throughput"], SAMPLES)
            for _, flow in run.group_by("flow", maintain_order=True)
        ]
        falls = [float((1 - rate[1:] / np.maximum(rate[:-1], 1.0)).max()) for rate in rates]
        found.append(
            {
                "variation": float(np.mean([variation(rate) for rate in rates])),
                "fall": float(np.mean(falls)),
            }
        )
    return found


def _same(series: pl.DataFrame) -> Claim:
    windows = [
        series.filter(pl.col("sender") == name).sort("seed", "flow", "time")["window"].to_numpy()
        for name in (STREAMS, "E-TCP, reliable")
    ]
    same = bool(np.array_equal(windows[0], windows[1], equal_nan=True))
    return stated(
        '"the transmission control protocol behaves the same whether or not reliable end-to-end '
        f'delivery is required" (§I): {len(windows[0]):,} samples of the congestion window',
        "the same",
        "the same in every digit" if same else "differ",
        same,
    )


def _delay(bench: Bench) -> Claim:
    """Judge the delay of a stream of 5 Mbps beside nine E-TCP connections that fill the link."""

    def at(reliable: bool) -> Scenario:
        stream = {
            "cc": "etcp",
            "app": {"rate": "5Mbps"},
            **({} if reliable else {"reliable": False}),
        }
        flows = [stream, {"cc": "etcp", "count": FLOWS - 1}]
        return scenario(bench, "100Mbps", "100ms", flows, 60)

    found = bench.sweep(at, seeds=bench.seeds(SEEDS), reliable=[True, False]).flows
    found = found.filter(pl.col("flow") == 0)
    longest = {
        name: [float(value) for value in found.filter(reliable=text)["max_packet_delay"]]
        for name, text in (("reliable", "True"), ("unreliable", "False"))
    }
    order = ranked(
        "a stream that does not require reliability need not wait for lost packets: longest delay "
        "of a packet in seconds, from the application that offers it to the one that gets it in "
        f"order, a stream of 5 Mbps beside {FLOWS - 1} E-TCP connections",
        list(longest),
        list(longest.values()),
    )
    return replace(order, paper="not given (here: longer if reliable)")


def _figure(series: pl.DataFrame) -> Any:
    shown = [STREAMS, "NewReno", "NewReno paced", "HSTCP"]
    figure, axes = panels(1, len(shown), width=3)
    first = int(series["seed"].to_numpy().min())
    for name, ax in zip(shown, axes[0], strict=True):
        rows = series.filter((pl.col("sender") == name) & (pl.col("seed") == first))
        for flow in range(3):
            one = rows.filter(pl.col("flow") == flow)
            rate = averaged(one["throughput"], SAMPLES) / 1e6
            ax.plot(averaged(one["time"], SAMPLES), rate, lw=0.8, label=f"connection {flow + 1}")
        ax.set(xlabel="time (s)", title=name)
    top = max(ax.get_ylim()[1] for ax in axes[0])
    for ax in axes[0]:
        ax.set_ylim(0, top)
    axes[0][0].set_ylabel("sending rate (Mbps)")
    axes[0][0].legend(fontsize="x-small")
    return figure

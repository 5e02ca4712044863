"""Several flows: figures 7 and 8."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.theory.response import ltcp_layer
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, near, stated
from narrows_papers.ltcp.setup import PACKET_BITS, PAYLOAD, RTT, flow_series, megabits, scenario
from narrows_papers.readings import SAME
from narrows_papers.registry import Finding, experiment

# When each of four flows begins and ends, in seconds.
COMINGS_AND_GOINGS = [(0, None), (150, 1400), (350, 1200), (550, 1000)]
END = 1600


@experiment("ltcp/fig07", "LTCP flows come and go")
def fig07(bench: Bench) -> Finding:
    """Reproduce figure 7 (§V-A-2): 1 Gbps, 70 ms, 6000 packets."""
    flows = []
    for start, stop in COMINGS_AND_GOINGS:
        flow = {"cc": "ltcp", "start": bench.seconds(start), "start_spread": "0s"}
        flows.append(flow if stop is None else flow | {"stop": bench.seconds(stop)})
    result = bench.run(scenario(bench, "1Gbps", flows, END, warmup=0, sample="1s"))
    times = sorted({time for pair in COMINGS_AND_GOINGS for time in pair if time} | {0, END})
    rate = np.array(
        [
            _smooth(flow_series(result, number)["goodput"].to_numpy() / 1e6, 10)
            for number in range(4)
        ]
    )
    time = flow_series(result, 0)["time"].to_numpy() / bench.scale
    model = _law_alone()
    # Means of 10 s within a phase; a flow that leaves is made up for within seconds.
    settled = [(time > begins + 15) & (time <= ends - 5) for begins, ends in pairwise(times)]
    total = rate.sum(axis=0)[np.any(settled, axis=0)]
    claims: list[Claim] = [
        near(
            "the link is fully utilised in every phase: the lowest total goodput of 10 s, from 10 "
            "s after it began",
            1000 * PAYLOAD,
            float(total.min()),
            SAME.bound,
            "Mbps",
            _filled(rate.sum(axis=0), time),
            since='"fully": a twentieth is what a figure shows',
            by="1000 of 1040 bytes at 1 Gbps",
        )
    ]
    for begins, ends in pairwise(times):
        here = [
            n
            for n, (start, stop) in enumerate(COMINGS_AND_GOINGS)
            if start <= begins and (stop is None or stop >= ends)
        ]
        if len(here) > 1:
            claims.append(_phase(rate[here], model[here], time, begins, ends))
    figure, axes = panels(1, 1, width=6.5)
    for number in range(4):
        axes[0][0].plot(time, rate[number], lw=0.8, label=f"flow {number + 1}")
    axes[0][0].set(xlabel="time (s)", ylabel="throughput (Mbps), means of 10 s", ylim=(0, 1000))
    axes[0][0].legend(fontsize="x-small")
    note = (
        "Shares are means from 25 to 5 s before the end of a phase. The law alone, in brackets, "
        "is a calculation: windows that grow by K per round trip and are all cut by 0.15 when the "
        "queue is full, without packets; a newcomer begins with one packet, and has no slow "
        "start. Its shares at the end are about as unequal, so that is the law's and not the "
        "simulator's."
    )
    return Finding(
        claims,
        {"flows": result.series("flow_series").select("time", "flow", "window", "goodput")},
        figure,
        note,
    )


def _filled(total: np.ndarray, time: np.ndarray) -> str:
    """Say how long the flow that stays takes to fill the link once the last other has stopped."""
    alone = COMINGS_AND_GOINGS[1][1] or END
    late = time[(time > alone) & (total < 0.99 * 1000 * PAYLOAD) & (time < END - 5)]
    spent = float(late.max()) - alone if len(late) else 0.0
    return (
        f"when the last other flow stops at {alone} s, the one that stays takes {spent:.0f} s to "
        "grow into what it left, in means of 10 s; every other phase is full"
    )


LAST = 20.0


def _phase(
    rate: np.ndarray, model: np.ndarray, time: np.ndarray, begins: float, ends: float
) -> Claim:
    """Claim that a phase comes to fair shares, and say when."""
    count = len(rate)
    end = (time > ends - LAST - 5) & (time <= ends - 5)
    share = rate[:, end].mean(axis=1)
    full = 1000 * PAYLOAD
    alone = model[:, int(ends * 10) - 1]
    alone = alone / alone.sum() * full
    inside = (time > begins) & (time <= ends - 5)
    off = np.abs(rate[:, inside] / rate[:, inside].mean(axis=0) - 1).max(axis=0)
    late = np.flatnonzero(off > FAIR)
    since = time[inside][late[-1]] - begins if len(late) else 0.0
    when = f", for good {since:.0f} s after the phase began" if since < ends - begins - 15 else ""
    return stated(
        f"{begins}-{ends} s, {count} flows: they quickly come to their fair shares and remain "
        "stable: goodput at the end of the phase, within 10 % of the mean (a window that gives up "
        "0.15 at a loss swings by 8 % about its mean)",
        f"not given ({full / count:.0f} Mbps each by fair shares)",
        " / ".join(f"{value:.0f}" for value in share)
        + " Mbps (the law alone "
        + " / ".join(f"{value:.0f}" for value in alone)
        + f"){when}",
        bool(np.abs(share / share.mean() - 1).max() <= FAIR),
        "the law is that slow: the calculation without packets is at least as unequal by then",
    )


FAIR = 0.1


def _law_alone() -> np.ndarray:
    """Return the windows of figure 7's flows ten times a second, by the law without packets.

    A flow that joins begins with one packet, and does not lose before the queue is full. All flows
    lose together, at most once per round trip.
    """
    bdp, queue = 1e9 * RTT / PACKET_BITS, 6000.0
    windows = np.zeros(4)
    found = np.zeros((4, END * 10))
    time, loss = 0.0, -1.0
    while time < END:
        on = np.array([start <= time < (stop or END) for start, stop in COMINGS_AND_GOINGS])
        windows = np.where(on, np.maximum(windows, 1.0), 0.0)
        rtt = RTT * max(1.0, windows.sum() / bdp)
        slot = int(time * 10)
        found[:, slot : int((time + rtt) * 10) + 1] = windows[:, None]
        if windows.sum() > bdp + queue and time > loss:
            one = ltcp_layer(windows) == 1
            windows = windows * np.where(one, 0.5, 0.85)
            loss = time + rtt
        windows = windows + np.where(on, ltcp_layer(windows), 0.0)
        time += rtt
    return found


def _smooth(values: np.ndarray, width: int) -> np.ndarray:
    ones = np.ones(width)
    sums = np.convolve(np.nan_to_num(values), ones, mode="same")
    return np.asarray(sums / np.convolve(np.ones(len(values)), ones, mode="same"))


CAPACITIES = ["100Mbps", "250Mbps", "500Mbps", "750Mbps", "1Gbps"]
MEGABITS = np.array([100.0, 250.0, 500.0, 750.0, 1000.0])


@experiment("ltcp/fig08", "ten TCP flows that join one LTCP flow")
def fig08(bench: Bench) -> Finding:
    """Reproduce figure 8 (§V-A-3): LTCP alone for 300 s, then ten TCP flows.

    "The throughput is calculated for the flows after another 300 seconds": 300 to 600 s after the
    TCP flows have started.
    """
    flows: list[dict[str, Any]] = [
        {"cc": "ltcp"},
        {"cc": "sack", "count": 10, "start": bench.seconds(300), "start_spread": "1s"},
    ]
    found = _tcps(bench, scenario(bench, "1Gbps", flows, 900, warmup=600))
    paper = {"500Mbps": 101.25, "1Gbps": 185.64}
    total = found["tcp"].to_numpy()
    share = total / MEGABITS
    claims = [
        near(
            f"{rate}: goodput of ten TCP flows together",
            number,
            float(found.filter(pl.col("rate") == rate)["tcp"][0]),
            0.05,
            "Mbps",
            since="300 s are few of TCP's cycles of some 100 s",
        )
        for rate, number in paper.items()
    ]
    claims += [
        stated(
            "the TCP flows' share of the capacity falls as capacity grows, 100 Mbps to 1 Gbps",
            "decreases (0.203 at 500 Mbps, 0.186 at 1 Gbps by the numbers above)",
            " > ".join(f"{value:.3f}" for value in share),
            bool((np.diff(share) < 0).all()),
        ),
        stated(
            "the total goodput of the TCP flows, in Mbps, rises as capacity grows, 100 Mbps to "
            "1 Gbps",
            "101 at 500 Mbps < 186 at 1 Gbps",
            " < ".join(f"{value:.0f}" for value in total),
            bool((np.diff(total) > 0).all()),
        ),
    ]
    figure, axes = panels(1, 1, width=5.5)
    axes[0][0].plot(MEGABITS, total, "o-", ms=3, label="ten TCP")
    axes[0][0].plot(MEGABITS, found["ltcp"], "s--", ms=3, label="LTCP")
    axes[0][0].plot([500, 1000], list(paper.values()), "kx", label="ten TCP, paper")
    axes[0][0].set(xlabel="capacity (Mbps)", ylabel="throughput (Mbps)", ylim=(0, None))
    axes[0][0].legend(fontsize="x-small")
    note = (
        "Buffers are 6000 packets at every capacity, as the paper says. It gives numbers for 500 "
        "Mbps and 1 Gbps and not the figure's other capacities; 100, 250 and 750 Mbps are ours. "
        'Throughput "is calculated for the flows after another 300 seconds": here from 300 to 600 '
        "s after TCP has started. Over the first 300 s after that ten TCP flows have "
        f"{_earlier(bench, flows)} Mbps at 500 Mbps and 1 Gbps."
    )
    return Finding(claims, {"rates": found}, figure, note)


def _earlier(bench: Bench, flows: list[dict[str, Any]]) -> str:
    """Say what ten TCP flows have together in the 300 s after they start."""
    found = _tcps(bench, scenario(bench, "1Gbps", flows, 600, warmup=300))
    of = dict(zip(found["rate"], found["tcp"], strict=True))
    return f"{of['500Mbps']:.1f} and {of['1Gbps']:.1f}"


def _tcps(bench: Bench, base: Scenario) -> pl.DataFrame:
    flows = bench.sweep(base, rate=CAPACITIES).flows
    of = flows.with_columns(
        pl.when(pl.col("cc") == "ltcp")
        .then(pl.lit("ltcp"))
        .otherwise(pl.lit("tcp"))
        .alias("protocol")
    )
    sums = of.group_by("rate", "protocol", maintain_order=True).agg(pl.col("goodput").sum())
    wide = sums.pivot(on="protocol", index="rate", values="goodput")
    return wide.with_columns(
        pl.col("tcp").map_elements(megabits, pl.Float64),
        pl.col("ltcp").map_elements(megabits, pl.Float64),
    )

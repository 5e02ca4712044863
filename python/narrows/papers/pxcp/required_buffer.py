"""The buffer that XCP needs, §4.2.1: figure 1."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from narrows.papers.claims import Claim, above, below, near, stated
from narrows.papers.lab import Lab
from narrows.papers.pxcp.setup import (
    CONSERVATIVE,
    FLOWS,
    ORIGINAL,
    PACKET_BITS,
    PAPER_BUFFERS,
    RATE,
    RULE_OF_THUMB,
    XCP,
    Sender,
    dumbbell,
    link_over_time,
    links,
    long_flows,
    share,
)
from narrows.papers.registry import Finding, experiment
from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.sweeps import Sweep

CASES = {
    "P. C.P.": Sender(XCP, paced=True, queue=CONSERVATIVE),
    "P. O.P.": Sender(XCP, paced=True, queue=ORIGINAL),
    "N.P. C.P.": Sender(XCP, paced=False, queue=CONSERVATIVE),
    "N.P. O.P.": Sender(XCP, paced=False, queue=ORIGINAL),
}


def runs(lab: Lab, cases: list[str], flows: list[int]) -> pl.DataFrame:
    """Run figure 1's scenarios and return the bottleneck's row of each run."""

    def at(case: str, flows: int) -> Scenario:
        sender = CASES[case]
        return dumbbell(lab, [long_flows(sender, flows)], sender.queue, RULE_OF_THUMB)

    frame = links(lab.sweep(at, case=cases, flows=flows))
    return frame.select("case", "flows", "max_queue_bytes", "utilisation", "drops")


def needed(lab: Lab, flows: list[int]) -> dict[int, int]:
    """Return the bytes that paced XCP with C.P. needs, by number of flows."""
    frame = runs(lab, ["P. C.P."], flows)
    return {count: int(share(frame, "max_queue_bytes", flows=count)) for count in flows}


@experiment(
    "pxcp/fig01a", "the longest queue of XCP against the number of flows, rule-of-thumb buffer"
)
def fig01a(lab: Lab) -> Finding:
    """Reproduce figure 1 (a) (§4.2.1): 2 to 800 long flows each way, 100 s."""
    frame = runs(lab, list(CASES), FLOWS)

    def at(case: str, flows: int) -> float:
        return share(frame, "max_queue_bytes", case=case, flows=flows)

    paced = [at("P. C.P.", flows) for flows in FLOWS]
    saved = [at("P. O.P.", flows) / at("P. C.P.", flows) for flows in FLOWS]
    appenzeller = RULE_OF_THUMB / np.sqrt(100)
    claims = [
        near(
            "longest queue of paced XCP with conservative parameters (C.P.), 100 flows",
            PAPER_BUFFERS[100],
            at("P. C.P.", 100),
            0.15,
            "bytes",
        ),
        near(
            "longest queue of paced XCP with C.P., 800 flows",
            PAPER_BUFFERS[800],
            at("P. C.P.", 800),
            0.15,
            "bytes",
            why=WHY_800,
        ),
        above(
            "100 flows: Appenzeller's 638 kB over the longest queue",
            20,
            float(appenzeller / at("P. C.P.", 100)),
        ),
        stated(
            "the longest queue of paced XCP with C.P., in bytes, grows with the number of flows",
            "grows at each step",
            _list(paced),
            all(a < b for a, b in pairwise(paced)),
        ),
        above(
            "paced XCP needs less with C.P. than with the original parameters (O.P.): smallest "
            "ratio of the queues, O.P. over C.P.",
            1,
            min(saved),
        ),
        near(
            "non-paced XCP with O.P. overruns the rule-of-thumb buffer with 2 flows: longest queue",
            RULE_OF_THUMB,
            at("N.P. O.P.", 2),
            0.001,
            "bytes",
        ),
        above(
            "and loses packets: number of drops",
            0,
            share(frame, "drops", case="N.P. O.P.", flows=2),
        ),
        below(
            "non-paced XCP with O.P. needs less with many flows: "
            "longest queue with 800 over that with 2",
            1,
            at("N.P. O.P.", 800) / at("N.P. O.P.", 2),
        ),
    ]
    figure, axes = panels(1, 1, width=6, height=3.4)
    for case in CASES:
        axes[0][0].loglog(FLOWS, [at(case, flows) for flows in FLOWS], "o-", ms=3, label=case)
    axes[0][0].loglog(
        list(PAPER_BUFFERS), list(PAPER_BUFFERS.values()), "kx", label="P. C.P., the paper's words"
    )
    axes[0][0].axhline(RULE_OF_THUMB, color="k", lw=0.5, ls="--")
    axes[0][0].set(xlabel="long flows each way", ylabel="longest queue (bytes)")
    axes[0][0].legend(fontsize="x-small")
    note = (
        "The longest queue is that of the measured 40 to 100 s; for paced XCP with C.P. it is that "
        "of the whole run, too (tried with 100 and 800 flows). The queue includes the packet in "
        "transmission, and acknowledgements of data that flows the other way."
    )
    return Finding(claims, {"queue": frame}, figure, note)


WHY_800 = (
    "not known: the authors' pacing and the XCP of ns-2.28 are not available. With whole packets "
    "in the header, as in ns-2, 800 flows swing as in figure 2 (b) and need a tenth more than with "
    "real-valued windows (48,560 bytes), not twice as much"
)


def _list(values: list[float]) -> str:
    return ", ".join(f"{value:.0f}" for value in values)


@experiment("pxcp/fig01b", "utilisation in the runs of figure 1 (a)")
def fig01b(lab: Lab) -> Finding:
    """Reproduce figure 1 (b) (§4.2.1)."""
    frame = runs(lab, list(CASES), FLOWS)
    found = {
        case: frame.filter(pl.col("case") == case).sort("flows")["utilisation"].to_numpy()
        for case in CASES
    }
    claims = [
        _about(
            "paced XCP with C.P.: utilisation is about 90 % at any number of flows",
            0.9,
            found["P. C.P."],
        ),
        _about("paced XCP with O.P.: utilisation is about 100 %", 1.0, found["P. O.P."]),
        below(
            "non-paced XCP with O.P.: utilisation is low with few flows: with 2 flows",
            0.9,
            float(found["N.P. O.P."][0]),
        ),
        below(
            "non-paced XCP is below paced XCP with up to 10 flows, O.P.: largest difference in "
            "utilisation, non-paced minus paced",
            0.0,
            float((found["N.P. O.P."] - found["P. O.P."])[:3].max()),
        ),
    ]
    figure, axes = panels(1, 1, width=6, height=3.4)
    for case, values in found.items():
        axes[0][0].semilogx(FLOWS, values, "o-", ms=3, label=case)
    axes[0][0].set(xlabel="long flows each way", ylabel="utilisation", ylim=(0, 1.02))
    axes[0][0].legend(fontsize="x-small")
    return Finding(claims, {"utilisation": frame}, figure)


def _about(text: str, paper: float, found: Any) -> Claim:
    worst = float(found[np.abs(found - paper).argmax()])
    return near(f"{text}: the value furthest off", paper, worst, 0.03)


@experiment("pxcp/fig01c-f", "two flows with O.P. over time, paced and non-paced")
def fig01c_f(lab: Lab) -> Finding:
    """Reproduce figures 1 (c) to (f) (§4.2.1): utilisation, and the window of one of two flows."""
    figure, axes = panels(2, 2, width=4.6, height=2.6)
    bursty, paced = (_two(lab, case) for case in ("N.P. O.P.", "P. O.P."))
    claims = [
        above("non-paced XCP loses many packets: drops at the bottleneck", 100, bursty.drops),
        above("and has timeouts: their number", 0, bursty.timeouts),
        above(
            "non-paced XCP is unstable: the window's coefficient of variation from 40 s on",
            0.2,
            bursty.variation,
        ),
        below(
            "paced XCP stays almost constant: the window's coefficient of variation from 40 s on",
            0.05,
            paced.variation,
        ),
        near(
            "paced XCP is at its share, half of the link's: mean window",
            RATE / 2 / PACKET_BITS * paced.rtt,
            paced.mean,
            0.1,
            "packets",
        ),
        below(
            "and soon: time after the second flow's start until the "
            "window stays within 10 % of its mean",
            10,
            paced.settled,
            "s",
        ),
        stated(
            "paced XCP loses nothing and has no timeouts: drops and timeouts",
            "0, 0",
            f"{paced.drops:.0f}, {paced.timeouts:.0f}",
            paced.drops + paced.timeouts == 0,
        ),
    ]
    data = {}
    for column, (case, seen) in enumerate((("N.P.", bursty), ("P.", paced))):
        clock, use = link_over_time(seen.result)
        window = seen.window
        axes[0][column].plot(clock, use, lw=0.5)
        axes[0][column].set(ylabel="utilisation", ylim=(0, 1.05), title=f"{case} XCP, O.P.")
        axes[1][column].plot(window["time"], window["window"], lw=0.6)
        axes[1][column].set(xlabel="time (s)", ylabel="cwnd (packets)", ylim=(0, None))
        data[case.replace(".", "").lower()] = window.select("time", "window", "rtt")
    return Finding(claims, data, figure)


@dataclass(frozen=True)
class _Two:
    """Two flows each way: the first one's window over time, and how steady it is."""

    result: Sweep
    window: pl.DataFrame
    drops: float
    timeouts: float
    variation: float
    mean: float
    rtt: float
    settled: float


def _two(lab: Lab, case: str) -> _Two:
    sender = CASES[case]
    result = lab.run(
        dumbbell(lab, [long_flows(sender, 2)], sender.queue, RULE_OF_THUMB, sample="100ms")
    )
    series = result.series("flow_series").filter(pl.col("flow") == 0)
    time, window = series["time"].to_numpy(), series["window"].to_numpy()
    late = window[time > 40 * lab.scale]
    begun = float(result.flows.filter(~pl.col("reverse"))["start"].to_numpy().max())
    outside = time[(np.abs(window / late.mean() - 1) > 0.1) & (time > begun)]
    return _Two(
        result,
        series,
        float(links(result)["drops"].item()),
        float(result.flows["timeouts"].sum()),
        float(late.std() / late.mean()),
        float(late.mean()),
        float(result.flows["mean_rtt"][0]),
        float(outside.max() - begun) if len(outside) else 0.0,
    )

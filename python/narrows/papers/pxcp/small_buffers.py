"""§4.2.2, all senders over the buffers that paced XCP needs: figure 2."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from narrows.papers.claims import Claim, above, below, near, stated
from narrows.papers.lab import Lab
from narrows.papers.pxcp.required_buffer import needed
from narrows.papers.pxcp.setup import (
    BURSTY_TCP,
    FLOWS,
    PACED_TCP,
    PAPER_BUFFERS,
    SENDERS,
    dumbbell,
    link_over_time,
    links,
    long_flows,
)
from narrows.papers.registry import Finding, experiment
from narrows.plot import panels
from narrows.scenario import Scenario

# With fewer flows, linear growth from 64 packets does not reach a flow's share of the link within the 40 s before the measurement.
REACHED = 20
FEW = 10


def run(lab: Lab, buffers: dict[int, int]) -> pl.DataFrame:
    """Run every sender at each number of flows with its buffer."""

    def at(sender: str, flows: int) -> Scenario:
        entry = SENDERS[sender]
        return dumbbell(lab, [long_flows(entry, flows)], entry.queue, buffers[flows])

    frame = links(lab.sweep(at, sender=list(SENDERS), flows=list(buffers)))
    return frame.select("sender", "flows", "utilisation", "loss_rate")


def column(frame: pl.DataFrame, sender: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A sender's utilisation by flows."""
    return frame.filter(pl.col("sender") == sender).sort("flows")["utilisation"].to_numpy()


@experiment("pxcp/fig02a", "utilisation of eight senders with the buffers that paced XCP needs")
def fig02a(lab: Lab) -> Finding:
    """§4.2.2, figure 2 (a): the buffers of figure 1 (a) as narrows measures them, and again as the paper words them."""
    measured = needed(lab, FLOWS)
    ours, theirs = run(lab, measured), run(lab, PAPER_BUFFERS)
    counts = np.array(FLOWS)
    claims = [
        *_claims("buffers measured", ours, counts, counts >= REACHED),
        *_claims(
            "the paper's buffers", theirs, np.array(list(PAPER_BUFFERS)), np.array([True, True])
        ),
        below(
            f"N.P. TCP is very low at few flows: the most up to {FEW} flows, buffers measured",
            0.3,
            max(column(ours, name)[counts <= FEW].max() for name in BURSTY_TCP),
        ),
    ]
    figure, axes = panels(1, 2, width=5, height=3.6)
    for ax, frame, where in (
        (axes[0][0], ours, "buffers as measured in figure 1 (a)"),
        (axes[0][1], theirs, "the paper's buffers"),
    ):
        for name, entry in SENDERS.items():
            shown = frame.filter(pl.col("sender") == name).sort("flows")
            ax.semilogx(
                shown["flows"],
                shown["utilisation"],
                "o-" if entry.paced else "s--",
                ms=3,
                label=name,
            )
        ax.set(xlabel="long flows each way", ylabel="utilisation", ylim=(0, 1), title=where)
    axes[0][0].legend(fontsize="xx-small", ncols=2)
    words = ", ".join(f"{flows}: {size}" for flows, size in measured.items())
    note = (
        f"Buffers measured, in bytes by flows: {words}. The paper words only two of its own: 23,360 at 100 flows and 124,040 at 800. "
        f"Paced TCP is judged from {REACHED} flows on: a window that grows by a packet a round trip from 64 packets needs 40 s for "
        "its share of the link among fewer."
    )
    return Finding(claims, {"measured": ours, "paper": theirs}, figure, note)


def _claims(
    where: str, frame: pl.DataFrame, counts: np.ndarray[Any, Any], judged: np.ndarray[Any, Any]
) -> list[Claim]:
    mean = {name: float(column(frame, name)[judged].mean()) for name in SENDERS}
    xcp = column(frame, "P. XCP")
    order = ["P. XCP", "P. NewReno", "P. HSTCP", "P. Reno"]
    bursty = ["N.P. HSTCP", "N.P. NewReno", "N.P. Reno"]
    least = min((float(column(frame, name)[judged].min()), name) for name in PACED_TCP)
    at_800 = {
        name: float(column(frame, name)[counts == counts.max()].item()) for name in BURSTY_TCP
    }
    return [
        near(
            f"{where}: P. XCP about 90 %, the one furthest off",
            0.9,
            float(xcp[np.abs(xcp - 0.9).argmax()]),
            0.03,
        ),
        above(f"{where}: every P. TCP over 80 %, the least ({least[1]})", 0.8, least[0]),
        _order(f"{where}: the order of the paced, on average", order, mean),
        below(
            f"{where}: P. HSTCP marginally below P. NewReno: apart by",
            0.05,
            abs(mean["P. NewReno"] - mean["P. HSTCP"]),
        ),
        above(
            f"{where}: N.P. TCP over 90 % at 800 flows, the least",
            0.9,
            min(at_800.values()),
            why=SMALLER,
        ),
        _order(f"{where}: the order of the others, on average", bursty, mean),
    ]


SMALLER = "narrows measures less than half of the 124,040 bytes that the paper gives 800 flows; with those it holds"


def _order(text: str, names: list[str], values: dict[str, float]) -> Claim:
    ranked = sorted(names, key=lambda name: -values[name])
    found = " > ".join(f"{name} {values[name]:.3f}" for name in ranked)
    return stated(text, " > ".join(names), found, ranked == names)


@experiment("pxcp/fig02b", "the first 40 s of the paced senders")
def fig02b(lab: Lab) -> Finding:
    """§4.2.2, figure 2 (b): 40 flows, and P. XCP with 800; buffers as measured in figure 1 (a)."""
    buffers = needed(lab, [40, 800])
    shown = {f"{name}, 40": (name, 40) for name in ("P. XCP", *PACED_TCP)} | {
        "P. XCP, 800": ("P. XCP", 800)
    }
    seen = {}
    for label, (name, flows) in shown.items():
        entry = SENDERS[name]
        scenario = dumbbell(
            lab,
            [long_flows(entry, flows)],
            entry.queue,
            buffers[flows],
            seconds=40,
            warmup=0,
            sample="100ms",
        )
        seen[label] = link_over_time(lab.run(scenario))
    full = {
        label: _first(time, use, 0.95 * float(use[time > 0.5 * time[-1]].max()))
        for label, (time, use) in seen.items()
    }
    swing = {
        label: float(np.std(use[time > 0.5 * time[-1]])) for label, (time, use) in seen.items()
    }
    clock, many = seen["P. XCP, 800"]
    early, late = (
        float(np.std(many[(clock > a * lab.scale) & (clock < b * lab.scale)]))
        for a, b in ((11, 15), (20, 40))
    )
    claims = [
        stated(
            "P. XCP is first at its target, then P. HSTCP, then P. NewReno and P. Reno: seconds to 95 % of the most",
            "XCP < HSTCP < NewReno, Reno",
            ", ".join(f"{label} {full[label]:.1f} s" for label in shown),
            full["P. XCP, 40"]
            < full["P. HSTCP, 40"]
            < min(full["P. NewReno, 40"], full["P. Reno, 40"]),
        ),
        above(
            "P. TCP is saw-toothed: standard deviation of utilisation over that of P. XCP, the least",
            3,
            min(swing[f"{name}, 40"] for name in PACED_TCP) / swing["P. XCP, 40"],
        ),
        above(
            "800 flows: steady for 15 s, then oscillating: standard deviation from 20 s on over that from 11 to 15 s",
            1.5,
            late / early,
        ),
        below(
            "under the link rate: the most of it in 100 ms",
            1.0,
            float(many[clock > 0.5 * clock[-1]].max()),
        ),
    ]
    figure, axes = panels(2, 2, width=4.6, height=2.4)
    for ax, labels in zip(
        axes.flat,
        (["P. XCP, 40"], ["P. HSTCP, 40", "P. NewReno, 40"], ["P. Reno, 40"], ["P. XCP, 800"]),
        strict=True,
    ):
        for label in labels:
            ax.plot(*seen[label], lw=0.6, label=label)
        ax.set(xlabel="time (s)", ylabel="utilisation", ylim=(0, 1.05))
        ax.legend(fontsize="x-small", loc="lower right")
    data = pl.concat(
        [
            pl.DataFrame({"sender": label, "time": time, "utilisation": use})
            for label, (time, use) in seen.items()
        ]
    )
    return Finding(claims, {"utilisation": data}, figure)


def _first(time: np.ndarray[Any, Any], use: np.ndarray[Any, Any], level: float) -> float:
    """When a mean over half a second first reaches a level."""
    smooth = np.convolve(use, np.ones(5) / 5, mode="same")
    return float(time[np.argmax(smooth >= level)])

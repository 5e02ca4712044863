"""H-TCP at high speed: figures 9, 10, 12 and 13."""

from __future__ import annotations

import numpy as np
import polars as pl

from narrows.papers.claims import above, below, near, stated
from narrows.papers.htcp.setup import PACKET_BITS, events, scenario, windows
from narrows.papers.lab import Lab, bottleneck
from narrows.papers.registry import Finding, experiment
from narrows.plot import panels
from narrows.theory import aimd
from narrows.theory.response import highspeed, htcp, square_root

RTT = 0.1
FIXED = "htcp:adaptive=false:beta=0.5"


@experiment(
    "htcp/fig09", "peak window against the length of a congestion epoch, and the response function"
)
def fig09(lab: Lab) -> Finding:
    """Reproduce figure 9: eqs. 16, 17 and 24 with β = 0.5 and an RTT of 100 ms.

    The paper claims "a response function similar to that of HS-TCP".
    """
    span = np.geomspace(0.5, 300, 60)
    peak_tcp = 2 * span / RTT
    x = np.maximum(span - 1, 0)
    peak = 2 * (span + 5 * x**2 + x**3 / 12) / RTT
    rates = ["10Mbps", "100Mbps", "500Mbps", "1Gbps", "2.5Gbps"]
    rows = [(rate, *_epoch(lab, rate)) for rate in rates]
    seen = pl.DataFrame(rows, schema=["rate", "epoch_s", "peak", "expected"], orient="row")
    off = float((seen["peak"] / seen["expected"] - 1).abs().to_numpy().max())
    p = np.logspace(-7, -3, 9)
    slope = float(np.polyfit(np.log(p), np.log(htcp(p, RTT)), 1)[0])
    ratio = htcp(p, RTT) / highspeed(p)
    claims = [
        below(
            "simulated peak windows against the closed form at the epoch's length: "
            "largest relative difference",
            0.1,
            off,
        ),
        near(
            "response function like HSTCP's: exponent of p from 1e-7 to 1e-3", -0.835, slope, 0.15
        ),
        stated(
            "and windows like HSTCP's: H-TCP's over HSTCP's",
            "similar",
            f"{ratio.min():.2f} to {ratio.max():.2f}",
            bool(ratio.min() > 0.4 and ratio.max() < 2.5),
            "the increase of eq. 17 grows with time and that of HSTCP with the window, "
            "so the two cross",
        ),
        stated(
            "a large window takes seconds with H-TCP and minutes with TCP: "
            "length of an epoch with a peak of 10,000 packets",
            "far shorter",
            f"{np.interp(1e4, peak, span):.0f} s, TCP's {1e4 * RTT / 2:.0f} s",
            bool(np.interp(1e4, peak, span) < 0.1 * 1e4 * RTT / 2),
        ),
    ]
    figure, axes = panels(1, 2)
    axes[0][0].loglog(peak, span, label="H-TCP")
    axes[0][0].loglog(peak_tcp, span, "--", label="standard TCP")
    axes[0][0].loglog(seen["peak"], seen["epoch_s"], "ko", ms=4, label="H-TCP, simulated")
    axes[0][0].set(xlabel="peak window (packets)", ylabel="duration of an epoch (s)")
    axes[0][1].loglog(p, htcp(p, RTT), label="H-TCP, 100 ms")
    axes[0][1].loglog(p, highspeed(p), label="HSTCP")
    axes[0][1].loglog(p, square_root(p), "--", label="standard TCP")
    axes[0][1].set(xlabel="loss rate p", ylabel="mean window (packets)")
    for ax in axes[0]:
        ax.legend(fontsize="x-small")
    curves = pl.DataFrame({"epoch_s": span, "htcp": peak, "tcp": peak_tcp})
    return Finding(
        claims,
        {"simulated": seen, "curves": curves},
        figure,
        "Similar is taken to mean within a factor of 2.5 over four decades of p.",
    )


def _epoch(lab: Lab, rate: str) -> tuple[float, float, float]:
    """Run one H-TCP flow.

    Return the mean length of its epochs, its mean peak window, and the closed form's peak at that
    length.
    """
    result = lab.run(scenario(lab, rate, 50, [{"cc": FIXED}], 300))
    time, window = windows(result, 1)
    when, before, _ = events(window, time, 1.0)
    late = when > 0.25 * 300 * lab.scale
    length = float(np.diff(when[late]).mean())
    x = max(length - 1, 0)
    return (
        length,
        float(before[late][1:].mean()),
        2 * (length + 5 * x**2 + x**3 / 12) / (RTT + 25 * PACKET_BITS / _bps(rate)),
    )


def _bps(rate: str) -> float:
    return (
        float(rate.removesuffix("Mbps")) * 1e6
        if rate.endswith("Mbps")
        else float(rate.removesuffix("Gbps")) * 1e9
    )


@experiment("htcp/fig10", "two H-TCP flows become fair in about four congestion epochs")
def fig10(lab: Lab) -> Finding:
    """Reproduce figure 10: 500 Mbps, 100 ms, 500 packets, β = 0.5."""
    start = 60
    result = lab.run(
        scenario(
            lab,
            "500Mbps",
            500,
            [{"cc": FIXED}, {"cc": FIXED, "start": lab.seconds(start), "max_ssthresh": 100}],
            200,
        )
    )
    time, window = windows(result, 2)
    when, before, _ = events(window, time, 1.0)
    later = before[when > start * lab.scale + 0.5]
    index = later.sum(axis=1) ** 2 / (2 * (later**2).sum(axis=1))
    gap = np.abs(later[:, 0] - later[:, 1]) / later.sum(axis=1)
    reached = np.flatnonzero(gap <= 0.05 + 1e-9)
    fair = int(reached[0]) if len(reached) else 10**6
    claims = [
        near(
            "congestion epochs until 5 % of the difference is left",
            aimd.rise_time([1, 1], [0.5, 0.5]),
            fair,
            0.5,
            "epochs",
        ),
        above(
            "and fair from then on: lowest value of Jain's index of the windows",
            0.95,
            float(index[fair:].min()) if fair < len(index) else 0.0,
        ),
    ]
    figure, axes = panels(1, 1, width=6)
    for number in range(2):
        axes[0][0].plot(time, window[number], lw=0.8, label=f"flow {number + 1}")
    axes[0][0].set(xlabel="time (s)", ylabel="cwnd (packets)", ylim=(0, None))
    axes[0][0].legend(fontsize="x-small")
    note = (
        "The second flow starts with limited slow start (100 packets), so that it does not begin "
        "with a burst of losses of its own."
    )
    return Finding(
        claims,
        {"events": pl.DataFrame({"time": when, "first": before[:, 0], "second": before[:, 1]})},
        figure,
        note,
    )


# A quarter of a bandwidth-delay product of 6250 packets: the smallest queue with which β = 0.8
# keeps the link busy (eq. 9), far less than β = 0.5 needs.
SMALL = 1600


@experiment("htcp/fig12", "a back-off of one half over a small queue leaves the link idle")
def fig12(lab: Lab) -> Finding:
    """Reproduce figure 12: two flows, 500 Mbps, 100 ms; the paper does not give the queue."""
    use, idle, figure, data = _two(lab, FIXED)
    bdp = 500e6 * RTT / PACKET_BITS
    claims = [
        below(
            "lowest utilisation over a round trip after a back-off, mean over back-offs", 0.75, idle
        ),
        near("this utilisation is β(1 + queue/BDP)", 0.5 * (1 + SMALL / bdp), idle, 0.15),
        below("the link is under-utilised: mean utilisation", 0.97, use),
    ]
    return Finding(claims, {"link": data}, figure)


@experiment("htcp/fig13", "an adaptive back-off over a small queue keeps the link busy")
def fig13(lab: Lab) -> Finding:
    """Reproduce figure 13: as figure 12, with β = RTT_min/RTT_max within [0.5, 0.8]."""
    use, idle, figure, data = _two(lab, "htcp")
    fixed, fixed_idle, _, _ = _two(lab, FIXED)
    claims = [
        near(
            "lowest utilisation over a round trip after a back-off is β(1 + queue/BDP) with β at "
            "its bound of 0.8, at most 1",
            1.0,
            idle,
            0.1,
        ),
        above(
            "utilisation after a back-off: more than with a back-off of one half", fixed_idle, idle
        ),
        above("mean utilisation: more than with a back-off of one half", fixed, use),
        above("the link is kept busy: mean utilisation", 0.98, use),
    ]
    note = (
        "The queue is a sixtieth of a bandwidth-delay product; the bound of 0.8 (§3.4, comment 1) "
        "is what keeps the link from staying full."
    )
    return Finding(claims, {"link": data}, figure, note)


def _two(lab: Lab, cc: str) -> tuple[float, float, object, pl.DataFrame]:
    """Run two flows.

    Return the utilisation after the start, the mean of the lowest utilisation after each back-off,
    a figure, and the link's series.
    """
    result = lab.run(
        scenario(lab, "500Mbps", SMALL, [{"cc": cc}, {"cc": cc, "start": lab.seconds(1)}], 200)
    )
    time, window = windows(result, 2)
    link = bottleneck(result)
    # Links are not sampled at time 0.
    clock, busy = link["time"].to_numpy(), link["utilisation"].to_numpy()
    smooth = np.convolve(busy, np.ones(10) / 10, mode="same")
    settled = 60 * lab.scale
    when, _, drops = events(window, time, 1.0)
    after = [
        smooth[(clock > at + 1.5 * RTT) & (clock < at + 6 * RTT)].min()
        for at in when[drops.all(axis=1) & (when > settled) & (when < time[-1] - 1)]
    ]
    figure, axes = panels(2, 1, width=6, height=1.9)
    for number in range(2):
        axes[0][0].plot(time, window[number], lw=0.8)
    axes[0][0].set(ylabel="cwnd (packets)", ylim=(0, None))
    axes[1][0].plot(clock, smooth, lw=0.6)
    axes[1][0].set(xlabel="time (s)", ylabel="utilisation", ylim=(0, 1.05))
    use = float(busy[clock > settled].mean())
    return (
        use,
        float(np.mean(after)) if after else use,
        figure,
        link.select("time", "queue", "utilisation"),
    )

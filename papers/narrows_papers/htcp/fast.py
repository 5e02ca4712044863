"""H-TCP at high speed: figures 9, 10, 12 and 13."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from narrows.plot import panels
from narrows.theory.response import highspeed, htcp, square_root
from narrows.types import Floats
from narrows_papers.bench import Bench, bottleneck
from narrows_papers.claims import measured, near, stated
from narrows_papers.htcp.setup import (
    ABOUT_FOUR,
    PACKET_BITS,
    epochs_until,
    epochs_until_fair,
    events,
    scenario,
    windows,
)
from narrows_papers.readings import APART, FULL, MUCH_LESS, SAME
from narrows_papers.registry import Finding, experiment

RTT = 0.1
FIXED = "htcp:adaptive=false:beta=0.5"


@experiment(
    "htcp/fig09", "peak window against the length of a congestion epoch, and the response function"
)
def fig09(bench: Bench) -> Finding:
    """Reproduce figure 9: eqs. 16, 17 and 24 with β = 0.5 and an RTT of 100 ms.

    The paper claims "a response function similar to that of HS-TCP".
    """
    span = np.geomspace(0.5, 300, 60)
    peak_tcp = 2 * span / RTT
    x = np.maximum(span - 1, 0)
    peak = 2 * (span + 5 * x**2 + x**3 / 12) / RTT
    rates = ["10Mbps", "100Mbps", "500Mbps", "800Mbps", "1Gbps", "2.5Gbps"]
    rows = [(rate, *_epoch(bench, rate)) for rate in rates]
    seen = pl.DataFrame(rows, schema=["rate", "epoch_s", "peak", "expected"], orient="row")
    off = float((seen["peak"] / seen["expected"] - 1).abs().to_numpy().max())
    p = np.logspace(-7, -3, 9)
    slope = float(np.polyfit(np.log(p), np.log(htcp(p, RTT)), 1)[0])
    ratio = htcp(p, RTT) / highspeed(p)
    _, length, reached, _ = next(row for row in rows if row[0] == "800Mbps")
    claims = [
        SAME.claim(
            "simulated peak windows against the closed form at the epoch's length (eqs. 16, 17, "
            "24): largest relative difference",
            off,
            says="on the curve",
        ),
        stated(
            "the response function is similar to HSTCP's: exponent of p from 1e-7 to 1e-3, and the "
            "window over HSTCP's",
            "similar (HSTCP's exponent: -0.835)",
            f"{slope:.3f}, {ratio.min():.2f} to {ratio.max():.2f}",
            None,
            'the paper does not say what is "similar". The increase of eq. 17 grows with time and '
            "that of HSTCP with the window, so the two cross",
        ),
        MUCH_LESS.claim(
            "a large window takes seconds with H-TCP and minutes with TCP: length of an epoch "
            f"simulated with a peak of {reached:,.0f} packets, over TCP's, which is half the peak "
            f"in round trips, {reached * RTT / 2:.0f} s",
            length / (reached * RTT / 2),
            says="not given",
        ),
    ]
    figure = _draw_fig09(span, peak_tcp, peak, seen, p)
    curves = pl.DataFrame({"epoch_s": span, "htcp": peak, "tcp": peak_tcp})
    lengths = ", ".join(f"{row[1]:.1f} s to {row[2]:,.0f} packets" for row in rows)
    note = (
        f"Simulated epochs with 50 packets of queue: {lengths}. Packets are spaced: "
        f"{_unspaced(bench)}."
    )
    return Finding(claims, {"simulated": seen, "curves": curves}, figure, note)


def _draw_fig09(span: Floats, peak_tcp: Floats, peak: Any, seen: pl.DataFrame, p: Floats) -> Figure:
    """Draw the figure of htcp/fig09."""
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
    return figure


def _unspaced(bench: Bench) -> str:
    """Say what a flow does whose packets are not spaced."""
    peaks = [(rate, _epoch(bench, rate, pacing="none")) for rate in ("500Mbps", "1Gbps", "2.5Gbps")]
    return "unless they are, the flow's own bursts overflow the queue at " + ", ".join(
        f"{peak:,.0f} packets at {rate.removesuffix('bps')}bps" for rate, (_, peak, _) in peaks
    )


def _epoch(bench: Bench, rate: str, pacing: str = "even") -> tuple[float, float, float]:
    """Run one H-TCP flow, whose packets are spaced unless told otherwise.

    Return the mean length of its epochs, its mean peak window, and the closed form's peak at that
    length.
    """
    result = bench.run(scenario(bench, rate, 50, [{"cc": FIXED, "pacing": pacing}], 300))
    time, window = windows(result, 1)
    when, before, _ = events(window, time, 1.0)
    late = when > 0.25 * 300 * bench.scale
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


# When the second flow starts; the paper does not say.
STARTS = [60 + 1.3 * number for number in range(5)]


@experiment("htcp/fig10", "two H-TCP flows become fair in about four congestion epochs")
def fig10(bench: Bench) -> Finding:
    """Reproduce figure 10: 500 Mbps, 100 ms, 500 packets, β = 0.5."""
    runs = [_second(bench, start * bench.scale) for start in STARTS]
    gaps = [_gap(before) for _, _, _, before in runs]
    epochs = [epochs_until_fair(before) for _, _, _, before in runs]
    by_difference = float(np.median([epochs_until(before, 0.5) for _, _, _, before in runs]))
    falls = [float((gap[3] / gap[0]) ** (1 / 3)) if len(gap) > 3 else 1.0 for gap in gaps]
    claims = [
        near(
            "the difference of the windows is multiplied in each congestion epoch by the second "
            "eigenvalue, β = 0.5: mean over the first three epochs of five starts",
            0.5,
            float(np.mean(falls)),
            0.05,
            since="in the round trip of a drop a flow gains up to 90 of 3000 packets",
            by="§2 (ii)",
        ),
        near(
            "congestion epochs until 5 % of the first difference of the windows is left (95 % of "
            "the final state, §2 (ii)), median of five starts",
            4,
            by_difference,
            0.125,
            "epochs",
            since=ABOUT_FOUR,
            why="the second flow's slow start leaves it a part of its share, so that the first "
            "difference is smaller than from windows of 0 and all: until they stay within 5 % of "
            f"their mean it takes {float(np.median(epochs)):.2f} epochs",
        ),
    ]
    figure, axes = panels(1, 1, width=6)
    time, window, when, before = runs[0]
    for number, start in enumerate((0, STARTS[0] * bench.scale)):
        there = time >= start
        axes[0][0].plot(time[there], window[number][there], lw=0.8, label=f"flow {number + 1}")
    axes[0][0].set(xlabel="time (s)", ylabel="cwnd (packets)", ylim=(0, None))
    axes[0][0].legend(fontsize="x-small")
    note = (
        "The second flow starts with limited slow start (100 packets), so that it does not begin "
        "with a burst of losses of its own, at five moments 1.3 s apart, of which the figure shows "
        f"the first. Until 5 % of the first difference is left it takes {by_difference:.2f} "
        "epochs, by the matrix 4.32."
    )
    return Finding(
        claims,
        {"events": pl.DataFrame({"time": when, "first": before[:, 0], "second": before[:, 1]})},
        figure,
        note,
    )


def _second(bench: Bench, start: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Run two flows, the second from `start` on.

    Return times and windows, and times and windows of the congestion events after the start.
    """
    late = {"cc": FIXED, "start": f"{start:.6f}s", "max_ssthresh": 100}
    result = bench.run(scenario(bench, "500Mbps", 500, [{"cc": FIXED}, late], 160))
    time, window = windows(result, 2)
    when, before, _ = events(window, time, 1.0)
    later = when > start + 0.5
    return time, window, when[later], before[later]


def _gap(before: Floats) -> Floats:
    """Return the difference of two windows over their sum, at each congestion event."""
    return np.asarray(np.abs(before[:, 0] - before[:, 1]) / before.sum(axis=1))


# The paper does not give the queue of figures 12 and 13: the smallest of ours is 0.016 of a
# bandwidth-delay product of 6250 packets, the next is figure 10's, and 1600 packets are the least
# that β = 0.8 keeps busy (eq. 9).
QUEUES = [100, 500, 1600]
BDP = 500e6 * RTT / PACKET_BITS


@dataclass(frozen=True)
class Link:
    """What two flows make of a link: its utilisation, and what is left of it after a back-off."""

    time: Floats
    window: Floats
    clock: Floats
    utilisation: Floats
    use: float
    before: float
    after: float
    joint: float
    emptied: float
    least: float
    beta: float

    @classmethod
    def of(cls, bench: Bench, cc: str, queue: int, pacing: str = "none") -> Link:
        """Run two flows of 500 Mbps and 100 ms; the first minute is not measured."""
        flow = {"cc": cc, "pacing": pacing}
        flows = [flow, {**flow, "start": bench.seconds(1)}]
        result = bench.run(scenario(bench, "500Mbps", queue, flows, 200))
        time, window = windows(result, 2)
        link = bottleneck(result)
        # Links are not sampled at time 0.
        clock, busy = link["time"].to_numpy(), link["utilisation"].to_numpy()
        length = link["queue"].to_numpy()
        smooth = np.convolve(busy, np.ones(10) / 10, mode="same")
        settled = 60 * bench.scale
        when, _, drops = events(window, time, 1.0)
        kept = (when > settled) & (when < time[-1] - 1)
        before, after, least = [], [], []
        for at in when[kept]:
            late = (clock > at + 1.5 * RTT) & (clock < at + 6 * RTT)
            early = (clock > at - 1.5 * RTT) & (clock < at - 0.5 * RTT)
            before.append(float(smooth[early].max()))
            after.append(float(smooth[late].min()))
            least.append(float(length[late].min()))
        beta = result.series("law_series").filter(
            (pl.col("name") == "beta") & (pl.col("time") > settled)
        )
        use = float(busy[clock > settled].mean())
        return cls(
            time,
            window,
            clock,
            smooth,
            use,
            float(np.mean(before)) if before else use,
            float(np.mean(after)) if after else use,
            float(drops[kept].all(axis=1).mean()) if kept.any() else 0.0,
            float((length[clock > settled] == 0).mean()),
            float(np.mean(least)) if least else 0.0,
            float(np.median(beta["value"].to_numpy())),
        )


def _expected(beta: float, queue: int) -> float:
    """Return the utilisation after a back-off to β, when the queue has emptied (eqs. 7, 8)."""
    return min(1.0, beta * (1 + queue / BDP))


@experiment("htcp/fig12", "a back-off of one half over a small queue leaves the link idle")
def fig12(bench: Bench) -> Finding:
    """Reproduce figure 12: two flows, 500 Mbps, 100 ms; the paper does not give the queue."""
    links = {queue: Link.of(bench, FIXED, queue) for queue in QUEUES}
    claims = []
    for queue, link in links.items():
        claims += [
            measured(
                f"{queue} packets of queue: lowest utilisation over a round trip after a back-off, "
                "mean over all congestion events",
                f"not given ({_expected(0.5, queue):.3f} by eqs. 7, 8)",
                f"{link.after:.3f}",
                why=_spaced(bench, queue, link),
            ),
            APART.claim(
                f"{queue} packets of queue: the queue is empty for a significant period of time: "
                "share of the time",
                link.emptied,
                says="a significant period",
            ),
        ]
    return Finding(claims, {"queues": _table(links)}, _drawn(links), _note(links))


def _spaced(bench: Bench, queue: int, link: Link) -> str:
    """Say how full the link is before events, and what spaced packets change."""
    spaced = Link.of(bench, FIXED, queue, "even")

    def of(seen: Link) -> str:
        return (
            f"{seen.joint:.0%} of the events are drops of both flows, the utilisation is "
            f"{seen.before:.2f} before and {seen.after:.3f} after them"
        )

    return f"{of(link)}; with packets spaced, so that no burst overflows the queue, {of(spaced)}"


@experiment("htcp/fig13", "an adaptive back-off over a small queue keeps the link busy")
def fig13(bench: Bench) -> Finding:
    """Reproduce figure 13: as figure 12, with β = RTT_min/RTT_max within [0.5, 0.8]."""
    links = {queue: Link.of(bench, "htcp", queue) for queue in QUEUES}
    claims = []
    for queue, link in links.items():
        why = ""
        if _expected(0.8, queue) < 1:
            free = Link.of(bench, "htcp:beta_max=0.99", queue)
            why = (
                "§3.4, comment 1, bounds β by 0.8, and eq. 9 asks for "
                f"{BDP / (BDP + queue):.3f}. With a bound of 0.99 β is {free.beta:.3f} and the "
                f"utilisation {free.use:.3f}"
            )
            if not FULL.holds(free.use):
                still = Link.of(bench, "htcp:beta_max=0.99:reset=inf", queue)
                why += (
                    f"; without the reset of β, too, it is {still.use:.3f}, and what else keeps it "
                    "low is not known"
                )
        claims.append(
            FULL.claim(
                f"{queue} packets of queue: the link remains operating at capacity: mean "
                "utilisation",
                link.use,
                why=why,
                says="at capacity",
            )
        )
    last = links[QUEUES[-1]]
    claims.append(
        SAME.claim(
            f"{QUEUES[-1]} packets of queue, the only one for which β is not bounded: the buffer "
            "just empties: its shortest length after a back-off over its size, mean over all "
            "congestion events",
            last.least / QUEUES[-1],
            says="just empties",
        )
    )
    return Finding(claims, {"queues": _table(links)}, _drawn(links), _note(links))


def _table(links: dict[int, Link]) -> pl.DataFrame:
    rows = [(queue, link.use, link.after, link.emptied, link.beta) for queue, link in links.items()]
    return pl.DataFrame(
        rows, schema=["queue", "utilisation", "after_backoff", "emptied", "beta"], orient="row"
    )


def _note(links: dict[int, Link]) -> str:
    measured = ", ".join(f"{link.use:.3f} with {queue}" for queue, link in links.items())
    return (
        f"The bandwidth-delay product is {BDP:.0f} packets; the paper does not give the queue. "
        f"Mean utilisation: {measured} packets of queue."
    )


def _drawn(links: dict[int, Link]) -> Any:
    figure, axes = panels(2, len(links), width=3.2, height=1.9)
    for column, (queue, link) in enumerate(links.items()):
        top, bottom = axes[0][column], axes[1][column]
        for number in range(2):
            top.plot(link.time, link.window[number], lw=0.8, label=f"flow {number + 1}")
        top.set(ylim=(0, 9000))
        top.set_title(f"{queue} packets of queue", fontsize="small")
        # At the end the mean over a round trip lacks half of it.
        bottom.plot(link.clock[:-10], link.utilisation[:-10], lw=0.6, color="k")
        bottom.set(xlabel="time (s)", ylim=(0, 1.05))
    axes[0][0].set_ylabel("cwnd (packets)")
    axes[1][0].set_ylabel("utilisation")
    axes[0][0].legend(fontsize="x-small", ncols=2, loc="upper right")
    return figure

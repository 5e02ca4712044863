"""Synchronised AIMD sources and their matrix (§2); figures 2 and 3."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.theory import aimd
from narrows.types import Floats
from narrows_papers.bench import Bench, bottleneck
from narrows_papers.claims import Claim, below, interval, near, stated
from narrows_papers.htcp.setup import ABOUT_FOUR, epochs_until, events, scenario, windows
from narrows_papers.readings import ROUNDING
from narrows_papers.registry import Finding, experiment

RATE = 10e6
RTT = 0.1
QUEUE = 40
PACKET_BITS = 8000
BETA = 0.5
SAMPLE = 0.01


@experiment("htcp/sec2", "the matrix of synchronised AIMD sources")
def sec2(bench: Bench) -> Finding:
    """Check eqs. 1 to 6, theorem 2.1 and its corollary over random networks; no simulation."""
    random = np.random.default_rng(1)
    rows = []
    for _ in range(max(20, round(500 * bench.scale))):
        n = int(random.integers(2, 12))
        alpha, beta = random.uniform(0.1, 20, n), random.uniform(0.05, 0.95, n)
        values = aimd.eigenvalues(alpha, beta)
        shares = aimd.perron_vector(alpha, beta)
        moved = float(np.abs(aimd.matrix(alpha, beta) @ shares - shares).max())
        inside = bool(beta.min() - 1e-9 <= values[1:].min() and values[1] <= beta.max() + 1e-9)
        interlaced = bool(np.sort(beta)[-2] - 1e-9 <= values[1] <= beta.max() + 1e-9)
        fair = _leading(aimd.matrix(2 * (1 - beta), beta))
        epoch, pipe = _epoch(alpha, beta, random.uniform(20, 60, n) * alpha / (1 - beta))
        rows.append(
            (
                n,
                float(values[0]),
                float(values[1]),
                moved,
                inside,
                interlaced,
                float(np.ptp(fair)),
                epoch,
                pipe,
            )
        )
    found = pl.DataFrame(
        rows,
        schema=[
            "sources",
            "first",
            "second",
            "moved",
            "inside",
            "interlaced",
            "unfair",
            "epoch",
            "pipe",
        ],
        orient="row",
    )
    rise = aimd.rise_time([1.0, 1.0], [BETA, BETA])
    printed = float(np.log(0.95) / np.log(BETA))
    claims = _claims_of_sec2(found, rise, printed)
    figure = _draw_sec2()
    return Finding(
        claims,
        {"networks": found},
        figure,
        "500 random networks of 2 to 11 sources. "
        "The figure shows α = 2(1 − β) with β = 0.5 and 0.75.",
    )


def _claims_of_sec2(found: pl.DataFrame, rise: float, printed: float) -> list[Claim]:
    """Return the claims of htcp/sec2, with their verdicts."""
    return [
        ROUNDING.claim(
            "windows stepped round trip by round trip through an epoch (eqs. 1, 2), against the "
            "matrix (eqs. 4 to 6): the largest relative difference",
            float(found["epoch"].to_numpy().max()),
            says="none",
        ),
        ROUNDING.claim(
            "the epoch's length in round trips, stepped, against eq. 3: "
            "the largest relative difference",
            float(found["pipe"].to_numpy().max()),
            says="none",
        ),
        ROUNDING.claim(
            "the Perron vector is α_i/(1 − β_i) (theorem 2.1): the largest change of a share when "
            "multiplied by A",
            float(found["moved"].to_numpy().max()),
            says="none",
        ),
        ROUNDING.claim(
            "the eigenvalue of the Perron vector is 1: the largest difference from 1",
            float(np.abs(found["first"].to_numpy() - 1).max()),
            says="none",
        ),
        stated(
            "all other eigenvalues lie in [β_1, β_n]",
            "all",
            f"{int(found['inside'].sum())} of {len(found)} networks",
            bool(found["inside"].all()),
        ),
        stated(
            "the second eigenvalue lies in [β_(n−1), β_n]",
            "all",
            f"{int(found['interlaced'].sum())} of {len(found)} networks",
            bool(found["interlaced"].all()),
        ),
        *_claims_of_shares(found, rise, printed),
    ]


def _claims_of_shares(found: pl.DataFrame, rise: float, printed: float) -> list[Claim]:
    """Return the claims of htcp/sec2 on fairness and how soon it comes."""
    return [
        ROUNDING.claim(
            "α = 2(1 − β) is fair: the largest difference of two shares of the Perron vector, "
            "which is found numerically",
            float(found["unfair"].to_numpy().max()),
            says="none",
        ),
        near(
            "rise time at β = 0.5, from log(0.05)/log λ",
            4,
            rise,
            0.125,
            "epochs",
            since=ABOUT_FOUR,
        ),
        near(
            "rise time at β = 0.5, from the formula as printed, log(0.95)/log λ",
            4,
            printed,
            0.125,
            "epochs",
            since=ABOUT_FOUR,
            why="95 % of the way is covered when 5 % are left: the formula means log(0.05)",
        ),
    ]


def _draw_sec2() -> Figure:
    """Draw the figure of htcp/sec2."""
    figure, axes = panels()
    windows_of = aimd.evolve([1, 0.5], [0.5, 0.75], [100, 20], 12)
    for values, label in zip(windows_of.T, ("α = 1, β = 0.5", "α = 0.5, β = 0.75"), strict=True):
        axes[0][0].plot(values, "o-", ms=3, label=label)
    axes[0][0].legend(fontsize="x-small")
    axes[0][0].set(
        xlabel="congestion epoch", ylabel="window at congestion (packets)", ylim=(0, None)
    )
    return figure


def _leading(matrix: Floats) -> Floats:
    """Return the eigenvector of the largest eigenvalue, found numerically, with the sum 1."""
    values, vectors = np.linalg.eig(matrix)
    vector = vectors[:, values.real.argmax()].real
    return np.asarray(vector / vector.sum())


def _epoch(alpha: Floats, beta: Floats, windows: Floats) -> tuple[float, float]:
    """Step sources from one congestion event to the next, and compare with eqs. 3 and 4.

    After the back-off each source adds α_i in each round trip, in fifths of one, until the pipe
    is full; a round trip later it learns of the drop.

    Returns
    -------
    windows, length
        Largest relative differences from eq. 4 and eq. 3.
    """
    full = windows.sum() - alpha.sum()  # P, by eq. 1.
    reached, rounds = beta * windows, 0.0
    while full - reached.sum() > 1e-12 * full:
        step = min(0.2, (full - reached.sum()) / alpha.sum())
        reached, rounds = reached + step * alpha, rounds + step
    reached, rounds = reached + alpha, rounds + 1.0
    expected = aimd.matrix(alpha, beta) @ windows
    length = (full - (beta * windows).sum()) / alpha.sum() + 1.0
    return float(np.abs(reached / expected - 1).max()), abs(rounds / length - 1)


# α and β of the second source; the first has 1 and 0.5. §2 wants α ≥ 1, which with α = 2(1 − β)
# means β ≤ 0.5; the last pair is beyond that, as are H-TCP's own when its back-off adapts.
PAIRS = [(1.25, 0.375), (1.5, 0.25), (1.9, 0.05), (0.5, 0.75)]
# When the second source starts; the paper does not say.
STARTS = [30 + 0.9 * number for number in range(10)]
EQUAL = "a source's gain in the round trip of a drop is up to 2 of 80 packets"


@dataclass(frozen=True)
class Pair:
    """What two AIMD sources do over the starts of the second one."""

    time: Floats
    window: Floats
    ratios: list[float]
    joint: float
    epochs: float

    @classmethod
    def of(cls, bench: Bench, alpha: float, beta: float, scale: float = 1.0, pipe: int = 1) -> Pair:
        """Run both sources from each of the starts.

        With `scale` times their α, over a link that is `pipe` times as fast and has `pipe` times
        the queue, for as many epochs.
        """
        seconds, ratios, joint, epochs = 200 * pipe / scale, [], [], []
        for start in STARTS:
            # The model's sources have no slow start, so that of the second source is limited to
            # growth by one packet per round trip.
            flows: list[dict[str, Any]] = [
                {"cc": f"aimd:alpha={scale:g}:beta={BETA}"},
                {
                    "cc": f"aimd:alpha={scale * alpha:g}:beta={beta:g}",
                    "start": bench.seconds(start),
                    "max_ssthresh": 2,
                },
            ]
            result = bench.run(scenario(bench, f"{10 * pipe}Mbps", QUEUE * pipe, flows, seconds))
            time, window = windows(result, 2)
            when, before, drops = events(window, time, 2 * RTT)
            late = when > 0.5 * seconds * bench.scale
            mean = before[late].mean(axis=0)
            ratios.append(float(mean[1] / mean[0]))
            joint.append(float(drops[late].all(axis=1).mean()))
            epochs.append(
                epochs_until(before[when > start * bench.scale], float(mean[1] / mean.sum()))
            )
        return cls(time, window, ratios, float(np.mean(joint)), float(np.median(epochs)))


@experiment("htcp/fig02", "two AIMD sources with different parameters, α = 2(1 − β)")
def fig02(bench: Bench) -> Finding:
    """Reproduce figure 2: 10 Mbps, 100 ms, 40 packets.

    The first source has α = 1 and β = 0.5, the second starts later; the paper does not give its
    parameters.
    """
    pairs = {pair: Pair.of(bench, *pair) for pair in PAIRS}
    why = {pair: _why(bench, pair, found) for pair, found in pairs.items()}
    claims = []
    for (alpha, beta), pair in pairs.items():
        rise = aimd.rise_time([1.0, alpha], [BETA, beta])
        source = f"second source with α = {alpha:g}, β = {beta:g}"
        claims += [
            near(
                f"{source}: equal windows at congestion, the second source's over the first's, "
                f"mean over {len(STARTS)} starts",
                1.0,
                float(np.mean(pair.ratios)),
                0.025,
                since=EQUAL,
                why=why[alpha, beta],
            ),
            near(
                f"{source}: drops are synchronised, share of events at which both sources see one",
                1.0,
                pair.joint,
                0.02,
                since="assumption (i) of §2 says every source",
                why=why[alpha, beta],
            ),
            near(
                f"{source}: congestion epochs until 5 % of "
                "the distance from its share is left, median over the starts",
                rise,
                pair.epochs,
                0.05,
                "epochs",
                since="gains of 2 of 80 packets at either end",
                by="§2 (ii)",
                why=why[alpha, beta],
            ),
        ]
    figure = _draw_fig02(bench, pairs)
    data = pl.DataFrame(
        [
            (alpha, beta, pair.joint, pair.epochs, *pair.ratios)
            for (alpha, beta), pair in pairs.items()
        ],
        schema=["alpha", "beta", "joint", "epochs", *(f"ratio_{n}" for n in range(len(STARTS)))],
        orient="row",
    )
    note = (
        "§2 wants α ≥ 1, so that with α = 2(1 − β) no β is above 0.5; the pair with β = 0.75 is "
        "beyond that, but so is H-TCP when its back-off adapts. The figure shows the last of "
        f"{len(STARTS)} starts of the second source, 0.9 s apart."
    )
    return Finding(claims, {"pairs": data}, figure, note)


def _draw_fig02(bench: Bench, pairs: dict[tuple[float, float], Pair]) -> Figure:
    """Draw the figure of htcp/fig02."""
    figure, axes = panels(2, 1, width=6, height=2)
    for ax, (alpha, beta) in zip(axes[:, 0], (PAIRS[1], PAIRS[-1]), strict=True):
        shown = pairs[alpha, beta]
        ax.plot(shown.time, shown.window[0], lw=0.8, label="α = 1, β = 0.5")
        there = shown.time >= STARTS[-1] * bench.scale
        label = f"α = {alpha:g}, β = {beta:g}"
        ax.plot(shown.time[there], shown.window[1][there], lw=0.8, label=label)
        ax.set(ylabel="cwnd (packets)", ylim=(0, 190))
        ax.legend(fontsize="x-small", ncols=2, loc="upper right")
    axes[1][0].set_xlabel("time (s)")
    return figure


def _why(bench: Bench, pair: tuple[float, float], found: Pair) -> str:
    """Say what larger pipes do to a pair, in which a round trip's gain is a smaller share."""
    scale = 1 if found.joint > 0.98 else 2
    large = Pair.of(bench, *pair, scale=scale, pipe=4)
    seen = (
        f"over a link four times as fast with four times the queue the ratio is "
        f"{interval(large.ratios)}, {large.joint:.0%} of the events are drops of both sources, and "
        f"it takes {large.epochs:.2f} epochs"
    )
    if scale == 1:
        return seen
    return (
        f"only {found.joint:.0%} of these events are drops of both sources, and the matrix is that "
        f"of sources that see each drop. With twice the α of both, so that more packets are lost "
        f"at an event, {seen}"
    )


@experiment("htcp/fig03", "one AIMD flow: throughput before and after back-off")
def fig03(bench: Bench) -> Finding:
    """Reproduce figure 3 (§2 (iii), eqs. 7, 8): α = 1, β = 0.5 on 10 Mbps, 100 ms, 40 packets."""
    scenario = Scenario(
        tcp="ns2",
        duration=bench.seconds(100),
        warmup="0s",
        sample=f"{SAMPLE}s",
        dumbbell={"rate": "10Mbps", "rtt": "100ms", "buffer": f"{QUEUE}p"},
        flows=[{"cc": "sack", "start_spread": "0s", "max_ssthresh": 0}],
    )
    result = bench.run(scenario)
    flow, link = result.series("flow_series"), bottleneck(result)
    window, time = flow["window"].to_numpy(), flow["time"].to_numpy()
    rate = _over_a_round_trip(link["utilisation"].to_numpy()) * RATE / 1e6
    queue = link["queue"].to_numpy()
    backoffs = [
        b
        for b in _backoffs(window)
        if time[b] > time[-1] * 0.2 and b + _samples(6 * RTT) < len(rate)
    ]
    before = np.array([rate[b - 1] for b in backoffs])
    after = np.array([rate[b + _samples(2 * RTT) : b + _samples(4 * RTT)].mean() for b in backoffs])
    emptied = sum(bool((queue[b : b + _samples(4 * RTT)] == 0).any()) for b in backoffs)
    bdp = RATE * RTT / PACKET_BITS
    expected = BETA * (bdp + QUEUE) / bdp * RATE / 1e6
    claims = _claims_of_fig03(window, queue, backoffs, before, after, emptied, bdp, expected)
    note = (
        f"Packets have 1000 bytes, so the bandwidth-delay product is {bdp:.0f} packets and β ≥ "
        f"{bdp / (bdp + QUEUE):.3f} (eq. 9) would keep the link busy. Back-offs after slow "
        f"start: {len(backoffs)}; R+ is the mean from two to four round trips after each."
    )
    return Finding(claims, {"flow": flow, "link": link}, _drawn(time, window, rate, queue), note)


def _claims_of_fig03(
    window: Floats,
    queue: Floats,
    backoffs: list[int],
    before: Floats,
    after: Floats,
    emptied: int,
    bdp: float,
    expected: float,
) -> list[Claim]:
    """Return the claims of htcp/fig03, with their verdicts."""
    return [
        near(
            "R−, eq. 7: throughput before back-off is the link's rate",
            RATE / 1e6,
            float(before.mean()),
            0.01,
            "Mbps",
            since="a packet of the 125 of a round trip",
            by="eq. 7",
        ),
        near(
            "R+, eq. 8: throughput after back-off is βw/T_d",
            expected,
            float(after.mean()),
            0.02,
            "Mbps",
            since="the window grows by 1 to 3 of 82 packets in the round trips measured",
            by="eq. 8",
        ),
        near(
            "length of an epoch in round trips, without the recovery",
            bdp + QUEUE - BETA * float(np.mean([window[b - 1] for b in backoffs])) + 1,
            _rounds(window, queue, backoffs),
            0.025,
            "round trips",
            since="two round trips of 83, one at either end",
            by="eq. 3",
        ),
        below(
            "throughput falls at each back-off: the largest R+/R−",
            1.0,
            float((after / before).max()),
        ),
        stated(
            "the queue empties at each back-off",
            "each",
            f"{emptied} of {len(backoffs)}",
            emptied == len(backoffs) > 0,
        ),
    ]


def _rounds(window: Any, queue: Any, backoffs: list[int]) -> float:
    """Return the mean number of round trips from the end of a recovery to the next back-off.

    A round trip lasts T_d and what the queue adds.
    """
    rtt = RTT + queue * PACKET_BITS / RATE
    counts = []
    for begin, end in pairwise(backoffs):
        grows = begin + int(np.flatnonzero(window[begin:end] > window[begin:end].min())[0])
        counts.append(float((SAMPLE / rtt[grows:end]).sum()))
    return float(np.mean(counts)) if counts else float("nan")


def _samples(seconds: float) -> int:
    return round(seconds / SAMPLE)


def _over_a_round_trip(values: Any) -> Any:
    """Return the running mean over the round trip that ends at each sample."""
    width = _samples(RTT)
    return np.convolve(values, np.ones(width) / width)[: len(values)]


def _backoffs(window: Any) -> list[int]:
    """Return the samples at which the window has fallen by a third or more."""
    return [int(number) for number in np.flatnonzero(window[1:] < window[:-1] * 2 / 3) + 1]


def _drawn(time: Any, window: Any, rate: Any, queue: Any) -> Any:
    figure, axes = panels(3, 1, width=6, height=1.8)
    for ax, values, label in zip(
        axes[:, 0],
        (window, rate, queue),
        ("cwnd (packets)", "throughput (Mbps)", "queue (packets)"),
        strict=True,
    ):
        ax.plot(time[: len(values)], values[: len(time)], lw=0.8)
        ax.set_ylabel(label, fontsize="small")
        ax.set_ylim(bottom=0)
    axes[0][0].set_ylim(0, 250)
    axes[2][0].set_xlabel("time (s)")
    return figure

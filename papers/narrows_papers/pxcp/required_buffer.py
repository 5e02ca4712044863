"""The buffer that XCP needs, §4.2.1: figure 1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.sweeps import Sweep
from narrows_papers.bench import Bench
from narrows_papers.claims import (
    Claim,
    above,
    below,
    interval,
    measured,
    near,
    one_of,
    shown,
    stated,
)
from narrows_papers.marks import crosses
from narrows_papers.pxcp.setup import (
    ASSUMED,
    CONSERVATIVE,
    FLOWS,
    ORIGINAL,
    PACKET_BITS,
    PAPER_BUFFERS,
    RATE,
    RULE_OF_THUMB,
    SEEDS,
    XCP,
    Sender,
    dumbbell,
    link_over_time,
    links,
    long_flows,
    order,
    over_seeds,
    share,
)
from narrows_papers.readings import ABOUT, APART, AROUND, MUCH_MORE, SAME, SWINGS
from narrows_papers.registry import Finding, experiment

# The numbers of flows that are few.
FEW = [2, 5, 10]
# An unlimited buffer, in bytes: a hundred times the rule of thumb.
UNLIMITED = 100 * RULE_OF_THUMB
CASES = {
    "P. C.P.": Sender(XCP, paced=True, queue=CONSERVATIVE),
    "P. O.P.": Sender(XCP, paced=True, queue=ORIGINAL),
    "N.P. C.P.": Sender(XCP, paced=False, queue=CONSERVATIVE),
    "N.P. O.P.": Sender(XCP, paced=False, queue=ORIGINAL),
}


def runs(bench: Bench, cases: list[str], flows: list[int], seeds: int = 1) -> pl.DataFrame:
    """Run figure 1's scenarios and return the bottleneck's row of each run."""

    def at(case: str, flows: int) -> Scenario:
        sender = CASES[case]
        return dumbbell(bench, [long_flows(sender, flows)], sender.queue, RULE_OF_THUMB)

    frame = links(bench.sweep(at, case=cases, flows=flows, seeds=bench.seeds(seeds)))
    return frame.select("case", "flows", "seed", "max_queue_bytes", "utilisation", "drops")


def by_bucket(bench: Bench, tokens: list[int], flows: list[int]) -> pl.DataFrame:
    """Return the bytes that paced XCP with C.P. needs, by tokens of its bucket (§3.2).

    Runs last 50 s and are measured from 20 s on.
    """
    sender = CASES["P. C.P."]

    def at(tokens: int, flows: int) -> Scenario:
        paced = [{**long_flows(sender, flows), "pacing_bucket": tokens}]
        return dumbbell(bench, paced, sender.queue, RULE_OF_THUMB, seconds=50, warmup=20)

    frame = links(bench.sweep(at, tokens=tokens, flows=flows))
    return frame.select("tokens", "flows", "max_queue_bytes")


def needed(bench: Bench, flows: list[int]) -> dict[int, int]:
    """Return the bytes that paced XCP with C.P. needs, by number of flows: the first seed's."""
    frame = runs(bench, ["P. C.P."], flows)
    return {count: int(share(frame, "max_queue_bytes", flows=count)) for count in flows}


@experiment(
    "pxcp/fig01a", "the longest queue of XCP against the number of flows, rule-of-thumb buffer"
)
def fig01a(bench: Bench) -> Finding:
    """Reproduce figure 1 (a) (§4.2.1): 2 to 800 long flows each way, 100 s."""
    frame = runs(bench, list(CASES), FLOWS)
    seeds = runs(bench, ["P. C.P."], FLOWS, SEEDS)

    def at(case: str, flows: int) -> float:
        return share(frame, "max_queue_bytes", case=case, flows=flows)

    paced = {flows: over_seeds(seeds, "max_queue_bytes", flows=flows) for flows in FLOWS}
    saved = [at("P. O.P.", flows) / at("P. C.P.", flows) for flows in FLOWS]
    claims = _claims_of_fig01a(bench, frame, at, paced, saved)
    figure = _draw_fig01a(at, paced)
    drawn = _drawn(bench, 100)
    note = ASSUMED + (
        f"With RTTs drawn from 64 to 100 ms instead, 100 flows need {interval(drawn)} bytes (four "
        "draws, 20 to 50 s); with 100 flows Appenzeller's rule would give "
        f"{RULE_OF_THUMB / np.sqrt(100):,.0f} bytes. The longest queue is that of the measured 40 "
        "to 100 s; for paced XCP with C.P. it is that "
        "of the whole run, too (tried with 100 and 800 flows). The queue includes the packet in "
        "transmission, and acknowledgements of data that flows the other way. Paced XCP with C.P. "
        f"is run with {SEEDS} seeds, the others with one."
    )
    return Finding(claims, {"queue": frame, "seeds": seeds}, figure, note)


def _claims_of_fig01a(
    bench: Bench,
    frame: pl.DataFrame,
    at: Callable[..., float],
    paced: dict[int, list[float]],
    saved: list[float],
) -> list[Claim]:
    """Return the claims of pxcp/fig01a, with their verdicts."""
    return [
        one_of(
            "longest queue of paced XCP with conservative parameters (C.P.), 100 flows",
            str(PAPER_BUFFERS[100]),
            paced[100],
            "bytes",
            "the RTTs are at equal distances, and the arrivals of paced flows form a pattern: see "
            "the note",
        ),
        one_of(
            "longest queue of paced XCP with C.P., 800 flows (the pacer goes by the window's whole "
            "packets)",
            str(PAPER_BUFFERS[800]),
            paced[800],
            "bytes",
            _why_800(bench),
        ),
        order(
            "the longest queue of paced XCP with C.P., in bytes, grows with the number of flows",
            [f"{flows}" for flows in reversed(FLOWS)],
            {f"{flows}": paced[flows] for flows in FLOWS},
            "the seeds of 80 and of 100 flows overlap",
        ),
        MUCH_MORE.claim(
            "paced XCP needs less with C.P. than with the original parameters (O.P.): smallest "
            "ratio of the queues, O.P. over C.P.",
            min(saved),
            says="greatly",
        ),
        *_claims_of_bursty(frame, at),
    ]


def _claims_of_bursty(frame: pl.DataFrame, at: Callable[..., float]) -> list[Claim]:
    """Return the claims of pxcp/fig01a on XCP without pacing."""
    return [
        stated(
            "non-paced XCP with O.P. overruns the rule-of-thumb buffer with 2 flows: free space at "
            "the longest queue is less than a packet, and packets are lost",
            "overrun",
            f"{RULE_OF_THUMB - at('N.P. O.P.', 2):.0f} bytes, "
            f"{share(frame, 'drops', case='N.P. O.P.', flows=2):.0f} drops",
            RULE_OF_THUMB - at("N.P. O.P.", 2) < PACKET_BITS / 8
            and share(frame, "drops", case="N.P. O.P.", flows=2) > 0,
        ),
        *(
            below(
                f"non-paced XCP with {parameters} needs less with many flows: longest queue with "
                "800 flows over that with 2",
                1,
                at(f"N.P. {parameters}", 800) / at(f"N.P. {parameters}", 2),
            )
            for parameters in ("O.P.", "C.P.")
        ),
        above(
            "C.P. alone do not make XCP fit for small buffers: longest queue of non-paced over "
            "that of paced XCP, C.P., smallest over the numbers of flows",
            1,
            min(at("N.P. C.P.", flows) / at("P. C.P.", flows) for flows in FLOWS),
        ),
    ]


def _draw_fig01a(at: Callable[..., float], paced: dict[int, list[float]]) -> Figure:
    """Draw the figure of pxcp/fig01a."""
    figure, axes = panels(1, 1, width=6, height=3.4)
    for case in CASES:
        axes[0][0].loglog(FLOWS, [at(case, flows) for flows in FLOWS], "o-", ms=3, label=case)
    axes[0][0].fill_between(
        FLOWS,
        [min(paced[flows]) for flows in FLOWS],
        [max(paced[flows]) for flows in FLOWS],
        color="C0",
        alpha=0.25,
        lw=0,
        label=f"P. C.P., {SEEDS} seeds",
    )
    crosses(axes[0][0], list(PAPER_BUFFERS), list(PAPER_BUFFERS.values()))
    axes[0][0].plot(FLOWS, RULE_OF_THUMB / np.sqrt(FLOWS), "k:", lw=0.8, label="over √n")
    ticks = [2, 5, 10, 20, 40, 100, 200, 400, 800]
    axes[0][0].set_xticks(ticks, [str(flows) for flows in ticks])
    axes[0][0].set_xticks([], minor=True)
    axes[0][0].axhline(RULE_OF_THUMB, color="k", lw=0.5, ls="--", label="rule of thumb")
    axes[0][0].set(xlabel="long flows each way", ylabel="longest queue (bytes)")
    axes[0][0].legend(fontsize="x-small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _drawn(bench: Bench, count: int) -> list[float]:
    """Return the longest queues of paced XCP with C.P. if each flow draws its RTT."""
    sender = CASES["P. C.P."]

    def at(draw: int) -> Scenario:
        rtts = np.random.default_rng(draw).uniform(64, 100, count)
        flows = [{**sender.flow, "rtt": f"{rtt:.3f}ms"} for rtt in rtts]
        return dumbbell(bench, flows, sender.queue, RULE_OF_THUMB, seconds=50, warmup=20)

    frame = links(bench.sweep(at, draw=list(range(1, 5))))
    return [float(value) for value in frame["max_queue_bytes"]]


def _why_800(bench: Bench) -> str:
    """Say what was tried: token buckets give the paper's queue with 800 flows, not with 100."""
    frame = by_bucket(bench, [2, 4], [100, 800])

    def words(tokens: int) -> str:
        at = {
            flows: share(frame, "max_queue_bytes", tokens=tokens, flows=flows)
            for flows in (100, 800)
        }
        return f"{at[800]:,.0f} bytes with 800 flows and {at[100]:,.0f} with 100"

    return (
        "not known: the authors' pacing and the XCP of ns-2.28 are not available. A bucket of four "
        f"tokens (§3.2) gives {words(4)}, one of two tokens {words(2)}: no one size gives both of "
        "the paper's numbers. Nor do gaps by other rules (pxcp/sec3.2) or RTTs drawn at random "
        f"({interval(_drawn(bench, 800))} bytes) give them"
    )


@experiment("pxcp/fig01b", "utilisation in the runs of figure 1 (a)")
def fig01b(bench: Bench) -> Finding:
    """Reproduce figure 1 (b) (§4.2.1)."""
    frame = runs(bench, list(CASES), FLOWS)
    few = runs(bench, ["P. O.P.", "N.P. O.P."], FEW, SEEDS)
    found = {
        case: frame.filter(pl.col("case") == case).sort("flows")["utilisation"].to_numpy()
        for case in CASES
    }
    claims = [
        _about(
            "paced XCP with C.P.: utilisation is about 90 % at any number of flows",
            0.9,
            found["P. C.P."],
            AROUND,
        ),
        _about(
            "paced XCP with O.P.: utilisation is about 100 %",
            1.0,
            found["P. O.P."],
            "as with C.P.",
            "the capacity that the router is told",
        ),
        *(
            APART.claim(
                f"non-paced XCP gives a low average utilisation if flows are few: {flows} flows, "
                "O.P., mean over the seeds: how far below paced XCP's",
                float(
                    np.mean(over_seeds(few, "utilisation", case="P. O.P.", flows=flows))
                    - np.mean(over_seeds(few, "utilisation", case="N.P. O.P.", flows=flows))
                ),
                why="from 5 flows on nothing overruns the rule-of-thumb buffer (figure 1 (a)); "
                "paced XCP has "
                + interval(over_seeds(few, "utilisation", case="P. O.P.", flows=flows)),
                says="low",
            )
            for flows in FEW
        ),
    ]
    figure, axes = panels(1, 1, width=6, height=3.4)
    for case, values in found.items():
        style = "o--" if case == "P. C.P." else "o-"
        axes[0][0].semilogx(FLOWS, values, style, ms=3, label=case)
    axes[0][0].set(xlabel="long flows each way", ylabel="utilisation", ylim=(0.8, 1.02))
    axes[0][0].legend(fontsize="x-small", loc="lower right")
    return Finding(claims, {"utilisation": frame, "seeds": few}, figure, ASSUMED.rstrip())


def _about(text: str, paper: float, found: Any, since: str, by: str = "") -> Claim:
    worst = float(found[np.abs(found - paper).argmax()])
    return near(f"{text}: the value furthest off", paper, worst, ABOUT, since=since, by=by)


@experiment("pxcp/fig01c-f", "two flows with O.P. over time, paced and non-paced")
def fig01c_f(bench: Bench) -> Finding:
    """Reproduce figures 1 (c) to (f) (§4.2.1): utilisation, and the window of one of two flows."""
    bursty, paced = (_two(bench, case) for case in ("N.P. O.P.", "P. O.P."))
    calmer, unlimited = _two(bench, "N.P. C.P."), _two(bench, "N.P. O.P.", UNLIMITED)
    begins = dumbbell(
        bench, [long_flows(CASES["N.P. O.P."], 2)], ORIGINAL, UNLIMITED, sample="0s", warmup=0
    )
    longest = links(bench.sweep(begins, seeds=bench.seeds(SEEDS)))
    whole = [queue / RULE_OF_THUMB for queue in over_seeds(longest, "max_queue_bytes")]
    claims = _claims_of_fig01c_f(bench, bursty, paced, calmer, unlimited, whole)
    figure, data = _draw_fig01c_f(bursty, paced, calmer)
    note = ASSUMED + "The window is that of the first flow. N.P., C.P. is not in the figure."
    return Finding(claims, data, figure, note)


def _claims_of_fig01c_f(
    bench: Bench, bursty: _Two, paced: _Two, calmer: _Two, unlimited: _Two, whole: list[float]
) -> list[Claim]:
    """Return the claims of pxcp/fig01c-f, with their verdicts."""
    return [
        measured(
            "non-paced XCP loses many packets: drops at the bottleneck",
            "many",
            f"{bursty.drops}",
        ),
        above("non-paced XCP has timeouts: their number", 0, bursty.timeouts),
        SWINGS.claim(
            "the window of non-paced XCP is unstable: its coefficient of variation from 40 s on",
            bursty.variation,
            says="unstable",
        ),
        SAME.claim(
            'the window of paced XCP is "almost constant with very small oscillations": its '
            "coefficient of variation from 40 s on",
            paced.variation,
            says="almost constant",
        ),
        near(
            "paced XCP is at its share, half of the link's: mean window",
            RATE / 2 / PACKET_BITS * 1000 / 1040 * paced.rtt,
            paced.mean,
            0.02,
            "packets",
            since="the window is a whole number that moves",
            by="half of the rate less acknowledgements, 1000 of 1040 bytes, times the measured RTT",
        ),
        measured(
            "the window of paced XCP gets there in a short time: seconds from the second flow's "
            "start until it stays within 10 % of its mean",
            "short",
            shown(paced.settled, "s"),
        ),
        stated(
            "paced XCP loses nothing and has no timeouts: drops and timeouts",
            "0, 0",
            f"{paced.drops:.0f}, {paced.timeouts:.0f}",
            paced.drops + paced.timeouts == 0,
        ),
        *_claims_of_swings(bench, bursty, paced, calmer, unlimited, whole),
    ]


def _claims_of_swings(
    bench: Bench, bursty: _Two, paced: _Two, calmer: _Two, unlimited: _Two, whole: list[float]
) -> list[Claim]:
    """Return the claims of pxcp/fig01c_f on oscillations."""
    return [
        stated(
            "even with an unlimited buffer non-paced XCP is very oscillatory, and no packet is "
            "lost: coefficient of variation of its window from 40 s on",
            SWINGS.paper("very oscillatory"),
            f"{unlimited.variation:.3g}, {unlimited.drops:.0f} drops",
            SWINGS.holds(unlimited.variation) and unlimited.drops == 0,
            "its utilisation in 100 ms varies by "
            f"{unlimited.swing:.2g}, {unlimited.swing / paced.swing:.2g} times as much as paced "
            "XCP's",
        ),
        stated(
            "non-paced XCP needs a buffer much larger than the rule of thumb: longest queue of the "
            "whole run with an unlimited buffer, over 6.4 MB",
            MUCH_MORE.paper("much larger"),
            interval(whole),
            MUCH_MORE.holds(float(np.mean(whole))),
            "not known. The longest queue is that of the first seconds; from 40 s on it is "
            f"{unlimited.queue / RULE_OF_THUMB:.2g} of the rule of thumb. Tried: five seeds of the "
            "starts",
        ),
        below(
            "C.P. decrease the oscillations of non-paced XCP: coefficient of variation of the "
            "utilisation in 100 ms, with C.P. over that with O.P.",
            1,
            calmer.swing / bursty.swing,
        ),
        APART.claim(
            "C.P. do not solve the oscillations of non-paced XCP fully: coefficient of variation "
            f"of the utilisation in 100 ms (paced XCP's is {_two(bench, 'P. C.P.').swing:.2g})",
            calmer.swing,
            says="could not solve it fully",
        ),
    ]


def _draw_fig01c_f(
    bursty: _Two, paced: _Two, calmer: _Two
) -> tuple[Figure, dict[str, pl.DataFrame]]:
    """Draw the figure of pxcp/fig01c-f."""
    figure, axes = panels(2, 3, width=4.0, height=2.4)
    data = {}
    for column, (case, seen) in enumerate(
        (("N.P., O.P.", bursty), ("N.P., C.P.", calmer), ("P., O.P.", paced))
    ):
        clock, use = link_over_time(seen.result)
        window = seen.window
        axes[0][column].plot(clock, use, lw=0.5)
        axes[0][column].set(ylabel="utilisation", ylim=(0, 1.05), title=f"XCP, {case}")
        axes[1][column].plot(window["time"], window["window"], lw=0.6)
        axes[1][column].set(xlabel="time (s)", ylabel="cwnd (packets)", ylim=(0, None))
        data[case] = window.select("time", "window", "rtt")
    top = max(ax.get_ylim()[1] for ax in axes[1])
    for ax in axes[1]:
        ax.set_ylim(0, top)
    return figure, data


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
    swing: float
    queue: float


def _two(bench: Bench, case: str, buffer: int = RULE_OF_THUMB) -> _Two:
    sender = CASES[case]
    result = bench.run(
        dumbbell(bench, [long_flows(sender, 2)], sender.queue, buffer, sample="100ms")
    )
    series = result.series("flow_series").filter(pl.col("flow") == 0)
    time, window = series["time"].to_numpy(), series["window"].to_numpy()
    late = window[time > 40 * bench.scale]
    begun = float(result.flows.filter(~pl.col("reverse"))["start"].to_numpy().max())
    clock, use = link_over_time(result)
    late_use = use[clock > 40 * bench.scale]
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
        float(late_use.std() / late_use.mean()),
        float(links(result)["max_queue_bytes"].item()),
    )

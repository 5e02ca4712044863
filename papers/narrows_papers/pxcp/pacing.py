"""What is paced, by which gaps and through how large a bucket, §3.2."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, stated
from narrows_papers.pxcp.required_buffer import by_bucket, needed
from narrows_papers.pxcp.setup import (
    PACED_TCP,
    PAPER_BUFFERS,
    RULE_OF_THUMB,
    SEEDS,
    SENDERS,
    Sender,
    dumbbell,
    links,
    long_flows,
    order,
    over_seeds,
    share,
)
from narrows_papers.readings import MUCH_MORE
from narrows_papers.registry import Finding, experiment

# Figure 2 (b)'s number of flows.
COUNT = 40
# What §3.2 says can be paced.
PACED: dict[str, dict[str, Any]] = {
    "nothing": {"pacing": "none"},
    "acknowledgements": {"pacing": "none", "ack_pacing": True},
    "data": {"pacing": "even"},
    "both": {"pacing": "even", "ack_pacing": True},
}
# How §3.2 says that the interval can be determined.
INTERVALS = {
    "RTT/CWND": "even",
    "randomised [12]": "uniform",
    "exponential": "exponential",
    "Westwood's BSE [10]": "westwood",
    "four hops [11]": "four-hop",
}
TOKENS = [1, 4, 16]
TCPS = {name.removeprefix("P. "): SENDERS[name] for name in PACED_TCP}


def described(
    bench: Bench, sender: Sender, buffer: int, how: dict[str, Any], flows: int = COUNT
) -> Scenario:
    """Describe the dumbbell of §4.2 with flows that are paced as `how` says, for 50 s."""
    paced = [{**long_flows(sender, flows), **how}]
    return dumbbell(bench, paced, sender.queue, buffer, seconds=50, warmup=20)


def in_the_way(bench: Bench, buffer: int, how: dict[str, Any]) -> Scenario:
    """Describe NewReno whose acknowledgements meet a long queue of non-paced NewReno's data."""
    paced = [{**long_flows(SENDERS["P. NewReno"], COUNT), **how}]
    back = [{**long_flows(SENDERS["N.P. NewReno"], COUNT), "reverse": True}]
    return dumbbell(
        bench,
        paced,
        "drop-tail",
        buffer,
        seconds=50,
        warmup=20,
        back=back,
        reverse_buffer=RULE_OF_THUMB,
    )


@experiment("pxcp/sec3.2", "pacing of data and of acknowledgements, intervals, token buckets")
def sec32(bench: Bench) -> Finding:
    """Run what §3.2 says of pacing, with 40 flows each way, a number of figure 2 (b).

    TCP has the buffer that paced XCP with conservative parameters needs, as in figure 2; XCP has
    the rule of thumb's, and its longest queue is measured, as in figure 1. Runs last 50 s and are
    measured from 20 s on, as those of figure 3.
    """
    small = needed(bench, [COUNT])[COUNT]
    xcp = SENDERS["P. XCP"]

    def use(hows: dict[str, dict[str, Any]], laws: list[str]) -> pl.DataFrame:
        def at(law: str, how: str) -> Scenario:
            return described(bench, TCPS[law], small, hows[how])

        frame = links(bench.sweep(at, law=laws, how=list(hows)))
        return frame.select("law", "how", "utilisation")

    def queue(hows: dict[str, dict[str, Any]], flows: int = COUNT, seeds: int = 1) -> pl.DataFrame:
        def at(how: str) -> Scenario:
            return described(bench, xcp, RULE_OF_THUMB, hows[how], flows)

        frame = links(bench.sweep(at, how=list(hows), seeds=bench.seeds(seeds)))
        return frame.select("how", "seed", "max_queue_bytes")

    kinds = {name: {"pacing": kind} for name, kind in INTERVALS.items()}
    what, longest = use(PACED, list(TCPS)), queue(PACED)
    met = links(bench.sweep(lambda how: in_the_way(bench, small, PACED[how]), how=list(PACED)))
    interval_use, interval_queue = use(kinds, ["NewReno"]), queue(kinds)
    bucket_queue = queue(_tokens(TOKENS), seeds=SEEDS)
    at_800 = queue({name: kinds[name] for name in list(kinds)[:3]}, 800)
    more = by_bucket(bench, [1, 2, 4], [100, 800])

    def gain(law: str, how: str) -> float:
        at = {name: share(what, "utilisation", law=law, how=name) for name in ("nothing", how)}
        return at[how] - at["nothing"]

    size = {how: share(longest, "max_queue_bytes", how=how) for how in PACED}
    tokens = {how: over_seeds(bucket_queue, "max_queue_bytes", how=how) for how in _tokens(TOKENS)}
    ratio = min(gain(law, "data") / gain(law, "acknowledgements") for law in TCPS)
    shorter = (size["nothing"] / size["data"]) / (size["nothing"] / size["acknowledgements"])
    long_way = {how: share(met, "utilisation", how=how) for how in PACED}
    clocked = (
        "acknowledgements that the receiver spaces over a round trip, which it measures, clock a "
        "sender as evenly as a pacer does while no queue on their way pushes them together. With "
        "non-paced NewReno and 6.4 MB the other way, NewReno uses "
        f"{long_way['nothing']:.2f} of the link, {long_way['acknowledgements']:.2f} with paced "
        f"acknowledgements and {long_way['data']:.2f} with paced data. The paper shows no run"
    )
    claims = _claims_of_sec32(tokens, ratio, shorter, clocked)
    figure = _draw_sec32(small, kinds, what, interval_queue, size, tokens)
    data = {
        "paced": what,
        "in_the_way": met.select("how", "utilisation"),
        "paced_queue": longest,
        "intervals": interval_use.join(interval_queue, on="how"),
        "tokens": bucket_queue,
        "eight_hundred": at_800,
        "buckets": more,
    }
    return Finding(claims, data, figure, _note(small, interval_use, at_800))


def _claims_of_sec32(
    tokens: dict[str, list[float]], ratio: float, shorter: float, clocked: str
) -> list[Claim]:
    """Return the claims of pxcp/sec3.2, with their verdicts."""
    return [
        stated(
            "data packet pacing has a much bigger impact on performance than ACK pacing: what "
            "pacing of data adds to the utilisation of a non-paced TCP, over what pacing of "
            "acknowledgements adds, smallest over Reno, NewReno and HSTCP",
            MUCH_MORE.paper("much bigger"),
            f"{ratio:.3g}",
            MUCH_MORE.holds(ratio),
            clocked,
        ),
        stated(
            "the same of XCP with C.P.: by what factor pacing of data shortens the longest queue "
            "of non-paced XCP, over the factor by which pacing of acknowledgements does",
            MUCH_MORE.paper("much bigger"),
            f"{shorter:.3g}",
            MUCH_MORE.holds(shorter),
            clocked,
        ),
        order(
            "the size of the token bucket affects the burstiness, and one token gives the least: "
            "longest queue of paced XCP in bytes, by number of tokens",
            list(reversed(tokens)),
            tokens,
        ),
    ]


def _draw_sec32(
    small: int,
    kinds: dict[str, dict[str, str]],
    what: pl.DataFrame,
    interval_queue: pl.DataFrame,
    size: dict[str, float],
    tokens: dict[str, list[float]],
) -> Figure:
    """Draw the figure of pxcp/sec3.2."""
    figure, axes = panels(1, 3, width=3.9, height=3.4)
    place = np.arange(len(PACED))
    for shift, law in zip((-0.25, 0.0, 0.25), TCPS, strict=True):
        bars = [share(what, "utilisation", law=law, how=how) for how in PACED]
        axes[0][0].bar(place + shift, bars, 0.25, label=law)
    axes[0][0].set_xticks(place, list(PACED), rotation=30, ha="right")
    axes[0][0].set(ylabel="utilisation", ylim=(0, 1), title=f"TCP, {small:,} bytes")
    axes[0][0].legend(fontsize="x-small", loc="upper left")
    for ax, values, title in (
        (axes[0][1], size, "XCP, C.P.: what is paced"),
        (
            axes[0][2],
            {how: share(interval_queue, "max_queue_bytes", how=how) for how in kinds}
            | {how: float(np.mean(values)) for how, values in tokens.items()},
            "XCP, C.P.: how data is paced",
        ),
    ):
        ax.bar(range(len(values)), list(values.values()), 0.6)
        ax.set_xticks(range(len(values)), list(values), rotation=40, ha="right", fontsize="small")
        ax.set(ylabel="longest queue (bytes)", yscale="log", title=title)
    return figure


def _tokens(sizes: list[int]) -> dict[str, dict[str, Any]]:
    return {
        f"{n} token{'s' if n > 1 else ''}": {"pacing": "even", "pacing_bucket": n} for n in sizes
    }


def _note(small: int, interval_use: pl.DataFrame, at_800: pl.DataFrame) -> str:
    """Say what the intervals give, which the paper does not."""
    shares = ", ".join(
        f"{how}: {share(interval_use, 'utilisation', how=how):.3f}" for how in INTERVALS
    )
    queues = ", ".join(
        f"{how}: {int(share(at_800, 'max_queue_bytes', how=how)):,}" for how in at_800["how"]
    )
    return (
        "The paper names the other intervals and does not compare them. Utilisation of NewReno "
        f"with {small:,} bytes, by interval: {shares}. The delay of four hops is of wireless "
        "networks, where neighbours disturb each other; over three wires it allows one packet and "
        "a half per round trip. Longest queue of paced XCP with C.P. and 800 flows, in bytes "
        f"(the paper: {PAPER_BUFFERS[800]:,}): {queues}."
    )

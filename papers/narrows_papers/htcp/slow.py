"""H-TCP at low speed: figures 11 and 14."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from narrows.plot import panels
from narrows.types import Floats
from narrows_papers.bench import Bench, bottleneck
from narrows_papers.claims import Claim, below, near, ranked, stated
from narrows_papers.htcp.setup import ABOUT_FOUR, epochs_until_fair, events, scenario, windows
from narrows_papers.readings import FAIR, SAME
from narrows_papers.registry import Finding, experiment

# Figure 11's H-TCP: α^H = 20 from Δ^L seconds after a loss on, β = 0.5.
FIGURE_11 = "htcp:adaptive=false:beta=0.5:delta_l={delta}:a0=20:a1=0:a2=0"


@dataclass(frozen=True)
class Beside:
    """What an H-TCP flow does beside a TCP flow over 5 Mbps, 100 ms, 44 packets."""

    time: Floats
    window: Floats
    when: Floats
    before: Floats
    goodput: float
    share: float
    longest: float
    length: float

    @classmethod
    def of(cls, bench: Bench, delta: float, law: str = FIGURE_11) -> Beside:
        """Run both for 400 s, with a Δ^L of `delta` seconds."""
        htcp = {"cc": law.format(delta=delta), "start": bench.seconds(20)}
        result = bench.run(scenario(bench, "5Mbps", 44, [{"cc": "sack"}, htcp], 400, warmup=100))
        goodput = result.flows["goodput"].to_numpy()
        time, window = windows(result, 2)
        when, before, _ = events(window, time, 0.5)
        settled = when > 100 * bench.scale
        mean, lengths = before[settled].mean(axis=0), np.diff(when[settled])
        return cls(
            time,
            window,
            when,
            before,
            float(goodput[1] / goodput[0]),
            float(mean[1] / mean[0]),
            float(lengths.max()),
            float(lengths.mean()),
        )


@experiment("htcp/fig11", "a TCP and an H-TCP flow share a slow link")
def fig11(bench: Bench) -> Finding:
    """Reproduce figure 11: 5 Mbps, 100 ms, 44 packets; α_L = 1, α_H = 20, Δ_L = 19 s, β = 0.5.

    With Δ_L = 1 s the same flow is in high-speed mode for a part of each epoch.
    """
    run, high, trips = (Beside.of(bench, delta) for delta in (19, 1, 1.9))
    default = Beside.of(bench, 1, "htcp:delta_l={delta}")
    # What H-TCP gains in an epoch over what TCP gains, which is 1 per round trip.
    gain = (1 + 20 * (high.length - 1)) / high.length
    claims = [
        near(
            "H-TCP and TCP share fairly: H-TCP's goodput over TCP's",
            1.0,
            run.goodput,
            0.02,
            since="in low-speed mode the two laws are the same",
        ),
        near(
            "equal windows at congestion: H-TCP's over TCP's",
            1.0,
            run.share,
            0.02,
            since="a packet of 53",
        ),
        below(
            "congestion epochs are too short for high-speed mode: the longest",
            19,
            run.longest,
            "s",
        ),
        near(
            "without the mode switch's 19 s H-TCP and TCP are no longer alike: with Δ_L = 1 s "
            "windows at congestion, H-TCP's over TCP's, are as the gains in an "
            f"epoch of {high.length:.2f} s",
            gain,
            high.share,
            0.2,
            since="a recovery of one or two of ten round trips, in which no window grows",
            by="eqs. 10, 16 and theorem 2.1",
        ),
        SAME.claim(
            "abstract: deployed in a conventional network it behaves as a conventional TCP: with "
            "eq. 17 and Δ_L of 1 s on this link, how far its share of the goodput is from a half",
            default.goodput / (1 + default.goodput) - 0.5,
            why=f"its goodput is {default.goodput:.2f} times TCP's; with 19 round trips, 1.9 s, in "
            f"place of 19 s, and this α_H, {trips.goodput:.2f} times",
            says="as a conventional TCP",
        ),
    ]
    figure = _draw_fig11(bench, run, high)
    note = (
        "The caption's 19 has no unit; as seconds it never lets H-TCP into high-speed mode. Panel "
        "(b) has narrows' default, Δ_L of 1 s. The 100 ms of the caption are taken as the round "
        "trip, as in figures 2, 3 and 14."
    )
    return Finding(
        claims,
        {
            "events": pl.DataFrame(
                {"time": run.when, "tcp": run.before[:, 0], "htcp": run.before[:, 1]}
            )
        },
        figure,
        note,
    )


def _draw_fig11(bench: Bench, run: Beside, high: Beside) -> Figure:
    """Draw the figure of htcp/fig11."""
    figure, axes = panels(2, 1, width=6, height=2)
    for row, (shown, delta) in enumerate(((run, 19), (high, 1))):
        ax = axes[row][0]
        for number, label in enumerate(("TCP", f"H-TCP, Δ_L = {delta} s")):
            there = shown.time >= 20 * bench.scale * number
            ax.plot(shown.time[there], shown.window[number][there], lw=0.8, label=label)
        ax.set(ylabel="cwnd (packets)", xlim=(0, 200 * bench.scale), ylim=(0, 135))
        ax.legend(fontsize="x-small", ncols=2, loc="upper right")
    axes[1][0].set_xlabel("time (s)")
    return figure


# When the second flow starts: ten moments of the first flow's cycle of 2.7 s; the paper gives none.
STARTS = [100 + 0.27 * number for number in range(10)]
# RTT_min/RTT_max with 50 packets of 0.4 ms in the queue, above the bound.
RATIO = 0.1 / (0.1 + 50 * 8000 / 20e6)


@dataclass(frozen=True)
class Second:
    """What happens around the start of the second flow in one run."""

    time: Floats
    window: Floats
    beta: Floats
    start: float
    alone: float
    least: float
    late: float
    epochs: float
    fair: float

    @classmethod
    def of(cls, bench: Bench, start: float, cc: str = "htcp") -> Second:
        """Run two flows, the second from `start` on: 20 Mbps, 100 ms, 50 packets."""
        start *= bench.scale
        flows = [{"cc": cc}, {"cc": cc, "start": f"{start:.6f}s"}]
        result = bench.run(scenario(bench, "20Mbps", 50, flows, 250))
        time, window = windows(result, 2)
        law = result.series("law_series").filter((pl.col("flow") == 0) & (pl.col("name") == "beta"))
        clock, beta = law["time"].to_numpy(), law["value"].to_numpy()
        when, before, _ = events(window, time, 0.3)
        later = before[when > start]
        index = later.sum(axis=1) ** 2 / (2 * (later**2).sum(axis=1))
        return cls(
            time,
            window,
            np.array([clock, beta]),
            start,
            float(np.median(beta[(clock > 0.3 * start) & (clock <= start)])),
            float(beta[(clock > start) & (clock < start + 15 * bench.scale)].min()),
            float(np.median(beta[clock > start + 0.6 * (time[-1] - start)])),
            epochs_until_fair(later),
            float(index[-8:].mean()),
        )


@experiment("htcp/fig14", "the adaptive back-off and its reset when a second flow starts")
def fig14(bench: Bench) -> Finding:
    """Reproduce figure 14 (§3.3): 20 Mbps, 100 ms, 50 packets."""

    def over_starts(cc: str = "htcp") -> list[Second]:
        return [Second.of(bench, start, cc) for start in STARTS]

    runs, tight, fixed = (
        over_starts(),
        over_starts("htcp:reset=0.05"),
        over_starts("htcp:adaptive=false"),
    )
    reset = [run for run in runs if run.least < 0.501]
    tightly = sum(run.least < 0.501 for run in tight)
    epochs = sorted(run.epochs for run in runs)
    claims = _claims_of_fig14(runs, tight, fixed, reset, tightly)
    shown = reset[0] if reset else runs[0]
    figure = _draw_fig14(shown)
    note = (
        f"With the queue of 50 packets of 1000 bytes RTT_min/RTT_max is {RATIO:.3f}, above the "
        "bound of 0.8. The second flow starts at ten moments of the first flow's cycle; fairness "
        f"takes {epochs[0]:.1f} to {epochs[-1]:.1f} epochs. The figure shows the first start at "
        f"which β is reset, at {shown.start:.2f} s."
    )
    data = pl.DataFrame(
        {
            "start": [run.start for run in runs],
            "least_beta": [run.least for run in runs],
            "epochs": [run.epochs for run in runs],
        }
    )
    return Finding(claims, {"starts": data}, figure, note)


def _claims_of_fig14(
    runs: list[Second], tight: list[Second], fixed: list[Second], reset: list[Second], tightly: int
) -> list[Claim]:
    """Return the claims of htcp/fig14, with their verdicts."""
    return [
        near(
            "one flow alone: the back-off factor adapts to RTT_min/RTT_max within [0.5, 0.8]",
            min(RATIO, 0.8),
            runs[0].alone,
            0.01,
            since="the bound of 0.8 has one digit",
            by="eq. 21 and §3.4, comment 1",
        ),
        stated(
            "the back-off factor of flow 1 is reset to 0.5 when flow 2 starts",
            "reset",
            f"in {len(reset)} of {len(runs)} starts",
            len(reset) == len(runs),
            "in the others flow 1's throughput never falls by more than 20 % from one epoch to the "
            f"next: with a threshold of 5 % instead, {tightly} of {len(tight)} starts have a reset",
        ),
        near(
            "fair in around 4 congestion epochs: epochs until the windows stay within 5 % of their "
            "mean, median of ten starts",
            4,
            _median(runs),
            0.125,
            "epochs",
            since=ABOUT_FOUR,
            why="by eq. 25 the back-off returns to 0.8 as soon as the throughput moves by less "
            f"than 20 % in an epoch. With a threshold of 5 % the median is {_median(tight):.1f}. "
            "§3.3 (iii) can also be read so that β stays at 0.5 until the flows have converged: "
            f"with β = 0.5 throughout it is {_median(fixed):.1f}",
        ),
        near(
            "the back-off factor is adaptive again later: median over the last two fifths of the "
            "time after the start",
            min(RATIO, 0.8),
            float(np.median([run.late for run in runs])),
            0.01,
            since="the bound of 0.8 has one digit",
            by="eq. 21 and §3.4, comment 1",
        ),
        FAIR.claim(
            "the flows are fair in the end: mean of Jain's index of the windows over the last "
            "eight epochs, lowest of ten starts",
            min(run.fair for run in runs),
            says="fair",
        ),
    ]


def _draw_fig14(shown: Second) -> Figure:
    """Draw the figure of htcp/fig14."""
    figure, axes = panels(2, 1, width=6, height=2)
    for number in range(2):
        there = shown.time >= shown.start * number
        axes[0][0].plot(
            shown.time[there], shown.window[number][there], lw=0.8, label=f"flow {number + 1}"
        )
    axes[0][0].set(ylabel="cwnd (packets)", ylim=(0, None))
    axes[0][0].legend(fontsize="x-small")
    axes[1][0].plot(shown.beta[0], shown.beta[1], lw=0.8)
    axes[1][0].set(xlabel="time (s)", ylabel="β of flow 1", ylim=(0.4, 0.9))
    return figure


def _median(runs: list[Second]) -> float:
    return float(np.median([run.epochs for run in runs]))


LEAVES = [100 + 0.9 * number for number in range(5)]


@experiment("htcp/leave", "a flow leaves: the other takes its bandwidth")
def leave(bench: Bench) -> Finding:
    """Stop one of two flows over 100 Mbps, 100 ms, 100 packets (§3 (iv), §3.3)."""
    found = {
        name: [_left(bench, cc, at) for at in LEAVES]
        for name, cc in (("H-TCP", "htcp"), ("TCP", "sack"))
    }
    reset = [left for left in found["H-TCP"] if left.beta < 0.501]
    claims = [
        ranked(
            "the flow that stays responds quickly, which TCP does not: seconds until the link is "
            "full again",
            ["TCP", "H-TCP"],
            [[left.full for left in found[name]] for name in ("TCP", "H-TCP")],
        ),
        stated(
            "B⁻ of the flow that stays, its throughput before a congestion event, rises, so its "
            "back-off factor is reset to 0.5: resets within 30 s",
            "reset",
            f"in {len(reset)} of {len(LEAVES)} runs",
            len(reset) == len(LEAVES),
        ),
    ]
    figure, axes = panels(1, 1, width=6)
    for name, runs in found.items():
        axes[0][0].plot(runs[0].clock, runs[0].use, lw=0.7, label=name)
    axes[0][0].axvline(LEAVES[0] * bench.scale, color="k", lw=0.4)
    axes[0][0].set(xlabel="time (s)", ylabel="utilisation", ylim=(0, 1.05))
    axes[0][0].legend(fontsize="x-small", loc="lower left")
    note = (
        "The paper has no figure of this: 100 Mbps, 100 ms, 100 packets. Five moments at which one "
        "of two flows stops, 0.9 s apart, of which the figure shows the first (line). The link is "
        "full again when it is busy for 99 % of a round trip."
    )
    data = pl.DataFrame(
        [
            (name, at, left.full)
            for name, runs in found.items()
            for at, left in zip(LEAVES, runs, strict=True)
        ],
        schema=["law", "leaves", "full_again"],
        orient="row",
    )
    return Finding(claims, {"leaves": data}, figure, note)


@dataclass(frozen=True)
class Left:
    """What happens after one of two flows has stopped."""

    clock: Floats
    use: Floats
    full: float
    beta: float


def _left(bench: Bench, cc: str, at: float) -> Left:
    """Run two flows, of which the second stops after `at` seconds at full scale."""
    at *= bench.scale
    flow = {"cc": cc, "max_ssthresh": 100}
    flows = [flow, {**flow, "stop": f"{at:.6f}s"}]
    result = bench.run(scenario(bench, "100Mbps", 100, flows, 240))
    link = bottleneck(result)
    clock = link["time"].to_numpy()
    use = np.convolve(link["utilisation"].to_numpy(), np.ones(10) / 10)[: len(clock)]
    full = clock[(clock > at + 0.5) & (use > 0.99)]
    beta = 1.0
    if cc == "htcp":
        law = result.series("law_series").filter(
            (pl.col("flow") == 0)
            & (pl.col("name") == "beta")
            & pl.col("time").is_between(at, at + 30)
        )
        beta = float(law["value"].to_numpy().min())
    return Left(clock, use, float(full[0]) - at if len(full) else float("inf"), beta)

"""H-TCP at low speed: figures 11 and 14."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from narrows._types import Floats
from narrows.papers.claims import above, near, stated
from narrows.papers.htcp.setup import backoffs, events, kept, scenario, windows
from narrows.papers.lab import Lab
from narrows.papers.registry import Finding, experiment
from narrows.plot import panels


@experiment("htcp/fig11", "a TCP and an H-TCP flow share a slow link")
def fig11(lab: Lab) -> Finding:
    """Reproduce figure 11: 5 Mbps, 100 ms, 44 packets; α_L = 1, α_H = 20, Δ_L = 19 s, β = 0.5."""
    htcp = "htcp:adaptive=false:beta=0.5:delta_l=19:a0=20:a1=0:a2=0"
    seconds = 400
    result = lab.run(
        scenario(
            lab,
            "5Mbps",
            44,
            [{"cc": "sack"}, {"cc": htcp, "start": lab.seconds(20)}],
            seconds,
            warmup=100,
        )
    )
    goodput = result.flows["goodput"].to_numpy()
    time, window = windows(result, 2)
    when, before, _ = events(window, time, 0.5)
    mean = before[when > 100 * lab.scale].mean(axis=0)
    claims = [
        near(
            "they share fairly: H-TCP's goodput over TCP's",
            1.0,
            float(goodput[1] / goodput[0]),
            0.15,
        ),
        near(
            "equal windows at congestion: H-TCP's over TCP's", 1.0, float(mean[1] / mean[0]), 0.15
        ),
        stated(
            "congestion epochs are too short for high-speed mode: the longest",
            "shorter than 19 s",
            f"{np.diff(when).max():.1f} s at most",
            bool(np.diff(when)[when[1:] > 60 * lab.scale].max() < 19)
            if (when > 60 * lab.scale).any()
            else False,
        ),
    ]
    figure, axes = panels(1, 1, width=6)
    for number, label in enumerate(("TCP", "H-TCP")):
        axes[0][0].plot(time, window[number], lw=0.8, label=label)
    axes[0][0].set(xlabel="time (s)", ylabel="cwnd (packets)", ylim=(0, None))
    axes[0][0].legend(fontsize="x-small")
    return Finding(
        claims,
        {"events": pl.DataFrame({"time": when, "tcp": before[:, 0], "htcp": before[:, 1]})},
        figure,
    )


# When the second flow starts: ten moments of the first flow's cycle of 2.7 s; the paper gives none.
STARTS = [100 + 0.27 * number for number in range(10)]
# RTT_min/RTT_max with 50 packets of 0.4 ms in the queue, above the bound.
RATIO = 0.1 / (0.1 + 50 * 8000 / 20e6)


@dataclass(frozen=True)
class Second:
    """What happens around the start of the second flow in one run."""

    time: Floats
    window: Floats
    when: Floats
    share: Floats
    start: float
    alone: float
    least: float
    late: float
    epochs: int
    fair: float

    @classmethod
    def of(cls, lab: Lab, start: float) -> Second:
        """Run two flows, the second from `start` on: 20 Mbps, 100 ms, 50 packets."""
        start *= lab.scale
        flows = [{"cc": "htcp"}, {"cc": "htcp", "start": f"{start:.6f}s"}]
        time, window = windows(lab.run(scenario(lab, "20Mbps", 50, flows, 250)), 2)
        first = backoffs(window[0], 0.9)
        when, share = time[first], np.array([kept(window[0], int(at)) for at in first])
        event_time, before, _ = events(window, time, 0.3)
        later = before[event_time > start]
        index = later.sum(axis=1) ** 2 / (2 * (later**2).sum(axis=1))
        reached = np.flatnonzero(index > 0.95)
        return cls(
            time,
            window,
            when,
            share,
            start,
            float(np.median(share[(when > 0.3 * start) & (when <= start)])),
            float(share[when > start][:6].min()),
            float(np.median(share[when > start + 0.6 * (time[-1] - start)])),
            int(reached[0]) + 1 if len(reached) else 10**6,
            float(index[-8:].mean()),
        )


@experiment("htcp/fig14", "the adaptive back-off and its reset when a second flow starts")
def fig14(lab: Lab) -> Finding:
    """Reproduce figure 14 (§3.3): 20 Mbps, 100 ms, 50 packets."""
    runs = [Second.of(lab, start) for start in STARTS]
    reset = [run for run in runs if run.least < 0.56]
    epochs = sorted(run.epochs for run in runs)
    median = float(np.median(epochs))
    claims = [
        near(
            "one flow alone: the back-off factor adapts to RTT_min/RTT_max within [0.5, 0.8]",
            min(RATIO, 0.8),
            runs[0].alone,
            0.05,
        ),
        stated(
            "the back-off factor is reset to 0.5 when the second flow starts",
            "in the run shown",
            f"in {len(reset)} of {len(runs)} starts",
            len(reset) > len(runs) / 2,
            "if the second flow starts shortly before a loss, the first flow's throughput falls "
            "by less than 20 % from each epoch to the next",
        ),
        near(
            "fair in about 4 congestion epochs: epochs until Jain's index of the windows exceeds "
            "0.95, median of ten starts",
            4,
            median,
            0.5,
            "epochs",
        ),
        near(
            "the back-off factor is adaptive again later: median over the last two fifths",
            min(RATIO, 0.8),
            float(np.median([run.late for run in runs])),
            0.05,
        ),
        above(
            "and the flows are fair: mean of Jain's index of the windows over the last eight "
            "epochs, lowest of ten starts",
            0.95,
            min(run.fair for run in runs),
        ),
    ]
    shown = reset[0] if reset else runs[0]
    figure, axes = panels(2, 1, width=6, height=2)
    for number in range(2):
        axes[0][0].plot(shown.time, shown.window[number], lw=0.8, label=f"flow {number + 1}")
    axes[0][0].set(ylabel="cwnd (packets)", ylim=(0, None))
    axes[0][0].legend(fontsize="x-small")
    axes[1][0].plot(shown.when, shown.share, "o", ms=3)
    axes[1][0].set(xlabel="time (s)", ylabel="share kept by flow 1", ylim=(0.4, 1))
    note = (
        f"With the queue of 50 packets of 1000 bytes RTT_min/RTT_max is {RATIO:.3f}, above the "
        "bound of 0.8. The second flow starts at ten moments of the first flow's cycle; fairness "
        f"takes {epochs[0]} to {epochs[-1]} epochs. "
        f"The figure shows a start at {shown.start:.2f} s."
    )
    return Finding(
        claims, {"backoffs": pl.DataFrame({"time": shown.when, "kept": shown.share})}, figure, note
    )

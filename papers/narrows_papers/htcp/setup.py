"""What the paper's experiments have in common.

That is runs of a few flows, their congestion epochs and their back-offs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from narrows.scenario import Scenario
from narrows.sweeps import Sweep
from narrows.types import Floats
from narrows_papers.bench import Bench

# Packets of 1000 bytes, as in ns-2.
PACKET_BITS = 8000
SAMPLE = 0.01


def scenario(
    bench: Bench,
    rate: str,
    queue: int,
    flows: list[dict[str, Any]],
    seconds: float,
    *,
    warmup: float = 0.0,
    rtt: str = "100ms",
    sample: float = SAMPLE,
) -> Scenario:
    """Describe flows over a dumbbell of `queue` packets."""
    return Scenario(
        tcp="ns2",
        duration=bench.seconds(seconds),
        warmup=bench.seconds(warmup),
        sample=f"{sample}s",
        dumbbell={"rate": rate, "rtt": rtt, "buffer": f"{queue}p"},
        flows=[{"start_spread": "0s"} | flow for flow in flows],
    )


def windows(result: Sweep, flows: int) -> tuple[Floats, Floats]:
    """Return the times, and the windows in shape (flows, samples)."""
    series = result.series("flow_series")
    rows = [series.filter(pl.col("flow") == number) for number in range(flows)]
    return rows[0]["time"].to_numpy(), np.array([row["window"].to_numpy() for row in rows])


def backoffs(window: Any, share: float = 0.95) -> NDArray[np.int64]:
    """Return the samples at which a window has fallen below `share` of the sample before."""
    return np.flatnonzero(window[1:] < share * window[:-1]) + 1


def events(windows: Floats, time: Floats, apart: float) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Group back-offs into congestion events.

    Back-offs of any source at most `apart` seconds after the first of a group are one event.

    Returns
    -------
    times, windows before, drops
        Shapes (events,), (events, flows), (events, flows).
    """
    found = sorted(
        (int(at), flow) for flow, window in enumerate(windows) for at in backoffs(window)
    )
    groups: list[list[tuple[int, int]]] = []
    for at, flow in found:
        if groups and time[at] - time[groups[-1][0][0]] <= apart:
            groups[-1].append((at, flow))
        else:
            groups.append([(at, flow)])
    before = np.array([windows[:, group[0][0] - 1] for group in groups]).reshape(-1, len(windows))
    drops = np.zeros(before.shape, dtype=np.bool_)
    for number, group in enumerate(groups):
        for at, flow in group:
            drops[number, flow] = True
            # A window that grew between the first back-off and its own had that value just before.
            before[number, flow] = max(before[number, flow], windows[flow, at - 1])
    return np.array([time[group[0][0]] for group in groups]), before, drops


# The paper's "approximately 4", "around 4" and "≈ 4" congestion epochs.
ABOUT_FOUR = 'the paper says "about 4", which is what rounds to 4'


def epochs_until(before: Floats, settled: float, left: float = 0.05) -> float:
    """Count the congestion epochs until a share `left` of the second source's way is left.

    The distance falls geometrically, so the count is interpolated between two events.

    Parameters
    ----------
    before
        Windows of two sources at the congestion events after the second one has started.
    settled
        The share of the sum that the second source has in the end.
    left
        Share of the distance at the first event.

    Returns
    -------
    float
        Infinite if it never comes so near.
    """
    distance = np.abs(before[:, 1] / before.sum(axis=1) - settled)
    reached = np.flatnonzero(distance <= left * distance[0])
    return _between(distance, int(reached[0]), left * distance[0]) if len(reached) else np.inf


def epochs_until_fair(before: Floats) -> float:
    """Count the congestion epochs until two windows stay within 5 % of their mean.

    That is 95 % of the final network state (§2, (ii)); from windows of 0 and all it is the same as
    5 % of the difference.
    """
    distance = np.abs(before[:, 0] - before[:, 1]) / before.sum(axis=1)
    away = np.flatnonzero(distance > 0.05)
    if not len(away):
        return 0.0
    at = int(away[-1]) + 1
    return _between(distance, at, 0.05) if at < len(distance) else np.inf


def _between(distance: Floats, at: int, target: float) -> float:
    """Interpolate where a geometrically falling distance passes a target before event `at`."""
    last, there = np.log(distance[at - 1]), np.log(max(distance[at], 1e-9))
    return at - 1 + float((last - np.log(target)) / (last - there))

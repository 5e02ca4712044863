"""What tells laws apart in a time line: how full the path is, how far it falls, how it grows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from narrows.types import Floats

# Each trait, and by how much it may differ between a flow and the same law on a path that is not
# quite the same; by so much of itself where it is above 1. Bytes under way are in bandwidth-delay
# products, queues in base RTTs.
TOLERANCES = {
    "flight_p5": 0.08,
    "flight_p25": 0.08,
    "flight_p50": 0.08,
    "flight_p75": 0.08,
    "flight_p95": 0.08,
    "queue_p10": 0.08,
    "queue_p50": 0.08,
    "queue_p90": 0.08,
    # ln(1 + losses' episodes in 10 s).
    "episodes": 0.2,
    # What an episode leaves of the bytes under way.
    "kept": 0.04,
    # How far growth between two episodes is above a straight line after each quarter of the time.
    "bend_25": 0.08,
    "bend_50": 0.08,
    "bend_75": 0.08,
    # ln(packets a round trip) between two episodes.
    "growth": 0.25,
    # ln of the deviation of steps from piece to piece, and the deviation of all, over the mean.
    "steps": 0.3,
    "spread": 0.06,
    # Of the rate.
    "goodput": 0.04,
}
QUARTERS = (0.25, 0.5, 0.75)
# What does not become so many times as large does not grow; no growth is bent further.
GROWS, HALF = 1.1, 0.5
# The start is not looked at: up to a second after the first loss, or a quarter of the time.
AFTER_LOSS, QUARTER = 1.0, 0.25
# A time line of fewer pieces shows no shape, nor does growth between two episodes in fewer.
FEWEST, FEW = 40, 6


@dataclass(frozen=True)
class Line:
    """A time line on one grid.

    Attributes
    ----------
    width
        Seconds of a piece.
    flight
        The most bytes under way in each piece; 0 where nothing was.
    rtt
        The least RTT in seconds; 0 without one.
    again
        Segments sent again.
    came
        Bytes that came through.
    """

    width: float
    flight: Floats
    rtt: Floats
    again: Floats
    came: Floats

    @property
    def time(self) -> Floats:
        """Return when each piece begins, in seconds."""
        return np.asarray(self.width * np.arange(len(self.flight)), dtype=np.float64)


def line_of(timeline: Mapping[str, Any], width: float, seconds: float) -> Line:
    """Return the first seconds of a time line in pieces of a width that its own divides."""
    pieces = timeline["pieces"][: round(seconds / timeline["width"])]
    each = max(round(width / timeline["width"]), 1)

    def columns(of: Sequence[float]) -> Floats:
        whole = np.zeros(-(-len(of) // each) * each)
        whole[: len(of)] = of
        return whole.reshape(-1, each)

    rtt = columns([piece["rtt"][0] for piece in pieces])
    least = np.where(rtt > 0, rtt, np.inf).min(axis=1, initial=np.inf)
    return Line(
        each * timeline["width"],
        columns([piece["flight"] for piece in pieces]).max(axis=1, initial=0),
        np.where(np.isfinite(least), least, 0.0),
        columns([piece["again"] for piece in pieces]).sum(axis=1),
        columns([piece["bytes"] for piece in pieces]).sum(axis=1),
    )


def traits(line: Line, rate: float, base: float) -> dict[str, float]:
    """Return a flow's traits by name; NaN for what does not show.

    Parameters
    ----------
    line
        Its time line.
    rate
        The bottleneck's, in bit/s.
    base
        The base RTT in seconds.
    """
    losses = line.time[line.again > 0]
    begins = min([losses[0] + AFTER_LOSS] if len(losses) else [np.inf])
    begins = min(begins, QUARTER * line.width * len(line.flight))
    counts = (line.flight > 0) & (line.time >= begins)
    rtts = line.rtt[counts & (line.rtt > 0)]
    rtt = float(np.median(rtts)) if len(rtts) else base
    found = _levels(line.flight[counts] * 8 / (rate * base), (rtts - base) / base)
    episodes = _episodes(losses[losses >= begins], max(2.5 * rtt, 2 * line.width))
    lasts = line.width * len(line.flight) - begins
    found["episodes"] = math.log1p(10 * len(episodes) / lasts)
    found["kept"] = _median([_kept(line, episode, rtt) for episode in episodes])
    found |= _growth(line, episodes, rtt)
    came = 8 * float(line.came.sum()) / (line.width * len(line.came))
    return found | {"goodput": came / rate}


def _levels(flight: Floats, queue: Floats) -> dict[str, float]:
    """Return how full the path is, and how that varies."""
    found = {f"flight_p{q}": _quantile(flight, q) for q in (5, 25, 50, 75, 95)}
    found |= {f"queue_p{q}": _quantile(queue, q) for q in (10, 50, 90)}
    if len(flight) < FEW:
        return found | {"steps": math.nan, "spread": math.nan}
    mean = float(flight.mean())
    found["steps"] = math.log(float(np.diff(flight).std()) / mean + 1e-3)
    return found | {"spread": float(flight.std()) / mean}


def _episodes(losses: Floats, apart: float) -> list[tuple[float, float]]:
    """Return when each run of losses begins and ends that are so many seconds apart at most."""
    if not len(losses):
        return []
    cuts = np.flatnonzero(np.diff(losses) > apart)
    begins, ends = losses[[0, *(cuts + 1)]], losses[[*cuts, -1]]
    return list(zip(begins.tolist(), ends.tolist(), strict=True))


def _kept(line: Line, episode: tuple[float, float], rtt: float) -> float:
    """Return the bytes under way behind an episode over those before it."""
    begins, ends = episode
    before = _mean(line, begins - max(3 * rtt, 2 * line.width), begins - rtt / 2)
    behind = ends + 1.5 * rtt
    return _mean(line, behind, behind + max(2 * rtt, 2 * line.width)) / before


def _growth(line: Line, episodes: Sequence[tuple[float, float]], rtt: float) -> dict[str, float]:
    """Return how much and in which shape the flight grows between two episodes."""
    bends, speeds = [], []
    for (_, ends), (begins, _) in itertools.pairwise(episodes):
        inside = (line.time >= ends + 2 * rtt) & (line.time < begins - rtt / 2) & (line.flight > 0)
        time, flight = line.time[inside], line.flight[inside]
        if len(flight) < FEW:
            continue
        low, high = flight[:2].mean(), flight[-2:].mean()
        if high <= GROWS * low:
            continue
        share = (time - time[0]) / (time[-1] - time[0])
        bend = np.interp(QUARTERS, share, (flight - low) / (high - low)) - QUARTERS
        bends.append(np.clip(bend, -HALF, HALF))
        speeds.append((high - low) / 1500 * rtt / (time[-1] - time[0]))
    bend = np.median(bends, axis=0) if bends else np.full(len(QUARTERS), np.nan)
    names = [f"bend_{100 * quarter:.0f}" for quarter in QUARTERS]
    found = dict(zip(names, map(float, bend), strict=True))
    return found | {"growth": math.log(_median(speeds)) if speeds else math.nan}


def _mean(line: Line, begins: float, ends: float) -> float:
    inside = (line.time >= begins) & (line.time < ends) & (line.flight > 0)
    return float(line.flight[inside].mean()) if inside.any() else math.nan


def _quantile(values: Floats, percent: float) -> float:
    return float(np.percentile(values, percent)) if len(values) else math.nan


def _median(values: Sequence[float]) -> float:
    known = [value for value in values if math.isfinite(value)]
    return float(np.median(known)) if known else math.nan


# How far apart two flows are at most for one trait, and if only one of them shows it.
MOST, MISSING = 12.0, 2.0


def distance(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Return the mean square of how many tolerances traits of two flows are apart.

    Examples
    --------
    >>> flow = dict.fromkeys(TOLERANCES, 1.0)
    >>> distance(flow, flow), round(distance(flow, flow | {"kept": 0.96}) * len(TOLERANCES), 6)
    (0.0, 1.0)
    """
    apart = []
    for name, tolerance in TOLERANCES.items():
        shown = [math.isfinite(flow[name]) for flow in (one, other)]
        if all(shown):
            within = tolerance * max(abs(one[name]), abs(other[name]), 1.0)
            apart.append(min(((one[name] - other[name]) / within) ** 2, MOST))
        elif any(shown):
            apart.append(MISSING)
    return sum(apart) / max(len(apart), 1)

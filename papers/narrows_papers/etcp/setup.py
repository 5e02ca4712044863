"""What the paper's experiments have in common (§VI-A)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from narrows.scenario import Scenario
from narrows.types import Floats
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim
from narrows_papers.readings import SAME, most
from narrows_papers.series import averaged

PACKET_BITS = 1040 * 8
P0 = 0.01

# The protocols compared, with the settings of §VI-A.
ETCP = {"E-TCP": {"cc": "etcp"}}
EVEN = {"E-TCP, even gaps": {"cc": "etcp", "pacing": "even"}}
PEERS: dict[str, dict[str, Any]] = {
    "NewReno": {"cc": "newreno"},
    "NewReno paced": {"cc": "newreno", "pacing": "even"},
    "HSTCP": {"cc": "highspeed", "max_ssthresh": 100},
    "STCP": {"cc": "scalable", "max_ssthresh": 100},
    "FAST": {"cc": "fast:alpha=1000:mi_threshold=0.00075"},
}


def scenario(
    bench: Bench,
    rate: str,
    rtt: str,
    flows: list[dict[str, Any]],
    seconds: float,
    *,
    buffer: str = "20p",
    sample: str = "0s",
    warmup: float = 0.25,
    **dumbbell: Any,
) -> Scenario:
    """Describe flows over the dumbbell of figure 4.

    Packets have 1040 bytes, 1000 of them payload; the buffer is 20 packets unless given.
    """
    return Scenario(
        tcp="ns2",
        packet="1040B",
        duration=bench.seconds(seconds),
        warmup=bench.seconds(seconds * warmup),
        sample=sample,
        dumbbell={"rate": rate, "rtt": rtt, "buffer": buffer, **dumbbell},
        flows=flows,
    )


def packets_a_second(megabits: float) -> float:
    """Return a capacity in packets of 1040 bytes per second."""
    return megabits * 1e6 / PACKET_BITS


def with_rate(flow: pl.DataFrame) -> pl.DataFrame:
    """Add the sending rate in packets per second.

    The window of the rate law is its rate times the smoothed RTT.
    """
    return flow.with_columns((pl.col("window") / pl.col("rtt")).alias("rate")).drop_nulls("rate")


def cumulative_loss(link: pl.DataFrame) -> Floats:
    """Return the losses so far over the arrivals so far, at each sample."""
    arrivals, drops = (
        link[name].cum_sum().to_numpy().astype(np.float64) for name in ("arrivals", "drops")
    )
    return np.asarray(drops / np.maximum(arrivals, 1.0))


def later(frame: pl.DataFrame, share: float = 0.5) -> pl.DataFrame:
    """Return the rows of a series from a share of its duration on."""
    times = frame["time"].to_numpy()
    return frame.filter(pl.col("time") >= times.max() * share)


def mean(frame: pl.DataFrame, column: str) -> float:
    """Return the mean of a column."""
    return float(frame[column].to_numpy().mean())


def loss_of(link: pl.DataFrame) -> float:
    """Return losses over arrivals of the whole frame."""
    return float(link["drops"].sum()) / float(link["arrivals"].sum())


def variation(values: Any) -> float:
    """Return the coefficient of variation."""
    array = np.asarray(values, dtype=np.float64)
    return float(array.std() / array.mean())


# A queue that a buffer bounds, with equal packets, has less.
STEADY_QUEUE = most(1, "a queue of random arrivals, exponentially distributed, has 1")
STEADY_LOSS = most(0.2, "twice that of a thousand losses in clumps of ten")


def steady(what: str, values: Any) -> Claim:
    """Claim that a window or a rate is stable, which one that swings is not."""
    return SAME.claim(
        f"{what}: coefficient of variation",
        variation(values),
        says="stable",
    )


def steady_each(what: str, flow: pl.DataFrame, column: str = "window") -> Claim:
    """Claim that each connection's window or rate is stable over the second half of the run."""
    by_flow = later(flow).group_by("flow").agg(pl.col(column)).sort("flow")
    each = [variation(values) for values in by_flow[column]]
    claim = SAME.claim(
        f"{what}: coefficient of variation, the largest",
        max(each),
        why="chance decides when a connection loses, and each loss takes a part of its window or "
        "rate; the mean of all hardly moves",
        says="each stable",
    )
    return replace(claim, found=f"{claim.found} (the smallest {min(each):.2g})")


def steady_link(link: pl.DataFrame, where: str = "") -> list[Claim]:
    """Claim that a link's queue and its losses are stable over the second half of the run."""
    half = later(link)
    times = half["time"].to_numpy()
    samples = max(1, round(1 / float(times[1] - times[0])))
    return [
        STEADY_QUEUE.claim(
            f"the queue{where} is stable: coefficient of variation of its samples",
            variation(half["queue"]),
            says="stable",
        ),
        STEADY_LOSS.claim(
            f"the loss rate{where} is stable: coefficient of variation of the losses of a second",
            variation(averaged(half["drops"], samples)),
            says="stable",
        ),
    ]


def all_windows(flow: pl.DataFrame, column: str = "window") -> Floats:
    """Return the mean of all connections' windows or rates at each sample of the second half."""
    means = later(flow).group_by("time").agg(pl.col(column).mean()).sort("time")
    return np.asarray(means[column].to_numpy())


def per_acknowledged(per_sent: float) -> float:
    """Return losses per acknowledged packet for losses per packet that comes to the link."""
    return per_sent / (1 - per_sent)


def draw_band(ax: Any, frame: pl.DataFrame, column: str, samples: int, label: str) -> None:
    """Draw means of groups of samples, and the middle 98 % of the samples of each as a band."""
    values = frame[column].to_numpy().astype(np.float64)
    rows = len(values) // samples
    groups = values[: rows * samples].reshape(rows, samples)
    time = frame["time"].to_numpy()[samples - 1 :: samples][:rows]
    low, high = np.quantile(groups, [0.01, 0.99], axis=1)
    ax.fill_between(time, low, high, alpha=0.25, lw=0, label=f"98 % of {label}")
    ax.plot(time, groups.mean(axis=1), lw=0.8, label="mean of a second")
    # Room for a legend above.
    ax.set_ylim(0, 1.3 * max(float(high.max()), 1e-9))


def draw_loss(ax: Any, link: pl.DataFrame, samples: int, label: str, top: float) -> None:
    """Draw the loss rate as `draw_band` does, and the cumulative loss rate over it."""
    draw_band(ax, link, "loss_rate", samples, label)
    ax.plot(link["time"], cumulative_loss(link), "k", lw=1, label="cumulative")
    ax.set(xlabel="time (s)", ylabel="loss rate", ylim=(0, top))
    ax.legend(fontsize="x-small", loc="upper right")

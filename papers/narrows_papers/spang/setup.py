"""What the experiments have in common: their README, scripts and data (ifip21-buffer-sizing)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import polars as pl

from narrows.scenario import Scenario
from narrows_papers.bench import Bench
from narrows_papers.series import averaged

# Packets of 9000 bytes in a bandwidth-delay product, as the authors count.
BDP = 166
# In the order of their figures, with the share of a window that a loss leaves.
LAWS = {"Reno": "reno+sack", "CUBIC": "cubic", "Scalable": "scalable", "BBRv1": "bbr1"}
LOSS_BASED = ["Reno", "CUBIC", "Scalable"]
KEPT = {"Reno": 0.5, "CUBIC": 717 / 1024, "Scalable": 0.875}
# Their goodput tops out at 95 %, for headers and the emulator's sake, and 85 % is their "full".
FULL = 0.85 / 0.95
SECONDS, WARMUP, SAMPLES_OF_20_MS = 3, 0.2, 10
BUFFERS = [4, 9, 13, 18, 22, 27, 31, 36, 44, 67, 111, 133, 178, 222]

ASSUMED = (
    "10 Gbps, 1.195 ms (166 packets of 9000 bytes), hosts of 20 Gbps, Linux's habits: bursts of up "
    "to 64 kB, proportional rate reduction, no pacing but BBR's. Their switch drops on departure "
    "and their arrivals jitter by some ten packets; ours do not. Runs last 3 s of which the last "
    "2.4 count, for their thousand round trips. "
)


def scenario(
    bench: Bench,
    law: str,
    flows: int,
    buffer: int,
    *,
    sample: str = "2ms",
    flow: Mapping[str, Any] | None = None,
    **dumbbell: Any,
) -> Scenario:
    """Return `flows` flows of a law, with settings of their own, over a buffer in packets."""
    link = {"rate": "10Gbps", "rtt": "1.195ms", "buffer": f"{buffer}p", "access_rate": "20Gbps"}
    return Scenario(
        duration=bench.seconds(SECONDS),
        warmup=bench.seconds(WARMUP * SECONDS),
        sample=sample,
        packet="9000B",
        dumbbell=link | dumbbell,
        flows=[{"cc": LAWS[law], "count": flows} | dict(flow or {})],
    )


def predicted(law: str) -> Callable[[float], float]:
    """Return the least utilisation of one flow as a function of B/BDP (their §3).

    One that keeps β of its window at a loss has β(1 + B/BDP), BBRv1 3/4 + B/BDP.
    """
    if law == "BBRv1":
        return lambda buffer: min(1.0, 0.75 + buffer)
    return lambda buffer: min(1.0, KEPT[law] * (1 + buffer))


def measured(link: pl.DataFrame) -> pl.DataFrame:
    """Return the samples of the bottleneck that count."""
    return link.filter((pl.col("link") == 0) & (pl.col("time") > WARMUP * pl.col("time").max()))


def worst_windows(link: pl.DataFrame) -> float:
    """Return the 10th percentile of the utilisation of 20 ms."""
    return float(np.quantile(averaged(measured(link)["utilisation"], SAMPLES_OF_20_MS), 0.1))


def lowest_queue(link: pl.DataFrame) -> float:
    """Return the 1st percentile of the queue's samples in the middle third of the run."""
    third = pl.col("time").max() / 3
    middle = link.filter((pl.col("link") == 0) & pl.col("time").is_between(third, 2 * third))
    return float(np.quantile(middle["queue"].to_numpy(), 0.01))

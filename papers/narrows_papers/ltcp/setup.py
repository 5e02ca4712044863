"""What the paper's ns-2 experiments have in common (§V-A)."""

from __future__ import annotations

from typing import Any

import polars as pl

from narrows.scenario import Scenario
from narrows.sweeps import Sweep
from narrows_papers.bench import Bench

# In the tables a full link of 1 Gbps carries 961.54 Mbps: 1000 of 1040 bytes are payload.
PACKET = 1040
PACKET_BITS = PACKET * 8
PAYLOAD = 1000 / 1040
RTT = 0.07
PROTOCOLS = {"TCP": "sack", "LTCP": "ltcp"}


def scenario(
    bench: Bench,
    rate: str,
    flows: list[dict[str, Any]],
    seconds: float,
    *,
    warmup: float,
    **options: Any,
) -> Scenario:
    """Describe flows over the dumbbell of figure 4: 70 ms and a buffer of 6000 packets.

    Access links have 2.4 Gbps, or 10 Gbps if the bottleneck has 2.4 Gbps.
    """
    dumbbell = {
        "rate": rate,
        "rtt": f"{RTT}s",
        "buffer": "6000p",
        "access_rate": "2.4Gbps" if rate != "2.4Gbps" else "10Gbps",
    }
    sample = options.pop("sample", "0s")
    return Scenario(
        tcp="ns2",
        packet=f"{PACKET}B",
        duration=bench.seconds(seconds),
        warmup=bench.seconds(warmup),
        sample=sample,
        dumbbell=dumbbell | options,
        flows=flows,
    )


def flow_series(result: Sweep, number: int) -> pl.DataFrame:
    """Return the samples of one flow."""
    return result.series("flow_series").filter(pl.col("flow") == number)


def megabits(goodput: float) -> float:
    """Return a goodput in Mbps, the unit of the paper's tables."""
    return goodput / 1e6

"""What the paper's ns-2 experiments have in common (§V-A)."""

from __future__ import annotations

from typing import Any

import polars as pl

from narrows.papers.lab import Lab
from narrows.scenario import Scenario
from narrows.sweeps import Sweep

# The tables' full link of 1 Gbps is 961.54 Mbps: 1000 bytes of payload in 1040.
PACKET = 1040
PACKET_BITS = PACKET * 8
PAYLOAD = 1000 / 1040
RTT = 0.07
PROTOCOLS = {"TCP": "sack", "LTCP": "ltcp"}


def scenario(
    lab: Lab,
    rate: str,
    flows: list[dict[str, Any]],
    seconds: float,
    *,
    warmup: float,
    **options: Any,
) -> Scenario:
    """Describe flows over the dumbbell of figure 4: 70 ms, 6000 packets, access links of 2.4 Gbps unless the bottleneck is as fast."""
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
        duration=lab.seconds(seconds),
        warmup=lab.seconds(warmup),
        sample=sample,
        dumbbell=dumbbell | options,
        flows=flows,
    )


def flow_series(result: Sweep, number: int) -> pl.DataFrame:
    """The samples of one flow."""
    return result.series("flow_series").filter(pl.col("flow") == number)


def megabits(goodput: float) -> float:
    """Bits a second as the paper's tables give them."""
    return goodput / 1e6

"""What the paper's experiments have in common (§4.1, §4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from narrows.papers.lab import Lab, bottleneck
from narrows.scenario import Scenario
from narrows.sweeps import Sweep

RATE = 622e6
PACKET_BITS = 8000
# The rule of thumb: 622 Mbps times the mean RTT of 82 ms.
RULE_OF_THUMB = 6_375_500
RTTS = {"rtt": "64ms", "rtt_spread": "36ms"}
ORIGINAL, CONSERVATIVE = "xcp", "xcp:conservative=true"
# ns-2's sender: Reno's recovery, and whole packets in the header.
XCP = "xcp:whole=true+reno"
FLOWS = [2, 5, 10, 20, 40, 80, 100, 200, 400, 800]
# What the paper's text says about figure 1 (a): bytes that paced XCP with C.P. needs, by flows.
PAPER_BUFFERS = {100: 23_360, 800: 124_040}


@dataclass(frozen=True)
class Sender:
    """One of the eight senders: its law over its recovery, paced or not, and its routers' queue."""

    cc: str
    paced: bool
    queue: str = "drop-tail"

    @property
    def flow(self) -> dict[str, Any]:
        """Return a flow's fields (§4.1).

        That is timestamps, slow start up to 64 packets (XCP's sender has none) and, if paced, a
        token every RTT/cwnd.
        """
        pacing = "even" if self.paced else "none"
        flow = {"cc": self.cc, "pacing": pacing, "timestamps": True}
        return flow if self.cc == XCP else {**flow, "ssthresh": 64}


LAWS = {
    "XCP": (XCP, CONSERVATIVE),
    "NewReno": ("newreno", "drop-tail"),
    "HSTCP": ("highspeed", "drop-tail"),
    "Reno": ("reno", "drop-tail"),
}
SENDERS = {
    f"{prefix} {name}": Sender(cc, paced, queue)
    for prefix, paced in (("P.", True), ("N.P.", False))
    for name, (cc, queue) in LAWS.items()
}
PACED_TCP = [name for name in SENDERS if name.startswith("P.") and name != "P. XCP"]
BURSTY_TCP = [name for name in SENDERS if name.startswith("N.P.") and name != "N.P. XCP"]


def both_ways(flows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add "reverse traffic with same properties as the forward traffic" (§4.2)."""
    return [*flows, *({**flow, "reverse": True} for flow in flows)]


def dumbbell(
    lab: Lab,
    flows: list[dict[str, Any]],
    queue: str,
    buffer: int,
    *,
    seconds: float = 100,
    warmup: float = 40,
    sample: str = "0s",
) -> Scenario:
    """Describe the dumbbell of §4.2, with traffic both ways.

    It has 622 Mbps and 30 ms between the routers, 2.4 Gbps to them, and queues in bytes.
    """
    return Scenario(
        tcp="ns2",
        packet="1000B",
        duration=lab.seconds(seconds),
        warmup=lab.seconds(warmup),
        sample=sample,
        # The preset gives two fifths of its RTT, 30 ms, to the bottleneck. The flows have RTTs of
        # their own.
        dumbbell={
            "rate": "622Mbps",
            "rtt": "75ms",
            "buffer": f"{buffer}B",
            "queue": queue,
            "access_rate": "2.4Gbps",
        },
        flows=both_ways([{"start_spread": lab.seconds(10), **flow} for flow in flows]),
    )


def long_flows(sender: Sender, count: int) -> dict[str, Any]:
    """Describe FTP flows with RTTs from 64 to 100 ms."""
    return {**sender.flow, "count": count, **RTTS}


def links(result: Sweep, name: str = "bottleneck") -> pl.DataFrame:
    """Return one link's row of each run."""
    return result.links.filter(pl.col("name") == name)


def share(frame: pl.DataFrame, column: str, **point: Any) -> float:
    """Return the one value of a column at a point."""
    rows = frame.filter(*(pl.col(name) == value for name, value in point.items()))
    return float(rows[column].item())


def link_over_time(result: Sweep) -> tuple[Any, Any]:
    """Return times and utilisation of the bottleneck."""
    rows = bottleneck(result)
    return rows["time"].to_numpy(), rows["utilisation"].to_numpy()

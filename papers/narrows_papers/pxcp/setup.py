"""What the paper's experiments have in common (§4.1, §4.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from narrows.scenario import Scenario
from narrows.sweeps import Sweep
from narrows_papers.bench import Bench, bottleneck
from narrows_papers.claims import Claim, ranked

# ns-2.28, which the paper names (§4.1): docs/defaults.md, "Older habits".
TCP: Final = "ns2-2005"
RATE = 622e6
PACKET_BITS = 8000
# The rule of thumb: 622 Mbps times the mean RTT of 82 ms.
RULE_OF_THUMB = 6_375_500
RTTS = {"rtt": "64ms", "rtt_spread": "36ms"}
# What no figure says and every run has.
ASSUMED = (
    "In all runs: RTTs at equal distances from 64 to 100 ms, a clock of 1 ms for timers and RTTs, "
    "acknowledgements of 40 bytes (23,360 bytes are 23 packets and 9 of those), slow start up to "
    "64 packets for TCP, and for XCP a window that is whole packets to header and pacer (§4.2.2). "
)
ORIGINAL, CONSERVATIVE = "xcp", "xcp:conservative=true"
# ns-2's sender: Reno's recovery, and a window of whole packets to the header and the pacer.
XCP = "xcp:whole=true+reno"
# An order or a maximum that hangs on a seed is judged over so many.
SEEDS = 5
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

        That is timestamps, a clock of 1 ms ("fine course timers"), slow start up to 64 packets
        (XCP's sender has none) and, if paced, a token every RTT/cwnd. Acknowledgements have 40
        bytes, as the paper's queues show: 23,360 = 23·1000 + 9·40, 10,200 = 10·1000 + 5·40.
        """
        pacing = "even" if self.paced else "none"
        flow = {
            "cc": self.cc,
            "pacing": pacing,
            "timestamps": True,
            "tick": "1ms",
            "ack_size": "40B",
        }
        return flow if self.cc == XCP else {**flow, "ssthresh": 64}


LAWS = {
    "XCP": (XCP, CONSERVATIVE),
    "NewReno": ("newreno", "drop-tail"),
    "HSTCP": ("highspeed", "drop-tail"),
    "Reno": ("reno+reno", "drop-tail"),
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
    bench: Bench,
    flows: list[dict[str, Any]],
    queue: str,
    buffer: int,
    *,
    seconds: float = 100,
    warmup: float = 40,
    sample: str = "0s",
    back: list[dict[str, Any]] | None = None,
    reverse_buffer: int | None = None,
) -> Scenario:
    """Describe the dumbbell of §4.2, with traffic both ways.

    It has 622 Mbps and 30 ms between the routers, 2.4 Gbps to them, and queues in bytes. Flows back
    are as those forth, and the buffer there is the same, unless given.
    """
    both = both_ways(flows) if back is None else [*flows, *back]
    other = {} if reverse_buffer is None else {"reverse": {"buffer": f"{reverse_buffer}B"}}
    return Scenario(
        tcp=TCP,
        packet="1000B",
        duration=bench.seconds(seconds),
        warmup=bench.seconds(warmup),
        sample=sample,
        # The preset gives two fifths of its RTT, 30 ms, to the bottleneck. The flows have RTTs of
        # their own.
        dumbbell={
            "rate": "622Mbps",
            "rtt": "75ms",
            "buffer": f"{buffer}B",
            "queue": queue,
            "access_rate": "2.4Gbps",
            **other,
        },
        flows=[{"start_spread": bench.seconds(10), **flow} for flow in both],
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


def over_seeds(frame: pl.DataFrame, column: str, **point: Any) -> list[float]:
    """Return the values of a column at a point, one for each seed."""
    rows = frame.filter(*(pl.col(name) == value for name, value in point.items()))
    return [float(value) for value in rows.sort("seed")[column]]


def order(
    text: str, names: Sequence[str], values: Mapping[str, Sequence[float]], why: str = ""
) -> Claim:
    """Claim that the first sender has the highest value, by the intervals over seeds.

    A single seed, as at quick scale, decides nothing.
    """
    return ranked(text, names, [values[name] for name in names], why)


def link_over_time(result: Sweep) -> tuple[Any, Any]:
    """Return times and utilisation of the bottleneck."""
    rows = bottleneck(result)
    return rows["time"].to_numpy(), rows["utilisation"].to_numpy()

"""An erasure code in place of retransmission (§III-A, §IV)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, alike, interval, measured, stated
from narrows_papers.etcp.setup import P0, packets_a_second, scenario
from narrows_papers.registry import Finding, experiment

# Reliable delivery: retransmission (§IV), or a RaptorQ code over blocks of so many packets.
WAYS: dict[str, dict[str, Any]] = {
    "retransmission": {},
    "code, blocks of 100": {"raptorq": 100},
    "code, blocks of 1000": {"raptorq": 1000},
    "code, blocks of 10,000": {"raptorq": 10_000},
}
CODES = [way for way, fields in WAYS.items() if fields]
# Packets of a transfer.
SIZES = [1_000, 10_000, 100_000, 1_000_000]
RTT = 0.1
SEEDS = 5


@experiment("etcp/erasure", "an erasure code in place of retransmission: time and overhead")
def erasure(bench: Bench) -> Finding:
    """Transfer files over 1 Gbps and 100 ms at p0 = 1 %, with both ways of reliable delivery.

    §III-A: losses of this order "can easily be dealt with through either retransmission, as in TCP,
    or through simple forward error correction codes".
    """

    def at(way: str, packets: int) -> Scenario:
        flow = {"cc": "etcp", "size": f"{packets}kB", "start_spread": "0s", **WAYS[way]}
        return scenario(bench, "1Gbps", "100ms", [flow], 60 / bench.scale, warmup=0.0)

    sweep = bench.sweep(at, seeds=bench.seeds(SEEDS), way=list(WAYS), packets=SIZES)
    columns = ["way", "packets", "seed", "completion_time", "sent", "lost"]
    frame = sweep.flows.select(columns).with_columns(
        (pl.col("sent") / pl.col("packets") - 1).alias("overhead")
    )
    endless = bench.sweep(
        lambda way: scenario(bench, "100Mbps", "100ms", [{"cc": "etcp", **WAYS[way]}], 30),
        way=list(WAYS),
    ).runs
    claims = [
        *(_completion(frame, way, packets) for packets in SIZES[2:] for way in CODES),
        *_overhead(frame),
        _independent(endless),
    ]
    note = (
        "The paper names LT codes and gives no numbers; the code here is RaptorQ (RFC 6330), whose "
        "rule of decoding is simulated, not its arithmetic (docs/laws/etcp.md). Packets that make "
        "up for the losses leave right behind their block, so that a receiver rarely waits a round "
        "trip for them. Completion times have no handshake. The same seed has the same gaps "
        "between packets with each way, until the data ends. Up to 10,000 packets nothing is lost: "
        "the data ends before slow start does."
    )
    return Finding(claims, {"transfers": frame}, _figure(frame), note)


def _values(frame: pl.DataFrame, way: str, packets: int, column: str) -> list[float]:
    rows = frame.filter((pl.col("way") == way) & (pl.col("packets") == packets)).sort("seed")
    return [float(value) for value in rows[column]]


def _completion(frame: pl.DataFrame, way: str, packets: int) -> Claim:
    times = {
        name: _values(frame, name, packets, "completion_time") for name in ("retransmission", way)
    }
    return alike(
        f"{packets:,} packets: losses of 1 % can be dealt with through either retransmission or "
        f"forward error correction: completion time with retransmission and with a {way} (at full "
        f"rate from the start: {_ideal(packets):.3g} s)",
        list(times.values()),
        "s",
        "two symbols and two standard deviations beyond the losses are a larger share of a small "
        "block: see the symbols sent beyond the data",
    )


def _ideal(packets: int) -> float:
    return RTT / 2 + packets / packets_a_second(1000)


def _overhead(frame: pl.DataFrame) -> list[Claim]:
    """Judge the overhead by the rule: the losses, two symbols, two standard deviations."""
    largest = SIZES[-1]
    resent = _values(frame, "retransmission", largest, "overhead")
    claims = []
    for way, fields in WAYS.items():
        if "raptorq" not in fields:
            continue
        block = fields["raptorq"]
        spare = (2 + 2 * math.sqrt(block * P0)) / block
        overhead = float(np.mean(_values(frame, way, largest, "overhead")))
        claims.append(
            measured(
                f"{largest:,} packets, {way}: sent beyond the data, with the losses made up for; "
                f"retransmission sends {interval(resent)}, and the sender goes by a share of "
                "losses that it measures",
                f"{float(np.mean(resent)) + spare:.4f} by losses + (2 + 2√(K·p0))/K",
                f"{overhead:.4f}",
            )
        )
    return claims


def _independent(runs: pl.DataFrame) -> Claim:
    columns = ["utilisation", "loss_rate", "mean_queue"]
    return stated(
        '"the reliability mechanism operates completely independent of the congestion control '
        'algorithm" (§IV): utilisation, loss rate and mean queue of 30 s at 100 Mbps, all ways',
        "the same in every digit",
        ", ".join(f"{float(runs[column][0]):.6g}" for column in columns)
        + (" each" if all(runs[column].n_unique() == 1 for column in columns) else " and others"),
        all(runs[column].n_unique() == 1 for column in columns),
    )


def _figure(frame: pl.DataFrame) -> Any:
    figure, axes = panels(1, 2, width=4.2)
    time, overhead = axes[0]
    resent = [
        np.mean(_values(frame, "retransmission", packets, "completion_time")) for packets in SIZES
    ]
    for way in WAYS:
        rows = [_values(frame, way, packets, "completion_time") for packets in SIZES]
        time.semilogx(SIZES, np.mean(rows, axis=1) / resent, "o-", ms=3, lw=1, label=way)
        rows = [_values(frame, way, packets, "overhead") for packets in SIZES]
        overhead.semilogx(SIZES, 100 * np.mean(rows, axis=1), "o-", ms=3, lw=1, label=way)
    time.set(xlabel="packets of data", ylabel="time over retransmission's")
    overhead.set(xlabel="packets of data", ylabel="sent beyond the data (%)", ylim=(0, None))
    time.legend(fontsize="x-small", loc="upper left")
    return figure

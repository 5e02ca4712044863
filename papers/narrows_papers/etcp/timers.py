"""Timers of least granularity, which §V-A leaves out of its scope."""

from __future__ import annotations

from typing import Any

import polars as pl

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows_papers.bench import Bench
from narrows_papers.claims import stated
from narrows_papers.etcp.setup import packets_a_second, scenario
from narrows_papers.registry import Finding, experiment

# Seconds.
TICKS = {"exact": 0.0, "10us": 1e-5, "100us": 1e-4, "1ms": 1e-3}
MEGABITS = [10, 100, 1000]
BUFFERS = [20, 200]
SECONDS = 20


@experiment("etcp/timers", "rate-control timers that go off at multiples of 10 µs to 1 ms")
def timers(bench: Bench) -> Finding:
    """Let the hosts' timers go off at ticks (§V-A).

    "There is often a minimum timer granularity. How to implement the timer in real operating
    systems in a high bandwidth network is an issue out of the scope of this paper."
    """

    def at(tick: str, mbps: int, packets: int) -> Scenario:
        host = {} if tick == "exact" else {"host": {"tick": tick}}
        flow = {"cc": f"etcp:b={1.25 * packets:g}", **host}
        return scenario(bench, f"{mbps}Mbps", "100ms", [flow], SECONDS, buffer=f"{packets}p")

    runs = bench.sweep(at, tick=list(TICKS), mbps=MEGABITS, packets=BUFFERS).runs
    table = runs.select("tick", "mbps", "packets", "utilisation", "loss_rate", "max_queue")
    length = pl.col("tick").replace_strict(TICKS, return_dtype=pl.Float64)
    burst = length * pl.col("mbps") * packets_a_second(1)
    exact = table.filter(tick="exact").select("mbps", "packets", without="utilisation")
    table = table.with_columns(burst.alias("burst")).join(exact, on=["mbps", "packets"])
    table = table.with_columns((pl.col("without") - pl.col("utilisation")).alias("cost"))
    fits = table.filter((pl.col("burst") > 0) & (pl.col("burst") <= pl.col("packets")))
    bursts = table.filter(pl.col("burst") > pl.col("packets"))
    cost = float(fits["cost"].to_numpy().max())
    carried = float((bursts["packets"] / bursts["burst"]).to_numpy()[0])
    left = float(bursts["utilisation"].to_numpy()[0])
    claims = [
        stated(
            "a tick in which the link sends no more than its buffer holds costs nothing: "
            "utilisation lost against exact timers, the largest over 10 Mbps to 1 Gbps and buffers "
            "of 20 and 200 packets",
            "not given (our bound: 0.02)",
            f"{cost:.3f} ({fits.height} settings)",
            cost < 0.02,
        ),
        stated(
            "a tick in which it sends more than that leaves at most a buffer per tick: utilisation "
            "at 1 Gbps with a tick of 1 ms and a buffer of 20 packets",
            f"not given (at most {carried:.3f}, 20 of 120 packets)",
            f"{left:.3f}",
            left <= carried,
        ),
    ]
    note = (
        "What the timer should have released since its last tick leaves together. 1 ms at 1 Gbps "
        "are 120 packets. b is 1.25 times the buffer."
    )
    return Finding(claims, {"table": table}, _figure(table), note)


def _figure(table: pl.DataFrame) -> Any:
    figure, axes = panels(1, len(BUFFERS), width=4)
    for packets, ax in zip(BUFFERS, axes[0], strict=True):
        for mbps, size in zip(MEGABITS, (10, 6, 3), strict=True):
            rows = table.filter((pl.col("mbps") == mbps) & (pl.col("packets") == packets))
            ax.plot(range(len(TICKS)), rows["utilisation"], "o-", ms=size, label=f"{mbps} Mbps")
        ax.set_xticks(range(len(TICKS)), list(TICKS))
        ax.set(xlabel="tick", ylim=(0, 1.02), title=f"buffer of {packets} packets")
    axes[0][0].set_ylabel("utilisation")
    axes[0][0].legend(fontsize="x-small")
    return figure

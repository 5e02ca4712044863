"""The LAN, §6.1: figures 4, 5 and 6."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl

from narrows.papers.claims import Claim, above, below, near, stated
from narrows.papers.gwa.setup import (
    ADVERTISED,
    LAN,
    PACKET,
    PAYLOAD,
    SEEDS,
    SYSTEMS,
    TRADITIONAL,
    bottleneck,
    draw_shares,
    draw_telnet,
    draw_windows,
    fair,
    of,
    scenario,
    shares,
    spread,
    telnet,
)
from narrows.papers.lab import Lab
from narrows.papers.registry import Finding, experiment
from narrows.plot import panels
from narrows.sweeps import Sweep

SIZES = [30, 60, 90, 120, 180, 240, 360]
RATE = 100e6
HOSTS = 10
# Flows seen in 0.1 s: the FTPs, and the Telnet sessions that offered something, 1 − 1/e of them.
ACTIVE = HOSTS + HOSTS * (1 - math.exp(-1))
# Of what is available to payload, Telnet takes 10 · 1000 bytes · 10 per second.
FULL = (PAYLOAD - 0.008) / HOSTS


def runs(lab: Lab) -> Sweep:
    """Run each system at each buffer."""
    return lab.sweep(
        lambda system, kilobytes: scenario(lab, LAN, system, kilobytes),
        system=list(SYSTEMS),
        kilobytes=SIZES,
        seeds=lab.seeds(SEEDS),
    )


@experiment("gwa/fig04", "LAN: goodput of ten FTPs against the buffer")
def fig04(lab: Lab) -> Finding:
    """Reproduce figure 4 (§6.1): 100 Mbps everywhere, 100 us one way, receivers with 64 kB.

    Runs last 25 s, of which the first 5 s are not measured.
    """
    frame = shares(runs(lab), HOSTS, RATE)
    unfair = {system: max(spread(frame, system).values()) for system in TRADITIONAL}
    claims = [
        *fair("", frame, ADVERTISED, 0.05),
        *(_full(frame, system) for system in ADVERTISED),
        *(
            above(
                f"{system} is unfair to some degree: spread of goodput, (max − min)/mean, "
                "at the worst buffer",
                0.05,
                unfair[system],
            )
            for system in TRADITIONAL
        ),
        above(
            "but goodput is good: the lowest mean share of the link per FTP with Drop-Tail, "
            "RED and ECN",
            0.08,
            min(min(of(frame, system, "mean").values()) for system in TRADITIONAL),
        ),
    ]
    figure, axes = panels(2, 3, width=3.4, height=2.4)
    draw_shares(axes, frame, 0.1)
    note = (
        f"A full link gives each FTP {FULL:.4f} of its rate: 1000 of every 1040 bytes, less "
        f"Telnet's part. Most and least are means over {SEEDS} seeds. Drop-Tail at 30 and 60 kB is "
        "a phase effect: a window of 64 packets over a host's link as fast as the bottleneck keeps "
        "the buffer full, each of its packets arriving just as one leaves."
    )
    return Finding(claims, {"goodput": frame}, figure, note)


def _full(frame: pl.DataFrame, system: str) -> Claim:
    mean = of(frame, system, "mean")
    worst = min(mean, key=lambda size: mean[size])
    return stated(
        f"{system} fills the link even with small buffers: "
        "the lowest mean share of the link per FTP",
        f"> {0.97 * FULL:.4f}",
        f"{mean[worst]:.4f} at {worst} kB",
        mean[worst] > 0.97 * FULL,
    )


@experiment("gwa/fig05", "LAN: drops and Telnet delays against the buffer")
def fig05(lab: Lab) -> Finding:
    """Reproduce figure 5 (§6.1).

    Delays run from the first offer to delivery in order, retransmissions included.
    """
    frame = telnet(runs(lab), HOSTS)
    lossless = {
        system: max(of(frame, system, "drop_rate").values()) for system in (*ADVERTISED, "ECN")
    }
    larger = {
        system: [rate for size, rate in of(frame, system, "drop_rate").items() if size >= 90]
        for system in ("Drop-Tail", "RED")
    }
    longest = {system: of(frame, system, "max_delay") for system in SYSTEMS}
    mean = {system: of(frame, system, "mean_delay") for system in SYSTEMS}
    # A packet of 1040 bytes takes 83.2 us on each of three links, and 100 us on the wires. It waits
    # at least for the rest of one packet.
    alone = 3 * PACKET * 8 / RATE + 100e-6
    claims = [
        *(
            stated(
                f"{system} drops nothing in steady state: drop rate at the worst buffer",
                "0",
                f"{lossless[system]:.2g}",
                lossless[system] == 0,
                SMALL,
            )
            for system in lossless
        ),
        stated(
            "Drop-Tail and RED drop less with larger buffers, from 90 kB on: "
            "drop rate at 90 kB and at 360 kB",
            "falls at each step",
            ", ".join(
                f"{system} {rates[0]:.4f} to {rates[-1]:.4f}" for system, rates in larger.items()
            ),
            all(bool((np.diff(rates) < 0).all()) for rates in larger.values()),
        ),
        *(
            above(
                f"{system}: the longest Telnet delay is in the range of seconds, "
                "at the worst buffer",
                1,
                max(longest[system].values()),
                "s",
                BACKOFF,
            )
            for system in ("Drop-Tail", "RED")
        ),
        near(
            "Drop-Tail: the longest Telnet delay at 30 kB is about 12 s",
            12,
            longest["Drop-Tail"][30],
            0.5,
            "s",
            NOTHING,
        ),
        *(
            below(
                f"{system}: the longest Telnet delay is in the range of milliseconds, "
                "at the worst buffer",
                0.1,
                max(longest[system].values()),
                "s",
            )
            for system in (*ADVERTISED, "ECN")
        ),
        below(
            "GWA-RR: Telnet delays are propagation and transmission only: "
            "mean delay over that of an idle network, at the worst buffer",
            2.0,
            max(mean["GWA-RR"].values()) / alone,
            why=TURNS,
        ),
        below(
            "GWA-RR: the mean Telnet delay does not grow with the buffer, from 60 kB on: at "
            "360 kB over that at 60 kB",
            1.1,
            mean["GWA-RR"][360] / mean["GWA-RR"][60],
        ),
        stated(
            "GWA-FCFS: the mean Telnet delay grows with the buffer",
            "grows at each step",
            ", ".join(f"{1e3 * v:.2f} ms" for v in mean["GWA-FCFS"].values()),
            _rises(mean["GWA-FCFS"]),
        ),
        below(
            "BA: the mean Telnet delay is negligible: its largest over GWA-FCFS's largest",
            0.2,
            max(mean["BA-FCFS"].values()) / max(mean["GWA-FCFS"].values()),
        ),
    ]
    figure, axes = panels(1, 3, width=4)
    draw_telnet(axes, frame)
    return Finding(claims, {"telnet": frame}, figure)


SMALL = (
    "drops occur at 90 kB and less, when the upper threshold is 7 to 22 packets and bursts fill "
    "the rest of the buffer; none from 120 kB on"
)
BACKOFF = (
    "two timeouts in a row take 0.2 and 0.4 s here; the paper's ns-2 of 1999, with ticks of 0.1 s, "
    "has a different minimum timeout"
)
NOTHING = (
    "most sessions get nothing through in the 20 s measured, behind the FTP that has the queue to "
    "itself (figure 4)"
)
TURNS = "a packet of each of the ten FTPs takes its turn before a Telnet packet, 0.83 ms in all"


def _rises(values: dict[int, float]) -> bool:
    return bool((np.diff(list(values.values())) > 0).all())


@experiment("gwa/fig06", "LAN: window and queue in the first 3 s")
def fig06(lab: Lab) -> Finding:
    """Reproduce figure 6 (§6.1): 120 kB; an FTP's window, and the queue in means over 10 ms."""
    seen = {}
    for system in SYSTEMS:
        result = lab.run(scenario(lab, LAN, system, 120, seconds=3, warmup=0, sample="1ms"))
        flow = result.series("flow_series").filter(pl.col("flow") == 0).select("time", "window")
        link = bottleneck(result).select("time", "queue", "drops")
        seen[system] = (
            flow,
            link,
            result.flows.filter(pl.col("flow") < HOSTS)["timeouts"].to_list(),
        )
    room = 120_000 / PACKET
    timeouts = {system: sum(counts) / HOSTS for system, (_, _, counts) in seen.items()}
    claims = [
        *(
            above(
                f"{system} oscillates: the window's coefficient of variation after 0.5 s",
                0.2,
                _variation(seen[system][0]),
            )
            for system in ("Drop-Tail", "RED")
        ),
        above(
            "RED: timeouts per FTP in 3 s, mean of ten (8 for the one that the paper shows)",
            3,
            timeouts["RED"],
        ),
        above(
            "ECN: several drops at the beginning: number in the first second",
            1,
            _drops(seen["ECN"][1], 0, 1),
        ),
        stated(
            "ECN: no drops after the first second",
            "0",
            f"{_drops(seen['ECN'][1], 1, 3):.0f}",
            _drops(seen["ECN"][1], 1, 3) == 0,
        ),
        *(
            stated(
                f"{system}: no drops, from the very beginning",
                "0",
                f"{_drops(seen[system][1], 0, 3):.0f}",
                _drops(seen[system][1], 0, 3) == 0,
            )
            for system in ADVERTISED
        ),
        *(
            below(
                f"{system}: steady within 0.5 s: "
                "the window's coefficient of variation from then on",
                0.2,
                _variation(seen[system][0]),
            )
            for system in ADVERTISED
        ),
        *(
            near(
                f"{system}: half of the FTPs' part of the buffer is queue: "
                "mean queue over the buffer",
                HOSTS / (2 * ACTIVE),
                _queue(seen[system][1]) / room,
                0.25,
            )
            for system in ("GWA-RR", "GWA-FCFS")
        ),
        *(
            below(
                f"{system}: that is less than half of the buffer",
                0.5,
                _queue(seen[system][1]) / room,
            )
            for system in ("GWA-RR", "GWA-FCFS")
        ),
        below(
            "BA: the queue is close to zero: mean queue over the buffer",
            0.1,
            _queue(seen["BA-FCFS"][1]) / room,
        ),
    ]
    figure = draw_windows(
        {system: flow for system, (flow, _, _) in seen.items()},
        {system: _tens(link) for system, (_, link, _) in seen.items()},
    )
    data = pl.concat(
        [flow.with_columns(system=pl.lit(system)) for system, (flow, _, _) in seen.items()]
    )
    return Finding(claims, {"windows": data}, figure)


def _variation(flow: pl.DataFrame) -> float:
    late = flow.filter(pl.col("time") > 0.5)["window"].to_numpy()
    return float(late.std() / late.mean())


def _drops(link: pl.DataFrame, begin: float, end: float) -> float:
    return float(link.filter((pl.col("time") > begin) & (pl.col("time") <= end))["drops"].sum())


def _queue(link: pl.DataFrame) -> float:
    return float(link.filter(pl.col("time") > 0.5)["queue"].to_numpy().mean())


def _tens(link: pl.DataFrame) -> tuple[Any, Any]:
    """Return times and queue in means over 10 ms."""
    whole = link.height // 10 * 10
    time, queue = link["time"].to_numpy()[:whole], link["queue"].to_numpy()[:whole]
    return time.reshape(-1, 10).mean(axis=1), queue.reshape(-1, 10).mean(axis=1)

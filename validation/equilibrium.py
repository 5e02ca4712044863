"""E-TCP in this machine's kernel at its equilibrium, and how the path is on its own.

Part of `make validate-real`. Packets are lost at random with p = p0 + 2/W (E-TCP, eq. 5), and the
mean of the window is compared with W. Then the lateness of the path at several rates.
"""

from __future__ import annotations

import sys
from typing import Any

import narrows as nw
from narrows import lab
from narrows.theory.queue import Sizes, mg1b_loss

# W in packets, b, and seconds: a law with a larger b moves more slowly.
POINTS = [(20, 25, 20), (50, 25, 20), (200, 25, 30), (500, 10, 30), (1000, 5, 30), (2000, 5, 40)]
P0 = 0.01
RATES = ["100Mbps", "500Mbps", "1Gbps", "10Gbps"]


def equilibrium(window: int, b: int, seconds: int) -> dict[str, Any]:
    """Let one E-TCP flow meet a loss rate; return what its window was."""
    per_acknowledged = P0 + 2 / window
    loss = per_acknowledged / (1 + per_acknowledged)
    scenario = nw.Scenario(
        duration=f"{seconds}s",
        warmup=f"{seconds / 2}s",
        sample="20ms",
        dumbbell={"rate": "2Gbps", "rtt": "40ms", "buffer": "1bdp", "loss": f"{100 * loss:.4f}%"},
        flows=[{"cc": f"etcp:b={b}"}],
    )
    result = lab.run(scenario)
    series = result.flow_series.filter(result.flow_series["time"] > seconds / 2)
    measured = float(series["window"].to_numpy().mean())
    link = result.links.row(0, named=True)
    # p is per packet acknowledged.
    lost = link["wire_losses"] / max(link["departures"] - link["wire_losses"], 1)
    valid = result.real is not None and result.real.doubt is None
    expected = 2 / max(lost - P0, 1e-9)
    return {
        "w": window,
        "b": b,
        "lost": lost,
        "expected": expected,
        "window": measured,
        "valid": valid,
    }


def lateness(rate: str) -> dict[str, Any]:
    """Fill a path with four CUBIC flows, segments one by one; return how late it was."""
    scenario = nw.Scenario(
        duration="15s",
        warmup="5s",
        dumbbell={"rate": rate, "rtt": "20ms", "buffer": "0.5bdp"},
        flows=[{"cc": "cubic", "count": 4, "quantum": 1}],
    )
    result = lab.run(scenario)
    if result.real is None:
        raise TypeError("a run for real says how late it was")
    late = result.real.lateness
    link = result.links.row(0, named=True)
    return {
        "rate": rate,
        "utilisation": link["utilisation"],
        "packets": link["departures"] / 10,
        "late": [late.p50, late.p99, late.p999],
        "stalls": late.stalls,
    }


def poisson() -> list[str]:
    """Offer Poisson datagrams to ten places; return the rows beside theory (M/D/1/B)."""
    lines = ["| Poisson, offered | loss | M/D/1/B |", "|---|---|---|"]
    for load in (0.9, 1.1):
        scenario = nw.Scenario(
            duration="31s",
            warmup="1s",
            dumbbell={"rate": "12Mbps", "rtt": "10ms", "buffer": "10p"},
            flows=[{"datagrams": "poisson", "app": {"rate": f"{12 * load:g}Mbps"}}],
        )
        link = lab.run(scenario).links.row(0, named=True)
        offered = link["arrivals"] / 30 / 1000
        loss = float(mg1b_loss(offered, 10, Sizes([1500])))
        lines.append(f"| {offered:.3f} | {100 * link['loss_rate']:.2f} % | {100 * loss:.2f} % |")
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def page() -> str:
    """Measure all; return the page's part."""
    lines = [
        "| W | b | losses per packet acknowledged, p | 2/(p − p0) | mean window | apart | valid |",
        "|---|---|---|---|---|---|---|",
    ]
    for point in POINTS:
        it = equilibrium(*point)
        apart = it["window"] / it["expected"] - 1
        lines.append(
            f"| {it['w']} | {it['b']} | {100 * it['lost']:.3f} % | {it['expected']:.1f} "
            f"| {it['window']:.1f} | {100 * apart:+.1f} % | {'yes' if it['valid'] else 'no'} |"
        )
        print(lines[-1], file=sys.stderr, flush=True)
    lines += ["", *poisson()]
    lines += [
        "",
        "| rate | utilisation | packets/s | late us: 50 %, 99 %, 99.9 % | stalls |",
        "|---|---|---|---|---|",
    ]
    for rate in RATES:
        it = lateness(rate)
        late = " / ".join(f"{1e6 * value:.0f}" for value in it["late"])
        lines.append(
            f"| {rate} | {it['utilisation']:.3f} | {it['packets']:.0f} | {late} | {it['stalls']} |"
        )
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)

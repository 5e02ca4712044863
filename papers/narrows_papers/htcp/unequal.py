"""Two H-TCP flows whose round trips differ: figure 10 otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from narrows.plot import panels
from narrows.types import Floats
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, measured, near
from narrows_papers.htcp.fast import FIXED
from narrows_papers.htcp.setup import events, scenario, windows
from narrows_papers.registry import Finding, experiment

LAWS = {"as in figure 10": FIXED, "growth scaled by the RTT": f"{FIXED}:rtt_scaling=true"}
RTTS = ["100ms", "200ms"]
SECONDS = 400


@experiment("htcp/unequal", "two H-TCP flows, the second with twice the RTT")
def unequal(bench: Bench) -> Finding:
    """Run figure 10's network with a second flow of 100 and of 200 ms, from 60 s on."""
    rows, claims = [], []
    figure, axes = panels(1, len(LAWS), width=4)
    for ax, (name, cc) in zip(axes[0], LAWS.items(), strict=True):
        for rtt in RTTS:
            time, window, before, goodput = _two(bench, cc, rtt)
            ratio = float(before[0] / before[1])
            rows.append((name, rtt, *before, *goodput))
            claims += _fair(name, rtt, ratio, goodput)
        for number, rtt in enumerate(RTTS):
            ax.plot(time, window[number], lw=0.6, label=rtt.replace("ms", " ms"))
        ax.set(title=name, xlabel="time (s)", ylabel="cwnd (packets)", ylim=(0, None))
        ax.legend(fontsize="x-small")
    columns = ["growth", "second_rtt", "first", "second", "first_mbps", "second_mbps"]
    table = pl.DataFrame(rows, schema=columns, orient="row")
    note = (
        "500 Mbps, 500 packets, β = 0.5, as in figure 10. Windows at congestion and goodputs are "
        f"means over the last {SECONDS // 2} of {SECONDS} s; the figure has the second flow with "
        "200 ms."
    )
    return Finding(claims, {"windows": table}, figure, note)


def _two(bench: Bench, cc: str, rtt: str) -> tuple[Floats, Floats, Floats, Floats]:
    """Return times, windows, mean windows at congestion and goodputs in Mbps of both flows."""
    flow: dict[str, Any] = {"cc": cc, "max_ssthresh": 100}
    second = {**flow, "start": bench.seconds(60), "rtt": rtt}
    described = scenario(
        bench, "500Mbps", 500, [flow, second], SECONDS, warmup=SECONDS / 2, sample=0.05
    )
    result = bench.run(described)
    time, window = windows(result, 2)
    when, before, _ = events(window, time, 1.0)
    late = when > SECONDS / 2 * bench.scale
    goodput = np.asarray(result.flows.sort("flow")["goodput"].to_numpy() / 1e6)
    return time, window, before[late].mean(axis=0), goodput


def _fair(name: str, rtt: str, ratio: float, goodput: Floats) -> list[Claim]:
    scaled, longer = LAWS[name] != FIXED, rtt != "100ms"
    where = f"{name}, RTTs of 100 and {rtt.removesuffix('ms')} ms"
    windows_at_congestion = near(
        f"{where}: windows at congestion, the first's over the second's",
        2 if longer and not scaled else 1,
        ratio,
        0.05,
        since="a flow gains up to 90 of 3000 packets in a round trip",
        by="comment 2 of §3.1" if scaled else "theorem 2.1 with ᾱ ∝ 1/RTT, §2.1",
    )
    if not longer:
        return [windows_at_congestion]
    goodputs = measured(
        f"H-TCP guarantees fairness with other H-TCP sources (§3.1): {where}, goodputs",
        "fairness",
        f"{goodput[0]:.0f} and {goodput[1]:.0f} Mbps",
    )
    return [windows_at_congestion, goodputs]

"""LTCP (Bhandarkar, Jain, Reddy: "LTCP: Improving the Performance of TCP in Highspeed Networks")."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from narrows.papers.claims import near, stated
from narrows.papers.lab import Lab
from narrows.papers.registry import Finding, experiment
from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.theory.response import square_root

PACKET_BITS = 1500 * 8
RTT = 0.2


@experiment("ltcp/sec1", "the square-root law: what loss rate a TCP needs for a gigabit")
def sec1(lab: Lab) -> Finding:
    """§I: T = 1.2 S/(R√p) with S = 1500 B, R = 200 ms; the numbers are those of √(3/2) = 1.2247 in place of 1.2."""

    def throughput(p: float, constant: float = np.sqrt(1.5)) -> float:
        return float(square_root(p, constant)) * PACKET_BITS / RTT

    def loss(rate: float, constant: float = np.sqrt(1.5)) -> float:
        return (constant * PACKET_BITS / (RTT * rate)) ** 2

    a_loss_lasts = 1 / loss(10e9) * PACKET_BITS / 10e9 / 3600
    measured = _measured(lab)
    random_losses = float(np.sqrt(1.5) * measured["of_the_law"].to_numpy().mean())
    printed = f"with 1.2 as printed: {throughput(1e-5, 1.2) / 1e6:.1f} Mbps, {loss(1e9, 1.2):.2g}"
    claims = [
        near("throughput at p = 1e-5", 23.2, throughput(1e-5) / 1e6, 0.005, "Mbps"),
        near("throughput at p = 1e-7", 232.4, throughput(1e-7) / 1e6, 0.005, "Mbps"),
        near("p for 1 Gbps", 5.4e-9, loss(1e9), 0.01),
        near("p for 10 Gbps", 5.4e-11, loss(10e9), 0.01),
        near("hours between losses at 10 Gbps", 6, a_loss_lasts, 0.1, "h"),
        stated(
            "the constant of the law, 1.2",
            "1.2",
            f"{np.sqrt(1.5):.4f} gives the paper's numbers; {printed}",
            abs(throughput(1e-5, 1.2) / 1e6 / 23.2 - 1) < 0.005,
            "the numbers were computed with √(3/2), the closed form of the sawtooth, and the constant was rounded in print",
        ),
        near("simulated Reno's law over SACK, independent losses: its constant (Ott, Kemperman, Mathis: 1.31)", 1.31, random_losses, 0.05),
    ]
    return Finding(claims, {"law": _law(), "simulated": measured}, _drawn(measured))


def _law() -> pl.DataFrame:
    p = np.logspace(-11, -2, 91)
    return pl.DataFrame({"p": p, "throughput": square_root(p) * PACKET_BITS / RTT})


def _measured(lab: Lab) -> pl.DataFrame:
    """One flow of Reno's law over SACK on a link that it cannot fill, with losses that do not depend on it."""
    base = Scenario(
        tcp="ns2",
        duration=lab.seconds(4000),
        packet="1500B",
        sample="0s",
        dumbbell={"rate": "10Gbps", "rtt": "200ms", "buffer": "1bdp", "loss": "0.001%"},
        flows=[{"cc": "sack"}],
    )
    losses = [1e-5, 1e-4, 1e-3]
    result = lab.sweep(base, loss=[f"{p:g}" for p in losses], seeds=lab.seeds(8))
    means = result.means("utilisation")
    found = means["utilisation"].to_numpy() * 10e9
    law = square_root(np.array(losses)) * PACKET_BITS / RTT
    return pl.DataFrame({"p": losses, "throughput": found, "law": law, "of_the_law": found / law})


def _drawn(measured: pl.DataFrame) -> Any:
    law = _law()
    figure, axes = panels()
    ax = axes[0][0]
    ax.loglog(law["p"], law["throughput"] / 1e6, label="√(3/2)·S/(R√p)")
    ax.loglog(measured["p"], measured["throughput"] / 1e6, "o", label="simulated, independent losses")
    for p, rate in ((1e-5, 23.2), (1e-7, 232.4), (5.4e-9, 1e3), (5.4e-11, 1e4)):
        ax.plot(p, rate, "kx")
    ax.plot([], [], "kx", label="the paper's numbers")
    ax.set_xlabel("loss rate p")
    ax.set_ylabel("throughput (Mbps)")
    ax.legend(fontsize="x-small")
    return figure

"""Connections that come and go: figures 11 and 12."""

from __future__ import annotations

import numpy as np
import polars as pl

from narrows.papers.claims import Claim, above, stated
from narrows.papers.etcp.setup import scenario
from narrows.papers.lab import Lab
from narrows.papers.registry import Finding, experiment
from narrows.plot import panels

RATES = {"10 Mbps": 10, "100 Mbps": 100, "1 Gbps": 1000}
# Start and stop of each connection in seconds.
TIMES = [(0, 300), (60, 240), (120, 180)]
ALONE, TWO, THREE, SECONDS = (40, 60), (100, 120), (160, 180), 300


@experiment("etcp/fig11", "three connections that come and go, RTT 50 ms")
def fig11(lab: Lab) -> Finding:
    """Reproduce figure 11 (§VI-E)."""
    return _arrivals(lab, "50ms")


@experiment("etcp/fig12", "three connections that come and go, RTT 100 ms")
def fig12(lab: Lab) -> Finding:
    """Reproduce figure 12 (§VI-E)."""
    return _arrivals(lab, "100ms")


def _arrivals(lab: Lab, rtt: str) -> Finding:
    figure, axes = panels(1, 3, width=3.6)
    claims: list[Claim] = []
    data, apart = {}, {}
    for (name, megabits), ax in zip(RATES.items(), axes[0], strict=True):
        flows = [
            {"cc": "etcp", "start": lab.seconds(a), "stop": lab.seconds(b), "start_spread": "0s"}
            for a, b in TIMES
        ]
        series = lab.run(
            scenario(lab, f"{megabits}Mbps", rtt, flows, SECONDS, sample=lab.seconds(1))
        ).series("flow_series")
        wide = series.pivot("flow", index="time", values="goodput").sort("time")
        rates = wide.drop("time").to_numpy() / (megabits * 1e6)
        time = wide["time"].to_numpy() / lab.scale
        data[name.replace(" ", "")] = wide
        for number in range(len(TIMES)):
            ax.plot(time, rates[:, number] * megabits, lw=0.8, label=f"connection {number + 1}")
        ax.set(xlabel="time (s)", ylabel="goodput (Mbps)", title=name, ylim=(0, None))
        shares = {
            phase: rates[(time > phase[0]) & (time <= phase[1])].mean(axis=0)
            for phase in (ALONE, TWO, THREE)
        }
        apart[name] = float(np.ptp(shares[THREE]) / shares[THREE].mean())
        claims.append(_gives_way(name, shares[ALONE], shares[TWO]))
        claims.append(
            above(
                f"{name}: three connections fill the link together: goodput over capacity, "
                "last 20 s of three",
                0.85,
                float(shares[THREE].sum()),
            )
        )
        if megabits < 1000:
            jain = float(shares[THREE].sum() ** 2 / (3 * (shares[THREE] ** 2).sum()))
            claims.append(
                above(
                    f"{name}: the three converge to fair shares: Jain's index, last 20 s of three",
                    0.95,
                    jain,
                )
            )
    axes[0][0].legend(fontsize="x-small")
    names = list(RATES)
    claims.append(
        stated(
            "convergence is slower at larger bandwidth-delay products: spread of goodput, "
            "(max − min)/mean, last 20 s of three",
            "grows with capacity",
            ", ".join(f"{name} {apart[name]:.2f}" for name in names),
            apart[names[2]] > max(apart[names[0]], apart[names[1]]),
        )
    )
    claims.append(
        above(
            "1 Gbps: shares still differ: spread of goodput, (max − min)/mean, last 20 s of three",
            0.1,
            apart[names[2]],
        )
    )
    return Finding(claims, data, figure)


def _gives_way(name: str, alone: pl.Series, two: pl.Series) -> Claim:
    found = f"{alone[0]:.2f} alone, {two[0]:.2f} beside {two[1]:.2f}"
    return stated(
        f"{name}: the first connection gives way to the second: its goodput over capacity",
        "falls",
        found,
        bool(two[0] < 0.95 * alone[0]),
    )

"""Which α and β of XCP are stable: Katabi's proof, the linear loop, the fluid, and packets."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from scipy.optimize import brentq

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.theory import stability, xcp
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, ours, stated
from narrows_papers.readings import most
from narrows_papers.registry import Finding, experiment
from narrows_papers.series import averaged, each_run

FLOWS, MEGABITS, RTT_S, BUFFER = 10, 100, 0.1, "20bdp"
ALPHAS = [0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.5]
# The paper's are 0.226 for α = 0.4, and 0.056 for 0.2.
BETAS = [0.02, 0.056, 0.1, 0.226, 0.4, 0.6, 0.8]
# Datagrams of 60 % of the rate for a second push the loop out of its rest.
SECONDS, PUSHED, FROM, SHARE = 300, (30, 31), 270, 0.6
SAMPLES_A_TRIP = 4
SWINGS = 0.02
STEADY = most(SWINGS, "a fifth of what γ = 0.1 shuffles")


@experiment("loops/xcp", "which α and β of XCP are stable: theory and packets")
def loop(bench: Bench) -> Finding:
    """Push XCP out of its rest, and see whether it comes back."""

    def at(alpha: float, beta: float) -> Scenario:
        push = {"datagrams": "constant", "app": {"rate": f"{SHARE * MEGABITS:g}Mbps"}}
        times = dict(zip(("start", "stop"), map(bench.seconds, PUSHED), strict=True))
        return Scenario(
            duration=bench.seconds(SECONDS),
            warmup=bench.seconds(FROM),
            sample=f"{1e3 * RTT_S / SAMPLES_A_TRIP:g}ms",
            packet="1500B",
            dumbbell={
                "rate": f"{MEGABITS}Mbps",
                "rtt": f"{1e3 * RTT_S:g}ms",
                "buffer": BUFFER,
                "queue": f"xcp:alpha={alpha}:beta={beta}",
            },
            flows=[{"cc": "xcp", "count": FLOWS}, push | times],
        )

    sweep = bench.sweep(at, alpha=ALPHAS, beta=BETAS, seeds=[1], series=True)
    runs = each_run(sweep.link_series, ["alpha", "beta"], lambda run: {"packets": _swing(run)})
    theory = pl.DataFrame([_theory(alpha, beta) for alpha in ALPHAS for beta in BETAS])
    table = theory.join(runs, on=["alpha", "beta"])
    claims = [_proven(table, 0.4, 0.226), _proven(table, 0.2, 0.056), *_against(table)]
    note = (
        f"{FLOWS} flows over {MEGABITS} Mbps and {1e3 * RTT_S:g} ms, one seed, pushed out of their "
        f"rest by a second of datagrams of {100 * SHARE:g} % of the rate at {PUSHED[0]} s; what is "
        f"drawn is the deviation of the arrivals of a round trip over their mean, from {FROM} s "
        "on. "
        "The fluid begins with that rate, and is judged after as long. The linear loop lets the "
        "queue be less than empty. Where it says that large β make rates swing, the fluid whose "
        "queue is at least empty comes to rest, and so do packets up to α = 1. They swing from 1.2 "
        "on, pushed or not."
    )
    return Finding(claims, {"swings": table}, _figure(table), note)


def _swing(link: pl.DataFrame) -> float:
    rows = link.filter(
        (pl.col("link") == 0) & (pl.col("time") > FROM / SECONDS * pl.col("time").max())
    )
    trips = averaged(rows["arrivals"], SAMPLES_A_TRIP)
    return float(trips.std() / trips.mean())


def _theory(alpha: float, beta: float) -> dict[str, float | bool]:
    """Return whether the linear loop is stable, and how the fluid with a real queue swings."""
    time, rate, _ = xcp.fluid(alpha, beta, 1 + SHARE, SECONDS - PUSHED[0], RTT_S)
    return {
        "alpha": alpha,
        "beta": beta,
        "linear_rests": bool(stability.xcp(alpha, beta).real < 0),
        "fluid": float(rate[time > FROM - PUSHED[0]].std()),
    }


def _proven(table: pl.DataFrame, alpha: float, beta: float) -> Claim:
    [row] = table.filter(alpha=alpha, beta=beta).rows(named=True)
    return STEADY.claim(
        f"with β = α²√2 and α < π/(4√2) XCP is stable: α = {alpha}, β = {beta}: deviation of the "
        "arrivals of a round trip over their mean",
        row["packets"],
        says="stable",
    )


def _against(table: pl.DataFrame) -> list[Claim]:
    """Claim that packets do as the fluid does, and not as the linear loop where they differ."""
    packets, fluid = (pl.col(name) > SWINGS for name in ("packets", "fluid"))
    empties = table.filter(~pl.col("linear_rests") & ~fluid)
    still = empties.filter(packets).height
    other = table.filter(packets != fluid)
    where = ", ".join(f"{alpha} and {beta}" for alpha, beta in other.select("alpha", "beta").rows())
    return [
        ours(
            stated(
                "where the linear loop swings and a queue that cannot be less than empty brings "
                "the fluid to rest, packets come to rest: those that swing",
                f"0 of {empties.height}",
                f"{still}",
                still == 0,
            )
        ),
        ours(
            stated(
                "packets swing where the fluid does, and nowhere else",
                f"{table.height}",
                f"{table.height - other.height}",
                not other.height,
                f"not at α and β of {where}; why is not known",
            )
        ),
    ]


def _boundary(alpha: float) -> float:
    """Return the β beyond which the linear loop is unstable."""
    return float(brentq(lambda beta: xcp.phase_margin(alpha, beta), 1e-6, 10))


def _figure(table: pl.DataFrame) -> Any:
    figure, axes = panels(1, 1, width=6.5, height=4.0)
    ax = axes[0][0]
    colours = np.log10(np.maximum(table["packets"].to_numpy(), 1e-3))
    drawn = ax.scatter(table["alpha"], table["beta"], c=colours, s=90, cmap="viridis_r")
    figure.colorbar(drawn, label="log₁₀ of deviation over mean, simulated")
    swing = table.filter(pl.col("fluid") > SWINGS)
    ax.plot(swing["alpha"], swing["beta"], "rx", ms=9, label="the fluid swings")
    alphas = np.linspace(0.05, 1.5, 60)
    ax.plot(alphas, [_boundary(alpha) for alpha in alphas], "k-", lw=1, label="linear loop")
    proven = alphas[alphas < xcp.LARGEST_ALPHA]
    ax.plot(proven, [xcp.beta(alpha) for alpha in proven], "b--", lw=1, label="proven: β = α²√2")
    ax.set(xlabel="α", ylabel="β", yscale="log", ylim=(0.012, 1.2))
    ax.legend(fontsize="x-small", loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=3)
    return figure

"""Data errors told from losses by congestion (§I)."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, near, stated
from narrows_papers.etcp.setup import P0, later, mean, scenario
from narrows_papers.registry import Finding, experiment

# Whether headers have a checksum of their own, so that a damaged packet is no lost one.
WAYS: dict[str, dict[str, Any]] = {
    "told apart": {"header_checksum": True},
    "taken for losses": {},
}
ERRORS = [0.001, 0.01, 0.02, 0.05]
SECONDS = 100
# A window of some 50 packets, of which each loss takes a fiftieth, varies by itself.
TOLERANCE = 0.1


@experiment("etcp/errors", "data errors told from losses by congestion, over 100 Mbps and 100 ms")
def errors(bench: Bench) -> Finding:
    """Damage packets on the bottleneck's wire (§I).

    "The decoupling makes it possible to distinguish between packet losses and data errors caused by
    other factors such as signal interference during transmission."
    """

    def at(way: str, error: float) -> Scenario:
        flow = {"cc": "etcp", **WAYS[way]}
        return scenario(
            bench, "100Mbps", "100ms", [flow], SECONDS, sample="100ms", loss=f"{100 * error:g}%"
        )

    clean = bench.run(
        scenario(bench, "100Mbps", "100ms", [{"cc": "etcp"}], SECONDS, sample="100ms")
    )
    sweep = bench.sweep(at, way=list(WAYS), error=ERRORS, series=True)
    table = sweep.runs.select("way", "error", "utilisation", "goodput")
    undamaged = float(clean.runs["utilisation"][0])
    flows = sweep.series("flow_series")
    told = table.filter(way="told apart")["utilisation"].to_numpy()
    largest = float(np.abs(told - undamaged).max())
    claims = [
        stated(
            "data errors can be told from losses by congestion: utilisation with 0.1 to 5 % of the "
            "packets damaged against that without errors, the largest difference",
            "possible (here: within 0.02)",
            f"{largest:.3f} of {undamaged:.3f}",
            largest < 0.02,
        ),
        *(_taken_for_losses(flows, error) for error in ERRORS if error > P0),
    ]
    note = (
        "A packet that the wire damages keeps its header, which has a checksum of its own: "
        "congestion control hears that the packet was received, reliable delivery that its data "
        "was not. The paper does not say how the receiver learns of data errors. Acknowledgements "
        "have no payload and are never damaged."
    )
    return Finding(claims, {"table": table}, _figure(table, undamaged), note)


def _taken_for_losses(flows: pl.DataFrame, error: float) -> Claim:
    rows = flows.filter((pl.col("way") == "taken for losses") & (pl.col("error") == error))
    ratio = error / (1 - error)
    return near(
        f"with {100 * error:g} % of the packets damaged and taken for losses, the window is "
        "2/(p − p0), however empty the link is",
        2 / (ratio - P0),
        mean(later(rows, 0.25), "window"),
        TOLERANCE,
        "packets",
        since="the window varies from loss to loss",
        by="eq. 5, p per acknowledged packet",
    )


def _figure(table: pl.DataFrame, undamaged: float) -> Any:
    figure, axes = panels(1, 1, width=4.5)
    ax = axes[0][0]
    for way in WAYS:
        rows = table.filter(way=way)
        ax.semilogx(100 * rows["error"], rows["utilisation"], "o-", ms=3, label=way)
    ax.axhline(undamaged, color="k", lw=0.8, ls=":", label="no errors")
    ax.set(xlabel="packets damaged on the wire (%)", ylabel="utilisation", ylim=(0, 1))
    ax.legend(fontsize="x-small", loc="lower left")
    return figure

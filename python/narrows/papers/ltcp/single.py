"""One flow: figure 5 and the table of figure 6."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from narrows.papers.claims import Claim, above, near, stated
from narrows.papers.lab import Lab
from narrows.papers.ltcp.setup import PACKET_BITS, PAYLOAD, PROTOCOLS, RTT, megabits, scenario
from narrows.papers.registry import Finding, experiment
from narrows.plot import panels
from narrows.theory.response import ltcp_layer


@experiment("ltcp/fig05", "one flow: how long a window takes to recover from a loss")
def fig05(lab: Lab) -> Finding:
    """Reproduce figure 5 (§V-A-1): 1 Gbps, 70 ms, 6000 packets."""
    seconds = 2400
    base = scenario(lab, "1Gbps", [{"cc": "sack"}], seconds, warmup=0, sample="1s")
    series = lab.sweep(base, series=True, cc=list(PROTOCOLS.values())).series("flow_series")
    windows = {name: series.filter(pl.col("cc") == cc) for name, cc in PROTOCOLS.items()}
    recovered = {
        name: _recovery(frame["time"].to_numpy(), frame["window"].to_numpy())
        for name, frame in windows.items()
    }
    claims = [
        above(
            "TCP takes longer than LTCP to recover from a loss: difference in recovery time",
            600,
            recovered["TCP"] - recovered["LTCP"],
            "s",
            why="the run is too short for TCP to recover once"
            if np.isnan(recovered["TCP"])
            else "",
        ),
    ]
    figure, axes = panels(1, 1, width=6)
    for name, frame in windows.items():
        axes[0][0].plot(frame["time"], frame["window"], lw=0.8, label=name)
    axes[0][0].set(xlabel="time (s)", ylabel="cwnd (packets)", ylim=(0, None))
    axes[0][0].legend(fontsize="x-small")
    note = (
        "Mean time from a loss until the window is back at its value before the loss: TCP "
        f"{recovered['TCP']:.0f} s, LTCP {recovered['LTCP']:.1f} s. "
        "The loss that ends slow start is left out."
    )
    data = pl.concat(
        [
            frame.select(pl.lit(name).alias("protocol"), "time", "window")
            for name, frame in windows.items()
        ]
    )
    return Finding(claims, {"windows": data}, figure, note)


def _recovery(time: Any, window: Any) -> float:
    """Return the mean time in seconds from a fall of the window until it is back at its old height.

    The first fall and falls that are not made up by the end are left out; NaN if none is left.
    """
    falls = np.flatnonzero(window[1:] < 0.95 * window[:-1]) + 1
    spans = []
    for fall in falls[1:]:
        peak = window[fall - 1]
        back = np.flatnonzero(window[fall:] >= 0.99 * peak)
        if len(back):
            spans.append(time[fall + back[0]] - time[fall])
    return float(np.mean(spans)) if spans else float("nan")


# The paper's table: Mbps, and loss in percent.
TABLE: dict[str, dict[str, tuple[float, float | None]]] = {
    "TCP": {
        "10Mbps": (9.34, 1.41e-2),
        "100Mbps": (96.15, 2.08e-5),
        "1Gbps": (866.75, 2.33e-6),
        "2.4Gbps": (1864.80, None),
    },
    "LTCP": {
        "10Mbps": (9.62, 1.33e-1),
        "100Mbps": (96.15, 1.12e-3),
        "1Gbps": (961.54, 4.49e-4),
        "2.4Gbps": (2307.69, 2.01e-4),
    },
}
RATES = list(TABLE["TCP"])


@experiment("ltcp/tab06", "one flow: throughput and loss in the steady state, four capacities")
def tab06(lab: Lab) -> Finding:
    """Reproduce the table of figure 6 (§V-A-1): buffers of a bandwidth-delay product, 2000 s."""
    base = scenario(lab, "2.4Gbps", [{"cc": "sack"}], 2300, warmup=300, buffer="1bdp")
    runs = lab.sweep(base, rate=RATES, cc=list(PROTOCOLS.values())).runs
    names = {cc: name for name, cc in PROTOCOLS.items()}
    rows = [
        (names[run["cc"]], run["rate"], megabits(run["goodput"]), run["loss_rate"] * 100)
        for run in runs.iter_rows(named=True)
    ]
    found = pl.DataFrame(rows, schema=["protocol", "rate", "Mbps", "loss_percent"], orient="row")
    claims = [
        claim for protocol in PROTOCOLS for rate in RATES for claim in _row(protocol, rate, found)
    ]
    use = {
        name: found.filter((pl.col("protocol") == name) & (pl.col("rate") == "2.4Gbps"))["Mbps"][0]
        / 2400
        for name in PROTOCOLS
    }
    claims.append(above("2.4 Gbps: LTCP's utilisation remains close to 96 %", 0.94, use["LTCP"]))
    claims.append(
        near("2.4 Gbps: TCP's utilisation is close to 75 %", 0.75, use["TCP"], 0.1, why=STEADY)
    )
    note = (
        "The first 300 s are not measured. TCP's first cycle takes some 15 minutes at 1 Gbps and "
        "longer than the run at 2.4 Gbps, so what the table says about TCP there depends on the "
        "part of the cycle that one measures."
    )
    return Finding(claims, {"table": found}, _bars(found), note)


STEADY = (
    "with a buffer of a bandwidth-delay product a window that halves still fills the link (eq. 9 "
    "of H-TCP), so TCP in its steady state fills it, too; the paper's figure is that of a window "
    "on its way up from a lower one"
)


def _row(protocol: str, rate: str, found: pl.DataFrame) -> list[Claim]:
    mbps, loss = (
        found.filter((pl.col("protocol") == protocol) & (pl.col("rate") == rate))
        .select("Mbps", "loss_percent")
        .row(0)
    )
    paper_mbps, paper_loss = TABLE[protocol][rate]
    claims = [
        near(
            f"{protocol}, {rate}: throughput",
            paper_mbps,
            mbps,
            0.02,
            "Mbps",
            why=STEADY if protocol == "TCP" else "",
        )
    ]
    if paper_loss is None:
        return claims
    factor = mbps and loss / paper_loss
    claims.append(
        stated(
            f"{protocol}, {rate}: loss rate, within a factor of 3",
            f"{paper_loss:.3g} %",
            f"{loss:.3g} %",
            1 / 3 <= factor <= 3,
            "with one loss epoch per cycle, the law's own cycle gives "
            + f"{_cycle(protocol, rate):.2g} %",
        )
    )
    return claims


def _cycle(protocol: str, rate: str) -> float:
    """Return the percentage of packets lost, from the closed form of the sawtooth.

    Each cycle of the window loses as many packets as a round trip adds.
    """
    bps = (
        float(rate.removesuffix("Mbps")) * 1e6
        if rate.endswith("Mbps")
        else float(rate.removesuffix("Gbps")) * 1e9
    )
    peak = 2 * bps * RTT / PACKET_BITS
    if protocol == "TCP":
        return float(100 * 8 / (3 * peak**2))
    layer = float(ltcp_layer(0.85 * peak))
    return float(100 * layer * layer / (0.15 * peak**2 * 0.925))


def _bars(found: pl.DataFrame) -> Any:
    figure, axes = panels(1, 2)
    place = np.arange(len(RATES))
    for number, name in enumerate(PROTOCOLS):
        rows = found.filter(pl.col("protocol") == name)
        full = [
            float(rate.removesuffix("Mbps"))
            if rate.endswith("Mbps")
            else 1000 * float(rate.removesuffix("Gbps"))
            for rate in RATES
        ]
        ours, printed = (
            rows["Mbps"].to_numpy() / full,
            np.array([TABLE[name][rate][0] for rate in RATES]) / full,
        )
        axes[0][0].bar(place + 0.4 * number - 0.2, ours, 0.4, label=name)
        axes[0][0].plot(
            place + 0.4 * number - 0.2, printed, "kx", label="paper" if number else None
        )
        axes[0][1].semilogy(
            place, np.maximum(rows["loss_percent"].to_numpy(), 1e-7), "o-", ms=3, label=name
        )
        axes[0][1].semilogy(place, [TABLE[name][rate][1] or np.nan for rate in RATES], "kx")
    for ax, label in zip(axes[0], ("throughput over capacity", "loss (%)"), strict=True):
        ax.set_xticks(place, RATES)
        ax.set_ylabel(label)
        ax.legend(fontsize="x-small")
    axes[0][0].axhline(PAYLOAD, color="k", lw=0.5)
    return figure

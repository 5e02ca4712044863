"""The law W* = √(2/(p − p0)) that §III-A names, beside the one that the authors take."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from narrows.plot import panels
from narrows.theory.response import etcp, etcp_sqrt
from narrows_papers.bench import Bench, bottleneck
from narrows_papers.claims import Claim, above, below, near, stated
from narrows_papers.etcp.setup import P0, later, scenario, variation
from narrows_papers.registry import Finding, experiment
from narrows_papers.series import averaged

NAMES = {"etcp": "W = 2/(p − p0)", "etcp-sqrt": "W = √(2/(p − p0))"}
BALANCES = {"etcp": "p·W/(2 + p0·W)", "etcp-sqrt": "p·W²/(2 + p0·W²)"}
B = 25
# Windows of some 25 packets, where the two increases, 1/b and 1/W, are alike.
FLOWS = 25


@experiment("etcp/sqrt", "the law that §III-A names and does not take, beside the one it takes")
def sqrt(bench: Bench) -> Finding:
    """Run both laws (§III-A): alone at 1 Gbps, 25 at 100 Mbps, and two of which one starts later.

    The paper chooses W = 2/(p − p0) because "STCP exhibits a more stable behavior at steady state".
    """
    alone = {law: _alone(bench, law) for law in NAMES}
    many = {law: _many(bench, law) for law in NAMES}
    pairs = {law: _pair(bench, law) for law in NAMES}
    gaps = {law: _gap(pairs[law]) for law in NAMES}
    claims = _claims_of_sqrt(many, gaps)
    figure = _draw_sqrt(alone, pairs)
    w = 600
    chosen, other = B * (2 + P0 * w) / 2, w * (2 + P0 * w**2) / 4
    note = (
        "TCP's increase 1/W and, by eq. 7, the decrease W/(2 + p0·W²) stand for \"similar to "
        'current TCP"; the paper gives W* only. The linearised laws say how long a difference of '
        "two connections takes to fall to 1/e: b(2 + p0·W)/2 round trips with the chosen law, "
        f"{chosen:.0f} at {w} packets, and W(2 + p0·W²)/4 with the other, {other:,.0f}, which is "
        f"{other * 0.1 / 3600:.0f} hours at 100 ms. One connection at 1 Gbps is drawn and not "
        "judged: TCP's increase of 1/W for each acknowledgement has not brought it to its steady "
        "state after 60 s."
    )
    data = pl.DataFrame(
        [(law, *many[law], gaps[law]) for law in NAMES],
        schema=["law", "window_of_many", "loss_per_ack", "balance", "variation", "gap"],
        orient="row",
    )
    return Finding(claims, {"laws": data}, figure, note)


def _claims_of_sqrt(
    many: dict[str, tuple[float, float, float, float]], gaps: dict[str, float]
) -> list[Claim]:
    """Return the claims of etcp/sqrt, with their verdicts."""
    formulas = {"etcp": etcp, "etcp-sqrt": etcp_sqrt}
    claims = [
        near(
            f"{FLOWS} connections over 100 Mbps, {NAMES[law]}: mean window against the formula at "
            "the link's loss per acknowledged packet",
            float(formulas[law](many[law][1], P0)),
            many[law][0],
            0.1,
            since="windows differ between connections and with time",
            by="§III-A",
            why="a window's coefficient of variation is "
            f"{many[law][3]:.2f}: gains and losses are in balance, {BALANCES[law]} has a mean of "
            f"{many[law][2]:.2f}, but it is not linear in W",
        )
        for law in NAMES
    ]
    claims += [
        stated(
            "the chosen law is more stable at steady state: coefficient of variation of a "
            f"connection's window, mean of {FLOWS} connections over 100 Mbps",
            "the chosen law lower",
            ", ".join(f"{NAMES[law]} {many[law][3]:.3f}" for law in NAMES),
            many["etcp"][3] < many["etcp-sqrt"][3],
        ),
        below(
            "W = 2/(p − p0), two connections at 100 Mbps, the second 30 s later: difference of the "
            "windows over their sum, last third of 150 s",
            0.1,
            gaps["etcp"],
        ),
        above(
            "W = √(2/(p − p0)): the same difference stays, as its response to the loss rate, "
            "2/W², is lost beside p0",
            0.1,
            gaps["etcp-sqrt"],
        ),
    ]
    return claims


def _draw_sqrt(alone: dict[str, pl.DataFrame], pairs: dict[str, pl.DataFrame]) -> Figure:
    """Draw the figure of etcp/sqrt."""
    figure, axes = panels(1, 2)
    for law, name in NAMES.items():
        rows = alone[law]
        axes[0][0].plot(rows["time"], rows["window"], lw=0.8, label=name)
    axes[0][0].set(xlabel="time (s)", ylabel="cwnd (packets)", ylim=(0, 14_000))
    axes[0][0].legend(fontsize="x-small", loc="lower right")
    for color, (law, name) in zip(("C0", "C1"), NAMES.items(), strict=True):
        for number in (0, 1):
            rows = pairs[law].filter(pl.col("flow") == number)
            axes[0][1].plot(
                averaged(rows["time"], 10),
                averaged(rows["window"], 10),
                "-" if number == 0 else "--",
                color=color,
                lw=0.9,
                label=f"{name}, connection {number + 1}",
            )
    axes[0][1].set(xlabel="time (s)", ylabel="cwnd (packets)", ylim=(0, 2000))
    axes[0][1].legend(fontsize="x-small", loc="upper right")
    return figure


def _alone(bench: Bench, law: str) -> pl.DataFrame:
    point = scenario(bench, "1Gbps", "100ms", [{"cc": law}], 60, sample="100ms")
    return bench.run(point).series("flow_series")


def _many(bench: Bench, law: str) -> tuple[float, float, float, float]:
    """Return the mean window, the link's loss p per acknowledged packet, balance and variation.

    The balance is the mean of what losses take over what acknowledgements give; the variation is
    the coefficient of a connection's window, its mean over the connections.
    """
    flows = [{"cc": law, "count": FLOWS}]
    result = bench.run(scenario(bench, "100Mbps", "50ms", flows, 150, sample="100ms"))
    settled = later(result.series("flow_series"), 0.5)
    window = settled["window"].to_numpy()
    link = later(bottleneck(result), 0.5)
    lost, arrived = float(link["drops"].sum()), float(link["arrivals"].sum())
    p = lost / (arrived - lost)
    taken = p * window / (2 + P0 * window)
    if law == "etcp-sqrt":
        taken = p * window**2 / (2 + P0 * window**2)
    swings = [variation(rows["window"]) for _, rows in settled.group_by("flow")]
    return float(window.mean()), p, float(taken.mean()), float(np.mean(swings))


def _pair(bench: Bench, law: str) -> pl.DataFrame:
    flows = [
        {"cc": law, "start_spread": "0s"},
        {"cc": law, "start_spread": "0s", "start": bench.seconds(30)},
    ]
    return bench.run(scenario(bench, "100Mbps", "100ms", flows, 150, sample="100ms")).series(
        "flow_series"
    )


def _gap(series: pl.DataFrame) -> float:
    mean = [
        later(series.filter(pl.col("flow") == number), 2 / 3)["window"].to_numpy().mean()
        for number in (0, 1)
    ]
    return float(abs(mean[0] - mean[1]) / (mean[0] + mean[1]))

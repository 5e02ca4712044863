"""LTCP's fairness to other RTTs (§IV-A, conclusion c) and, below W_T, to TCP (§III)."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from narrows.papers.claims import Claim, interval, near, ranked, stated
from narrows.papers.lab import Lab
from narrows.papers.ltcp.setup import PACKET_BITS, PROTOCOLS, RTT, scenario
from narrows.papers.registry import Finding, experiment
from narrows.plot import panels

SEEDS = 5
LONGER = 2.0
# Capacities, with 0.7 bandwidth-delay products of buffer as in §V-A (6000 packets at 1 Gbps).
BUFFERS = {"50Mbps": "300p", "100Mbps": "600p", "200Mbps": "1200p"}


@experiment("ltcp/rtt", "two flows whose RTTs are 70 and 140 ms: LTCP and TCP")
def rtt(lab: Lab) -> Finding:
    """Check that LTCP "could potentially alleviate the RTT unfairness inherent to TCP" (§VI).

    The analysis that §IV-A announces is not in the paper.
    """
    ratios = {
        (rate, name): _goodput_ratio(lab, rate, name) for rate in BUFFERS for name in PROTOCOLS
    }
    lossy = {name: _over_losses(lab, name) for name in PROTOCOLS}
    claims = [
        ranked(
            f"{rate}, full queue: goodput of the flow of 70 ms over that of 140 ms",
            ["TCP", "LTCP"],
            [ratios[rate, name] for name in PROTOCOLS],
            why=WHY,
        )
        for rate in BUFFERS
    ]
    claims.append(
        ranked(
            "losses that do not come together (independent, 1e-5): the same",
            ["TCP", "LTCP"],
            [lossy[name] for name in PROTOCOLS],
            why=WHY,
        )
    )
    claims += [_if_together(name) for name in PROTOCOLS]
    figure, axes = panels()
    place = np.arange(len(BUFFERS) + 1)
    for number, name in enumerate(PROTOCOLS):
        samples = [ratios[rate, name] for rate in BUFFERS] + [lossy[name]]
        for x, values in zip(place, samples, strict=True):
            axes[0][0].plot(
                [x + 0.2 * number - 0.1] * len(values),
                values,
                f"C{number}o",
                ms=3,
                label=name if x == 0 else None,
            )
    axes[0][0].set_xticks(place, [*BUFFERS, "random\nlosses"])
    axes[0][0].set(ylabel="goodput, 70 ms over 140 ms", ylim=(0, None))
    axes[0][0].legend(fontsize="x-small")
    rows = [(rate, name, *row) for (rate, name), one in ratios.items() for row in enumerate(one)]
    rows += [("losses", name, *row) for name, one in lossy.items() for row in enumerate(one)]
    data = pl.DataFrame(rows, schema=["rate", "protocol", "seed", "ratio"], orient="row")
    note = (
        "Drop-tail queues of 0.7 bandwidth-delay products of 70 ms, as 6000 packets are at 1 Gbps; "
        "means over 900 s after 100 s."
    )
    return Finding(claims, {"ratios": data}, figure, note)


WHY = (
    "if all flows lose together, a window W is in equilibrium when βW is what it gains between two "
    "losses, so that W/K is inversely proportional to the RTT. K grows as the cube root of W "
    "(eq. 10), W as the RTT to the power −1.5, and the rate to −2.5; TCP's to −2. Layers make the "
    "unfairness larger then, and leave it alone if losses are independent"
)


def _goodput_ratio(lab: Lab, rate: str, name: str) -> list[float]:
    base = scenario(
        lab,
        rate,
        _pair(name),
        1000,
        warmup=100,
        buffer=BUFFERS[rate],
    )
    return _ratios(lab, base)


def _over_losses(lab: Lab, name: str) -> list[float]:
    """Return the ratios over a path that loses packets by chance and is never full."""
    base = scenario(lab, "10Gbps", _pair(name), 1000, warmup=100, loss="1e-5", access_rate="40Gbps")
    return _ratios(lab, base)


def _pair(name: str) -> list[dict[str, Any]]:
    cc = PROTOCOLS[name]
    return [{"cc": cc}, {"cc": cc, "rtt": f"{LONGER * RTT:g}s"}]


def _ratios(lab: Lab, base: Any) -> list[float]:
    flows = lab.sweep(base, seeds=lab.seeds(SEEDS)).flows
    short, long = (
        flows.filter(pl.col("flow") == number).sort("seed")["goodput"].to_numpy()
        for number in (0, 1)
    )
    return [float(ratio) for ratio in short / long]


def _if_together(name: str) -> Claim:
    """Claim the exponent of the law alone: windows without packets that all lose together."""
    from narrows.theory.response import ltcp_layer  # noqa: PLC0415

    windows, trips = np.array([8000.0, 4000.0]), np.array([1.0, LONGER])
    beta = 0.5 if name == "TCP" else 0.15
    peak = windows.sum()
    rates = np.zeros(2)
    for _ in range(2000):
        windows = windows * (1 - beta)
        spent = np.zeros(2)
        while windows.sum() < peak:
            layers = np.ones(2) if name == "TCP" else ltcp_layer(windows)
            windows = windows + 20 * layers / trips
            spent += 20 * windows / trips
        rates = spent
    exponent = float(np.log(rates[0] / rates[1]) / np.log(LONGER))
    return near(
        f"{name}, the law alone, all losses together, without queueing: exponent of RTT in the "
        "ratio of rates",
        2.0 if name == "TCP" else 2.5,
        exponent,
        0.1,
        since="layers are whole numbers",
        by="W/K inversely proportional to the RTT",
    )


FAIR = ["5Mbps", "10Mbps", "20Mbps", "50Mbps", "100Mbps", "200Mbps"]


@experiment("ltcp/wt", "two LTCP flows beside two TCP flows, below and above W_T")
def w_t(lab: Lab) -> Finding:
    """Check that LTCP is fair to TCP while its window is below W_T (§III)."""
    flows = [{"cc": "ltcp", "count": 2}, {"cc": "sack", "count": 2}]
    base = scenario(lab, "10Mbps", flows, 400, warmup=100, buffer="0.7bdp")
    sweep = lab.sweep(base, rate=FAIR, seeds=lab.seeds(SEEDS))
    rows = []
    for rate in FAIR:
        here = sweep.flows.filter(pl.col("rate") == rate)
        sums = here.group_by("seed", "cc").agg(pl.col("goodput").sum())
        wide = sums.pivot(on="cc", index="seed", values="goodput").sort("seed")
        ratios = (wide["ltcp"] / wide["sack"]).to_list()
        window = float(rate.removesuffix("Mbps")) * 1e6 * RTT / PACKET_BITS * 1.7 / 4
        rows.append((rate, window, ratios))
    claims = [_friendly(rate, window, ratios) for rate, window, ratios in rows]
    figure, axes = panels()
    for _, window, ratios in rows:
        axes[0][0].semilogx([window] * len(ratios), ratios, "C0o", ms=3)
    axes[0][0].axvline(50, color="k", lw=0.8)
    axes[0][0].axhline(1, color="k", lw=0.8)
    axes[0][0].text(52, 0.1, "W_T", fontsize="small")
    axes[0][0].set(
        xlabel="fair share of path and queue (packets)",
        ylabel="goodput of LTCP over TCP's",
        ylim=(0, None),
    )
    data = pl.DataFrame(
        [(rate, window, *pair) for rate, window, ratios in rows for pair in enumerate(ratios)],
        schema=["rate", "window", "seed", "ratio"],
        orient="row",
    )
    note = (
        "70 ms and a queue of 0.7 bandwidth-delay products; the fair share is the largest window "
        "that each of four flows can have together. Our own network: the paper has no run."
    )
    return Finding(claims, {"ratios": data}, figure, note)


def _friendly(rate: str, window: float, ratios: list[float]) -> Claim:
    from narrows.statistics import mean_and_interval  # noqa: PLC0415

    below = window < 50
    text = f"{rate}, windows up to {window:.0f} packets: goodput of LTCP over TCP's"
    paper = "1: fair below W_T = 50" if below else "more than 1 above W_T"
    if len(ratios) < 2:
        return stated(text, paper, interval(ratios), None, "one seed")
    mean, half = mean_and_interval(ratios)
    holds = abs(mean - 1) <= max(half, 0.02) if below else mean - half > 1
    return stated(f"{text} (95 % over seeds)", paper, interval(ratios), bool(holds))

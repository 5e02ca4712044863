"""LTCP's fairness to other RTTs (§IV-A, conclusion c) and, below W_T, to TCP (§III)."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from narrows.plot import panels
from narrows.statistics import mean_and_interval
from narrows.theory.response import ltcp_layer
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, interval, near, ranked, stated
from narrows_papers.ltcp.setup import PACKET_BITS, PROTOCOLS, RTT, scenario
from narrows_papers.registry import Finding, experiment

SEEDS = 5
LONGER = 2.0
# Capacities in Mbps, with 0.7 bandwidth-delay products of buffer as in §V-A, whose network is the
# last, in packets.
BUFFERS = {50: 300, 100: 600, 200: 1200, 1000: 6000}
# At 1 Gbps TCP takes ten minutes from one loss to the next.
SECONDS = {50: 1000, 100: 1000, 200: 1000, 1000: 3000}
# Its runs are long.
FEWER = {1000: 3}


@experiment("ltcp/rtt", "two flows whose RTTs are 70 and 140 ms: LTCP and TCP")
def rtt(bench: Bench) -> Finding:
    """Check that LTCP "could potentially alleviate the RTT unfairness inherent to TCP" (§VI).

    The analysis that §IV-A announces is not in the paper.
    """
    ratios = {
        (rate, name): _goodput_ratio(bench, rate, name) for rate in BUFFERS for name in PROTOCOLS
    }
    lossy = {name: _over_losses(bench, name) for name in PROTOCOLS}
    claims = [
        ranked(
            f"{rate} Mbps, a queue that fills: goodput of the flow of 70 ms over that of 140 ms",
            ["TCP", "LTCP"],
            [ratios[rate, name] for name in PROTOCOLS],
            why=_direction(ratios[rate, "TCP"], ratios[rate, "LTCP"]),
        )
        for rate in BUFFERS
    ]
    claims += [_apart(name, lossy[name]) for name in PROTOCOLS]
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
    axes[0][0].set_xticks(place, [*(f"{rate} Mbps" for rate in BUFFERS), "random\nlosses"])
    axes[0][0].set(ylabel="goodput, 70 ms over 140 ms", ylim=(0, None))
    axes[0][0].legend(fontsize="x-small")
    rows = [
        (f"{rate} Mbps", name, *row)
        for (rate, name), one in ratios.items()
        for row in enumerate(one)
    ]
    rows += [("random losses", name, *row) for name, one in lossy.items() for row in enumerate(one)]
    data = pl.DataFrame(rows, schema=["rate", "protocol", "seed", "ratio"], orient="row")
    note = (
        "The paper announces an analysis of this (§IV-A) and does not have it; it has no run "
        "either. Drop-tail queues of 0.7 bandwidth-delay products of 70 ms, as 6000 packets are at "
        "1 Gbps; the first tenth of a run, of 1000 s and at 1 Gbps of 3000 s, is not measured."
    )
    return Finding(claims, {"ratios": data}, figure, note)


def _direction(tcp: list[float], ltcp: list[float]) -> str:
    """Return what the law says of flows that lose together, and how far that goes."""
    found = float(np.log(np.mean(ltcp)) / np.log(np.mean(tcp)))
    return (
        "the direction follows from the law if all flows lose together: a window W is in "
        "equilibrium when βW is what it gains between two losses, so that W/K is inversely "
        "proportional to the RTT. K grows as the cube root of W (eq. 10), so W goes with the RTT "
        "to the power −1.5 and the rate with −2.5; TCP's with −2. The size does not: the exponents "
        f"are in the ratio of 1.25, and here of {found:.2f}"
    )


def _apart(name: str, ratios: list[float]) -> Claim:
    """Claim that losses which do not come together leave the RTT unfairness of both laws at 2."""
    mean, half = mean_and_interval(ratios) if len(ratios) > 1 else (ratios[0], float("nan"))
    return stated(
        f"{name}, losses that do not come together (independent, 1e-5): goodput of the flow of 70 "
        "ms over that of 140 ms (2 within the 95 % interval)",
        "not given (2 by eq. 18, in which the RTT is in no window)",
        interval(ratios),
        bool(abs(mean - 2) <= half) if len(ratios) > 1 else None,
        "not known",
    )


def _goodput_ratio(bench: Bench, rate: int, name: str) -> list[float]:
    """Return the ratios over a full queue; senders wait for up to the time of a packet."""
    overhead = f"{PACKET_BITS / rate:.3g}us"
    flows = [flow | {"overhead": overhead} for flow in _pair(name)]
    return _ratios(
        bench,
        scenario(
            bench,
            f"{rate}Mbps",
            flows,
            SECONDS[rate],
            warmup=SECONDS[rate] / 10,
            buffer=f"{BUFFERS[rate]}p",
        ),
        FEWER.get(rate, SEEDS),
    )


def _over_losses(bench: Bench, name: str) -> list[float]:
    """Return the ratios over a path that loses packets by chance and is never full."""
    base = scenario(
        bench, "10Gbps", _pair(name), 1000, warmup=100, loss="1e-5", access_rate="40Gbps"
    )
    return _ratios(bench, base)


def _pair(name: str) -> list[dict[str, Any]]:
    cc = PROTOCOLS[name]
    return [{"cc": cc}, {"cc": cc, "rtt": f"{LONGER * RTT:g}s"}]


def _ratios(bench: Bench, base: Any, seeds: int = SEEDS) -> list[float]:
    flows = bench.sweep(base, seeds=bench.seeds(seeds)).flows
    short, long = (
        flows.filter(pl.col("flow") == number).sort("seed")["goodput"].to_numpy()
        for number in (0, 1)
    )
    return [float(ratio) for ratio in short / long]


def _if_together(name: str) -> Claim:
    """Claim the exponent of the law alone: windows without packets that all lose together."""
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


RATES = ["5Mbps", "10Mbps", "20Mbps", "50Mbps", "100Mbps", "200Mbps"]
# Capacities at which fair windows stay below W_T = 50 packets, and a W_T that no window reaches.
BELOW, FAR = RATES[:2], 200


@experiment("ltcp/wt", "two LTCP flows beside two TCP flows, below and above W_T")
def w_t(bench: Bench) -> Finding:
    """Check that LTCP is "fair to TCP flows when the window is below" W_T = 50 packets (§III)."""
    free = {rate: _against_tcp(bench, rate, "ltcp") for rate in RATES}
    far = {rate: _against_tcp(bench, rate, f"ltcp:w_t={FAR}") for rate in BELOW}
    claims = [_below(rate, free[rate], far[rate]) for rate in BELOW]
    claims += [_above(rate, free[rate]) for rate in RATES[len(BELOW) :]]
    figure, axes = panels()
    for style, label, table in (("C0o", "$W_T$ = 50", free), ("C1x", f"$W_T$ = {FAR}", far)):
        x = [_fair_window(rate) for rate, ratios in table.items() for _ in ratios]
        axes[0][0].loglog(x, np.concatenate(list(table.values())), style, ms=4, label=label)
    axes[0][0].axvline(50, color="k", lw=0.8, label="50 packets")
    axes[0][0].axhline(1, color="k", lw=0.5)
    axes[0][0].set(xlabel="largest fair window (packets)", ylabel="goodput of LTCP over TCP's")
    for ticks, places in (("x", [20, 50, 100, 200, 500]), ("y", [1, 2, 5, 10, 20])):
        axis = getattr(axes[0][0], f"{ticks}axis")
        axis.set_ticks(places, [f"{place}" for place in places])
        axis.set_ticks([], minor=True)
    axes[0][0].legend(fontsize="x-small")
    rows = [
        (rate, w_t, _fair_window(rate), *pair)
        for w_t, table in ((50, free), (FAR, far))
        for rate, ratios in table.items()
        for pair in enumerate(ratios)
    ]
    data = pl.DataFrame(rows, schema=["rate", "w_t", "window", "seed", "ratio"], orient="row")
    note = (
        "70 ms and a queue of 0.7 bandwidth-delay products; the fair window is what each of four "
        "flows has when path and queue are full. Senders wait for up to the time of a packet, so "
        "that flows do not all lose together. A network of our own: the paper has no run."
    )
    return Finding(claims, {"ratios": data}, figure, note)


def _fair_window(rate: str) -> float:
    """Return the window in packets that each of four flows can have, with the queue full."""
    return float(rate.removesuffix("Mbps")) * 1e6 * RTT / PACKET_BITS * 1.7 / 4


def _against_tcp(bench: Bench, rate: str, law: str) -> list[float]:
    """Return the goodput of two LTCP flows over that of two TCP flows, for each seed."""
    wait = {"overhead": f"{PACKET_BITS / float(rate.removesuffix('Mbps')):.3g}us"}
    flows = [{"cc": cc, "count": 2, **wait} for cc in (law, "sack")]
    base = scenario(bench, rate, flows, 400, warmup=100, buffer="0.7bdp")
    found = bench.sweep(base, seeds=bench.seeds(SEEDS)).flows
    sums = found.group_by("seed", "cc").agg(pl.col("goodput").sum())
    wide = sums.pivot(on="cc", index="seed", values="goodput").sort("seed")
    return [float(ratio) for ratio in wide[law] / wide["sack"]]


def _text(rate: str) -> str:
    return (
        f"{rate}, fair windows up to {_fair_window(rate):.0f} packets: goodput of LTCP over TCP's"
    )


def _below(rate: str, ratios: list[float], far: list[float]) -> Claim:
    mean, half = mean_and_interval(ratios)
    return stated(
        f"{_text(rate)} (fair: 1 lies within the interval, which is 0.05 at most to each side)",
        "fair below W_T = 50",
        interval(ratios),
        (None if half > 0.05 else True) if abs(mean - 1) <= half else False,
        "a window that passes W_T, by chance or in slow start, gives up 0.15 where TCP gives up "
        f"half, and stays above at the cost of the others. With W_T = {FAR}, which no window "
        f"reaches, the ratio is {interval(far)}",
    )


def _above(rate: str, ratios: list[float]) -> Claim:
    if len(ratios) < 2:
        return stated(_text(rate), "more than 1 above W_T", interval(ratios), None, "one seed")
    mean, half = mean_and_interval(ratios)
    return stated(_text(rate), "more than 1 above W_T", interval(ratios), mean - half > 1)

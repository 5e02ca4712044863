"""Connections that come and go: figures 11 and 12."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.sweeps import Sweep
from narrows.types import Floats
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, above, ranked, stated
from narrows_papers.etcp.setup import packets_a_second, scenario
from narrows_papers.readings import APART, FAIR, SAME
from narrows_papers.registry import Finding, experiment

RATES = {"10 Mbps": 10, "100 Mbps": 100, "1 Gbps": 1000}
# Start and stop of each connection in seconds.
TIMES = [(0, 300), (60, 240), (120, 180)]
SECONDS, SEEDS = 300, 5
# The last 20 s of each phase, and the first 20 s of the second connection.
ALONE, TWO, THREE, TWO_AGAIN, ALONE_AGAIN = (40, 60), (100, 120), (160, 180), (220, 240), (280, 300)
COMING = (60, 80)
# The long run: nobody stops.
LONG, LAST = 600, 200


@experiment("etcp/fig11", "three connections that come and go, RTT 50 ms")
def fig11(bench: Bench) -> Finding:
    """Reproduce figure 11 (§VI-E)."""
    return _arrivals(bench, 50)


@experiment("etcp/fig12", "three connections that come and go, RTT 100 ms")
def fig12(bench: Bench) -> Finding:
    """Reproduce figure 12 (§VI-E)."""
    return _arrivals(bench, 100)


def _arrivals(bench: Bench, rtt: int) -> Finding:
    result = bench.sweep(
        _come_and_go(bench, rtt), name=list(RATES), seeds=max(2, bench.seeds(SEEDS)), series=True
    )
    figure, axes = panels(1, 4, width=3.2)
    claims: list[Claim] = []
    data, arriving = {}, []
    for (name, megabits), ax in zip(RATES.items(), axes[0], strict=False):
        time, by_seed = _shares(result, name, bench.scale)
        shares = by_seed[0]
        _draw(ax, time, shares * megabits, name)
        claims += _phases(name, time, shares)
        came = [_mean(time, each, COMING) for each in by_seed]
        arriving.append([float(each[1] / each[0]) for each in came])
        data[name.replace(" ", "")] = _table(time, shares * megabits)
    last, finally_fair, long_run = _long(bench, rtt)
    time_of_long = last["time"].to_numpy()
    _draw(axes[0][3], last["time"].to_numpy(), long_run, "1 Gbps, nobody stops")
    data["long"] = last
    axes[0][0].legend(fontsize="x-small")
    claims += [
        ranked(
            "convergence takes longer at a larger bandwidth-delay product: goodput of the second "
            "connection in its first 20 s over that of the first, highest where capacity is lowest",
            list(RATES),
            arriving,
        ),
        finally_fair,
    ]
    if rtt == 100:
        claims += _slower_than_at_50_ms(bench, arriving)
    two, three = (
        25 * rtt / 1000 * (2 + 0.01 * packets_a_second(1000) * rtt / 1000 / count) / 2
        for count in (2, 3)
    )
    still = _spreads(time_of_long, long_run)
    note = (
        "Verdicts on single phases are of the run drawn, seed 1; the last 20 s of each phase "
        "count. At 1 Gbps a window forgets with a time constant of bτ(2 + p0·W)/2 (eq. 6, "
        f"linearised): {three:.0f} s with three connections, {two:.0f} s with two, so that a phase "
        "of 60 s still shows how it began. And windows swing about their equilibrium: in the long "
        f"run the spread of three goodputs over 20 s is {min(still):.2f} to {max(still):.2f} from "
        f"{LONG - LAST} s on."
    )
    return Finding(claims, data, figure, note)


def _slower_than_at_50_ms(bench: Bench, arriving: list[list[float]]) -> list[Claim]:
    """Judge the caption of figure 12: convergence takes longer than over figure 11's RTT."""
    result = bench.sweep(
        _come_and_go(bench, 50), name=list(RATES), seeds=max(2, bench.seeds(SEEDS)), series=True
    )
    claims = []
    for name, at_100 in zip(RATES, arriving, strict=True):
        time, by_seed = _shares(result, name, bench.scale)
        came = [_mean(time, each, COMING) for each in by_seed]
        at_50 = [float(each[1] / each[0]) for each in came]
        claims.append(
            ranked(
                f"{name}: convergence takes longer with 100 ms than with 50 ms: goodput of the "
                "second connection in its first 20 s over that of the first",
                ["50 ms", "100 ms"],
                [at_50, at_100],
            )
        )
    return claims


def _come_and_go(bench: Bench, rtt: int) -> Callable[[str], Scenario]:
    def at(name: str) -> Scenario:
        flows = [
            {
                "cc": "etcp",
                "start": bench.seconds(a),
                "stop": bench.seconds(b),
                "start_spread": "0s",
            }
            for a, b in TIMES
        ]
        rate = f"{RATES[name]}Mbps"
        return scenario(bench, rate, f"{rtt}ms", flows, SECONDS, sample=bench.seconds(1))

    return at


def _spreads(time: Floats, goodput: Floats) -> list[float]:
    """Return the spread, (max − min)/mean, of each 20 s of the end of the long run."""
    found = []
    for begins in range(LONG - LAST, LONG, 20):
        some = _mean(time, goodput, (begins, begins + 20))
        found.append(float(np.ptp(some) / some.mean()))
    return found


def _phases(name: str, time: Floats, shares: Floats) -> list[Claim]:
    """Judge each phase of one run by its last 20 s."""
    alone, two, three, again, back = (
        _mean(time, shares, phase) for phase in (ALONE, TWO, THREE, TWO_AGAIN, ALONE_AGAIN)
    )
    claims = [
        stated(
            f"{name}: when a connection starts, those that are there decrease their throughput: "
            "goodput of the first over capacity, alone, beside one, beside two",
            APART.paper("decreases"),
            f"{alone[0]:.2f}, {two[0]:.2f}, {three[0]:.2f}",
            bool(APART.holds(alone[0] - two[0]) and APART.holds(two[0] - three[0])),
        ),
        stated(
            f"{name}: when a connection stops, those that stay take what it had: goodput over "
            "capacity of all, with three, from 220 s on two, from 280 s on one",
            SAME.paper("the same"),
            f"{three.sum():.3f}, {again.sum():.3f}, {back[0]:.3f}",
            SAME.holds(float(three.sum() - min(again.sum(), back[0]))),
        ),
    ]
    spread = [float(np.ptp(some) / some.mean()) for some in (two[:2], three, again[:2])]
    if name != "1 Gbps":
        claims.append(
            stated(
                f"{name}: they converge to an equilibrium where fairness is preserved: spread of "
                "goodput, (max − min)/mean, of two, three and two connections (within a fifth: "
                "of two, Jain's index of 0.99)",
                "fair",
                ", ".join(f"{value:.2f}" for value in spread),
                max(spread) < 0.2,
            )
        )
    else:
        claims.append(
            above(
                f"{name}: throughputs differ within the run: spread of goodput, (max − min)/mean, "
                "of two, three and two connections, the largest (more than what is fair at lower "
                "rates, a fifth)",
                0.2,
                max(spread),
            )
        )
    return claims


def _long(bench: Bench, rtt: int) -> tuple[pl.DataFrame, Claim, Floats]:
    """Run 1 Gbps until the three connections are fair, and judge the last 200 s."""
    flows = [{"cc": "etcp", "start": bench.seconds(a), "start_spread": "0s"} for a, _ in TIMES]
    point = scenario(bench, "1Gbps", f"{rtt}ms", flows, LONG, sample=bench.seconds(1))
    time, by_seed = _shares(bench.run(point), None, bench.scale)
    goodput = by_seed[0]
    ends = _mean(time, goodput, (LONG - LAST, LONG))
    claim = FAIR.claim(
        "1 Gbps: if the simulation runs long enough, the three connections finally have fair "
        f"throughput: Jain's index of the last {LAST} of {LONG} s",
        float(ends.sum() ** 2 / (3 * (ends**2).sum())),
        says="fair",
        why="goodputs over capacity are " + ", ".join(f"{value:.3f}" for value in ends),
    )
    return _table(time, goodput * 1000), claim, np.asarray(goodput * 1000)


def _shares(result: Sweep, name: str | None, scale: float) -> tuple[Floats, list[Floats]]:
    """Return times at full scale, and by seed goodput over capacity, one column per connection."""
    series = result.series("flow_series")
    if name is not None:
        series = series.filter(pl.col("name") == name)
    megabits = RATES[name or "1 Gbps"]
    found = []
    for seed in series["seed"].unique().sort():
        wide = series.filter(pl.col("seed") == seed).pivot("flow", index="time", values="goodput")
        wide = wide.sort("time")
        found.append(np.asarray(wide.drop("time").to_numpy() / (megabits * 1e6)))
    return np.asarray(wide["time"].to_numpy() / scale), found


def _mean(time: Floats, shares: Floats, phase: tuple[int, int]) -> Floats:
    inside = (time > phase[0]) & (time <= phase[1])
    return np.asarray(shares[inside].mean(axis=0))


def _table(time: Floats, goodput: Floats) -> pl.DataFrame:
    columns = {f"connection{number + 1}": goodput[:, number] for number in range(len(TIMES))}
    return pl.DataFrame({"time": time, **columns})


def _draw(ax: Any, time: Floats, goodput: Floats, title: str) -> None:
    for number in range(len(TIMES)):
        ax.plot(time, goodput[:, number], lw=0.8, label=f"connection {number + 1}")
    ax.set(xlabel="time (s)", ylabel="goodput (Mbps)", title=title, ylim=(0, None))

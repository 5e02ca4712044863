"""Two edges and a core: where rates swing, by law and buffer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import polars as pl

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.theory.fluid import Window, compound, illinois, reno
from narrows.theory.fluid_queues import equal_loss
from narrows.theory.stability import one_link
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, above, below, ours, ranked
from narrows_papers.raina.spectra import SAMPLES_A_TRIP, draw, swings
from narrows_papers.registry import Finding, experiment
from narrows_papers.series import each_run

# Two sets of 60 flows, each over an edge of 100 Mbps, and both over a core of 180 Mbps.
EDGES, FLOWS, EDGE, CORE, BITS = ("left", "right"), 60, 100, 180, 12_000
BUFFERS = {"small": 15, "intermediate": 100}
LAWS = {"reno": "reno+sack", "compound": "compound:low_window=0+sack", "illinois": "illinois+sack"}
FLUIDS: dict[str, Callable[[], Window]] = {
    "reno": reno,
    "compound": compound,
    "illinois": illinois,
}
RTT = 200
# Hosts of an edge, whose RTTs lie within a twentieth.
HOSTS = 10
SECONDS, SEEDS = 60, 12
# A flow's window if the core is full, in packets.
SHARE = CORE * 1e6 / BITS * RTT / 1e3 / (len(EDGES) * FLOWS)


@experiment("raina/edges", "two edges and a core: Reno, Compound and Illinois")
def edges(bench: Bench) -> Finding:
    """Measure how arrivals at the core swing from round trip to round trip."""

    def at(law: str, buffer: str) -> Scenario:
        return Scenario(
            duration=bench.seconds(SECONDS),
            warmup=bench.seconds(SECONDS / 3),
            sample=f"{RTT / SAMPLES_A_TRIP:g}ms",
            tcp="ns2",
            packet="1500B",
            links=list(_links(f"{BUFFERS[buffer]}p")),
            flows=list(_flows(LAWS[law])),
        )

    sweep = bench.sweep(
        at, law=list(LAWS), buffer=list(BUFFERS), seeds=bench.seeds(SEEDS), series=True
    )
    keys = ["law", "buffer", "seed"]
    table = each_run(sweep.link_series, keys, swings).join(
        sweep.runs.select(*keys, "utilisation", "loss_rate", "delay_p99"), on=keys
    )
    claims = [
        *(_swing_less(table, law) for law in LAWS),
        *(_wait_less(table, law) for law in LAWS),
        *_linear(table),
        *(_fuller(table, law) for law in ("reno", "compound")),
    ]
    note = (
        "The set-up is ours, after what a sequel's review says of theirs: two sets of "
        f"{FLOWS} flows, each over an edge of {EDGE} Mbps, and both over a core of {CORE} Mbps, "
        f"RTTs of {RTT} ms within a twentieth, all buffers small (15 packets) or intermediate "
        f"(100); paced with exponential gaps, {SEEDS} seeds. In the linear loop a flow loses what "
        "its edge and the core lose together; Illinois is taken at its fastest, ten packets a "
        "round trip and an eighth for a loss, as over queues that hardly delay: its margin is "
        "below 1 in both buffers, and it alone fills the core a hundredth less in the small ones. "
        "Compound's delay-based window grows from the first packet on, as in the papers' model."
    )
    return Finding(claims, {"swings": table}, _figure(sweep.link_series), note)


def _of(table: pl.DataFrame, column: str, law: str, buffer: str) -> list[float]:
    return [float(it) for it in table.filter(law=law, buffer=buffer)[column].to_list()]


def _swing_less(table: pl.DataFrame, law: str) -> Claim:
    names = ["intermediate", "small"]
    return ranked(
        f"small buffers are preferable over intermediate ones, in which rates swing: {law}: "
        "deviation of the core's arrivals of a round trip over Poisson's",
        names,
        [_of(table, "variation", law, name) for name in names],
    )


def _wait_less(table: pl.DataFrame, law: str) -> Claim:
    names = ["intermediate", "small"]
    return ranked(
        f"small buffers keep latency low: {law}: 99th percentile of the wait at the core (s)",
        names,
        [_of(table, "delay_p99", law, name) for name in names],
    )


def _fuller(table: pl.DataFrame, law: str) -> Claim:
    names = ["small", "intermediate"]
    return ours(
        ranked(
            f"and they fill the core no less, though they hold a seventh: {law}: utilisation",
            names,
            [_of(table, "utilisation", law, name) for name in names],
        )
    )


def _linear(table: pl.DataFrame) -> Iterator[Claim]:
    margins = {law: _margin(law, BUFFERS["small"]) for law in LAWS}
    for law in ("reno", "compound"):
        yield ours(
            above(f"the linear loop is stable in small buffers: {law}: margin", 1.0, margins[law])
        )
        yield ours(
            below(
                f"it is not in intermediate ones: {law}: margin",
                1.0,
                _margin(law, BUFFERS["intermediate"]),
            )
        )
    order = sorted(LAWS, key=margins.__getitem__)
    yield ours(
        ranked(
            "the less its margin there, the more a law's rates swing: "
            + ", ".join(f"{law} {margins[law]:.2f}" for law in order)
            + ": deviation over Poisson's",
            order,
            [_of(table, "variation", law, "small") for law in order],
        )
    )


def _margin(law: str, buffer: int) -> float:
    """Return by what factor the loop of a law is stable over an edge and the core."""
    queue = equal_loss(buffer)
    edge = CORE / (len(EDGES) * EDGE)
    return one_link(FLUIDS[law](), lambda load: queue(load) + queue(edge * load), SHARE).margin


def _figure(series: pl.DataFrame) -> Any:
    figure, axes = panels(1, len(LAWS), width=4.5)
    for ax, law in zip(axes[0], LAWS, strict=True):
        draw(ax, law, ((name, series.filter(law=law, buffer=name)) for name in BUFFERS))
    return figure


def _links(buffer: str) -> Iterator[dict[str, Any]]:
    yield {
        "from": "core",
        "to": "far",
        "name": "core",
        "rate": f"{CORE}Mbps",
        "buffer": buffer,
        "delay": f"{RTT / 4:g}ms",
    }
    for edge in EDGES:
        yield {"from": edge, "to": "core", "rate": f"{EDGE}Mbps", "buffer": buffer, "delay": "1ms"}
        for host in range(HOSTS):
            delay = RTT / 4 - 1 + RTT / 40 * host / (HOSTS - 1)
            yield {"from": f"{edge}{host}", "to": edge, "rate": "1Gbps", "delay": f"{delay:g}ms"}


def _flows(cc: str) -> Iterator[dict[str, Any]]:
    for edge in EDGES:
        for host in range(HOSTS):
            yield {
                "cc": cc,
                "count": FLOWS // HOSTS,
                "from": f"{edge}{host}",
                "to": "far",
                "pacing": "exponential",
                "timestamps": True,
                "start_spread": "1s",
            }

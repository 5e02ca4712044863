"""The testbed over a plain path: what today's hosts do there, and hosts without what 2.4 lacked."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, near, one_of
from narrows_papers.ltcp.testbed import PROTOCOLS, RTTS, SECONDS, SOCKETS, TABLE9, TABLE10, WIRE
from narrows_papers.marks import crosses
from narrows_papers.registry import Finding, experiment

TODAY = {"abc": False, "ssthresh": 600.0, **SOCKETS}
# What Linux 2.4 did not have.
WITHOUT = {
    "quantum": 1,
    "sack_compression": False,
    "rack": False,
    "tlp": False,
    "frto": False,
    "prr": False,
    "dsack": False,
}
HOSTS = {"today's": TODAY, "without what 2.4 lacked": TODAY | WITHOUT}
# A referee's runs of one flow without what 2.4 lacked, in Mbps.
ALONE = {
    ("low", "LTCP"): 731,
    ("moderate", "LTCP"): 668,
    ("high", "LTCP"): 520,
    ("moderate", "TCP"): 510,
    ("high", "TCP"): 161,
}
LOW_THRESHOLD = 504
TIMES = 3.22


class Several(NamedTuple):
    """A referee's run of several LTCP flows: the standard deviation of their goodputs in Mbps."""

    label: str
    flows: int
    deviation: str


SEVERAL = [
    Several("moderate", 8, "1.80"),
    Several("low", 8, "1.34"),
    Several("moderate", 10, "2.99"),
]
SEEDS = 4


@experiment("ltcp/hosts", "the testbed over a plain path, with hosts of today and of 2004")
def hosts(bench: Bench) -> Finding:
    """Run one flow over a path that drops and delays exactly, and several, with both hosts."""
    alone = {
        (hosts, label, name): _alone(bench, label, PROTOCOLS[name], habits)
        for hosts, habits in HOSTS.items()
        for label in RTTS
        for name in PROTOCOLS
    }
    low = _alone(bench, "high", "ltcp", TODAY | WITHOUT | {"ssthresh": 300.0})
    rows = [(*key, TABLE9[key[1]][key[2]].mbps, mbps) for key, mbps in alone.items()]
    table = pl.DataFrame(rows, schema=["hosts", "rtt", "protocol", "paper", "mbps"], orient="row")
    several = {it: _deviations(bench, it) for it in SEVERAL}
    note = (
        "*Simulated*: one link of 773 Mbps with a queue of 1000 packets that drops what finds it "
        "full, as every link does unless told otherwise, and exact delays, in place of tab09's "
        "card and clock; windows grow by acknowledgements and slow start ends at 600 packets, "
        "which TCP's goodput at 150 ms was fitted with. "
        "Hosts without what Linux 2.4 lacked send no super-packets, compress no acknowledgements, "
        "and have neither RACK, TLP, F-RTO, PRR nor duplicate SACK. Their numbers are a referee's, "
        "who ran them with narrows of 2026-11-24: this experiment runs them again."
    )
    return Finding(_claims(alone, low, several), {"table": table}, _figure(alone), note)


def _path(bench: Bench, flow: dict[str, Any], label: str) -> Scenario:
    return Scenario(
        tcp="linux",
        duration=bench.seconds(SECONDS),
        warmup="0s",
        dumbbell={
            "rate": f"{WIRE:g}Mbps",
            "rtt": RTTS[label],
            "buffer": "1000p",
            "access_rate": "1Gbps",
        },
        flows=[flow],
    )


def _alone(bench: Bench, label: str, cc: str, habits: dict[str, Any]) -> float:
    """Return the goodput in Mbps of one flow."""
    flows = bench.run(_path(bench, {"cc": cc, **habits}, label)).flows
    return float(flows["goodput"][0]) / 1e6


def _deviations(bench: Bench, run: Several) -> list[float]:
    """Return the standard deviation of several LTCP flows' goodputs in Mbps, for each seed."""
    flow = {
        "cc": "ltcp",
        "count": run.flows,
        "start_spread": "1s",
        "overhead": "16us",
        **TODAY,
        **WITHOUT,
    }
    flows = bench.sweep(_path(bench, flow, run.label), seeds=bench.seeds(SEEDS)).flows
    deviations = flows.group_by("seed").agg(pl.col("goodput").std() / 1e6).sort("seed")
    return [float(value) for value in deviations["goodput"]]


def _claims(
    alone: dict[tuple[str, str, str], float], low: float, several: dict[Several, list[float]]
) -> list[Claim]:
    since, by = "the same scenario, and the engine has changed since", "a referee's run"
    old = "without what 2.4 lacked"
    times = alone[old, "high", "LTCP"] / alone[old, "high", "TCP"]
    return [
        *(
            near(
                f"{RTTS[label]}, {name}: goodput without what 2.4 lacked, {today:.0f} with it",
                wanted,
                alone[old, label, name],
                0.01,
                "Mbps",
                since=since,
                by=by,
            )
            for (label, name), wanted in ALONE.items()
            for today in [alone["today's", label, name]]
        ),
        near(
            "150ms, LTCP: the same, and slow start ends at 300 packets",
            LOW_THRESHOLD,
            low,
            0.01,
            "Mbps",
            since=since,
            by=by,
        ),
        near("150ms: LTCP's goodput over TCP's", TIMES, times, 0.01, since=since, by=by),
        *(
            one_of(
                f"{RTTS[run.label]}, {run.flows} LTCP flows: deviation of goodput, one run of the "
                f"referee's, the testbed's being {TABLE10[run.label][run.flows][1].deviation}",
                run.deviation,
                found,
                "Mbps",
            )
            for run, found in several.items()
        ),
    ]


def _figure(alone: dict[tuple[str, str, str], float]) -> Figure:
    figure, axes = panels(1, len(PROTOCOLS), width=4)
    for ax, name in zip(axes[0], PROTOCOLS, strict=True):
        for number, hosts in enumerate(HOSTS):
            values = [alone[hosts, label, name] for label in RTTS]
            places = np.arange(len(RTTS)) + 0.4 * number - 0.2
            ax.bar(places, values, 0.4, label=f"{hosts} hosts" if number == 0 else hosts)
        crosses(ax, list(range(len(RTTS))), [TABLE9[label][name].mbps for label in RTTS])
        ax.set_xticks(range(len(RTTS)), [rtt.replace("ms", " ms") for rtt in RTTS.values()])
        ax.set(title=name, xlabel="RTT", ylabel="goodput (Mbps)")
    # TCP's panel has room.
    axes[0][0].legend(fontsize="x-small", loc="upper right")
    return figure

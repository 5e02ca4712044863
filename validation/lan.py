"""Compare the LAN of GWA's figure 3 with ns-2 (`lan.jsonl`, made by `lan.tcl`).

Ten hosts, each with an FTP and a Telnet session, share a link as fast as their own, so that an
arrival and a departure often fall at the same instant. Both figures are means over seeds.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import polars as pl

from narrows.pool import run_all
from narrows.results import Result
from narrows.scenario import Scenario
from narrows.statistics import mean_and_interval
from narrows_papers.bench import Bench
from narrows_papers.gwa.setup import LAN, scenario
from tables import Section

REFERENCE = Path(__file__).resolve().with_name("lan.jsonl")
SEEDS = 5
HOSTS, RATE = 10, 100e6
# What ns-2 calls them; its RED with ECN drops above the upper threshold instead of marking.
QUEUES = {
    "DropTail": ("Drop-Tail", "drop-tail"),
    "RED": ("RED", "red:wait=true:ecn=false"),
    "ECN": ("ECN", "red:wait=true"),
}
FIGURES = {
    "mean": "mean goodput of an FTP over the link's rate",
    "least": "least",
    "loss_rate": "drop rate",
    "telnet_mean": "mean Telnet delay (s)",
}


def scenario_of(queue: str, kilobytes: int) -> Scenario:
    """Describe a case of the reference as a scenario."""
    system, discipline = QUEUES[queue]
    return scenario(Bench(), LAN, system, kilobytes, queue=discipline)


def figures(result: Result) -> dict[str, float]:
    """Compute a run's figures as ns-2's script does."""
    shares = (result.flows["goodput"][:HOSTS] / RATE).to_list()
    link = result.links.row(by_predicate=pl.col("name") == "bottleneck", named=True)
    delays = result.flows["mean_packet_delay"][HOSTS:].fill_null(20.0)
    return {
        "mean": sum(shares) / HOSTS,
        "least": min(shares),
        "loss_rate": link["loss_rate"],
        "telnet_mean": float(delays.to_numpy().mean()),
    }


def sections(reference: Path, only: str | None) -> list[Section]:
    """Run the reference's cases and make a table; none if no case is chosen."""
    cases: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for line in reference.read_text().splitlines():
        run = json.loads(line)
        cases[run["case"]["q"], run["case"]["kb"]].append(run["result"])
    chosen = {case: runs for case, runs in cases.items() if _is_chosen(case, only)}
    if not chosen:
        return []
    results = iter(
        run_all([(scenario_of(*case), seed) for case in chosen for seed in range(1, SEEDS + 1)])
    )
    rows, apart = [], 0
    for (queue, kilobytes), runs in chosen.items():
        found = [figures(next(results)) for _ in range(SEEDS)]
        cells = [f"{queue} {kilobytes} kB"]
        for name in FIGURES:
            pair = [[run[name] for run in runs], [run[name] for run in found]]
            (theirs, width), (ours, own) = (mean_and_interval(values) for values in pair)
            is_apart = abs(theirs - ours) > width + own
            apart += is_apart
            cells.append(f"{theirs:.3g} ± {width:.1g}")
            cells.append(f"{ours:.3g} ± {own:.1g}" + (" *" if is_apart else ""))
        rows.append(cells)
    head = ["case", *(text for name in FIGURES.values() for text in (f"{name}, ns-2", "narrows"))]
    summary = (
        f"{len(rows) * len(FIGURES) - apart} of {len(rows) * len(FIGURES)} figures within the "
        "95 % intervals of ns-2's and of narrows' seeds (* otherwise)"
    )
    return [Section("lan", head, rows, summary)]


def _is_chosen(case: tuple[str, int], only: str | None) -> bool:
    return only is None or only in f"q={case[0]} kb={case[1]}"

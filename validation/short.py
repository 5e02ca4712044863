"""Run the reference's short flows beside two CUBIC flows and compare (`short.json`).

One user fetches files of one size, one after the other, each over a new connection; narrows'
figures are over all transfers of several seeds.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from counts import Count, Verdict, judge, share_ratio_interval, total
from linux import ENGINE
from narrows.pool import run_all
from narrows.results import Result
from narrows.scenario import Scenario
from tables import Section

REFERENCE = Path(__file__).resolve().with_name("short.json")
SEEDS = 5
PAYLOAD = 1448
FACTOR, SLOW_MS = 1.3, 200
# The reference does not say how long it waited between two transfers. Its wall-clock time less the
# transfers' own leaves 25 to 30 ms for each.
PAUSE = "26ms"
# How a default sender's trains are made. The reference has no mean train of these runs; those of
# four flows at this rate are of two packets.
QUANTUM: int | str = "auto"
# Files of one size: Pareto's largest shape, and a least size, mean·(shape − 1)/shape, that is only
# just not rounded to a packet less. Of the files of 7 packets all have 7, of those of 21 99 % have
# 21, of those of 70 three quarters have 70 and most others 71.
SHAPE = 100


def scenario_of(size: int, offload: str) -> Scenario:
    """Describe the transfers of one size in bytes as a scenario."""
    packets = -(-size // PAYLOAD)
    sender = {"cc": "cubic", "quantum": 1 if offload == "nogso" else QUANTUM}
    files = {"off": PAUSE, "mean": (packets - 0.45) * SHAPE / (SHAPE - 1), "shape": SHAPE}
    return Scenario(
        duration="62s",
        warmup="2s",
        tcp="linux",
        packet="1500B",
        sample="0s",
        dumbbell={"rate": "100Mbps", "rtt": "20ms", "buffer": "20p"},
        flows=[
            {**sender, "count": 2, "start_spread": "100ms"},
            {**sender, "start": "2s", "start_spread": "100ms", "files": files},
        ],
    )


@dataclass(frozen=True)
class Comparison:
    """The transfers of one size: Linux's figures, and narrows' runs."""

    case: str
    reference: dict[str, Any]
    results: list[Result]

    @property
    def times(self) -> list[list[float]]:
        """Completion times in ms of each run."""
        return [[1e3 * it for it in run.transfers["completion_time"]] for run in self.results]

    @property
    def all_times(self) -> list[float]:
        """Completion times in ms of all runs."""
        return [time for times in self.times for time in times]

    @property
    def timeouts(self) -> tuple[list[Count], list[Count]]:
        """Timeouts over transfers of each run: narrows', and Linux's."""
        runs = zip(self.results, self.times, strict=True)
        ours = [Count(run.flows["timeouts"][-1], len(times)) for run, times in runs]
        n = self.reference["n"]
        return ours, [Count(round(self.reference["rto_per_transfer"] * n), n)]

    @property
    def slow(self) -> tuple[list[Count], list[Count]]:
        """Transfers above 200 ms over all of each run: narrows', and Linux's."""
        ours = [Count(sum(time > SLOW_MS for time in times), len(times)) for times in self.times]
        return ours, [Count(self.reference[f"over_{SLOW_MS}ms"], self.reference["n"])]

    @property
    def verdicts(self) -> list[Verdict]:
        """Whether timeouts, the share above 200 ms and the median agree."""
        ratio = median(self.all_times) / self.reference["ms"]["p50"]
        close = 1 / FACTOR <= ratio <= FACTOR
        return [
            judge(*self.timeouts, FACTOR),
            judge(*self.slow, FACTOR, share_ratio_interval),
            Verdict.WITHIN if close else Verdict.OUTSIDE,
        ]

    def cells(self) -> list[str]:
        """Return the cells of the table's row."""
        marks = [verdict.value for verdict in self.verdicts]
        timeouts, slow = [[total(it) for it in both] for both in (self.timeouts, self.slow)]
        return [
            self.case,
            f"{timeouts[1].rate:.3f}",
            f"{timeouts[0].rate:.3f}{marks[0]}",
            f"{slow[1].rate:.1%}",
            f"{slow[0].rate:.1%}{marks[1]}",
            f"{self.reference['ms']['p50']:.1f}",
            f"{median(self.all_times):.1f}{marks[2]}",
            str(len(self.all_times)),
        ]


HEAD = [
    "case",
    "timeouts per transfer, Linux",
    "narrows",
    f"above {SLOW_MS} ms, Linux",
    "narrows",
    "median in ms, Linux",
    "narrows",
    "transfers in narrows",
]


def compare(reference: Path, only: str | None) -> list[Comparison]:
    """Run the transfers of each size of a reference file.

    Parameters
    ----------
    reference
        A file like short.json.
    only
        Text that the description of a case must contain; None for all cases.
    """
    cases = {}
    for name, figures in json.loads(reference.read_text())["linux"].items():
        offload, size = name.split("-")
        cases[f"{int(size) // 1000} kB {offload}"] = (int(size), offload, figures)
    chosen = {text: case for text, case in cases.items() if not only or only in text}
    jobs = [
        (scenario_of(size, offload), seed)
        for size, offload, _ in chosen.values()
        for seed in range(1, SEEDS + 1)
    ]
    results = iter(run_all(jobs) if jobs else [])
    return [
        Comparison(text, figures, [next(results) for _ in range(SEEDS)])
        for text, (_, _, figures) in chosen.items()
    ]


def summary(comparisons: list[Comparison]) -> str:
    """Report in how many cases each figure agrees."""
    names = ["timeouts per transfer", f"share above {SLOW_MS} ms", "median"]
    columns = zip(*(c.verdicts for c in comparisons), strict=True)
    said = "; ".join(
        f"{name} {sum(v is not Verdict.OUTSIDE for v in column)}"
        + (f" (of these {few} too few to tell)" if (few := column.count(Verdict.FEW)) else "")
        for name, column in zip(names, columns, strict=True)
    )
    return (
        f"Short flows beside two CUBIC flows, 100 Mbps, 20 ms, 20 packets: of {len(comparisons)} "
        f"cases within a factor of {FACTOR}: {said}. {ENGINE}, {SEEDS} seeds."
    )


def sections(reference: Path, only: str | None) -> list[Section]:
    """Run a reference file's transfers and make a table; none if no case is chosen."""
    comparisons = compare(reference, only)
    if not comparisons:
        return []
    return [Section("short", HEAD, [c.cells() for c in comparisons], summary(comparisons))]

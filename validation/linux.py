"""Run every configuration of the reference runs of Linux and compare (`linux.jsonl`).

Flows start within the same 100 ms, runs last the same 20 s, of which the last 14 s are measured.
narrows' figures are means over several seeds.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from counts import Count, Verdict, judge, judge_means, total
from narrows import __version__, _core
from narrows.pool import run_all
from narrows.results import Result
from narrows.scenario import Scenario
from narrows.statistics import mean_and_interval
from tables import Section

REFERENCE = Path(__file__).resolve().with_name("linux.jsonl")
# Linux's names of laws, and the same laws here.
LAWS = {"cubic": "cubic", "reno": "reno", "bbr": "bbr1"}
SEEDS = 10
# A buffer is judged if it lasts at least this long at the link's rate: in a shorter one the
# reference host's own waits decide (README.md).
JUDGED_FROM_MS = 4.8
UTILISATION, QUEUE, FACTOR, AIM = 0.02, 1 / 6, 1.5, 0.9
# BBR paces, and fills a buffer while it probes: the host's waits count for less than with CUBIC.
BBR_JUDGED_FROM_MS, BBR_UTILISATION = 2.0, 0.03
# In seconds: the end of what counts as the start of a run, drops_first_2s in the reference.
EARLY_UNTIL = 2
# How a default sender's trains are made: None for the mean train that arrived in the reference run,
# or a value of `quantum`.
QUANTUM: int | str | None = "auto"
# The host of the second line of configurations that are not judged.
HOST: dict[str, Any] = {"overhead": "1ms"}
ENGINE = f"narrows {__version__}, engine {_core.engine()}"


@dataclass(frozen=True)
class Configuration:
    """The valid runs of Linux with the same settings."""

    runs: list[dict[str, Any]]

    @property
    def text(self) -> str:
        """The settings as words."""
        run = self.runs[0]
        return (
            f"cc={run['cc']} n={run['flows']} bw={run['rate_bps'] / 1e6:.0f} rtt={run['rtt_ms']} "
            f"buf={run['buffer']} {run['offload']}"
        )

    @property
    def is_bbr(self) -> bool:
        """Whether the law is BBR."""
        return bool(self.runs[0]["cc"] == "bbr")

    @property
    def judged(self) -> bool:
        """Whether the buffer outlasts the host's waits."""
        run = self.runs[0]
        lasts = run["buffer_pkts"] * 1500 * 8 / run["rate_bps"] * 1e3
        return bool(lasts >= (BBR_JUDGED_FROM_MS if self.is_bbr else JUDGED_FROM_MS))

    def mean(self, key: str) -> float:
        """Return the mean of a figure over the runs."""
        return float(sum(run[key] for run in self.runs) / len(self.runs))

    @property
    def quantum(self) -> int | str:
        """The `quantum` that stands for the sender's segmentation offload."""
        if self.runs[0]["offload"] == "nogso":
            return 1
        return max(2, round(self.mean("train_mean"))) if QUANTUM is None else QUANTUM

    def scenario(self, host: dict[str, Any]) -> Scenario:
        """Describe the configuration as a scenario, with further fields of its flows."""
        run = self.runs[0]
        return Scenario(
            duration=f"{run['seconds']}s",
            warmup=f"{run['warmup']}s",
            tcp="linux",
            packet="1500B",
            sample=f"{EARLY_UNTIL}s",
            dumbbell={
                "rate": f"{run['rate_bps']:.0f}bps",
                "rtt": f"{run['rtt_ms']}ms",
                "buffer": f"{run['buffer_pkts']}p",
            },
            flows=[
                {
                    "cc": LAWS[run["cc"]],
                    "count": run["flows"],
                    "start_spread": "100ms",
                    "quantum": self.quantum,
                    **host,
                }
            ],
        )


@dataclass(frozen=True)
class Comparison:
    """A configuration, and its runs in narrows, one per seed."""

    configuration: Configuration
    results: Sequence[Result]

    @cached_property
    def links(self) -> list[dict[str, Any]]:
        """The bottleneck of each run."""
        return [result.links.row(0, named=True) for result in self.results]

    def found(self, key: str) -> tuple[float, float]:
        """Return the mean over the seeds of a figure of the bottleneck, and half its interval."""
        return mean_and_interval([link[key] for link in self.links])

    @cached_property
    def losses(self) -> tuple[list[Count], list[Count]]:
        """Drops over arrivals in the measured window of each run: narrows', and Linux's."""
        return (
            [Count(link["drops"], link["arrivals"]) for link in self.links],
            [Count(run["drops"], run["arrivals"]) for run in self.configuration.runs],
        )

    @cached_property
    def early(self) -> tuple[list[Count], list[Count]]:
        """Drops of the first 2 s of each run: narrows', and Linux's."""
        ours = []
        for result in self.results:
            series = result.bottleneck_series
            early = series.filter(series["time"] <= EARLY_UNTIL)
            ours.append(Count(float(early["drops"].sum()), 1))
        theirs = [run["whole"]["drops_first_2s"] for run in self.configuration.runs]
        return ours, [Count(drops, 1) for drops in theirs]

    @property
    def verdicts(self) -> list[Verdict]:
        """Whether utilisation, mean queue, loss rate and early drops agree."""
        bounds = {
            "utilisation": BBR_UTILISATION if self.configuration.is_bbr else UTILISATION,
            "mean_queue": QUEUE * self.configuration.mean("mean_queue"),
        }
        runs = self.configuration.runs
        return [
            *(
                judge_means([link[key] for link in self.links], [run[key] for run in runs], bound)
                for key, bound in bounds.items()
            ),
            judge(*self.losses, FACTOR),
            judge(*self.early, FACTOR),
        ]

    def cells(self) -> list[str]:
        """Return the cells of the table's row."""
        ours, half = self.found("utilisation")
        theirs = self.configuration.mean("utilisation")
        queue, queue_half = self.found("mean_queue")
        marks = [verdict.value for verdict in self.verdicts]
        loss, early = [[total(runs) for runs in both] for both in (self.losses, self.early)]
        return [
            self.configuration.text,
            f"{theirs:.3f}",
            f"{ours:.3f} ± {half:.3f}",
            f"{ours - theirs:+.3f}{marks[0]}",
            f"{self.configuration.mean('mean_queue'):.1f}",
            f"{queue:.1f} ± {queue_half:.1f}{marks[1]}",
            f"{loss[1].rate:.1e} ({loss[1].events:.0f})",
            f"{loss[0].rate:.1e}{marks[2]}",
            f"{early[1].rate:.1f}",
            f"{early[0].rate:.1f}{marks[3]}",
        ]


HEAD = [
    "case",
    "utilisation, Linux",
    "narrows",
    "difference",
    "mean queue, Linux",
    "narrows",
    "loss rate (drops), Linux",
    "narrows",
    "drops in 2 s, Linux",
    "narrows",
]


def configurations(reference: Path, only: str | None) -> list[Configuration]:
    """Read the valid runs of a reference file, those of one configuration together.

    Parameters
    ----------
    reference
        A file like linux.jsonl.
    only
        Text that the description of a configuration must contain; None for all.
    """
    together: dict[str, list[dict[str, Any]]] = {}
    for line in reference.read_text().splitlines():
        run = json.loads(line)
        if run["valid"]:
            together.setdefault(Configuration([run]).text, []).append(run)
    chosen = [Configuration(runs) for text, runs in together.items() if not only or only in text]
    keys = ("cc", "rate_bps", "rtt_ms", "buffer_pkts", "flows", "offload")
    return sorted(chosen, key=lambda case: [case.runs[0][key] for key in keys])


def compare(
    chosen: Sequence[Configuration], host: dict[str, Any], seeds: int = SEEDS
) -> list[Comparison]:
    """Run the configurations on hosts with these further fields of a flow."""
    jobs = [(case.scenario(host), seed) for case in chosen for seed in range(1, seeds + 1)]
    results = run_all(jobs) if jobs else []
    return [
        Comparison(case, results[at * seeds : (at + 1) * seeds]) for at, case in enumerate(chosen)
    ]


def summary(comparisons: Sequence[Comparison]) -> str:
    """Report how many configurations agree, and how many of each figure do."""
    if not comparisons:
        return f"No configuration to judge. {ENGINE}."
    names = ["utilisation", "mean queue", "loss rate", "drops of the first 2 s"]
    columns = list(zip(*(c.verdicts for c in comparisons), strict=True))
    said = "; ".join(
        f"{name} {sum(v is not Verdict.OUTSIDE for v in column)}"
        + (f" (of these {few} too few to tell)" if (few := column.count(Verdict.FEW)) else "")
        for name, column in zip(names, columns, strict=True)
    )
    agree = sum(Verdict.OUTSIDE not in c.verdicts for c in comparisons)
    return (
        f"{agree} of {len(comparisons)} judged configurations ({agree / len(comparisons):.0%}; the "
        f"aim is {AIM:.0%}) agree in everything. Within the bounds: {said}. {ENGINE}, "
        f"{SEEDS} seeds."
    )


def sections(reference: Path, only: str | None) -> list[Section]:
    """Run a reference file's configurations and make tables: judged, not judged, BBR."""
    chosen = configurations(reference, only)
    judged = compare([c for c in chosen if c.judged and not c.is_bbr], {})
    bbr = compare([c for c in chosen if c.is_bbr], {})
    others = [c for c in chosen if not (c.judged or c.is_bbr)]
    rows = []
    for ideal, host in zip(compare(others, {}), compare(others, HOST), strict=True):
        with_host = ["… " + " ".join(f"{k} {v}" for k, v in HOST.items()), *host.cells()[1:]]
        rows += [ideal.cells(), with_host]
    listed = f"Buffers that last less than {JUDGED_FROM_MS} ms; not judged."
    made = [
        Section("linux", HEAD, [c.cells() for c in judged], summary(judged)),
        Section("linux-host", HEAD, rows, f"{listed} {ENGINE}, {SEEDS} seeds."),
        Section(
            "linux-bbr",
            HEAD,
            [c.cells() for c in bbr],
            summary([c for c in bbr if c.configuration.judged])
            + f" Buffers that last less than {BBR_JUDGED_FROM_MS:g} ms are listed, not judged.",
        ),
    ]
    return [section for section in made if section.rows]

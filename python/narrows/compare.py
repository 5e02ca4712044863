"""`narrows compare`: controllers and pacings over one bottleneck, with one seed or several."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from rich.box import SIMPLE
from rich.table import Table

from narrows._core import ScenarioError
from narrows.batch import run_all
from narrows.output import Folder
from narrows.results import Result
from narrows.scenario import Scenario
from narrows.statistics import mean_and_interval

# Heading of the column, key in a record, scale factor, digits.
COLUMNS = [
    ("utilisation", "utilisation", 1.0, 3),
    ("goodput Mbps", "goodput", 1e-6, 1),
    ("loss %", "loss_rate", 100.0, 3),
    ("mean queue", "mean_queue", 1.0, 2),
    ("max queue", "max_queue", 1.0, 0),
    ("RTT ms", "mean_rtt", 1e3, 2),
    ("Jain", "jain", 1.0, 3),
    ("wall s", "wall", 1.0, 2),
    ("Mpkt/s", "packets_per_second", 1e-6, 2),
]


def split_list(option: str, text: str) -> list[str]:
    """Split a list by commas.

    Examples
    --------
    >>> split_list("--cc", "cubic, reno")
    ['cubic', 'reno']
    """
    items = [item.strip() for item in text.split(",")]
    if not all(items):
        raise ScenarioError(
            f'{option}: "{text}" has an empty item; separate names by single commas'
        )
    return items


def split_seeds(text: str, first: int) -> list[int]:
    """Read a number of seeds, like `10`, counted from `first`, or a range of seeds, like `3..12`.

    Examples
    --------
    >>> split_seeds("3", 7), split_seeds("2..4", 1)
    ([7, 8, 9], [2, 3, 4])
    """
    match = re.fullmatch(r"(\d+)(?:\.\.(\d+))?", text.strip())
    if match and match[2]:
        seeds = list(range(int(match[1]), int(match[2]) + 1))
    else:
        seeds = list(range(first, first + int(match[1]))) if match else []
    if not seeds or seeds[0] < 0 or seeds[-1] >= 2**64:
        raise ScenarioError(f'--seeds: "{text}" is not a number or range of seeds; try 10 or 1..10')
    return seeds


@dataclass(frozen=True)
class Comparison:
    """Every combination of controller, pacing and seed over the same network.

    Parameters
    ----------
    ccs, pacings, seeds
        The controllers, pacings and seeds to combine.
    flows
        The number of flows, all with the same controller.
    fields
        The scenario's other fields; those that are None take their defaults.
    flow
        The flows' other fields.
    """

    ccs: list[str]
    pacings: list[str]
    seeds: list[int]
    flows: int
    fields: dict[str, Any]
    flow: dict[str, Any]

    def scenarios(self) -> list[Scenario]:
        """Return one checked scenario for each controller and pacing."""
        fields = {name: value for name, value in self.fields.items() if value is not None}
        return [
            Scenario(
                **fields, flows=[{"cc": cc, "count": self.flows, "pacing": pacing, **self.flow}]
            )
            for cc in self.ccs
            for pacing in self.pacings
        ]

    def run(self) -> list[Result]:
        """Run every scenario with every seed; the runs of one scenario are adjacent."""
        return run_all([(scenario, seed) for scenario in self.scenarios() for seed in self.seeds])

    def table(self, results: list[Result]) -> Table:
        """Return a table with one row for each controller and pacing.

        If there are several seeds, each cell is the mean ± half of the 95 % confidence interval.
        """
        table = Table("cc", "pacing", *(name for name, *_ in COLUMNS), box=SIMPLE)
        for column in table.columns[2:]:
            column.justify = "right"
        for (cc, pacing), group in groupby(
            (result.record() for result in results), lambda r: (r["cc"], r["pacing"])
        ):
            records = list(group)
            cells = [
                _cell([record[key] for record in records], scale, digits)
                for _, key, scale, digits in COLUMNS
            ]
            table.add_row(cc, pacing, *cells)
        return table

    def write(self, folder: Folder, results: list[Result]) -> None:
        """Write tables, figure and report."""
        from narrows import plot, report  # noqa: PLC0415 (matplotlib takes half a second)

        several = len(self.seeds) > 1
        for result in results:
            record = result.record()
            label = f"{record['cc']}-{record['pacing']}" + (f"-{result.seed}" if several else "")
            folder.note(
                result.write(str(folder.path), re.sub(r"[^A-Za-z0-9.=+-]", "_", label) + ".")
            )
        shown = [result for result in results if result.seed == self.seeds[0]]
        folder.data("comparison.png", plot.comparison(results))
        folder.text("report.html", report.comparison(shown, self.table(results)))
        folder.text("scenario.toml", shown[0].scenario.to_toml())


def _cell(values: list[float | None], scale: float, digits: int) -> str:
    known = [value * scale for value in values if value is not None]
    if not known:
        return "-"
    mean, half = mean_and_interval(known)
    return f"{mean:.{digits}f}" if len(known) == 1 else f"{mean:.{digits}f} ± {half:.{digits}f}"

"""`narrows run`: one scenario file with one seed or several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE
from rich.table import Table

from narrows._batch import run_all
from narrows._files import Folder
from narrows.metrics import Metric, metric
from narrows.results import Result
from narrows.scenario import Scenario

MOST_ROWS = 40


@dataclass(frozen=True)
class Single:
    """A scenario and the seeds to run it with."""

    scenario: Scenario
    seeds: list[int]

    def run(self, folder: Folder | None) -> list[Result]:
        """Run the scenario with each seed; the first run's traces are written to the folder."""
        traced = folder is not None and "trace" in self.scenario.fields
        if folder and traced:
            folder.make()
        return run_all(
            [(self.scenario, seed) for seed in self.seeds],
            str(folder.path) if folder and traced else None,
        )

    def tables(self, results: list[Result]) -> list[Table]:
        """Return a table of links and a table of flows.

        If there are several seeds, each cell is the mean ± half of the 95 % confidence interval.
        """
        return [self._links(results), self._flows(results)]

    def _links(self, results: list[Result]) -> Table:
        names = ("utilisation", "loss_rate", "mean_queue", "max_queue", "delay_p99")
        columns = [metric(name, "links") for name in names]
        table = _table("link", "buffer", *(column.heading for column in columns))
        for row in zip(*(result.links.iter_rows(named=True) for result in results), strict=True):
            name = row[0]["name"]
            table.add_row(name, self.scenario.buffers[name], *_cells(row, columns))
        return table

    def _flows(self, results: list[Result]) -> Table:
        names = ("goodput", "loss_rate", "mean_rtt", "epochs", "timeouts", "completion_time")
        columns = [metric(name, "flows") for name in names]
        table = _table("flow", "cc", *(column.heading for column in columns))
        rows = list(zip(*(result.flows.iter_rows(named=True) for result in results), strict=True))
        for row in rows[:MOST_ROWS]:
            table.add_row(str(row[0]["flow"]), row[0]["cc"], *_cells(row, columns))
        if len(rows) > MOST_ROWS:
            table.caption = f"{len(rows) - MOST_ROWS} more flows are in flows.parquet (with -o)"
        return table

    def write(self, folder: Folder, results: list[Result]) -> None:
        """Write tables, figure and report; the figure and the charts show the first seed."""
        from narrows import plot, report  # noqa: PLC0415 (matplotlib takes half a second)

        for result in results:
            folder.note(
                result.write(str(folder.path), f"{result.seed}." if len(results) > 1 else "")
            )
        if "trace" in self.scenario.fields:
            folder.note(
                sorted(
                    str(path) for kind in ("*.pcapng", "*.sqlog") for path in folder.path.glob(kind)
                )
            )
        folder.data("run.png", plot.single(results[0]))
        folder.text("report.html", report.single(results[0], self.tables(results)))
        folder.text("scenario.toml", self.scenario.to_toml())


def _table(*names: str) -> Table:
    table = Table(*names, box=SIMPLE)
    for column in table.columns[2:]:
        column.justify = "right"
    return table


def _cells(rows: Sequence[dict[str, Any]], columns: Sequence[Metric]) -> list[str]:
    return [column.cell([row[column.name] for row in rows]) for column in columns]

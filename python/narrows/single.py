"""`narrows run`: one scenario file with one seed or several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE
from rich.table import Table

from narrows.batch import run_all
from narrows.output import Folder
from narrows.results import Result
from narrows.scenario import Scenario
from narrows.statistics import mean_and_interval

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
        columns = [
            ("utilisation", 1.0, 3),
            ("loss_rate", 100.0, 4),
            ("mean_queue", 1.0, 2),
            ("max_queue", 1.0, 0),
            ("delay_p99", 1e3, 3),
        ]
        table = _table(
            "link", "buffer", "utilisation", "loss %", "mean queue", "max queue", "p99 delay ms"
        )
        for row in zip(*(result.links.iter_rows(named=True) for result in results), strict=True):
            name = row[0]["name"]
            table.add_row(name, self.scenario.buffers[name], *_cells(row, columns))
        return table

    def _flows(self, results: list[Result]) -> Table:
        columns = [
            ("goodput", 1e-6, 3),
            ("loss_rate", 100.0, 4),
            ("mean_rtt", 1e3, 2),
            ("epochs", 1.0, 0),
            ("timeouts", 1.0, 0),
            ("completion_time", 1.0, 3),
        ]
        table = _table(
            "flow", "cc", "goodput Mbps", "loss %", "RTT ms", "epochs", "timeouts", "completion s"
        )
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


def _cells(rows: Sequence[dict[str, Any]], columns: list[tuple[str, float, int]]) -> list[str]:
    cells = []
    for key, scale, digits in columns:
        known = [row[key] * scale for row in rows if row[key] is not None]
        if not known:
            cells.append("-")
            continue
        mean, half = mean_and_interval(known)
        cells.append(
            f"{mean:.{digits}f}" if len(known) == 1 else f"{mean:.{digits}f} ± {half:.{digits}f}"
        )
    return cells

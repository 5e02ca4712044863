"""`narrows run`: one scenario file with one seed or several."""

from __future__ import annotations

from dataclasses import dataclass

from rich.table import Table

from narrows import tables
from narrows._batch import run_all
from narrows._files import Folder
from narrows.results import Result
from narrows.scenario import Scenario


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
        """Return a table of links and a table of groups of flows."""
        return [tables.links(results), tables.flows(results)]

    def write(self, folder: Folder, results: list[Result]) -> None:
        """Write tables, figure and report; the figure and the charts show the first seed."""
        from narrows import plot, report  # noqa: PLC0415 (matplotlib takes half a second)

        for result in results:
            folder.note(result.write(folder.path, f"{result.seed}." if len(results) > 1 else ""))
        if "trace" in self.scenario.fields:
            folder.note(
                sorted(
                    str(path) for kind in ("*.pcapng", "*.sqlog") for path in folder.path.glob(kind)
                )
            )
        folder.data("run.png", plot.png(plot.single(results[0])))
        folder.text("report.html", report.single(results[0], self.tables(results)))
        folder.text("scenario.toml", self.scenario.to_toml())

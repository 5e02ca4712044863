"""`narrows run`: one scenario file with one seed or several."""

from __future__ import annotations

from collections.abc import Sequence

from narrows import remarks, tables
from narrows._files import Folder
from narrows.made import Made
from narrows.results import Result


def warnings(results: Sequence[Result]) -> list[str]:
    """Return the warnings of runs of one scenario."""
    return remarks.of_runs([result.warnings for result in results])


def write(folder: Folder, results: Sequence[Result], made: Made) -> None:
    """Write tables, figure and report; the figure and the charts show the first seed."""
    from narrows import plot, report  # noqa: PLC0415 (matplotlib takes half a second)

    for result in results:
        folder.note(result.write(folder.path, f"{result.seed}." if len(results) > 1 else ""))
    traces = [*folder.path.glob("*.pcapng"), *folder.path.glob("*.sqlog")]
    folder.note(sorted(traces))
    folder.data("run.png", plot.png(plot.single(results[0])))
    folder.text("report.html", report.single(results, tables.of_runs(results), made))
    folder.text("scenario.toml", results[0].scenario.to_toml())

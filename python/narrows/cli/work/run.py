"""`narrows run`: one scenario file with one seed or several."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from narrows import remarks, tables
from narrows.cli.options import split_seeds
from narrows.cli.work.printing import finish, folder_of, one_form, print_records
from narrows.errors import Error
from narrows.files import Folder
from narrows.made import Made
from narrows.pool import run_all
from narrows.results import Result
from narrows.scenario import LARGEST, Scenario
from narrows.terminal import console, warn


def warnings(results: Sequence[Result]) -> list[str]:
    """Return the warnings of runs of one scenario."""
    return remarks.of_runs([result.warnings for result in results])


def write(folder: Folder, results: Sequence[Result], made: Made) -> None:
    """Write tables, figure and report; the figure and the charts show the first seed."""
    from narrows import plot, report

    for result in results:
        folder.note(result.write(folder.path, f"{result.seed}." if len(results) > 1 else ""))
    traces = [*folder.path.glob("*.pcapng"), *folder.path.glob("*.sqlog")]
    folder.note(sorted(traces))
    folder.data("run.png", plot.png(plot.single(results[0])))
    folder.text("report.html", report.single(results, tables.of_runs(results), made))
    folder.text("scenario.toml", results[0].scenario.to_toml())


def run_file(
    file: Path,
    seeds: str,
    seed: int | None,
    as_json: bool,
    csv: bool,
    output: Path | None,
    force: bool,
) -> None:
    """Run a scenario file with each seed, print what came out, and write it."""
    one_form(as_json, csv)
    from_input = str(file) == "-"
    scenario = Scenario.from_toml(_from_input()) if from_input else Scenario.load(file)
    made = Made("run", [({}, scenario.to_toml())], split_seeds(seeds, seed, scenario.seed))
    with folder_of(output, force) as folder:
        traced = "trace" in scenario.fields
        if traced and not folder:
            warn(["trace: traces are written into the folder of -o, and there is none"])
        place = str(folder.path) if folder and traced else None
        results = run_all([(scenario, seed) for seed in made.seeds], place)
        if as_json or csv:
            print_records([result.record() for result in results], csv)
        else:
            for table in tables.of_runs(results):
                console().print(table)
        if not (as_json or csv):
            warn(warnings(results))
        if folder:
            write(folder, results, made)
            finish(folder, made, quiet=as_json or csv)


def _from_input() -> str:
    """Read a scenario from standard input."""
    text = sys.stdin.read(LARGEST + 1)
    if len(text) > LARGEST:
        raise Error(f"standard input: it has more than {LARGEST >> 20} MiB, which no scenario has")
    return text

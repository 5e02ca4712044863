"""`narrows reproduce`: run experiments, write figures, data and claims, and make a paper's page."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Sequence
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import polars as pl
from rich.box import SIMPLE
from rich.markup import escape
from rich.table import Table

from narrows import plot
from narrows.errors import Error, ExperimentError
from narrows.files import Folder, parquet, read_text, write_at_once
from narrows.progress import span
from narrows.terminal import console, put, say
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim
from narrows_papers.pages import counting, overview, page, scaled
from narrows_papers.registry import EXPERIMENTS, Experiment, Finding, choose


def parse_scale(text: str) -> float:
    """Read a scale: ``full``, ``quick``, or a number above 0 and at most 1.

    Parameters
    ----------
    text
        What ``--scale`` says.

    Returns
    -------
    float
        Above 0 and at most 1.

    Raises
    ------
    ExperimentError
        If it is not a scale.

    Examples
    --------
    >>> parse_scale("quick"), parse_scale("0.5")
    (0.1, 0.5)
    """
    named = {"full": 1.0, "quick": 0.1}
    try:
        scale = named.get(text) or float(text)
    except ValueError:
        scale = math.nan
    if not 0 < scale <= 1:
        raise ExperimentError(
            f'--scale: "{text}" is not a scale between 0 and 1; try full, quick or 0.5'
        )
    return scale


def reproduce(
    names: Sequence[str],
    bench: Bench,
    output: Path,
    as_json: bool,
    real: bool = False,
    scenarios: bool = False,
) -> bool:
    """Run experiments, print their claims, and write them and their papers' pages.

    Parameters
    ----------
    names
        Ids, papers, or ``all``.
    bench
        What runs the sweeps.
    output
        Where pages, figures and data go.
    as_json
        Whether to print records instead of tables.
    real
        Whether over this machine's kernel; the page over all papers is not written then.
    scenarios
        Whether to write the scenarios of each experiment, too.

    Returns
    -------
    bool
        Whether no claim differs and each experiment could be computed.

    Raises
    ------
    ExperimentError
        If a folder has an experiment's results of longer runs.
    """
    chosen = choose(names, real)
    for experiment in chosen:
        _check_kept(output, experiment, bench)
        _folder(output / experiment.paper)
    times = Times(bench.cache, bench.scale)
    if not as_json:
        times.announce(chosen)
    holds = True
    for experiment in chosen:
        begun, ran, reused = time.monotonic(), bench.ran, bench.reused
        bench.scenarios.clear()
        finding = _tried(experiment, bench)
        runs = bench.ran + bench.reused - ran - reused
        if runs:
            finding.claims = _decidable(finding.claims, bench)
        took = time.monotonic() - begun
        if bench.reused == reused and not finding.failure:
            times.keep(experiment.id, took)
        record = _record(experiment, finding, bench, runs, times.of(experiment.id))
        _write(Folder(output / experiment.paper), experiment, finding, record)
        if scenarios:
            _write_scenarios(Folder(output / experiment.paper), experiment, bench.scenarios)
        _print(record, as_json)
        holds &= not finding.failure and all(claim.holds is not False for claim in finding.claims)
    for paper in dict.fromkeys(experiment.paper for experiment in chosen):
        _folder(output).text(f"{paper}.md", page(paper, output / paper))
    if not real:
        _folder(output).text("README.md", overview(output))
    if not as_json:
        say(f"written to {output}/")
    return holds


def _check_kept(output: Path, experiment: Experiment, bench: Bench) -> None:
    """Fail if results of longer runs, or of the paper's own scenarios, would be replaced."""
    file = output / experiment.paper / f"{experiment.name}.json"
    if not file.exists():
        return
    kept = json.loads(read_text(file))
    if bench.scale < kept.get("scale", 1) or (bench.changes and not kept.get("changes")):
        raise ExperimentError(
            f"{file} is of {scaled(kept)}, and would be replaced; name another folder with -o"
        )


def _tried(experiment: Experiment, bench: Bench) -> Finding:
    """Run an experiment; if it cannot be computed from its runs, say so instead of its claims."""
    try:
        return experiment.run(bench)
    except (
        ArithmeticError,
        LookupError,
        ValueError,
        TypeError,
        pl.exceptions.PolarsError,
    ) as error:
        if isinstance(error, Error):
            raise
        why = f"{type(error).__name__}: {error}"
        short = bench.scale < 1 or bench.changes
        cause = (
            "these runs are too short or too different for it" if short else "a fault of narrows"
        )
        return Finding([], note=f"It could not be computed ({why}): {cause}.", failure=why)


def _decidable(claims: Sequence[Claim], bench: Bench) -> list[Claim]:
    """Return claims with the verdicts that the runs allow: none if they are not the paper's."""
    if bench.changes:
        said = ", ".join(f"{name} = {value}" for name, value in bench.changes.items())
        return [claim.undecided(f"the paper's runs do not have {said}") for claim in claims]
    if bench.scale < 1:
        why = f"runs of {bench.scale:g} of the paper's length are too short to tell"
        return [claim.undecided(why) for claim in claims]
    return list(claims)


class Times:
    """How long experiments took here, kept beside the runs, by experiment and scale.

    Parameters
    ----------
    cache
        The folder of the runs.
    scale
        The scale of these runs.
    """

    def __init__(self, cache: Path, scale: float) -> None:
        self._file = cache / "times.json"
        self._scale = f"{scale:g}"
        try:
            self._known: dict[str, dict[str, float]] = json.loads(read_text(self._file))
        except (OSError, ValueError):
            self._known = {}

    def of(self, experiment: str) -> float | None:
        """Return the seconds that it took when all of its runs were run, or None.

        Parameters
        ----------
        experiment
            Its id.

        Returns
        -------
        float or None
            In seconds.
        """
        return self._known.get(self._scale, {}).get(experiment)

    def keep(self, experiment: str, seconds: float) -> None:
        """Keep what it took.

        Parameters
        ----------
        experiment
            Its id.
        seconds
            How long it took.
        """
        self._known.setdefault(self._scale, {})[experiment] = round(seconds, 1)
        write_at_once(self._file, json.dumps(self._known, indent=1).encode())

    def announce(self, chosen: Sequence[Experiment]) -> None:
        """Say how long the chosen ones will take, from what they took.

        Parameters
        ----------
        chosen
            The experiments.
        """
        known = [seconds for it in chosen if (seconds := self.of(it.id)) is not None]
        of = counting(len(chosen), "experiment")
        if not known:
            say(f"{of}; how long that takes is not known before it has run here at this scale")
            return
        new = len(chosen) - len(known)
        unknown = f", and {new} of them for the first time at this scale" if new else ""
        say(f"{of}: {span(sum(known))} when they last ran here{unknown}; kept runs take no time")


def catalogue(as_json: bool) -> None:
    """Print the id and title of every experiment, by paper.

    Parameters
    ----------
    as_json
        Whether to print them as one JSON array.
    """
    entries = [EXPERIMENTS[name] for name in sorted(EXPERIMENTS)]
    if as_json:
        put(json.dumps([{"id": entry.id, "title": entry.title} for entry in entries]))
        return
    table = Table("id", "", box=SIMPLE)
    for entry in entries:
        table.add_row(entry.id, entry.title)
    console().print(table)


def _folder(path: Path) -> Folder:
    return Folder(path)


def _record(
    experiment: Experiment, finding: Finding, bench: Bench, runs: int, seconds: float | None
) -> dict[str, Any]:
    record: dict[str, Any] = {
        "id": experiment.id,
        "title": experiment.title,
        "scale": bench.scale,
        "runs": runs,
        "note": finding.note,
        "claims": [claim.record() for claim in finding.claims],
    }
    if bench.changes:
        record["changes"] = [f"{name}={value}" for name, value in bench.changes.items()]
    if seconds is not None:
        record |= {"seconds": seconds, "cores": os.cpu_count()}
    return record


def _write_scenarios(folder: Folder, experiment: Experiment, scenarios: Sequence[str]) -> None:
    """Write the scenarios of an experiment, which `narrows run` reads, beside its figure."""
    different = list(dict.fromkeys(scenarios))
    for number, text in enumerate(different):
        name = experiment.name if len(different) == 1 else f"{experiment.name}.{number + 1}"
        folder.text(f"{name}.toml", text)


def _write(
    folder: Folder, experiment: Experiment, finding: Finding, record: dict[str, Any]
) -> None:
    for name, frame in finding.data.items():
        folder.data(f"{experiment.name}.{name}.parquet", parquet(frame))
    if finding.figure is not None:
        letter(finding.figure)
        folder.data(f"{experiment.name}.png", plot.png(finding.figure))
    folder.text(f"{experiment.name}.json", json.dumps(record, indent=1, ensure_ascii=False) + "\n")


def letter(figure: Any) -> None:
    """Name the panels of a figure (a), (b), (c) … row by row, if it has several.

    Parameters
    ----------
    figure
        A matplotlib figure.
    """
    # Axes over each other, such as those of a second scale, are one panel.
    panels = {
        spec.get_topmost_subplotspec().num1: ax
        for ax in reversed(figure.axes)
        if ax.axison and (spec := ax.get_subplotspec()) is not None
    }
    if len(panels) > 1:
        for name, (_, ax) in zip(ascii_lowercase, sorted(panels.items()), strict=False):
            ax.set_title(f"({name})", loc="left", fontsize="small")


def _print(record: dict[str, Any], as_json: bool) -> None:
    if as_json:
        put(json.dumps(record, ensure_ascii=False))
        return
    table = Table(
        "claim",
        "paper",
        "narrows",
        "verdict",
        title=f"{record['id']}: {record['title']}",
        title_justify="left",
        box=SIMPLE,
    )
    for claim in record["claims"]:
        cells = (claim["text"], claim["paper"], claim["found"], claim["verdict"])
        table.add_row(*map(escape, cells))
    if record["claims"]:
        console().print(table)
    else:
        say(f"{record['id']}: {record['title']}: {record['note']}")
    reasons: dict[str, list[str]] = {}
    for claim in record["claims"]:
        if claim["verdict"] != "holds" and claim["why"]:
            reasons.setdefault(f"{claim['verdict']}: {claim['why']}", []).append(claim["text"])
    for reason, texts in reasons.items():
        of = f"all {len(texts)} claims" if len(texts) == len(record["claims"]) > 1 else texts[0]
        more = f" and {len(texts) - 1} more" if 1 < len(texts) < len(record["claims"]) else ""
        say(f"{of}{more}: {reason}")

"""`narrows reproduce`: run experiments, write figures, data and claims, and make a paper's page."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from rich.box import SIMPLE
from rich.markup import escape
from rich.table import Table

from narrows import plot
from narrows._files import Folder, parquet, read_text, write_at_once
from narrows._progress import span
from narrows._terminal import console, put, say
from narrows.errors import Error, ExperimentError
from narrows.papers.claims import VERDICTS, Claim
from narrows.papers.lab import Lab
from narrows.papers.openings import ABOUT, OPENINGS
from narrows.papers.registry import EXPERIMENTS, Experiment, Finding, choose

TITLES = {
    "etcp": "E-TCP — Gu, Towsley, Hollot, Zhang: "
    "Congestion Control for Small Buffer High Speed Networks",
    "ltcp": "LTCP — Bhandarkar, Jain, Reddy: LTCP",
    "htcp": "H-TCP — Leith, Shorten: H-TCP",
    "laws": "Every law: its window against the loss rate",
    "pxcp": "Paced XCP — Alparslan, Arakawa, Murata: "
    "Performance of Paced and Non-Paced Transmission Control Algorithms",
    "gwa": "GWA — Gerla, Lo Cigno, Mascolo, Weng: Generalized Window Advertising",
}


def parse_scale(text: str) -> float:
    """Read a scale: ``full``, ``quick``, or a number above 0 and at most 1.

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
    lab: Lab,
    output: Path,
    as_json: bool,
    real: bool = False,
    scenarios: bool = False,
) -> bool:
    """Run experiments, print their claims, and write them and their papers' pages.

    With `real` over this machine's kernel, and without the page over all papers. Return True if no
    claim differs and each experiment could be computed.

    Raises
    ------
    ExperimentError
        If a folder has an experiment's results of longer runs.
    """
    chosen = choose(names, real)
    for experiment in chosen:
        _check_kept(output, experiment, lab)
        _folder(output / experiment.paper)
    times = Times(lab.cache, lab.scale)
    if not as_json:
        times.announce(chosen)
    holds = True
    for experiment in chosen:
        begun, ran, reused = time.monotonic(), lab.ran, lab.reused
        lab.scenarios.clear()
        finding = _tried(experiment, lab)
        runs = lab.ran + lab.reused - ran - reused
        if runs:
            finding.claims = _decidable(finding.claims, lab)
        took = time.monotonic() - begun
        if lab.reused == reused and not finding.failure:
            times.keep(experiment.id, took)
        record = _record(experiment, finding, lab, runs, times.of(experiment.id))
        _write(Folder(output / experiment.paper), experiment, finding, record)
        if scenarios:
            _write_scenarios(Folder(output / experiment.paper), experiment, lab.scenarios)
        _print(record, as_json)
        holds &= not finding.failure and all(claim.holds is not False for claim in finding.claims)
    for paper in dict.fromkeys(experiment.paper for experiment in chosen):
        _folder(output).text(f"{paper}.md", page(paper, output / paper))
    if not real:
        _folder(output).text("README.md", overview(output))
    if not as_json:
        say(f"written to {output}/")
    return holds


def _check_kept(output: Path, experiment: Experiment, lab: Lab) -> None:
    """Fail if results of longer runs, or of the paper's own scenarios, would be replaced."""
    file = output / experiment.paper / f"{experiment.name}.json"
    if not file.exists():
        return
    kept = json.loads(read_text(file))
    if lab.scale < kept.get("scale", 1) or (lab.changes and not kept.get("changes")):
        raise ExperimentError(
            f"{file} is of {_scaled(kept)}, and would be replaced; name another folder with -o"
        )


def _tried(experiment: Experiment, lab: Lab) -> Finding:
    """Run an experiment; if it cannot be computed from its runs, say so instead of its claims."""
    try:
        return experiment.run(lab)
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
        short = lab.scale < 1 or lab.changes
        cause = (
            "these runs are too short or too different for it" if short else "a fault of narrows"
        )
        return Finding([], note=f"It could not be computed ({why}): {cause}.", failure=why)


def _decidable(claims: Sequence[Claim], lab: Lab) -> list[Claim]:
    """Return claims with the verdicts that the runs allow: none if they are not the paper's."""
    if lab.changes:
        said = ", ".join(f"{name} = {value}" for name, value in lab.changes.items())
        return [claim.undecided(f"the paper's runs do not have {said}") for claim in claims]
    if lab.scale < 1:
        why = f"runs of {lab.scale:g} of the paper's length are too short to tell"
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
        """Return the seconds that it took when all of its runs were run, or None."""
        return self._known.get(self._scale, {}).get(experiment)

    def keep(self, experiment: str, seconds: float) -> None:
        """Keep what it took."""
        self._known.setdefault(self._scale, {})[experiment] = round(seconds, 1)
        write_at_once(self._file, json.dumps(self._known, indent=1).encode())

    def announce(self, chosen: Sequence[Experiment]) -> None:
        """Say how long the chosen ones will take, from what they took."""
        known = [seconds for it in chosen if (seconds := self.of(it.id)) is not None]
        of = _counting(len(chosen), "experiment")
        if not known:
            say(f"{of}; how long that takes is not known before it has run here at this scale")
            return
        new = len(chosen) - len(known)
        unknown = f", and {new} of them for the first time at this scale" if new else ""
        say(f"{of}: {span(sum(known))} when they last ran here{unknown}; kept runs take no time")


def catalogue(as_json: bool) -> None:
    """Print the id and title of every experiment, by paper."""
    entries = [EXPERIMENTS[name] for name in sorted(EXPERIMENTS)]
    if as_json:
        put(json.dumps([{"id": entry.id, "title": entry.title} for entry in entries]))
        return
    table = Table("id", "", box=SIMPLE)
    for entry in entries:
        table.add_row(entry.id, entry.title)
    console().print(table)


def page(paper: str, folder: Path) -> str:
    """Return a paper's results page, made from the records in a folder.

    Parameters
    ----------
    paper
        The paper's short name.
    folder
        The folder with the experiments' ``.json`` and ``.png`` files; the page lies beside it.
    """
    records = _records(folder)
    options = {_options(record) for record in records}
    same = options.pop() if len(options) == 1 else ""
    lines = [
        f"# {TITLES.get(paper, paper)}",
        "",
        *([OPENINGS[paper], ""] if paper in OPENINGS else []),
        f"All that follows is made by `narrows reproduce {paper}{same}`. "
        f"{_counting(len(records), 'experiment')}, {_counted(records)}.",
        "",
    ]
    for record in records:
        lines += _section(record, folder)
    return "\n".join(lines).rstrip() + "\n"


def overview(folder: Path) -> str:
    """Return the page over all papers, made from the records in their folders.

    Parameters
    ----------
    folder
        The folder that has one folder for each paper.
    """
    lines = [
        *ABOUT,
        "",
        "| experiment | claims | hold | differ | not decided |",
        "|---|---|---|---|---|",
    ]
    everything: list[dict[str, Any]] = []
    for paper in TITLES:
        records = _records(folder / paper)
        if not records:
            continue
        name = TITLES[paper].partition(" — ")[0]
        lines.append(_row(f"**[{name}]({paper}.md)**", records))
        everything += records
        lines += [_row(f"{record['id']}: {record['title']}", [record]) for record in records]
    return "\n".join([*lines, _row("**all**", everything)]) + "\n"


def _row(name: str, records: Sequence[dict[str, Any]]) -> str:
    counts = _counts(records)
    return f"| {name} | {sum(counts.values())} | " + " | ".join(map(str, counts.values())) + " |"


def _records(folder: Path) -> list[dict[str, Any]]:
    paths = sorted(folder.glob("*.json"))
    return [json.loads(read_text(path)) for path in paths]


def _counts(records: Sequence[dict[str, Any]]) -> dict[str, int]:
    verdicts = [claim["verdict"] for record in records for claim in record["claims"]]
    return {verdict: verdicts.count(verdict) for verdict in VERDICTS.values()}


def _counted(records: Sequence[dict[str, Any]]) -> str:
    holds, differs, undecided = _counts(records).values()
    text = f"{holds + differs + undecided} claims: {holds} hold, {differs} differ"
    return text + (f", {undecided} not decided" if undecided else "")


def _section(record: dict[str, Any], folder: Path) -> list[str]:
    name = record["id"].split("/")[1]
    lines = [f"## {record['id']}: {record['title']}", ""]
    if (folder / f"{name}.png").exists():
        lines += [f"![{record['id']}]({folder.name}/{name}.png)", ""]
    if record["note"]:
        lines += [record["note"], ""]
    runs = f", {_counting(record['runs'], 'run')}" if record["runs"] else ""
    took = (
        f" It took {span(record['seconds'])} on {record['cores']} cores."
        if record.get("seconds")
        else ""
    )
    lines += [f"At {_scaled(record)}{runs}: `{_command(record)}`.{took}", ""]
    lines += ["| claim | paper | narrows | verdict |", "|---|---|---|---|"]
    for claim in record["claims"]:
        why = f": {claim['why']}" if claim["verdict"] != "holds" and claim["why"] else ""
        lines.append(
            f"| {claim['text']} | {claim['paper']} | {claim['found']} "
            f"| **{claim['verdict']}**{why} |"
        )
    return [*lines, ""]


def _scaled(record: dict[str, Any]) -> str:
    return "full scale" if record.get("scale", 1) == 1 else f"scale {record['scale']:g}"


def _command(record: dict[str, Any]) -> str:
    """Return the command that makes a record's results again."""
    return f"narrows reproduce {record['id']}{_options(record)}"


def _options(record: dict[str, Any]) -> str:
    scale = "" if record.get("scale", 1) == 1 else f" --scale {record['scale']:g}"
    changes = "".join(f" --set {change}" for change in record.get("changes", []))
    return f"{scale}{changes}"


def _counting(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _folder(path: Path) -> Folder:
    return Folder(path)


def _record(
    experiment: Experiment, finding: Finding, lab: Lab, runs: int, seconds: float | None
) -> dict[str, Any]:
    record: dict[str, Any] = {
        "id": experiment.id,
        "title": experiment.title,
        "scale": lab.scale,
        "runs": runs,
        "note": finding.note,
        "claims": [claim.record() for claim in finding.claims],
    }
    if lab.changes:
        record["changes"] = [f"{name}={value}" for name, value in lab.changes.items()]
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
        folder.data(f"{experiment.name}.png", plot.png(finding.figure))
    folder.text(f"{experiment.name}.json", json.dumps(record, indent=1, ensure_ascii=False) + "\n")


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
        more = f" and {len(texts) - 1} others" if 1 < len(texts) < len(record["claims"]) else ""
        say(f"{of}{more}: {reason}")

"""`narrows reproduce`: run experiments, write figures, data and claims, and make a paper's page."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.box import SIMPLE
from rich.table import Table

from narrows import plot
from narrows._files import Folder, parquet
from narrows._terminal import console, say
from narrows.errors import ExperimentError
from narrows.papers.claims import VERDICTS
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
    names: Sequence[str], lab: Lab, output: Path, as_json: bool, real: bool = False
) -> bool:
    """Run experiments, print their claims, and write them and their papers' pages.

    With `real` over this machine's kernel, and without the page over all papers. Return True if no
    claim differs.
    """
    chosen = choose(names, real)
    holds = True
    for experiment in chosen:
        before = lab.ran + lab.reused
        finding = experiment.run(lab)
        record = _record(experiment, finding, lab.scale, lab.ran + lab.reused - before)
        _write(Folder(output / experiment.paper), experiment, finding, record)
        _print(record, as_json)
        holds &= all(claim.holds is not False for claim in finding.claims)
    for paper in dict.fromkeys(experiment.paper for experiment in chosen):
        _folder(output).text(f"{paper}.md", page(paper, output / paper))
    if not real:
        _folder(output).text("README.md", overview(output))
    if not as_json:
        say(f"written to {output}/")
    return holds


def catalogue(as_json: bool) -> None:
    """Print the id and title of every experiment, by paper."""
    entries = [EXPERIMENTS[name] for name in sorted(EXPERIMENTS)]
    if as_json:
        print(json.dumps([{"id": entry.id, "title": entry.title} for entry in entries]))
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
    lines = [
        f"# {TITLES.get(paper, paper)}",
        "",
        *([OPENINGS[paper], ""] if paper in OPENINGS else []),
        f"All that follows is made by `narrows reproduce {paper}`. {len(records)} experiments, "
        f"{_counted(records)}.",
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
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


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
    scale = "full scale" if record["scale"] == 1 else f"scale {record['scale']:g}"
    runs = f", {record['runs']} runs" if record["runs"] else ""
    lines += [f"At {scale}{runs}: `narrows reproduce {record['id']}`.", ""]
    lines += ["| claim | paper | narrows | verdict |", "|---|---|---|---|"]
    for claim in record["claims"]:
        why = f": {claim['why']}" if claim["verdict"] != "holds" and claim["why"] else ""
        lines.append(
            f"| {claim['text']} | {claim['paper']} | {claim['found']} "
            f"| **{claim['verdict']}**{why} |"
        )
    return [*lines, ""]


def _folder(path: Path) -> Folder:
    return Folder(path)


def _record(experiment: Experiment, finding: Finding, scale: float, runs: int) -> dict[str, Any]:
    return {
        "id": experiment.id,
        "title": experiment.title,
        "scale": scale,
        "runs": runs,
        "note": finding.note,
        "claims": [claim.record() for claim in finding.claims],
    }


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
        print(json.dumps(record, ensure_ascii=False))
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
        table.add_row(claim["text"], claim["paper"], claim["found"], claim["verdict"])
    console().print(table)

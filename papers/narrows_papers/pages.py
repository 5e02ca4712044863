"""The pages of the papers' results, made from the records that experiments leave in a folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from narrows.files import read_text
from narrows.progress import span
from narrows_papers.claims import VERDICTS

# The order of the page over all papers.
PAPERS = ("etcp", "ltcp", "htcp", "laws", "pxcp", "gwa")


def opening(name: str) -> str:
    """Return what a page says before its tables: its title, and what stood up, by hand.

    Parameters
    ----------
    name
        A paper's short name, or ``README`` for the page over all papers.

    Returns
    -------
    str
        Markdown, each paragraph in one line.
    """
    text = resources.files("narrows_papers").joinpath("openings", f"{name}.md").read_text("utf-8")
    return "\n\n".join(part.replace("\n", " ").strip() for part in text.split("\n\n"))


def page(paper: str, folder: Path) -> str:
    """Return a paper's results page, made from the records in a folder.

    Parameters
    ----------
    paper
        The paper's short name.
    folder
        The folder with the experiments' ``.json`` and ``.png`` files; the page lies beside it.

    Returns
    -------
    str
        Markdown.
    """
    records = _records(folder)
    options = {_options(record) for record in records}
    same = options.pop() if len(options) == 1 else ""
    lines = [
        opening(paper),
        "",
        f"All that follows is made by `narrows reproduce {paper}{same}`. "
        f"{counting(len(records), 'experiment')}, {_counted(records)}.",
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

    Returns
    -------
    str
        Markdown.
    """
    lines = [
        opening("README"),
        "",
        "| experiment | claims | hold | differ | not decided |",
        "|---|---|---|---|---|",
    ]
    everything: list[dict[str, Any]] = []
    for paper in PAPERS:
        records = _records(folder / paper)
        if not records:
            continue
        title = opening(paper).partition("\n")[0].removeprefix("# ")
        name = title.partition(" — ")[0]
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
    runs = f", {counting(record['runs'], 'run')}" if record["runs"] else ""
    took = (
        f" It took {span(record['seconds'])} on {record['cores']} cores."
        if record.get("seconds")
        else ""
    )
    lines += [f"At {scaled(record)}{runs}: `{_command(record)}`.{took}", ""]
    lines += ["| claim | paper | narrows | verdict |", "|---|---|---|---|"]
    for claim in record["claims"]:
        why = f": {claim['why']}" if claim["verdict"] != "holds" and claim["why"] else ""
        lines.append(
            f"| {claim['text']} | {claim['paper']} | {claim['found']} "
            f"| **{claim['verdict']}**{why} |"
        )
    return [*lines, ""]


def scaled(record: dict[str, Any]) -> str:
    """Return at which scale an experiment was run, in words.

    Parameters
    ----------
    record
        An experiment's record.

    Returns
    -------
    str
        Like ``full scale``.
    """
    return "full scale" if record.get("scale", 1) == 1 else f"scale {record['scale']:g}"


def _command(record: dict[str, Any]) -> str:
    """Return the command that makes a record's results again."""
    return f"narrows reproduce {record['id']}{_options(record)}"


def _options(record: dict[str, Any]) -> str:
    scale = "" if record.get("scale", 1) == 1 else f" --scale {record['scale']:g}"
    changes = "".join(f" --set {change}" for change in record.get("changes", []))
    return f"{scale}{changes}"


def counting(number: int, what: str) -> str:
    """Return a number with what it counts, in the plural unless it is one.

    Parameters
    ----------
    number
        How many.
    what
        What, in the singular.

    Returns
    -------
    str
        Both.

    Examples
    --------
    >>> counting(1, "run"), counting(2, "run")
    ('1 run', '2 runs')
    """
    return f"{number} {what}" if number == 1 else f"{number} {what}s"

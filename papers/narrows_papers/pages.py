"""The pages of the papers' results, made from the records that experiments leave in a folder."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from narrows.files import read_text
from narrows.progress import span
from narrows_papers.claims import MEASURED, VERDICTS
from narrows_papers.readings import GENERAL
from narrows_papers.registry import EXPERIMENTS

# The order of the page over all papers.
PAPERS = ("etcp", "ltcp", "htcp", "laws", "pxcp", "gwa", "spang", "raina", "loops")


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
    return "\n\n".join(
        part.strip() if part.startswith("|") else part.replace("\n", " ").strip()
        for part in text.split("\n\n")
    )


def headlines(name: str) -> list[str]:
    """Return the rows of a paper's headline claims, as its opening has them.

    Parameters
    ----------
    name
        A paper's short name.

    Returns
    -------
    list of str
        Rows of a table in Markdown; none if it has no such table.
    """
    rows = [line for line in opening(name).splitlines() if line.startswith("|")]
    return rows[2:]


@cache
def captions(paper: str) -> dict[str, str]:
    """Return what a paper's figures show, written by hand, by experiment.

    Parameters
    ----------
    paper
        The paper's short name.

    Returns
    -------
    dict of str to str
        By the experiment's name within the paper; empty for a study whose figures have none.
    """
    file = resources.files("narrows_papers").joinpath("captions", f"{paper}.toml")
    return tomllib.loads(file.read_text("utf-8")) if file.is_file() else {}


_OF_THE_PAPER = re.compile(r"(fig|tab|sec|eq)(\d+)")


def is_own(name: str) -> bool:
    """Return whether an experiment is the project's own, by its name within the paper.

    Parameters
    ----------
    name
        Like ``fig06``, which is the paper's, or ``gaps``, which is not.

    Returns
    -------
    bool
        Whether the paper has no such figure, table, section or equation.

    Examples
    --------
    >>> is_own("fig06"), is_own("gaps")
    (False, True)
    """
    return _OF_THE_PAPER.match(name) is None


def place(name: str) -> tuple[bool, int, int, str]:
    """Return what experiments are sorted by: the paper's figures and tables come first.

    Parameters
    ----------
    name
        The name within the paper.

    Returns
    -------
    tuple
        To compare.

    Examples
    --------
    >>> sorted(["alt", "eq03", "sec2", "fig10", "tab09"], key=place)
    ['tab09', 'fig10', 'sec2', 'eq03', 'alt']
    """
    found = _OF_THE_PAPER.match(name)
    if found is None:
        return (True, 0, 0, name)
    return (False, {"sec": 1, "eq": 2}.get(found[1], 0), int(found[2]), name)


_ALL_VERDICTS = (*VERDICTS.values(), MEASURED)
_OWN_BOUND = re.compile(r"taken as|bounds? (is|are|of) ours|\(here:")
_NUMBERS, _WORDS, _EQUATIONS, _OWN = KINDS = (
    "the paper's numbers and orders",
    "its words, with a bound of ours",
    "from its equations",
    "experiments of the project's own",
)


def kind(experiment: str, claim: Mapping[str, Any]) -> str:
    """Return what a claim is judged by.

    Parameters
    ----------
    experiment
        The experiment's name within the paper.
    claim
        The claim's record.

    Returns
    -------
    str
        One of `KINDS`.
    """
    if is_own(experiment):
        return _OWN
    if claim["paper"].startswith("not given"):
        return _EQUATIONS
    return _WORDS if _OWN_BOUND.search(claim["text"] + claim["paper"]) else _NUMBERS


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
    whole = is_whole(paper, records)
    made_by = paper if whole else " ".join(str(record["id"]) for record in records)
    lines = [
        opening(paper) if whole else _of_a_part(paper),
        "",
        f"All that follows is made by `narrows reproduce {made_by}{same}`. "
        f"{counting(len(records), 'experiment')}, {_counted(records)}.",
        "",
    ]
    theirs = sum(not is_own(_short(record)) for record in records)
    for number, record in enumerate(records):
        if number == theirs > 0:
            lines += [f"# {_OWN.capitalize()}", ""]
        lines += _section(record, folder)
    return "\n".join(lines).rstrip() + "\n"


def is_whole(paper: str, records: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether these are all of a paper's experiments, at full scale and unchanged.

    Parameters
    ----------
    paper
        The paper's short name.
    records
        Records of its experiments.

    Returns
    -------
    bool
        Only then what is written by hand, from such runs, stands above them.
    """
    theirs = {it.id for it in EXPERIMENTS.values() if it.paper == paper}
    return theirs <= {
        str(record["id"])
        for record in records
        if record.get("scale", 1) == 1 and not record.get("changes")
    }


def _of_a_part(paper: str) -> str:
    title = opening(paper).partition("\n")[0]
    return (
        f"{title}\n\nHere is a part of the experiments, or of their length. What became of the "
        f"headlines is told by the page of all: docs/papers/{paper}.md of narrows."
    )


TABLE = "| | the paper claims | here | why |"


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
    told = {
        paper: rows
        for paper in PAPERS
        if (rows := headlines(paper)) and is_whole(paper, _records(folder / paper))
    }
    heads = [f"| [{_name(paper)}]({paper}.md) {row}" for paper in told for row in told[paper]]
    all_are = all(paper in told for paper in PAPERS if headlines(paper))
    lines = [
        opening("README") if all_are else _of_a_part("README"),
        "",
        *([TABLE, "|---|---|---|---|", *heads, ""] if heads else []),
        *_readings(),
        *_kinds(folder),
        "",
        "| experiment | rows | hold | differ | not decided | measured |",
        "|---|---|---|---|---|---|",
    ]
    everything: list[dict[str, Any]] = []
    for paper in PAPERS:
        records = _records(folder / paper)
        if not records:
            continue
        lines.append(_row(f"**[{_name(paper)}]({paper}.md)**", records))
        everything += records
        lines += [_row(f"{record['id']}: {record['title']}", [record]) for record in records]
    return "\n".join([*lines, _row("**all**", everything)]) + "\n"


def _readings() -> list[str]:
    """Return the table of how words without a number are read."""
    lines = ["| words such as | taken as | why |", "|---|---|---|"]
    for words, bounds, why in GENERAL:
        taken = ", ".join(f"{'>' if it.is_least else '<'} {it.bound:g}" for it in bounds)
        lines.append(f"| {words} | {taken} | {why} |")
    return [*lines, ""]


def _name(paper: str) -> str:
    """Return a paper's name as people say it."""
    return opening(paper).partition("\n")[0].removeprefix("# ").partition(" — ")[0]


def _kinds(folder: Path) -> list[str]:
    """Return the table of verdicts by what claims are judged by."""
    counts = Counter(
        (kind(_short(record), claim), claim["verdict"])
        for paper in PAPERS
        for record in _records(folder / paper)
        for claim in record["claims"]
    )
    lines = [
        "| rows judged by | hold | differ | not decided | measured |",
        "|---|---|---|---|---|",
    ]
    for name in KINDS:
        cells = [str(counts[name, verdict]) for verdict in _ALL_VERDICTS]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _short(record: Mapping[str, Any]) -> str:
    """Return an experiment's name within its paper."""
    return str(record["id"]).split("/")[1]


def _row(name: str, records: Sequence[dict[str, Any]]) -> str:
    counts = _counts(records)
    return f"| {name} | {sum(counts.values())} | " + " | ".join(map(str, counts.values())) + " |"


def _records(folder: Path) -> list[dict[str, Any]]:
    paths = sorted(folder.glob("*.json"), key=lambda path: place(path.stem))
    return [json.loads(read_text(path)) for path in paths]


def _counts(records: Sequence[dict[str, Any]]) -> dict[str, int]:
    verdicts = [claim["verdict"] for record in records for claim in record["claims"]]
    return {verdict: verdicts.count(verdict) for verdict in _ALL_VERDICTS}


def _counted(records: Sequence[dict[str, Any]]) -> str:
    holds, differs, undecided, measured = _counts(records).values()
    claims = holds + differs + undecided
    text = f"{counting(claims, 'claim')}: {holds} hold, {differs} differ"
    text += f", {undecided} not decided" if undecided else ""
    return text + (f", and {counting(measured, 'measurement')}" if measured else "")


def _section(record: dict[str, Any], folder: Path) -> list[str]:
    name = _short(record)
    lines = [f"## {record['id']}: {record['title']}", ""]
    if (folder / f"{name}.png").exists():
        lines += [f"![{record['id']}]({folder.name}/{name}.png)", ""]
        if said := captions(folder.name).get(name):
            lines += [f"*{said}*", ""]
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

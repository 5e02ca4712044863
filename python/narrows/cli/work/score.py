"""`narrows score`: cards of controllers, printed and written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from narrows import _core, forge, own
from narrows.check import Verdict
from narrows.cli.work.printing import folder_of
from narrows.files import Output, write_at_once
from narrows.junit import Case, Outcome, Suite, xml
from narrows.made import Made
from narrows.pool import run_all
from narrows.score.card import Card, Cell, Sign, summed, told, worst_of
from narrows.score.store import Store
from narrows.score.suite import KINDS, Requirement, load
from narrows.score.work import score
from narrows.terminal import complain, console, put, say

OUTCOMES = {
    Verdict.HOLDS: Outcome.PASSED,
    Verdict.FAILS: Outcome.FAILED,
    Verdict.UNDECIDED: Outcome.SKIPPED,
}
KEPT = "score.jsonl"
# A table of more controllers does not fit into a terminal.
MOST_SHOWN = 8
LEGEND = "✓ all hold, ✗ some fail, ? not decided, – not applicable; points that hold of those run"


@dataclass(frozen=True)
class Ask:
    """What a command was asked to score."""

    suites: Sequence[str]
    names: Sequence[str]
    quick: bool
    seeds: int | None
    cache: Path


@dataclass(frozen=True)
class Cards:
    """Where cards are written, and whether with figures."""

    output: Path
    force: bool
    figures: bool


def listed(suites: Sequence[str], as_json: bool) -> None:
    """Print the requirements of suites."""
    for it in load(suites):
        if as_json:
            record = {name: getattr(it, name) for name in ("name", "section", "word", "asks")}
            put(json.dumps({**record, "kind": KINDS[it.kind], "bounds": it.bounds}))
        else:
            put(f"{it.name}: {it.section} {it.word}".rstrip())
            put(f"    {it.asks}\n    bounds ({KINDS[it.kind]}): {it.bounds}")


def score_all(
    ask: Ask, strict: bool, junit: Path | None, as_json: bool, written: Cards | None
) -> bool:
    """Score controllers; return whether nothing fails that `strict` forbids."""
    requirements = load(ask.suites, ask.quick)
    ccs = own.named("--cc", ask.names)
    output, force = (written.output, written.force) if written else (None, False)
    with folder_of(output, force) as folder:
        try:
            cards = score(ccs, requirements, ask.seeds, Store(ask.cache / KEPT))
        except KeyboardInterrupt:
            say(goes_on(ask.cache / KEPT, ccs))
            raise
        _print(cards, requirements, as_json)
        if junit:
            write_at_once(junit, xml([_suite(card) for card in cards]).encode())
        _tell_forge(cards, requirements)
        if folder and written:
            _write(folder, cards, requirements, written.figures)
            if not as_json:
                say(f"cards written to {written.output}/index.html")
    must = [cell for card in cards for cell in card.cells if cell.requirement.word == "MUST"]
    return not (strict and any(cell.sign is Sign.FAILS for cell in must))


def _print(cards: Sequence[Card], requirements: Sequence[Requirement], as_json: bool) -> None:
    if as_json:
        for card in cards:
            for cell in card.cells:
                put(json.dumps(cell.record(card.cc)))
    elif len(cards) <= MOST_SHOWN:
        console().print(_table(cards, requirements))
        put(LEGEND)
        for cell in [cell for card in cards for cell in card.cells if cell.has_failed][:MOST_SHOWN]:
            complain(f"{cell.requirement.name} {cell.title}: {cell.reason}")
        if any(len(cell.check.seeds) == 1 for card in cards for cell in card.cells if cell.check):
            put("where there is one seed it decides alone: near a bound another may say otherwise")
    else:
        for card in cards:
            put(_line(card, requirements))
        put("named are the requirements of which some points fail; -o writes the cards")


def goes_on(kept: Path, ccs: Sequence[Any]) -> str:
    """Say what becomes of a command that was stopped: runs of one's own laws are not kept."""
    told = f"what was done is kept in {kept}; the same command goes on from there"
    return told if all(isinstance(cc, str) for cc in ccs) else f"{told}, but for laws of your own"


def _line(card: Card, requirements: Sequence[Requirement]) -> str:
    """Return a controller with what fails of it, where a table would be too wide."""
    failing = [it.name for it in requirements if summed(card.of(it)) is Sign.FAILS]
    signs = [cell.sign for cell in card.cells]
    counts = (
        signs.count(Sign.HOLDS),
        signs.count(Sign.UNDECIDED),
        signs.count(Sign.NOT_APPLICABLE),
    )
    told = "{} points hold, {} not decided, {} not applicable".format(*counts)
    return f"{card.cc}: {told}; fails: {', '.join(failing) or 'none'}"


def _table(cards: Sequence[Card], requirements: Sequence[Requirement]) -> Table:
    table = Table(box=None)
    table.add_column("requirement", no_wrap=True, overflow="fold", min_width=19)
    for heading in ("asks", *(escape(card.cc) for card in cards)):
        table.add_column(heading)
    for it in requirements:
        table.add_row(escape(it.name), it.word, *(told(card.of(it)) for card in cards))
    return table


def _write(
    folder: Output, cards: Sequence[Card], requirements: Sequence[Requirement], figures: bool
) -> None:
    """Write the cards, a page each, their cells as JSON lines, and each scenario."""
    from narrows.report import card as page

    cells = [(card.cc, cell) for card in cards for cell in card.cells if cell.check is not None]
    cases = [({"cc": cc, "point": cell.title}, cell.text) for cc, cell in cells]
    seeds = sorted({seed for _, cell in cells if cell.check for seed in cell.check.seeds})
    made = Made("score", cases, seeds)
    lines = []
    for card in cards:
        name = page.name_of(card.cc)
        for number, cell in enumerate(card.cells):
            lines.append(json.dumps(cell.record(card.cc)))
            if cell.text:
                (folder.path / name).mkdir(exist_ok=True)
                folder.text(f"{name}/{page.file_of(cell, number)}", cell.text)
        drawn = _draw(folder, card, requirements) if figures else {}
        folder.text(f"{name}.html", page.of_law(card, requirements, made, drawn))
    folder.text("cells.jsonl", "\n".join(lines) + "\n")
    folder.text("index.html", page.of_all(cards, requirements, made))
    folder.finish(made)


def _draw(folder: Output, card: Card, requirements: Sequence[Requirement]) -> dict[str, str]:
    """Write a report of the worst point of each requirement; return their files by its name."""
    from narrows import report, tables
    from narrows.report import card as page

    worst = {it.name: cell for it in requirements if (cell := worst_of(card.of(it))) is not None}
    checks = {name: cell.check for name, cell in worst.items() if cell.check is not None}
    jobs = [
        (check.scenario.drafted({"trace": None}).valid(), check.worst_seed())
        for check in checks.values()
    ]
    files = {}
    for name, (scenario, seed), result in zip(checks, jobs, run_all(jobs), strict=True):
        made = Made("run", [({}, scenario.to_toml())], [seed])
        files[name] = f"{page.name_of(card.cc)}/{name}.html"
        folder.text(files[name], report.single([result], tables.of_runs([result]), made))
    return files


def _suite(card: Card) -> Suite:
    cases = [case for cell in card.cells for case in _cases(cell)]
    return Suite(card.cc, cases, 0.0, {"cc": card.cc, "engine": _core.engine()})


def _cases(cell: Cell) -> list[Case]:
    group = f"score.{cell.requirement.name}"
    if cell.check is None:
        name = f"run {cell.title}".strip()
        outcome = Outcome.ERROR if cell.has_failed else Outcome.SKIPPED
        return [Case(group, name, outcome, cell.reason, cell.reason)]
    cases = []
    for it in cell.check.judgements:
        message = f"{it.title} {it.number} ({len(it.values)} seeds), bound {it.limit}"
        source = f"{cell.requirement.section} {cell.requirement.word}: {cell.requirement.asks}"
        name = f"{it.title} {it.bound} [{cell.title}]" if cell.title else f"{it.title} {it.bound}"
        cases.append(Case(group, name, OUTCOMES[it.verdict], message, f"{message}\n{source}"))
    return cases


def _tell_forge(cards: Sequence[Card], requirements: Sequence[Requirement]) -> None:
    headings = ["requirement", "asks", *(card.cc for card in cards)]
    rows = [[it.name, it.word, *(told(card.of(it)) for card in cards)] for it in requirements]
    forge.summarise("narrows score", headings, rows)

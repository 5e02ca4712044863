"""`narrows conform`: controllers judged, printed, compared with a baseline, failures kept."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from textwrap import fill

from narrows import _core, forge
from narrows.cli.options import split_list
from narrows.cli.work.traced import traced
from narrows.conformance import (
    SIGNS,
    Conformance,
    Finding,
    Row,
    checks,
    chosen,
    conform,
    found_of,
    line,
    observe,
)
from narrows.errors import Error
from narrows.files import Output, read_text, write_at_once
from narrows.junit import Case, Outcome, Suite, xml
from narrows.made import Made
from narrows.results import run
from narrows.scenario import Scenario
from narrows.terminal import put, say, tell

OUTCOMES = {
    Finding.HOLDS: Outcome.PASSED,
    Finding.INFO: Outcome.PASSED,
    Finding.FAILS: Outcome.FAILED,
    Finding.DIFFERS: Outcome.SKIPPED,
    Finding.UNDECIDED: Outcome.SKIPPED,
    Finding.NOT_ASKED: Outcome.SKIPPED,
}
# Before the name of a congestion control of this machine's kernel.
KERNEL = "kernel:"
KEPT = (Finding.FAILS, Finding.DIFFERS)
STRICT = {Finding.DIFFERS, Finding.UNDECIDED}
# Of sentences; rows of numbers are wider.
WIDTH = 80


@dataclass(frozen=True)
class Known:
    """The file of what is known, and whether it is written anew."""

    path: Path | None
    bless: bool

    def read(self) -> dict[str, dict[str, str]]:
        """Return what is known, by controller and check."""
        if self.path is None or (self.bless and not self.path.exists()):
            return {}
        try:
            known: dict[str, dict[str, str]] = json.loads(read_text(self.path))
            if not all(isinstance(rows, dict) for rows in known.values()):
                raise ValueError
        except (ValueError, AttributeError):
            raise Error(f"{self.path}: it is not what --bless writes; write it anew") from None
        return known


@dataclass(frozen=True)
class Papers:
    """What is written of the findings, and where pages are kept."""

    junit: Path | None
    badge: Path | None
    keep: Path


@dataclass(frozen=True)
class Ask:
    """What a command was asked to judge."""

    cc: str
    as_: str | None
    only: str
    skip: str | None
    transport: str | None

    def checks(self) -> str:
        """Return the checks to try, between commas."""
        return ",".join(chosen(self.only, self.skip, "--only", "--skip"))


def listed(as_json: bool) -> None:
    """Print the checks."""
    for check in checks().values():
        if as_json:
            put(json.dumps(asdict(check)))
        else:
            put(f"{check.id:<4}{check.name}")
            put(fill(check.told, WIDTH, initial_indent="    ", subsequent_indent="    "))


def judge(
    ask: Ask,
    strict: bool,
    baseline: Known,
    papers: Papers,
    as_json: bool,
) -> bool:
    """Judge each controller; return whether nothing fails that is not known."""
    known = baseline.read()
    wanted = ask.checks()
    all_found = []
    names = split_list("--cc", ask.cc)
    if twice := [name for name in names if names.count(name) > 1]:
        raise Error(f"--cc: {twice[0]} is named twice; leave one out")
    for cc in names:
        if cc.startswith(KERNEL):
            tell(f"{cc}: in real time, nine minutes for all checks")
        # Of several some may be asked nothing.
        judged = conform if len(names) == 1 else found_of
        found = judged(cc, as_=ask.as_, only=wanted, transport=ask.transport)
        all_found.append(found)
        kept = _keep(found, papers.keep)
        if as_json:
            for row in found.rows:
                put(json.dumps({**_about(found), **row.record()}))
        else:
            _print(found, kept, ask)
    if len(all_found) > 1 and not as_json:
        _print_matrix(all_found)
    if papers.junit:
        write_at_once(papers.junit, xml([_suite(found, strict) for found in all_found]).encode())
    if papers.badge:
        write_at_once(papers.badge, _badge(all_found).encode())
    _tell_forge(all_found)
    if baseline.path and baseline.bless:
        told = {it.cc: {row.check.id: row.finding.value for row in it.rows} for it in all_found}
        write_at_once(baseline.path, (json.dumps(known | told, indent=1) + "\n").encode())
        return True
    wrong = {Finding.FAILS}
    if strict:
        wrong |= STRICT
    news = [
        row.check.id
        for found in all_found
        for row in found.rows
        if row.finding in wrong and known.get(found.cc, {}).get(row.check.id) != row.finding
    ]
    return not news


def _badge(all_found: list[Conformance]) -> str:
    """Return how many checks hold, as shields.io's endpoint wants it."""
    rows = [row for found in all_found for row in found.rows]
    told = {finding: sum(row.finding is finding for row in rows) for finding in Finding}
    holds, fails = told[Finding.HOLDS], told[Finding.FAILS]
    asked = holds + fails + told[Finding.DIFFERS] + told[Finding.UNDECIDED]
    color = "red" if fails else "brightgreen" if holds == asked else "yellow"
    message = f"{holds} of {asked} hold"
    if not asked:
        color, message = "lightgrey", "nothing asked"
    badge = {"schemaVersion": 1, "label": "conformance", "message": message, "color": color}
    return json.dumps(badge) + "\n"


def _print(found: Conformance, kept: dict[str, Path], ask: Ask) -> None:
    put(found.title)
    for row in found.rows:
        if row.finding is not Finding.NOT_ASKED:
            put(f" {line(row)}")
    for row in found.rows:
        if row.finding in KEPT:
            put(f"\n {SIGNS[row.finding]} {row.check.id} {row.check.name}: {row.seen}; {row.bound}")
            put(fill(row.check.told, WIDTH, initial_indent="   ", subsequent_indent="   "))
            if row.check.id in kept:
                put(f"   {kept[row.check.id]}/report.html; again: {_again(found, row, ask)}")
    put(f"\n {found.sum or 'nothing is asked'}")


def _print_matrix(all_found: Sequence[Conformance]) -> None:
    """Print checks by controllers: those of which not all say the same that is as asked."""
    signs = [[SIGNS[row.finding] for row in found.rows] for found in all_found]
    widths = [len(found.cc) for found in all_found]
    put("\n" + "  ".join(found.cc for found in all_found))
    for place, row in enumerate(all_found[0].rows):
        told = [column[place] for column in signs]
        if set(told) & {SIGNS[it] for it in (*KEPT, Finding.UNDECIDED)}:
            cells = "  ".join(f"{sign:<{width}}" for sign, width in zip(told, widths, strict=True))
            put(f"{cells}  {row.check.id} {row.check.name}".rstrip())


def _about(found: Conformance) -> dict[str, str]:
    """Return what was judged, as what, by which engine, and a stack's version."""
    about = {"cc": found.cc, "as": found.profile, "engine": _core.engine()}
    return about | ({"version": found.version} if found.version else {})


def _again(found: Conformance, row: Row, ask: Ask) -> str:
    words = ["narrows", "conform", "--cc", found.cc, "--only", row.check.id]
    if ask.as_:
        words += ["--as", ask.as_]
    if ask.transport:
        words += ["--transport", ask.transport]
    return shlex.join(words)


def _keep(found: Conformance, below: Path) -> dict[str, Path]:
    """Write a page for each check that is not as asked; return the folders by check."""
    from narrows import report

    kept: dict[str, Path] = {}
    # Real time does not come again.
    if found.cc.startswith(KERNEL):
        return kept
    name = "".join(sign if sign.isalnum() else "-" for sign in found.cc)
    for row in found.rows:
        if row.finding not in KEPT or not row.scenarios:
            continue
        scenario = Scenario.draft(
            _core.Scenario.from_json(row.scenarios[-1]), found.controllers
        ).valid()
        target = below / name / row.check.id
        with Output(target, force=True) as folder:
            # In the seed that a scenario has unless it says another, as the check's own run.
            run(traced(scenario, scenario.seed), traces_to=folder.path)
            made = Made("conform", [({}, scenario.to_toml())], [scenario.seed])
            page = report.conformance(found, row, observe(found, row.scenarios[-1]), made)
            folder.text("report.html", page)
            folder.text("scenario.toml", scenario.to_toml())
            folder.finish(made)
        kept[row.check.id] = target
    return kept


def _suite(found: Conformance, strict: bool) -> Suite:
    cases = [_case(row, found.cc, strict) for row in found.rows]
    return Suite(found.cc, cases, found.seconds, _about(found))


def _case(row: Row, cc: str, strict: bool) -> Case:
    check, outcome = row.check, OUTCOMES[row.finding]
    if strict and row.finding in STRICT:
        outcome = Outcome.FAILED
    message = f"{row.finding}: {row.seen}" + (f"; {row.bound}" if row.bound else "")
    body = f"{message}\n{check.told}"
    return Case(f"conform.{cc}.{check.group}", f"{check.id} {check.name}", outcome, message, body)


def _tell_forge(all_found: Sequence[Conformance]) -> None:
    order = list(dict.fromkeys([Finding.FAILS, Finding.DIFFERS, Finding.UNDECIDED, *Finding]))
    for found in all_found:
        rows = sorted(found.rows, key=lambda row: order.index(row.finding))
        cells = [
            [
                f"{SIGNS[row.finding]} {row.finding}",
                f"{row.check.id} {row.check.name}",
                row.seen,
                row.bound,
                f"{row.check.source} {row.check.word}",
            ]
            for row in rows
            if row.finding is not Finding.NOT_ASKED
        ]
        for row in found.of(Finding.FAILS):
            told = f"{row.check.id} {row.check.name}: {row.seen}, asked {row.bound}"
            forge.point_at("", f"{found.cc}: {told}")
        forge.summarise(found.title, ["", "check", "seen", "asked", "source"], cells)
    if forge.is_there():
        say("the table is in the job's summary")

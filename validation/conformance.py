"""Write docs/conformance.md: our laws and stacks that others wrote, by every check.

Needs `make hosts`; takes two minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import narrows as nw
from narrows.conformance import SIGNS, Check, Conformance, Finding, Row, checks

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/conformance.md"
HEADS = "| | name | asked by | in its words | what is asked here |"
MARK = "<!-- measured -->"
# Each with what it is judged as, if its name does not say so.
OURS = ["sack", "cubic", "bbr", "bbr:as=draft", "bbr1", "quic", "cubic+quic", "bbr+quic", "etcp"]
THEIRS = [
    "quinn:newreno",
    "quinn:cubic",
    "quinn:bbr",
    "noq:newreno",
    "noq:cubic",
    "noq:bbr",
    "s2n:cubic",
    "s2n:bbr",
    "smoltcp:reno",
    "smoltcp:cubic",
]
# quinn's BBR is version 1.
AS = {"quinn:bbr": "bbr1"}


def _cell(row: Row) -> str:
    if row.finding is Finding.NOT_ASKED:
        return ""
    number = row.seen.split(",")[0].split(" ")[0] if row.number == row.number else ""
    return f"{SIGNS[row.finding]} {number}".strip()


def _table(found: Sequence[Conformance]) -> Iterator[str]:
    yield f"| | {' | '.join(it.cc for it in found)} |"
    yield f"|---|{'---|' * len(found)}"
    for check in checks().values():
        cells = [next(_cell(row) for row in it.rows if row.check == check) for it in found]
        yield f"| {check.id} {check.name} | {' | '.join(cells)} |"


def _sums(found: Sequence[Conformance]) -> Iterator[str]:
    yield "| | judged as | version | found |"
    yield "|---|---|---|---|"
    for it in found:
        yield f"| {it.cc} | {it.profile} | {it.version or 'narrows'} | {it.sum} |"


def _asked(check: Check) -> str:
    words = f'"{check.quote}"' if check.quote else ""
    return f"| {check.id} | {check.name} | {check.source} {check.word} | {words} | {check.asks} |"


def measured(ours: Sequence[Conformance], theirs: Sequence[Conformance]) -> str:
    """Return the part of the page that is measured."""
    lines = ["## Our laws", *_table(ours), "", *_sums(ours), ""]
    lines += ["## Stacks that others wrote", *_table(theirs), "", *_sums(theirs), ""]
    lines += ["## The checks", HEADS, "|---|---|---|---|---|"]
    lines += [_asked(check) for check in checks().values()]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure the page again."""
    found = {cc: nw.conform(cc, as_=AS.get(cc)) for cc in [*OURS, *THEIRS]}
    head = PAGE.read_text(encoding="utf-8").split(MARK)[0]
    text = measured([found[cc] for cc in OURS], [found[cc] for cc in THEIRS])
    PAGE.write_text(f"{head}{MARK}\n{text}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

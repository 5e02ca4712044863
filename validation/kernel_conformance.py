"""Write into docs/conformance.md what this machine's kernel does by the checks, and the simulator.

As root, some nine minutes a law, with nothing else running. Files of `narrows conform --json` may
be given instead of runs; of a check that is in several the last counts.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import narrows as nw
from narrows.conformance import SIGNS, Finding, checks

PAGE = Path(__file__).parent.parent / "docs/conformance.md"
BEGIN, END = "<!-- kernel -->", "<!-- /kernel -->"
# Laws of the kernel, and those of narrows that are written after them.
PAIRS = {"kernel:cubic": "cubic", "kernel:reno": "reno", "kernel:bbr": "bbr1"}


@dataclass(frozen=True)
class Seen:
    """What a check found of a law."""

    finding: Finding
    number: float | None
    seen: str

    def cell(self) -> str:
        """Return it for a table."""
        told = self.seen.split(",")[0].split(" ")[0] if self.number is not None else ""
        return f"{SIGNS[self.finding]} {told}".strip()


Rows = dict[str, Seen]


def judged(cc: str) -> Rows:
    """Return what each check finds of a law."""
    found = nw.conform(cc)
    return {
        row.check.id: Seen(row.finding, row.number if row.number == row.number else None, row.seen)
        for row in found.rows
    }


def read(files: list[str]) -> dict[str, Rows]:
    """Return what files say of each law."""
    found: dict[str, Rows] = {}
    for file in files:
        for line in Path(file).read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            seen = Seen(Finding(row["finding"]), row["number"], row["seen"])
            found.setdefault(row["cc"], {})[row["id"]] = seen
    return found


def table(real: Mapping[str, Rows], simulated: Mapping[str, Rows]) -> Iterator[str]:
    """Yield the lines of the table: the checks that the kernel could be asked."""
    heads = [name for cc in real for name in (cc, PAIRS[cc])]
    yield f"| | {' | '.join(heads)} |"
    yield f"|---|{'---|' * len(heads)}"
    for check in checks().values():
        asked = {cc: rows[check.id] for cc, rows in real.items() if check.id in rows}
        if all(seen.finding is Finding.NOT_ASKED for seen in asked.values()):
            continue
        cells = []
        for cc in real:
            seen = asked.get(cc)
            is_asked = seen is not None and seen.finding is not Finding.NOT_ASKED
            cells += (
                [seen.cell(), simulated[cc][check.id].cell()] if seen and is_asked else ["", ""]
            )
        yield f"| {check.id} {check.name} | {' | '.join(cells)} |"


def main() -> int:
    """Measure it, or read it, and write it."""
    real = read(sys.argv[1:]) if sys.argv[1:] else {cc: judged(cc) for cc in PAIRS}
    simulated = {cc: judged(PAIRS[cc]) for cc in real}
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    foot = rest.split(END)[1]
    lines = [f"Linux {platform.release().split('-')[0]}.", "", *table(real, simulated)]
    PAGE.write_text(f"{head}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{foot}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

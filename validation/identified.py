"""Holds `narrows why --law` against captures of simulated runs, whose law is known.

The laws take turns. The paths have rate, delays, buffer and place of the capture of those that
`captures.py` draws, with one endless flow of the law on them and nothing else, some with random
losses (`is_lossy`). What is tuned was tuned on the seeds below 1500; those from 5000 on are never
looked at one by one.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import captures
import narrows as nw
from narrows.identified import CANDIDATES, UNKNOWN

# How much more than its share a wrong name must not be sure of.
SURE = 0.9


@dataclass(frozen=True)
class Found:
    """What was found of one capture: the law that is said, and how sure; why not if none is."""

    true: str
    place: str
    lossy: bool
    said: str
    sure: float


def is_lossy(seed: int) -> bool:
    """Return whether packets are lost at random on a seed's path."""
    return seed // len(CANDIDATES) % 4 == 3


def fields_of(seed: int) -> tuple[str, str, dict[str, Any]]:
    """Return a law, the place of the capture, and the scenario's fields."""
    law = CANDIDATES[seed % len(CANDIDATES)]
    drawn = captures.draw(seed)
    fields = dict(drawn.fields)
    fields["links"] = [
        {name: value for name, value in link.items() if name not in ("policer", "loss")}
        for link in fields["links"]
    ]
    if is_lossy(seed):
        fields["links"][1]["loss"] = "0.001"
    fields["flows"] = [{"from": "s", "to": "d", "cc": law}]
    return law, drawn.place, fields


def look(seed: int) -> Found:
    """Run the network of a seed, and have its law told."""
    law, place, fields = fields_of(seed)
    with tempfile.TemporaryDirectory() as folder:
        nw.run(nw.Scenario(**fields), traces_to=folder)
        explained = nw.why(Path(folder) / "packets.pcapng")
    try:
        found = nw.identify(explained)
    except nw.Error as error:
        why = f"not told: {str(error).partition(': ')[2]}"
        return Found(law, place, is_lossy(seed), why, 0.0)
    return Found(law, place, is_lossy(seed), found.law, found.probabilities[found.law])


def summary(rows: list[Found]) -> str:
    """Return what one would say of them."""
    named = [row for row in rows if row.said in CANDIDATES]
    right = sum(row.said == row.true for row in named)
    sure = sum(row.said != row.true and row.sure > SURE for row in named)
    unknown = sum(row.said == UNKNOWN for row in rows)
    rest = len(rows) - len(named) - unknown
    return (
        f"{right} of {len(rows)} right, {len(named) - right} wrong ({sure} of them surer than "
        f"{SURE}), {unknown} unknown, {rest} not told"
    )


def main() -> None:
    """Draw, run, read, tell, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", default="5000..5101", help="from..to")
    given = parser.parse_args()
    first, last = (int(text) for text in given.seeds.split(".."))
    rows = []
    for seed in range(first, last + 1):
        rows.append(look(seed))
        print(seed, rows[-1], flush=True)
    for name in ("all", *captures.PLACES):
        print(f"{name}: {summary([row for row in rows if name in ('all', row.place)])}")
    for lossy in (False, True):
        words = "with random losses" if lossy else "without"
        print(f"{words}: {summary([row for row in rows if row.lossy == lossy])}")
    for law in CANDIDATES:
        said = Counter(row.said for row in rows if row.true == law)
        print(f"{law}: {', '.join(f'{what} {count}' for what, count in said.most_common())}")


if __name__ == "__main__":
    main()

"""Writes the two made-up cellular traces of `examples/traces`, in mahimahi's format.

    python scripts/made_up_lte.py

The rate is a Markov chain over five levels, of which one is an outage; it is held for an
exponential time, then goes to a neighbour. Opportunities come at random at that rate. Nobody has
measured this: it has the ups, downs and silences that people report of cellular links, no more.
"""

from __future__ import annotations

import random
from pathlib import Path

SEED = 20261125
SECONDS = 20
# Opportunities of 1500 bytes per millisecond, and mean seconds that a level is held.
DOWN = [(0.0, 0.15), (0.15, 0.5), (0.5, 1.0), (1.0, 1.0), (1.7, 0.6)]
UP = [(0.0, 0.15), (0.05, 0.5), (0.15, 1.0), (0.3, 1.0), (0.5, 0.6)]


def stamps(levels: list[tuple[float, float]], seed: int) -> list[int]:
    """Return the milliseconds of every opportunity, the last at the end."""
    chance = random.Random(seed)
    level, until, found = 2, 0.0, []
    for millisecond in range(1, 1000 * SECONDS + 1):
        if millisecond >= until:
            steps = [step for step in (level - 1, level + 1) if 0 <= step < len(levels)]
            level = chance.choice(steps)
            until = millisecond + 1000 * chance.expovariate(1 / levels[level][1])
        rate = levels[level][0]
        opportunities = int(rate) + (chance.random() < rate % 1)
        found += [millisecond] * opportunities
    return [*found, 1000 * SECONDS]


def main() -> None:
    """Write both files."""
    folder = Path(__file__).parent.parent / "examples" / "traces"
    folder.mkdir(exist_ok=True)
    for number, (name, levels) in enumerate([("down", DOWN), ("up", UP)]):
        lines = "".join(f"{stamp}\n" for stamp in stamps(levels, SEED + number))
        (folder / f"made-up-lte.{name}").write_text(lines)


if __name__ == "__main__":
    main()

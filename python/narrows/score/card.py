"""What came of a score: cells of grids, and the card of a controller."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from narrows.check import Check, Judgement
from narrows.score.suite import Requirement
from narrows.sweeps.points import Point


class Sign(StrEnum):
    """What was found of a cell, the worst of its expectations."""

    HOLDS = "holds"
    UNDECIDED = "not decided"
    FAILS = "fails"
    NOT_APPLICABLE = "not applicable"


# The worst first.
WORST = (Sign.FAILS, Sign.UNDECIDED, Sign.HOLDS, Sign.NOT_APPLICABLE)
SIGNS = {
    Sign.HOLDS: "✓",
    Sign.UNDECIDED: "?",
    Sign.FAILS: "✗",
    Sign.NOT_APPLICABLE: "–",
}


@dataclass(frozen=True)
class Cell:
    """A point of a requirement's grid, for one controller.

    Attributes
    ----------
    requirement
        The file.
    point
        The values of the grid there.
    check
        What was found; None if it could not be run with this controller.
    reason
        Why not; empty if it could.
    text
        The scenario as a file; empty if there is none.
    has_failed
        Whether a run ended with an error, so that there is no check.
    """

    requirement: Requirement
    point: Point
    check: Check | None
    reason: str = ""
    text: str = ""
    has_failed: bool = False

    @property
    def title(self) -> str:
        """What it is called, without the requirement."""
        return self.requirement.title(self.point)

    @property
    def sign(self) -> Sign:
        """The worst of the verdicts."""
        if self.check is None:
            return Sign.FAILS if self.has_failed else Sign.NOT_APPLICABLE
        return min((Sign(it.verdict.value) for it in self.check.judgements), key=WORST.index)

    @property
    def worst(self) -> Judgement | None:
        """The judgement that the sign is from, of several the one with the least margin."""
        if self.check is None:
            return None
        of = [it for it in self.check.judgements if it.verdict.value == self.sign.value]
        return min(of, key=lambda it: -math.inf if math.isnan(it.margin) else it.margin)

    @property
    def margin(self) -> float:
        """The margin of the worst judgement; the least there is if that shows no number."""
        worst = self.worst
        return -math.inf if worst is None or math.isnan(worst.margin) else worst.margin

    def record(self, cc: str) -> dict[str, Any]:
        """Return it as one object for ``--json``.

        Parameters
        ----------
        cc
            The controller's name.

        Returns
        -------
        dict
            With the expectations as `Judgement.record` has them.
        """
        judgements = [] if self.check is None else self.check.judgements
        return {
            "cc": cc,
            "requirement": self.requirement.name,
            "section": self.requirement.section,
            "word": self.requirement.word,
            "kind": self.requirement.kind,
            "point": {name: str(value) for name, value in self.point.items()},
            "verdict": self.sign.value,
            "reason": self.reason,
            "seeds": [] if self.check is None else self.check.seeds,
            "expectations": [it.record() for it in judgements],
        }


@dataclass(frozen=True)
class Card:
    """What was found of one controller.

    Attributes
    ----------
    cc
        Its name.
    cells
        All cells, in the order of the suite.
    """

    cc: str
    cells: Sequence[Cell]

    def of(self, requirement: Requirement) -> list[Cell]:
        """Return the cells of a requirement.

        Parameters
        ----------
        requirement
            One of the suite.

        Returns
        -------
        list of Cell
            In the order of its grid.
        """
        return [cell for cell in self.cells if cell.requirement.path == requirement.path]

    def count(self, requirement: Requirement, sign: Sign) -> int:
        """Return how many cells of a requirement have a sign.

        Parameters
        ----------
        requirement
            One of the suite.
        sign
            Which.

        Returns
        -------
        int
            Their number.
        """
        return sum(cell.sign is sign for cell in self.of(requirement))


def summed(cells: Sequence[Cell]) -> Sign:
    """Return what was found of all cells of a requirement together: the worst of those that ran.

    Parameters
    ----------
    cells
        Of one requirement and controller.

    Returns
    -------
    Sign
        Not applicable if none ran.
    """
    return min((cell.sign for cell in cells), key=WORST.index, default=Sign.NOT_APPLICABLE)


def worst_of(cells: Sequence[Cell]) -> Cell | None:
    """Return the cell that the sign of all is from, of several the one with the least margin.

    Parameters
    ----------
    cells
        Of one requirement and controller.

    Returns
    -------
    Cell or None
        None if none ran.
    """
    of = [cell for cell in cells if cell.check is not None and cell.sign is summed(cells)]
    return min(of, key=lambda cell: cell.margin, default=None)


def told(cells: Sequence[Cell]) -> str:
    """Return what was found of a requirement in a few signs, like ``✗ 3/12``.

    Parameters
    ----------
    cells
        Of one requirement and controller.

    Returns
    -------
    str
        The worst sign, and how many of the cells that ran hold.
    """
    sign = summed(cells)
    ran = [cell for cell in cells if cell.sign is not Sign.NOT_APPLICABLE]
    if not ran:
        return SIGNS[sign]
    held = sum(cell.sign is Sign.HOLDS for cell in ran)
    return f"{SIGNS[sign]} {held}/{len(ran)}"

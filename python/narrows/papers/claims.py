"""A paper's claims, what the data show, and the verdicts, which are computed and never typed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Claim:
    """One claim of a paper.

    Parameters
    ----------
    text
        What is claimed.
    paper, found
        The paper's value and ours, as they are shown.
    holds
        Whether our value is as claimed.
    why
        The reason for a difference; shown only if the claim differs.
    """

    text: str
    paper: str
    found: str
    holds: bool
    why: str = ""

    @property
    def verdict(self) -> str:
        """Return ``holds`` or ``differs``."""
        return "holds" if self.holds else "differs"

    def record(self) -> dict[str, Any]:
        """Return the claim and its verdict as a dictionary for a JSON file."""
        return asdict(self) | {"verdict": self.verdict}


def near(
    text: str, paper: float, found: float, within: float, unit: str = "", why: str = ""
) -> Claim:
    """Claim that a number is close to the paper's.

    Parameters
    ----------
    text, why
        As in `Claim`.
    paper, found
        The numbers.
    within
        How far `found` may be from `paper`, as a share of `paper`: what the paper's digits or
        wording allow.
    unit
        Unit, shown after both numbers.

    Examples
    --------
    >>> near("loss", 0.0102, 0.0101, within=0.02).verdict
    'holds'
    """
    return Claim(
        f"{text} (relative tolerance {within:.2g})",
        _number(paper, unit),
        _number(found, unit),
        bool(abs(found - paper) <= within * abs(paper)),
        why,
    )


def above(text: str, bound: float, found: float, unit: str = "", why: str = "") -> Claim:
    """Claim that a number is above a bound.

    Examples
    --------
    >>> above("utilisation", 0.9, 0.88).verdict
    'differs'
    """
    return Claim(text, f"> {_number(bound, unit)}", _number(found, unit), bool(found > bound), why)


def below(text: str, bound: float, found: float, unit: str = "", why: str = "") -> Claim:
    """Claim that a number is below a bound."""
    return Claim(text, f"< {_number(bound, unit)}", _number(found, unit), bool(found < bound), why)


def falling(text: str, names: Sequence[str], values: Sequence[float], why: str = "") -> Claim:
    """Claim an order: the first name has the highest value.

    Examples
    --------
    >>> falling("utilisation", ["etcp", "highspeed", "newreno"], [0.88, 0.6, 0.4]).found
    'etcp 0.88 > highspeed 0.6 > newreno 0.4'
    """
    ranked = sorted(zip(names, values, strict=True), key=lambda pair: -pair[1])
    found = " > ".join(f"{name} {_number(value, '')}" for name, value in ranked)
    return Claim(text, " > ".join(names), found, [name for name, _ in ranked] == list(names), why)


def stated(text: str, paper: str, found: str, holds: bool, why: str = "") -> Claim:
    """Claim something that is not a number, such as an order or a shape.

    The caller computes `holds` from the data.
    """
    return Claim(text, paper, found, bool(holds), why)


def _number(value: float, unit: str) -> str:
    text = f"{value:,.0f}" if 1e4 <= abs(value) < 1e12 else f"{value:.4g}"
    return text + (f" {unit}" if unit else "")

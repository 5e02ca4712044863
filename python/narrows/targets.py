"""Targets of a search: numbers of a run with bounds, and how they move with the buffer."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Sequence
from dataclasses import dataclass, replace

from narrows.errors import Error

# A share of the bound's distance from nothing below which a number is as good as none.
LEAST_MISS = 1e-6
# Numbers that grow with the buffer, and numbers that fall, of which less is better; and those that
# rise to what is wanted. All others go up and down: of four flows of CUBIC over 20 Mbps and 20 ms
# `power` is 0.81 with 5 packets and 0.22 with 133.
GROWING = ("delay", "queue", "rtt")
FALLING = ("loss", "lost", "drops", "timeouts")
RISING = ("utilisation", "goodput")
WRITTEN = re.compile(r"\s*([\w.\-\[\]]+)\s*(<=|>=|<|>)\s*(\S.*?)\s*")
# What units are made of.
UNITS = string.ascii_letters + "µ "


@dataclass(frozen=True)
class Target:
    """A number of a run with its bound.

    Attributes
    ----------
    name
        Of the number, like ``utilisation`` or ``links.bottleneck.delay_p99``.
    bound
        As it is written.
    """

    name: str
    bound: str

    @property
    def is_growing(self) -> bool:
        """Whether the number grows with the buffer, so that it bounds that from above."""
        return self._is_of(GROWING)

    @property
    def is_searched(self) -> bool:
        """Whether the number moves one way with the buffer, so that there is a least or a greatest.

        What does not is looked at where the others are met.
        """
        return self._is_of(GROWING + FALLING + RISING)

    @property
    def is_wanted(self) -> bool:
        """Whether the bound keeps the number from what nobody wants."""
        if not self.is_searched:
            return True
        return self.bound.startswith("<" if self._is_of(GROWING + FALLING) else ">")

    def _is_of(self, words: Sequence[str]) -> bool:
        last = self.name.rpartition(".")[2]
        return any(word in last for word in words)

    def miss(self, value: float) -> float:
        """Return the logarithm of what misses: of 1 − value if that is to be large, or of it."""
        missing = 1 - value if self.bound.startswith(">") else value
        return math.log(max(missing, LEAST_MISS))


def targets_of(text: str) -> list[Target]:
    """Read targets between commas, like ``utilisation >= 0.98, delay_p99 <= 2ms``.

    Parameters
    ----------
    text
        As on the command line.

    Returns
    -------
    list of Target
        In order.

    Raises
    ------
    Error
        If one has no bound or is named twice, or none of them can be searched for.

    Examples
    --------
    >>> targets_of("utilisation >= 0.98, delay_p99<=2ms")[1].is_growing
    True
    """
    found: list[Target] = []
    for part in text.split(","):
        written = WRITTEN.fullmatch(part)
        if written is None:
            raise Error(f'--target: "{part.strip()}" is no bound; try utilisation >= 0.98')
        name, side, amount = written.groups()
        target = Target(name, f"{side} {amount}")
        if not target.is_wanted:
            raise Error(f"--target: {part.strip()}: nobody wants that; turn the bound round")
        if target.is_searched and target.bound.startswith("<") and _amount(target) < 0:
            raise Error(f"--target: {part.strip()}: it is never less than 0")
        if target.is_growing and _amount(target) == 0:
            raise Error(f"--target: {part.strip()}: every buffer makes packets wait; give more")
        if name in [it.name for it in found]:
            raise Error(f"--target: {name} is named twice; leave one out")
        found.append(target)
    return found


def check_searched(targets: Sequence[Target]) -> None:
    """Fail if no target says where to search.

    Parameters
    ----------
    targets
        As they were read.

    Raises
    ------
    Error
        If all of them go up and down with the buffer.

    Examples
    --------
    >>> check_searched(targets_of("utilisation >= 0.98, jain >= 0.9"))
    """
    if not any(it.is_searched for it in targets):
        raise Error(
            f"--target: {targets[0].name} goes up and down with the buffer, so that there is no "
            "least one; name a number beside it that rises or falls, like utilisation >= 0.98, and "
            "it is looked at where that is met"
        )


def share_of(target: Target) -> float:
    """Return the bound of a ratio that is to be large, from 0.9 or from 90%.

    Parameters
    ----------
    target
        Such a target.

    Returns
    -------
    float
        Above 0 and below 1.

    Raises
    ------
    Error
        If it is no such number.

    Examples
    --------
    >>> share_of(Target("utilisation", ">= 98%"))
    0.98
    """
    share = _number(target)
    if not 0 < share < 1:
        raise Error(f'--target: {target.name} "{target.bound}" is not between 0 and 1; try >= 0.98')
    return share


def check_share(target: Target) -> None:
    """Fail if the bound of a share or a ratio of at most 1 is larger.

    Parameters
    ----------
    target
        Such a target.

    Raises
    ------
    Error
        If it is, as nothing or everything meets it.

    Examples
    --------
    >>> check_share(Target("loss_rate", "<= 1%"))
    """
    if _number(target) > 1:
        raise Error(f'--target: {target.name} "{target.bound}": it is never more than 1')


def _amount(target: Target) -> float:
    """Return the number of a bound, whatever its unit; NaN if it has none."""
    return _number(replace(target, bound=target.bound.rstrip(UNITS)))


def _number(target: Target) -> float:
    """Return the number of a bound, of 98% a hundredth; NaN if it is written otherwise."""
    text = target.bound.lstrip("<>= ")
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        return math.nan

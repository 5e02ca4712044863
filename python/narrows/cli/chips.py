"""Packet memories of switches' chips, for what `narrows buffer --chip` says of a port's share.

A queue may hold α times what is free under dynamic thresholds (Choudhury and Hahne, ToN 1998): of
k congested ports each has α/(1 + kα) of all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from narrows.errors import Error

# Megabytes: J. Warner's list of packet buffers (UC Santa Cruz), but tomahawk5, SONiC's pool.
CHIPS = {
    "trident+": 9.0,
    "trident2": 12.0,
    "trident2+": 16.0,
    "trident4-x9": 82.0,
    "trident4-x11": 132.0,
    "tomahawk2": 42.0,
    "tomahawk5": 164.0,
}
# How many ports are congested at once.
CONGESTED = (1, 4)
# At which one port has half of all; SONiC's usual 8 lets one have eight ninths.
USUAL_ALPHA = 1.0
MOST_ALPHA = 1000.0


@dataclass(frozen=True)
class Chip:
    """A memory that ports share.

    Parameters
    ----------
    name
        As it was asked for.
    megabytes
        All of it.
    alpha
        How many times what is free a queue may hold, a ratio.
    """

    name: str
    megabytes: float
    alpha: float = USUAL_ALPHA

    def share(self, congested: int) -> float:
        """Return the packets of 1500 bytes that each of so many congested ports may hold.

        Examples
        --------
        >>> round(chip_of("trident2+").share(1)), round(chip_of("trident2+:alpha=8").share(1))
        (5333, 9481)
        """
        part = self.alpha / (1 + congested * self.alpha)
        return self.megabytes * 1e6 * part / 1500


def chip_of(text: str) -> Chip:
    """Return the chip of a name, or of a size like 32MB, with its alpha if that is said.

    Examples
    --------
    >>> chip_of("32MB").megabytes, chip_of("Tomahawk5:alpha=8")
    (32.0, Chip(name='tomahawk5', megabytes=164.0, alpha=8.0))
    """
    said, colon, option = text.strip().partition(":")
    alpha = _alpha(text, option) if colon else USUAL_ALPHA
    name = said.lower()
    if name in CHIPS:
        return Chip(name, CHIPS[name], alpha)
    size = re.fullmatch(r"(\d+(?:\.\d+)?) *(kB|KB|MB|GB)", said)
    factor = {"kB": 1e-3, "KB": 1e-3, "MB": 1.0, "GB": 1e3}
    if size is None or not float(size[1]):
        raise Error(
            f'--chip: "{said}" is neither a chip nor a size like 32MB; known: {", ".join(CHIPS)}'
        )
    return Chip(said, float(size[1]) * factor[size[2]], alpha)


def _alpha(text: str, option: str) -> float:
    number = re.fullmatch(r"alpha=(\d+(?:\.\d+)?|1/[1-9]\d*)", option)
    if number is None:
        raise Error(f'--chip: "{text}": what follows the chip is alpha, like trident2+:alpha=8')
    alpha = float(Fraction(number[1]))
    if not 0 < alpha <= MOST_ALPHA:
        raise Error(f'--chip: "{text}": alpha is above 0 and at most {MOST_ALPHA:g}')
    return alpha

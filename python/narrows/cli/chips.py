"""Packet memories of switches' chips, for what `narrows buffer --chip` says of a port's share.

A queue may hold α times what is free under dynamic thresholds (Choudhury and Hahne, ToN 1998): of
k congested ports each has α/(1 + kα) of all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

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
# How many ports are congested at once; α is 1, at which one has half of all. SONiC's usual 8 lets
# one have eight ninths, and each of four nearly a quarter.
CONGESTED = (1, 4)


@dataclass(frozen=True)
class Chip:
    """A memory that ports share.

    Parameters
    ----------
    name
        As it was asked for.
    megabytes
        All of it.
    """

    name: str
    megabytes: float

    def share(self, congested: int) -> float:
        """Return the packets of 1500 bytes that each of so many congested ports may hold.

        Examples
        --------
        >>> round(chip_of("trident2+").share(1))
        5333
        """
        return self.megabytes * 1e6 / (1 + congested) / 1500


def chip_of(text: str) -> Chip:
    """Return the chip of a name, or of a size like 32MB.

    Examples
    --------
    >>> chip_of("32MB").megabytes, chip_of("Tomahawk5").name
    (32.0, 'tomahawk5')
    """
    name = text.strip().lower()
    if name in CHIPS:
        return Chip(name, CHIPS[name])
    size = re.fullmatch(r"(\d+(?:\.\d+)?) *(kB|KB|MB|GB)", text.strip())
    factor = {"kB": 1e-3, "KB": 1e-3, "MB": 1.0, "GB": 1e3}
    if size is None or not float(size[1]):
        raise Error(
            f'--chip: "{text}" is neither a chip nor a size like 32MB; known: {", ".join(CHIPS)}'
        )
    return Chip(text.strip(), float(size[1]) * factor[size[2]])

"""Links as operators have them: what `narrows buffer --place` takes for what is not said."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from narrows.errors import Error


@dataclass(frozen=True)
class Place:
    """A link's rate, round trips, laws and flows; as many flows as the mixture says if None.

    Some have a buffer of which is asked how many flows it serves.
    """

    rate: str = "1Gbps"
    rtt: str = "20ms..80ms"
    cc: str = "cubic"
    flows: int | None = None
    given: str | None = None

    def laws(self, flows: int | None) -> str:
        """Return its laws; of a mixture as many flows as are asked for, if a number is.

        Examples
        --------
        >>> PLACES["peering"].laws(50)
        '40*cubic/10*bbr'
        """
        if flows is None or "*" not in self.cc:
            return self.cc
        counted = [part.split("*") for part in self.cc.split("/")]
        every = sum(int(count) for count, _ in counted)
        ends = [0]
        for count, _ in counted:
            ends.append(ends[-1] + int(count))
        shares = [(2 * flows * end + every) // (2 * every) for end in ends]
        parts = zip(counted, itertools.pairwise(shares), strict=True)
        return "/".join(f"{end - start}*{law}" for (_, law), (start, end) in parts if end > start)


# Windows of 100 packets in a core: 100 Gbps · 43 ms / 12 kbit / 100. A strand of 100 Gbps whose
# queue drains in 1 ms, 50 ms away, is M. Mathis' and A. McGregor's question (workshop on buffer
# sizing, Stanford, 2019). The others as their names say.
PLACES = {
    "access": Place("1Gbps", "10ms..60ms", "cubic", 5),
    "metro": Place("10Gbps", "2ms..10ms", "cubic", 200),
    "peering": Place("10Gbps", "10ms..40ms", "160*cubic/40*bbr"),
    "core": Place("100Gbps", "20ms..80ms", "cubic", 3600),
    "dc": Place("25Gbps", "50us..200us", "cubic", 20),
    "mathis": Place("100Gbps", "50ms", "cubic,bbr", given="1ms"),
}


def place_of(name: str) -> Place:
    """Return the place of a name.

    Examples
    --------
    >>> place_of("access").rtt
    '10ms..60ms'
    """
    if name not in PLACES:
        raise Error(f'--place: "{name}" is no place; known: {", ".join(PLACES)}')
    return PLACES[name]

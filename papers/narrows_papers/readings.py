"""How a paper's words without a number are read: a bound, and why it is that one."""

from __future__ import annotations

from dataclasses import dataclass

from narrows_papers.claims import Claim, shown, stated


@dataclass(frozen=True)
class Reading:
    """A bound for words that give no number.

    Parameters
    ----------
    bound
        The bound.
    is_least
        Whether what is above it is as the words say, and not what is below.
    since
        Why it is this one, in a few words that stand in the claim's row.
    """

    bound: float
    is_least: bool
    since: str

    def holds(self, found: float) -> bool:
        """Return whether a number is as the words say.

        Parameters
        ----------
        found
            The number; with several, the one that is nearest to the bound or beyond it.

        Returns
        -------
        bool
            False for NaN.
        """
        return bool(found > self.bound if self.is_least else found < self.bound)

    def paper(self, says: str, unit: str = "") -> str:
        """Return what stands in a claim's paper column.

        Parameters
        ----------
        says
            The paper's words.
        unit
            The bound's unit.

        Returns
        -------
        str
            Words, bound and reason.

        Examples
        --------
        >>> most(1, "a packet is the least step").paper("small", "packets")
        'small (taken as < 1 packets: a packet is the least step)'
        """
        sign = ">" if self.is_least else "<"
        return f"{says} (taken as {sign} {shown(self.bound, unit)}: {self.since})"

    def claim(self, text: str, found: float, unit: str = "", why: str = "", *, says: str) -> Claim:
        """Claim that a number is as the words say.

        Parameters
        ----------
        text, why
            As in `Claim`.
        found
            The number.
        unit
            Unit, shown after both numbers.
        says
            The paper's words.

        Returns
        -------
        Claim
            With its verdict.

        Examples
        --------
        >>> FULL.claim("utilisation", 0.94, says="full").verdict
        'differs'
        """
        return stated(text, self.paper(says, unit), shown(found, unit), self.holds(found), why)


def least(bound: float, since: str) -> Reading:
    """Return the reading that a number is above a bound.

    Parameters
    ----------
    bound, since
        As in `Reading`.

    Returns
    -------
    Reading
        The reading.
    """
    return Reading(bound, is_least=True, since=since)


def most(bound: float, since: str) -> Reading:
    """Return the reading that a number is below a bound.

    Parameters
    ----------
    bound, since
        As in `Reading`.

    Returns
    -------
    Reading
        The reading.
    """
    return Reading(bound, is_least=False, since=since)


_SEEN = "a twentieth is what a figure shows"
SAME, FULL, APART = most(0.05, _SEEN), least(0.95, _SEEN), least(0.05, _SEEN)
_MUCH = "much is twice"
MUCH_MORE, NOT_MUCH_MORE, MUCH_LESS = least(2, _MUCH), most(2, _MUCH), most(0.5, "much is half")
NOT_MUCH_LESS = least(0.5, MUCH_LESS.since)
NOTHING, SOMETHING = most(0.005, "0 %, rounded"), least(0.005, "more than 0 %, rounded")
FAIR = least(0.995, "1.00, rounded")
SWINGS = least(0.19, "a sawtooth from a half to the whole has 0.19")
ROUNDING = most(1e-9, "a million times the computer's rounding")

# What the words are, the readings of them, and why, for the page over all papers.
GENERAL = (
    (
        "full, at capacity; perfectly fair, the same, similar, on the curve, steady, almost "
        "constant, zero, works fine; and their opposites",
        (FULL, SAME, APART),
        "the papers draw curves over axes of 3 to 4 cm with marks of 1.5 to 2 mm: two values "
        "nearer than a twentieth of the axis touch, and nobody reads more from a figure",
    ),
    (
        "much, greatly, far, grossly, very low; not a big change",
        (MUCH_MORE, MUCH_LESS),
        "one convention for all papers: less than twice, or more than half, is more or less, but "
        "not much. Without such a word the order alone is claimed",
    ),
    (
        "none, nothing, never; not completely",
        (NOTHING, SOMETHING),
        "what is 0 % if rounded",
    ),
    (
        "fair, of Jain's index",
        (FAIR,),
        "the papers print the index with two digits, and 1.00 is fair",
    ),
    (
        "oscillates, unstable, of a window",
        (SWINGS,),
        "the coefficient of variation of a sawtooth between a half and the whole, which is what "
        "Reno's window does, is 1/(3√3)",
    ),
)

# Of a number of the paper's that is "about", "around" or "approximately" so, by the same reason.
ABOUT, AROUND = SAME.bound, f'the paper says "around": {_SEEN}'

"""Whether a congestion controller does what its RFC says, from what is on the wire."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any

from narrows import _core
from narrows.controller import Controller, Makes, known
from narrows.errors import Error
from narrows.stack import is_stack, known_stack

if TYPE_CHECKING:
    import polars as pl


class Finding(StrEnum):
    """What a check found.

    It differs if it is not as it should be, and fails if it is not as it must be, by the word MUST
    or because a profile is defined by it. What was undecided needs something that did not come
    about.
    """

    HOLDS = "holds"
    FAILS = "fails"
    DIFFERS = "differs"
    INFO = "info"
    UNDECIDED = "undecided"
    NOT_ASKED = "not asked"


# What several checks do.
WORDS = {Finding.HOLDS: "hold", Finding.FAILS: "fail", Finding.DIFFERS: "differ"}
SIGNS = {
    Finding.HOLDS: "✓",
    Finding.FAILS: "✗",
    Finding.DIFFERS: "~",
    Finding.INFO: "·",
    Finding.UNDECIDED: "?",
    Finding.NOT_ASKED: " ",
}


@dataclass(frozen=True)
class Check:
    """A check of the table: number, name, group, and who asks for what with which word."""

    id: str
    name: str
    group: str
    word: str
    source: str
    quote: str
    asks: str

    @property
    def told(self) -> str:
        """Return who asks for it and how strongly, with their words, and what is asked here."""
        words = f': "{self.quote}"' if self.quote else ""
        return f"{self.source} {self.word}{words} Here: {self.asks}"


@dataclass(frozen=True)
class Row:
    """What a check found.

    Attributes
    ----------
    check
        The check.
    finding
        What was found.
    number
        The number that was taken; NaN if there is none.
    seen
        The number for people, or why there is none.
    bound
        Where it lies if all is right; empty if nothing is asked.
    scenarios
        The scenarios that were run for it, as JSON.
    """

    check: Check
    finding: Finding
    number: float
    seen: str
    bound: str
    scenarios: list[str]

    def __bool__(self) -> bool:
        """Return whether the check does not fail."""
        return self.finding is not Finding.FAILS

    def __repr__(self) -> str:
        check = self.check
        return f"{line(self)}\n  {check.told}"

    def record(self) -> dict[str, Any]:
        """Return it as one object for ``--json``.

        Returns
        -------
        dict
            By name, without the scenarios.
        """
        check = self.check
        told: dict[str, Any] = {"id": check.id, "name": check.name, "group": check.group}
        told |= {"finding": self.finding.value}
        told |= {"number": self.number if math.isfinite(self.number) else None}
        told |= {"seen": self.seen, "bound": self.bound}
        return told | {
            "word": check.word,
            "source": check.source,
            "quote": check.quote,
            "asks": check.asks,
        }


@dataclass(frozen=True)
class Conformance:
    """What all checks found of one controller.

    Attributes
    ----------
    cc
        The controller, as flows name it.
    profile
        As what it was judged.
    transport
        ``tcp``, ``quic`` or ``etcp``.
    version
        The stack with its version; empty for laws of narrows.
    rows
        One for each check, in the order of groups.
    seconds
        How long that took.
    controllers
        What makes the user's own controllers and stacks, by name.
    """

    cc: str
    profile: str
    transport: str
    version: str
    rows: list[Row]
    seconds: float
    controllers: dict[str, Makes] = field(default_factory=dict)

    def of(self, finding: Finding) -> list[Row]:
        """Return the rows with a finding.

        Parameters
        ----------
        finding
            Which.

        Returns
        -------
        list of Row
            In order.
        """
        return [row for row in self.rows if row.finding is finding]

    @property
    def is_asked(self) -> bool:
        """Whether anything is asked of it."""
        return any(row.finding is not Finding.NOT_ASKED for row in self.rows)

    def __bool__(self) -> bool:
        """Return whether no check fails."""
        return not self.of(Finding.FAILS)

    def __repr__(self) -> str:
        return "\n".join([self.title, *map(line, self.rows), self.sum])

    @property
    def title(self) -> str:
        """What was judged, as what, in a line."""
        version = f", {self.version}" if self.version else ""
        checks = f"{len(self.rows)} check{'s' if len(self.rows) > 1 else ''}"
        return f"{self.cc} as {self.profile}{version}: {checks}, {self.seconds:.1f} s"

    @property
    def sum(self) -> str:
        """How many checks found what, in a line."""
        told = []
        for finding in Finding:
            rows = self.of(finding)
            names = " ".join(row.check.id for row in rows)
            named = finding in (Finding.FAILS, Finding.DIFFERS, Finding.UNDECIDED) and rows
            words = WORDS.get(finding, finding.value) if len(rows) > 1 else finding.value
            told += [f"{len(rows)} {words}" + (f" ({names})" if named else "")] if rows else []
        return ", ".join(told)

    @property
    def frame(self) -> pl.DataFrame:
        """The rows as a data frame."""
        import polars as pl  # noqa: PLC0415

        return pl.DataFrame([row.record() for row in self.rows])


def line(row: Row) -> str:
    """Write a row for people.

    Parameters
    ----------
    row
        What a check found.

    Returns
    -------
    str
        Sign, number, name, what was seen, and the bound.
    """
    check = row.check
    told = f"{SIGNS[row.finding]} {check.id:<4}{check.name:<33} {row.seen:<26} {row.bound}"
    return told.rstrip()


@cache
def checks() -> dict[str, Check]:
    """Return all checks, by number, in the order of groups.

    Returns
    -------
    dict[str, Check]
        Like ``checks()["D1"]``.

    Examples
    --------
    >>> checks()["D1"].name
    'beta'
    """
    return {told[0]: Check(*told) for told in _core.conform_checks()}


def chosen(
    only: str, skip: str | None = None, of_only: str = "only", of_skip: str = "skip"
) -> list[str]:
    """Return the numbers of the checks that are to be tried.

    Parameters
    ----------
    only
        Which.
    skip
        Which of them not.
    of_only, of_skip
        What these two are called where they were given.

    Returns
    -------
    list of str
        In the order of groups, at least one.

    Raises
    ------
    Error
        If one of the names means none, or nothing is left.

    Examples
    --------
    >>> chosen("D1,D2,T1", skip="D*")
    ['T1']
    """
    names = _core.conform_chosen(of_only, only)
    skipped = _core.conform_chosen(of_skip, skip) if skip is not None else []
    left = [name for name in names if name not in skipped]
    if not left:
        raise Error(f"{of_skip}: {skip} leaves nothing of {only}")
    return left


def conform(
    cc: Any,
    *,
    as_: str | None = None,
    only: str = "all",
    transport: str | None = None,
    fields: Mapping[str, Any] | None = None,
) -> Conformance:
    """Judge a congestion controller from what is on the wire.

    Parameters
    ----------
    cc
        A law of narrows (``cubic``, ``cubic+quic``), a stack that others wrote
        (``quinn:cubic``), or a `Controller` or `Stack` of your own.
    as_
        What it is to be: ``reno``, ``cubic``, ``bbr``, ``bbr1``, ``dctcp``, ``prague``, or ``any``,
        of which only that is asked that RFCs ask of every controller. As its name says if None.
    only
        The checks: ``"T1"``, ``"D*"``, ``"timeouts"``, several between commas.
    transport
        ``tcp`` or ``quic``, of a stack of your own, which is QUIC's if None.
    fields
        Other fields of its flow, like ``{"initial_window": 4}``.

    Returns
    -------
    Conformance
        What was found; true if nothing fails.

    Raises
    ------
    Error
        If there is no such profile or check, or the flow cannot be run.

    Examples
    --------
    >>> import narrows as nw
    >>> found = nw.conform("cubic", only="D1,D2")
    >>> bool(found), [str(row.finding) for row in found.rows]
    (True, ['holds', 'holds'])
    """
    found = found_of(cc, as_, only, transport, fields)
    if not found.is_asked:
        raise Error(
            f"--only: nothing of {only} is asked of {found.cc} as {found.profile}; try --as"
        )
    return found


def found_of(
    cc: Any,
    as_: str | None,
    only: str,
    transport: str | None = None,
    fields: Mapping[str, Any] | None = None,
) -> Conformance:
    """Judge a controller, also if nothing is asked of it.

    Parameters
    ----------
    cc, as_, only, transport, fields
        As `conform` takes them.

    Returns
    -------
    Conformance
        What was found.
    """
    controllers: dict[str, Makes] = {}
    name, version = cc, ""
    if is_stack(cc):
        name = known_stack("cc", cc, controllers)
        transport = transport or "quic"
    elif callable(cc) or isinstance(cc, Controller):
        name = known("cc", cc, controllers)
    elif not isinstance(cc, str):
        raise Error(f"cc: {cc!r} is neither a name nor a controller; try 'cubic'")
    else:
        version = {told[0]: told[2] for told in _core.stacks()}.get(cc.split(":")[0], "")
    profile, of_name = _core.conform_subject(name, as_)
    if transport and isinstance(cc, str) and not version and transport != of_name:
        raise Error(
            f"--transport: {cc} goes over {of_name}; name the law over the other, like cubic+quic"
        )
    begun = time.monotonic()
    given = json.dumps(dict(fields or {}))
    told = _core.conform_rows(name, as_, only, given, transport, controllers)
    rows = [
        Row(checks()[check], Finding(finding), number, seen, bound, scenarios)
        for check, finding, number, seen, bound, scenarios in told
    ]
    seconds = time.monotonic() - begun
    return Conformance(name, profile, transport or of_name, version, rows, seconds, controllers)


def judged(
    cc: Any,
    check: str,
    as_: str | None = None,
    transport: str | None = None,
    fields: Mapping[str, Any] | None = None,
) -> Row:
    """Judge a congestion controller by one check.

    Parameters
    ----------
    cc, as_, transport, fields
        As `conform` takes them.
    check
        Its number.

    Returns
    -------
    Row
        What it found, also if it is not asked.
    """
    return found_of(cc, as_, check, transport, fields).rows[0]


@dataclass(frozen=True)
class Wire:
    """What was on the wire in a run of a check.

    Attributes
    ----------
    flight
        From when on how many packets of the usual size were in flight.
    packets
        Of each data packet in seconds when it was sent, when it arrived and when its sender could
        know, infinite for what did not happen; and whether it was lost and marked.
    """

    flight: Sequence[tuple[float, float]]
    packets: Sequence[tuple[float, float, float, bool, bool]]


def observe(found: Conformance, scenario: str) -> Wire:
    """Run a scenario of a check again, and return what is on the wire.

    Parameters
    ----------
    found
        The conformance that the check is part of.
    scenario
        One of a row's.

    Returns
    -------
    Wire
        The packets.
    """
    rtt = _core.seconds("rtt", json.loads(scenario)["rtt"])
    return Wire(*_core.conform_wire(scenario, rtt, found.controllers))

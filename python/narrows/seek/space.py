"""What a search may vary: genes, and the settings of a scenario that they say."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from narrows import _core
from narrows.errors import Error

Settings = dict[str, Any]
# Kinds of changes of the bottleneck, by the name of what changes.
CHANGES = ("rate", "rtt", "loss", "outage", "hold")
# A change of the rate or the RTT is by a factor between these; 1 is in the middle.
FACTOR = (0.1, 10.0)
# What is searched has so many numbers at the most.
MOST_CHANGES = 50
LOSS = (0.001, 0.2)
OUTAGE = (0.02, 5.0)


@dataclass(frozen=True)
class Gene:
    """A number that varies, evenly in its logarithm.

    Attributes
    ----------
    name
        What it is called.
    low, high
        Its bounds; where `low` is 0, the number varies evenly.
    unit
        What is written behind it.
    usual
        The value that it has in the simplest scenario.
    """

    name: str
    low: float
    high: float
    unit: str
    usual: float

    def value(self, place: float) -> float:
        """Return the value at a place from 0 to 1, rounded to two digits."""
        if self.low <= 0:
            return self._whole(round_to(self.low + place * (self.high - self.low), 2))
        value = math.exp(math.log(self.low) + place * (math.log(self.high) - math.log(self.low)))
        return self._whole(min(max(round_to(value, 2), self.low), self.high))

    def _whole(self, value: float) -> float:
        """Return a value, in whole packets if it is of packets."""
        return float(round(value)) if self.unit == "p" else value

    def written(self, value: float) -> str:
        """Return a value as a scenario has it."""
        return f"{int(value)}{self.unit}" if value == int(value) else f"{value:g}{self.unit}"


# A flow starts in this part of a run.
EARLY = 0.1
# What may vary unless a search says otherwise: the ranges of the suites.
GENES = {
    "rate": Gene("rate", 1.0, 100.0, "Mbps", 10.0),
    "rtt": Gene("rtt", 5.0, 500.0, "ms", 50.0),
    "buffer": Gene("buffer", 5.0, 2000.0, "p", 20.0),
    "start": Gene("start", 0.0, 10.0, "s", 0.0),
    "loss": Gene("loss", 1e-5, 0.02, "", 0.0),
    "jitter": Gene("jitter", 0.0, 40.0, "ms", 0.0),
    "batch": Gene("batch", 0.0, 40.0, "ms", 0.0),
    "on": Gene("on", 10.0, 1000.0, "ms", 100.0),
    "off": Gene("off", 100.0, 5000.0, "ms", 1000.0),
    "other_rtt": Gene("other_rtt", 5.0, 500.0, "ms", 50.0),
}
USUAL = "rate,rtt,buffer,start"
# What varies beside a service that is bred, which has the rate.
BESIDE_SERVED = "rtt,buffer"


@dataclass(frozen=True)
class Space:
    """What a search varies.

    Attributes
    ----------
    genes
        The numbers.
    changes
        How many changes of the bottleneck there may be.
    duration
        Of each run in seconds, within which changes are.
    kinds
        Of changes: those of `CHANGES` that there may be.
    served
        For how many milliseconds the bottleneck's service is bred packet by packet; 0 for none.
    """

    genes: tuple[Gene, ...]
    changes: int
    duration: float
    kinds: tuple[str, ...] = CHANGES
    served: int = 0

    @property
    def size(self) -> int:
        """How many numbers from 0 to 1 say all but the service."""
        return len(self.genes) + 3 * self.changes

    def decoded(self, places: Sequence[float]) -> Settings:
        """Return what numbers from 0 to 1 say.

        Parameters
        ----------
        places
            `size` of them, and behind them the packets that are served in each millisecond of what
            is bred.

        Returns
        -------
        dict
            A value for each gene by name, ``changes``: tuples of time, kind and amount, and
            ``served``: a tuple of what is served, if that is bred.

        Examples
        --------
        >>> space = space_of("rate,buffer", "1", 60.0)
        >>> space.decoded([0.0, 1.0, 0.5, 0.1, 0.5])
        {'rate': 1.0, 'buffer': 2000.0, 'changes': ((30.0, 'rate', 1.0),)}
        """
        settings: Settings = {
            gene.name: gene.value(float(place))
            for gene, place in zip(self.genes, places, strict=False)
        }
        events = []
        for number in range(self.changes):
            begin = len(self.genes) + 3 * number
            at, kind, amount = (float(it) for it in places[begin : begin + 3])
            # A part of the kinds is for no change at all, so that fewer are tried, too.
            which = min(int(kind * (len(self.kinds) + 1)), len(self.kinds))
            if which < len(self.kinds):
                when = round_to(0.1 * self.duration + at * 0.8 * self.duration, 2)
                events.append((when, self.kinds[which], _amount(self.kinds[which], amount)))
        settings["changes"] = tuple(sorted(events))
        if self.served:
            settings["served"] = tuple(int(count) for count in places[self.size :])
        return settings


def _amount(kind: str, place: float) -> float:
    low, high = {"rate": FACTOR, "rtt": FACTOR, "loss": LOSS}.get(kind, OUTAGE)
    return round_to(math.exp(math.log(low) + place * (math.log(high) - math.log(low))), 2)


def space_of(vary: str, changes: str, duration: float, served: int = 0) -> Space:
    """Read what a search may vary.

    Parameters
    ----------
    vary
        Names of genes between commas, each with a range of its own if that is given, like
        ``rate=1Mbps..1Gbps``.
    changes
        The most changes of the bottleneck, and of which kinds if not of all, like ``3:rate,hold``.
    duration
        Of each run in seconds.
    served
        For how many milliseconds the bottleneck's service is bred; 0 for none.

    Returns
    -------
    Space
        Of them.

    Raises
    ------
    Error
        If a name is unknown or a range is wrong.

    Examples
    --------
    >>> [gene.high for gene in space_of("rtt=10ms..100ms,buffer", "0", 60.0).genes]
    [100.0, 2000.0]
    """
    genes = []
    for text in vary.split(","):
        name, _, given = text.strip().partition("=")
        if name not in GENES:
            raise Error(f'--vary: unknown "{name}"; known: {", ".join(GENES)}')
        gene = GENES[name]
        if name == "start":
            # A flow that is hardly there has nothing to show.
            gene = replace(gene, high=min(gene.high, EARLY * duration))
        if given:
            low, high = _range(gene, given)
            gene = Gene(name, low, high, gene.unit, min(max(gene.usual, low), high))
        genes.append(gene)
    number, _, kinds = changes.partition(":")
    chosen = tuple(kinds.split(",")) if kinds else CHANGES
    if unknown := [kind for kind in chosen if kind not in CHANGES]:
        raise Error(f'--changes: unknown "{unknown[0]}"; known: {", ".join(CHANGES)}')
    if not number.isdigit():
        raise Error(f'--changes: "{changes}" begins with no number; try 3, or 3:rate,hold')
    if int(number) > MOST_CHANGES:
        raise Error(f"--changes: {number} are more than {MOST_CHANGES}; try 3")
    if served and (int(number) or any(gene.name == "rate" for gene in genes)):
        raise Error("--served: it is the bottleneck's rate that is bred; leave out rate, --changes")
    return Space(tuple(genes), int(number), duration, chosen, served)


def _range(gene: Gene, text: str) -> tuple[float, float]:
    """Read a range like ``1Mbps..1Gbps`` in the gene's unit."""
    match = re.fullmatch(r"(.+)\.\.(.+)", text)
    if not match:
        raise Error(f'--vary: "{text}" is no range of {gene.name}; write {gene.name}=LOW..HIGH')
    try:
        low, high = (_number(gene, part) for part in match.groups())
    except ValueError:
        example = f"{gene.written(gene.low)}..{gene.written(gene.high)}"
        raise Error(f'--vary: "{text}" is no range of {gene.name}; try {example}') from None
    if not 0 <= low < high:
        raise Error(f'--vary: "{text}" of {gene.name} does not grow from its first to its last')
    return low, high


def _number(gene: Gene, text: str) -> float:
    if gene.unit == "Mbps":
        factors = {"kbps": 1e-3, "Mbps": 1.0, "Gbps": 1e3}
        number = re.fullmatch(r"([\d.]+)(kbps|Mbps|Gbps)", text)
        if not number:
            raise ValueError(text)
        return float(number[1]) * factors[number[2]]
    if gene.unit in ("ms", "s"):
        seconds = _core.seconds("--vary", text)
        return seconds * (1e3 if gene.unit == "ms" else 1.0)
    if text.endswith("%"):
        return float(text[:-1]) / 100
    return float(text.removesuffix(gene.unit))


def fields_of(settings: Mapping[str, Any], genes: Sequence[Gene], last: int = 1) -> dict[str, Any]:
    """Return the fields of a scenario, by path, that settings say.

    Parameters
    ----------
    settings
        As `Space.decoded` returns them.
    genes
        Those of the space.
    last
        The number of the last group of flows, whose start, RTT and hosts vary.

    Returns
    -------
    dict
        Values by path; what is as usual and need not be said is left out.

    Examples
    --------
    >>> genes = space_of("rate,rtt,buffer,loss", "0", 60.0).genes
    >>> fields_of({"rate": 12.0, "rtt": 30.0, "buffer": 9.0, "loss": 0.0, "changes": ()}, genes)
    {'dumbbell.rate': '12Mbps', 'dumbbell.rtt': '30ms', 'dumbbell.buffer': '9p'}
    """
    fields: dict[str, Any] = {}
    for gene in genes:
        value = settings[gene.name]
        if gene.name in ("rate", "rtt", "buffer"):
            fields[f"dumbbell.{gene.name}"] = gene.written(value)
        elif value and gene.name == "start":
            fields[f"flows[{last}].start"] = gene.written(value)
        elif value and gene.name == "other_rtt":
            # A preset's bottleneck has the shortest of the round trips.
            fields[f"flows[{last}].rtt"] = gene.written(max(value, settings.get("rtt", 0.0)))
        elif gene.name in ("on", "off"):
            fields[f"flows[{last}].app.{gene.name}"] = gene.written(value)
        elif value and gene.name == "batch":
            fields[f"flows[{last}].host"] = {"batch": gene.written(value)}
        elif value:
            fields[f"dumbbell.{gene.name}"] = (
                f"{value * 100:g}%" if gene.name == "loss" else gene.written(value)
            )
    changes, outages = _events(settings, genes)
    if changes:
        fields["dumbbell.changes"] = changes
    if outages:
        fields["dumbbell.outages"] = outages
    return fields


def _events(
    settings: Mapping[str, Any], genes: Sequence[Gene]
) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Return changes and outages as fields; a change is of what was at first, within its range."""
    changes: dict[float, dict[str, str]] = {}
    outages: list[dict[str, str]] = []
    for at, kind, amount in settings["changes"]:
        when = f"{at:g}s"
        if kind in ("outage", "hold"):
            if outages and _end(outages[-1]) >= at:
                continue
            outages.append({"at": when, "for": f"{amount:g}s"})
            if kind == "hold":
                outages[-1]["does"] = "hold"
            continue
        change = changes.setdefault(at, {"at": when})
        if kind == "loss":
            change["loss"] = f"{amount * 100:g}%"
        else:
            gene = next((it for it in genes if it.name == kind), GENES[kind])
            value = round_to(settings.get(kind, gene.usual) * amount, 2)
            change[kind] = gene.written(min(max(value, gene.low), gene.high))
    return list(changes.values()), outages


def _end(outage: Mapping[str, str]) -> float:
    return float(outage["at"].removesuffix("s")) + float(outage["for"].removesuffix("s"))


def round_to(value: float, digits: int) -> float:
    """Return a value rounded to so many significant digits.

    Examples
    --------
    >>> round_to(0.012345, 2), round_to(987.0, 1), round_to(0.0, 2)
    (0.012, 1000.0, 0.0)
    """
    return float(f"{value:.{digits - 1}e}") if value else 0.0

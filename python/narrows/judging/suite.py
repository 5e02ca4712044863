"""The scenarios of a judgement: a hundred that are shown, and a hundred drawn from a key."""

from __future__ import annotations

import hashlib
import math
import os
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from narrows.controller import Law
from narrows.errors import Error
from narrows.scenario import Scenario

# What a key is mixed with: another suite, another version.
VERSION = 1
SHOWN, HELD_OUT = "shown", "held_out"
EACH = 100
# So many times what a path holds may be in flight.
ROOM = 8
# Packets of a run at the most.
MOST_PACKETS = 3e7
# The name of the law's own group of flows.
OWN = "law"


@dataclass(frozen=True)
class Case:
    """A scenario with a place for a law.

    Attributes
    ----------
    id
        Like ``shown/017``.
    kind
        What it is about, one of `KINDS`.
    rate, rtt, buffer, loss
        Of the bottleneck: bit/s, seconds, bandwidth-delay products, probability.
    duration
        Seconds.
    other
        The law beside it, or None.
    more
        Fields of the bottleneck.
    start
        When the second flow begins, as a share of the duration.
    """

    id: str
    kind: str
    rate: float
    rtt: float
    buffer: float
    loss: float
    duration: float
    other: str | None
    more: dict[str, Any]
    start: float = 0.0

    def scenario(self, law: Law, *, marks: bool = False) -> Scenario:
        """Return the scenario with a law in its place.

        Parameters
        ----------
        law
            The law.
        marks
            Whether its packets may be marked instead of dropped.

        Returns
        -------
        Scenario
            Checked.
        """
        # What narrows has itself needs no bound.
        bound = {} if isinstance(law, str) else {"max_window": f"{self.room}p"}
        own: dict[str, Any] = {"name": OWN, "cc": law} | bound
        flows = [own]
        if self.kind in ("two", "late"):
            second = {"name": "second", "cc": law} | bound
            if self.start:
                second["start"] = _seconds(self.start * self.duration)
            flows.append(second)
        elif self.other is not None:
            flows.append({"name": "other", "cc": self.other})
        if self.kind == "aqm" and marks:
            flows = [{**flow, "ecn": True} for flow in flows]
        fields: dict[str, Any] = {
            "duration": _seconds(self.duration),
            "sample": "0s",
            "dumbbell": {
                "rate": f"{self.rate / 1e6:.4f}Mbps",
                "rtt": f"{self.rtt * 1e3:.3f}ms",
                "buffer": f"{self.packets}p",
                **({"loss": f"{100 * self.loss:.4f}%"} if self.loss else {}),
                **self.more,
            },
            "flows": flows,
        }
        if self.kind == "late":
            fields["warmup"] = _seconds(0.5 * self.duration)
        return Scenario(**fields)

    @property
    def packets(self) -> int:
        """The buffer in packets of 1500 bytes, at least 5."""
        return max(5, round(self.buffer * self.rate * self.rtt / 12000))

    @property
    def room(self) -> int:
        """Packets for which receivers have room: eight times what the path holds at twice its rate.

        More is of no use to a law, and costs the judge memory.
        """
        holds = 2 * self.rate * self.rtt / 12000 + self.packets
        return max(1000, math.ceil(ROOM * holds))

    def moved(self, most: float) -> Case:
        """Return the same at another rate and RTT.

        Parameters
        ----------
        most
            By which factor at most, up or down: by how much is drawn, of the id.

        Returns
        -------
        Case
            With rate and RTT multiplied.
        """
        chance = np.random.default_rng(int(self.id.split("/")[1]))
        rate, rtt = np.exp(chance.uniform(-math.log(most), math.log(most), 2))
        return replace(self, rate=self.rate * float(rate), rtt=self.rtt * float(rtt))

    def told(self) -> dict[str, Any]:
        """Return its parameters as people write them."""
        return {
            "kind": self.kind,
            "rate": f"{self.rate / 1e6:.4g}Mbps",
            "rtt": f"{self.rtt * 1e3:.4g}ms",
            "buffer": f"{self.packets}p",
            "wire_loss": f"{100 * self.loss:.3g}%",
            "duration": f"{self.duration:.3g}s",
        } | ({"other": self.other} if self.other else {})


def _seconds(value: float) -> str:
    return f"{value:.3f}s"


def _change(chance: np.random.Generator, rate: float, duration: float) -> dict[str, Any]:
    """Draw a rate that falls or rises after two fifths of the run, and comes back."""
    factor = math.exp(chance.uniform(math.log(0.25), math.log(2)))
    there, back = f"{rate * factor / 1e6:.4f}Mbps", f"{rate / 1e6:.4f}Mbps"
    return {
        "changes": [
            {"at": _seconds(0.4 * duration), "rate": there},
            {"at": _seconds(0.7 * duration), "rate": back},
        ]
    }


def _queue(chance: np.random.Generator) -> dict[str, Any]:
    return {"queue": ["codel", "pie", "fq_codel"][int(chance.integers(3))]}


_More = Callable[[np.random.Generator, float, float], dict[str, Any]]
# Each kind with the law beside, and what else it has.
_KINDS: dict[str, tuple[str | None, _More]] = {
    "alone": (None, lambda *_: {}),
    "two": (None, lambda *_: {}),
    "cubic": ("cubic", lambda *_: {}),
    "late": (None, lambda *_: {}),
    "bbr": ("bbr", lambda *_: {}),
    "change": (None, _change),
    "loss": (None, lambda *_: {}),
    "aqm": (None, lambda chance, *_: _queue(chance)),
}
KINDS = tuple(_KINDS)


Range = tuple[float, float]


@dataclass(frozen=True)
class Suite:
    """What scenarios are drawn from; ranges are log-uniform.

    Attributes
    ----------
    rate, rtt, buffer, loss
        Of the bottleneck: bit/s, seconds, bandwidth-delay products, and the probability of loss
        where that is random.
    kinds
        Some of `KINDS`, in turn.
    """

    rate: Range = (5e6, 100e6)
    rtt: Range = (0.01, 0.2)
    buffer: Range = (0.1, 5.0)
    loss: Range = (1e-4, 0.02)
    kinds: tuple[str, ...] = KINDS

    def draw(self, chance: np.random.Generator, part: str, number: int) -> Case:
        """Draw a scenario: the same numbers for every kind, so that one more kind moves no other.

        Parameters
        ----------
        chance
            What draws.
        part
            ``shown`` or ``held_out``.
        number
            Its number in the part.

        Returns
        -------
        Case
            One of the kinds.
        """
        kind = self.kinds[number % len(self.kinds)]
        other, more = _KINDS[kind]
        drawn = (self.rate, self.rtt, self.buffer, self.loss)
        rate, rtt, buffer, loss = (
            math.exp(chance.uniform(math.log(low), math.log(high))) for low, high in drawn
        )
        duration = min(30.0, max(8.0, 100 * rtt + 5))
        return Case(
            f"{part}/{number:03}",
            kind,
            rate,
            rtt,
            buffer,
            loss if kind == "loss" else 0.0,
            duration,
            other,
            more(chance, rate, duration),
            0.25 if kind == "late" else 0.0,
        )


USUAL = Suite()
_UNITS = {
    "rate": {"kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9},
    "rtt": {"us": 1e-6, "ms": 1e-3, "s": 1.0},
    "buffer": {"bdp": 1.0},
    "loss": {"%": 1e-2},
}
# Within these runs of 8 to 30 s have something to measure, and their numbers are written exactly.
_BOUNDS = {
    "rate": (1e5, 1e11, "100kbps to 100Gbps"),
    "rtt": (1e-5, 1.0, "10us to 1s"),
    "buffer": (1e-3, 1e3, "0.001bdp to 1000bdp"),
    "loss": (1e-6, 0.5, "0.0001% to 50%"),
}


def suite_of(path: str | os.PathLike[str]) -> Suite:
    """Read a suite from a file of TOML.

    Parameters
    ----------
    path
        The file: ``rate``, ``rtt``, ``buffer`` and ``loss``, each a list of the least and the
        largest, like ``["1Gbps", "10Gbps"]``, ``["0.1bdp", "1bdp"]`` or ``["0.01%", "1%"]``, and
        ``kinds``, a list; what is missing is as usual.

    Returns
    -------
    Suite
        What it says.

    Raises
    ------
    Error
        If the file cannot be read, or a field is none of these or has another form.
    """
    place = os.fspath(path)
    try:
        fields = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise Error(f"{place}: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Error(f"{place}: {error}") from None
    told: dict[str, Any] = {}
    for name, value in fields.items():
        if name == "kinds":
            told[name] = _kinds(place, value)
        elif name in _UNITS:
            told[name] = _range(f"{place}: {name}", value, name)
        else:
            raise Error(f"{place}: {name} is no field; known: {', '.join([*_UNITS, 'kinds'])}")
    found = Suite(**told)
    seconds = min(30.0, max(8.0, 100 * found.rtt[1] + 5))
    if found.rate[1] * seconds / 12000 > MOST_PACKETS:
        raise Error(
            f"{place}: rate: {found.rate[1] / 1e9:g} Gbps for {seconds:g} s are more than "
            f"{MOST_PACKETS / 1e6:g} million packets a run; take less, or a shorter rtt, as a run "
            "lasts 100 of them and 5 s"
        )
    return found


def _kinds(place: str, value: Any) -> tuple[str, ...]:
    known = isinstance(value, list) and value and set(map(str, value)) <= set(KINDS)
    if not known or len(set(value)) != len(value):
        raise Error(
            f"{place}: kinds: {value!r} is not a list of some of {', '.join(KINDS)}, each once"
        )
    return tuple(value)


def _range(place: str, value: Any, name: str) -> Range:
    if not isinstance(value, list) or len(value) != 2:
        raise Error(f"{place}: {value!r} is not a list of two, the least and the largest")
    low, high = (_number(place, text, _UNITS[name]) for text in value)
    least, most, told = _BOUNDS[name]
    if not least <= low <= high <= most:
        raise Error(f"{place}: {value!r} does not go up within {told}")
    return low, high


def _number(place: str, text: Any, units: dict[str, float]) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*([a-zA-Z%]+)", str(text).strip())
    if match is None or match[2] not in units:
        raise Error(f"{place}: {text!r} is no number with one of the units {', '.join(units)}")
    return float(match[1]) * units[match[2]]


def cases(part: str, key: str | None = None, count: int = EACH, suite: Suite = USUAL) -> list[Case]:
    """Return the scenarios of a part.

    Parameters
    ----------
    part
        ``shown`` or ``held_out``.
    key
        What those held out are drawn from: another key, others.
    count
        How many.
    suite
        What they are drawn from.

    Returns
    -------
    list of Case
        Kinds in turn, usually: alone, two of it, beside CUBIC, one that comes later, beside BBR, a
        link that changes, random loss, AQM. Rates are log-uniform from 5 to 100 Mbit/s, RTTs from
        10 to 200 ms, buffers from 0.1 to 5 bandwidth-delay products, and at least 5 packets.

    Examples
    --------
    >>> [case.kind for case in cases("shown")][:3], len(cases("held_out", "mine"))
    (['alone', 'two', 'cubic'], 100)
    """
    if part == SHOWN:
        seed = VERSION
    else:
        digest = hashlib.sha256(f"{key}\n{VERSION}".encode()).digest()
        seed = int.from_bytes(digest[:16], "big")
    # A generator for each scenario: the first ten are the same in a suite of ten.
    return [
        suite.draw(np.random.Generator(np.random.PCG64([seed, number])), part, number)
        for number in range(count)
    ]

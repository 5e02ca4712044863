"""The scenarios of a judgement: a hundred that are shown, and a hundred drawn from a key."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from narrows.controller import Law
from narrows.scenario import Scenario

# What a key is mixed with: another suite, another version.
VERSION = 1
SHOWN, HELD_OUT = "shown", "held_out"
EACH = 100
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
        own: dict[str, Any] = {"name": OWN, "cc": law}
        flows = [own]
        if self.kind in ("two", "late"):
            second = {"name": "second", "cc": law}
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


def _drawn(chance: np.random.Generator, part: str, number: int) -> Case:
    """Draw a scenario: the same numbers for every kind, so that one more kind moves no other."""
    kind = KINDS[number % len(KINDS)]
    other, more = _KINDS[kind]
    rate = math.exp(chance.uniform(math.log(5e6), math.log(100e6)))
    rtt = math.exp(chance.uniform(math.log(0.01), math.log(0.2)))
    buffer = math.exp(chance.uniform(math.log(0.1), math.log(5)))
    loss = math.exp(chance.uniform(math.log(1e-4), math.log(0.02)))
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


def cases(part: str, key: str | None = None, count: int = EACH) -> list[Case]:
    """Return the scenarios of a part.

    Parameters
    ----------
    part
        ``shown`` or ``held_out``.
    key
        What those held out are drawn from: another key, others.
    count
        How many.

    Returns
    -------
    list of Case
        Kinds in turn: alone, two of it, beside CUBIC, one that comes later, beside BBR, a link that
        changes, random loss, AQM. Rates are log-uniform from 5 to 100 Mbit/s, RTTs from 10 to 200
        ms, buffers from 0.1 to 5 bandwidth-delay products, and at least 5 packets.

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
        _drawn(np.random.Generator(np.random.PCG64([seed, number])), part, number)
        for number in range(count)
    ]

"""Trying settings: how far what is expected is missed, over seeds."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from narrows._core import ScenarioError
from narrows.check import excess_of, lean
from narrows.scenario import Scenario
from narrows.score.store import Store
from narrows.seek import served
from narrows.seek.space import Settings, Space, fields_of
from narrows.statistics import mean_and_interval

# A run of which more packets are expected costs too much to be tried often.
MOST_PACKETS = 3e7
# What cannot be tried is as good as what holds by far.
NOTHING = -1e9
# Of a bound of 0 any miss is a whole one.
WHOLE = 1.0


@dataclass(frozen=True)
class Outcome:
    """What came of settings under seeds.

    Attributes
    ----------
    misses
        By how much the worst expectation is missed under each seed, as a part of its bound; below 0
        where it holds.
    values
        The number under each seed.
    bounds
        What its bound amounts to.
    name
        The name of the number.
    """

    misses: list[float]
    values: list[float]
    bounds: list[float]
    name: str

    @property
    def mean(self) -> float:
        """The mean miss."""
        return sum(self.misses) / len(self.misses)

    @property
    def sure(self) -> float:
        """The mean miss less two standard errors, which chance does not lift (AdvNet's LCB)."""
        count = len(self.misses)
        if count < 2:
            return self.mean
        spread = sum((it - self.mean) ** 2 for it in self.misses) / (count - 1)
        return self.mean - 2 * math.sqrt(spread / count)

    def fails(self, confidence: float = 0.95) -> bool:
        """Return whether the interval of the mean miss lies above 0."""
        mean, half = mean_and_interval(self.misses, confidence)
        return mean - (0.0 if math.isnan(half) else half) > 0


@dataclass
class Trial:
    """A scenario with what is expected of it, and the space of what varies.

    Attributes
    ----------
    base
        The scenario.
    space
        What varies.
    store
        Where numbers are kept as they come.
    """

    base: Scenario
    space: Space
    store: Store = field(default_factory=lambda: Store(None))

    def scenario(self, settings: Settings, trace: Path | None = None) -> Scenario | None:
        """Return the scenario of settings; None if it cannot be run.

        Parameters
        ----------
        settings
            As `Space.decoded` returns them.
        trace
            The file that is written with what the bottleneck serves, if that is bred.

        Returns
        -------
        Scenario or None
            Checked.
        """
        last = len(self.base.fields["flows"]) - 1
        fields = fields_of(settings, self.space.genes, last)
        if trace is not None:
            trace.write_text(served.lines(settings["served"], self.space.duration))
            fields["dumbbell.trace"] = str(trace)
        try:
            return self.base.drafted(fields).valid()
        except ScenarioError:
            return None

    @cached_property
    def names(self) -> list[str]:
        """The names of the numbers, in order."""
        return [told[0] for told in self.base.checked.expectations()]

    def outcome(
        self,
        settings: Settings,
        seeds: Sequence[int],
        watch: Callable[[float], None] = lambda share: None,
    ) -> Outcome | None:
        """Try settings under seeds.

        Parameters
        ----------
        settings
            As `Space.decoded` returns them.
        seeds
            The seeds.
        watch
            A function that is called, now and then, with the share that is done.

        Returns
        -------
        Outcome or None
            Of the expectation that is missed most on average; None if it cannot be run, or would
            take too long.

        Raises
        ------
        Exception
            What a law of one's own raises.
        """
        if self._packets(settings) > MOST_PACKETS:
            return None
        if not self.space.served:
            return self._outcome(settings, None, seeds, watch)
        with tempfile.TemporaryDirectory() as folder:
            return self._outcome(settings, Path(folder) / "served.trace", seeds, watch)

    def _outcome(
        self,
        settings: Settings,
        trace: Path | None,
        seeds: Sequence[int],
        watch: Callable[[float], None],
    ) -> Outcome | None:
        scenario = self.scenario(settings, trace)
        if scenario is None:
            return None
        checked = lean(scenario)
        found = [self.store.numbers(scenario, checked, seed, watch) for seed in seeds]
        sides = [(told[0], told[3]) for told in checked.expectations()]
        outcomes = [
            Outcome(
                [_miss(side, *run[place]) for run in found],
                [run[place][0] for run in found],
                [run[place][1] for run in found],
                name,
            )
            for place, (name, side) in enumerate(sides)
        ]
        return max(outcomes, key=lambda outcome: outcome.mean)

    def _packets(self, settings: Mapping[str, Any]) -> float:
        """Return about how many packets the bottleneck carries, as far as settings say its rate."""
        rate = served.RATE if self.space.served else settings.get("rate", 0.0) * 1e6 / 12_000
        grows = [amount for _, kind, amount in settings["changes"] if kind == "rate"]
        return float(rate * self.space.duration * max([1.0, *grows]))


def _miss(side: str, value: float, bound: float) -> float:
    """Return by how much a bound is missed as a part of it; below 0 if it holds.

    Examples
    --------
    >>> _miss(">=", 0.75, 1.0), _miss("<=", 2.0, 1.0), _miss(">=", 0.5, 0.25)
    (0.25, 1.0, -1.0)
    """
    if math.isnan(value):
        return WHOLE
    if math.isnan(bound):
        return NOTHING
    miss = excess_of(side, value, bound)
    return miss / abs(bound) if bound else math.copysign(WHOLE, miss) if miss else 0.0

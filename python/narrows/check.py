"""Whether runs show what a scenario expects of them, over several seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from narrows import _core
from narrows.errors import Error
from narrows.metrics import quantity
from narrows.pool import check_memory, each
from narrows.statistics import mean_and_interval

if TYPE_CHECKING:
    from narrows.scenario import Scenario


class Verdict(StrEnum):
    """What was found of an expectation."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "not decided"


@dataclass(frozen=True)
class Judgement:
    """What was found of one expectation.

    Attributes
    ----------
    name
        The name of the number, like ``links.bottleneck.delay_p99``.
    during
        The part of the run that it is about, from and to in seconds; None for the measured window.
    bound
        The bound as it was written.
    relative
        Whether that speaks of other numbers.
    values, bounds
        The number, and what the bound amounts to, under each seed; NaN where there is none.
    mean, half
        The number's mean, and half of its confidence interval, which is NaN under one seed.
    verdict
        Whether the bound holds: all of the confidence interval of the differences from the bound,
        taken seed by seed, lies on one side of it, or it is not decided. Under a single seed the
        number decides; a number that a run does not show is a failure.
    kind
        The kind of quantity, as in `narrows.metrics`.
    why, source
        The reason and the source as they were written; empty if they were not.
    """

    name: str
    during: tuple[float, float] | None
    bound: str
    relative: bool
    values: list[float]
    bounds: list[float]
    mean: float
    half: float
    verdict: Verdict
    kind: str
    why: str
    source: str

    @property
    def title(self) -> str:
        """The number's name for people, with the part of the run that it is about."""
        if self.during is None:
            return self.name
        begin, end = self.during
        return f"{self.name} {begin:g}-{end:g} s"

    @property
    def margin(self) -> float:
        """How far the mean lies on the right side of the bound, as a part of the bound's amount.

        Below 0 it lies on the wrong side; NaN if there is no number, infinite if a bound of 0 is
        missed or met by any distance.
        """
        count = len(self.values)
        amount = sum(self.bounds) / count
        room = -excess_of(self.bound, sum(self.values) / count, amount)
        if room == 0 or amount != 0:
            return room / abs(amount) if amount else 0.0
        return math.copysign(math.inf, room)

    @property
    def number(self) -> str:
        """The number for people: mean ± half of the interval, with its unit."""
        if math.isnan(self.mean):
            return "none"
        return quantity(self.kind, self.mean, None if math.isnan(self.half) else self.half)

    @property
    def limit(self) -> str:
        """The bound for people, and what it amounts to if it speaks of other numbers."""
        if not self.relative:
            return self.bound
        amount = sum(self.bounds) / len(self.bounds)
        told = "none" if math.isnan(amount) else quantity(self.kind, amount)
        return f"{self.bound} ({told})"

    @property
    def reason(self) -> str:
        """What explains the verdict, for people; empty if it holds."""
        missing = sum(math.isnan(value) for value in self.values)
        if missing:
            return f"of {len(self.values)} runs {missing} show no such number"
        if any(map(math.isnan, self.bounds)):
            return "there is a run that does not show what the bound speaks of"
        if self.verdict is Verdict.UNDECIDED:
            return "the bound lies within the interval of the mean; more seeds may decide"
        return ""

    def record(self) -> dict[str, Any]:
        """Return it as one object for ``--json``.

        Returns
        -------
        dict
            The attributes by name, with None for what is not a number.
        """
        told = {
            name: getattr(self, name)
            for name in (
                "name",
                "during",
                "bound",
                "verdict",
                "mean",
                "half",
                "kind",
                "why",
                "source",
            )
        }
        told |= {"values": self.values, "bounds": self.bounds}
        return {name: _plain(value) for name, value in told.items()}


@dataclass(frozen=True)
class Check:
    """What was found of all that a scenario expects.

    Attributes
    ----------
    scenario
        The scenario.
    seeds
        The seeds of its runs.
    judgements
        One for each expectation, by name.
    """

    scenario: Scenario
    seeds: list[int]
    judgements: list[Judgement]

    def of(self, verdict: Verdict) -> list[Judgement]:
        """Return the judgements with a verdict.

        Parameters
        ----------
        verdict
            Which.

        Returns
        -------
        list of Judgement
            By name.
        """
        return [it for it in self.judgements if it.verdict is verdict]

    def __bool__(self) -> bool:
        """Return whether all expectations hold."""
        return all(it.verdict is Verdict.HOLDS for it in self.judgements)

    def __repr__(self) -> str:
        return "\n".join(lines(self))

    def worst_seed(self) -> int:
        """Return the seed under which what fails first lies farthest beyond its bound."""
        failed = (self.of(Verdict.FAILS) or self.of(Verdict.UNDECIDED) or self.judgements)[0]
        excess = [
            excess_of(failed.bound, *pair)
            for pair in zip(failed.values, failed.bounds, strict=True)
        ]
        return self.seeds[max(range(len(excess)), key=excess.__getitem__)]


def lines(check: Check) -> Iterator[str]:
    """Yield a line for each expectation: verdict, number, bound.

    Parameters
    ----------
    check
        What was found.

    Yields
    ------
    str
        In columns.
    """
    rows = [(it.verdict.value, it.title, it.number, it.limit) for it in check.judgements]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for verdict, name, number, limit in rows:
        yield (
            f"{verdict:<{widths[0]}}  {name:<{widths[1]}}  {number:>{widths[2]}}  {limit}"
        ).rstrip()


def seeds_of(scenario: Scenario, seeds: int | Sequence[int] | None) -> list[int]:
    """Return the seeds under which a scenario is checked.

    Parameters
    ----------
    scenario
        The scenario, with its own first seed and number of seeds.
    seeds
        Their number, or a list of them; the scenario's number if None.

    Returns
    -------
    list of int
        The seeds.

    Raises
    ------
    Error
        If there are none, or one is not from 0 to 2^64 - 1.
    """
    count = scenario.checked.seeds()[0] if seeds is None else seeds
    chosen = (
        [scenario.seed + number for number in range(count)]
        if isinstance(count, int)
        else list(count)
    )
    wrong = [seed for seed in chosen if not 0 <= seed < 2**64]
    if wrong or not chosen:
        told = f"{wrong[0]} is not from 0 to 2^64 - 1" if wrong else "there are none"
        raise Error(f"seeds: {told}; try 5")
    return chosen


def check_all(cases: Sequence[tuple[Scenario, list[int]]]) -> list[Check]:
    """Find out whether runs show what scenarios expect, in parallel with a progress bar.

    Parameters
    ----------
    cases
        Scenarios, each with its seeds.

    Returns
    -------
    list of Check
        One for each, in order.

    Raises
    ------
    Error
        If a scenario expects nothing, or the runs may need more memory than there is.
    RuntimeError
        If a run fails.
    """
    sampled = [lean(scenario) for scenario, _ in cases]
    weights = [weight for checked in sampled for weight in _weights(checked)]
    check_memory(weights, max(len(seeds) for _, seeds in cases))
    jobs = [(number, seed) for number, (_, seeds) in enumerate(cases) for seed in seeds]

    def one(job: int, watch: Callable[[float], None]) -> list[list[float]]:
        number, seed = jobs[job]
        return numbers(sampled[number], seed, watch, {})

    found = iter(each(len(jobs), one))
    return [
        judged(scenario, seeds, checked, [next(found) for _ in seeds])
        for (scenario, seeds), checked in zip(cases, sampled, strict=True)
    ]


def numbers(
    checked: _core.Checked,
    seed: int,
    watch: Callable[[float], None],
    known: dict[str, _core.Run],
) -> list[list[float]]:
    """Return the number and what its bound amounts to, of each expectation, under a seed.

    Parameters
    ----------
    checked
        What is run, and its references with it.
    seed
        The seed of all of them.
    watch
        A function that is called with the share of them done.
    known
        References under that seed that have been run, by what they are; those that are missing are
        added.

    Returns
    -------
    list of list of float
        Two for each expectation; NaN for what a run does not show.

    Raises
    ------
    RuntimeError
        If a run fails.
    """
    others = checked.references()
    done: list[_core.Run] = []

    def share_of_all(share: float) -> None:
        watch((len(done) + share) / (len(others) + 1))

    done.append(_core.run(checked, seed, share_of_all, None))
    for _, what, other in others:
        if what not in known:
            known[what] = _core.run(other, seed, share_of_all, None)
        done.append(known[what])
    return checked.expected(done)


def lean(scenario: Scenario) -> _core.Checked:
    """Return a scenario whose runs keep nothing of which nothing is expected.

    Parameters
    ----------
    scenario
        One that expects something.

    Returns
    -------
    Checked
        Without traces, and without samples unless a number is from them.

    Raises
    ------
    Error
        If nothing is expected.
    """
    checked = scenario.checked
    if not checked.expectations():
        raise Error('expect: nothing is expected; add expect = { utilisation = ">= 0.9" }')
    values = {"trace": None} if checked.needs_samples() else {"sample": "0s", "trace": None}
    return scenario.drafted(values).valid().checked


def _weights(checked: _core.Checked) -> list[float]:
    return [checked.weight(), *(other.weight() for _, _, other in checked.references())]


def judged(
    scenario: Scenario, seeds: list[int], checked: _core.Checked, found: list[list[list[float]]]
) -> Check:
    """Judge what was found under each seed.

    Parameters
    ----------
    scenario
        What was run.
    seeds
        Its seeds.
    checked
        The same with its expectations.
    found
        What `numbers` returned, for each seed.

    Returns
    -------
    Check
        A judgement of each expectation.
    """
    confidence = checked.seeds()[1]
    judgements = []
    for place, told in enumerate(checked.expectations()):
        name, bound, relative, side, kind, why, source, during = told
        values = [run[place][0] for run in found]
        bounds = [run[place][1] for run in found]
        mean, half = mean_and_interval(values, confidence)
        verdict = judge(side, values, bounds, confidence)
        numbers = (values, bounds, mean, half)
        judgements.append(
            Judgement(name, during, bound, relative, *numbers, verdict, kind, why, source)
        )
    return Check(scenario, seeds, judgements)


def judge(
    side: str, values: Sequence[float], bounds: Sequence[float], confidence: float
) -> Verdict:
    """Judge whether numbers are on the right side of their bounds, by the paired differences.

    Parameters
    ----------
    side
        ``<=``, ``<``, ``>=``, ``>`` or ``==``.
    values, bounds
        The number, and its bound, under each seed.
    confidence
        That of the interval that decides, from 0 to 1.

    Returns
    -------
    Verdict
        It holds if all of the interval is on the right side, fails if all of it is on the other,
        and is not decided otherwise. `==` asks for it under each seed.

    Examples
    --------
    >>> judge(">=", [0.95, 0.96, 0.95], [0.9] * 3, 0.95), judge(">=", [0.9, 0.95], [0.91] * 2, 0.95)
    (<Verdict.HOLDS: 'holds'>, <Verdict.UNDECIDED: 'not decided'>)
    """
    differences = [value - bound for value, bound in zip(values, bounds, strict=True)]
    if any(map(math.isnan, differences)):
        return Verdict.FAILS
    if side == "==":
        return Verdict.FAILS if any(differences) else Verdict.HOLDS
    mean, half = mean_and_interval(differences, confidence)
    # Of a single run, or of runs that are all the same.
    half = 0.0 if math.isnan(half) else half
    low, high = (mean - half, mean + half) if side[0] == "<" else (-mean - half, half - mean)
    if high < 0 or (high == 0 and side.endswith("=")):
        return Verdict.HOLDS
    if low > 0 or (low == 0 and not side.endswith("=")):
        return Verdict.FAILS
    return Verdict.UNDECIDED


def excess_of(bound: str, value: float, amount: float) -> float:
    """Return how far a value lies beyond its bound.

    Parameters
    ----------
    bound
        As it was written, or its sign.
    value, amount
        The number, and what the bound amounts to.

    Returns
    -------
    float
        Below 0 if the bound holds, infinite if there is no value.

    Examples
    --------
    >>> excess_of("<= 5ms", 0.007, 0.005) > 0, excess_of(">=", 0.9, 0.8) > 0
    (True, False)
    """
    difference = value - amount
    if math.isnan(difference):
        return math.inf
    return {"<": difference, ">": -difference}.get(bound[:1], abs(difference))


def _plain(value: Any) -> Any:
    """Return a value for JSON, which has no NaN and no infinity."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.value if isinstance(value, StrEnum) else value

"""The search: evenly spread candidates first, then CMA-ES from the worst of each region.

A service packet by packet is no point of a space: it is bred.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np
from cmaes import CMA
from scipy.stats import qmc

from narrows.errors import Error
from narrows.pool import Threads
from narrows.progress import bar
from narrows.seek.served import crossed, drawn, mutated
from narrows.seek.shrink import shrink
from narrows.seek.space import Settings
from narrows.seek.trial import NOTHING, Outcome, Trial
from narrows.types import Floats

# Seeds of every candidate, of the worst of a region, and of what is found, which are fresh.
FIRST, RACED, FRESH = [1, 2], [1, 2, 3, 4, 5], list(range(101, 116))
# The part of the budget that is spread evenly.
EVEN = 0.35
# The step of CMA-ES at first, as a part of the range.
STEP = 0.2
# Regions are boxes of the first numbers, so many to each side.
SIDES = 3
POPULATION = 12
# A generation of what is bred, those of all that are parents of the next, and those drawn anew.
BRED, PARENTS, NEW = 60, 12, 8
# The part of the children that have two parents.
CROSSED = 0.25
# How far a mutation moves the other numbers, as a part of their range.
MOVED = 0.1


@dataclass(frozen=True)
class Finding:
    """A worst case.

    Attributes
    ----------
    settings
        What was found.
    small
        The same, shrunk.
    outcome, small_outcome
        What comes of both under fresh seeds.
    """

    settings: Settings
    small: Settings
    outcome: Outcome
    small_outcome: Outcome


@dataclass
class _Region:
    """The worst of a region so far."""

    score: float
    places: Floats


class _Search:
    """A search in progress: what is tried in parallel, and the worst of each region."""

    def __init__(self, trial: Trial, threads: Threads[int], advance: Callable[[int, float], None]):
        self.trial = trial
        self.regions: dict[tuple[int, ...], _Region] = {}
        self._threads = threads
        self._advance = advance
        self._done = 0
        self.tried, self.refused = 0, 0

    def scores(
        self, population: Sequence[Floats], seeds: Sequence[int], keeps: bool = True
    ) -> list[float]:
        """Try all of a population, and return by how much what is expected is surely missed.

        The worst are kept by region, unless they are to be tried under more seeds first.
        """
        waiting: list[Future[float]] = [
            self._threads.submit(self._score, places, seeds, self._done + number)
            for number, places in enumerate(population)
        ]
        self._done += len(population)
        found = [future.result() for future in waiting]
        self.tried += len(found)
        self.refused += found.count(NOTHING)
        if self.refused == self.tried:
            raise Error(f"seek: none of {self.tried} candidates can be run; vary something else")
        if keeps:
            for places, score in zip(population, found, strict=True):
                self._keep(places, score)
        return found

    def _score(self, places: Floats, seeds: Sequence[int], number: int) -> float:
        settings = self.trial.space.decoded(places.tolist())
        watch = lambda share: self._threads.watch(number, 0.0)  # noqa: E731
        outcome = self.trial.outcome(settings, seeds, watch)
        self._advance(number, 1.0)
        return NOTHING if outcome is None else outcome.sure

    def _keep(self, places: Floats, score: float) -> None:
        first = places[: min(3, len(self.trial.space.genes))]
        region = tuple(int(place) for place in np.minimum(first * SIDES, SIDES - 1))
        if region not in self.regions or score > self.regions[region].score:
            self.regions[region] = _Region(score, places)

    def worst(self, count: int) -> list[_Region]:
        """Return the worst of the regions, the worst first."""
        return sorted(self.regions.values(), key=lambda it: -it.score)[:count]


@dataclass
class Effort:
    """What a search took.

    Attributes
    ----------
    tried
        Candidates.
    refused
        Those of them that could not be run.
    """

    tried: int = 0
    refused: int = 0


def seek(
    trial: Trial,
    budget: int = 600,
    count: int = 1,
    seed: int = 1,
    effort: Effort | None = None,
) -> list[Finding]:
    """Search for the worst cases of what a scenario is expected to show.

    Parameters
    ----------
    trial
        The scenario, what varies, and where numbers are kept.
    budget
        How many candidates are tried.
    count
        How many cases to return at most, each of a region of its own.
    seed
        Of the search; those of the runs are always the same.
    effort
        Is told what the search took.

    Returns
    -------
    list of Finding
        Those that fail under fresh seeds, too, the worst first; none if all holds.

    Raises
    ------
    Error
        If the budget is too small, or no candidate could be run.
    KeyboardInterrupt
        On Ctrl-C; runs that ended are kept, and the same search goes on from there.
    """
    is_bred = trial.space.served > 0
    least = BRED + PARENTS if is_bred else 4 * POPULATION
    if budget < least:
        raise Error(f"budget: {budget} is too small to search with; try {least} or more")
    starts = max(count, 2)
    even = 2 ** round(math.log2(max(8, budget * EVEN)))
    rounds = max(1, (budget - even) // (starts * POPULATION))
    generations = budget // (BRED + PARENTS)
    whole = generations * (BRED + PARENTS) if is_bred else even + starts * rounds * POPULATION
    with bar(whole) as advance, Threads[int](lambda _number, _share: None) as threads:
        search = _Search(trial, threads, advance)
        if is_bred:
            _breed(search, generations, np.random.default_rng(seed))
        else:
            search.scores(list(qmc.Sobol(trial.space.size, seed=seed).random(even)), FIRST)
            for number, region in enumerate(search.worst(starts)):
                _climb(search, region.places, rounds, seed + number)
        cases = _confirmed(search, count)
    if effort is not None:
        effort.tried, effort.refused = search.tried, search.refused
    findings = [_finding(trial, settings, outcome) for settings, outcome in cases]
    return sorted(findings, key=lambda it: -it.small_outcome.mean)


def _breed(search: _Search, generations: int, rng: np.random.Generator) -> None:
    """Breed services, and the other numbers with them: the worst of all so far are parents."""
    space = search.trial.space
    size = space.size

    def new() -> Floats:
        return np.concatenate([rng.random(size), drawn(rng, space.served)])

    def child() -> Floats:
        one, other = (parents[rng.integers(len(parents))] for _ in range(2))
        service = one[size:]
        if rng.random() < CROSSED:
            service = crossed(rng, service, other[size:])
        moved = np.clip(one[:size] + MOVED * rng.standard_normal(size), 0, 1)
        return np.concatenate([moved, mutated(rng, service)])

    parents: list[Floats] = []
    scores: list[float] = []
    for _ in range(generations):
        young = [child() if parents and number >= NEW else new() for number in range(BRED)]
        found = search.scores(young, FIRST, keeps=False)
        # Two seeds are lucky often, and parents stay: those that may become one are raced.
        raced = [young[it] for it in np.argsort(found)[::-1][:PARENTS]]
        parents, scores = parents + raced, scores + search.scores(raced, RACED)
        worst = np.argsort(scores)[::-1][:PARENTS]
        parents, scores = [parents[it] for it in worst], [scores[it] for it in worst]


def _climb(search: _Search, begin: Floats, rounds: int, seed: int) -> None:
    """Go on from a candidate by CMA-ES, which minimises."""
    size = len(begin)
    mean = np.clip(begin, 0.02, 0.98)
    bounds = np.array([[0.0, 1.0]] * size)
    optimiser = CMA(mean=mean, sigma=STEP, bounds=bounds, seed=seed, population_size=POPULATION)
    for _ in range(rounds):
        population = [optimiser.ask() for _ in range(POPULATION)]
        scores = search.scores(population, FIRST)
        optimiser.tell([(it, -score) for it, score in zip(population, scores, strict=True)])


def _confirmed(search: _Search, count: int) -> list[tuple[Settings, Outcome]]:
    """Return the worst cases that fail under more seeds, and then under fresh ones."""
    trial = search.trial
    raced = []
    for region in search.worst(4 * count):
        settings = trial.space.decoded(region.places.tolist())
        outcome = trial.outcome(settings, RACED)
        if outcome is not None and outcome.fails():
            raced.append((outcome.sure, settings))
    raced.sort(key=lambda it: -it[0])
    cases = []
    for _, settings in raced[: 2 * count]:
        outcome = trial.outcome(settings, FRESH)
        if outcome is not None and outcome.fails():
            cases.append((settings, outcome))
    return cases[:count]


def _finding(trial: Trial, settings: Settings, outcome: Outcome) -> Finding:
    small = shrink(trial, settings)
    shrunk = trial.outcome(small, FRESH)
    if shrunk is None or not shrunk.fails():
        # What became smaller under a few seeds only.
        small, shrunk = settings, outcome
    return Finding(settings, small, outcome, shrunk)

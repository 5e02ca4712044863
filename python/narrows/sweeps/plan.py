"""The plan of a sweep: its points, scenarios and seeds, and running what is not yet done."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property

from narrows.errors import SweepError
from narrows.pool import check_memory
from narrows.progress import bar
from narrows.scenario import Scenario
from narrows.statistics import chosen_seeds, mean_and_interval
from narrows.sweeps.cache import Cache, Passing, State, canonical, key_of
from narrows.sweeps.dispatch import dispatch
from narrows.sweeps.points import Base, Point, checked_at, describe, draft_at, named
from narrows.sweeps.result import Failure, Member, Sweep, read
from narrows.sweeps.work import Job, Outcome
from narrows.terminal import tell
from narrows.trace_files import digests

# A confidence interval from two values says little.
FEWEST_SEEDS = 3
GROWTH = 1.5


@dataclass(frozen=True)
class Until:
    """The criterion for enough seeds: a narrow confidence interval at each point.

    Parameters
    ----------
    within
        The largest half-width of the 95 % confidence interval, as a share of the mean.
    metric
        A column of the summary.
    most_seeds
        The largest number of seeds per point.
    """

    within: float
    metric: str = "utilisation"
    most_seeds: int = 100

    @classmethod
    def of(cls, given: str | float | Until | None) -> Until | None:
        """Read ``"2%"`` or ``0.02``.

        Parameters
        ----------
        given
            A share of the mean as text or number, or an `Until`.

        Returns
        -------
        Until or None
            None if nothing is asked for.

        Raises
        ------
        SweepError
            If it is not a share.

        Examples
        --------
        >>> Until.of("2%").within
        0.02
        """
        if given is None or isinstance(given, Until):
            return given
        text = str(given).strip()
        match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*(%?)", text)
        within = float(match[1]) / (100 if match[2] else 1) if match else 0.0
        if not 0 < within < 1:
            raise SweepError(f'until: "{given}" is not a share of the mean; try 2%')
        return cls(within)

    def enough(self, values: Sequence[float]) -> bool:
        """Return whether the confidence interval of the values is narrow enough.

        Parameters
        ----------
        values
            The metric of a point, one for each seed.

        Returns
        -------
        bool
            Whether no more seeds are needed.
        """
        if len(values) < FEWEST_SEEDS:
            return False
        mean, half = mean_and_interval(values)
        return half <= self.within * abs(mean)


@dataclass
class Plan:
    """The points of a sweep with their canonical scenarios, and the seeds."""

    points: list[Point]
    scenarios: list[Scenario]
    seeds: list[int]
    failures: dict[str, Failure] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        base: Base,
        points: list[Point],
        seeds: int | Sequence[int],
        series: bool = False,
        changes: Point | None = None,
    ) -> Plan:
        """Check every point before anything runs.

        `seeds` is the number of seeds, counted from 1, or a list of them; `changes` are said of
        every point's scenario.

        Parameters
        ----------
        base
            A scenario, or a function that makes one of a point.
        points
            Values by name.
        seeds
            The number of seeds, counted from 1, or a list of them.
        series
            Whether to keep time series.
        changes
            Values that every point's scenario has instead of its own.

        Returns
        -------
        Plan
            All of whose scenarios can be run.

        Raises
        ------
        ScenarioError
            If a point cannot be run; the message names it.
        """
        chosen = chosen_seeds(seeds)
        drafts = [draft_at(base, point, changes or {}) for point in points]
        scenarios = [
            checked_at(point, canonical(draft, series))
            for point, draft in zip(points, drafts, strict=True)
        ]
        return cls([named(point) for point in points], scenarios, chosen)

    @cached_property
    def texts(self) -> list[str]:
        """The scenarios as files."""
        return [scenario.to_toml() for scenario in self.scenarios]

    def described(self) -> list[str]:
        """Return each point's scenario as a file that `narrows run` reads, with the first seed.

        Returns
        -------
        list of str
            TOML, one for each point.
        """
        return [
            f"# {describe(point)}\nseed = {self.seeds[0]}\n{text}"
            for point, text in zip(self.points, self.texts, strict=True)
        ]

    def run(
        self,
        cache: Cache,
        *,
        until: Until | None = None,
        executor: Executor | int | None = None,
        progress: bool = False,
    ) -> Sweep:
        """Run what is not yet in the cache, and return the finished sweep.

        Runs of a user's own controllers are not kept, as their code may change.

        Parameters
        ----------
        cache
            Where finished runs are kept.
        until
            When a point has enough seeds; those of the plan if None.
        executor
            What runs them, or a number of threads; one per core if None.
        progress
            Whether to show progress and failures.

        Returns
        -------
        Sweep
            With its failures.

        Raises
        ------
        Error
            If the runs that start together on this machine may need more memory than it has.
        KeyboardInterrupt
            On Ctrl-C; finished runs are kept.
        """
        if executor is None or isinstance(executor, (int, ThreadPoolExecutor, ProcessPoolExecutor)):
            number = executor if isinstance(executor, int) else None
            workers = number or getattr(executor, "_max_workers", None)
            weights = [scenario.checked.weight() for scenario in self.scenarios]
            check_memory(weights, len(self.seeds), workers)
        if any(scenario.controllers for scenario in self.scenarios):
            cache = Passing(cache)
        say = tell if progress else _to_nobody
        members = self._members([self.seeds] * len(self.points))
        reused, ran = self._run(members, cache, executor, progress, say)
        while until and (more := self._wanting(members, cache, until)):
            say(
                "points that need more seeds to bring half of the 95 % confidence interval "
                f"within {until.within:.2%} of the mean: {len({member.point for member in more})}"
            )
            counts = self._run(more, cache, executor, progress, say)
            reused, ran = reused + counts[0], ran + counts[1]
            members += more
        failures = [
            self.failures[key]
            for key in dict.fromkeys(member.key for member in members)
            if key in self.failures
        ]
        for failure in failures:
            say(str(failure))
        return Sweep(self.points, members, cache, reused, ran, failures, self.scenarios)

    def _members(self, seeds: Sequence[Sequence[int]]) -> list[Member]:
        """Return each point's runs with the seeds given for that point."""
        texts = [
            text + digests(scenario.core)
            for scenario, text in zip(self.scenarios, self.texts, strict=True)
        ]
        groups = zip(self.scenarios, texts, seeds, strict=True)
        # A user's own law is known by its name only, which others may have at other points.
        return [
            Member(point, seed, key_of(f"{point} {text}" if scenario.controllers else text, seed))
            for point, (scenario, text, chosen) in enumerate(groups)
            for seed in chosen
        ]

    def _run(
        self,
        members: list[Member],
        cache: Cache,
        executor: Executor | int | None,
        progress: bool,
        say: Callable[[str], None],
    ) -> tuple[int, int]:
        """Run the members that are missing.

        Return the number found in the cache and the number run.
        """
        wanted = {member.key: member for member in members}
        missing = list(self._missing(wanted, cache, say))
        reused = len(wanted) - len(missing)
        if reused:
            say(f"{reused} of {len(wanted)} runs are already in {cache.path}/")
        if not missing:
            return reused, 0
        numbers = {member.key: number for number, member in enumerate(missing)}
        jobs = (Job(member.key, self.scenarios[member.point], member.seed) for member in missing)
        done = 0
        with bar(len(missing), hidden=not progress) as advance:

            def finished(outcome: Outcome) -> None:
                nonlocal done
                advance(numbers[outcome.key], 1.0)
                if outcome.error is None and not cache.file(outcome.key).exists():
                    outcome = replace(
                        outcome,
                        error="its worker wrote it to another folder; "
                        f"workers and caller must share {cache.path}/",
                    )
                if outcome.error is None:
                    done += 1
                else:
                    member = wanted[outcome.key]
                    self.failures[outcome.key] = Failure.keep(
                        cache,
                        self.points[member.point],
                        self.texts[member.point],
                        member,
                        outcome,
                    )

            try:
                dispatch(
                    jobs,
                    str(cache.path),
                    executor,
                    finished,
                    lambda key, share: advance(numbers[key], share),
                )
            except KeyboardInterrupt:
                # Besides those that were told: the runs of portions that were stopped.
                kept = sum(cache.file(key).exists() for key in wanted)
                say(
                    f"interrupted: {kept} of {len(wanted)} runs are kept in "
                    f"{cache.path}/; start the same sweep again to continue from there"
                )
                raise
        return reused, done

    def _missing(
        self, wanted: dict[str, Member], cache: Cache, say: Callable[[str], None]
    ) -> Iterator[Member]:
        for key, member in wanted.items():
            state = cache.state(key)
            if state is State.DAMAGED:
                say(f"{cache.file(key)} is damaged; its run is repeated")
            if state is not State.DONE:
                yield member

    def _wanting(self, members: list[Member], cache: Cache, until: Until) -> list[Member]:
        """Return the runs to add: half as many again at each point with too wide an interval."""
        values: list[list[float]] = [[] for _ in self.points]
        seeds: list[list[int]] = [[] for _ in self.points]
        whole = [member for member in members if member.key not in self.failures]
        frame = read(whole, cache, ["key", until.metric])
        found = dict(zip(frame["key"], frame[until.metric], strict=True))
        for member in members:
            seeds[member.point].append(member.seed)
            if member.key in found and found[member.key] is not None:
                values[member.point].append(found[member.key])
        return self._members([self._more(until, *pair) for pair in zip(values, seeds, strict=True)])

    def _more(self, until: Until, values: list[float], seeds: list[int]) -> list[int]:
        if until.enough(values) or len(seeds) >= until.most_seeds:
            return []
        count = min(until.most_seeds, max(FEWEST_SEEDS, math.ceil(GROWTH * len(seeds))))
        first = max(seeds) + 1
        return list(range(first, first + count - len(seeds)))


def _to_nobody(_text: str) -> None:
    pass

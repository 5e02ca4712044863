"""Sweeps: every combination under every seed, in parallel, stopped and resumed at will."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path

from narrows.sweeps.cache import DEFAULT, Cache
from narrows.sweeps.plan import Plan, Until
from narrows.sweeps.points import Axis, Base, Zipped, points_of
from narrows.sweeps.result import Failure, Sweep

__all__ = ["Cache", "Failure", "Plan", "Sweep", "Until", "Zipped", "sweep"]


def sweep(
    scenario: Base,
    *zipped: Zipped,
    seeds: int | Sequence[int] = 1,
    until: str | float | Until | None = None,
    executor: Executor | None = None,
    cache: str | Path = DEFAULT,
    series: bool = False,
    progress: bool = False,
    **axes: Axis,
) -> Sweep:
    """Run a scenario at every point under every seed; what has been run before is not run again.

    Parameters
    ----------
    scenario
        A scenario whose fields the points' values replace, or a function that makes one of a point's values.
    *zipped
        Lists that go together.
    seeds
        How many, from 1 on, or which.
    until
        Add seeds at each point until the 95 % confidence interval of the mean utilisation is within so much of it, like ``"2%"``;
        an `Until` names another metric and bound.
    executor
        Any ``concurrent.futures.Executor``; a thread a core unless given.
    cache
        The folder where finished runs are kept, by content.
    series
        Keep time series even where the scenario does not say how often to sample.
    progress
        Show a progress bar, and failures at the end.
    **axes
        Lists of values by name, in product with each other, or functions of the point.

    Returns
    -------
    Sweep
        Tidy data frames. Failed runs are in its ``failures``.

    Raises
    ------
    ScenarioError
        Where a point is no scenario: before anything runs.
    KeyboardInterrupt
        On Ctrl-C; what is finished is kept, and the same call goes on from there.

    Examples
    --------
    >>> import narrows as nw, tempfile
    >>> base = nw.dumbbell("10Mbps", "40ms", "20p", duration="2s")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = nw.sweep(base, cc=["reno", "cubic"], buffer=["5p", "20p"], seeds=2, cache=folder)
    ...     again = nw.sweep(base, cc=["reno", "cubic"], buffer=["5p", "20p"], seeds=3, cache=folder)
    ...     result.runs.height, again.reused, again.ran
    (8, 8, 4)
    """
    plan = Plan.of(scenario, points_of(zipped, axes), seeds, series=series)
    return plan.run(Cache(Path(cache)), until=Until.of(until), executor=executor, progress=progress)

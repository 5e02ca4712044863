"""Sweeps: every combination with every seed, in parallel; they can be stopped and resumed."""

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
    """Run a scenario at every point with every seed; finished runs are never repeated.

    Parameters
    ----------
    scenario
        A scenario whose fields are replaced by a point's values, or a function that makes a
        scenario from them.
    *zipped
        Groups of lists whose values go together.
    seeds
        The number of seeds, counted from 1, or a list of seeds.
    until
        Add seeds at each point until half of the 95 % confidence interval of the mean utilisation
        is within this share of it, like ``"2%"``. An `Until` names another metric and bound.
    executor
        Any ``concurrent.futures.Executor``; one thread per core if None.
    cache
        The folder where finished runs are kept, by content.
    series
        Whether to keep time series even if the scenario has no ``sample``.
    progress
        Whether to show a progress bar, and the failures at the end.
    **axes
        Lists of values by name, of which every combination is run, or functions of the point.

    Returns
    -------
    Sweep
        The results, as tidy data frames. Failed runs are in its ``failures``.

    Raises
    ------
    ScenarioError
        If a point is not a valid scenario; nothing has been run then.
    KeyboardInterrupt
        On Ctrl-C. Finished runs are kept, and the same call continues from there.

    Examples
    --------
    >>> import narrows as nw, tempfile
    >>> base = nw.dumbbell("10Mbps", "40ms", "20p", duration="2s")
    >>> axes = {"cc": ["reno", "cubic"], "buffer": ["5p", "20p"]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = nw.sweep(base, **axes, seeds=2, cache=folder)
    ...     again = nw.sweep(base, **axes, seeds=3, cache=folder)
    ...     result.runs.height, again.reused, again.ran
    (8, 8, 4)
    """
    plan = Plan.of(scenario, points_of(zipped, axes), seeds, series=series)
    return plan.run(Cache(Path(cache)), until=Until.of(until), executor=executor, progress=progress)

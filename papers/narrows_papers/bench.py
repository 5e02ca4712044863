"""What an experiment may use: sweeps that share one cache, and scaled durations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import polars as pl

from narrows.scenario import Scenario
from narrows.sweeps import Cache, Plan, Sweep, Zipped
from narrows.sweeps.points import Axis, Base, points_of


class Bench:
    """The bench on which an experiment's sweeps run.

    Its ``ran`` and ``reused`` count the runs that were simulated and those taken from the cache;
    ``scenarios`` has the scenario of each point as TOML.

    Parameters
    ----------
    scale
        Durations and numbers of seeds as a share of the paper's; 1 is full scale.
    cache
        Folder in which finished runs are kept.
    executor
        What runs the points of a sweep; one thread per core if None.
    progress
        Whether to show progress.
    changes
        What every scenario has instead of what the experiment says: values by the names that a
        sweep's axes have, like ``buffer`` or ``flows[1].cc``.
    """

    def __init__(
        self,
        scale: float = 1.0,
        cache: Path = Path(".narrows"),
        executor: Executor | None = None,
        progress: bool = False,
        changes: Mapping[str, Any] | None = None,
    ) -> None:
        self.scale = scale
        self.changes = dict(changes or {})
        self.scenarios: list[str] = []
        self.ran = 0
        self.reused = 0
        self.cache = cache
        self._executor = executor
        self._progress = progress

    def seconds(self, full: float) -> str:
        """Return the scaled duration, as text, for `full` seconds at full scale.

        Parameters
        ----------
        full
            Seconds at full scale.

        Returns
        -------
        str
            For a scenario.

        Examples
        --------
        >>> Bench(scale=0.1).seconds(300)
        '30s'
        """
        return f"{full * self.scale:.9g}s"

    def seeds(self, full: int) -> int:
        """Return the scaled number of seeds, at least one.

        Parameters
        ----------
        full
            The number at full scale.

        Returns
        -------
        int
            At least 1.
        """
        return max(1, round(full * self.scale))

    def sweep(
        self,
        scenario: Base,
        *zipped: Zipped,
        seeds: int | Sequence[int] = 1,
        series: bool = False,
        **axes: Axis,
    ) -> Sweep:
        """Run a sweep; a run that fails ends the experiment with a `RuntimeError`.

        Parameters
        ----------
        scenario
            A scenario, or a function that makes one of a point.
        *zipped
            Groups of lists whose values go together.
        seeds
            The number of seeds, counted from 1, or a list of them.
        series
            Whether to keep time series.
        **axes
            Lists of values by name, or functions of the point.

        Returns
        -------
        Sweep
            In which no run failed.

        Raises
        ------
        ScenarioError
            If a point is not a valid scenario.
        RuntimeError
            If a run fails, which ends the experiment.
        """
        plan = Plan.of(scenario, points_of(zipped, axes), seeds, series, self.changes)
        self.scenarios += plan.described()
        result = plan.run(Cache(self.cache), executor=self._executor, progress=self._progress)
        self.ran += result.ran
        self.reused += result.reused
        if result.failures:
            raise RuntimeError(str(result.failures[0]))
        return result

    def run(self, scenario: Scenario) -> Sweep:
        """Run one scenario, with its time series.

        Parameters
        ----------
        scenario
            The scenario.

        Returns
        -------
        Sweep
            Of one run.
        """
        return self.sweep(scenario, series=True)


def bottleneck(result: Sweep) -> pl.DataFrame:
    """Return the time series of the first link, which is a dumbbell's bottleneck.

    Parameters
    ----------
    result
        A sweep of dumbbells, with time series.

    Returns
    -------
    polars.DataFrame
        One row for each run and sample.
    """
    return result.series("link_series").filter(pl.col("link") == 0)

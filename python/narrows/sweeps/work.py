"""The work of a worker, on this machine or another: run a job and keep the result.

Everything here can be pickled.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from narrows import _core
from narrows.pool import StoppedError
from narrows.scenario import Scenario
from narrows.sweeps.cache import Cache


@dataclass(frozen=True)
class Job:
    """One run to do.

    Parameters
    ----------
    key
        The run's name in the cache.
    scenario
        The scenario in its canonical form, with the user's own controllers.
    seed
        The run's seed.
    """

    key: str
    scenario: Scenario
    seed: int


@dataclass(frozen=True)
class Outcome:
    """The outcome of a job: its wall-clock time in seconds, and the error if it failed."""

    key: str
    wall: float
    error: str | None = None


def work(
    jobs: Sequence[Job], cache: str, watch: Callable[[str, float], None] | None = None
) -> list[Outcome]:
    """Run each job and keep its result.

    Parameters
    ----------
    jobs
        A worker's portion.
    cache
        The cache's folder; on a cluster, one that the workers and the caller share.
    watch
        A function that is called with each job's key and the fraction of it done. An exception that
        it raises stops the run.

    Returns
    -------
    list of Outcome
        One per job, in order. If a run fails, its outcome has the error, and the other runs
        continue.
    """
    return [_one(job, Cache(Path(cache)), watch) for job in jobs]


def _one(job: Job, cache: Cache, watch: Callable[[str, float], None] | None) -> Outcome:
    begun = time.perf_counter()
    advance = None if watch is None else lambda share: watch(job.key, share)
    try:
        if watch:
            watch(job.key, 0.0)
        run = _core.run(job.scenario.checked, job.seed, advance, None)
        cache.put(job.key, run.file(job.key, job.scenario.to_toml()))
    except StoppedError:
        raise
    except BaseException as error:
        # A panic in Rust is a BaseException; it ends this run but must not end the sweep.
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        return Outcome(job.key, time.perf_counter() - begun, f"{type(error).__name__}: {error}")
    return Outcome(job.key, time.perf_counter() - begun)

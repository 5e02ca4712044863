"""Distributing jobs to the workers of any `concurrent.futures.Executor`.

Only a few tasks wait at a time, and short runs are sent in portions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Executor,
    Future,
    wait,
)
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from narrows.pool import StoppedError, Threads
from narrows.sweeps.cache import Cache, State
from narrows.sweeps.work import Job, Outcome, work

# Short runs go to a worker in portions of about this much work, so that the milliseconds that a
# cluster takes per task are negligible.
PORTION_SECONDS = 0.5
LARGEST_PORTION = 64
WAITING_A_WORKER = 2
# The interval at which the main thread wakes to notice Ctrl-C.
LOOK_SECONDS = 0.1

Done = Callable[[Outcome], None]
Watch = Callable[[str, float], None]


def dispatch(
    jobs: Iterable[Job], cache: str, executor: Executor | int | None, done: Done, watch: Watch
) -> None:
    """Run every job.

    Parameters
    ----------
    jobs
        The runs to do.
    cache
        The folder where workers keep results.
    executor
        The executor that runs them, or a number of threads; one per core if None. The simulator
        releases the GIL.
    done
        A function that is called in this thread with each outcome, as it arrives.
    watch
        A function that is called from this process's threads with a job's key and the fraction of
        it done. If an executor is given, it is never called.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C, once the runs under way in this process have been stopped. Finished runs have
        been kept.
    """
    if executor is None or isinstance(executor, int):
        pool = _threads(watch, executor)
    else:
        pool = _given(executor)
    with pool as (submit, workers):
        _keep_busy(iter(jobs), cache, submit, workers, done)


Submit = Callable[[list[Job], str], "Future[list[Outcome]]"]


@contextmanager
def _threads(watch: Watch, number: int | None) -> Iterator[tuple[Submit, int]]:
    with Threads(watch, number) as threads:
        yield (
            lambda jobs, cache: threads.submit(work, jobs, cache, threads.watch),
            threads.number,
        )


@contextmanager
def _given(executor: Executor) -> Iterator[tuple[Submit, int]]:
    workers: int = getattr(executor, "_max_workers", None) or 2 * (os.cpu_count() or 1)
    client = getattr(executor, "_client", None)
    if client is not None and hasattr(client, "nthreads"):
        workers = max(1, sum(client.nthreads().values()))
    yield lambda jobs, cache: executor.submit(work, jobs, cache), workers


def _keep_busy(jobs: Iterator[Job], cache: str, submit: Submit, workers: int, done: Done) -> None:
    waiting: dict[Future[list[Outcome]], list[Job]] = {}
    lost = Lost(Cache(Path(cache)))
    portion = Portion()

    def next_batch() -> list[Job]:
        return [lost.again.pop()] if lost.again else list(islice(jobs, portion.size()))

    try:
        while True:
            while len(waiting) < WAITING_A_WORKER * workers and (batch := next_batch()):
                waiting[submit(batch, cache)] = batch
            if not waiting:
                return
            finished, _ = wait(waiting, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
            # `wait` does not return what a pool that is shut down has cancelled.
            for future in finished.union(filter(Future.cancelled, waiting)):
                batch = waiting.pop(future)
                error = _error(future)
                if error is None:
                    outcomes = future.result()
                    portion.learn(outcomes)
                else:
                    outcomes = lost.settle(batch, error)
                for outcome in outcomes:
                    done(outcome)
    finally:
        for future in waiting:
            future.cancel()


def _error(future: Future[list[Outcome]]) -> BaseException | None:
    """Return what a whole portion failed with, so that it has no outcomes.

    Dask's client cancels its tasks when it has lost the scheduler, and goes on once it is back.
    """
    if future.cancelled():
        return CancelledError("the executor cancelled it")
    error = future.exception()
    if isinstance(error, (KeyboardInterrupt, StoppedError)):
        raise error
    return error


class Lost:
    """The runs of portions that failed as a whole: each is tried again alone, once.

    One of a portion's runs may have killed the worker; so it becomes known which.
    """

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._tried: set[str] = set()
        self.again: list[Job] = []

    def settle(self, batch: list[Job], error: BaseException) -> list[Outcome]:
        """Take a portion that ended with `error`; return the outcomes of runs not tried again."""
        return [outcome for job in batch if (outcome := self._outcome(job, error))]

    def _outcome(self, job: Job, error: BaseException) -> Outcome | None:
        if self._cache.state(job.key) is State.DONE:
            # The run was kept before its task was lost. So Dask's executor raises a ValueError if
            # the worker dies while a result is fetched from it.
            return Outcome(job.key, 0.0)
        if job.key in self._tried:
            return Outcome(job.key, 0.0, f"{type(error).__name__}: {error}")
        self._tried.add(job.key)
        self.again.append(job)
        return None


class Portion:
    """The number of runs per task: as many as take about half a second, by the mean so far.

    Examples
    --------
    >>> portion = Portion()
    >>> portion.size()
    1
    >>> portion.learn([Outcome("a", 0.05)]); portion.size()
    10
    """

    def __init__(self) -> None:
        self._seconds = 0.0
        self._runs = 0

    def learn(self, outcomes: list[Outcome]) -> None:
        """Take finished runs into account."""
        self._seconds += sum(outcome.wall for outcome in outcomes)
        self._runs += len(outcomes)

    def size(self) -> int:
        """Return the number of runs for the next task."""
        if self._seconds == 0.0:
            return 1
        return max(1, min(LARGEST_PORTION, round(PORTION_SECONDS * self._runs / self._seconds)))

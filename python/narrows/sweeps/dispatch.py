"""Jobs to workers: any `concurrent.futures.Executor`, few tasks waiting at a time, short runs in portions."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from itertools import islice

from narrows.sweeps.work import Job, Outcome, StoppedError, work

# Short runs go to a worker in portions of about so much work, so that a cluster's milliseconds a task vanish.
PORTION_SECONDS = 0.5
LARGEST_PORTION = 64
WAITING_A_WORKER = 2
# How often the main thread wakes to see Ctrl-C.
LOOK_SECONDS = 0.1

Done = Callable[[Outcome], None]
Watch = Callable[[str, float], None]


def dispatch(
    jobs: Iterable[Job], cache: str, executor: Executor | None, done: Done, watch: Watch
) -> None:
    """Have every job done.

    Parameters
    ----------
    jobs
        What to run.
    cache
        Where workers keep results.
    executor
        Who works; a thread a core where None: the simulator releases the GIL.
    done
        Called in this thread with each outcome, as they come.
    watch
        Called from threads of this process with a job's key and its share done; from nowhere, for any other executor.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C, after runs under way in this process have been stopped; what is finished has been kept.
    """
    with _threads(watch) if executor is None else _given(executor) as (submit, workers):
        _keep_busy(iter(jobs), cache, submit, workers, done)


Submit = Callable[[list[Job], str], "Future[list[Outcome]]"]


@contextmanager
def _threads(watch: Watch) -> Iterator[tuple[Submit, int]]:
    stop = threading.Event()

    def stoppable(key: str, share: float) -> None:
        if stop.is_set():
            raise StoppedError
        watch(key, share)

    workers = os.cpu_count() or 1
    with ThreadPoolExecutor(workers, "narrows") as pool:
        try:
            yield lambda jobs, cache: pool.submit(work, jobs, cache, stoppable), workers
        except BaseException:
            stop.set()
            raise


@contextmanager
def _given(executor: Executor) -> Iterator[tuple[Submit, int]]:
    workers: int = getattr(executor, "_max_workers", None) or 2 * (os.cpu_count() or 1)
    client = getattr(executor, "_client", None)
    if client is not None and hasattr(client, "nthreads"):
        workers = max(1, sum(client.nthreads().values()))
    yield lambda jobs, cache: executor.submit(work, jobs, cache), workers


def _keep_busy(jobs: Iterator[Job], cache: str, submit: Submit, workers: int, done: Done) -> None:
    waiting: dict[Future[list[Outcome]], list[Job]] = {}
    again: list[Job] = []
    portion = Portion()

    def next_batch() -> list[Job]:
        return [again.pop()] if again else list(islice(jobs, portion.size()))

    try:
        while True:
            while len(waiting) < WAITING_A_WORKER * workers and (batch := next_batch()):
                waiting[submit(batch, cache)] = batch
            if not waiting:
                return
            finished, _ = wait(waiting, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
            for future in finished:
                batch = waiting.pop(future)
                if len(batch) > 1 and _worker_died(future):
                    again += batch
                    continue
                for outcome in _outcomes(future, batch):
                    portion.learn(outcome)
                    done(outcome)
    finally:
        for future in waiting:
            future.cancel()


def _worker_died(future: Future[list[Outcome]]) -> bool:
    """Whether a portion came to nothing for one of its jobs' sake; they are tried again one by one, to find out which."""
    error = future.exception()
    if isinstance(error, (KeyboardInterrupt, StoppedError)):
        raise error
    return error is not None


def _outcomes(future: Future[list[Outcome]], batch: list[Job]) -> list[Outcome]:
    """A worker that died over a job leaves no outcome: the job has failed."""
    if not _worker_died(future):
        return future.result()
    error = future.exception()
    return [Outcome(job.key, 0.0, f"{type(error).__name__}: {error}") for job in batch]


class Portion:
    """How many runs make a task: as many as take about half a second, by the mean of those done.

    Examples
    --------
    >>> portion = Portion()
    >>> portion.size()
    1
    >>> portion.learn(Outcome("a", 0.05)); portion.size()
    10
    """

    def __init__(self) -> None:
        self._seconds = 0.0
        self._runs = 0

    def learn(self, outcome: Outcome) -> None:
        """Take a finished run into account."""
        self._seconds += outcome.wall
        self._runs += 1

    def size(self) -> int:
        """Give the number."""
        if self._seconds == 0.0:
            return 1
        return max(1, min(LARGEST_PORTION, round(PORTION_SECONDS * self._runs / self._seconds)))

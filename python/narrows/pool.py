"""Several runs at once, with one thread per core; the simulator releases the GIL."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Generic, Self, TypeVar

from narrows import _core
from narrows.errors import Error
from narrows.progress import bar
from narrows.results import Result, run
from narrows.scenario import Scenario

# Seconds after which a wait looks whether Ctrl-C was pressed.
PATIENCE = 0.2

Key = TypeVar("Key")
Done = TypeVar("Done")


def check_memory(weights: Sequence[float], times: int = 1, workers: int | None = None) -> None:
    """Refuse runs that together may need more memory than there is.

    Parameters
    ----------
    weights
        The bytes that each run may need.
    times
        How often each is run, with seeds of its own.
    workers
        The number of runs at once; one per core if None.

    Raises
    ------
    Error
        If the largest of them, as many as run at once, may need more than is free.
    """
    at_once = workers or os.cpu_count() or 1
    free = _core.available_memory()
    largest = sorted(weight for weight in weights for _ in range(min(times, at_once)))[-at_once:]
    if free is not None and sum(largest) > free:
        raise Error(
            f"{len(largest)} runs at once may need {sum(largest) / 1e9:.1f} GB of memory and there "
            f"are {free / 1e9:.1f} GB free; run fewer at once (narrows sweep --workers 1), or take "
            'fewer flows, a smaller buffer, or sample = "0s"'
        )


class StoppedError(Exception):
    """A run was stopped, because another failed or the user pressed Ctrl-C."""


class Threads(Generic[Key]):
    """Threads, all of whose runs end soon after the block is left.

    Parameters
    ----------
    watch
        A function that is called, from any thread, with a run's key and the share of it done.
    number
        How many threads; one per core if None.

    Examples
    --------
    >>> with Threads[str](lambda key, share: None) as threads:
    ...     threads.submit(sum, [1, 2]).result()
    3
    """

    def __init__(self, watch: Callable[[Key, float], None], number: int | None = None) -> None:
        self.number = number or os.cpu_count() or 1
        self._tell = watch
        self._stop = threading.Event()
        self._pool = ThreadPoolExecutor(self.number, "narrows")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._pool.shutdown(cancel_futures=True)

    def submit(self, function: Callable[..., Done], *arguments: object) -> Future[Done]:
        """Let a thread call a function, which tells `watch` how far it is.

        Parameters
        ----------
        function
            What to call.
        *arguments
            With what.

        Returns
        -------
        Future
            What it will have returned.
        """
        return self._pool.submit(function, *arguments)

    def watch(self, key: Key, share: float) -> None:
        """Say that a share of a run is done.

        Parameters
        ----------
        key
            The run.
        share
            From 0 to 1.

        Raises
        ------
        StoppedError
            If the block has been left, so that nobody waits for the run any more.
        """
        if self._stop.is_set():
            raise StoppedError
        self._tell(key, share)


def run_all(jobs: Sequence[tuple[Scenario, int]], traces_to: str | None = None) -> list[Result]:
    """Run every (scenario, seed) in parallel with a progress bar; Ctrl-C stops all of them.

    Parameters
    ----------
    jobs
        The scenarios and seeds to run.
    traces_to
        The folder for the traces of the first job.

    Returns
    -------
    list of Result
        The results, in the order of `jobs`.

    Raises
    ------
    Error
        If the runs may need more memory than there is.
    Exception
        What the first run raised that failed, in the order of `jobs`; the others are stopped.
    """
    own = {id(scenario): scenario for scenario, _ in jobs}
    weights = {key: scenario.checked.weight() for key, scenario in own.items()}
    check_memory([weights[id(scenario)] for scenario, _ in jobs])

    def one(number: int, watch: Callable[[float], None]) -> Result:
        scenario, seed = jobs[number]
        return run(scenario, seed=seed, progress=watch, traces_to=None if number else traces_to)

    return each(len(jobs), one)


def _is_over(futures: Sequence[Future[Done]]) -> bool:
    """Return whether all are done, or one has failed."""
    done = [future for future in futures if future.done()]
    return len(done) == len(futures) or any(
        future.cancelled() or future.exception() is not None for future in done
    )


def each(jobs: int, one: Callable[[int, Callable[[float], None]], Done]) -> list[Done]:
    """Do jobs in parallel with a progress bar; Ctrl-C stops all of them.

    Parameters
    ----------
    jobs
        Their number.
    one
        What does a job, called with its number and a function that it calls with the share of it
        done, and which may raise.

    Returns
    -------
    list
        What the jobs returned, in order.

    Raises
    ------
    Exception
        What the first job raised that failed, in order; the others are stopped.
    """
    with bar(jobs) as advance, Threads[int](advance) as threads:

        def job(number: int) -> Done:
            threads.watch(number, 0.0)
            result = one(number, lambda share: threads.watch(number, share))
            advance(number, 1.0)
            return result

        futures = [threads.submit(job, number) for number in range(jobs)]
        # Not for ever: once polars is imported, Ctrl-C does not wake a wait that has no end.
        while not _is_over(futures):
            wait(futures, timeout=PATIENCE, return_when=FIRST_EXCEPTION)
    for future in futures:
        error = None if future.cancelled() else future.exception()
        if error is not None and not isinstance(error, StoppedError):
            raise error
    return [future.result() for future in futures]

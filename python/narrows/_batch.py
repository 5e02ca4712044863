"""Several runs at once, with one thread per core; the simulator releases the GIL."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

from narrows import _core
from narrows._progress import bar
from narrows.errors import Error
from narrows.results import Result, run
from narrows.scenario import Scenario


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


class _StoppedError(Exception):
    """Another run failed or the user pressed Ctrl-C."""


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
    """
    own = {id(scenario): scenario for scenario, _ in jobs}
    weights = {key: scenario.checked.weight() for key, scenario in own.items()}
    check_memory([weights[id(scenario)] for scenario, _ in jobs])
    stop = threading.Event()
    with (
        bar(len(jobs)) as advance,
        ThreadPoolExecutor(max_workers=min(len(jobs), os.cpu_count() or 1)) as pool,
    ):

        def one(number: int, scenario: Scenario, seed: int) -> Result:
            def watch(share: float) -> None:
                if stop.is_set():
                    raise _StoppedError
                advance(number, share)

            watch(0.0)
            result = run(
                scenario, seed=seed, progress=watch, traces_to=None if number else traces_to
            )
            advance(number, 1.0)
            return result

        try:
            # A signal may come while a thread is being started, which nobody would wait for then.
            futures = [pool.submit(one, number, *job) for number, job in enumerate(jobs)]
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            stop.set()
        causes = [
            error
            for future in futures
            if (error := future.exception()) and not isinstance(error, _StoppedError)
        ]
        for cause in causes:
            raise cause
        return [future.result() for future in futures]

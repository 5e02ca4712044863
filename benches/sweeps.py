"""The cost of a sweep: efficiency on two cores, overhead per run, memory over ten thousand runs.

`make bench` runs it.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import narrows as nw
from narrows import _core


def long_run() -> nw.Scenario:
    """Describe a run that takes a second or more."""
    return nw.dumbbell(
        "1Gbps", "50ms", "100p", cc="sack", flows=20, duration="60s", tcp="ns2", sample="0s"
    )


def short_run() -> nw.Scenario:
    """Describe a run that takes next to no time."""
    return nw.dumbbell("1Mbps", "20ms", "20p", duration="1s", sample="0s")


def seconds_of(scenario: nw.Scenario, runs: int, workers: int) -> float:
    """Measure the wall-clock seconds of a sweep over seeds."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:
        begun = time.perf_counter()
        nw.sweep(scenario, seeds=runs, cache=folder, executor=pool)
        return time.perf_counter() - begun


def alone(scenario: nw.Scenario, runs: int) -> float:
    """Measure the wall-clock seconds of the same runs, one after another, without a sweep."""
    begun = time.perf_counter()
    for seed in range(1, runs + 1):
        _core.run(scenario.checked, seed, None, None)
    return time.perf_counter() - begun


def efficiency() -> None:
    """Compare a sweep on two cores with the same runs on one core without a sweep.

    The best of several rounds counts, because the machine is shared.
    """
    cores = min(2, os.cpu_count() or 1)
    rounds = [
        (alone(long_run(), 2) / 2, bare(2 * cores, cores), seconds_of(long_run(), 2 * cores, cores))
        for _ in range(4)
    ]
    one, threads, swept = (min(column) for column in zip(*rounds, strict=True))
    print(
        f"{cores} cores, runs of {one:.2f} s: efficiency {2 * one / swept:.1%}; "
        f"bare threads on this machine reach {2 * one / threads:.1%}"
    )


def bare(runs: int, cores: int) -> float:
    """Measure the wall-clock seconds of the same runs on bare threads, without a sweep."""
    checked = long_run().checked
    with ThreadPoolExecutor(cores) as pool:
        begun = time.perf_counter()
        list(pool.map(lambda seed: _core.run(checked, seed, None, None), range(1, runs + 1)))
        return time.perf_counter() - begun


def overhead() -> None:
    """Print a sweep's time per run minus the time of the run alone."""
    runs = 500
    own = alone(short_run(), runs) / runs
    swept = seconds_of(short_run(), runs, 1) / runs
    print(f"overhead per run: {(swept - own) * 1e3:.2f} ms (a run alone takes {own * 1e3:.2f} ms)")


def memory() -> None:
    """Print the peak resident memory after a thousand runs, and after ten thousand."""
    with tempfile.TemporaryDirectory() as folder:
        marks = []
        for seeds in (1_000, 10_000):
            begun = time.perf_counter()
            nw.sweep(short_run(), seeds=seeds, cache=folder)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            marks.append(f"{seeds} runs: peak {peak:.0f} MB, {time.perf_counter() - begun:.1f} s")
    print("memory: " + "; ".join(marks))


if __name__ == "__main__":
    efficiency()
    overhead()
    memory()

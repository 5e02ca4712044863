"""The progress of several runs: a bar on a terminal, and lines elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from narrows.terminal import complain, console_of_errors

# Without a terminal a line is printed after so many seconds, and then after as many again.
QUIET_SECONDS = 10.0


class Lines:
    """Progress as a line now and then, for logs.

    Parameters
    ----------
    runs
        The number of runs.
    quiet
        Seconds between two lines, and before the first.
    """

    def __init__(self, runs: int, quiet: float = QUIET_SECONDS) -> None:
        self._runs = runs
        self._quiet = quiet
        self._begun = time.monotonic()
        self._next = self._begun + quiet

    def show(self, done: float) -> None:
        """Print a line if it is time, given the number of runs done, parts of runs included."""
        now = time.monotonic()
        if now < self._next or done <= 0:
            return
        self._next = now + self._quiet
        left = (now - self._begun) * (self._runs - done) / done
        runs = f"{int(done)} of {self._runs} runs, " if self._runs > 1 else ""
        complain(f"{runs}{100 * done / self._runs:.0f} %, about {span(left)} left")


def span(seconds: float) -> str:
    """Write a time for people.

    Examples
    --------
    >>> span(59), span(600), span(7200)
    ('59 s', '10 min', '2 h')
    """
    for unit, length in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


@contextmanager
def bar(runs: int, hidden: bool = False) -> Iterator[Callable[[int, float], None]]:
    """Show the progress of `runs` runs.

    Parameters
    ----------
    runs
        The number of runs.
    hidden
        Whether to show nothing.

    Yields
    ------
    callable
        A function to call, from any thread, with a run's number and the fraction of it done.
    """
    shares = [0.0] * runs
    total = 0.0
    lock = threading.Lock()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeRemainingColumn(),
    )
    console = console_of_errors()
    is_seen = console.is_terminal
    lines = None if hidden or is_seen else Lines(runs)
    with Progress(*columns, console=console, disable=hidden or not is_seen) as progress:
        task = progress.add_task(f"{runs} run{'s' if runs > 1 else ''}", total=runs)

        def advance(number: int, share: float) -> None:
            nonlocal total
            with lock:
                total += share - shares[number]
                shares[number] = share
                progress.update(task, completed=total)
                if lines:
                    lines.show(total)

        yield advance

"""A progress bar for several runs, on a terminal or in a notebook; hidden if output is piped."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn


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
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, disable=hidden or not (console.is_terminal or console.is_jupyter)
    ) as progress:
        task = progress.add_task(f"{runs} run{'s' if runs > 1 else ''}", total=runs)

        def advance(number: int, share: float) -> None:
            nonlocal total
            with lock:
                total += share - shares[number]
                shares[number] = share
                progress.update(task, completed=total)

        yield advance

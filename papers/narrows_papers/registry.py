"""The registry of all experiments, by id, such as `etcp/fig06`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from narrows.errors import ExperimentError
from narrows_papers.claims import Claim

if TYPE_CHECKING:
    import polars as pl

    from narrows_papers.bench import Bench


@dataclass
class Finding:
    """What an experiment found.

    Parameters
    ----------
    claims
        The claims, with their verdicts.
    data
        Tables by name, written as Parquet.
    figure
        A matplotlib figure, or None if there is nothing to draw.
    note
        A sentence or two for the results page, such as what was assumed because the paper does not
        say.
    failure
        Why it could not be computed; empty if it could.
    """

    claims: list[Claim]
    data: dict[str, pl.DataFrame] = field(default_factory=dict)
    figure: Any = None
    note: str = ""
    failure: str = ""


@dataclass(frozen=True)
class Experiment:
    """One experiment of a paper.

    Parameters
    ----------
    id
        ``paper/name``.
    title
        What it shows.
    run
        The function that runs it.
    """

    id: str
    title: str
    run: Callable[[Bench], Finding]

    @property
    def paper(self) -> str:
        """Return the paper, the first half of the id."""
        return self.id.split("/")[0]

    @property
    def name(self) -> str:
        """Return the name within the paper, the second half of the id."""
        return self.id.split("/")[1]


EXPERIMENTS: dict[str, Experiment] = {}
# The same over this machine's kernel, for those that ran on real machines.
REAL: dict[str, Experiment] = {}

_Runs = Callable[["Bench"], Finding]


def experiment(name: str, title: str) -> Callable[[_Runs], _Runs]:
    """Return a decorator that enters a function into the registry.

    Parameters
    ----------
    name
        The id, like ``etcp/fig06``.
    title
        What it shows, in one line.

    Returns
    -------
    callable
        What takes the function and returns it.
    """
    return _entering(EXPERIMENTS, name, title)


def real_experiment(name: str, title: str) -> Callable[[_Runs], _Runs]:
    """Return a decorator as `experiment` does, for runs over this machine's kernel.

    Parameters
    ----------
    name, title
        As in `experiment`.

    Returns
    -------
    callable
        What takes the function and returns it.
    """
    return _entering(REAL, name, title)


def _entering(registry: dict[str, Experiment], name: str, title: str) -> Callable[[_Runs], _Runs]:
    def enter(function: _Runs) -> _Runs:
        assert name not in registry, f"{name} is registered twice"
        registry[name] = Experiment(name, title, function)
        return function

    return enter


def choose(names: Sequence[str], real: bool = False) -> list[Experiment]:
    """Return the experiments with the given ids or of the given papers, or all of them.

    Parameters
    ----------
    names
        Ids, papers, or ``all``.
    real
        Whether of those over this machine's kernel.

    Returns
    -------
    list of Experiment
        Each once.

    Raises
    ------
    ExperimentError
        If nothing has such a name.

    Examples
    --------
    >>> [experiment.id for experiment in choose(["ltcp/sec1"])]
    ['ltcp/sec1']
    """
    chosen: dict[str, Experiment] = {}
    registry = REAL if real else EXPERIMENTS
    for name in names:
        small = name.lower()
        found = {id_: it for id_, it in registry.items() if small in ("all", id_, it.paper)}
        if not found:
            papers = sorted({entry.paper for entry in registry.values()})
            guess = f'; did you mean "{_nearest(small, [*registry, *papers, "all"])}"?'
            kind = "experiment over real machines" if real else "experiment"
            raise ExperimentError(
                f'unknown {kind} "{name}"{guess} known: all, {", ".join([*papers, *registry])}'
            )
        chosen |= found
    return list(chosen.values())


def _nearest(name: str, known: Sequence[str]) -> str:
    """Return what a name may stand for; numbers count as numbers, so that fig3 is fig03.

    Examples
    --------
    >>> _nearest("htcp/fig3", ["htcp/fig13", "htcp/fig03"])
    'htcp/fig03'
    """

    def normal(text: str) -> str:
        return re.sub(r"\d+", lambda number: f"{int(number[0]):03}", text)

    by_form = {normal(text): text for text in known}
    near = difflib.get_close_matches(normal(name), list(by_form), 1, 0)
    return by_form[near[0]]

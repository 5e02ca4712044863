"""The registry of all experiments, by id, such as `etcp/fig06`."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from narrows.errors import ExperimentError
from narrows.papers.claims import Claim

if TYPE_CHECKING:
    import polars as pl

    from narrows.papers.lab import Lab


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
    """

    claims: list[Claim]
    data: dict[str, pl.DataFrame] = field(default_factory=dict)
    figure: Any = None
    note: str = ""


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
    run: Callable[[Lab], Finding]

    @property
    def paper(self) -> str:
        """Return the paper, the first half of the id."""
        return self.id.split("/")[0]

    @property
    def name(self) -> str:
        """Return the name within the paper, the second half of the id."""
        return self.id.split("/")[1]


EXPERIMENTS: dict[str, Experiment] = {}


def experiment(
    name: str, title: str
) -> Callable[[Callable[[Lab], Finding]], Callable[[Lab], Finding]]:
    """Return a decorator that enters a function into the registry.

    Parameters
    ----------
    name
        The id, like ``etcp/fig06``.
    title
        What it shows, in one line.
    """

    def enter(function: Callable[[Lab], Finding]) -> Callable[[Lab], Finding]:
        assert name not in EXPERIMENTS, f"{name} is registered twice"
        EXPERIMENTS[name] = Experiment(name, title, function)
        return function

    return enter


def choose(names: Sequence[str]) -> list[Experiment]:
    """Return the experiments with the given ids or of the given papers, or all of them.

    Examples
    --------
    >>> [experiment.id for experiment in choose(["ltcp/sec1"])]
    ['ltcp/sec1']
    """
    chosen: dict[str, Experiment] = {}
    for name in names:
        found = {
            id_: entry for id_, entry in EXPERIMENTS.items() if name in ("all", id_, entry.paper)
        }
        if not found:
            papers = sorted({entry.paper for entry in EXPERIMENTS.values()})
            near = difflib.get_close_matches(name, [*EXPERIMENTS, *papers, "all"], 1)
            guess = f'; did you mean "{near[0]}"?' if near else ";"
            raise ExperimentError(
                f'unknown experiment "{name}"{guess} '
                f"known: all, {', '.join([*papers, *EXPERIMENTS])}"
            )
        chosen |= found
    return list(chosen.values())

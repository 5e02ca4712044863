"""Every experiment by its id, as in the list of claims: `etcp/fig06`."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from narrows._core import ScenarioError
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
        With their verdicts.
    data
        Tables by name, kept as Parquet.
    figure
        A matplotlib figure, or None where there is nothing to draw.
    note
        A sentence or two for the results page: what was assumed where the paper is silent.
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
        Does it.
    """

    id: str
    title: str
    run: Callable[[Lab], Finding]

    @property
    def paper(self) -> str:
        """The first half of the id."""
        return self.id.split("/")[0]

    @property
    def name(self) -> str:
        """The second half of the id."""
        return self.id.split("/")[1]


EXPERIMENTS: dict[str, Experiment] = {}


def experiment(
    name: str, title: str
) -> Callable[[Callable[[Lab], Finding]], Callable[[Lab], Finding]]:
    """Enter a function into the registry.

    Parameters
    ----------
    name
        The id, like ``etcp/fig06``.
    title
        What it shows, in a line.
    """

    def enter(function: Callable[[Lab], Finding]) -> Callable[[Lab], Finding]:
        assert name not in EXPERIMENTS, f"{name} is there twice"
        EXPERIMENTS[name] = Experiment(name, title, function)
        return function

    return enter


def choose(names: Sequence[str]) -> list[Experiment]:
    """Find experiments by id, by paper, or all.

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
            raise ScenarioError(
                f'unknown experiment "{name}"{guess} known: all, {", ".join([*papers, *EXPERIMENTS])}'
            )
        chosen |= found
    return list(chosen.values())

"""Each controller beside each other one over a bottleneck, in buffers of several sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from narrows import _core
from narrows.check import lean
from narrows.controller import names_of
from narrows.errors import Error
from narrows.networks import dumbbell
from narrows.pool import check_memory, each
from narrows.scenario import Scenario
from narrows.score.store import Numbers, Store
from narrows.statistics import mean_and_interval

ROW, COLUMN = "row", "column"
BUFFERS = ("5p", "20p", "0.1bdp", "0.5bdp", "1bdp", "2bdp", "5bdp")
# What is read of a pair's run: its name, and its place in a run.
PAIR = {
    "share": "groups.row.share",
    "row_goodput": "groups.row.goodput",
    "column_goodput": "groups.column.goodput",
    "utilisation": "utilisation",
    "loss_rate": "loss_rate",
    "delay_p95": "links.bottleneck.delay_p95",
}
ALONE = {"row_goodput": "groups.row.goodput"}


@dataclass(frozen=True)
class Ring:
    """The network in which pairs meet, and for how long.

    Attributes
    ----------
    rate, rtt
        Of the bottleneck, as text.
    buffers
        Its buffers, as text.
    flows
        How many of the row's controller meet how many of the column's.
    duration, warmup
        As in a scenario.
    later
        By how much the column's flows begin later.
    """

    rate: str = "100Mbps"
    rtt: str = "30ms"
    buffers: Sequence[str] = BUFFERS
    flows: tuple[int, int] = (1, 1)
    duration: str = "120s"
    warmup: str = "40s"
    later: str = "5s"

    def scenario(self, buffer: str, row: Any, column: Any | None) -> Scenario:
        """Return the scenario of a pair, or of the row's flows alone.

        Parameters
        ----------
        buffer
            One of `buffers`.
        row, column
            What a flow's ``cc`` may be; no column for the row alone.

        Returns
        -------
        Scenario
            Whose expectations name what is read.
        """
        base = dumbbell(self.rate, self.rtt, buffer, duration=self.duration)
        groups = [{"name": ROW, "cc": row, "count": self.flows[0], "rtt_spread": "1ms"}]
        if column is not None:
            second = {"name": COLUMN, "cc": column, "count": self.flows[1], "rtt_spread": "1ms"}
            groups.append(second | {"start": self.later})
        read = ALONE if column is None else PAIR
        expect = dict.fromkeys(read.values(), ">= 0")
        return base.with_(flows=groups, warmup=self.warmup, expect=expect)


@dataclass(frozen=True)
class Arena:
    """What came of it.

    Attributes
    ----------
    names
        The controllers.
    ring
        Where they met.
    frame
        A row for each buffer, pair and seed: ``buffer``, ``row``, ``column``, ``seed``, what `PAIR`
        names, and ``harm``: by how much of what the row's flows have alone they have less beside
        the column's (Ware et al., HotNets 2019).
    """

    names: list[str]
    ring: Ring
    frame: pl.DataFrame
    texts: dict[str, str] = field(repr=False)

    def matrix(self, metric: str, buffer: str) -> list[list[float]]:
        """Return means over seeds, a row of numbers for each row's controller.

        Parameters
        ----------
        metric
            A column of `frame`.
        buffer
            One of the ring's.

        Returns
        -------
        list of list of float
            In the order of `names`.
        """
        of = self.frame.filter(pl.col("buffer") == buffer)
        means = {
            (row, column): value
            for row, column, value in of.group_by("row", "column").agg(pl.mean(metric)).iter_rows()
        }
        return [[means[row, column] for column in self.names] for row in self.names]

    def halves(self, metric: str, buffer: str) -> list[list[float]]:
        """Return half of the 95 % confidence interval of each mean; NaN under one seed.

        Parameters
        ----------
        metric, buffer
            As for `matrix`.

        Returns
        -------
        list of list of float
            In the order of `names`.
        """
        of = self.frame.filter(pl.col("buffer") == buffer)
        found = {
            (row, column): mean_and_interval(values.to_list())[1]
            for (row, column), values in (
                (key, part[metric]) for key, part in of.group_by("row", "column")
            )
        }
        return [[found[row, column] for column in self.names] for row in self.names]

    def wins(self, buffer: str) -> dict[str, float]:
        """Return each controller's mean share beside the others, both orders of starts together.

        Parameters
        ----------
        buffer
            One of the ring's.

        Returns
        -------
        dict
            By name, the largest first.
        """
        shares = self.matrix("share", buffer)
        others = range(len(self.names))
        found = {
            name: sum(
                (shares[place][other] + 1 - shares[other][place]) / 2
                for other in others
                if other != place
            )
            / max(1, len(others) - 1)
            for place, name in enumerate(self.names)
        }
        return dict(sorted(found.items(), key=lambda it: -it[1]))


@dataclass(frozen=True)
class _Bout:
    """A run: a pair, or one alone."""

    buffer: str
    row: str
    column: str | None
    scenario: Scenario
    checked: _core.Checked


def arena(
    ccs: Sequence[Any],
    ring: Ring | None = None,
    seeds: Sequence[int] = (1, 2, 3),
    store: Store | None = None,
) -> Arena:
    """Let each controller meet each, its own kind too, in both orders of starts.

    Parameters
    ----------
    ccs
        What a flow's ``cc`` may be.
    ring
        Where they meet.
    seeds
        Those of each pair.
    store
        Where numbers are kept as they come, and looked for first; nowhere if None.

    Returns
    -------
    Arena
        Shares, harm, losses and delays.

    Raises
    ------
    Error
        If there are fewer than two controllers, or the runs may need more memory than there is.
    ScenarioError
        If a controller cannot be run there.

    Examples
    --------
    >>> ring = Ring(buffers=["20p"], duration="6s", warmup="2s", later="0s")
    >>> arena(["reno", "cubic"], ring, seeds=[1]).frame.height
    4
    """
    there = ring or Ring()
    by_name = dict(zip(names_of(ccs), ccs, strict=True))
    if len(by_name) < 2:
        raise Error("cc: name two controllers or more, like reno,cubic")
    if len(set(there.buffers)) < len(there.buffers):
        raise Error(f"buffers: {', '.join(there.buffers)} has one twice; leave it out")
    bouts = [
        _bout(there, buffer, by_name, row, column)
        for buffer in there.buffers
        for row in by_name
        for column in [None, *by_name]
    ]
    check_memory([bout.checked.weight() for bout in bouts])
    keep = Store(None) if store is None else store
    jobs = [(bout, seed) for bout in bouts for seed in seeds]

    def one(job: int, watch: Callable[[float], None]) -> Numbers:
        bout, seed = jobs[job]
        return keep.numbers(bout.scenario, bout.checked, seed, watch)

    found = each(len(jobs), one)
    texts = {f"{bout.buffer} {bout.row} {bout.column}": bout.scenario.to_toml() for bout in bouts}
    return Arena(list(by_name), there, _frame(jobs, found), texts)


def _bout(ring: Ring, buffer: str, ccs: dict[str, Any], row: str, column: str | None) -> _Bout:
    other = None if column is None else ccs[column]
    scenario = ring.scenario(buffer, ccs[row], other)
    return _Bout(buffer, row, column, scenario, lean(scenario))


def _frame(jobs: Sequence[tuple[_Bout, int]], found: Sequence[Numbers]) -> pl.DataFrame:
    """Return a row for each pair and seed, with the harm that its solo run tells."""
    alone: dict[tuple[str, str, int], float] = {}
    rows: list[dict[str, Any]] = []
    for (bout, seed), values in zip(jobs, found, strict=True):
        names = {place: name for name, place in PAIR.items()}
        places = (names[place] for place, *_ in bout.checked.expectations())
        told: dict[str, Any] = {name: pair[0] for name, pair in zip(places, values, strict=True)}
        if bout.column is None:
            alone[bout.buffer, bout.row, seed] = told["row_goodput"]
            continue
        who = {"buffer": bout.buffer, "row": bout.row, "column": bout.column, "seed": seed}
        rows.append({**who, **{name: told[name] for name in PAIR}})
    for row in rows:
        solo = alone[row["buffer"], row["row"], row["seed"]]
        row["alone"] = solo
        row["harm"] = (solo - row["row_goodput"]) / solo if solo else 0.0
    return pl.DataFrame(rows)

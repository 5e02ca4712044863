"""The results of a sweep.

They are tidy data frames, statistics over seeds, and failures with the commands to reproduce them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from narrows.errors import SweepError
from narrows.files import parquet, write_at_once, writing_into
from narrows.metrics import check_number, numbers_of_runs, row_of_means, table_names
from narrows.remarks import numbered, numbers, of_runs
from narrows.shown import buffers_of
from narrows.statistics import paired
from narrows.sweeps.cache import Cache
from narrows.sweeps.points import Point, describe
from narrows.sweeps.work import Outcome

if TYPE_CHECKING:
    import polars as pl

    from narrows.scenario import Scenario

# Columns of a kept run that are neither of its summary nor a table.
ABOUT = ("key", "engine", "scenario")


def _nested() -> list[str]:
    """Return the tables of a run that a kept run has as columns beside its summary."""
    return [name for name in table_names() if name != "summary"]


@dataclass(frozen=True)
class Member:
    """One run of a sweep: the number of its point, its seed, and its key in the cache."""

    point: int
    seed: int
    key: str


@dataclass(frozen=True)
class Failure:
    """A run that failed: its point and seed, the error, and the command that reproduces it."""

    key: str
    point: Point
    seed: int
    error: str
    command: str

    @classmethod
    def keep(
        cls, cache: Cache, point: Point, scenario: str, member: Member, outcome: Outcome
    ) -> Failure:
        """Describe a failed run, and write its scenario into the cache's folder for the command.

        Parameters
        ----------
        cache
            Where the scenario is written.
        point, scenario, member, outcome
            What was run, its scenario as text, and how it ended.

        Returns
        -------
        Failure
            With the command that runs it again.
        """
        file = cache.path / "failed" / f"{member.key[:16]}.toml"
        write_at_once(file, scenario.encode())
        return cls(
            member.key,
            point,
            member.seed,
            outcome.error or "",
            f"narrows run {file} --seed {member.seed}",
        )

    def __str__(self) -> str:
        return (
            f"failed at {describe(self.point)} seed={self.seed}: {self.error}\n"
            f"  to reproduce: {self.command}"
        )


class Sweep:
    """A finished sweep.

    Attributes
    ----------
    points
        The points as dictionaries, in order.
    reused, ran
        The number of runs found in the cache, and the number run.
    failures
        The runs that failed.
    scenarios
        The scenario of each point.
    """

    def __init__(
        self,
        points: list[Point],
        members: list[Member],
        cache: Cache,
        reused: int,
        ran: int,
        failures: list[Failure],
        scenarios: list[Scenario],
    ) -> None:
        self.points = points
        self.scenarios = scenarios
        self.reused = reused
        self.ran = ran
        self.failures = failures
        self._members = members
        self._cache = cache

    @cached_property
    def runs(self) -> pl.DataFrame:
        """One row per run: the point's values, the seed and the summary."""
        import polars as pl  # noqa: PLC0415

        return self._with_points(
            read(self._whole(), self._cache, pl.exclude(*_nested(), *ABOUT[1:]))
        )

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row per run and flow."""
        return self._rows("flows")

    @cached_property
    def links(self) -> pl.DataFrame:
        """One row per run and link."""
        return self._rows("links")

    @cached_property
    def transfers(self) -> pl.DataFrame:
        """One row per run and object that was requested or arrived at random."""
        return self._rows("transfers")

    @cached_property
    def groups(self) -> pl.DataFrame:
        """One row per run and group of flows."""
        return self._rows("groups")

    @cached_property
    def size_classes(self) -> pl.DataFrame:
        """One row per run, group of flows and class of sizes."""
        return self._rows("size_classes")

    @cached_property
    def queries(self) -> pl.DataFrame:
        """One row per run and query that a group of flows answered."""
        return self._rows("queries")

    @cached_property
    def laws(self) -> pl.DataFrame:
        """One row per run and law (or name) of its flows: the point, and what they did together.

        Goodput and epochs are sums, the loss rate is of all packets, and the RTT is a mean.
        """
        import polars as pl  # noqa: PLC0415

        named = pl.when(pl.col("name").str.len_chars() > 0).then("name").otherwise("cc")
        return (
            self.flows.with_columns(law=named)
            .group_by("point", "seed", "law", maintain_order=True)
            .agg(
                pl.len().alias("flows"),
                pl.col("goodput", "epochs").sum(),
                (pl.col("lost").sum() / pl.col("sent").sum()).fill_nan(None).alias("loss_rate"),
                pl.col("mean_rtt").mean(),
            )
        )

    @property
    def summary(self) -> pl.DataFrame:
        """The same as `runs`: one row per run."""
        return self.runs

    def table(self, name: str) -> pl.DataFrame:
        """Return a table of all runs, with the point's values and the seed before it.

        Parameters
        ----------
        name
            ``summary``, ``flows``, ``links``, ``groups``, ``transfers``, ``size_classes``,
            ``queries``, ``flow_series``, ``law_series`` or ``link_series``.

        Returns
        -------
        polars.DataFrame
            One row per run and what the table is of.

        Raises
        ------
        SweepError
            If there is no such table, or no time series were kept.
        """
        if name not in table_names():
            raise SweepError(f'no table "{name}"; known: {", ".join(table_names())}')
        found: pl.DataFrame = getattr(self, name)
        return found

    @cached_property
    def flow_series(self) -> pl.DataFrame:
        """One row per run, flow and sample."""
        return self.series("flow_series")

    @cached_property
    def law_series(self) -> pl.DataFrame:
        """One row per run, flow, sample and quantity of its law."""
        return self.series("law_series")

    @cached_property
    def link_series(self) -> pl.DataFrame:
        """One row per run, link and sample."""
        return self.series("link_series")

    @property
    def warnings(self) -> list[str]:
        """What the results should be read with; each warning once, with the number of runs."""
        return of_runs(self._warnings_by_run())

    @property
    def warned(self) -> list[list[int]]:
        """For each point the numbers, from 1, of the `warnings` that some of its runs have."""
        found: list[set[int]] = [set() for _ in self.points]
        if said := self._warnings_by_run():
            for point, of_run in zip(self.runs["point"], numbers(said), strict=True):
                found[point].update(of_run)
        return [sorted(of_point) for of_point in found]

    def _warnings_by_run(self) -> list[list[str]]:
        if self.runs.is_empty() or "warnings" not in self.runs.columns:
            return []
        return [text.splitlines() for text in self.runs["warnings"].fill_null("").to_list()]

    def series(self, name: str) -> pl.DataFrame:
        """Read time series from the cache, with one row per run, flow or link, and sample.

        Parameters
        ----------
        name
            ``flow_series``, ``law_series`` or ``link_series``.

        Returns
        -------
        polars.DataFrame
            With the columns of the same table of a run.

        Raises
        ------
        SweepError
            If none were kept: the scenario has no ``sample`` and the sweep was run without
            ``series=True``.
        """
        rows = self._rows(name)
        if rows.is_empty():
            raise SweepError(
                f"{name}: no time series were kept; give the scenario a sample interval, "
                'like sample = "10ms", or the sweep series=True'
            )
        return rows

    @property
    def buffers(self) -> list[str]:
        """Each buffer of the points' links in all units, with the link's name; each once."""
        return buffers_of(self.scenarios)

    @property
    def axes(self) -> list[str]:
        """The names of the points' values."""
        return list(self.points[0]) if self.points else []

    def values_of(self, axis: str) -> list[Any]:
        """Return the values of an axis, each once, in order.

        Parameters
        ----------
        axis
            Its name.

        Returns
        -------
        list
            As the points have them.
        """
        return list({str(point[axis]): point[axis] for point in self.points}.values())

    def values(self, point: Point, metric: str) -> list[float]:
        """Return a metric of a point's runs, in order of seed.

        Parameters
        ----------
        point
            Values by axis.
        metric
            A column of the summary.

        Returns
        -------
        list of float
            In the unit of the tables.
        """
        number = self.points.index(point)
        column = self._by_point(metric)[number]
        return [value for _, value in sorted(column.items())]

    def means(self, *metrics: str, method: str = "student") -> pl.DataFrame:
        """Compute means over seeds with their 95 % confidence intervals.

        Parameters
        ----------
        *metrics
            Columns of the summary.
        method
            ``student``, or ``bootstrap`` for skewed metrics.

        Returns
        -------
        polars.DataFrame
            One row per point: its values, the number of ``seeds``, and for each metric its mean and
            the interval's ends, ``_low`` and ``_high``.
        """
        import polars as pl  # noqa: PLC0415

        columns = {metric: self._by_point(metric) for metric in metrics}
        rows = []
        for number, point in enumerate(self.points):
            seeds = {seed for column in columns.values() for seed in column[number]}
            runs = [
                {metric: column[number].get(seed) for metric, column in columns.items()}
                for seed in sorted(seeds)
            ]
            rows.append({**point, **row_of_means(runs, metrics, method)})
        return pl.DataFrame(rows, infer_schema_length=None)

    def paired(
        self, axis: str, first: Any, second: Any, metric: str = "utilisation"
    ) -> pl.DataFrame:
        """Compare two values of an axis on common random numbers.

        The runs of a pair have the same seed and differ only in that axis.

        Parameters
        ----------
        axis
            An axis, like ``cc``.
        first, second
            Two of its values.
        metric
            A column of the summary.

        Returns
        -------
        polars.DataFrame
            One row for each point of the other axes: the mean ``difference``, first minus second,
            the ends ``low`` and ``high`` of its 95 % confidence interval, and the number of
            ``pairs``.

        Raises
        ------
        SweepError
            If there is no such axis, value or metric.
        """
        import polars as pl  # noqa: PLC0415

        for value in (first, second):
            if not any(point.get(axis) == value for point in self.points):
                raise SweepError(f"{axis}: no point has the value {value!r}")
        columns = self._by_point(metric)
        rows = []
        for number, point in enumerate(self.points):
            twin = {**point, axis: second}
            if point[axis] != first or twin not in self.points:
                continue
            other = columns[self.points.index(twin)]
            seeds = sorted(columns[number].keys() & other.keys())
            found = paired(
                [columns[number][seed] for seed in seeds], [other[seed] for seed in seeds]
            )
            rest = {name: value for name, value in point.items() if name != axis}
            rows.append(
                {
                    **rest,
                    "difference": found.mean,
                    "low": found.low,
                    "high": found.high,
                    "pairs": len(seeds),
                }
            )
        return pl.DataFrame(rows, infer_schema_length=None)

    def write(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write the tables as Parquet and return the paths.

        The tables are ``runs``, ``flows`` and ``links``, and of the others those that have rows.
        The folder is made if it is not there.

        Parameters
        ----------
        folder
            Where.

        Returns
        -------
        list of Path
            Of the files.

        Raises
        ------
        Error
            If results of another command are there, or nothing can be written there.
        """
        tables = {"runs": self.runs, "flows": self.flows, "links": self.links}
        others = (name for name in _nested() if name not in tables)
        tables |= {name: rows for name in others if not (rows := self._rows(name)).is_empty()}
        files = []
        with writing_into(folder):
            for name, frame in tables.items():
                files.append(Path(folder) / f"{name}.parquet")
                write_at_once(files[-1], parquet(frame))
        return files

    def __repr__(self) -> str:
        from narrows import tables  # noqa: PLC0415

        done = f"{len(self.points)} points, {self.reused + self.ran} runs"
        failed = f", {len(self.failures)} failed" if self.failures else ""
        table = [] if self.runs.is_empty() else tables.of_sweep(self)
        said = [failure.error for failure in self.failures] + numbered(self.warnings)
        return f"{done}{failed}\n{tables.as_text(table, said)}".rstrip()

    def _repr_html_(self) -> str:
        from narrows import tables  # noqa: PLC0415

        if self.runs.is_empty():
            return ""
        return tables.as_page(tables.of_sweep(self), numbered(self.warnings))

    def _whole(self) -> list[Member]:
        failed = {failure.key for failure in self.failures}
        return [member for member in self._members if member.key not in failed]

    def _by_point(self, metric: str) -> list[dict[int, float]]:
        """Return for each point its runs' values by seed, leaving out runs without a value."""
        known = [name for name in numbers_of_runs() if name in self.runs.columns]
        check_number(metric, known)
        columns: list[dict[int, float]] = [{} for _ in self.points]
        for point, seed, value in self.runs.select("point", "seed", metric).iter_rows():
            if value is not None:
                columns[point][seed] = value
        return columns

    def _rows(self, name: str) -> pl.DataFrame:
        import polars as pl  # noqa: PLC0415

        frame = read(self._whole(), self._cache, ["key", "seed", name])
        rows = frame.filter(pl.col(name).list.len() > 0).explode(name).unnest(name)
        return self._with_points(rows)

    def _with_points(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Put the points' values before the columns; if a name is in both, keep the point's."""
        import polars as pl  # noqa: PLC0415

        if "key" not in frame.columns:
            return frame
        members = self._whole()
        index = pl.DataFrame(
            {"point": [m.point for m in members], "key": [m.key for m in members]},
            schema={"point": pl.Int64, "key": pl.String},
        )
        columns = {axis: _column([point[axis] for point in self.points]) for axis in self.axes}
        points = pl.DataFrame({"point": list(range(len(self.points))), **columns}, strict=False)
        kept = frame.drop([name for name in self.axes if name in frame.columns])
        return (
            index.join(points, on="point", how="left", maintain_order="left")
            .join(kept, on="key", how="inner", maintain_order="left")
            .drop("key")
        )


def _column(values: list[Any]) -> list[Any]:
    """Return an axis as a column: numbers if all values are numbers, otherwise text."""
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        return values
    return [str(value) for value in values]


def read(members: Sequence[Member], cache: Cache, columns: Any) -> pl.DataFrame:
    """Read columns of the runs' files, each file once even if several points share it.

    Parameters
    ----------
    members
        The runs.
    cache
        Where they are kept.
    columns
        Expressions of polars for the columns to read.

    Returns
    -------
    polars.DataFrame
        The rows of all runs, in their order.

    Raises
    ------
    SweepError
        If a kept run lacks a column.
    """
    import polars as pl  # noqa: PLC0415

    files = list(dict.fromkeys(cache.file(member.key) for member in members))
    if not files:
        return pl.DataFrame()
    try:
        return pl.scan_parquet(files).select(columns).collect()
    except (pl.exceptions.SchemaError, pl.exceptions.ColumnNotFoundError):
        # A file that another version kept may lack a column, which is then empty.
        schema = reduce(_wider, (pl.read_parquet_schema(file) for file in files))
        cast = pl.ScanCastOptions(missing_struct_fields="insert")
        scan = pl.scan_parquet(files, schema=schema, missing_columns="insert", cast_options=cast)
    try:
        return scan.select(columns).collect()
    except pl.exceptions.ColumnNotFoundError as error:
        raise SweepError(
            f"runs that another version kept have no such column: {error}; remove them with "
            "narrows cache prune --all, and run again"
        ) from None


def _wider(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema with the columns of both, also within lists of structs."""
    wider = dict(one)
    for name, kind in other.items():
        before = wider.get(name)
        if before is None:
            wider[name] = kind
        elif before != kind and hasattr(kind, "inner") and hasattr(before, "inner"):
            fields = _wider(dict(before.inner), dict(kind.inner))
            wider[name] = type(kind)(type(kind.inner)(fields))
    return wider

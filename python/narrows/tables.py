"""Runs as tables that people read, for the command line, notebooks and reports.

Over several seeds a cell is a mean, with half of its 95 % confidence interval below.
"""

from __future__ import annotations

import html
import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from narrows.comparison import Case, varying
from narrows.metrics import Metric, metric

if TYPE_CHECKING:
    from narrows.results import Result
    from narrows.sweeps import Sweep

# No table is wider than this with one seed.
WIDTH = 80
COMPARED = ("utilisation", "goodput", "loss_rate", "mean_queue", "queue_p99", "mean_rtt", "jain")
OF_LINKS = ("utilisation", "loss_rate", "mean_queue", "max_queue", "delay_p50", "delay_p99")
SWEPT = ("utilisation", "goodput", "loss_rate", "mean_queue", "jain")


def comparison(cases: Sequence[Case]) -> Table:
    """Return a table with one row for each case, and a column for each thing that differs."""
    names = varying(cases)
    records = [[{**run.record(), "marks": _marks(run)} for run in case.runs] for case in cases]
    columns = [metric(name) for name in COMPARED]
    if any(record["marks"] for runs in records for record in runs):
        columns.append(metric("marks", "links"))
    table = _table(names, columns)
    for case, runs in zip(cases, records, strict=True):
        table.add_row(*(case.said.get(name, "-") for name in names), *_cells(runs, columns))
    return table


def _marks(result: Result) -> int:
    marks: int = result.links["marks"][result.bottleneck]
    return marks


def links(results: Sequence[Result]) -> Table:
    """Return a table of the links of runs of one scenario."""
    buffers = results[0].scenario.buffers
    columns = [metric(name, "links") for name in OF_LINKS]
    if any(result.links["marks"].sum() for result in results):
        columns.append(metric("marks", "links"))
    table = _table(["link", "buffer"], columns)
    for runs in zip(*(result.links.iter_rows(named=True) for result in results), strict=True):
        name = runs[0]["name"]
        table.add_row(name, buffers[name].partition(" = ")[0], *_cells(runs, columns))
    return table


def flows(results: Sequence[Result]) -> Table:
    """Return a table of the groups of flows of runs of one scenario, a row a group.

    Goodput, epochs and timeouts of a group are sums; its loss rate is of all its packets, its RTT
    a mean, and its completion time a median.
    """
    import polars as pl  # noqa: PLC0415

    whole = [
        pl.col("cc").first(),
        pl.col("flow").min().alias("first"),
        pl.col("flow").max().alias("last"),
        pl.col("goodput", "epochs", "timeouts").sum(),
        (pl.col("lost").sum() / pl.col("sent").sum()).alias("loss_rate"),
        pl.col("mean_rtt").mean(),
        pl.col("completion_time").median(),
    ]
    names = ["goodput", "loss_rate", "mean_rtt", "epochs", "timeouts"]
    if any(result.flows["completion_time"].is_not_null().any() for result in results):
        names.append("completion_time")
    columns = [metric(name, "flows") for name in names]
    table = _table(["flows", "cc"], columns)
    of_runs = []
    for result in results:
        numbered = result.flows.with_columns(group=pl.Series(_groups(result)))
        of_group = numbered.group_by("group", maintain_order=True).agg(whole)
        of_runs.append(of_group.iter_rows(named=True))
    for runs in zip(*of_runs, strict=True):
        first, last = runs[0]["first"], runs[0]["last"]
        number = str(first) if first == last else f"{first}-{last}"
        table.add_row(number, runs[0]["cc"], *_cells(runs, columns))
    return table


def _groups(result: Result) -> list[int]:
    """Return the number of the group of each flow."""
    counts = [flow.get("count", 1) for flow in result.scenario.fields["flows"]]
    return [group for group, count in enumerate(counts) for _ in range(count)]


def points(sweep: Sweep, first: str = "utilisation") -> Table:
    """Return a table of the points of a sweep, with the metric `first` before the others."""
    columns = [metric(name) for name in dict.fromkeys((first, *SWEPT))]
    means = sweep.means(*(column.name for column in columns))
    table = _table([*sweep.axes, "seeds"], columns)
    for row in means.iter_rows(named=True):
        cells = [_cell(column, row[column.name], row[f"{column.name}_low"]) for column in columns]
        table.add_row(*(str(row[axis]) for axis in sweep.axes), str(row["seeds"]), *cells)
    return table


def _table(names: Iterable[str], columns: Iterable[Metric]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for name in names:
        table.add_column(name, overflow="fold", min_width=len(name))
    for column in columns:
        table.add_column(column.lines, justify="right", no_wrap=True)
    return table


def _cells(runs: Sequence[dict[str, Any]], columns: Iterable[Metric]) -> list[str]:
    return [
        column.cell([run[column.name] for run in runs]).replace(" ± ", "\n±") for column in columns
    ]


def _cell(column: Metric, mean: float | None, low: float | None) -> str:
    if mean is None:
        return "-"
    return column.text(mean) if low is None else f"{column.text(mean)}\n±{column.text(mean - low)}"


def as_text(tables: Iterable[Table], width: int = WIDTH) -> str:
    """Return tables as plain text."""
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None)
    for table in tables:
        console.print(table)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def as_html(table: Table) -> str:
    """Return a table as HTML."""
    columns = [[_lines(cell) for cell in column.cells] for column in table.columns]
    head = "".join(f"<th>{_lines(column.header)}</th>" for column in table.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>"
        for row in zip(*columns, strict=True)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _lines(cell: object) -> str:
    return html.escape(str(cell)).replace("\n", "<br>")

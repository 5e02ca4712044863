"""Runs as tables that people read, for the command line, notebooks and reports.

Over several seeds a cell is a mean, with half of its 95 % confidence interval below.
"""

from __future__ import annotations

import html
import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markup import escape, render
from rich.table import Column, Table

from narrows import shown
from narrows.comparison import Case, varying
from narrows.metrics import Metric, metric
from narrows.reality import HOST, IDEAL, REAL
from narrows.terminal import console_into, plain

if TYPE_CHECKING:
    import polars as pl

    from narrows.results import Result
    from narrows.sweeps import Sweep

# No table is wider than this with one seed.
WIDTH = 80
# Columns are so far apart: a space after each, and what the box draws between two.
BETWEEN = 2
LOOK: dict[str, Any] = {"box": SIMPLE_HEAD, "padding": (0, 1, 0, 0), "pad_edge": False}
COMPARED = ("utilisation", "goodput", "loss_rate", "mean_queue", "delay_p99", "mean_rtt", "jain")
OF_LINKS = ("utilisation", "loss_rate", "mean_queue", "max_queue", "delay_p50", "delay_p99")
LIMITS = tuple(
    f"limited_by_{limit}" for limit in ("window", "pacing", "application", "receiver", "recovery")
)
# What flows may be told to do that makes transfers.
ASKED = {"web", "files", "arrivals", "incast"}
# Of the times that transfers took.
PERCENTS = (10, 50, 90, 99)
SWEPT = ("utilisation", "goodput", "loss_rate", "mean_queue", "delay_p99", "jain")
OF_SIZES = (
    "transfers",
    "unfinished",
    "completion_time_p50",
    "completion_time_p99",
    "mean_slowdown",
    "slowdown_p99",
)
OF_LAWS = ("goodput", "loss_rate", "mean_rtt", "epochs")


def comparison(cases: Sequence[Case]) -> Table:
    """Return a table with one row for each case, and a column for each thing that differs."""
    names = varying(cases)
    records = [[run.record() for run in case.runs] for case in cases]
    columns = [metric(name) for name in COMPARED]
    if any(record["marks"] for runs in records for record in runs):
        columns.append(metric("marks"))
    table = _table(names, columns)
    for case, runs in zip(cases, records, strict=True):
        table.add_row(*(escape(case.said.get(name, "-")) for name in names), *_cells(runs, columns))
    return table


def differences(cases: Sequence[Case]) -> Table:
    """Return a table of what was simulated and what was measured, a row a case.

    Utilisation as a difference, loss and queue as quotients of the real and the simulated one, with
    an ideal host and with this one; and of how many recovery epochs per run each is a mean: of the
    real one, and of both simulated ones.
    """
    by_case: dict[tuple[str, ...], dict[str, Case]] = {}
    names = [name for name in varying(cases) if name != "run"]
    for case in cases:
        said = tuple(case.said.get(name, "-") for name in names)
        by_case.setdefault(said, {})[case.said["run"]] = case
    table = _table(names, [])
    table.title, table.title_justify = "real less or by simulated: ideal host, this host", "left"
    for name in ("utilisation", "loss", "queue"):
        table.add_column(name, justify="right")
    table.add_column("epochs", justify="right")
    table.add_column("valid")
    for said, of_case in by_case.items():
        real = of_case[REAL]
        cells = [
            _both(metric, real, [of_case[IDEAL], of_case[HOST]])
            for metric in ("utilisation", "loss_rate", "mean_queue")
        ]
        valid = all(run.real is None or run.real.doubt is None for run in real.runs)
        epochs = ", ".join(_epochs(of_case[run]) for run in (REAL, IDEAL, HOST))
        table.add_row(*map(escape, said), *cells, epochs, "yes" if valid else "NO")
    return table


def _epochs(case: Case) -> str:
    """Return the mean number of recovery epochs of a case's runs, of all flows together."""
    counts = [int(run.flows["epochs"].sum()) for run in case.runs]
    return f"{sum(counts) / len(counts):.0f}"


def _both(name: str, real: Case, simulated: Sequence[Case]) -> str:
    def mean(case: Case) -> float:
        values = [run.summary[name][0] or 0.0 for run in case.runs]
        return float(sum(values) / len(values))

    measured = mean(real)
    if name == "utilisation":
        return ", ".join(f"{measured - mean(case):+.3f}" for case in simulated)
    return ", ".join(
        f"{measured / value:.2f}" if (value := mean(case)) else "-" for case in simulated
    )


def mixtures(cases: Sequence[Case]) -> list[Table]:
    """Return a table of who got what, a row for each law of a case that mixes laws, or none."""
    mixed = [case for case in cases if len(case.runs[0].scenario.fields["flows"]) > 1]
    if not mixed:
        return []
    names = varying(cases)
    columns = [metric(name, "flows") for name in OF_LAWS]
    table = _table([*names, "law", "flows"], columns)
    table.title, table.title_justify = "by law, flows together", "left"
    for case in mixed:
        for rows in zip(*(run.groups.to_dicts() for run in case.runs), strict=True):
            said = [escape(case.said.get(name, "-")) for name in names]
            law, flows = shown.label_of(rows[0]), str(rows[0]["flows"])
            table.add_row(*said, escape(law), flows, *_cells(rows, columns))
    return [table]


def of_comparison(cases: Sequence[Case]) -> list[Table]:
    """Return the tables of compared cases: what they did, who got what, and how long files took."""
    return [comparison(cases), *mixtures(cases), *_transfers_of_cases(cases)]


def _transfers_of_cases(cases: Sequence[Case]) -> list[Table]:
    import polars as pl  # noqa: PLC0415

    names = varying(cases)
    rows = [
        (
            [case.said.get(name, "-") for name in names],
            pl.concat(map(_measured, case.runs))["completion_time"],
        )
        for case in cases
    ]
    return _completions(names, rows)


def links(results: Sequence[Result]) -> Table:
    """Return a table of the links of runs of one scenario."""
    buffers = results[0].scenario.buffers
    columns = [metric(name, "links") for name in OF_LINKS]
    if any(result.links["marks"].sum() for result in results):
        columns.append(metric("marks", "links"))
    table = _table(["link", "buffer"], columns)
    for runs in zip(*(result.links.iter_rows(named=True) for result in results), strict=True):
        name = runs[0]["name"]
        table.add_row(escape(name), buffers[name].partition(" = ")[0], *_cells(runs, columns))
    return table


def flows(results: Sequence[Result]) -> Table:
    """Return a table of the groups of flows of runs of one scenario, a row a group.

    Goodput, epochs and timeouts of a group are sums; its loss rate is of all its packets, its RTT
    a mean, and its completion time a median.
    """
    names = ["goodput", "loss_rate", "mean_rtt", "epochs", "timeouts"]
    for name in ("completion_time", "late_frames"):
        if any(result.flows[name].is_not_null().any() for result in results):
            names.append(name)
    columns = [metric(name, "flows") for name in names]
    paths = _paths(results[0])
    named = ["name"] if _has_names(results[0]) else []
    table = _table(["flows", *named, "cc", *(["path"] if paths else [])], columns)
    _add_groups(table, results, columns, paths)
    return table


def _paths(result: Result) -> list[str]:
    """Return where each group goes, or nothing if all go the same way."""

    def path(flow: dict[str, Any]) -> str:
        ends = flow.get("over") or [flow.get("from"), flow.get("to")]
        return "-".join(str(end) for end in ends if end is not None) or "all"

    paths = [path(flow) for flow in result.scenario.fields["flows"]]
    return paths if len(set(paths)) > 1 else []


def _has_names(result: Result) -> bool:
    return any("name" in flow for flow in result.scenario.fields["flows"])


def of_runs(results: Sequence[Result]) -> list[Table]:
    """Return the tables of runs of one scenario with several seeds.

    They are of links, of groups of flows, of what these transferred and answered, and of what held
    them back.
    """
    return [
        links(results),
        flows(results),
        *transfers(results),
        *sizes(results),
        *queries(results),
        *limits(results),
    ]


def sizes(results: Sequence[Result]) -> list[Table]:
    """Return a table of transfers by size, or none if none arrived at random.

    A percentile is left out where fewer than ten values lie beyond it.
    """
    groups = results[0].scenario.fields["flows"]
    arriving = [number for number, flow in enumerate(groups) if "arrivals" in flow]
    columns = [metric(name, "size_classes") for name in OF_SIZES]
    table = _table(["group", "size"], columns)
    table.title, table.title_justify = "transfers by size, and time over the least time", "left"
    by_class: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for result in results:
        for row in result.size_classes.iter_rows(named=True):
            if row["group"] in arriving:
                by_class.setdefault((row["group"], row["class"]), []).append(row)
    for (group, size), runs in sorted(by_class.items(), key=lambda it: it[0][0]):
        called = shown.label_of(results[0].groups.row(group, named=True))
        table.add_row(escape(called), size, *_cells(runs, columns))
    return [table] if table.rows else []


def queries(results: Sequence[Result]) -> list[Table]:
    """Return a table of the queries that groups answered in the measured time, or none."""
    import polars as pl  # noqa: PLC0415

    frame = pl.concat(
        result.queries.filter(pl.col("asked") >= shown.warmup(result)) for result in results
    )
    table = _table(["group"], [])
    table.title, table.title_justify = "queries: until the last answer", "left"
    for heading in ("number", "unfinished", "p50\ns", "p90\ns", "longest\ns"):
        table.add_column(heading, justify="right")
    for (group,), rows in frame.group_by("group", maintain_order=True):
        times = rows["completion_time"].drop_nulls()
        called = shown.label_of(results[0].groups.row(int(str(group)), named=True))
        shares = [times.quantile(share, "linear") for share in (0.5, 0.9, 1.0)]
        cells = ["-" if share is None else f"{share:.3f}" for share in shares]
        table.add_row(escape(called), str(len(times)), str(len(rows) - len(times)), *cells)
    return [table] if table.rows else []


def limits(results: Sequence[Result]) -> list[Table]:
    """Return a table of what kept the flows of each group from sending, or none for datagrams.

    Shares of time are means over the flows of a group.
    """
    columns = [metric(name, "flows") for name in LIMITS]
    if not any(result.flows[LIMITS[0]].is_not_null().any() for result in results):
        return []
    named = ["name"] if _has_names(results[0]) else []
    table = _table(["flows", *named, "cc"], columns)
    table.title, table.title_justify = "limited by", "left"
    _add_groups(table, results, columns)
    return [table]


def transfers(results: Sequence[Result]) -> list[Table]:
    """Return a table of how long files and web objects took, or none if nobody asked for any.

    What was requested in the measured time of all runs counts together.
    """
    import polars as pl  # noqa: PLC0415

    frame = pl.concat(map(_measured, results)).with_columns(pl.col("flow").cast(pl.Int64))
    named = ["name"] if _has_names(results[0]) else []
    rows = []
    for group in results[0].groups.iter_rows(named=True):
        first, last = group["first"], group["last"]
        number = str(first) if first == last else f"{first}-{last}"
        labels = [group["name"] or "-"] if named else []
        times = frame.filter(pl.col("flow").is_between(first, last))["completion_time"]
        rows.append(([number, *labels, group["cc"]], times))
    return _completions(["flows", *named, "cc"], rows)


def _measured(result: Result) -> pl.DataFrame:
    """Return what was requested after the warm-up."""
    import polars as pl  # noqa: PLC0415

    return result.transfers.filter(pl.col("requested") >= shown.warmup(result))


def _completions(
    names: Sequence[str], rows: Iterable[tuple[Sequence[str], pl.Series]]
) -> list[Table]:
    """Return a table of completion times, a row for each of several named columns of them."""
    table = _table(names, [])
    table.title, table.title_justify = "transfers", "left"
    columns = [(said, column) for said, column in rows if len(column)]
    told = any(column.null_count() for _, column in columns)
    unfinished = ["unfinished"] if told else []
    for heading in ("number", *unfinished, *(f"p{percent}\ns" for percent in PERCENTS)):
        table.add_column(heading, justify="right")
    for said, column in columns:
        times = column.drop_nulls()
        left = [str(column.null_count())] if told else []
        places = [times.quantile(percent / 100, "linear") for percent in PERCENTS]
        cells = ["-" if place is None else f"{place:.3f}" for place in places]
        table.add_row(*map(escape, said), str(len(times)), *left, *cells)
    return [table] if table.rows else []


def _add_groups(
    table: Table,
    results: Sequence[Result],
    columns: Sequence[Metric],
    paths: Sequence[str] = (),
) -> None:
    of_runs = (result.groups.iter_rows(named=True) for result in results)
    for group, runs in enumerate(zip(*of_runs, strict=True)):
        path = [escape(paths[group])] if paths else []
        first, last = runs[0]["first"], runs[0]["last"]
        number = str(first) if first == last else f"{first}-{last}"
        named = [escape(runs[0]["name"] or "-")] if _has_names(results[0]) else []
        table.add_row(number, *named, escape(runs[0]["cc"]), *path, *_cells(runs, columns))


def points(sweep: Sweep, first: str = "utilisation") -> Table:
    """Return a table of the points of a sweep, with the metric `first` before the others.

    Rows say by number which of the sweep's warnings they should be read with.
    """
    columns = [metric(name) for name in dict.fromkeys((first, *SWEPT))]
    means = sweep.means(*(column.name for column in columns))
    warned = sweep.warned
    table = _table([*sweep.axes, "seeds"], columns)
    if any(warned):
        table.add_column("warnings", no_wrap=True)
    for row, numbers in zip(means.iter_rows(named=True), warned, strict=True):
        cells = [_cell(column, row[column.name], row[f"{column.name}_low"]) for column in columns]
        if any(warned):
            cells.append(" ".join(f"({number})" for number in numbers))
        table.add_row(*(escape(str(row[axis])) for axis in sweep.axes), str(row["seeds"]), *cells)
    return table


def of_sweep(sweep: Sweep, first: str = "utilisation") -> list[Table]:
    """Return the tables of a sweep: its points, laws where mixed, and how long files took."""
    return [points(sweep, first), *mixed_points(sweep), *_transfers_of_points(sweep)]


def _transfers_of_points(sweep: Sweep) -> list[Table]:
    flows = (flow for scenario in sweep.scenarios for flow in scenario.fields["flows"])
    if not any(ASKED & flow.keys() for flow in flows):
        return []
    asked = sweep.transfers
    rows = []
    for number, (point, scenario) in enumerate(zip(sweep.points, sweep.scenarios, strict=True)):
        measured = (asked["point"] == number) & (asked["requested"] >= scenario.checked.times()[1])
        rows.append(([str(value) for value in point.values()], asked.filter(measured)))
    return _completions(sweep.axes, ((said, of["completion_time"]) for said, of in rows))


def mixed_points(sweep: Sweep) -> list[Table]:
    """Return a table of who got what, a row for each law of a point that mixes laws, or none."""
    if all(len(scenario.fields["flows"]) < 2 for scenario in sweep.scenarios):
        return []
    laws = sweep.laws
    columns = [metric(name, "flows") for name in OF_LAWS]
    table = _table([*sweep.axes, "law", "flows"], columns)
    table.title, table.title_justify = "by law, flows together", "left"
    for number, point in enumerate(sweep.points):
        of_point = laws.filter(laws["point"] == number)
        by_law = of_point.partition_by("law", maintain_order=True, as_dict=True)
        if len(by_law) < 2:
            continue
        for (law,), runs in by_law.items():
            said = [escape(str(point[axis])) for axis in sweep.axes]
            flows = str(runs["flows"][0])
            table.add_row(*said, escape(str(law)), flows, *_cells(runs.to_dicts(), columns))
    return [table] if table.rows else []


class _Fitting(Table):
    """A table that breaks no word: columns for which there is no room follow below.

    The first columns, which name a row, are repeated there.
    """

    names = 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = [_width(column) for column in self.columns]
        # Longer names are folded.
        named = min(sum(widths[: self.names]), options.max_width * 3 // 5)
        parts: list[list[Column]] = []
        left = 0
        for column, width in zip(self.columns[self.names :], widths[self.names :], strict=True):
            if left < width:
                parts.append([])
                left = options.max_width - named
            parts[-1].append(column)
            left -= width
        for part in parts or [[]]:
            yield self._of(part)

    def _of(self, columns: Sequence[Column]) -> Table:
        part = Table(**LOOK)
        part.title, part.title_justify = self.title, self.title_justify
        for column in self.columns[: self.names]:
            part.add_column(column.header, justify=column.justify, overflow="fold")
        for column in columns:
            least = _width(column) - BETWEEN
            part.add_column(column.header, justify=column.justify, no_wrap=True, min_width=least)
        shown = [*self.columns[: self.names], *columns]
        for row in zip(*(column.cells for column in shown), strict=True):
            part.add_row(*row)
        return part


def _width(column: Column) -> int:
    """Return how wide a column is if no line of it is broken, with the spaces after it."""
    lines = (
        line
        for cell in (column.header, *column.cells)
        for line in plain(render(str(cell)).plain).split("\n")
    )
    return max(map(cell_len, lines), default=0) + BETWEEN


def fitting(names: Iterable[str]) -> Table:
    """Return a table whose first columns name its rows, and of which others go below if need be."""
    table = _Fitting(**LOOK)
    for name in names:
        table.add_column(name)
    table.names = len(table.columns)
    return table


def _table(names: Iterable[str], columns: Iterable[Metric]) -> Table:
    table = fitting(names)
    for column in columns:
        table.add_column(column.lines, justify="right")
    return table


def _cells(runs: Sequence[dict[str, Any]], columns: Iterable[Metric]) -> list[str]:
    return [
        column.cell([run[column.name] for run in runs]).replace(" ± ", "\n±") for column in columns
    ]


def _cell(column: Metric, mean: float | None, low: float | None) -> str:
    if mean is None:
        return "-"
    return column.text(mean) if low is None else f"{column.text(mean)}\n±{column.text(mean - low)}"


def as_text(tables: Iterable[Table], warnings: Iterable[str] = (), width: int = WIDTH) -> str:
    """Return tables as plain text, and warnings below them."""
    out = io.StringIO()
    console = console_into(out, width)
    for table in tables:
        console.print(table)
    for warning in warnings:
        console.print(f"warning: {warning}", markup=False, highlight=False, soft_wrap=False)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def as_page(tables: Iterable[Table], warnings: Iterable[str] = ()) -> str:
    """Return tables as HTML, and warnings below them."""
    said = "".join(f"<p>Warning: {html.escape(warning)}</p>" for warning in warnings)
    return "".join(map(as_html, tables)) + said


def as_html(table: Table) -> str:
    """Return a table as HTML."""
    columns = [[_lines(cell) for cell in column.cells] for column in table.columns]
    head = "".join(f"<th>{_lines(column.header)}</th>" for column in table.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>"
        for row in zip(*columns, strict=True)
    )
    caption = f"<caption>{_lines(table.title)}</caption>" if table.title else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _lines(cell: object) -> str:
    return html.escape(plain(render(str(cell)).plain)).replace("\n", "<br>")

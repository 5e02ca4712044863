"""A report in one self-contained HTML file that works offline: tables, and charts that zoom."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

from narrows import remarks, shown, tables
from narrows.comparison import common, varying
from narrows.shown import Line, buffers_of
from narrows.tables import as_html

if TYPE_CHECKING:
    import numpy.typing as npt

    from narrows.comparison import Case, Comparison
    from narrows.conformance import Conformance, Row, Wire
    from narrows.made import Made
    from narrows.results import Result
    from narrows.sweeps import Sweep

MOST_POINTS = 4000
MOST_SCENARIOS = 40
ZOOM = "Drag across a chart to zoom all charts in to that time; double-click to zoom out."


@dataclass(frozen=True)
class Chart:
    """One chart: a title, the unit of its y axis, lines over a common time, and where it is cut.

    With `dots` the points of its lines are not joined.
    """

    title: str
    unit: str
    lines: Sequence[Line]
    top: float | None
    dots: bool = False

    def packed(self) -> dict[str, Any]:
        """Return the chart as JSON, with columns of little-endian 32-bit floats in base64.

        Returns
        -------
        dict
            By name.
        """
        time, values = _on_one_time(self.lines)
        rows = _kept_rows(len(time), values)
        data = [
            base64.b64encode(column[rows].astype("<f4").tobytes()).decode()
            for column in (time, *values)
        ]
        bands = [number for number, line in enumerate(self.lines) if line.low is not None]
        return {
            "title": self.title,
            "unit": self.unit,
            "labels": [line.label for line in self.lines],
            "colours": [line.colour for line in self.lines],
            "top": self.top,
            "dots": self.dots,
            "bands": bands,
            "data": data,
        }


@dataclass(frozen=True)
class Section:
    """Charts of one quantity, side by side."""

    title: str
    charts: Sequence[Chart]

    def packed(self) -> dict[str, Any]:
        """Return the section as JSON.

        Returns
        -------
        dict
            By name.
        """
        return {"title": self.title, "charts": [chart.packed() for chart in self.charts]}


def _on_one_time(
    lines: Sequence[Line],
) -> tuple[npt.NDArray[np.float64], list[npt.NDArray[np.float64]]]:
    """Return all times, and the values of each line at these; NaN where it has none.

    Behind those of all lines come the lower and the upper edge of each line that has a band.
    """
    if not lines:
        return np.zeros(0), []
    time = np.unique(np.concatenate([line.time for line in lines]))

    def placed(line: Line, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        column = np.full(len(time), np.nan)
        column[np.searchsorted(time, line.time)] = values
        return column

    edges = [
        placed(line, edge) for line in lines for edge in (line.low, line.high) if edge is not None
    ]
    return time, [placed(line, line.values) for line in lines] + edges


def _kept_rows(rows: int, lines: list[npt.NDArray[np.float64]]) -> npt.NDArray[np.int64]:
    """Choose rows so that each line keeps its minimum and maximum in every stretch of time."""
    if rows <= MOST_POINTS:
        return np.arange(rows)
    stretches = np.array_split(np.arange(rows), MOST_POINTS // (2 * max(1, len(lines))))
    kept: set[int] = {0, rows - 1}
    for stretch in stretches:
        for line in lines:
            part = np.nan_to_num(line[stretch])
            kept |= {int(stretch[part.argmin()]), int(stretch[part.argmax()])}
    return np.array(sorted(kept))


def comparison(found: Comparison, made: Made) -> str:
    """Report on compared cases: tables, and the first run of each as small charts over time.

    Parameters
    ----------
    found
        The compared cases.
    made
        How they were made.

    Returns
    -------
    str
        HTML that needs no other file.
    """
    shown_tables = tables.of_comparison(found.cases)
    title = common(found.cases)
    sections = [
        _of_cases("Congestion window", "packets", found.cases, _windows),
        _of_cases("Smoothed RTT", "ms", found.cases, _rtts),
        _of_cases("Queue at the bottleneck", "packets", found.cases, _queue),
        _of_cases("Lost at the bottleneck (marked dashed)", "%", found.cases, _lost),
        _of_cases("Throughput at the bottleneck", "Mbit/s", found.cases, _throughput),
    ]
    return _page(
        title,
        found.buffers,
        shown_tables,
        found.warnings,
        made,
        _drawn(found.results, sections),
    )


def single(results: Sequence[Result], of_runs: Sequence[Table], made: Made) -> str:
    """Report on the runs of one scenario: tables, and the first run over time.

    The charts show windows and goodput of the flows that `shown` chooses, and queue, losses, marks
    and throughput of the bottlenecks.

    Parameters
    ----------
    results
        The runs, one for each seed.
    of_runs
        Their tables.
    made
        How they were made.

    Returns
    -------
    str
        HTML that needs no other file.
    """
    result = results[0]
    warmup = shown.warmup(result)

    def section(title: str, unit: str, lines: Sequence[Line]) -> Section:
        return Section(title, [Chart("", unit, lines, shown.top(lines, warmup))])

    lost = shown.link_lines(result, "loss_rate", 100.0)
    marked = [line for line in shown.link_lines(result, "mark_rate", 100.0) if line.values.any()]
    sections = [
        section("Congestion window", "packets", shown.flow_lines(result, "window", 1.0)),
        section("Smoothed RTT", "ms", shown.flow_lines(result, "rtt", 1e3)),
        section("Goodput", "Mbit/s", shown.flow_lines(result, "goodput", 1e-6)),
        section("Queue", "packets", shown.link_lines(result, "queue", 1.0)),
        section("Lost", "%", lost),
        *([section("Marked", "%", marked)] if marked else []),
        section("Utilisation", "ratio", shown.link_lines(result, "utilisation", 1.0)),
    ]
    if result.link_series.is_empty():
        sections = []
    if asked := shown.transfer_lines(result):
        chart = Chart("", "s", asked, None, dots=True)
        sections.append(Section("Completion of requests, by the time of the request", [chart]))
    said = remarks.of_runs([result.warnings for result in results])
    buffers = buffers_of([result.scenario])
    return _page(shown.told(result), buffers, of_runs, said, made, _drawn(results, sections))


def conformance(found: Conformance, row: Row, wire: Wire, made: Made) -> str:
    """Report on a check that is not as asked: what is asked, what was seen, and the packets.

    Parameters
    ----------
    found
        The conformance that it is part of.
    row
        What the check found.
    wire
        The packets of its run.
    made
        How it was made.

    Returns
    -------
    str
        HTML that needs no other file.
    """
    check = row.check
    table = Table("", "", show_header=False, box=None)
    for name, told in (
        ("found", f"{row.finding}: {row.seen}"),
        ("bound", row.bound),
        ("asked by", f"{check.source} {check.word}"),
        *([("in its words", check.quote)] if check.quote else []),
        ("what is asked here", check.asks),
    ):
        table.add_row(name, told)
    data = {"warmup": 0.0, "sections": [section.packed() for section in _of_wire(wire)]}
    hint = (
        f"{ZOOM} What is in flight has been sent, and its sender cannot know yet that it has "
        "arrived or is lost."
    )
    title = f"{found.cc} as {found.profile}: {check.id} {check.name}"
    return _page(title, [], [table], [], made, _Charts(hint, "", data))


def _of_wire(wire: Wire) -> list[Section]:
    """Return charts of what is on the wire: flight, losses, packets by number, delays."""
    times = np.array([at for at, _ in wire.flight])
    flight = Line("in flight", 0, times, np.array([packets for _, packets in wire.flight]))
    sent = np.array([packet[0] for packet in wire.packets])
    places = np.clip(np.searchsorted(times, sent, side="right") - 1, 0, None)
    in_flight = flight.values[places] if len(times) else np.zeros(len(sent))

    def those(label: str, colour: int, which: int) -> Line:
        chosen = np.array([bool(packet[which]) for packet in wire.packets], dtype=bool)
        return Line(label, colour, sent[chosen], in_flight[chosen])

    known = np.array([packet[2] for packet in wire.packets])
    finite = np.isfinite(known)
    delays = Line("until it was known", 0, sent[finite], 1e3 * (known - sent)[finite])
    numbers = Line("sent", 0, sent, np.arange(1.0, len(sent) + 1))
    marks = [line for line in (those("lost", 1, 3), those("marked", 2, 4)) if len(line.time)]
    lost = Chart("", "packets in flight", marks, None, dots=True)
    return [
        Section("Packets in flight", [Chart("", "packets", [flight], None)]),
        *([Section("Lost or marked, when sent", [lost])] if marks else []),
        Section("Sent, by number", [Chart("", "packets", [numbers], None, dots=True)]),
        Section("From sending to knowing", [Chart("", "ms", [delays], None, dots=True)]),
    ]


def sweep(result: Sweep, metric: str, picture: bytes, made: Made) -> str:
    """Report on a sweep: tables, and its picture, a PNG.

    Parameters
    ----------
    result
        A finished sweep.
    metric
        The metric of the table.
    picture
        A PNG file.
    made
        How it was made.

    Returns
    -------
    str
        HTML that needs no other file.
    """
    axes = ", ".join(f"{axis} ({len(result.values_of(axis))})" for axis in result.axes)
    title = f"sweep over {axes}" if axes else "sweep of one point"
    encoded = base64.b64encode(picture).decode()
    described = f"{metric} over the sweep's axes"
    charts = f'<img alt="{html.escape(described)}" src="data:image/png;base64,{encoded}">'
    of_sweep = tables.of_sweep(result, metric)
    said = remarks.numbered(result.warnings)
    return _page(title, result.buffers, of_sweep, said, made, _Charts("", charts, {"sections": []}))


def _of_cases(
    title: str, unit: str, cases: Sequence[Case], lines_of: Callable[[Result], list[Line]]
) -> Section:
    """Return a chart for each case, all on one scale."""
    names = varying(cases)
    runs = [case.runs[0] for case in cases]
    lines = [lines_of(run) if run.link_series.height else [] for run in runs]
    every = [line for of_case in lines for line in of_case]
    cut = shown.top(every, max(map(shown.warmup, runs)))
    top = cut or max((float(np.nanmax(line.values, initial=0.0)) for line in every), default=0.0)
    charts = [
        Chart(case.label(names), unit, of_case, top)
        for case, of_case in zip(cases, lines, strict=True)
    ]
    return Section(title, charts)


def _windows(result: Result) -> list[Line]:
    return shown.kind_lines(result, "window", 1.0)


def _rtts(result: Result) -> list[Line]:
    return shown.kind_lines(result, "rtt", 1e3)


def _queue(result: Result) -> list[Line]:
    return shown.link_lines(result, "queue", 1.0, [result.bottleneck])


def _lost(result: Result) -> list[Line]:
    (lost,) = shown.link_lines(result, "loss_rate", 100.0, [result.bottleneck])
    (marked,) = shown.link_lines(result, "mark_rate", 100.0, [result.bottleneck])
    lines = [replace(lost, label="lost", colour=0)]
    return [*lines, replace(marked, label="marked", colour=1)] if marked.values.any() else lines


def _throughput(result: Result) -> list[Line]:
    rate = float(result.links["rate"][result.bottleneck]) / 1e6
    return shown.link_lines(result, "utilisation", rate, [result.bottleneck])


@dataclass(frozen=True)
class _Charts:
    """What a page has below its tables: a hint, HTML of its own, and data that its script draws."""

    hint: str
    html: str
    data: dict[str, Any]


def _drawn(results: Sequence[Result], sections: Sequence[Section]) -> _Charts:
    """Return charts over time, which the page's script draws."""
    first = "first seed of each; " if len({run.seed for run in results}) > 1 else ""
    hint = (
        f"Charts: {first}grey is not measured; a chart is cut off above what is measured if slow "
        f"start is far above. {ZOOM} Click a name in a legend to hide its line."
    )
    data = {
        "warmup": shown.warmup(results[0]),
        "sections": [section.packed() for section in sections],
    }
    return _Charts(hint if sections else "", "", data)


def _page(
    title: str,
    buffers: Sequence[str],
    tables_: Sequence[Table],
    warnings: Sequence[str],
    made: Made,
    charts: _Charts,
) -> str:
    here = resources.files("narrows.report")

    def read(name: str) -> str:
        return (here / name).read_text(encoding="utf-8")

    def code(text: str) -> str:
        return text.replace("</", "<\\/")

    places = {
        "@title@": html.escape(title),
        "@buffers@": _hint(f"Buffers: {shown.buffers(buffers)}" if buffers else ""),
        "@hint@": html.escape(charts.hint),
        "@drawn@": charts.html,
        "@warnings@": "".join(
            f'<p class="warning">Warning: {html.escape(warning)}</p>' for warning in warnings
        ),
        "@tables@": "".join(f'<div class="wide">{as_html(table)}</div>' for table in tables_),
        "@made@": html.escape(str(made)),
        "@scenarios@": "".join(map(_scenario, made.cases[:MOST_SCENARIOS])) + _others(made),
        "/*@uplot.css@*/": read("uplot/uPlot.min.css"),
        "/*@uplot.js@*/": code(read("uplot/uPlot.iife.min.js")),
        "/*@charts.js@*/": code(read("charts.js")),
        "/*@charts@*/": json.dumps(charts.data).replace("<", "\\u003c"),
    }
    # All at once: what is put into one place may look like another.
    anywhere = "|".join(map(re.escape, places))
    return re.sub(anywhere, lambda place: places[place[0]], read("page.html"))


def _hint(text: str) -> str:
    return f'<p class="hint">{html.escape(text)}</p>' if text else ""


def _others(made: Made) -> str:
    """Say where the scenarios are that a page does not show."""
    more = len(made.cases) - MOST_SCENARIOS
    return f"<p>{more} more scenarios are in made.json.</p>" if more > 0 else ""


def _scenario(case: tuple[dict[str, Any], str]) -> str:
    said, text = case
    title = ", ".join(map(str, said.values())) or "the scenario file"
    return (
        f"<details><summary>Scenario: {html.escape(title)}</summary>"
        f"<pre>{html.escape(text)}</pre></details>"
    )

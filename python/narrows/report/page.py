"""A report in one self-contained HTML file that works offline: tables, and charts that zoom."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

from narrows.comparison import varying
from narrows.tables import as_html

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl

    from narrows.comparison import Case
    from narrows.results import Result

MOST_POINTS = 4000
FLOWS_SHOWN = 10


@dataclass
class Chart:
    """One chart: a title, the unit of its y axis, and lines over a common time axis."""

    title: str
    unit: str
    time: npt.NDArray[np.float64]
    lines: list[tuple[str, npt.NDArray[np.float64]]] = field(default_factory=list)

    def packed(self) -> dict[str, Any]:
        """Return the chart as JSON, with columns of little-endian 32-bit floats in base64."""
        rows = _kept_rows(len(self.time), [values for _, values in self.lines])
        columns = [self.time, *(values for _, values in self.lines)]
        data = [
            base64.b64encode(column[rows].astype("<f4").tobytes()).decode() for column in columns
        ]
        return {
            "title": self.title,
            "unit": self.unit,
            "labels": [label for label, _ in self.lines],
            "data": data,
        }


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


def comparison(cases: Sequence[Case], table: Table) -> str:
    """Report on the first run of each case: window, queue, loss and throughput over time."""
    names = varying(cases)
    labels = [", ".join(case.said.get(name, "-") for name in names) for case in cases]
    results = [case.runs[0] for case in cases]
    links = [result.bottleneck_series for result in results]
    flows = [_sums(result) for result in results]
    time, flow_time = _column(links[0], "time"), _column(flows[0], "time")
    windows = [_column(frame, "window") for frame in flows]
    queues = [_column(frame, "queue") for frame in links]
    losses = [100 * _column(frame, "loss_rate") for frame in links]
    throughputs = [_mbps(result, frame) for result, frame in zip(results, links, strict=True)]
    charts = [
        Chart(
            "Congestion window, mean over flows",
            "packets",
            flow_time,
            list(zip(labels, windows, strict=True)),
        ),
        Chart("Queue at the bottleneck", "packets", time, list(zip(labels, queues, strict=True))),
        Chart("Loss at the bottleneck", "%", time, list(zip(labels, losses, strict=True))),
        Chart(
            "Throughput at the bottleneck",
            "Mbit/s",
            time,
            list(zip(labels, throughputs, strict=True)),
        ),
    ]
    return _page("Comparison", results, [table], charts)


def single(result: Result, tables: Sequence[Table]) -> str:
    """Report on one run over time.

    The charts show window and goodput of the first flows, and queue, loss and throughput at the
    bottleneck.
    """
    series, link = result.flow_series, result.bottleneck_series
    if not series.height:
        return _page("Run", [result], tables, [])
    numbers = range(min(FLOWS_SHOWN, result.flows.height))
    flows = [series.filter(series["flow"] == number) for number in numbers]
    labels = [f"flow {number}: {result.flows['cc'][number]}" for number in numbers]
    time, flow_time = _column(link, "time"), _column(flows[0], "time")
    charts = [
        Chart(
            "Congestion window",
            "packets",
            flow_time,
            [(n, _column(f, "window")) for n, f in zip(labels, flows, strict=True)],
        ),
        Chart(
            "Goodput",
            "Mbit/s",
            flow_time,
            [(n, _column(f, "goodput") / 1e6) for n, f in zip(labels, flows, strict=True)],
        ),
        Chart("Queue at the bottleneck", "packets", time, [("queue", _column(link, "queue"))]),
        Chart("Loss at the bottleneck", "%", time, [("loss", 100 * _column(link, "loss_rate"))]),
        Chart(
            "Throughput at the bottleneck", "Mbit/s", time, [("throughput", _mbps(result, link))]
        ),
    ]
    return _page("Run", [result], tables, charts)


def _sums(result: Result) -> pl.DataFrame:
    return result.flow_series.group_by("time", maintain_order=True).mean()


def _mbps(result: Result, link: pl.DataFrame) -> npt.NDArray[np.float64]:
    return _column(link, "utilisation") * float(result.links["rate"][result.bottleneck]) / 1e6


def _column(frame: pl.DataFrame, name: str) -> npt.NDArray[np.float64]:
    column: npt.NDArray[np.float64] = frame[name].to_numpy().astype(np.float64)
    return column


def _page(
    title: str, results: Sequence[Result], tables: Sequence[Table], charts: Sequence[Chart]
) -> str:
    result = results[0]
    warnings = dict.fromkeys(warning for result in results for warning in result.warnings)
    here = resources.files("narrows.report")

    def read(name: str) -> str:
        return (here / name).read_text(encoding="utf-8")

    def inline(text: str) -> str:
        return text.replace("</", "<\\/")

    buffers = ", ".join(f"{name}: {buffer}" for name, buffer in result.scenario.buffers.items())
    places = {
        "@title@": html.escape(title),
        "@buffers@": html.escape(buffers),
        "@warnings@": "".join(
            f'<p class="warning">Warning: {html.escape(warning)}</p>' for warning in warnings
        ),
        "@tables@": "".join(map(as_html, tables)),
        "@scenario@": html.escape(result.scenario.to_toml()),
        "/*@uplot.css@*/": read("uplot/uPlot.min.css"),
        "/*@uplot.js@*/": inline(read("uplot/uPlot.iife.min.js")),
        "/*@charts.js@*/": inline(read("charts.js")),
        "/*@charts@*/": inline(json.dumps([chart.packed() for chart in charts])),
    }
    page = read("page.html")
    for place, contents in places.items():
        page = page.replace(place, contents)
    return page

"""Figures as matplotlib axes. Each function draws into the axes it is given, or into new ones, and returns them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from narrows.results import Result

FLOWS_SHOWN = 5


def window(result: Result, ax: Axes | None = None, flows: Sequence[int] | None = None) -> Axes:
    """Draw congestion windows over time.

    Parameters
    ----------
    result
        A run with samples.
    ax
        Where to draw.
    flows
        Which flows: the first five unless given.

    Returns
    -------
    matplotlib.axes.Axes
        Time in seconds, windows in packets.
    """
    return _flow_lines(result, "window", 1.0, "congestion window (packets)", ax, flows)


def rtt(result: Result, ax: Axes | None = None, flows: Sequence[int] | None = None) -> Axes:
    """Draw smoothed round-trip times over time, in milliseconds."""
    return _flow_lines(result, "rtt", 1e3, "smoothed RTT (ms)", ax, flows)


def goodput(result: Result, ax: Axes | None = None, flows: Sequence[int] | None = None) -> Axes:
    """Draw goodput over time, in Mbit/s."""
    return _flow_lines(result, "goodput", 1e-6, "goodput (Mbit/s)", ax, flows)


def queue(result: Result, ax: Axes | None = None, link: int | None = None) -> Axes:
    """Draw a link's queue over time, in packets; the bottleneck's unless another is given."""
    return _link_line(result, "queue", 1.0, "queue (packets)", ax, link)


def loss(result: Result, ax: Axes | None = None, link: int | None = None) -> Axes:
    """Draw a link's loss rate over time, in percent."""
    return _link_line(result, "loss_rate", 100.0, "loss (%)", ax, link)


def utilisation(result: Result, ax: Axes | None = None, link: int | None = None) -> Axes:
    """Draw a link's utilisation over time."""
    return _link_line(result, "utilisation", 1.0, "utilisation", ax, link)


def single(result: Result) -> bytes:
    """Draw one run as PNG: windows, queue, loss, utilisation."""
    figure, axes = _figure(2, 2)
    window(result, axes[0][0])
    queue(result, axes[0][1])
    loss(result, axes[1][0])
    utilisation(result, axes[1][1])
    return _png(figure)


def comparison(results: Sequence[Result]) -> bytes:
    """Draw several runs as PNG: bars of utilisation, loss, queue and fairness, a colour a pacing, whiskers over seeds."""
    from narrows.statistics import mean_and_interval  # noqa: PLC0415

    figure, axes = _figure(2, 2)
    records = [result.record() for result in results]
    ccs = list(dict.fromkeys(record["cc"] for record in records))
    pacings = list(dict.fromkeys(record["pacing"] for record in records))
    panels = [
        ("utilisation", "utilisation", 1.0),
        ("loss_rate", "loss (%)", 100.0),
        ("mean_queue", "mean queue (packets)", 1.0),
        ("jain", "Jain index", 1.0),
    ]
    width = 0.8 / len(pacings)
    for (key, label, scale), ax in zip(panels, axes.flat, strict=True):
        for place, pacing in enumerate(pacings):
            values = [[r[key] * scale for r in records if r["cc"] == cc and r["pacing"] == pacing] for cc in ccs]
            means, halves = zip(*(mean_and_interval(value) for value in values), strict=True)
            x = np.arange(len(ccs)) + (place - (len(pacings) - 1) / 2) * width
            whiskers = np.nan_to_num(np.array(halves)) if len(values[0]) > 1 else None
            ax.bar(x, means, width, yerr=whiskers, label="not paced" if pacing == "none" else f"paced, {pacing}")
        ax.set_xticks(range(len(ccs)), ccs)
        ax.set_ylabel(label)
        if key in ("utilisation", "jain"):
            ax.set_ylim(0, 1)
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(pacings), frameon=False)
    return _png(figure)


def _flow_lines(result: Result, column: str, scale: float, label: str, ax: Axes | None, flows: Sequence[int] | None) -> Axes:
    ax = ax or _axes()
    shown = range(min(FLOWS_SHOWN, result.flows.height)) if flows is None else flows
    series = result.flow_series
    for flow in shown:
        rows = series.filter(series["flow"] == flow)
        ax.plot(rows["time"], rows[column] * scale, lw=0.8, label=f"flow {flow}: {result.flows['cc'][flow]}")
    return _finish(ax, label, legend=len(shown) > 1)


def _link_line(result: Result, column: str, scale: float, label: str, ax: Axes | None, link: int | None) -> Axes:
    ax = ax or _axes()
    name = result.summary["bottleneck"][0] if link is None else result.links["name"][link]
    number = result.links["name"].to_list().index(name)
    series = result.link_series
    rows = series.filter(series["link"] == number)
    ax.plot(rows["time"], rows[column] * scale, lw=0.6, color="C0")
    ax.set_title(name, fontsize="small")
    return _finish(ax, label, legend=False)


def _finish(ax: Axes, label: str, legend: bool) -> Axes:
    ax.set_xlabel("time (s)")
    ax.set_ylabel(label)
    ax.set_ylim(bottom=0)
    if legend:
        ax.legend(fontsize="x-small", loc="upper right")
    return ax


def _axes() -> Axes:
    from matplotlib import pyplot as plt  # noqa: PLC0415 (half a second that a run need not wait)

    return plt.subplots(figsize=(5, 3), layout="constrained")[1]


def _figure(rows: int, columns: int) -> tuple[Any, Any]:
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(4.2 * columns, 2.8 * rows), layout="constrained")
    return figure, figure.subplots(rows, columns)


def _png(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150)
    return buffer.getvalue()

"""Figures as matplotlib axes.

Each function draws into the axes that it is given, or into new ones, and returns them.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from narrows import shown
from narrows.errors import Error
from narrows.metrics import metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from narrows.comparison import Case
    from narrows.results import Result
    from narrows.sweeps import Sweep

PACINGS = {"none": "not paced", "own": "paced by law or transport"}
PANEL = (4.2, 2.8)
# More labels than these stand upright.
FEW = 6


def window(result: Result, ax: Axes | None = None, flows: Sequence[int] | None = None) -> Axes:
    """Draw congestion windows over time.

    Parameters
    ----------
    result
        A run with samples.
    ax
        The axes to draw into; new ones if None.
    flows
        The numbers of the flows to draw; the first five if None.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with time in seconds and windows in packets.
    """
    return _flow_lines(result, "window", ax, flows)


def rtt(result: Result, ax: Axes | None = None, flows: Sequence[int] | None = None) -> Axes:
    """Draw smoothed round-trip times over time, in milliseconds."""
    return _flow_lines(result, "rtt", ax, flows)


def goodput(result: Result, ax: Axes | None = None, flows: Sequence[int] | None = None) -> Axes:
    """Draw goodput over time, in Mbit/s."""
    return _flow_lines(result, "goodput", ax, flows)


def queue(result: Result, ax: Axes | None = None, link: int | str | None = None) -> Axes:
    """Draw the queue of a link over time, in packets.

    The link is given by number or name, and is the bottleneck by default.
    """
    return _link_line(result, "queue", ax, link)


def loss(result: Result, ax: Axes | None = None, link: int | str | None = None) -> Axes:
    """Draw the loss rate of a link over time, in percent.

    The link is given by number or name, and is the bottleneck by default.
    """
    return _link_line(result, "loss_rate", ax, link)


def utilisation(result: Result, ax: Axes | None = None, link: int | str | None = None) -> Axes:
    """Draw the utilisation of a link over time.

    The link is given by number or name, and is the bottleneck by default.
    """
    return _link_line(result, "utilisation", ax, link)


def law(
    result: Result, name: str, ax: Axes | None = None, flows: Sequence[int] | None = None
) -> Axes:
    """Draw a quantity that laws show of themselves over time, like CUBIC's ``w_max``.

    Parameters
    ----------
    result
        A run with samples.
    name
        The quantity, by the law's own name for it; the law's page says its unit.
    ax
        The axes to draw into; new ones if None.
    flows
        The numbers of the flows to draw; the first five that show it if None.

    Raises
    ------
    Error
        If no flow shows it.
    """
    ax = ax or _axes()
    series = result.law_series.filter(result.law_series["name"] == name)
    if series.is_empty():
        known = ", ".join(result.law_series["name"].unique(maintain_order=True)) or "none"
        raise Error(f'no law shows "{name}"; known here: {known}')
    showing = series["flow"].unique(maintain_order=True).to_list()[: shown.FLOWS]
    for flow in showing if flows is None else flows:
        one = series.filter(series["flow"] == flow)
        ax.plot(one["time"], one["value"], lw=0.8, label=f"flow {flow}")
    ax.set_xlabel("time (s)")
    ax.set_ylabel(name)
    ax.legend(fontsize="x-small")
    return ax


def single(result: Result) -> Figure:
    """Draw one run: windows, queues, losses and marks, and utilisation of its bottlenecks.

    What is not measured is grey.
    """
    figure, axes = panels(2, 2)
    links = shown.bottlenecks(result)
    window(result, axes[0][0])
    _link_lines(result, "queue", axes[0][1], links)
    _losses(result, axes[1][0], links)
    _link_lines(result, "utilisation", axes[1][1], links)
    for ax in axes.flat:
        ax.axvspan(0, shown.warmup(result), color="0.93", lw=0, zorder=0)
    figure.suptitle(escaped(shown.told(result)), fontsize="small", wrap=True)
    return figure


def comparison(cases: Sequence[Case]) -> Figure:
    """Draw cases as bars of utilisation, loss rate, mean queue and Jain's index.

    Each pacing has a colour. If there are several seeds, whiskers show the 95 % confidence
    intervals of the means.
    """
    from narrows.comparison import common, varying  # noqa: PLC0415
    from narrows.statistics import mean_and_interval  # noqa: PLC0415

    names = [name for name in varying(cases) if name != "pacing"]
    labels = [escaped(case.label(names, "\n")) for case in cases]
    many = len(set(labels)) > FEW
    if many:
        labels = [label.replace("\n", ", ") for label in labels]
    figure, axes = panels(2, 2, width=max(PANEL[0], 0.3 * len(set(labels))))
    records = [
        {**run.record(), "label": label}
        for case, label in zip(cases, labels, strict=True)
        for run in case.runs
    ]
    shown_labels = list(dict.fromkeys(labels))
    pacings = list(dict.fromkeys(record["pacing"] for record in records))
    columns = [metric(name) for name in ("utilisation", "loss_rate", "mean_queue", "jain")]
    several = any(len(case.runs) > 1 for case in cases)
    width = 0.8 / len(pacings)
    for column, ax in zip(columns, axes.flat, strict=True):
        for place, pacing in enumerate(pacings):
            values = [
                [
                    record[column.name] * column.scale
                    for record in records
                    if record["label"] == label and record["pacing"] == pacing
                ]
                for label in shown_labels
            ]
            # A law that paces by itself has no bar with other pacings.
            nothing = (np.nan, np.nan)
            means, halves = zip(
                *(mean_and_interval(value) if value else nothing for value in values), strict=True
            )
            x = np.arange(len(shown_labels)) + (place - (len(pacings) - 1) / 2) * width
            whiskers = np.nan_to_num(np.array(halves)) if several else None
            ax.bar(
                x,
                means,
                width,
                yerr=whiskers,
                label=PACINGS.get(pacing, f"paced, {pacing}"),
            )
        turned = {"rotation": 90} if many else {}
        ax.set_xticks(range(len(shown_labels)), shown_labels, fontsize="x-small", **turned)
        ax.set_ylabel(column.axis)
        if column.name in ("utilisation", "jain"):
            ax.set_ylim(0, min(1.2, max(1.0, ax.get_ylim()[1] if several else 1.0)))
        else:
            ax.set_ylim(bottom=0)
    rest = f"; {len(cases[0].runs)} seeds, mean and 95 % interval" if several else ""
    figure.supxlabel(escaped(f"{common(cases)}{rest}"), fontsize="x-small", color="0.4", wrap=True)
    figure.legend(
        *axes.flat[0].get_legend_handles_labels(),
        loc="outside upper center",
        ncols=len(pacings),
        frameon=False,
    )
    return figure


def sweep(
    result: Sweep, x: str, y: str = "utilisation", by: Sequence[str] = (), ax: Axes | None = None
) -> Axes:
    """Draw a sweep's means over seeds, with whiskers for their 95 % confidence intervals.

    Parameters
    ----------
    result
        A finished sweep.
    x
        The axis of the sweep to draw along the x axis. Values are placed by their leading numbers
        if all have the same unit, and at equal distances otherwise.
    y
        A column of the summary.
    by
        Axes of the sweep; each combination of their values is a line.
    ax
        The axes to draw into; new ones if None.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with a legend if there are several lines.
    """
    for axis in (x, *by):
        if axis not in result.axes:
            raise Error(f'sweep: no axis "{axis}"; known: {", ".join(result.axes) or "none"}')
    ax = ax or _axes()
    column = metric(y)
    means = result.means(y)
    ticks = list(dict.fromkeys(means[x].to_list()))
    places, unit = _places(ticks)
    groups = means.partition_by(list(by), maintain_order=True) if by else [means]
    for group in groups:
        at = [places[value] for value in group[x]]
        middle = column.scale * group[y].to_numpy().astype(float)
        low, high = (
            column.scale * group[f"{y}_{end}"].cast(float).to_numpy() for end in ("low", "high")
        )
        whiskers = np.nan_to_num(np.array([middle - low, high - middle]))
        ax.errorbar(
            at,
            middle,
            whiskers,
            marker="o",
            ms=3,
            lw=1,
            capsize=2,
            label=escaped(", ".join(f"{name} {group[name][0]}" for name in by)),
        )
    if unit is None:
        ax.set_xticks(range(len(ticks)), [str(tick) for tick in ticks])
    elif min(places.values()) > 0 and max(places.values()) > 20 * min(places.values()):
        ax.set_xscale("log")
    ax.set_xlabel(f"{x} ({unit})" if unit else x)
    several = (means["seeds"] > 1).any()
    ax.set_ylabel(f"{column.axis}, mean and 95 % interval" if several else column.axis)
    if len(groups) > 1:
        ax.legend(fontsize="x-small")
    return ax


def sweep_png(result: Sweep, y: str) -> bytes:
    """Draw a sweep as a PNG.

    The x axis is the first axis of the sweep with several values, all of them numbers in one unit.
    If there is none, it is the first with several values. Each combination of the others is a line.
    """
    figure, axes = panels(1, 1)
    several = [
        name for name in result.axes if len({str(point[name]) for point in result.points}) > 1
    ] or result.axes[:1]
    if not several:
        return png(figure)
    numeric = [
        name for name in several if _places([point[name] for point in result.points])[1] is not None
    ]
    x = (numeric or several)[0]
    sweep(result, x, y, [name for name in several if name != x], axes[0][0])
    return png(figure)


def _places(values: Sequence[Any]) -> tuple[dict[Any, float], str | None]:
    """Return the positions of values on an axis, and their common unit.

    If they have no common unit, they are placed in order of appearance, and the unit is None.
    """
    matches = [
        re.fullmatch(r"([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)\s*([A-Za-z%/]*)", str(value))
        for value in values
    ]
    if all(matches) and len({match[2] for match in matches if match}) == 1:
        return {
            value: float(match[1]) for value, match in zip(values, matches, strict=True) if match
        }, next(m[2] for m in matches if m)
    return {value: float(number) for number, value in enumerate(dict.fromkeys(values))}, None


def _flow_lines(
    result: Result,
    column: str,
    ax: Axes | None,
    flows: Sequence[int] | None,
) -> Axes:
    ax = ax or _axes()
    known = range(result.flows.height)
    for flow in flows or ():
        if flow not in known:
            raise Error(f"flows: there is no flow {flow}; they are numbered from 0 to {known[-1]}")
    shown_as = metric(column, "flow_series")
    lines = shown.flow_lines(result, column, shown_as.scale, flows)
    _draw(ax, result, lines, shown_as.axis)
    ax.set_title(shown.of_how_many(result, lines), fontsize="small")
    return ax


def _losses(result: Result, ax: Axes, links: Sequence[int]) -> Axes:
    """Draw loss rates and, dashed, the shares of packets marked."""
    lost = shown.link_lines(result, "loss_rate", 100.0, links)
    marked = shown.link_lines(result, "mark_rate", 100.0, links)
    marked = [line for line in marked if line.values.any()]
    if not marked and not any(line.values.any() for line in lost):
        ax.text(0.5, 0.5, "nothing was lost or marked", ha="center", transform=ax.transAxes)
    label = "lost (%), marked dashed" if marked else metric("loss_rate", "link_series").axis
    _draw(ax, result, lost, label)
    for line in marked:
        ax.plot(line.time, line.values, lw=0.6, ls="--", color=f"C{line.colour}")
    return ax


def _link_lines(result: Result, column: str, ax: Axes | None, links: Sequence[int]) -> Axes:
    ax = ax or _axes()
    shown_as = metric(column, "link_series")
    lines = shown.link_lines(result, column, shown_as.scale, links)
    return _draw(ax, result, lines, shown_as.axis)


def _link_line(result: Result, column: str, ax: Axes | None, link: int | str | None) -> Axes:
    return _link_lines(result, column, ax, [result.link_number(link)])


def _draw(ax: Axes, result: Result, lines: Sequence[shown.Line], label: str) -> Axes:
    for line in lines:
        ax.plot(line.time, line.values, lw=0.7, color=f"C{line.colour}", label=escaped(line.label))
    ax.set_xlabel("time (s)")
    ax.set_ylabel(label)
    ax.set_ylim(bottom=0)
    top = shown.top(lines, shown.warmup(result))
    if top is not None:
        ax.set_ylim(0, top)
    if len(lines) > 1:
        # Above the axes, so that it hides no line.
        ax.legend(
            fontsize="x-small",
            loc="lower center",
            bbox_to_anchor=(0.5, 1.08),
            ncols=3,
            frameon=False,
        )
    return ax


def escaped(text: str) -> str:
    """Return a text as matplotlib shows it, with dollar signs that begin no formula."""
    return text.replace("$", r"\$")


def _axes() -> Axes:
    from matplotlib import pyplot as plt  # noqa: PLC0415 (half a second, which runs need not spend)

    return plt.subplots(figsize=(5, 3), layout="constrained")[1]


def panels(
    rows: int = 1, columns: int = 1, width: float = PANEL[0], height: float = PANEL[1]
) -> tuple[Figure, Any]:
    """Make a figure of `rows` × `columns` panels, each `width` × `height` inches.

    Return the figure and a two-dimensional array of its axes.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def png(figure: Any) -> bytes:
    """Return a figure as the bytes of a PNG file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150)
    return buffer.getvalue()

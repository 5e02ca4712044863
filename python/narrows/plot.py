"""Figures as matplotlib axes.

Each function draws into the axes that it is given, or into new ones, and returns them.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from narrows import shown
from narrows.errors import Error
from narrows.metrics import Metric, metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from narrows.arena import Arena
    from narrows.comparison import Case
    from narrows.results import Result
    from narrows.sweeps import Sweep
    from narrows.theory.fluid import Fluid

PACINGS = {"none": "not paced", "own": "paced by law or transport"}
PANEL = (4.2, 2.8)
# Cells of matrices with more controllers hold no numbers.
MOST_WRITTEN = 10
# More labels than these stand upright.
FEW = 6


def window(
    result: Result | Sequence[Result], ax: Axes | None = None, flows: Sequence[int] | None = None
) -> Axes:
    """Draw congestion windows over time.

    Parameters
    ----------
    result
        A run with samples, or several, which are drawn over each other: a line for each kind of
        flows of each run.
    ax
        The axes to draw into; new ones if None.
    flows
        The numbers of the flows to draw. If None, all if they are five or fewer, and otherwise the
        mean of each kind of flows, with a band from the 10th to the 90th percentile.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with time in seconds and windows in packets.
    """
    return _flow_lines(result, "window", ax, flows)


def rtt(
    result: Result | Sequence[Result], ax: Axes | None = None, flows: Sequence[int] | None = None
) -> Axes:
    """Draw smoothed round-trip times over time, in milliseconds.

    Parameters
    ----------
    result
        A run with samples, or several of them.
    ax
        The axes to draw into; new ones if None.
    flows
        The numbers of the flows to draw; the first five if None.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.
    """
    return _flow_lines(result, "rtt", ax, flows)


def goodput(
    result: Result | Sequence[Result], ax: Axes | None = None, flows: Sequence[int] | None = None
) -> Axes:
    """Draw goodput over time, in Mbit/s, as means over two round trips.

    Parameters
    ----------
    result
        A run with samples, or several of them.
    ax
        The axes to draw into; new ones if None.
    flows
        The numbers of the flows to draw; the first five if None.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.
    """
    return _flow_lines(result, "goodput", ax, flows)


def queue(result: Result, ax: Axes | None = None, link: int | str | None = None) -> Axes:
    """Draw the queue of a link over time, in packets.

    The link is given by number or name, and is the bottleneck by default.

    Parameters
    ----------
    result
        A run with samples.
    ax
        The axes to draw into; new ones if None.
    link
        The number or name of a link; None for the bottleneck.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    Error
        If there is no such link.
    """
    return _link_line(result, "queue", ax, link)


def loss(result: Result, ax: Axes | None = None, link: int | str | None = None) -> Axes:
    """Draw the loss rate of a link over time, in percent.

    The link is given by number or name, and is the bottleneck by default.

    Parameters
    ----------
    result
        A run with samples.
    ax
        The axes to draw into; new ones if None.
    link
        The number or name of a link; None for the bottleneck.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    Error
        If there is no such link.
    """
    return _link_line(result, "loss_rate", ax, link)


def utilisation(result: Result, ax: Axes | None = None, link: int | str | None = None) -> Axes:
    """Draw the utilisation of a link over time.

    The link is given by number or name, and is the bottleneck by default.

    Parameters
    ----------
    result
        A run with samples.
    ax
        The axes to draw into; new ones if None.
    link
        The number or name of a link; None for the bottleneck.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    Error
        If there is no such link.
    """
    return _link_line(result, "utilisation", ax, link)


def capacity(result: Result, ax: Axes | None = None, link: int | str | None = None) -> Axes:
    """Draw what leaves a link over time, in Mbit/s, before what could have left it, in grey.

    Parameters
    ----------
    result
        A run with samples.
    ax
        The axes to draw into; new ones if None.
    link
        The link's name or number; the bottleneck if None.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.
    """
    return _capacities(result, ax or _axes(), [result.link_number(link)])


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

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

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
    """Draw one run: windows, RTTs and goodput of its flows; queues, losses and use of bottlenecks.

    What is not measured is grey. If flows made requests, two panels more show how long these took:
    each by the time of the request, and the share of them that took at most so long. A line of
    several flows is their mean, its band from the 10th to the 90th percentile.

    Parameters
    ----------
    result
        A run; without samples most panels are empty.

    Returns
    -------
    matplotlib.figure.Figure
        The figure, not shown and not written.
    """
    asked = shown.transfer_lines(result)
    figure, axes = panels(4 if asked else 3, 2)
    links = shown.bottlenecks(result)
    window(result, axes[0][0])
    rtt(result, axes[0][1])
    goodput(result, axes[1][0])
    _link_lines(result, "queue", axes[1][1], links)
    _losses(result, axes[2][0], links)
    if shown.varies(result, links):
        _capacities(result, axes[2][1], links)
    else:
        _link_lines(result, "utilisation", axes[2][1], links)
    # The legend of the flows is that of the panel beside it, too, unless that has fewer: datagrams
    # have no window.
    said = axes[0][0].get_legend_handles_labels()[1]
    for ax in (axes[0][1], axes[1][0]):
        if ax.get_legend() and ax.get_legend_handles_labels()[1] == said:
            ax.get_legend().remove()
    over_time = [*axes[:3].flat]
    if asked:
        _requests(axes[3][0], axes[3][1], asked, shown.warmup(result))
        over_time.append(axes[3][0])
    for ax in over_time:
        ax.axvspan(0, shown.warmup(result), color="0.93", lw=0, zorder=0)
    figure.suptitle(escaped(shown.told(result)), fontsize="small", wrap=True)
    return figure


def _requests(over_time: Axes, shares: Axes, lines: Sequence[shown.Line], warmup: float) -> None:
    """Draw how long requests took: over their times, and as shares of those after the warm-up."""
    from matplotlib.ticker import LogLocator, NullFormatter  # noqa: PLC0415

    for line in lines:
        colour, label = f"C{line.colour}", escaped(line.label)
        over_time.plot(line.time, line.values, ".", ms=3, color=colour, label=label)
        took = np.sort(line.values[line.time >= warmup])
        shares.step(took, np.arange(1, len(took) + 1) / len(took), where="post", color=colour)
    over_time.set_xlabel("time of the request (s)")
    over_time.set_ylabel("completion time (s)")
    over_time.set_ylim(bottom=0)
    if len(lines) > 1 or lines[0].colour:
        over_time.legend(fontsize="x-small", frameon=False)
    shares.set_xscale("log")
    low, high = shares.get_xlim()
    # Of a few decades 2 and 5 are named, too; of more the names would overlap.
    shares.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 100 * low else (1,)))
    shares.xaxis.set_major_formatter("{x:g}")
    shares.xaxis.set_minor_formatter(NullFormatter())
    shares.set_xlabel("completion time (s)")
    shares.set_ylabel("share of requests")
    shares.set_ylim(0, 1)


def comparison(cases: Sequence[Case]) -> Figure:
    """Draw cases as bars of utilisation, loss rate, mean queue and Jain's index.

    Each pacing has a colour. If there are several seeds, whiskers show the 95 % confidence
    intervals of the means.

    Parameters
    ----------
    cases
        The cases of a `Comparison`.

    Returns
    -------
    matplotlib.figure.Figure
        The figure, not shown and not written.
    """
    from narrows.comparison import common, varying  # noqa: PLC0415

    names = [name for name in varying(cases) if name != "pacing"]
    labels = [escaped(case.label(names, "\n")) for case in cases]
    many = len(set(labels)) > FEW
    if many:
        labels = [label.replace("\n", ", ") for label in labels]
    mixed = any(len(shown.kinds(case.runs[0])) > 1 for case in cases)
    figure, axes = panels(3 if mixed else 2, 2, width=max(PANEL[0], 0.3 * len(set(labels))))
    records = [
        {**run.record(), "label": label}
        for case, label in zip(cases, labels, strict=True)
        for run in case.runs
    ]
    shown_labels = list(dict.fromkeys(labels))
    pacings = list(dict.fromkeys(record["pacing"] for record in records))
    columns = [metric(name) for name in ("utilisation", "loss_rate", "mean_queue", "jain")]
    several = any(len(case.runs) > 1 for case in cases)
    bars = _places_of_bars(shown_labels, pacings, records)
    for column, ax in zip(columns, axes.flat, strict=False):
        _draw_bars(ax, column, records, bars, pacings)
        turned = {"rotation": 90} if many else {}
        ax.set_xticks(range(len(shown_labels)), shown_labels, fontsize="x-small", **turned)
        ax.set_ylabel(column.axis)
        if column.name in ("utilisation", "jain"):
            ax.set_ylim(0, min(1.2, max(1.0, ax.get_ylim()[1] if several else 1.0)))
        else:
            ax.set_ylim(bottom=0)
    if mixed:
        _bars_of_kinds(axes[2][0], cases, labels, shown_labels, len(pacings))
        axes[2][0].tick_params(axis="x", labelsize="x-small", labelrotation=90 if many else 0)
        axes[2][1].axis("off")
    rest = f"; {len(cases[0].runs)} seeds, mean and 95 % interval" if several else ""
    figure.supxlabel(escaped(f"{common(cases)}{rest}"), fontsize="x-small", color="0.4", wrap=True)
    figure.legend(
        *axes.flat[0].get_legend_handles_labels(),
        loc="outside upper center",
        ncols=len(pacings),
        frameon=False,
    )
    return figure


def _paced(pacing: str) -> str:
    """Return what a legend calls a pacing; that of a mixture is several between pluses."""
    several = [PACINGS.get(part, f"paced, {part}") for part in pacing.split("+")]
    return " + ".join(several)


def _places_of_bars(
    labels: Sequence[str], pacings: Sequence[str], records: Sequence[dict[str, Any]]
) -> dict[tuple[str, str], float]:
    """Return where the bar of each label and pacing stands, in widths of a bar from the label.

    Only pacings that a label has take place there: a law that paces by itself has one bar.
    """
    places = {}
    for label in labels:
        own = [
            pacing
            for pacing in pacings
            if any(record["label"] == label and record["pacing"] == pacing for record in records)
        ]
        for number, pacing in enumerate(own):
            places[label, pacing] = number - (len(own) - 1) / 2
    return places


def _draw_bars(
    ax: Axes,
    column: Metric,
    records: Sequence[dict[str, Any]],
    bars: dict[tuple[str, str], float],
    pacings: Sequence[str],
) -> None:
    """Draw a metric of all runs: a bar at each of `bars`, with a whisker if there are seeds."""
    from narrows.statistics import mean_and_interval  # noqa: PLC0415

    labels = list(dict.fromkeys(label for label, _ in bars))
    width = 0.8 / max(sum(label == it for label, _ in bars) for it in labels)
    for pacing in pacings:
        there = [(label, at) for (label, paced), at in bars.items() if paced == pacing]
        values = [
            [
                record[column.name] * column.scale
                for record in records
                if record["label"] == label and record["pacing"] == pacing
            ]
            for label, _ in there
        ]
        means, halves = map(np.array, zip(*map(mean_and_interval, values), strict=True))
        whiskers = np.nan_to_num(np.array([halves, halves]))
        if column.name == "jain":
            whiskers[1] = np.minimum(whiskers[1], 1 - means)
        ax.bar(
            [labels.index(label) + at * width for label, at in there],
            means,
            width,
            yerr=whiskers if any(len(of_label) > 1 for of_label in values) else None,
            label=_paced(pacing),
        )


def _bars_of_kinds(
    ax: Axes,
    cases: Sequence[Case],
    labels: Sequence[str],
    shown_labels: Sequence[str],
    taken: int,
) -> None:
    """Draw the goodput of each law of a mixture, one above the other: means over seeds.

    The first `taken` colours mean something else.
    """
    colours: dict[str, int] = {}
    width = 0.8 / max(map(labels.count, shown_labels))
    seen = dict.fromkeys(shown_labels, 0)
    for case, label in zip(cases, labels, strict=True):
        at = shown_labels.index(label) + (seen[label] - (labels.count(label) - 1) / 2) * width
        seen[label] += 1
        base = 0.0
        for groups in zip(*(run.groups.to_dicts() for run in case.runs), strict=True):
            name = shown.label_of(groups[0])
            is_new = name not in colours
            height = 1e-6 * sum(group["goodput"] for group in groups) / len(groups)
            ax.bar(
                at,
                height,
                width,
                base,
                color=f"C{colours.setdefault(name, taken + len(colours))}",
                label=escaped(name) if is_new else None,
            )
            base += height
    ax.set_xticks(range(len(shown_labels)), shown_labels)
    ax.set_ylabel("goodput by law (Mbit/s)")
    ax.legend(fontsize="x-small", loc="upper left", bbox_to_anchor=(1.0, 1.0))


def sweep(
    result: Sweep, x: str, y: str = "utilisation", by: Sequence[str] = (), ax: Axes | None = None
) -> Axes:
    """Draw a sweep's means over seeds, with whiskers for their 95 % confidence intervals.

    Points of which runs should be read with a warning are hollow.

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

    Raises
    ------
    Error
        If there is no such axis or metric, or a line would have several values at one place.
    """
    for axis in (x, *by):
        if axis not in result.axes:
            raise Error(f'sweep: no axis "{axis}"; known: {", ".join(result.axes) or "none"}')
    _check_lines(result, x, by)
    ax = ax or _axes()
    column = metric(y)
    means = result.means(y)
    ticks = list(dict.fromkeys(means[x].to_list()))
    places, unit = _places(ticks)
    means = means.with_columns(warned=np.array([bool(numbers) for numbers in result.warned]))
    groups = means.partition_by(list(by), maintain_order=True) if by else [means]
    for group in groups:
        at = [places[value] for value in group[x]]
        middle = column.scale * group[y].to_numpy().astype(float)
        low, high = (
            column.scale * group[f"{y}_{end}"].cast(float).to_numpy() for end in ("low", "high")
        )
        whiskers = np.nan_to_num(np.array([middle - low, high - middle]))
        drawn = ax.errorbar(
            at,
            middle,
            whiskers,
            marker="o",
            ms=3,
            lw=1,
            capsize=2,
            label=escaped(", ".join(f"{name} {group[name][0]}" for name in by)),
        )
        hollow = group["warned"].to_numpy()
        edge = drawn.lines[0].get_color()
        ax.plot(np.array(at)[hollow], middle[hollow], "o", ms=3, mfc="white", mec=edge, zorder=3)
    if unit is None:
        ax.set_xticks(range(len(ticks)), [str(tick) for tick in ticks])
    elif min(places.values()) > 0 and max(places.values()) > 20 * min(places.values()):
        ax.set_xscale("log")
    ax.set_xlabel(f"{x} ({unit})" if unit else x)
    ax.set_ylabel(column.axis)
    said = ["mean and 95 % confidence interval over seeds"] if (means["seeds"] > 1).any() else []
    said += ["hollow: with a warning"] if means["warned"].any() else []
    ax.set_title("; ".join(said), fontsize="x-small")
    if len(groups) > 1:
        ax.legend(fontsize="x-small")
    return ax


def arena(found: Arena, metric: str = "share") -> Figure:
    """Draw who wins: a matrix for each buffer, a row's controller beside each column's.

    Parameters
    ----------
    found
        An arena.
    metric
        ``share``, of the row's flows, which begin first; or ``harm`` to them.

    Returns
    -------
    matplotlib.figure.Figure
        Matrices side by side, from 0 to 1.
    """
    from matplotlib import pyplot as plt  # noqa: PLC0415 (as in `panels`)

    names, buffers = _ordered(found), found.ring.buffers
    places = [found.names.index(name) for name in names]
    side = max(2.4, 0.24 * len(names) + 0.3)
    columns = min(len(buffers), 2 if len(names) > MOST_WRITTEN else 4)
    rows = -(-len(buffers) // columns)
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(side * columns + 2.2, (side + 0.5) * rows + 1.0),
        squeeze=False,
        layout="constrained",
        sharey=True,
    )
    fair = found.ring.flows[0] / sum(found.ring.flows) if metric == "share" else 0.0
    colours = "RdBu" if metric == "share" else "Oranges"
    for place, ax in enumerate(axes.flat):
        if place >= len(buffers):
            ax.set_visible(False)
            continue
        values = np.array(found.matrix(metric, buffers[place]))[np.ix_(places, places)]
        shades = _shades(values, fair) if metric == "share" else np.clip(values, 0, 1)
        image = ax.imshow(shades, cmap=colours, vmin=0, vmax=1)
        ax.set_title(f"buffer {buffers[place]}")
        ax.set_xticks(range(len(names)), [escaped(name) for name in names], rotation=90)
        ax.set_yticks(range(len(names)), [escaped(name) for name in names])
        if len(names) <= MOST_WRITTEN:
            _write_cells(ax, values, shades, metric == "share")
    bar = figure.colorbar(image, ax=axes, shrink=0.6, ticks=[0, 0.5, 1])
    if metric == "share":
        bar.ax.set_yticklabels(["nothing", "its part", "all"])
    ring = found.ring
    what = "share of the row, which begins first" if metric == "share" else "harm to the row"
    break_ = "\n" if columns == 1 else ": "
    figure.suptitle(
        f"{what}{break_}{ring.flows[0]} beside {ring.flows[1]}, {ring.rate}, {ring.rtt}",
        fontsize=9 if columns == 1 else 11,
    )
    return figure


def _ordered(found: Arena) -> list[str]:
    """Return controllers by their mean share over all buffers, the largest first."""
    wins = [found.wins(buffer) for buffer in found.ring.buffers]
    return sorted(found.names, key=lambda name: -sum(of[name] for of in wins))


def _shades(shares: np.ndarray[Any, Any], fair: float) -> np.ndarray[Any, Any]:
    """Return shares with the fair one at a half."""
    below = 0.5 * shares / fair
    above = 0.5 + 0.5 * (shares - fair) / (1 - fair)
    return np.where(shares <= fair, below, above)


def _write_cells(
    ax: Axes, values: np.ndarray[Any, Any], shades: np.ndarray[Any, Any], is_share: bool
) -> None:
    """Write each value into its cell, in white where that is dark."""
    for (row, column), value in np.ndenumerate(values):
        dark = abs(shades[row, column] - 0.5) > 0.3
        colour = "white" if dark and (is_share or shades[row, column] > 0.5) else "black"
        ax.text(column, row, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=7)


def overlay(result: Result, solved: Fluid) -> Figure:
    """Draw a run's mean windows and its queue, and a fluid model's over them.

    Parameters
    ----------
    result
        A run that was sampled, whose groups are the model's, in the same order.
    solved
        What `narrows.theory.fluid.integrate` returns.

    Returns
    -------
    matplotlib.figure.Figure
        Windows above, the queue of the first link below.
    """
    figure, axes = panels(2, 1, width=8.0, height=2.6)
    (above,), (below,) = axes
    for number, series in enumerate(shown.by_group(result, result.flow_series)):
        mean = series.select("time", "window").group_by("time").mean().sort("time")
        colour, cc = f"C{number}", escaped(str(result.groups["cc"][number]))
        above.plot(mean["time"], mean["window"], lw=0.9, color=colour, label=f"{cc}, packets")
        above.plot(solved.time, solved.windows[:, number], "--", color=colour, label=f"{cc}, fluid")
    link = result.link_series.filter(link=0)
    below.plot(link["time"], link["queue"], lw=0.9, color="C0", label="packets")
    below.plot(solved.time, solved.queue, "--", color="C0", label="fluid")
    above.set(ylabel="window (packets)", ylim=(0, None))
    below.set(xlabel="time (s)", ylabel="queue (packets)", ylim=(0, None))
    for ax in (above, below):
        ax.legend(fontsize="x-small", loc="upper right")
    return figure


def _check_lines(result: Sweep, x: str, by: Sequence[str]) -> None:
    """Fail if a line would join points that differ in more than the x axis."""
    places = [tuple(str(point[axis]) for axis in (x, *by)) for point in result.points]
    if len(set(places)) == len(places):
        return
    others = [
        axis
        for axis in result.axes
        if axis not in (x, *by) and len({str(point[axis]) for point in result.points}) > 1
    ]
    named = ", ".join(f'"{axis}"' for axis in others)
    raise Error(
        f"sweep: {named} varies, too, and one line would join different networks; name it in "
        f"by=[{', '.join(f'{chr(34)}{axis}{chr(34)}' for axis in (*by, *others))}]"
    )


def sweep_png(result: Sweep, y: str) -> bytes:
    """Draw a sweep as a PNG.

    The x axis is the first axis of the sweep with several values, all of them numbers in one unit.
    If there is none, it is the first with several values. Each combination of the others is a line.

    Parameters
    ----------
    result
        A finished sweep.
    y
        A column of the summary.

    Returns
    -------
    bytes
        A PNG file.
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


def _overlaid(results: Sequence[Result], column: str, scale: float) -> list[shown.Line]:
    """Return the lines of several runs, a colour each, named by what differs between them."""
    several = len({result.seed for result in results}) > 1
    lines: list[shown.Line] = []
    for run in results:
        for line in shown.kind_lines(run, column, scale):
            about = f", seed {run.seed}" if several else ""
            lines.append(replace(line, label=f"{line.label}{about}", colour=len(lines)))
    labels = [line.label for line in lines]
    return [
        replace(line, label=f"run {number + 1}: {line.label}")
        if labels.count(line.label) > 1
        else line
        for number, line in enumerate(lines)
    ]


def _flow_lines(
    result: Result | Sequence[Result],
    column: str,
    ax: Axes | None,
    flows: Sequence[int] | None,
) -> Axes:
    ax = ax or _axes()
    if isinstance(result, Sequence):
        if not result or flows is not None:
            raise Error("flows: of several runs each kind of flows is drawn; leave it out")
        shown_as = metric(column, "flow_series")
        lines = _overlaid(result, column, shown_as.scale)
        return _draw(ax, result[0], lines, shown_as.axis)
    known = range(result.flows.height)
    for flow in flows or ():
        if flow not in known:
            raise Error(f"flows: there is no flow {flow}; they are numbered from 0 to {known[-1]}")
    shown_as = metric(column, "flow_series")
    lines = shown.flow_lines(result, column, shown_as.scale, flows)
    # A pool's flows, and datagrams, may be no lines here.
    return _draw(ax, result, lines, shown_as.axis, named=result.groups.height > 1)


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
        ax.plot(line.time, line.values, lw=0.9, ls="--", color=f"C{line.colour}")
    top = shown.top([*lost, *marked], shown.warmup(result))
    if marked and top is None:
        top = 1.05 * max(float(np.nanmax(line.values)) for line in [*lost, *marked])
    if marked:
        ax.set_ylim(0, top)
    return ax


def _link_lines(result: Result, column: str, ax: Axes | None, links: Sequence[int]) -> Axes:
    ax = ax or _axes()
    shown_as = metric(column, "link_series")
    lines = shown.link_lines(result, column, shown_as.scale, links)
    return _draw(ax, result, lines, shown_as.axis)


def _capacities(result: Result, ax: Axes, links: Sequence[int]) -> Axes:
    """Draw what leaves links, and what could."""
    there = shown.link_lines(result, "capacity", 1e-6, links)
    used = shown.link_lines(result, "utilisation", 1.0, links)
    lines = [
        replace(line, values=line.values * could.values)
        for line, could in zip(used, there, strict=True)
    ]
    _draw(ax, result, lines, "throughput, capacity grey (Mbit/s)")
    for could in there:
        ax.fill_between(could.time, 0, could.values, step="pre", color="0.85", lw=0, zorder=0.5)
    ax.set_ylim(0, 1.05 * max(float(could.values.max(initial=0.0)) for could in there))
    return ax


def _link_line(result: Result, column: str, ax: Axes | None, link: int | str | None) -> Axes:
    if not hasattr(result, "link_number"):
        raise Error(
            f"not one run but {type(result).__name__}; draw windows, rtt or goodput of several"
        )
    return _link_lines(result, column, ax, [result.link_number(link)])


def _draw(
    ax: Axes, result: Result, lines: Sequence[shown.Line], label: str, named: bool = False
) -> Axes:
    for line in lines:
        ax.plot(line.time, line.values, lw=0.7, color=f"C{line.colour}", label=escaped(line.label))
        if line.low is not None and line.high is not None:
            ax.fill_between(
                line.time, line.low, line.high, color=f"C{line.colour}", alpha=0.2, lw=0
            )
    ax.set_xlabel("time (s)")
    ax.set_ylabel(label)
    ax.set_ylim(bottom=0)
    top = shown.top(lines, shown.warmup(result))
    if top is not None:
        ax.set_ylim(0, top)
    if len(lines) > 1 or (lines and named):
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
    """Return a text as matplotlib shows it, with dollar signs that begin no formula.

    Parameters
    ----------
    text
        Any text.

    Returns
    -------
    str
        For labels and titles.
    """
    return text.replace("$", r"\$")


def _axes() -> Axes:
    from matplotlib import pyplot as plt  # noqa: PLC0415 (half a second, which runs need not spend)

    return plt.subplots(figsize=(5, 3), layout="constrained")[1]


def panels(
    rows: int = 1, columns: int = 1, width: float = PANEL[0], height: float = PANEL[1]
) -> tuple[Figure, Any]:
    """Make a figure of `rows` × `columns` panels, each `width` × `height` inches.

    Return the figure and a two-dimensional array of its axes.

    Parameters
    ----------
    rows, columns
        How many.
    width, height
        Of a panel, in inches.

    Returns
    -------
    figure, axes
        The figure, and its axes in an array of shape (rows, columns).
    """
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def png(figure: Any) -> bytes:
    """Return a figure as the bytes of a PNG file.

    Parameters
    ----------
    figure
        A matplotlib figure.

    Returns
    -------
    bytes
        The file.
    """
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150)
    return buffer.getvalue()

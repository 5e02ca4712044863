"""The figure of a search for a buffer: what runs show over its size, and what theory says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from narrows.metrics import SHOWN, WORDS
from narrows.plot import escaped
from narrows.statistics import mean_and_interval
from narrows.theory import droptail
from narrows.theory.buffers import FEW, utilisation
from narrows.theory.bursts import batch_loss, paced_excess

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from narrows.advisor import Advisor
    from narrows.buffer import Answer
    from narrows.theory.buffers import Link

# Rows of the figure, each of one kind of number; what else is asked for has rows of its own.
ROWS = (("utilisation",), ("loss_rate",), ("delay_p50", "delay_p99"), ("jain",))
# Percent, below which losses are not drawn.
LEAST_LOSS = 1e-5
# The doubt of a line that is no rule but what a chip's port may hold.
SOLD = "what a port may hold"
LINE: dict[str, Any] = {"lw": 0.9, "ls": "--"}


def draw(
    advisor: Advisor,
    answers: Sequence[Answer],
    link: Link,
    told: Sequence[tuple[str, str, float, str]],
    safe: tuple[float, float] | None,
) -> Figure:
    """Draw utilisation, loss, delay and fairness over the buffer, with bounds and rules.

    Parameters
    ----------
    advisor
        What has been run.
    answers
        What was found of each target.
    link
        What rules were asked of.
    told
        What `narrows.theory.buffers.rules` yields.
    safe
        The least and the greatest buffer that meet all targets; None if none does.

    Returns
    -------
    matplotlib.figure.Figure
        Rows over a logarithmic axis of packets, with milliseconds and BDPs above: each seed a dot,
        means with their 95 % intervals, theory dashed, targets as lines with the answers'
        intervals; below a strip with the rules, of which those that do not hold are grey.
    """
    from matplotlib import pyplot as plt  # noqa: PLC0415 (as in `plot.panels`)

    known = {name for row in ROWS for name in row}
    own = tuple((name,) for name in advisor.names if name not in known)
    rows = ROWS + own
    figure, axes = plt.subplots(
        len(rows) + 1,
        1,
        figsize=(8.0, 1.8 * len(rows) + 2.6),
        sharex=True,
        squeeze=False,
        layout="constrained",
        height_ratios=[1.8] * len(rows) + [2.2],
    )
    *places, last = axes[:, 0]
    last.set_xscale("log")
    for ax, names in zip(places, rows, strict=True):
        for number, name in enumerate(names):
            _seen(ax, advisor, name, f"C{number}")
        for target in (it for it in advisor.targets if it.name in names):
            _, scale, _ = SHOWN[advisor.kinds[target.name]]
            ax.axhline(advisor.bound(target) * scale, color="0.4", lw=0.8, ls=":")
        for answer in (it for it in answers if it.target.name in names):
            if math.isfinite(answer.packets) and answer.packets > 0:
                ax.axvspan(answer.low, answer.high, alpha=0.25, color="C2")
    _strip(last, told)
    low, high = last.get_xlim()
    sizes = np.unique(np.geomspace(low, high, 120).round())
    _theory(places, link, sizes[sizes >= 1])
    if safe:
        _feasible(places, *safe)
    _axes_above(places[0], link)
    for setter in (last.xaxis.set_major_formatter, last.xaxis.set_minor_formatter):
        setter(_few)
    last.set_xlabel("buffer in packets")
    return figure


def _seen(ax: Axes, advisor: Advisor, name: str, colour: str) -> None:
    """Draw a number: each seed, and means with intervals."""
    unit, scale, _ = SHOWN[advisor.kinds[name]]
    sizes, means, halves = [], [], []
    for size in advisor.asked():
        values = np.array(advisor.each(name, size, advisor.seeds_of(size))) * scale
        if np.isnan(values).any():
            continue
        mean, half = mean_and_interval(list(values), 0.95)
        ax.plot([size] * len(values), values, ".", color=colour, markersize=2.5, alpha=0.5)
        sizes.append(size)
        means.append(mean)
        halves.append(0.0 if math.isnan(half) else half)
    word = escaped(WORDS.get(name, name))
    ax.errorbar(sizes, means, halves, color=colour, lw=1.1, elinewidth=0.9, label=word)
    ax.set_ylabel(f"{word} ({unit})" if unit and len(ax.containers) == 1 else unit or word)


def _theory(places: Sequence[Axes], link: Link, sizes: np.ndarray) -> None:
    """Draw what theory says of utilisation, loss and delay over the buffer."""
    used, lost, late, *_ = places
    bounds = [(ax, ax.get_ylim()) for ax in (used, late)]
    if link.flows == 1:
        least = np.minimum(link.beta * (1 + sizes / link.bdp), 1.0)
        used.plot(sizes, least, color="black", label="after a loss, β(1 + B/BDP)", **LINE)
        mean = droptail.utilisation(sizes / link.bdp, link.beta)
        used.plot(sizes, mean, color="C4", label="mean of a sawtooth", **LINE)
    elif link.flows >= FEW:
        least = utilisation(sizes, link.bdp, link.flows, link.beta)
        used.plot(sizes, least, color="black", label="normal windows", **LINE)
    at = f"at ρ = {link.target:g}"
    poisson = [float(batch_loss(link.target, int(size))) for size in sizes]
    lost.plot(sizes, np.array(poisson) * 100, color="black", label=f"M/D/1/B {at}", **LINE)
    if link.burst > 1:
        bursts = [float(batch_loss(link.target, int(size), link.burst)) for size in sizes]
        lost.plot(
            sizes, np.array(bursts) * 100, color="C3", label=f"bursts of {link.burst}", **LINE
        )
    paced = [int(size) for size in sizes if size < link.flows]
    excess = [paced_excess(link.flows, link.target, size) for size in paced]
    if len(paced) > 1:
        lost.plot(paced, np.array(excess) * 100, color="C4", label="nD/D/1", **LINE)
    late.plot(sizes, sizes / link.rate * 1e3, color="black", label="a full buffer", **LINE)
    lost.set_yscale("log")
    lost.set_ylim(LEAST_LOSS, 100)
    for ax, limits in bounds:
        ax.set_ylim(limits)
    for ax in (used, lost, late):
        ax.legend(fontsize=7, loc="best")


def _feasible(places: Sequence[Axes], least: float, greatest: float) -> None:
    """Shade the buffers that meet all targets."""
    for ax in places:
        limits = ax.get_xlim()
        ax.axvspan(max(least, limits[0]), min(greatest, limits[1]), alpha=0.1, color="C2", lw=0)
        ax.set_xlim(limits)


def _axes_above(ax: Axes, link: Link) -> None:
    _axis_above(ax, 1.0, "milliseconds", link.rate / 1e3)
    _axis_above(ax, 1.36, "BDP", link.bdp)


def _axis_above(ax: Axes, height: float, word: str, unit: float) -> None:
    of_packets = (lambda x: np.asarray(x) / unit, lambda x: np.asarray(x) * unit)
    above = ax.secondary_xaxis(height, functions=of_packets)
    above.set_xlabel(word, fontsize=8)
    for setter in (above.xaxis.set_major_formatter, above.xaxis.set_minor_formatter):
        setter(_few)


def _few(value: float, _: float) -> str:
    """Name the ticks of a logarithmic axis that begin with 1, 2 or 5."""
    return f"{value:g}" if f"{value:e}"[0] in "125" else ""


def _strip(ax: Axes, told: Sequence[tuple[str, str, float, str]]) -> None:
    """Draw what rules say as marks with names, one below the other."""
    lines = sorted((it for it in told if np.isfinite(it[2]) and it[2] >= 1), key=lambda it: it[2])
    middle = np.sqrt(lines[0][2] * lines[-1][2]) if lines else 1.0
    for row, (name, _, size, doubt) in enumerate(lines):
        colour = "C0" if doubt == SOLD else "0.6" if doubt else "black"
        # Names stand where there is room for them.
        offset, side = ((-6, 0), "right") if size > middle else ((6, 0), "left")
        ax.plot([size], [-row], "|", color=colour, markersize=9, markeredgewidth=2)
        ax.annotate(
            escaped(name),
            (size, -row),
            offset,
            textcoords="offset points",
            va="center",
            ha=side,
            fontsize=8,
            color=colour,
        )
    ax.set_ylim(-len(lines), 1)
    ax.set_yticks([])
    sold = any(doubt == SOLD for *_, doubt in lines)
    title = "rules; grey where they do not hold" + ("; blue: what a port may hold" if sold else "")
    ax.set_title(title, loc="left", fontsize=9)

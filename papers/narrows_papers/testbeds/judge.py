"""How predictions are judged and drawn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from narrows.plot import panels
from narrows_papers.claims import Claim, stated
from narrows_papers.testbeds.compare import POINTS

# What the project aims at, before any run: so many of the cells, and no law further off than this.
GOAL, BIAS = 0.95, 2.0
MEANT = f"within {POINTS:.0f} points of the link, or within the kernel's own trials"


def within(what: str, part: pl.DataFrame) -> Claim:
    """Return whether enough cells are predicted.

    Parameters
    ----------
    what
        Which cells, in words.
    part
        Rows of what `compare.worst` returns.

    Returns
    -------
    Claim
        With how many are, and the median error.
    """
    held, number = int(part["within"].sum()), part.height
    median = float(np.median(np.abs(part["error"].to_numpy())))
    found = f"{held} of {number} ({100 * held / number:.0f} %), median {median:.1f} points"
    return stated(
        f"{what}: cells {MEANT}", f"{100 * GOAL:.0f} % (ours)", found, held >= GOAL * number
    )


def bias(law: str, errors: Sequence[float]) -> Claim:
    """Return whether a law gets neither too much nor too little on average.

    Parameters
    ----------
    law
        Its name.
    errors
        Of its groups, predicted less measured, in hundredths of the link.

    Returns
    -------
    Claim
        With the mean.
    """
    mean = float(np.mean(errors))
    return stated(
        f"{law} gets neither too much nor too little: mean of predicted less measured",
        f"within {BIAS:.0f} points (ours)",
        f"{mean:+.1f} points, {len(errors)} groups",
        abs(mean) <= BIAS,
    )


def within_each(cells_of: pl.DataFrame, kind: str, words: str = "") -> list[Claim]:
    """Return whether enough cells are predicted, for each class of them.

    Parameters
    ----------
    cells_of
        What `compare.worst` returns.
    kind
        The column that tells classes; cells where it is empty belong to none.
    words
        What is said before a class's name.

    Returns
    -------
    list[Claim]
        By name.
    """
    parts = sorted(cells_of.filter(pl.col(kind) != "").group_by(kind))
    return [within(f"{words} {value}".strip(), part) for (value,), part in parts]


def biases(table: pl.DataFrame) -> list[Claim]:
    """Return for each law whether it gets neither too much nor too little.

    Parameters
    ----------
    table
        What `compare.shares` returns.

    Returns
    -------
    list[Claim]
        By name.
    """
    return [
        bias(str(law), part["error"].to_list()) for (law,), part in sorted(table.group_by("law"))
    ]


def scatter(table: pl.DataFrame) -> Figure:
    """Draw predicted over measured shares, with the ranges of trials and of seeds.

    Parameters
    ----------
    table
        What `compare.shares` returns.

    Returns
    -------
    Figure
        A panel; laws by colour.
    """
    figure, axes = panels(1, 1)
    draw_shares(axes[0][0], table)
    legend(axes[0][0])
    return figure


def draw_shares(ax: Axes, table: pl.DataFrame) -> None:
    """Draw the same in a panel.

    Parameters
    ----------
    ax
        The panel.
    table
        What `compare.shares` returns.
    """
    ax.plot([0, 100], [0, 100], color="grey", lw=0.8)
    ax.fill_between([0, 100], [-POINTS, 100 - POINTS], [POINTS, 100 + POINTS], color="0.93")
    for (law,), part in sorted(table.group_by("law")):
        x, y = part["kernel"].to_numpy(), part["narrows"].to_numpy()
        across = np.abs([x - part["kernel_min"].to_numpy(), part["kernel_max"].to_numpy() - x])
        along = np.abs([y - part["narrows_min"].to_numpy(), part["narrows_max"].to_numpy() - y])
        points = ax.errorbar(x, y, along, across, "o", ms=3, lw=0.6, alpha=0.7)
        points.set_label(str(law))
    ax.set(xlabel="share in the testbed (% of the link)", ylabel="share in narrows (%)")
    ax.set(xlim=(-2, 102), ylim=(-2, 102))


def legend(ax: Axes) -> None:
    """Name the laws beside a panel: points lie everywhere in it.

    Parameters
    ----------
    ax
        The panel.
    """
    ax.legend(fontsize="x-small", loc="upper left", bbox_to_anchor=(1.0, 1.0))

"""How figures show what the paper itself says: black crosses and dashed black lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

SAYS = "paper"


def crosses(ax: Any, x: Sequence[float], y: Sequence[float], says: str = SAYS) -> None:
    """Mark values of the paper's on a panel.

    Parameters
    ----------
    ax
        Matplotlib's axes.
    x, y
        Where they are.
    says
        What the legend says of them.
    """
    ax.plot(x, y, "kx", ms=6, mew=1.2, label=says, zorder=5)


def level(ax: Any, value: float, says: str = SAYS) -> None:
    """Draw a value of the paper's across a panel.

    Parameters
    ----------
    ax
        Matplotlib's axes.
    value
        On the vertical axis.
    says
        What is written at its right end.
    """
    ax.axhline(value, color="k", ls="--", lw=0.8, zorder=5)
    ax.text(
        0.99,
        value,
        says,
        transform=ax.get_yaxis_transform(),
        ha="right",
        va="bottom",
        fontsize="xx-small",
    )

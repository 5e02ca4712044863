"""Where no flow of a mixture would have more by another law: Nash equilibria, by shares.

Mishra, Tiu and Leong: "Are we heading towards a BBR-dominant Internet?", IMC 2022.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from narrows_papers.claims import Claim, stated
from narrows_papers.testbeds.cell import Cell

# Equilibria are alike within a tenth of the flows.
ALIKE = 0.1
# A mixture's shares by the number of flows of the first law, the first law's first.
Shares = Mapping[int, tuple[float, float]]


def equilibrium(shares: Shares, flows: int) -> float:
    """Return of how many flows of the first law none gains by changing its law.

    That is where a flow of either law has as much, on straight lines between the mixtures: the
    first such place, should there be several.

    Parameters
    ----------
    shares
        What each law has, all its flows together, by the number of flows of the first; at least
        one mixture, and something in each.
    flows
        How many there are of both laws.

    Returns
    -------
    float
        All, if a flow of the first law has more in each mixture; none, if it has less where the
        first has the fewest flows.

    Examples
    --------
    Of ten flows one has twice and nine have half of what is fair: balance is half-way between.

    >>> round(equilibrium({1: (0.2, 0.8), 9: (0.8, 0.2)}, 10), 3)
    5.0
    """
    numbers = sorted(shares)
    # What the first law has beyond its flows' part.
    beyond = [shares[one][0] / sum(shares[one]) - one / flows for one in numbers]
    if beyond[0] < 0:
        return 0.0
    for place, (left, right) in enumerate(itertools.pairwise(beyond)):
        if left >= 0 > right:
            step = numbers[place + 1] - numbers[place]
            return numbers[place] + step * left / (left - right)
    return float(flows)


def equilibria(chosen: Sequence[Cell], table: pl.DataFrame) -> pl.DataFrame:
    """Return the equilibrium of each network, measured and predicted.

    Parameters
    ----------
    chosen
        Mixtures of two laws, of the same number of flows in all networks.
    table
        What `compare.shares` returns of them.

    Returns
    -------
    polars.DataFrame
        ``network``, ``flows``, ``kernel`` and ``narrows``, the last two in flows of the first law.
    """
    rows = []
    flows = sum(group.count for group in chosen[0].groups)
    found = [_by_network(chosen, table, column) for column in ("kernel", "narrows")]
    for network in found[0]:
        rows.append((network, flows, *(equilibrium(part[network], flows) for part in found)))
    return pl.DataFrame(rows, schema=["network", "flows", "kernel", "narrows"], orient="row")


def _by_network(
    chosen: Sequence[Cell], table: pl.DataFrame, column: str
) -> dict[str, dict[int, tuple[float, float]]]:
    parts = {key: part[column].to_list() for (key,), part in table.group_by("cell")}
    found: dict[str, dict[int, tuple[float, float]]] = defaultdict(dict)
    for cell in chosen:
        # A key is the laboratory's, the mixture and the network.
        network = "/".join(cell.id.split("/")[2:])
        first, second = parts[cell.id]
        found[network][cell.groups[0].count] = (first, second)
    return found


def judged(table: pl.DataFrame) -> list[Claim]:
    """Return whether equilibria are where they were measured, and have flows of both laws.

    Parameters
    ----------
    table
        What `equilibria` returns.

    Returns
    -------
    list[Claim]
        The first is ours, the second what Mishra and others say.
    """
    number, flows = table.height, table["flows"][0]
    off = np.abs((table["narrows"] - table["kernel"]).to_numpy())
    most = ALIKE * flows
    held = int((off <= most).sum())
    here, there = (
        int(((table[who] > 0) & (table[who] < flows)).sum()) for who in ("narrows", "kernel")
    )
    near = f"within {most:.0f} flows of the kernel's"
    return [
        stated(
            f"the Nash equilibrium is {near}, of {number} networks",
            "80 % (ours)",
            f"{held} of {number}, median {float(np.median(off)):.1f} flows",
            held >= 0.8 * number,
        ),
        stated(
            f"a Nash equilibrium has flows of both laws (in the testbed in {there} of {number})",
            "a stable mixture",
            f"in {here} of {number} networks",
            here > number / 2,
        ),
    ]


def draw(ax: Axes, table: pl.DataFrame) -> None:
    """Draw predicted over measured equilibria.

    Parameters
    ----------
    ax
        The panel.
    table
        What `equilibria` returns.
    """
    flows = table["flows"][0]
    most = ALIKE * flows
    ax.plot([0, flows], [0, flows], color="grey", lw=0.8)
    ax.fill_between([0, flows], [-most, flows - most], [most, flows + most], color="0.93")
    ax.plot(table["kernel"], table["narrows"], "o", ms=3, alpha=0.7)
    ax.set(xlabel="flows of BBRv1 at the equilibrium, testbed", ylabel="in narrows")
    ax.set(xlim=(-1, flows + 1), ylim=(-1, flows + 1))

"""Which cells tell shares, set by set."""

from __future__ import annotations

from collections.abc import Callable

from narrows_papers.testbeds.cell import Cell, cells


def cells_of(lab: str, which: Callable[[Cell], bool] = lambda _: True) -> list[Cell]:
    """Return cells of a laboratory's set-up.

    Parameters
    ----------
    lab
        The file's name.
    which
        Which of them.

    Returns
    -------
    list[Cell]
        In the file's order.
    """
    return [cell for cell in cells(lab).values() if which(cell)]


# By the experiment's name: the laboratory, a law that is in the cells, and how many seeds.
SHARED = {
    "ware-bbr1": ("nyu-ware", "bbr1", 2),
    "ware-bbr2": ("nyu-ware", "bbr2", 2),
    "ware-bbr3": ("nyu-ware", "bbr3", 2),
    "dominance": ("nyu-dominance", "", 1),
    "l4s": ("nyu-l4s", "", 3),
    "heist": ("heist", "", 3),
    "l4steam": ("l4steam", "", 3),
    "gomez": ("gomez", "", 3),
    "greenscreen": ("greenscreen", "", 1),
}


def shared_set(name: str) -> tuple[list[Cell], int]:
    """Return the cells of an experiment that judges shares, and under how many seeds each is run.

    Parameters
    ----------
    name
        The experiment's, without the paper's.

    Returns
    -------
    tuple[list[Cell], int]
        All cells, those that cannot be run among them.
    """
    lab, law, seeds = SHARED[name]
    return cells_of(lab, lambda cell: law in cell.laws), seeds

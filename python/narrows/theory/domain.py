"""Where the functions of theory are defined: outside of it they raise, and return no number."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from narrows.types import Floats


def within(name: str, values: ArrayLike, least: float, most: float) -> Floats:
    """Return values as an array, all of which lie in a closed interval.

    Parameters
    ----------
    name
        What they are called in the error.
    values
        Of any shape.
    least, most
        The interval's ends.

    Returns
    -------
    ndarray
        Of the shape of `values`.

    Raises
    ------
    ValueError
        If one of them is outside, or not a number.
    """
    array = np.asarray(values, dtype=np.float64)
    wrong = array[~((array >= least) & (array <= most))]
    if wrong.size:
        raise ValueError(f"{name}: {wrong.flat[0]:g} is not from {least:g} to {most:g}")
    return array


def above(name: str, values: ArrayLike, bound: float, most: float = np.inf) -> Floats:
    """Return values as an array, all of which are above a bound and at most `most`.

    Parameters
    ----------
    name
        What they are called in the error.
    values
        Of any shape.
    bound, most
        The bound, which itself is outside, and the largest value.

    Returns
    -------
    ndarray
        Of the shape of `values`.

    Raises
    ------
    ValueError
        If one of them is outside, or not a number.
    """
    array = np.asarray(values, dtype=np.float64)
    wrong = array[~((array > bound) & (array <= most))]
    if wrong.size:
        upper = "" if most == np.inf else f" and at most {most:g}"
        raise ValueError(f"{name}: {wrong.flat[0]:g} is not above {bound:g}{upper}")
    return array


def between(name: str, values: ArrayLike, low: float, high: float) -> Floats:
    """Return values as an array, all of which lie in an open interval.

    Parameters
    ----------
    name
        What they are called in the error.
    values
        Of any shape.
    low, high
        The interval's ends, which themselves are outside.

    Returns
    -------
    ndarray
        Of the shape of `values`.

    Raises
    ------
    ValueError
        If one of them is outside, or not a number.
    """
    array = np.asarray(values, dtype=np.float64)
    wrong = array[~((array > low) & (array < high))]
    if wrong.size:
        raise ValueError(f"{name}: {wrong.flat[0]:g} is not between {low:g} and {high:g}")
    return array

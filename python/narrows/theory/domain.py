"""Where the functions of theory are defined: outside of it they raise, and return no number."""

from __future__ import annotations

from typing import Any

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
        Of any shape, finite.
    least, most
        The interval's ends.

    Returns
    -------
    ndarray
        Of the shape of `values`.

    Raises
    ------
    ValueError
        If one of them is outside, or not a finite number.
    """
    array = np.asarray(values, dtype=np.float64)
    upper = f"to {most:g}" if most < np.inf else "on"
    return _all(name, array, (array >= least) & (array <= most), f"from {least:g} {upper}")


def above(name: str, values: ArrayLike, bound: float, most: float = np.inf) -> Floats:
    """Return values as an array, all of which are above a bound and at most `most`.

    Parameters
    ----------
    name
        What they are called in the error.
    values
        Of any shape, finite.
    bound, most
        The bound, which itself is outside, and the largest value.

    Returns
    -------
    ndarray
        Of the shape of `values`.

    Raises
    ------
    ValueError
        If one of them is outside, or not a finite number.
    """
    array = np.asarray(values, dtype=np.float64)
    upper = "" if most == np.inf else f" and at most {most:g}"
    return _all(name, array, (array > bound) & (array <= most), f"above {bound:g}{upper}")


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
    return _all(name, array, (array > low) & (array < high), f"between {low:g} and {high:g}")


def below(name: str, values: ArrayLike, least: float, bound: float) -> Floats:
    """Return values as an array, all of which are at least `least` and below a bound.

    Parameters
    ----------
    name
        What they are called in the error.
    values
        Of any shape.
    least, bound
        The least value, and the bound, which itself is outside.

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
    wanted = f"at least {least:g} and below {bound:g}"
    return _all(name, array, (array >= least) & (array < bound), wanted)


def whole(name: str, value: float, least: int) -> int:
    """Return a whole number of at least `least`.

    Parameters
    ----------
    name
        What it is called in the error.
    value
        The number.
    least
        The least.

    Returns
    -------
    int
        The same.

    Raises
    ------
    ValueError
        If it is not one.
    """
    if not np.isfinite(value) or value != int(value) or value < least:
        raise ValueError(f"{name}: {value!r} is not a whole number of at least {least}")
    return int(value)


def _all(name: str, array: Floats, fits: Any, wanted: str) -> Floats:
    wrong = array[~(fits & np.isfinite(array))]
    if wrong.size:
        raise ValueError(f"{name}: {float(wrong.flat[0])!r} is not {wanted}")
    return array

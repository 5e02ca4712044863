"""Means over seeds and their confidence intervals."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import SupportsIndex

from narrows.errors import SweepError


def mean_and_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """Compute the mean and the half-width of its confidence interval, by Student's t.

    Parameters
    ----------
    values
        Independent observations.
    confidence
        The interval's, from 0 to 1.

    Returns
    -------
    tuple of float
        Mean and half-width; the half-width is NaN if there is only one observation.

    References
    ----------
    Student: "The probable error of a mean", Biometrika 6 (1908).

    Examples
    --------
    >>> mean, half = mean_and_interval([1.0, 2.0, 3.0])
    >>> round(mean, 3), round(half, 3)
    (2.0, 2.484)
    """
    n = len(values)
    mean = sum(values) / n
    if n == 1:
        return mean, math.nan
    from scipy.stats import t  # noqa: PLC0415 (a third of a second, needed for several seeds only)

    variance = sum((value - mean) ** 2 for value in values) / (n - 1)
    return mean, float(t.ppf((1 + confidence) / 2, n - 1)) * math.sqrt(variance / n)


@dataclass(frozen=True)
class Estimate:
    """A mean and its 95 % confidence interval; each is None if it cannot be estimated."""

    mean: float | None
    low: float | None
    high: float | None


def estimate(values: Sequence[float], method: str = "student") -> Estimate:
    """Compute the mean and its 95 % confidence interval.

    Parameters
    ----------
    values
        Independent observations.
    method
        ``student``, or ``bootstrap`` (bias-corrected and accelerated, 9999 resamples from a fixed
        seed) for skewed metrics.

    Returns
    -------
    Estimate
        The mean and its interval; the interval's ends are None if there is only one observation.

    Raises
    ------
    ValueError
        If there is no such method.

    References
    ----------
    B. Efron: "Better bootstrap confidence intervals", JASA 82 (1987).

    Examples
    --------
    >>> estimate([1.0, 2.0, 3.0, 10.0], "bootstrap").low > 1.0
    True
    """
    if method not in ("student", "bootstrap"):
        raise ValueError(f'unknown method "{method}"; known: student, bootstrap')
    mean, half = mean_and_interval(values)
    if len(values) == 1:
        return Estimate(mean, None, None)
    if method == "student" or len(set(values)) == 1:
        return Estimate(mean, mean - half, mean + half)
    import numpy as np  # noqa: PLC0415
    from scipy.stats import bootstrap  # noqa: PLC0415

    interval = bootstrap(
        (np.asarray(values),), np.mean, rng=np.random.default_rng(1)
    ).confidence_interval
    return Estimate(mean, float(interval.low), float(interval.high))


def paired(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Compute the mean difference of pairs and its 95 % confidence interval, by Student's t.

    Parameters
    ----------
    first, second
        Observations of two systems on common random numbers, pair by pair.

    Returns
    -------
    Estimate
        The mean of first minus second and its interval; all None if there are no pairs.

    References
    ----------
    A. M. Law: "Simulation Modeling and Analysis", §10.2 (paired-t) and §11.2 (common random
    numbers).

    Examples
    --------
    >>> paired([1.0, 2.0, 4.0], [0.5, 1.5, 3.5])
    Estimate(mean=0.5, low=0.5, high=0.5)
    """
    differences = [a - b for a, b in zip(first, second, strict=True)]
    return estimate(differences) if differences else Estimate(None, None, None)


# Runs with more seeds than these would not end.
MOST_SEEDS = 1_000_000


def chosen_seeds(given: int | Sequence[int], first: int = 1) -> list[int]:
    """Return seeds: as many as a number says, counted from `first`, or those of a list.

    Parameters
    ----------
    given
        A number of seeds, or a list of them.
    first
        The first seed of a number.

    Returns
    -------
    list of int
        In the order in which they run.

    Raises
    ------
    Error
        If there are none or too many, or one is not from 0 to 2^64 - 1.

    Examples
    --------
    >>> chosen_seeds(2, 7), chosen_seeds([3, 5])
    ([7, 8], [3, 5])
    """
    seeds: Sequence[object] = (
        range(first, first + min(operator.index(given), MOST_SEEDS + 1))
        if isinstance(given, SupportsIndex)
        else given
    )
    whole = [operator.index(seed) for seed in seeds if isinstance(seed, SupportsIndex)]
    in_range = all(0 <= seed < 2**64 for seed in whole)
    if not whole or len(whole) != len(seeds) or not in_range or len(whole) > MOST_SEEDS:
        raise SweepError(
            f"seeds: {given!r} is neither a number of seeds nor a list of seeds; try 10 or [1, 2]"
        )
    return whole

"""Means over seeds and how far to trust them."""

from __future__ import annotations

import math
from collections.abc import Sequence


def mean_and_interval(values: Sequence[float]) -> tuple[float, float]:
    """Give the mean and half the width of its 95 % confidence interval, by Student's t.

    Parameters
    ----------
    values
        Independent observations.

    Returns
    -------
    tuple of float
        Mean and half-width; the half-width of a single observation is not a number.

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
    from scipy.stats import t  # noqa: PLC0415 (a third of a second, only where there are several seeds)

    variance = sum((value - mean) ** 2 for value in values) / (n - 1)
    return mean, float(t.ppf(0.975, n - 1)) * math.sqrt(variance / n)

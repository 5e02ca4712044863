"""Comparing counts: whether two rates of events differ by more than chance and a factor."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum


class Verdict(Enum):
    """What a comparison of two counts allows to say."""

    WITHIN = ""
    """The ratio is within the factor."""
    FEW = " ~"
    """The ratio is not, but the counts are too small to exclude that the true one is."""
    OUTSIDE = " *"
    """The ratio's 95 % interval lies outside the factor."""


@dataclass(frozen=True)
class Count:
    """Events, and what they are counted over: runs, arrivals, transfers."""

    events: float
    over: float

    @property
    def rate(self) -> float:
        """Events per unit; NaN if there was nothing to count over."""
        return self.events / self.over if self.over else math.nan


def ratio_interval(found: Count, reference: Count) -> tuple[float, float]:
    """Compute the exact 95 % confidence interval of the ratio of two Poisson rates.

    Given their sum, the events of one are binomial, with a probability that depends on the ratio
    only; the probability's interval is Clopper's and Pearson's.

    Parameters
    ----------
    found, reference
        The two counts; the ratio is that of the first rate to the second.

    Returns
    -------
    tuple of float
        The lower and the upper end; 0 and infinity if nothing was counted.

    References
    ----------
    J. Przyborowski, H. Wilenski: "Homogeneity of results in testing samples from Poisson series",
    Biometrika 31 (1940). C. Clopper, E. Pearson: "The use of confidence or fiducial limits",
    Biometrika 26 (1934).

    Examples
    --------
    Ten events and none over the same time: the interval of 0/10, [0, 0.3085], as odds.

    >>> low, high = ratio_interval(Count(0, 1), Count(10, 1))
    >>> low, round(high, 4)
    (0.0, 0.4461)
    """
    from scipy.stats import beta  # noqa: PLC0415 (a third of a second, not needed for ns-2)

    m, n = found.events, reference.events
    low = float(beta.ppf(0.025, m, n + 1)) if m else 0.0
    high = float(beta.ppf(0.975, m + 1, n)) if n else 1.0
    scale = reference.over / found.over
    return low / (1 - low) * scale, high / (1 - high) * scale if high < 1 else math.inf


def share_ratio_interval(found: Count, reference: Count) -> tuple[float, float]:
    """Compute the 95 % confidence interval of the ratio of a share to a share of few trials.

    Each trial counts at most once. The first share is taken as exact, so it needs many more trials
    than the second, whose interval is Clopper's and Pearson's.

    Parameters
    ----------
    found, reference
        The two counts; the ratio is that of the first rate to the second.

    Returns
    -------
    tuple of float
        The lower and the upper end; the upper is infinity if no event is in the reference.

    Examples
    --------
    The interval of 1 of 20 is 0.0013 to 0.2487.

    >>> low, high = share_ratio_interval(Count(500, 1000), Count(1, 20))
    >>> round(0.5 / high, 4), round(0.5 / low, 4)
    (0.0013, 0.2487)
    """
    from scipy.stats import beta  # noqa: PLC0415

    n, trials = reference.events, reference.over
    low = float(beta.ppf(0.025, n, trials - n + 1)) if n else 0.0
    high = float(beta.ppf(0.975, n + 1, trials - n)) if n < trials else 1.0
    return found.rate / high, found.rate / low if low else math.inf


def judge(
    found: Count,
    reference: Count,
    factor: float,
    interval: Callable[[Count, Count], tuple[float, float]] = ratio_interval,
) -> Verdict:
    """Judge whether two rates agree within a factor.

    Parameters
    ----------
    found, reference
        The two counts.
    factor
        The larger rate may be this many times the smaller.
    interval
        How the interval of their ratio is computed.

    Examples
    --------
    >>> judge(Count(1400, 10), Count(100, 1), 1.5), judge(Count(1600, 10), Count(100, 1), 1.5)
    (<Verdict.WITHIN: ''>, <Verdict.FEW: ' ~'>)
    >>> judge(Count(3000, 10), Count(100, 1), 1.5)
    <Verdict.OUTSIDE: ' *'>
    """
    if found.rate == reference.rate or (
        reference.rate > 0 and 1 / factor <= found.rate / reference.rate <= factor
    ):
        return Verdict.WITHIN
    low, high = interval(found, reference)
    return Verdict.OUTSIDE if low > factor or high < 1 / factor else Verdict.FEW

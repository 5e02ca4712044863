"""Comparing counts: whether two rates of events differ by more than chance and a factor."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum


class Verdict(Enum):
    """What a comparison of two counts allows to say."""

    WITHIN = ""
    """It is within the bound."""
    FEW = " ~"
    """It is not, but runs are too few, or vary too much, to exclude that the true value is."""
    OUTSIDE = " *"
    """Its 95 % interval lies outside the bound."""


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


def dispersion(runs: Sequence[Count]) -> float:
    """Compute how many times a Poisson's variance the counts of runs of the same thing vary.

    Losses come in bursts, and one run has an overshoot that another has not: four runs of one case
    of Linux dropped 43, 39, 36 and 80 packets.

    Returns
    -------
    float
        Pearson's χ² over its degrees of freedom, at least 1; NaN for a single run, which says
        nothing of it.

    References
    ----------
    P. McCullagh, J. Nelder: "Generalized Linear Models" (1989), §6.2.3.

    Examples
    --------
    >>> runs = [Count(43, 1), Count(39, 1), Count(36, 1), Count(80, 1)]
    >>> round(dispersion(runs), 1), dispersion(runs[:1]), dispersion([Count(5, 1), Count(5, 1)])
    (8.5, nan, 1.0)
    """
    if len(runs) < 2:
        return math.nan
    rate = total(runs).rate
    if not rate > 0:
        return 1.0
    squares = sum((it.events - rate * it.over) ** 2 / (rate * it.over) for it in runs)
    return max(1.0, squares / (len(runs) - 1))


def total(runs: Sequence[Count]) -> Count:
    """Add up counts.

    Examples
    --------
    >>> total([Count(1, 10), Count(2, 20)])
    Count(events=3, over=30)
    """
    return Count(sum(it.events for it in runs), sum(it.over for it in runs))


def judge(
    found: Sequence[Count],
    reference: Sequence[Count],
    factor: float,
    interval: Callable[[Count, Count], tuple[float, float]] = ratio_interval,
) -> Verdict:
    """Judge whether two rates agree within a factor, by the spread of repeated runs.

    Parameters
    ----------
    found, reference
        The counts of each run. Where runs vary more than Poisson's do, by `dispersion`, that many
        times fewer events would tell as much; a single run is taken to vary as the others' do.
    factor
        The larger rate may be this many times the smaller.
    interval
        How the interval of their ratio is computed.

    Examples
    --------
    >>> reference = [Count(100, 1)]
    >>> [judge([Count(events, 10)], reference, 1.5).name for events in (1400, 1600, 3000)]
    ['WITHIN', 'FEW', 'OUTSIDE']

    The same rates, but one of the runs that were found has nothing and one has all:

    >>> judge([Count(3000, 5), Count(0, 5)], [Count(100, 1)], 1.5)
    <Verdict.FEW: ' ~'>
    """
    ours, theirs = total(found), total(reference)
    if ours.rate == theirs.rate or (
        theirs.rate > 0 and 1 / factor <= ours.rate / theirs.rate <= factor
    ):
        return Verdict.WITHIN
    spreads = [dispersion(found), dispersion(reference)]
    known = max((it for it in spreads if not math.isnan(it)), default=1.0)
    ours, theirs = (
        Count(it.events / spread, it.over / spread)
        for it, spread in zip(
            (ours, theirs), [known if math.isnan(it) else it for it in spreads], strict=True
        )
    )
    low, high = interval(ours, theirs)
    return Verdict.OUTSIDE if low > factor or high < 1 / factor else Verdict.FEW


def judge_means(found: Sequence[float], reference: Sequence[float], bound: float) -> Verdict:
    """Judge whether two means agree within a bound, by the spread of repeated runs.

    Parameters
    ----------
    found, reference
        The values of each run.
    bound
        How far the means may be apart.

    References
    ----------
    Student: "The probable error of a mean", Biometrika 6 (1908); both samples have one variance.

    Examples
    --------
    >>> judge_means([0.8, 0.9, 1.0], [0.91], 0.02), judge_means([0.8, 0.9, 1.0], [0.76], 0.02)
    (<Verdict.WITHIN: ''>, <Verdict.FEW: ' ~'>)
    >>> judge_means([0.99, 1.0, 1.0], [0.76], 0.02)
    <Verdict.OUTSIDE: ' *'>
    """
    n, m = len(found), len(reference)
    ours, theirs = sum(found) / n, sum(reference) / m
    beyond = abs(ours - theirs) - bound
    if beyond <= 0:
        return Verdict.WITHIN
    if n + m < 3:
        return Verdict.FEW
    from scipy.stats import t  # noqa: PLC0415

    squares = sum((x - ours) ** 2 for x in found) + sum((x - theirs) ** 2 for x in reference)
    half = float(t.ppf(0.975, n + m - 2)) * math.sqrt(squares / (n + m - 2) * (1 / n + 1 / m))
    return Verdict.OUTSIDE if beyond > half else Verdict.FEW

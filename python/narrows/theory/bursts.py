"""Queues in front of which packets come in bursts: M[X]/D/1/B, and evenly paced flows: nD/D/1."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import gammaln, xlog1py, xlogy

from narrows.theory.domain import above, whole
from narrows.theory.queue import Chain
from narrows.types import Floats

# The recursion is exact; above so many bursts the asymptote is, to 1e-11.
FAR = 15
# Below this e^u − 1 − u is taken by its series, to 1e-14.
SMALL = 1e-3


def batch_loss(load: ArrayLike, buffer: int, burst: int = 1) -> NDArray[np.float64]:
    """Return the loss probability of packets that come in bursts of equal size, M[X]/D/1/B.

    Bursts come as a Poisson stream, their packets back to back; what does not fit is lost. A packet
    takes one unit of time.

    Parameters
    ----------
    load
        ρ, the offered load over the capacity, of any shape, above 0 and at most 10.
    buffer
        B in packets, including the packet in service.
    burst
        m, packets of a burst; 1 makes an M/D/1/B queue.

    Returns
    -------
    ndarray
        Of the same shape as `load`.

    Raises
    ------
    ValueError
        If a load is outside of these bounds, or the others are not whole numbers of packets.

    Notes
    -----
    The numbers of packets left behind by departures have a stationary distribution π that follows
    from level crossings, in positive terms only: with A the packets that come in a service time,

    π_(j+1) P(A = 0) = π_0 P(m + A > j + 1) + Σ_(i=1..j) π_i P(A > j − i + 1), and the loss is
    1 − 1/(ρ + m π_0/Σ_(j<B) π_j). For small losses of a load below 1 this cancels, but the same π
    without a limit sum to m π_0/(1 − ρ), so that ρ + m π_0/Σ_(j<B) π_j − 1 is
    (1 − ρ) Σ_(j≥B) π_j/Σ_(j<B) π_j.

    Far out it falls by z for each packet, where z is the root above 1 of (ρ/m)(z^m − 1) = ln z: the
    z of bursts is the m-th root of that without, so the buffer for the same loss is about m times
    as large.

    Examples
    --------
    >>> batch_loss([0.9, 0.95], 100, burst=16).round(4)
    array([0.0385, 0.0556])
    """
    loads = above("load", load, 0, 10)
    size, m = whole("buffer", buffer, 1), whole("burst", burst, 1)
    return np.asarray(np.vectorize(lambda rho: _loss(rho, size, m), otypes=[np.float64])(loads))


def _loss(rho: float, buffer: int, burst: int) -> float:
    is_far = rho < 1 and buffer >= _far_from(rho, burst)
    return _far(rho, buffer, burst) if is_far else _near(rho, buffer, burst)


def _far_from(rho: float, burst: int) -> float:
    """Return from which buffer on the asymptote is taken."""
    return burst * max(3 / (1 - rho), FAR)


def _far(rho: float, buffer: int, burst: int) -> float:
    rate = rho / burst
    log = decay(rho, burst)
    grown = np.expm1(burst * log)
    slope = rate * burst * np.exp(burst * log) - 1
    tail = (1 - rho) / burst * grown / (slope * np.expm1(log)) * np.exp(-(buffer - 1) * log)
    return float((1 - rho) * tail / (1 - tail) / (rho + (1 - rho) / (1 - tail)))


def decay(load: float, burst: int = 1) -> float:
    """Return ln z: by how much the logarithm of the loss falls for each packet of buffer.

    Parameters
    ----------
    load
        ρ, above 0 and below 1.
    burst
        Packets of a burst.

    Returns
    -------
    float
        ln z of `batch_loss`.

    Raises
    ------
    ValueError
        If the load is outside of these bounds, or a burst is not a whole number of packets.

    Examples
    --------
    >>> round(float(np.exp(decay(0.9))), 9), round(float(np.exp(decay(0.95, 16))), 9)
    (1.230162781, 1.006378025)
    """
    above("load", load, 0, 1 - 1e-12)
    m = whole("burst", burst, 1)
    # (e^u − 1)/u = 1/ρ in u = m ln z, which is above min(1/ρ − 1, 1).
    spare = (1 - load) / load

    def excess(u: float) -> float:
        # (e^u − 1 − u)/u by its series where that would cancel.
        series = u / 2 * (1 + u / 3 * (1 + u / 4 * (1 + u / 5)))
        with np.errstate(over="ignore"):
            return float((series if u < SMALL else np.expm1(u) / u - 1) - spare)

    high = min(spare, 1.0)
    while excess(high) < 0:
        high *= 2
    return float(brentq(excess, high / 2, high, xtol=1e-300) / m)


def _near(rho: float, buffer: int, burst: int) -> float:
    """Return the loss by the recursion, which takes time in proportion to the buffer."""
    pmf = _arrivals(rho / burst, burst)
    beyond = np.append(np.cumsum(pmf[::-1])[::-1][1:], 0.0)
    # P(m + A > k): certain below m.
    after = np.concatenate([np.ones(burst), beyond])
    return Chain(pmf[0], beyond, after[1:], burst).loss(rho, buffer)


def _arrivals(rate: float, burst: int) -> Floats:
    """Return P(k packets in a service time), a Poisson number of bursts."""
    most = int(rate + 12 * np.sqrt(rate) + 60)
    k = np.arange(most + 1)
    pmf = np.zeros(burst * most + 1)
    pmf[::burst] = np.exp(xlogy(k, rate) - rate - gammaln(k + 1.0))
    return pmf


def buffer_of(loss: float, load: float, burst: int = 1) -> int:
    """Return the least buffer in which bursts lose no more than a given part.

    Parameters
    ----------
    loss
        Above 0 and below 1.
    load
        ρ, above 0 and below 1.
    burst
        Packets of a burst.

    Returns
    -------
    int
        Packets.

    Raises
    ------
    ValueError
        If a value is outside of these bounds.

    Examples
    --------
    >>> [buffer_of(1e-3, 0.9, burst) for burst in (1, 4, 16)]
    [23, 91, 360]
    >>> buffer_of(1e-12, 1 - 1e-6)
    6907755
    """
    above("loss", loss, 0, 1 - 1e-12)
    above("load", load, 0, 1 - 1e-12)
    # Short of the asymptote each loss takes time in proportion to the buffer.
    far = math.ceil(_far_from(load, burst))
    low, high = (far, 2 * far) if float(batch_loss(load, far, burst)) > loss else (0, 1)
    while float(batch_loss(load, high, burst)) > loss:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (middle, high) if float(batch_loss(load, middle, burst)) > loss else (low, middle)
        )
    return high


def paced_excess(flows: int, load: float, queue: int) -> float:
    """Return P(Q > x) of n evenly paced flows of one rate with random phases, nD/D/1.

    P = Σ_(k=x+1..n) C(n, k) ((k − x)/D)^k (1 − (k − x)/D)^(n − k) (D − n + x)/(D − k + x), where
    D = n/ρ service times lie between two packets of a flow.

    Parameters
    ----------
    flows
        n, at least 1.
    load
        ρ, above 0, at most 1.
    queue
        x in packets, at least 0 and below n.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    ValueError
        If a value is outside of these bounds.

    Examples
    --------
    >>> round(paced_excess(200, 0.95, 10), 6), round(paced_excess(200, 1.0, 10), 6)
    (0.128767, 0.356015)
    """
    n, x = whole("flows", flows, 1), whole("queue", queue, 0)
    above("load", load, 0, 1)
    if x >= n:
        return 0.0
    gap = n / load
    if x == 0 and load == 1:
        return 1.0
    k = np.arange(x + 1, n + 1, dtype=np.float64)
    part = np.minimum((k - x) / gap, 1.0)
    logs = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    logs = logs + xlogy(k, part) + xlog1py(n - k, -part)
    return float(min(1.0, np.sum(np.exp(logs) * (gap - n + x) / (gap - k + x))))


def paced_buffer(flows: int, load: float, excess: float) -> int:
    """Return the least queue that evenly paced flows exceed with no more than a probability.

    Parameters
    ----------
    flows
        n, at least 1.
    load
        ρ, above 0, at most 1.
    excess
        The probability, above 0, at most 1.

    Returns
    -------
    int
        Packets; close to √(n ln(1/p)/2) at ρ = 1.

    Raises
    ------
    ValueError
        If a value is outside of these bounds.

    Examples
    --------
    >>> [paced_buffer(1000, load, 1e-3) for load in (0.95, 1.0)]
    [39, 59]
    """
    above("excess", excess, 0, 1)
    low, high = -1, whole("flows", flows, 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if paced_excess(flows, load, middle) > excess else (low, middle)
    return high

"""XCP's fluid model and its stability (Katabi, Handley, Rohrs, SIGCOMM 2002, §4)."""

from __future__ import annotations

import math

import numpy as np

from narrows.theory.domain import above, within
from narrows.types import Floats

# Theorem 1: with β = α²√2 the model is stable for any delay, capacity and number of flows if α is
# below this.
LARGEST_ALPHA = math.pi / (4 * math.sqrt(2))


def beta(alpha: float) -> float:
    """Return the β that belongs to α, α²√2.

    Parameters
    ----------
    alpha
        XCP's α, above 0.

    Returns
    -------
    float
        β, with which the model is stable for α below `LARGEST_ALPHA`.

    Raises
    ------
    ValueError
        If α is not above 0.

    Examples
    --------
    >>> round(beta(0.4), 3), round(beta(0.2), 3)
    (0.226, 0.057)
    """
    return float(above("alpha", alpha, 0)) ** 2 * math.sqrt(2)


def phase_margin(alpha: float, beta: float) -> float:
    """Return the phase margin in radians of the open loop e^(−sd)(αs/d + β/d²)/s².

    It is negative if the loop is unstable. The gain is 1 at w = ωd with w⁴ = α²w² + β², and the
    phase there is −π + atan(αw/β) − w: it depends neither on the delay nor on the capacity.

    Parameters
    ----------
    alpha, beta
        XCP's parameters, above 0 and at most a million.

    Returns
    -------
    float
        In radians.

    Raises
    ------
    ValueError
        If a parameter is outside of these bounds.

    Examples
    --------
    >>> round(phase_margin(0.4, 0.226), 2), phase_margin(0.6, 0.36 * 2**0.5) < 0
    (0.22, True)
    """
    above("alpha", alpha, 0, 1e6)
    above("beta", beta, 0, 1e6)
    square = (alpha**2 + math.sqrt(alpha**4 + 4 * beta**2)) / 2
    crossover = math.sqrt(square)
    return math.atan2(alpha * crossover, beta) - crossover


def fluid(
    alpha: float, beta: float, before: float, seconds: float, delay: float, step: float = 1e-3
) -> tuple[Floats, Floats, Floats]:
    """Integrate ẏ = −α(y(t − d) − 1)/d − βq(t − d)/d² and q̇ = y − 1, y in units of the capacity.

    Parameters
    ----------
    alpha, beta
        XCP's parameters, above 0.
    before
        The rate until time 0, over the capacity, at least 0; until then the queue is empty.
    seconds
        Length of the integration, in seconds, above 0.
    delay
        d, the round-trip time, in seconds, above 0.
    step
        Step of the integration, in seconds, above 0 and at most the delay. It is shortened so that
        the delay is a whole number of steps.

    Returns
    -------
    time, rate, queue
        Shape (steps,): time in seconds, rate over the capacity, queue in seconds that it takes to
        drain.

    Raises
    ------
    ValueError
        If a value is outside of these bounds.

    Examples
    --------
    >>> time, rate, queue = fluid(0.4, 0.226, 1.5, 5.0, 0.1)
    >>> round(float(queue.max()) / 0.1, 2), round(float(rate[-1]), 2)
    (0.62, 1.0)
    """
    for name, value in (("alpha", alpha), ("beta", beta), ("seconds", seconds), ("delay", delay)):
        above(name, value, 0)
    within("before", before, 0, np.inf)
    above("step", step, 0, delay)
    lag = math.ceil(delay / step)
    step = delay / lag
    steps = max(round(seconds / step), 1)
    rate, queue = np.full(steps, float(before)), np.zeros(steps)
    for now in range(1, steps):
        y, q = (rate[now - lag], queue[now - lag]) if now >= lag else (before, 0.0)
        rate[now] = max(0.0, rate[now - 1] - step * (alpha * (y - 1) / delay + beta * q / delay**2))
        queue[now] = max(0.0, queue[now - 1] + step * (rate[now - 1] - 1))
    time: Floats = np.arange(steps, dtype=np.float64) * step
    return time, rate, queue

"""GWA's control law (Gerla, Lo Cigno, Mascolo, Weng, §3): a Smith predictor for a queue."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from narrows.theory.domain import above, within
from narrows.types import Floats


def fluid(
    target: float,
    forward: float,
    backward: float,
    service: Callable[[float], float],
    seconds: float,
    gain: float | None = None,
    step: float = 1e-4,
) -> tuple[Floats, Floats, Floats]:
    """Integrate eqs. 3 and 7 for one flow.

    Parameters
    ----------
    target
        Target q* of the queue, in packets, above 0.
    forward, backward
        Delays in seconds from the source to the router, and from the router by way of the receiver
        back to the source; together above 0.
    service
        The router's service rate in packets per second as a function of time in seconds; not
        negative.
    seconds
        Length of the integration, in seconds, above 0.
    gain
        k in 1/s, above 0; 1/d if None.
    step
        Step of the integration, in seconds, above 0 and at most the round trip. It is shortened so
        that a round trip is a whole number of steps; `forward` is rounded to steps, and what the
        source sees of the queue is at least a step old.

    Returns
    -------
    time, rate, queue
        Shape (steps,): time in seconds, rate in packets per second, queue in packets.

    Raises
    ------
    ValueError
        If a value is outside of these bounds.

    Examples
    --------
    With a target of one bandwidth-delay product the queue is empty in the end, and the link is half
    full:

    >>> time, rate, queue = fluid(100.0, 0.04, 0.06, lambda t: 1000.0, 2.0)
    >>> round(float(rate[-1])), round(float(queue[-1]))
    (500, 0)
    """
    delay = float(above("forward + backward", forward + backward, 0))
    within("forward", forward, 0, delay)
    above("step", step, 0, delay)
    gain = 1 / delay if gain is None else gain
    for name, value in (("target", target), ("seconds", seconds), ("gain", gain)):
        above(name, value, 0)
    around = math.ceil(delay / step)
    step = delay / around
    steps, away = max(round(seconds / step), 1), round(forward / step)
    back = max(around - away, 1)
    rate, queue = np.zeros(steps), np.zeros(steps)
    sent = 0.0
    waiting = 0.0
    for now in range(steps):
        seen = queue[now - back] if now >= back else 0.0
        # Eq. 7: the free space, less what has been sent in the last round trip.
        rate[now] = max(0.0, gain * (target - seen - sent))
        sent += rate[now] * step - (rate[now - around] * step if now >= around else 0.0)
        served = service(now * step)
        if not served >= 0:
            raise ValueError(f"service: {served!r} at {now * step:g} s is not a rate of at least 0")
        waiting += (rate[now - away] * step if now >= away else 0.0) - served * step
        waiting = max(0.0, waiting)
        queue[now] = waiting
    time: Floats = np.arange(steps, dtype=np.float64) * step
    return time, rate, queue


def window_settles(target: float, capacity: float, delay: float) -> tuple[float, float]:
    """Return the state in which the window form settles, W_u = q* − q (eqs. 1 and 2).

    The number of outstanding packets is q + rate·d. With rate = capacity, 2q = q* − capacity·d; if
    that is negative, the queue is empty and the rate is q*/d.

    Parameters
    ----------
    target
        q*, the target of the queue in packets, above 0.
    capacity
        Of the link in packets per second, above 0.
    delay
        d, the round-trip time without the queue, in seconds, above 0.

    Returns
    -------
    queue, rate
        Packets, and packets per second.

    Raises
    ------
    ValueError
        If a value is not above 0.
    """
    for name, value in (("target", target), ("capacity", capacity), ("delay", delay)):
        above(name, value, 0)
    queue = max(0.0, (target - capacity * delay) / 2)
    return queue, min(capacity, target / delay)


def overshoot(queue: ArrayLike, target: float) -> float:
    """Return by how many packets a queue exceeds its target; negative if it stays below.

    Parameters
    ----------
    queue
        Packets at each instant, of any shape but empty.
    target
        q* in packets.

    Returns
    -------
    float
        In packets.

    Raises
    ------
    ValueError
        If the queue has no values.
    """
    values = np.asarray(queue, dtype=np.float64)
    if not values.size:
        raise ValueError("queue: it has no values")
    return float(values.max() - target)

"""Fluid models of equal flows whose routers say what to send, as `fluid.Fluid`: XCP and GWA."""

from __future__ import annotations

import numpy as np

from narrows.theory import gwa as smith
from narrows.theory import xcp as katabi
from narrows.theory.domain import above
from narrows.theory.fluid import Fluid
from narrows.types import Floats

STEPS_A_TRIP, MOST_STEPS = 100, 1_000_000
# The paper's, with its β.
ALPHA = 0.4


def xcp(capacity: float, rtt: float, flows: float, window: float, seconds: float) -> Fluid:
    """Return XCP's rates and queue, with α = 0.4 and β = 0.226.

    Parameters
    ----------
    capacity
        Of the link in packets per second, above 0.
    rtt
        The round trip without queues, in seconds, above 0.
    flows
        How many there are, above 0.
    window
        Of each until time 0, in packets.
    seconds
        Length of the solution, above 0.

    Returns
    -------
    Fluid
        One group; nothing is lost. Windows are the rate times the round trip without queues.

    Raises
    ------
    ValueError
        If a value is outside of these bounds, or there would be more than a million steps.

    Examples
    --------
    >>> run = xcp(8333.0, 0.1, 10, 1.0, 20.0)
    >>> round(float(run.windows[-1, 0]), 1)
    83.3
    """
    above("capacity", capacity, 0)
    _check(rtt, flows, seconds)
    before = window * flows / (capacity * rtt)
    beta = katabi.beta(ALPHA)
    time, rate, queue = katabi.fluid(ALPHA, beta, before, seconds, rtt, rtt / STEPS_A_TRIP)
    return _equal(time, capacity * rate, capacity * queue, flows, rtt)


def gwa(capacity: float, rtt: float, flows: float, buffer: float, seconds: float) -> Fluid:
    """Return the rates of GWA's Smith predictor with k = 1/d, and the queue.

    Flows are served in turn, and each has its part of the buffer. The router is beside the sources.

    Parameters
    ----------
    capacity, rtt, flows, seconds
        As in `xcp`.
    buffer
        Of all flows in packets, above 0.

    Returns
    -------
    Fluid
        One group; nothing is lost. Windows are the rate times the round trip without queues.

    Raises
    ------
    ValueError
        If a value is outside of these bounds, or there would be more than a million steps.

    Examples
    --------
    >>> run = gwa(8000.0, 0.1, 1, 3200.0, 5.0)
    >>> round(float(run.windows[-1, 0])), round(float(run.queue[-1]))
    (800, 1600)
    """
    above("capacity", capacity, 0)
    _check(rtt, flows, seconds)
    above("buffer", buffer, 0)
    time, rate, queue = smith.fluid(
        buffer / flows,
        0.0,
        rtt,
        lambda _: capacity / flows,
        seconds,
        step=rtt / STEPS_A_TRIP,
    )
    return _equal(time, flows * rate, flows * queue, flows, rtt)


def _check(rtt: float, flows: float, seconds: float) -> None:
    above("rtt", rtt, 0)
    above("flows", flows, 0)
    above("seconds", seconds, 0)
    steps = seconds / rtt * STEPS_A_TRIP
    if steps > MOST_STEPS:
        raise ValueError(
            f"{steps:.0f} steps of a {STEPS_A_TRIP}th of a round trip; {MOST_STEPS} at most"
        )


def _equal(time: Floats, rate: Floats, queue: Floats, flows: float, rtt: float) -> Fluid:
    windows = (rate * rtt / flows)[:, np.newaxis]
    return Fluid(time, windows, queue, rate, np.zeros_like(time), np.array([float(flows)]))

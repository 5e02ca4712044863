"""The evolutionary network model (E-TCP, §II, §IX).

It describes utilisation as connections become fast and buffers stay small.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from narrows.theory.domain import above, between
from narrows.theory.queue import mm1b_load, mm1b_loss


def utilisation_at(
    throughput: ArrayLike,
    rtt: float,
    loss_of: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    buffer: int,
) -> NDArray[np.float64]:
    """Return the load of a bottleneck if each connection reaches a given throughput.

    See eqs. 1 to 3 and figure 1.

    Parameters
    ----------
    throughput
        Packets per second of each connection, above 0, of any shape.
    rtt
        RTT in seconds, above 0.
    loss_of
        Loss probability at which a law has a given window in packets: the inverse of its response
        function.
    buffer
        B in packets, at least 1.

    Returns
    -------
    ndarray
        The load over the capacity, of the same shape as `throughput`.

    Raises
    ------
    ValueError
        If a value is outside of these bounds, or a loss is not from 0 to 0.999999.

    Examples
    --------
    >>> from narrows.theory.response import etcp_loss
    >>> round(float(utilisation_at(1e7, 0.1, etcp_loss, 20)), 3)
    0.88
    """
    window = above("throughput", throughput, 0) * above("rtt", rtt, 0)
    return mm1b_load(loss_of(window), buffer)


def utilisation_of_generation(
    capacity: float, flows: int, rtt: float, exponent: float, constant: float, buffer: int
) -> float:
    """Return the load ρ of one generation of the network.

    It solves W = constant/p^exponent, ρc = gW/τ and p = P_B(ρ) (eq. 4; §IX for exponents other than
    1/2).

    Parameters
    ----------
    capacity
        c in packets per second, above 0.
    flows
        g, the number of connections, above 0.
    rtt
        τ in seconds, above 0.
    exponent, constant
        Those of the law's response function, above 0: 1/2 and √2 for TCP (eq. 2), 0.835 and 0.12
        for HSTCP, 1 and 0.08 for STCP.
    buffer
        B in packets, at least 1.

    Returns
    -------
    float
        ρ, the offered load over the capacity, at most 10.

    Raises
    ------
    ValueError
        If a value is outside of these bounds, or ρ would be above 10: windows of less than a packet
        overload the link.

    Examples
    --------
    >>> slow = utilisation_of_generation(1e5, 1, 0.1, 0.5, 2**0.5, 20)
    >>> fast = utilisation_of_generation(1e7, 1, 0.1, 0.5, 2**0.5, 20)
    >>> slow > fast
    True
    """
    known = {"capacity": capacity, "flows": flows, "rtt": rtt}
    for name, value in (known | {"exponent": exponent, "constant": constant}).items():
        above(name, value, 0)

    def surplus(rho: float) -> float:
        return rho * math.pow(float(mm1b_loss(rho, buffer)), exponent) - constant * flows / (
            rtt * capacity
        )

    if surplus(10.0) < 0:
        raise ValueError(
            f"capacity: {capacity:g} packets/s for {flows:g} flows needs a load above 10"
        )
    return float(brentq(surplus, 0.0, 10.0, xtol=1e-14))


def buffer_for(utilisation: float, window: ArrayLike) -> NDArray[np.float64]:
    """Return the buffer that keeps TCP's utilisation constant as its window grows.

    B + 2 = log_ρ 2/W², with W = τc/g (§II).

    Parameters
    ----------
    utilisation
        ρ, between 0 and 1.
    window
        W in packets, above 0, of any shape.

    Returns
    -------
    ndarray
        B in packets, of the same shape as `window`; below 0 for windows that need no buffer.

    Raises
    ------
    ValueError
        If a value is outside of these bounds.

    Examples
    --------
    >>> round(float(buffer_for(0.9, 1e4)), 1)
    166.3
    """
    load = between("utilisation", utilisation, 0, 1)
    return np.asarray(np.log(2.0 / above("window", window, 0) ** 2) / np.log(load) - 2.0)

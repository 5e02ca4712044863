"""Queues of finite length: loss probability from load, and load from loss probability."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq


def mm1b_loss(load: ArrayLike, buffer: int) -> NDArray[np.float64]:
    """Return the loss probability of an M/M/1/B queue, (1 − ρ)ρ^B/(1 − ρ^(B+1)).

    Parameters
    ----------
    load
        ρ, the offered load over the capacity, of any shape.
    buffer
        B in packets, including the packet in service.

    Returns
    -------
    ndarray
        Of the same shape as `load`.

    References
    ----------
    Gu, Towsley, Hollot, Zhang: "Congestion Control for Small Buffer High Speed Networks", §II.

    Examples
    --------
    >>> round(float(mm1b_loss(0.9, 20)), 4), round(float(mm1b_loss(1.0, 20)), 4)
    (0.0137, 0.0476)
    """
    rho = np.asarray(load, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        loss = (1.0 - rho) * rho**buffer / (1.0 - rho ** (buffer + 1))
    return np.where(np.isclose(rho, 1.0, rtol=0, atol=1e-12), 1.0 / (buffer + 1), loss)


def mm1b_load(loss: ArrayLike, buffer: int) -> NDArray[np.float64]:
    """Return the load at which an M/M/1/B queue has a given loss probability.

    This is the inverse of `mm1b_loss`.

    Parameters
    ----------
    loss
        Loss probabilities between 0 and 1, of any shape.
    buffer
        B in packets.

    Examples
    --------
    For a loss of 0.01 at 20 packets, figure 1 of the E-TCP paper says 88 %, its text 90 %:

    >>> round(float(mm1b_load(0.01, 20)), 3)
    0.88
    """

    def root(p: float) -> float:
        return brentq(
            lambda rho: float(mm1b_loss(rho, buffer)) - p, 0.0, 1.0 / (1.0 - p) + 1.0, xtol=1e-14
        )

    return np.asarray(np.vectorize(root, otypes=[np.float64])(np.asarray(loss, dtype=np.float64)))


def p0_for(buffer: int, utilisation: float) -> float:
    """Return the p0 with which E-TCP loads an M/M/1/B queue to a given utilisation.

    Examples
    --------
    >>> round(p0_for(20, 0.88), 4)
    0.01
    """
    return float(mm1b_loss(utilisation, buffer))


def b_for(buffer: int) -> float:
    """Return the b that keeps E-TCP stable over a buffer: 1.25 times the buffer.

    The paper takes 25 for a buffer of 20 packets (§III-A, §VIII).

    Examples
    --------
    >>> b_for(20)
    25.0
    """
    return 1.25 * buffer

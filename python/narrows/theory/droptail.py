"""One flow behind a drop-tail queue: its sawtooth in closed form.

A window that grows evenly to fill the path and the buffer, loses one packet, and keeps the share β.
It needs windows of many packets, paced packets and one loss in a cycle; bursts undercut it where
only some packets fit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from narrows.theory.domain import above, below
from narrows.types import Floats


def utilisation(buffer: ArrayLike, beta: ArrayLike = 0.5) -> Floats:
    """Return the utilisation of a sawtooth, of a buffer in bandwidth-delay products.

    With l = β(1 + b): below the BDP a round trip takes the base RTT and carries w, above it takes
    w and the link is full. So it is ((1 − l²)/2 + b(1 + b/2)) / (1 − l + b(1 + b/2)), and 1 if l is
    1 or more; with β = 1/2 it is 3/4 without a buffer (Appenzeller, Keslassy, McKeown, SIGCOMM
    2004, has the picture).

    Parameters
    ----------
    buffer
        b, above 0 or 0, of any shape.
    beta
        The share kept after a loss, at least 0 and below 1; Reno's unless given, 0.7 for CUBIC
        where it grows like Reno.

    Returns
    -------
    ndarray
        Of the shape of both.

    Raises
    ------
    ValueError
        If a value is outside of these bounds.

    Examples
    --------
    >>> utilisation([0, 0.05, 0.1, 0.25, 0.5, 1]).round(2)
    array([0.75, 0.79, 0.82, 0.89, 0.96, 1.  ])
    >>> utilisation([0, 0.1, 0.25], 0.7).round(2)
    array([0.85, 0.92, 0.98])
    """
    b = below("buffer", buffer, 0, np.inf)
    low = below("beta", beta, 0, 1) * (1 + b)
    full = b * (1 + b / 2)
    carried = (1 - low**2) / 2 + full
    time = 1 - low + full
    return np.asarray(np.where(low >= 1, 1.0, carried / np.where(time > 0, time, 1.0)))


def loss_of(flows: ArrayLike, packets: ArrayLike) -> Floats:
    """Return the loss of Reno flows that share path and buffer: 0.76 N²/S² (RFC 7928 §8.2.1).

    Parameters
    ----------
    flows
        N, above 0, of any shape.
    packets
        S, the packets that path and buffer hold, above 0.

    Returns
    -------
    ndarray
        Ratios; above a tenth or so the formula does not hold.

    Raises
    ------
    ValueError
        If a value is not above 0.

    Examples
    --------
    >>> loss_of([3.6, 8.1, 11.4], 100).round(3)
    array([0.001, 0.005, 0.01 ])
    """
    share = above("flows", flows, 0) / above("packets", packets, 0)
    return np.asarray(0.76 * share**2)

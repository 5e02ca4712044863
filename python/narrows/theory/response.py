"""Response functions: a law's mean window at a loss probability."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def square_root(p: ArrayLike, constant: float = float(np.sqrt(1.5))) -> NDArray[np.float64]:
    """Give the mean window of Reno's law with an acknowledgement a packet: constant/√p.

    Parameters
    ----------
    p
        Loss probability a packet, of any shape.
    constant
        √(3/2) for losses at equal distances; 1.31 for independent losses.

    Returns
    -------
    ndarray
        Packets, in the shape of `p`.

    References
    ----------
    M. Mathis, J. Semke, J. Mahdavi, T. Ott: "The macroscopic behavior of the TCP congestion avoidance algorithm", CCR 27 (1997).

    Examples
    --------
    >>> round(float(square_root(1e-4)), 2)
    122.47
    """
    return np.asarray(constant / np.sqrt(np.asarray(p, dtype=np.float64)))


def square_root_loss(window: ArrayLike) -> NDArray[np.float64]:
    """Give the loss probability at which TCP's mean window is so large: 2/W² (E-TCP, eq. 2)."""
    return np.asarray(2.0 / np.asarray(window, dtype=np.float64) ** 2)


def etcp(p: ArrayLike, p0: float = 0.01) -> NDArray[np.float64]:
    """Give E-TCP's window: 2/(p − p0), p losses per acknowledged packet (E-TCP, eq. 5).

    Examples
    --------
    >>> round(float(etcp(0.0102)))
    10000
    """
    return np.asarray(2.0 / (np.asarray(p, dtype=np.float64) - p0))


def etcp_loss(window: ArrayLike, p0: float = 0.01) -> NDArray[np.float64]:
    """Give the losses per acknowledged packet at which E-TCP's window is so large: p0 + 2/W (E-TCP, eq. 5)."""
    return np.asarray(p0 + 2.0 / np.asarray(window, dtype=np.float64))


def per_packet_sent(p: ArrayLike) -> NDArray[np.float64]:
    """Turn losses per acknowledged packet into losses per packet sent: p/(1 + p).

    Examples
    --------
    >>> round(float(per_packet_sent(etcp_loss(12_020))), 5)
    0.01006
    """
    p = np.asarray(p, dtype=np.float64)
    return np.asarray(p / (1.0 + p))

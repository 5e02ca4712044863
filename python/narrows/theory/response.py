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

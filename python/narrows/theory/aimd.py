"""The AIMD matrix model (Leith, Shorten: H-TCP, §2): windows from one congestion event to the next.

Windows are taken just before a congestion event; α is packets gained a round trip (or, with different RTTs, a second), β the share kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def matrix(alpha: ArrayLike, beta: ArrayLike) -> Floats:
    """Give A, with W(k + 1) = A·W(k): diag(β) + α(1 − β)ᵀ/Σα (eqs. 5, 6, 14).

    Parameters
    ----------
    alpha, beta
        Of n sources, shape (n,); β of 1 stands for a source that sees no drop (eq. 11).

    Returns
    -------
    ndarray
        Shape (n, n); its columns sum to 1, so the packets in the pipe stay as many.

    Examples
    --------
    >>> matrix([1, 1], [0.5, 0.5])
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    a, b = _pair(alpha, beta)
    return np.asarray(np.diag(b) + np.outer(a, 1.0 - b) / a.sum())


def perron_vector(alpha: ArrayLike, beta: ArrayLike) -> Floats:
    """Give the shares that windows converge to, α_i/(1 − β_i), as parts of 1 (theorem 2.1).

    Examples
    --------
    Fair, and friendly to TCP, is α = 2(1 − β):

    >>> perron_vector([1, 0.5], [0.5, 0.75])
    array([0.5, 0.5])
    """
    a, b = _pair(alpha, beta)
    shares = a / (1.0 - b)
    return np.asarray(shares / shares.sum())


def eigenvalues(alpha: ArrayLike, beta: ArrayLike) -> Floats:
    """Give A's eigenvalues, the largest, 1, first: real, all in [β_1, 1], interlaced with the β (§2, (ii)).

    Examples
    --------
    >>> eigenvalues([1, 1, 1], [0.5, 0.5, 0.8]).round(3)
    array([1. , 0.7, 0.5])
    """
    return np.sort(np.linalg.eigvals(matrix(alpha, beta)).real)[::-1]


def rise_time(alpha: ArrayLike, beta: ArrayLike, left: float = 0.05) -> float:
    """Give the congestion epochs until a share `left` of the distance to the fixed point is left: log(left)/log(λ₂) (§2, (ii)).

    The paper prints log(0.95); 95 % of the way means that 5 % are left, and only log(0.05) gives its "about 4" at β = 0.5.

    Examples
    --------
    >>> round(rise_time([1, 1], [0.5, 0.5]), 2)
    4.32
    """
    return float(np.log(left) / np.log(eigenvalues(alpha, beta)[1]))


def evolve(alpha: ArrayLike, beta: ArrayLike, start: ArrayLike, epochs: int) -> Floats:
    """Give W(0), W(1), … of synchronised sources (eq. 5).

    Returns
    -------
    ndarray
        Shape (epochs + 1, n).
    """
    step = matrix(alpha, beta)
    windows = [np.asarray(start, dtype=np.float64)]
    for _ in range(epochs):
        windows.append(step @ windows[-1])
    return np.array(windows)


def random_products(
    alpha: ArrayLike,
    beta: ArrayLike,
    drops: ArrayLike,
    start: ArrayLike,
    epochs: int,
    seed: int = 1,
) -> Floats:
    """Give W(0), W(1), … where each event drops packets of some sources only: random products of matrices (eqs. 11 to 15).

    Parameters
    ----------
    alpha, beta, start
        Of n sources.
    drops
        Observed or supposed events, shape (events, n): true where a source sees a drop. Each epoch takes one of them at random.
    epochs, seed
        How long, and where the randomness comes from.

    Returns
    -------
    ndarray
        Shape (epochs + 1, n).
    """
    a, b = _pair(alpha, beta)
    events = np.asarray(drops, dtype=bool)
    random = np.random.default_rng(seed)
    windows = [np.asarray(start, dtype=np.float64)]
    for event in events[random.integers(len(events), size=epochs)]:
        windows.append(matrix(a, np.where(event, b, 1.0)) @ windows[-1])
    return np.array(windows)


def mean_shares(alpha: ArrayLike, beta: ArrayLike, probabilities: ArrayLike) -> Floats:
    """Give the shares of the mean windows where source i sees a drop with `probabilities[i]`: α_i/(p_i(1 − β_i)), as parts of 1.

    The mean of A is the matrix with 1 − p_i(1 − β_i) in the place of β_i, for any dependence between the sources, as long as events do not
    depend on windows (§2.1); this is its Perron vector.

    Examples
    --------
    >>> mean_shares([1, 1], [0.5, 0.5], [1.0, 0.5]).round(3)
    array([0.333, 0.667])
    """
    a, b = _pair(alpha, beta)
    p = np.asarray(probabilities, dtype=np.float64)
    return perron_vector(a, 1.0 - p * (1.0 - b))


def running_mean(windows: ArrayLike) -> Floats:
    """Give the empirical mean of W(0) … W(k) for each k: what figure 7 shows converge."""
    values = np.asarray(windows, dtype=np.float64)
    return np.asarray(values.cumsum(axis=0) / np.arange(1, len(values) + 1)[:, None])


def throughput_ratio_beta(rtt_min: float, rtt_max: float) -> float:
    """Give the back-off that just empties the queue: RTT_min/RTT_max (eqs. 9, 21)."""
    return rtt_min / rtt_max


def _pair(
    alpha: ArrayLike | Sequence[float], beta: ArrayLike | Sequence[float]
) -> tuple[Floats, Floats]:
    a, b = np.asarray(alpha, dtype=np.float64), np.asarray(beta, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(
            f"alpha has the shape {a.shape}, beta {b.shape}; both need one value for each source"
        )
    return a, b

"""The AIMD matrix model (Leith, Shorten: H-TCP, §2): windows from one congestion event to the next.

Windows are those just before a congestion event. α is the number of packets gained per round trip
(per second if RTTs differ), β the share of the window that is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from narrows.theory.domain import above, below, between, whole, within
from narrows.types import Floats


def matrix(alpha: ArrayLike, beta: ArrayLike) -> Floats:
    """Return the matrix A of W(k + 1) = A·W(k): diag(β) + α(1 − β)ᵀ/Σα (eqs. 5, 6, 14).

    Parameters
    ----------
    alpha, beta
        Of n sources, shape (n,): packets gained per round trip, above 0, and shares kept, from 0 to
        1; β = 1 stands for a source that sees no drop (eq. 11).

    Returns
    -------
    ndarray
        Shape (n, n). Its columns sum to 1, so the number of packets in the pipe is constant.

    Raises
    ------
    ValueError
        If the shapes differ or a value is outside of these bounds.

    Examples
    --------
    >>> matrix([1, 1], [0.5, 0.5])
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    a, b = _pair(alpha, beta)
    return np.asarray(np.diag(b) + np.outer(a, 1.0 - b) / a.sum())


def perron_vector(alpha: ArrayLike, beta: ArrayLike) -> Floats:
    """Return the shares to which the windows converge (theorem 2.1).

    They are α_i/(1 − β_i), scaled to sum to 1.

    Parameters
    ----------
    alpha, beta
        Of n sources, shape (n,): packets gained per round trip, above 0, and shares kept, at
        least 0 and below 1.

    Returns
    -------
    ndarray
        Shape (n,), summing to 1.

    Raises
    ------
    ValueError
        If the shapes differ or a value is outside of these bounds.

    Examples
    --------
    With α = 2(1 − β) the sources are fair, and friendly to TCP:

    >>> perron_vector([1, 0.5], [0.5, 0.75])
    array([0.5, 0.5])
    """
    a, b = _pair(alpha, beta)
    below("beta", b, 0, 1)
    shares = a / (1.0 - b)
    return np.asarray(shares / shares.sum())


def eigenvalues(alpha: ArrayLike, beta: ArrayLike) -> Floats:
    """Return the eigenvalues of A in descending order, beginning with 1 (§2, (ii)).

    They are real, lie in [β_1, 1] and interlace with the β.

    Parameters
    ----------
    alpha, beta
        Of n sources, shape (n,): packets gained per round trip, above 0, and shares kept, from 0 to
        1.

    Returns
    -------
    ndarray
        Shape (n,).

    Raises
    ------
    ValueError
        If the shapes differ or a value is outside of these bounds.

    Examples
    --------
    >>> eigenvalues([1, 1, 1], [0.5, 0.5, 0.8]).round(3)
    array([1. , 0.7, 0.5])
    """
    return np.sort(np.linalg.eigvals(matrix(alpha, beta)).real)[::-1]


def rise_time(alpha: ArrayLike, beta: ArrayLike, left: float = 0.05) -> float:
    """Return the number of congestion epochs until a share `left` of the distance remains.

    The distance is that to the fixed point; the number is log(left)/log(λ₂) (§2, (ii)). The paper
    prints log(0.95), but 95 % of the way means that 5 % are left, and only log(0.05) gives its
    "about 4" at β = 0.5.

    Parameters
    ----------
    alpha, beta
        Of n sources, shape (n,): packets gained per round trip, above 0, and shares kept, at
        least 0 and below 1; at least two sources.
    left
        Share of the distance that is left, between 0 and 1.

    Returns
    -------
    float
        In congestion epochs.

    Raises
    ------
    ValueError
        If the shapes differ or a value is outside of these bounds.

    Examples
    --------
    >>> round(rise_time([1, 1], [0.5, 0.5]), 2)
    4.32
    """
    a, b = _pair(alpha, beta)
    below("beta", b, 0, 1)
    if a.size < 2:
        raise ValueError("alpha has one source; a distance from a share needs two")
    return float(np.log(between("left", left, 0, 1)) / np.log(eigenvalues(alpha, beta)[1]))


def evolve(alpha: ArrayLike, beta: ArrayLike, start: ArrayLike, epochs: int) -> Floats:
    """Compute W(0), W(1), … of synchronised sources (eq. 5).

    Parameters
    ----------
    alpha, beta
        Of n sources, shape (n,): packets gained per round trip, above 0, and shares kept, from 0 to
        1.
    start
        W(0) in packets, at least 0, shape (n,).
    epochs
        The number of congestion epochs, at least 0.

    Returns
    -------
    ndarray
        Windows in packets just before each event, shape (epochs + 1, n).

    Raises
    ------
    ValueError
        If the shapes differ or a value is outside of these bounds.
    """
    step = matrix(alpha, beta)
    windows = [_start(start, len(step))]
    for _ in range(whole("epochs", epochs, 0)):
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
    """Compute W(0), W(1), … if not every source sees a drop at every event.

    The windows are random products of matrices (eqs. 11 to 15).

    Parameters
    ----------
    alpha, beta, start
        Of n sources, shape (n,): packets gained per round trip, above 0, shares kept, from 0 to 1,
        and W(0) in packets, at least 0.
    drops
        Observed or assumed events, shape (events, n): true if the source sees a drop. Each epoch
        takes one of them at random.
    epochs
        Number of epochs.
    seed
        Seed of the random choice of events.

    Returns
    -------
    ndarray
        Windows in packets just before each event, shape (epochs + 1, n).

    Raises
    ------
    ValueError
        If the shapes differ or a value is outside of these bounds.
    """
    a, b = _pair(alpha, beta)
    events = np.asarray(drops, dtype=bool)
    if events.ndim != 2 or events.shape[1] != len(a) or not len(events):
        raise ValueError(f"drops has the shape {events.shape}; it needs (events, {len(a)})")
    random = np.random.default_rng(seed)
    windows = [_start(start, len(a))]
    for event in events[random.integers(len(events), size=whole("epochs", epochs, 0))]:
        windows.append(matrix(a, np.where(event, b, 1.0)) @ windows[-1])
    return np.array(windows)


def mean_shares(alpha: ArrayLike, beta: ArrayLike, probabilities: ArrayLike) -> Floats:
    """Return the shares of the mean windows if source i sees a drop with `probabilities[i]`.

    The shares are α_i/(p_i(1 − β_i)), scaled to sum to 1. The mean of A is the matrix with
    1 − p_i(1 − β_i) in place of β_i, whatever the dependence between the sources, as long as events
    do not depend on windows (§2.1); the shares are its Perron vector.

    Parameters
    ----------
    alpha, beta
        Of n sources, shape (n,): packets gained per round trip, above 0, and shares kept, at
        least 0 and below 1.
    probabilities
        p_i, with which a source sees a drop at an event, shape (n,), above 0 and at most 1.

    Returns
    -------
    ndarray
        Shape (n,), summing to 1.

    Raises
    ------
    ValueError
        If the shapes differ or a value is outside of these bounds.

    Examples
    --------
    >>> mean_shares([1, 1], [0.5, 0.5], [1.0, 0.5]).round(3)
    array([0.333, 0.667])
    """
    a, b = _pair(alpha, beta)
    p = above("probabilities", probabilities, 0, 1)
    if p.shape != a.shape:
        raise ValueError(f"probabilities has the shape {p.shape}; it needs {a.shape}")
    return perron_vector(a, 1.0 - p * (1.0 - b))


def running_mean(windows: ArrayLike) -> Floats:
    """Return the empirical mean of W(0) … W(k) for each k, which figure 7 shows to converge.

    Parameters
    ----------
    windows
        W(0), W(1), … of n sources in packets, shape (epochs, n).

    Returns
    -------
    ndarray
        In packets, of the same shape.

    Raises
    ------
    ValueError
        If the shape is another.
    """
    values = np.asarray(windows, dtype=np.float64)
    if values.ndim != 2:
        raise ValueError(f"windows has the shape {values.shape}; it needs (epochs, n)")
    return np.asarray(values.cumsum(axis=0) / np.arange(1, len(values) + 1)[:, None])


def throughput_ratio_beta(rtt_min: float, rtt_max: float) -> float:
    """Return the back-off factor that just empties the queue, RTT_min/RTT_max (eqs. 9, 21).

    Parameters
    ----------
    rtt_min, rtt_max
        The RTT without a queue and with a full one, above 0, in the same unit.

    Returns
    -------
    float
        The share of the window to keep, at most 1.

    Raises
    ------
    ValueError
        If an RTT is not above 0, or the smaller is larger than the larger.
    """
    return float(above("rtt_min", rtt_min, 0, rtt_max) / above("rtt_max", rtt_max, 0))


def _start(start: ArrayLike, sources: int) -> Floats:
    windows = within("start", start, 0, np.inf)
    if windows.shape != (sources,):
        raise ValueError(f"start has the shape {windows.shape}; it needs ({sources},)")
    return windows


def _pair(
    alpha: ArrayLike | Sequence[float], beta: ArrayLike | Sequence[float]
) -> tuple[Floats, Floats]:
    a, b = np.asarray(alpha, dtype=np.float64), np.asarray(beta, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(
            f"alpha has the shape {a.shape}, beta {b.shape}; both need one value per source"
        )
    return above("alpha", a, 0), within("beta", b, 0, 1)

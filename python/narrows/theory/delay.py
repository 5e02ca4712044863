"""Differential equations with delays: their solution in time, and the roots that decide stability.

No library that is kept has both without a compiler at the user's: SciPy leaves delays out as too
special, ddeint interpolates linearly, JiTCDDE compiles C.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from narrows.theory.domain import above, within
from narrows.types import Floats

Past = Callable[[float], Floats]
"""What the state was at a time, in seconds."""

MOST_STEPS = 1_000_000
"""A solution of more steps is refused: it would take minutes."""


def solve(
    derivative: Callable[[float, Floats, Past], ArrayLike],
    before: ArrayLike | Past,
    seconds: float,
    step: float,
    clip: Callable[[Floats], Floats] | None = None,
) -> tuple[Floats, Floats]:
    """Integrate x′(t) = f(t, x(t), x at earlier times) from 0 on.

    Runge and Kutta's method of order 4; between steps the past is a cubic by Hermite, of the same
    order. Where `clip` acts the order is 1.

    Parameters
    ----------
    derivative
        f as a function of time in seconds, the state, and the past, which it may ask for any time
        that is at least a step before now: delays may depend on the state.
    before
        The state up to time 0, of shape (n,), or as a function of time.
    seconds
        Length of the integration, in seconds, above 0.
    step
        Step in seconds, above 0 and at most `seconds`; where delays are constant, best a whole part
        of each.
    clip
        Keeps a state within its bounds, such as a queue within its buffer; None if nothing does.

    Returns
    -------
    time, states
        Of shapes (steps + 1,) and (steps + 1, n), time 0 included.

    Raises
    ------
    ValueError
        If a value is outside of these bounds, there would be more than `MOST_STEPS` steps, the past
        is asked for a time less than a step ago, or the solution leaves all bounds.

    References
    ----------
    Bellen, Zennaro: "Numerical Methods for Delay Differential Equations", §3.

    Examples
    --------
    x′ = −x(t − 1), 1 before 0, is 1 − t up to 1, and then (t − 1)²/2 more:

    >>> time, states = solve(lambda t, x, past: -past(t - 1), [1.0], 3.0, 1 / 40)
    >>> [round(float(x), 6) for x in states[[20, 80, 120], 0]]
    [0.5, -0.5, -0.166667]
    """
    above("seconds", seconds, 0)
    above("step", step, 0, seconds)
    steps = round(seconds / step)
    if steps > MOST_STEPS:
        raise ValueError(
            f"step: {step!r} makes {steps} steps of {seconds:g} s; {MOST_STEPS} at most"
        )
    history = before if callable(before) else _constant(before)
    first = np.asarray(history(0.0), dtype=np.float64)
    states, slopes = (np.empty((steps + 1, first.size)) for _ in range(2))
    states[0] = first
    done = 0

    def past(time: float) -> Floats:
        if time <= 0:
            return np.asarray(history(time), dtype=np.float64)
        number = int(time / step)
        # A time on the grid may lie a rounding beyond its place.
        at = min(number, done - 1) if time <= done * step * (1 + 1e-12) else done
        if at >= done:
            raise ValueError(f"past: {time!r} is less than a step of {step:g} s ago")
        return _hermite(states, slopes, at, time / step - at, step)

    for done in range(steps):
        now, x = done * step, states[done]
        k1 = np.asarray(derivative(now, x, past), dtype=np.float64)
        slopes[done] = k1
        k2 = np.asarray(derivative(now + step / 2, x + step / 2 * k1, past))
        k3 = np.asarray(derivative(now + step / 2, x + step / 2 * k2, past))
        k4 = np.asarray(derivative(now + step, x + step * k3, past))
        following = x + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        states[done + 1] = following if clip is None else clip(following)
        if not np.isfinite(states[done + 1]).all():
            raise ValueError(f"the solution leaves all bounds at {now + step:g} s")
    time: Floats = np.arange(steps + 1, dtype=np.float64) * step
    return time, states


def _constant(before: ArrayLike) -> Past:
    state = np.atleast_1d(np.asarray(before, dtype=np.float64))
    return lambda _: state


def _hermite(states: Floats, slopes: Floats, at: int, part: float, step: float) -> Floats:
    """Return the state `part` of a step after number `at`, between its ends and their slopes."""
    rest = 1 - part
    low, high = states[at], states[at + 1]
    bend = rest * step * slopes[at] - part * step * slopes[at + 1] - (rest - part) * (high - low)
    inside: Floats = rest * low + part * high + part * rest * bend
    return inside


def rightmost(matrices: Sequence[ArrayLike], delays: Sequence[float], points: int = 20) -> complex:
    """Return the root λ of largest real part of det(λI − Σ A_k e^(−λτ_k)) = 0.

    x′ = Σ A_k x(t − τ_k) is stable if and only if its real part is negative. The generator of the
    solutions is approximated on Chebyshev points, more of them until the root no longer moves, and
    the root is polished by Newton's method. Of a pair the one above the real axis is returned.

    Parameters
    ----------
    matrices
        A_k, each of shape (n, n) or a number; the first belongs to no delay.
    delays
        τ_k in seconds, as many, not negative; the largest is above 0.
    points
        Points to begin with, at least 2.

    Returns
    -------
    complex
        λ in 1/s.

    Raises
    ------
    ValueError
        If a value is outside of these bounds, or shapes differ.

    References
    ----------
    Breda, Maset, Vermiglio: "Pseudospectral differencing methods for characteristic roots of delay
    differential equations", SIAM J. Sci. Comput. 27 (2005).

    Examples
    --------
    Hayes' equation x′ = −a x(t − 1) is stable up to a = π/2:

    >>> round(rightmost([0, -1.5], [0, 1]).real, 6), round(rightmost([0, -2.0], [0, 1]).real, 6)
    (-0.032784, 0.172816)
    """
    parts = [np.atleast_2d(np.asarray(matrix, dtype=np.float64)) for matrix in matrices]
    lags = within("delays", delays, 0, np.inf)
    if any(part.shape != (len(parts[0]),) * 2 for part in parts):
        raise ValueError(f"matrices: {[part.shape for part in parts]} are not square and alike")
    if len(lags) != len(parts):
        raise ValueError(f"delays: {len(lags)} of them for {len(parts)} matrices")
    above("the largest delay", lags.max(), 0)
    if points < 2:
        raise ValueError(f"points: {points!r} is not at least 2")
    tried = (points * 3**turn // 2**turn for turn in range(9))
    found = (_polished(_spectral(parts, lags, number), parts, lags) for number in tried)
    root = 0j
    for root, again in pairwise(found):
        if abs(again - root) < 1e-8 * max(1.0, abs(again)):
            return again
    return root


def _spectral(parts: Sequence[Floats], lags: Floats, points: int) -> complex:
    """Return the rightmost eigenvalue of the generator on Chebyshev points."""
    size, longest = len(parts[0]), float(lags.max())
    nodes: Floats = np.cos(np.pi * np.arange(points + 1, dtype=np.float64) / points)
    weights: Floats = np.power(-1.0, np.arange(points + 1))
    weights[[0, -1]] /= 2
    apart = nodes[:, None] - nodes[None, :] + np.eye(points + 1)
    slopes = weights[None, :] / weights[:, None] / apart
    slopes -= np.diag(slopes.sum(axis=1))
    generator = np.kron(slopes * 2 / longest, np.eye(size))
    generator[:size] = 0
    for part, lag in zip(parts, lags, strict=True):
        values = _interpolation(nodes, weights, 1 - 2 * lag / longest)
        generator[:size] += np.kron(values, part)
    roots = np.linalg.eigvals(generator)
    return complex(roots[np.argmax(roots.real + 1e-12 * roots.imag)])


def _interpolation(nodes: Floats, weights: Floats, at: float) -> Floats:
    """Return by how much each node's value counts at a place between them (barycentric form)."""
    apart = at - nodes
    if (here := np.abs(apart) < 1e-14).any():
        return here.astype(np.float64)
    shares = weights / apart
    return np.asarray(shares / shares.sum(), dtype=np.float64)


def _polished(root: complex, parts: Sequence[Floats], lags: Floats) -> complex:
    """Return the root after Newton's method on the determinant, if that stays near."""
    identity, polished = np.eye(len(parts[0])), root
    for _ in range(20):
        shrunk = [part * np.exp(-polished * lag) for part, lag in zip(parts, lags, strict=True)]
        matrix = polished * identity - sum(shrunk)
        slope = identity + sum(part * lag for part, lag in zip(shrunk, lags, strict=True))
        try:
            change = 1 / np.trace(np.linalg.solve(matrix, slope))
        except np.linalg.LinAlgError:
            return polished
        polished -= change
        if abs(change) < 1e-14 * max(1.0, abs(polished)):
            break
    near = abs(polished - root) < 1e-2 * max(1.0, abs(root))
    return complex(polished.real, abs(polished.imag)) if near else root

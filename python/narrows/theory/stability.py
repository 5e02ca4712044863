"""Stability of windows that share one link, as linear loops with a delay of a round trip.

Near the equilibrium of w′ = x(t − T)(i(w)(1 − p(t − T)) − d(w)p(t − T)) with p a function of the
load, time in round trips, a deviation moves as u′ = −a·u − g·u(t − 1) with the gain g = i(w)·E, E
the elasticity of the loss, and the damping a = −w(i′(w)(1 − p) − d′(w)p). It dies out if and only
if g is below arccos(−a/g)/√(1 − (a/g)²): π/2 without damping, more with it. Beyond, the rate swings
with a period of about four round trips.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from narrows.theory.delay import rightmost
from narrows.theory.domain import above
from narrows.theory.fluid import Window, etcp
from narrows.theory.queue import elasticity


def critical_gain(ratio: float) -> float:
    """Return the gain up to which a loop is stable whose damping is `ratio` times its gain.

    Parameters
    ----------
    ratio
        a/g; negative if the loop without delay departs by itself.

    Returns
    -------
    float
        arccos(−a/g)/√(1 − (a/g)²); infinite from a = g on, 0 up to a = −g.

    Raises
    ------
    ValueError
        If the ratio is NaN.

    References
    ----------
    Hayes: "Roots of the transcendental equation associated with a certain difference-differential
    equation", J. London Math. Soc. 25 (1950).

    Examples
    --------
    >>> [round(critical_gain(ratio), 6) for ratio in (-1.0, -0.5, 0.0, 0.2, 1.0)]
    [0.0, 1.2092, 1.570796, 1.808697, inf]
    """
    if math.isnan(ratio):
        raise ValueError("ratio: nan is no ratio")
    if abs(ratio) >= 1:
        return math.inf if ratio > 0 else 0.0
    return math.acos(-ratio) / math.sqrt(1 - ratio * ratio)


@dataclass(frozen=True)
class Loop:
    """The linear loop at an equilibrium, with time in round trips.

    Parameters
    ----------
    window
        Packets of each flow.
    loss
        Share of packets lost.
    load
        ρ.
    elasticity
        E.
    gain
        g.
    damping
        a.
    """

    window: float
    loss: float
    load: float
    elasticity: float
    gain: float
    damping: float

    @property
    def margin(self) -> float:
        """Return by what factor the gain may still rise; below 1 if the loop is unstable."""
        return critical_gain(self.damping / self.gain) / self.gain

    @property
    def is_stable(self) -> bool:
        """Return whether a small deviation dies out."""
        return bool(self.margin > 1)

    @property
    def root(self) -> complex:
        """Return the rightmost root, per round trip."""
        return rightmost([-self.damping, -self.gain], [0, 1])


def loop_at(law: Window, window: float, load: float, elastic: float) -> Loop:
    """Return the loop of flows of a law at a window, for a loss of a given elasticity.

    Parameters
    ----------
    law
        Their law.
    window
        The window of each in packets, above 0.
    load
        ρ.
    elastic
        E.

    Returns
    -------
    Loop
        The loop.
    """
    above("window", window, 0)
    gained, lost = law.increase(window), law.decrease(window)
    loss = gained / (gained + lost)
    step = 1e-5 * window

    def slope(of: Callable[[float], float]) -> float:
        return (of(window + step) - of(window - step)) / (2 * step)

    damping = -window * (slope(law.increase) * (1 - loss) - slope(law.decrease) * loss)
    return Loop(window, loss, load, elastic, gained * elastic, damping)


def one_link(law: Window, of_load: Callable[[float], float], share: float) -> Loop:
    """Return the loop of equal flows that share a link.

    Parameters
    ----------
    law
        Their law.
    of_load
        The share lost as a function of ρ, such as `narrows.theory.fluid_queues.power_loss`.
    share
        Packets that the link carries for each flow in a round trip, above 0.

    Returns
    -------
    Loop
        The loop at their equilibrium.

    Raises
    ------
    ValueError
        If the share is not above 0, or no load between a tenth and ten times the capacity is their
        equilibrium.

    Examples
    --------
    The paper's b = 25 is twice what one link of ρ^20 needs:

    >>> from narrows.theory.fluid_queues import power_loss
    >>> loop = one_link(etcp(), power_loss(20), 12_020)
    >>> round(loop.load, 4), round(loop.margin, 2), loop.is_stable
    (0.7947, 1.96, True)
    """
    above("share", share, 0)

    def surplus(load: float) -> float:
        window, loss = load * share, of_load(load)
        return law.increase(window) * (1 - loss) - law.decrease(window) * loss

    if not surplus(0.1) > 0 > surplus(10):
        raise ValueError(f"share: {share!r} packets have no equilibrium on this link")
    load = float(brentq(surplus, 0.1, 10, xtol=1e-13))
    return loop_at(law, load * share, load, elasticity(of_load, load))


def at_window(law: Window, of_load: Callable[[float], float], window: float) -> Loop:
    """Return the loop of flows whose window at equilibrium is given, whatever link that takes.

    Parameters
    ----------
    law
        Their law.
    of_load
        The share lost as a function of ρ.
    window
        Packets, above 0.

    Returns
    -------
    Loop
        The loop.

    Raises
    ------
    ValueError
        If the window is not above 0, or no load up to ten times the capacity loses so much.

    Examples
    --------
    Reno in 20 packets is unstable below twelve packets if the loss is ρ^20, and never if packets
    come to an M/M/1/20 queue:

    >>> from narrows.theory.fluid_queues import poisson_loss, power_loss
    >>> from narrows.theory.fluid import reno
    >>> [at_window(reno(), power_loss(20), w).is_stable for w in (11, 13)]
    [False, True]
    >>> at_window(reno(), poisson_loss(20), 11).is_stable
    True
    """
    above("window", window, 0)
    gained, lost = law.increase(window), law.decrease(window)
    loss = gained / (gained + lost)
    if not of_load(10.0) > loss:
        raise ValueError(f"window: {window!r} needs a loss of {loss:.2g}, more than there is")
    load = float(brentq(lambda rho: of_load(rho) - loss, 1e-3, 10, xtol=1e-13))
    return loop_at(law, window, load, elasticity(of_load, load))


def least_b(of_load: Callable[[float], float], share: float, p0: float = 0.01) -> float:
    """Return the least b with which E-TCP is stable on one link.

    On a network of any round trips b > E is enough at each link (Vinnicombe; Kelly, CCR 2003),
    which is π/2 times as much or more.

    Parameters
    ----------
    of_load
        The share lost as a function of ρ.
    share
        Packets that the link carries for each flow in a round trip, above 0.
    p0
        Losses per packet, above 0.

    Returns
    -------
    float
        b in packets: the equilibrium does not depend on it, and the gain falls with it.

    Raises
    ------
    ValueError
        If a value is out of bounds, or there is no equilibrium.

    Examples
    --------
    >>> from narrows.theory.fluid_queues import equal_loss, power_loss
    >>> round(least_b(power_loss(20), 12_020), 2), round(least_b(equal_loss(20), 12_020), 2)
    (12.72, 15.33)
    """
    above("p0", p0, 0)
    unit = one_link(etcp(1.0, p0), of_load, share)
    return unit.gain / critical_gain(unit.damping / unit.gain)


def red(
    flows: float, capacity: float, rtt: float, slope: float, speed: float
) -> tuple[complex, bool]:
    """Return the rightmost root of Reno's windows under RED, and whether they are proven stable.

    Parameters
    ----------
    flows
        n, above 0.
    capacity
        C in packets per second, above 0.
    rtt
        T in seconds, the queue's wait included, above 0.
    slope
        L, the loss per packet of the mean queue, above 0: p_max/(max − min).
    speed
        K in 1/s, at which the mean follows the queue, above 0: −C·ln(1 − w_q).

    Returns
    -------
    root, proven
        The root in 1/s; whether L(TC)³/(2n)² ≤ √(ω²/K² + 1) with ω a tenth of min(2n/(T²C), 1/T),
        which is enough, and not needed.

    Raises
    ------
    ValueError
        If a value is not above 0.

    References
    ----------
    Hollot, Misra, Towsley, Gong: "A control theoretic analysis of RED", INFOCOM 2001.

    Examples
    --------
    >>> root, proven = red(60, 3750, 0.246, slope=1.86e-4, speed=0.005)
    >>> round(root.real, 7), proven
    (-0.0646463, True)
    """
    for name, value in (("flows", flows), ("capacity", capacity), ("rtt", rtt)):
        above(name, value, 0)
    above("slope", slope, 0)
    above("speed", speed, 0)
    per_flow, fills = flows / (rtt**2 * capacity), 1 / (rtt**2 * capacity)
    now = np.array([[-per_flow, -fills, 0], [flows / rtt, -1 / rtt, 0], [0, speed, -speed]])
    heard = np.zeros((3, 3))
    heard[0] = [-per_flow, fills, -slope * rtt * capacity**2 / (2 * flows**2)]
    root = rightmost([now, heard], [0, rtt])
    omega = min(2 * per_flow, 1 / rtt) / 10
    gain = slope * (rtt * capacity) ** 3 / (2 * flows) ** 2
    return root, gain <= math.sqrt((omega / speed) ** 2 + 1)


def xcp(alpha: float, beta: float) -> complex:
    """Return the rightmost root of XCP's loop e^(−s)(αs + β)/s², per round trip.

    Parameters
    ----------
    alpha, beta
        XCP's parameters, above 0.

    Returns
    -------
    complex
        The root: neither the round trip nor the capacity matters.

    Raises
    ------
    ValueError
        If a parameter is not above 0.

    References
    ----------
    Katabi, Handley, Rohrs: "Congestion Control for High Bandwidth-Delay Product Networks", SIGCOMM
    2002, §4.

    Examples
    --------
    >>> round(xcp(0.4, 0.226).real, 4), xcp(0.6, 0.6**2 * 2**0.5).real > 0
    (-0.0854, True)
    """
    above("alpha", alpha, 0)
    above("beta", beta, 0)
    now, heard = np.array([[0, 0], [1, 0]]), np.array([[-alpha, -beta], [0, 0]])
    return rightmost([now, heard], [0, 1])

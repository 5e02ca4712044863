"""Response functions: the mean window of a law at a loss probability."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from narrows.theory.domain import above, below, between, within
from narrows.types import Floats

# Layers of LTCP that are told apart.
_LAYERS = 2000


def square_root(p: ArrayLike, constant: float = float(np.sqrt(1.5))) -> Floats:
    """Return the mean window of Reno's law with one acknowledgement per packet, constant/√p.

    Parameters
    ----------
    p
        Loss probability per packet, above 0 and at most 1, of any shape.
    constant
        Above 0: √(3/2) for equally spaced losses, 1.31 for independent losses.

    Returns
    -------
    ndarray
        Mean window in packets, of the same shape as `p`.

    Raises
    ------
    ValueError
        If a probability is not above 0 and at most 1, or the constant is not above 0.

    References
    ----------
    M. Mathis, J. Semke, J. Mahdavi, T. Ott: "The macroscopic behavior of the TCP congestion
    avoidance algorithm", CCR 27 (1997).

    Examples
    --------
    >>> round(float(square_root(1e-4)), 2)
    122.47
    """
    return np.asarray(above("constant", constant, 0) / np.sqrt(above("p", p, 0, 1)))


def square_root_loss(window: ArrayLike) -> Floats:
    """Return the loss probability at which TCP's mean window is `window`, 2/W² (E-TCP, eq. 2).

    Parameters
    ----------
    window
        Mean window in packets, at least √2, where each packet is lost, of any shape.

    Returns
    -------
    ndarray
        Loss probability per packet, of the same shape as `window`.

    Raises
    ------
    ValueError
        If a window is below √2.
    """
    return np.asarray(2.0 / within("window", window, float(np.sqrt(2.0)), np.inf) ** 2)


def etcp(p: ArrayLike, p0: float = 0.01) -> Floats:
    """Return E-TCP's window, 2/(p − p0), with p in losses per acknowledged packet (E-TCP, eq. 5).

    Parameters
    ----------
    p
        Losses per acknowledged packet, above `p0`, of any shape.
    p0
        The loss rate above which the law keeps the bottleneck, at least 0.

    Returns
    -------
    ndarray
        Mean window in packets, of the same shape as `p`.

    Raises
    ------
    ValueError
        If a loss rate is not above `p0`, where the law has no equilibrium.

    Examples
    --------
    >>> round(float(etcp(0.0102)))
    10000
    """
    return np.asarray(2.0 / _excess(p, p0))


def etcp_loss(window: ArrayLike, p0: float = 0.01) -> Floats:
    """Return the losses per acknowledged packet at which E-TCP's window is `window`.

    It is p0 + 2/W (E-TCP, eq. 5).

    Parameters
    ----------
    window
        Mean window in packets, above 0, of any shape.
    p0
        The loss rate above which the law keeps the bottleneck, at least 0.

    Returns
    -------
    ndarray
        Losses per acknowledged packet, of the same shape as `window`.

    Raises
    ------
    ValueError
        If a window is not above 0, or `p0` is negative.
    """
    return np.asarray(within("p0", p0, 0, np.inf) + 2.0 / above("window", window, 0))


def _excess(p: ArrayLike, p0: float) -> Floats:
    """Return p − p0, above 0."""
    return above("p", p, float(within("p0", p0, 0, np.inf))) - p0


def etcp_sqrt(p: ArrayLike, p0: float = 0.01) -> Floats:
    """Return √(2/(p − p0)), the window that E-TCP's §III-A names beside the one it takes.

    Parameters
    ----------
    p
        Losses per acknowledged packet, above `p0`, of any shape.
    p0
        Loss rate above which the bottleneck is kept.

    Returns
    -------
    ndarray
        Mean window in packets, of the same shape as `p`.

    Raises
    ------
    ValueError
        If a loss rate is not above `p0`, where the law has no equilibrium.

    Examples
    --------
    >>> round(float(etcp_sqrt(0.0102)))
    100
    """
    return np.asarray(np.sqrt(2.0 / _excess(p, p0)))


def etcp_sqrt_loss(window: ArrayLike, p0: float = 0.01) -> Floats:
    """Return the losses per acknowledged packet at which `etcp_sqrt` is `window`, p0 + 2/W².

    Parameters
    ----------
    window
        Mean window in packets, above 0, of any shape.
    p0
        The loss rate above which the law keeps the bottleneck, at least 0.

    Returns
    -------
    ndarray
        Losses per acknowledged packet, of the same shape as `window`.

    Raises
    ------
    ValueError
        If a window is not above 0, or `p0` is negative.
    """
    return np.asarray(within("p0", p0, 0, np.inf) + 2.0 / above("window", window, 0) ** 2)


def tfrc(p: ArrayLike, rtt: float, packet: float = 1500.0) -> Floats:
    """Return the rate of TCP's throughput equation in bit/s (RFC 5348 §3.1).

    X = s/(R√(2p/3) + t(3√(3p/8) p (1 + 32p²))), with b = 1 and a timeout t of four round trips.

    Parameters
    ----------
    p
        Loss event rates, above 0, at most 1.
    rtt
        R, in seconds, above 0.
    packet
        s, in bytes.

    Returns
    -------
    ndarray
        Of the shape of `p`.

    Raises
    ------
    ValueError
        If a value is outside of these bounds.

    Examples
    --------
    >>> (tfrc([0.05, 0.1, 0.2], 0.04) / 1e6).round(2)
    array([1.11, 0.53, 0.16])
    """
    losses = above("p", p, 0, 1)
    above("rtt", rtt, 0)
    timeouts = 12 * np.sqrt(3 * losses / 8) * losses * (1 + 32 * losses**2)
    return np.asarray(8 * packet / (rtt * (np.sqrt(2 * losses / 3) + timeouts)))


def per_packet_sent(p: ArrayLike) -> Floats:
    """Convert losses per acknowledged packet into losses per packet sent, p/(1 + p).

    Parameters
    ----------
    p
        Losses per acknowledged packet, at least 0, of any shape.

    Returns
    -------
    ndarray
        Losses per packet sent, below 1, of the same shape as `p`.

    Raises
    ------
    ValueError
        If a loss rate is negative or infinite.

    Examples
    --------
    >>> round(float(per_packet_sent(etcp_loss(12_020))), 5)
    0.01006
    """
    lost = within("p", p, 0, np.inf)
    return np.asarray(lost / (1.0 + lost))


def aimd(p: ArrayLike, alpha: float = 1.0, beta: float = 0.5) -> Floats:
    """Return the mean window of additive increase and multiplicative decrease.

    The law adds α packets per round trip and keeps the share β after a loss: the mean window is
    √(α(1 + β)/(2(1 − β)p)) for equally spaced losses.

    Parameters
    ----------
    p
        Loss probability per packet, above 0 and at most 1, of any shape.
    alpha
        Packets gained per round trip, above 0.
    beta
        Share of the window that is kept after a loss, at least 0 and below 1.

    Returns
    -------
    ndarray
        Mean window in packets, of the same shape as `p`.

    Raises
    ------
    ValueError
        If a value is outside of these bounds.

    Examples
    --------
    >>> round(float(aimd(1e-4)), 2)
    122.47
    """
    gain = above("alpha", alpha, 0)
    kept = below("beta", beta, 0, 1)
    return np.asarray(np.sqrt(gain * (1 + kept) / (2 * (1 - kept) * above("p", p, 0, 1))))


def highspeed(p: ArrayLike) -> Floats:
    """Return HighSpeed TCP's window, 0.12/p^0.835 above 38 packets, Reno's below (RFC 3649, §5).

    Parameters
    ----------
    p
        Loss probability per packet, above 0 and at most 1, of any shape.

    Returns
    -------
    ndarray
        Mean window in packets, of the same shape as `p`.

    Raises
    ------
    ValueError
        If a probability is not above 0 and at most 1.

    Examples
    --------
    >>> round(float(highspeed(1e-7)), -2)
    84000.0
    """
    p = above("p", p, 0, 1)
    return np.where(p < 1.5 / 38**2, 0.12 / p**0.835, square_root(p))


def scalable(p: ArrayLike, a: float = 0.01, b: float = 0.125) -> Floats:
    """Return Scalable TCP's window, a/(b·p) (Kelly, §3.3; 0.08/p).

    At small windows Reno's increase adds more than `a` per packet: return the window of that
    increase with a decrease to 1 − b if it is larger.

    Parameters
    ----------
    p
        Loss probability per packet, above 0 and at most 1, of any shape.
    a
        Packets that the window gains for each acknowledged packet, above 0.
    b
        Share of the window that a loss takes, above 0 and at most 1.

    Returns
    -------
    ndarray
        Mean window in packets, of the same shape as `p`.

    Raises
    ------
    ValueError
        If a value is outside of these bounds.

    Examples
    --------
    >>> round(float(scalable(1e-5)))
    8000
    """
    above("a", a, 0)
    above("b", b, 0, 1)
    return np.maximum(a / (b * above("p", p, 0, 1)), aimd(p, beta=1 - b))


def compound(p: ArrayLike, alpha: float = 0.125, beta: float = 0.5, k: float = 0.75) -> Floats:
    """Return Compound TCP's mean window where no packet waits, for equally spaced losses.

    From (1 − β)W to W it grows by αw^k packets a round trip, and between two losses it sends
    (1 − (1 − β)^(2−k))W^(2−k)/(α(2 − k)) = 1/p packets. At small windows Reno's part adds more:
    return its window if that is larger.

    Parameters
    ----------
    p
        Loss probability per packet, above 0 and at most 1, of any shape.
    alpha
        α, above 0.
    beta
        Share of the window that a loss takes, above 0 and below 1.
    k
        The power of the window by which it grows, at least 0 and below 1.

    Returns
    -------
    ndarray
        Mean window in packets, of the same shape as `p`.

    Raises
    ------
    ValueError
        If a value is outside of these bounds.

    References
    ----------
    K. Tan, J. Song, Q. Zhang, M. Sridharan: "A Compound TCP approach for high-speed and long
    distance networks", INFOCOM 2006, whose law it is; worked out here.

    Examples
    --------
    >>> round(float(compound(1e-5)))
    2553
    """
    gain = float(above("alpha", alpha, 0))
    kept = 1 - float(above("beta", beta, 0, 1 - 1e-15))
    power = 2 - float(below("k", k, 0, 1))
    lost = above("p", p, 0, 1)
    peak = (gain * power / ((1 - kept**power) * lost)) ** (1 / power)
    trips = (1 - kept ** (power - 1)) * peak ** (power - 1) / (gain * (power - 1))
    return np.asarray(np.maximum(1 / (lost * trips), aimd(lost, beta=kept)))


def ltcp_layer(window: ArrayLike, w_t: float = 50.0) -> Floats:
    """Return the layer K of a window (LTCP, eqs. 1, 10).

    W_K ≤ W < W_(K+1), with W_K = K(K + 1)(K − 1)/6·W_T.

    Parameters
    ----------
    window
        Window in packets, at least 0 and below that of layer 2000, of any shape.
    w_t
        W_T, the window from which there are layers, in packets, above 0.

    Returns
    -------
    ndarray
        Layer, a whole number of at least 1, of the same shape as `window`.

    Raises
    ------
    ValueError
        If a window or `w_t` is outside of these bounds.

    Examples
    --------
    >>> ltcp_layer([49, 50, 1200, 30_000])
    array([ 1.,  2.,  5., 15.])
    """
    k = np.arange(1.0, _LAYERS + 1.0)
    begins = k * (k + 1) * (k - 1) / 6 * above("w_t", w_t, 0)
    windows = below("window", window, 0, float(begins[-1]))
    return np.asarray(np.searchsorted(begins, windows, side="right"), dtype=np.float64)


def ltcp(p: ArrayLike, beta: float = 0.15, w_t: float = 50.0) -> Floats:
    """Return LTCP's mean window, √(K(1 − β/2)/(βp)) (LTCP, eqs. 17, 18).

    K is the layer of the window after a loss. With one layer the window is Reno's.

    Parameters
    ----------
    p
        Loss probability per packet, from 1e-12 to 1, of any shape.
    beta
        Share of the window that a loss takes, above 0 and below 1.
    w_t
        W_T, the window from which there are layers, in packets, above 0.

    Returns
    -------
    ndarray
        Mean window in packets, of the same shape as `p`.

    Raises
    ------
    ValueError
        If a value is outside of these bounds, or gives a window beyond layer 2000.

    Examples
    --------
    >>> round(float(ltcp(1e-6)))
    7450
    """
    between("beta", beta, 0, 1)

    def peak(loss: float) -> float:
        # The window at which a loss comes grows as p falls, so the layer after the loss is found by
        # going up until it fits.
        k = 1.0
        while True:
            window = np.sqrt(k / (beta * (1 - beta / 2) * loss))
            if (1 - beta) * window < (k + 2) * (k + 1) * k / 6 * w_t:
                return float(window)
            k += 1
            if k >= _LAYERS:
                raise ValueError(f"p: {loss:g} gives a window beyond layer {_LAYERS}")

    p = within("p", p, 1e-12, 1)
    high = np.asarray(np.vectorize(peak, otypes=[np.float64])(p), dtype=np.float64) * (1 - beta / 2)
    return np.asarray(np.where(square_root(p) < w_t, square_root(p), high), dtype=np.float64)


def cubic(p: ArrayLike, rtt: float, c: float = 0.4, beta: float = 0.7) -> Floats:
    """Return CUBIC's mean window, (C(3 + β)/(4(1 − β)))^¼·(RTT/p)^¾ (RFC 9438, §5.1).

    Return that of a Reno-friendly flow if it is larger.

    Parameters
    ----------
    p
        Loss probability per packet, above 0 and at most 1, of any shape.
    rtt
        RTT in seconds, above 0.
    c
        C in packets per second³, above 0.
    beta
        Share of the window that is kept after a loss, above 0 and below 1.

    Returns
    -------
    ndarray
        Mean window in packets, of the same shape as `p`.

    Raises
    ------
    ValueError
        If a value is outside of these bounds.

    Examples
    --------
    >>> round(float(cubic(1e-6, 0.1)))
    5926
    """
    p = above("p", p, 0, 1)
    above("rtt", rtt, 0)
    above("c", c, 0)
    between("beta", beta, 0, 1)
    own = (c * (3 + beta) / (4 * (1 - beta))) ** 0.25 * (rtt / p) ** 0.75
    return np.asarray(np.maximum(own, aimd(p, 3 * (1 - beta) / (1 + beta), beta)))


def htcp(p: ArrayLike, rtt: float, beta: float = 0.5, delta_l: float = 1.0) -> Floats:
    """Return H-TCP's mean window for equally spaced losses.

    It follows from eqs. 17 and 24: an epoch of T seconds holds 1/p packets.

    Parameters
    ----------
    p
        Loss probability per packet, above 0 and at most 1, of any shape.
    rtt
        RTT in seconds, above 0 and at most 1000; queueing is left out.
    beta
        Back-off factor, between 0 and 1; the law's is 0.5 to 0.8.
    delta_l
        Length of low-speed mode in seconds, at least 0.

    Returns
    -------
    ndarray
        Mean window in packets, of the same shape as `p`.

    Raises
    ------
    ValueError
        If a value is outside of these bounds, or a loss so rare that an epoch lasts over 2000 s.
    """
    above("rtt", rtt, 0, 1000)
    between("beta", beta, 0, 1)
    within("delta_l", delta_l, 0, np.inf)

    def gained(t: Floats) -> Floats:
        x = np.maximum(t - delta_l, 0.0)
        return np.asarray(2 * (1 - beta) * (t + 5 * x**2 + x**3 / 12) / rtt)

    t = np.geomspace(rtt / 10, 2000.0, 20_000)
    growth = gained(t)
    # W falls to βW_max and gains (1 − β)W_max in T; an epoch's packets are the integral of W/RTT.
    packets = (
        beta / (1 - beta) * growth * t
        + np.concatenate([[0.0], np.cumsum(np.diff(t) * (growth[1:] + growth[:-1]) / 2)])
    ) / rtt
    mean = packets * rtt / t
    logs = np.log(within("p", p, 1 / packets[-1], 1))
    return np.asarray(np.exp(np.interp(logs, -np.log(packets[::-1]), np.log(mean[::-1]))))


def bic(
    p: ArrayLike,
    beta: float = 819 / 1024,
    s_max: float = 16.0,
    low_window: float = 14.0,
    smooth: float = 20.0,
) -> Floats:
    """Return BIC's mean window for equally spaced losses.

    The function steps through the law's round trips until an epoch repeats itself.

    Parameters
    ----------
    p
        Loss probability per packet, from 1e-10 to 1, of any shape.
    beta, s_max, low_window, smooth
        Settings of the law: the share of the window that is kept, between 0 and 1; the largest
        increase per round trip in packets, above 0; the window up to which the law is Reno's, at
        least 1; steps of the increase near the last peak, above 0. The defaults are Linux's.

    Returns
    -------
    ndarray
        Mean window in packets, of the same shape as `p`.

    Raises
    ------
    ValueError
        If a value is outside of these bounds.

    Examples
    --------
    Growth is S_max except near W_max, so the law is close to additive increase by 16 and decrease
    to 0.8:

    >>> bool(abs(bic(1e-6) / aimd(1e-6, 16, 0.8) - 1) < 0.25)
    True
    """
    between("beta", beta, 0, 1)
    (
        above("s_max", s_max, 0),
        within("low_window", low_window, 1, np.inf),
        above("smooth", smooth, 0),
    )

    def step(window: float, w_max: float) -> float:
        if window <= low_window:
            return 1.0
        if window < w_max:
            gap = (w_max - window) // 4
            return 4 / smooth if gap <= 1 else min(gap, s_max)
        beyond = window - w_max
        return 4 / smooth if beyond < 4 else min(beyond / 3, s_max)

    def mean(loss: float) -> float:
        w_max = window = 10.0
        for _ in range(60):
            start, packets, rounds = window, 0.0, 0
            while packets < 1 / loss:
                packets += window
                rounds += 1
                window += step(window, w_max)
            peak = window
            w_max = peak * (1 + beta) / 2 if peak < w_max - 1 else peak
            window = beta * peak if peak > low_window else peak / 2
            if abs(window - start) < 1e-3 * start:
                break
        return packets / rounds

    return np.asarray(
        np.vectorize(mean, otypes=[np.float64])(within("p", p, 1e-10, 1)), dtype=np.float64
    )

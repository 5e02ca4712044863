"""Queues of finite length: loss probability from load, and load from loss probability."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import gammaln, xlogy

from narrows.theory.domain import above, whole, within
from narrows.types import Floats

# Below this 1 less what is carried has lost half of its digits; near a load of 1, where what would
# replace it takes long, nearly all.
CANCELS, CANCELS_NEAR_ONE, NEAR_ONE = 1e-6, 1e-12, 0.999


def mm1b_loss(load: ArrayLike, buffer: int) -> NDArray[np.float64]:
    """Return the loss probability of an M/M/1/B queue, (1 − ρ)ρ^B/(1 − ρ^(B+1)).

    Parameters
    ----------
    load
        ρ, the offered load over the capacity, of any shape.
    buffer
        B in packets, including the packet in service; at least 1.

    Returns
    -------
    ndarray
        Of the same shape as `load`.

    Raises
    ------
    ValueError
        If a load is negative or no number, or the buffer holds less than a packet.

    References
    ----------
    Gu, Towsley, Hollot, Zhang: "Congestion Control for Small Buffer High Speed Networks", §II.

    Examples
    --------
    >>> round(float(mm1b_loss(0.9, 20)), 4), round(float(mm1b_loss(1.0, 20)), 4)
    (0.0137, 0.0476)

    An overloaded queue with a large buffer loses what is above its capacity, 1 − 1/ρ:

    >>> round(float(mm1b_loss(1.05, 100_000)), 6)
    0.047619
    """
    rho = within("load", load, 0.0, np.inf)
    whole("buffer", buffer, 1)
    # Powers as differences from 1: of the two forms one does not overflow, and nothing cancels.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log = np.log(rho)
        light = np.exp(buffer * log) * np.expm1(log) / np.expm1((buffer + 1) * log)
        heavy = np.expm1(-log) / np.expm1(-(buffer + 1) * log)
    loss = np.where(rho < 1.0, light, heavy)
    loss = np.where(rho == 0.0, 0.0, loss)
    return np.where(rho == 1.0, 1.0 / (buffer + 1), loss)


def mm1b_load(loss: ArrayLike, buffer: int) -> NDArray[np.float64]:
    """Return the load at which an M/M/1/B queue has a given loss probability.

    This is the inverse of `mm1b_loss`.

    Parameters
    ----------
    loss
        Loss probabilities from 0 to 0.999999, of any shape.
    buffer
        B in packets; at least 1.

    Returns
    -------
    ndarray
        The offered load over the capacity, of the same shape as `loss`.

    Raises
    ------
    ValueError
        If a loss probability or the buffer is out of these bounds.

    Examples
    --------
    For a loss of 0.01 at 20 packets, figure 1 of the E-TCP paper says 88 %, its text 90 %:

    >>> round(float(mm1b_load(0.01, 20)), 3)
    0.88
    """
    losses = within("loss", loss, 0.0, 0.999999)

    def root(p: float) -> float:
        # Relative to the load, which is as small as the loss if the buffer is.
        return brentq(
            lambda rho: float(mm1b_loss(rho, buffer)) - p, 0.0, 1.0 / (1.0 - p) + 1.0, xtol=1e-300
        )

    return np.asarray(np.vectorize(root, otypes=[np.float64])(losses))


class Service(Protocol):
    """A distribution of service times, with a mean of 1."""

    def arrivals(self, load: float) -> Floats:
        """Return P(k arrivals in one service time) of a Poisson stream of rate `load`.

        Parameters
        ----------
        load
            ρ, the offered load over the capacity, above 0.

        Returns
        -------
        ndarray
            Probabilities of k = 0, 1, …, shape (k,), as far as they are above 1e-300.
        """
        ...


@dataclass(frozen=True)
class Sizes:
    """Service times that take a few values, as packets of a few sizes do.

    Parameters
    ----------
    sizes
        The sizes, in any unit.
    shares
        Share of the packets of each size; all alike if None.

    Examples
    --------
    Packets of one size are served in a constant time, which makes an M/D/1/B queue:

    >>> round(float(mg1b_loss(0.9, 20, Sizes([1500]))), 6)
    0.001853
    """

    sizes: Sequence[float]
    shares: Sequence[float] | None = None

    def __post_init__(self) -> None:
        """Raise ValueError if there is no size, one is not above 0, or shares do not fit them."""
        if not len(self.sizes):
            raise ValueError("sizes: [] has none; try [1500]")
        above("sizes", self.sizes, 0)
        if self.shares is not None:
            if len(self.shares) != len(self.sizes):
                raise ValueError(f"shares: {len(self.shares)} for {len(self.sizes)} sizes")
            if not within("shares", self.shares, 0.0, np.inf).sum():
                raise ValueError("shares: all are 0; leave them out for equal ones")

    def arrivals(self, load: float) -> Floats:
        """Return a mixture of Poisson distributions, of mean λ·size.

        Parameters
        ----------
        load
            ρ, the offered load over the capacity, above 0.

        Returns
        -------
        ndarray
            P(k arrivals in one service time), k = 0, 1, …, shape (k,).
        """
        sizes = np.asarray(self.sizes, dtype=np.float64)
        shares = np.ones(len(sizes)) if self.shares is None else np.asarray(self.shares)
        shares = shares / shares.sum()
        means = load * sizes / float(sizes @ shares)
        k = np.arange(int(means.max() + 40 * np.sqrt(means.max()) + 200.0))[:, None]
        pmf = np.exp(xlogy(k, means) - means - gammaln(k + 1.0)) @ shares
        return _supported(pmf)


@dataclass(frozen=True)
class Gamma:
    """Service times of a gamma distribution.

    Parameters
    ----------
    shape
        From 1e-3 to 1e6; 1 is the exponential distribution and makes an M/M/1/B queue; the squared
        coefficient of variation is 1/shape.

    Examples
    --------
    >>> round(float(mg1b_loss(0.9, 20, Gamma(1.0))), 4)
    0.0137
    """

    shape: float = 1.0

    def __post_init__(self) -> None:
        """Raise ValueError if the shape is not a number of use."""
        within("shape", self.shape, 1e-3, 1e6)

    def arrivals(self, load: float) -> Floats:
        """Return a negative binomial distribution.

        Parameters
        ----------
        load
            ρ, the offered load over the capacity, above 0.

        Returns
        -------
        ndarray
            P(k arrivals in one service time), k = 0, 1, …, shape (k,).
        """
        r, odds = self.shape, load / (self.shape + load)
        k = np.arange(int(min(700.0 / -np.log(odds), 1e6)) + 200.0)
        log = gammaln(k + r) - gammaln(r) - gammaln(k + 1.0) + xlogy(k, odds) + r * np.log1p(-odds)
        return _supported(np.exp(log))


def _supported(pmf: Floats) -> Floats:
    """Cut the zeros at the end."""
    return pmf[: int(np.flatnonzero(pmf > 1e-300)[-1]) + 1]


def mg1b_loss(load: ArrayLike, buffer: int, service: Service) -> NDArray[np.float64]:
    """Return the loss probability of an M/G/1/B queue.

    Packets arrive as a Poisson stream; the service time has any distribution.

    Parameters
    ----------
    load
        ρ, the offered load over the capacity, of any shape, above 0 and at most 100.
    buffer
        B in packets, including the packet in service.
    service
        The distribution of service times: `Sizes`, `Gamma`, or anything with ``arrivals``.

    Returns
    -------
    ndarray
        Of the same shape as `load`; 0 below 1e-300.

    Raises
    ------
    ValueError
        If a load is outside of these bounds, or the buffer is not a whole number of packets.

    Notes
    -----
    The numbers of packets left behind by departures are a Markov chain on 0 … B − 1. Its stationary
    distribution π follows from level crossings, in positive terms only: with a_k the probability of
    k arrivals in a service time and A_k that of more than k,

    π_(j+1)·a_0 = π_0·A_j + Σ_(i=1..j) π_i·A_(j−i+1),

    and the loss probability is 1 − 1/(ρ + π_0). For small losses of a load below 1 this cancels,
    but the same π without a limit sum to π_0/(1 − ρ), and therefore

    ρ + π_0 − 1 = (1 − ρ)·Σ_(j≥B) π_j/Σ_(j<B) π_j.

    References
    ----------
    L. Kleinrock: "Queueing Systems", volume 1 (1975), §5.6. E-TCP, §II, names the queue.

    Examples
    --------
    With room for one packet the distribution does not matter, the loss is ρ/(1 + ρ):

    >>> round(float(mg1b_loss(0.5, 1, Sizes([40, 1500]))), 6)
    0.333333
    """
    loads = above("load", load, 0, 100)
    buffer = whole("buffer", buffer, 1)

    def loss(rho: float) -> float:
        pmf = service.arrivals(rho)
        beyond = np.append(np.cumsum(pmf[::-1])[::-1][1:], 0.0)  # A_k
        return Chain(pmf[0], beyond, beyond).loss(rho, buffer)

    return np.asarray(np.vectorize(loss, otypes=[np.float64])(loads))


class Chain:
    """The stationary distribution of what departures leave behind, not normalised.

    Parameters
    ----------
    none
        The probability that nothing arrives in a service time.
    beyond
        That of more than k packets, shape (n,).
    anew
        That a packet that finds nothing leaves more than k behind, shape (n,).
    burst
        How many packets come at once.
    """

    def __init__(self, none: float, beyond: Floats, anew: Floats, burst: int = 1) -> None:
        self.first = 1.0
        self.inside = 0.0
        self._none = none
        self._beyond = beyond
        self._anew = anew
        self._burst = burst
        # π_1 … π_j, the latest last; only as many as `beyond` reaches back are needed.
        self._values = np.zeros(4096)
        self._count = 0

    def loss(self, load: float, buffer: int) -> float:
        """Return the loss probability of a buffer, which is asked for once.

        Parameters
        ----------
        load
            ρ, above 0.
        buffer
            B in packets.

        Returns
        -------
        float
            From 0 to 1.
        """
        self._sum_to(buffer)
        surplus = load + self._burst * self.first / self.inside - 1.0
        if load < 1.0 and surplus < (CANCELS if load < NEAR_ONE else CANCELS_NEAR_ONE):
            surplus = (1.0 - load) * self._rest() / self.inside
        return float(surplus / (1.0 + surplus))

    def _sum_to(self, buffer: int) -> None:
        """Add up π_0 + … + π_(buffer − 1)."""
        self.inside = self.first
        for j in range(buffer - 1):
            self.inside += self._next(j)
            if self.inside > 1e200:
                self._rescale(1e-200)

    def _rest(self) -> float:
        """Return π_buffer + …, until a term no longer counts."""
        total, j = 0.0, self._count
        while (value := self._next(j)) > 1e-17 * total:
            total, j = total + value, j + 1
        return total

    def _next(self, j: int) -> float:
        reach = min(self._count, len(self._beyond) - 1)
        value = self.first * self._anew[j] if j < len(self._anew) else 0.0
        if reach:
            latest = self._values[self._count - reach : self._count]
            value += float(latest @ self._beyond[reach:0:-1])
        value /= self._none
        if self._count == len(self._values):
            self._values = np.concatenate([self._values, np.zeros(len(self._values))])
        self._values[self._count] = value
        self._count += 1
        return float(value)

    def _rescale(self, factor: float) -> None:
        self.first *= factor
        self.inside *= factor
        self._values[: self._count] *= factor


def elasticity(loss_of: Callable[[float], float], load: float) -> float:
    """Return E = ρ·P′(ρ)/P(ρ), by how many per cent the loss rises if the load rises by one.

    A law that adds 1/b per acknowledgement is stable on one link if b > 2E/π, and on any network if
    b > E at each link (Vinnicombe; Kelly: "Scalable TCP", CCR 33 (2003)). E = B for P = ρ^B only.

    Parameters
    ----------
    loss_of
        Loss probability as a function of the load.
    load
        ρ, above 0.

    Returns
    -------
    float
        E, a ratio.

    Raises
    ------
    ValueError
        If the load is not above 0, or nothing is lost at it.

    Examples
    --------
    >>> round(elasticity(lambda rho: float(mm1b_loss(rho, 20)), 0.88), 3)
    14.205
    """
    step = 1e-4
    above("load", load, 0)
    high, low = (
        float(np.log(above("loss_of(load)", loss_of(load * np.exp(sign * step)), 0)))
        for sign in (1, -1)
    )
    return (high - low) / (2 * step)


def p0_for(buffer: int, utilisation: float) -> float:
    """Return the p0 with which E-TCP loads an M/M/1/B queue to a given utilisation.

    Parameters
    ----------
    buffer
        B in packets, at least 1.
    utilisation
        The load to reach, at least 0.

    Returns
    -------
    float
        Losses per packet.

    Raises
    ------
    ValueError
        If the buffer or the utilisation is outside of these bounds.

    Examples
    --------
    >>> round(p0_for(20, 0.88), 4)
    0.01
    """
    return float(mm1b_loss(utilisation, buffer))


def b_for(buffer: int) -> float:
    """Return the b that keeps E-TCP stable over a buffer: 1.25 times the buffer.

    The paper takes 25 for a buffer of 20 packets (§III-A, §VIII).

    Parameters
    ----------
    buffer
        B in packets, at least 1.

    Returns
    -------
    float
        b in packets.

    Raises
    ------
    ValueError
        If the buffer holds less than a packet.

    Examples
    --------
    >>> b_for(20)
    25.0
    """
    return 1.25 * whole("buffer", buffer, 1)

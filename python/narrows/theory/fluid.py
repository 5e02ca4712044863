"""Fluid models: windows as smooth functions of time that hear of losses a round trip later.

A flow's packets leave at x = w/τ; what it hears at t of the packets of a round trip ago is x(t − τ)
acknowledgements or losses a second. Queues are `narrows.theory.fluid_queues`'s. BBR is missing on
purpose: its fluid models (Scherrer and others, IMC 2022) miss BBRv3 altogether.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from narrows.theory.delay import Past, solve
from narrows.theory.domain import above
from narrows.theory.fluid_queues import Link
from narrows.theory.response import ltcp_layer
from narrows.types import Floats

# High_Window of RFC 3649, in packets.
LARGEST = 83_000


class Law(Protocol):
    """How a window moves by what its sender hears."""

    def start(self, window: float) -> Floats:
        """Return the state of a flow that begins with a window in packets."""

    def window(self, state: Floats) -> float:
        """Return the window in packets."""

    def slope(self, state: Floats, heard: float, loss: float, rtt: float) -> Floats:
        """Return the state's derivative by time in seconds.

        The sender hears of `heard` packets a second, a share `loss` of which is lost or marked;
        `rtt` is the round trip in seconds.
        """


@dataclass(frozen=True)
class Window:
    """A law that only knows its window: w′ = x(t − τ)·(i(w)(1 − p) − d(w)p).

    Parameters
    ----------
    increase
        i, by which the window grows with each acknowledgement, as a function of the window.
    decrease
        d, by which it shrinks with each loss.

    References
    ----------
    Misra, Gong, Towsley: "Fluid-based analysis of a network of AQM routers", SIGCOMM 2000.
    """

    increase: Callable[[float], float]
    decrease: Callable[[float], float]

    def start(self, window: float) -> Floats:
        """Return the state, which is the window."""
        return np.array([window])

    def window(self, state: Floats) -> float:
        """Return the window in packets, at least one."""
        return max(float(state[0]), 1.0)

    def slope(self, state: Floats, heard: float, loss: float, rtt: float) -> Floats:
        """Return w′."""
        w = self.window(state)
        return np.array([heard * (self.increase(w) * (1 - loss) - self.decrease(w) * loss)])


def reno() -> Window:
    """Return Reno: 1/w for an acknowledgement, w/2 for a loss."""
    return Window(lambda w: 1 / w, lambda w: w / 2)


def scalable(a: float = 0.01, b: float = 0.125) -> Window:
    """Return Scalable TCP: a for an acknowledgement, b·w for a loss (Kelly, CCR 2003)."""
    return Window(lambda _: a, lambda w: b * w)


def compound(alpha: float = 0.125, beta: float = 0.5, k: float = 0.75) -> Window:
    """Return Compound TCP without queueing delay: α·w^(k−1), β·w (Ghosh, Jagannathan, Raina)."""
    return Window(lambda w: alpha * w ** (k - 1), lambda w: beta * w)


def illinois(alpha: float = 10.0, beta: float = 0.125) -> Window:
    """Return TCP-Illinois without queueing delay: α_max/w, β_min·w (Liu, Başar, Srikant, §3.2)."""
    return Window(lambda w: alpha / w, lambda w: beta * w)


def highspeed() -> Window:
    """Return HighSpeed TCP: a(w)/w, b(w)·w; Reno up to 38 packets (RFC 3649, §5).

    Beyond 83,000 packets, where its table ends, a and b stay as they are there.
    """

    def b(w: float) -> float:
        return 0.5 - 0.4 * math.log(min(w, LARGEST) / 38) / math.log(LARGEST / 38)

    def increase(w: float) -> float:
        if w <= 38:
            return 1 / w
        return float(0.078 * min(w, LARGEST) ** 0.8 * 2 * b(w) / (2 - b(w))) / w

    return Window(increase, lambda w: w / 2 if w <= 38 else b(w) * w)


def ltcp(beta: float = 0.15, w_t: float = 50.0) -> Window:
    """Return LTCP: K(w)/w, β·w, with K layers; Reno below W_T (Bhandarkar, Jain, Reddy, §III)."""
    return Window(
        lambda w: float(ltcp_layer(w, w_t)) / w, lambda w: beta * w if w >= w_t else w / 2
    )


def etcp(b: float = 25.0, p0: float = 0.01) -> Window:
    """Return E-TCP over a window: 1/b, w/(b(2 + p0·w)) (eq. 9)."""
    return Window(lambda _: 1 / b, lambda w: w / (b * (2 + p0 * w)))


@dataclass(frozen=True)
class EtcpRate:
    """E-TCP as rate control: x′ = x(t − T)/(bT)·((1 − p) − x·p/(2 + p0·x)) (E-TCP, §VII, eq. 10).

    Parameters
    ----------
    b, p0
        Packets, and losses per packet.
    rtt
        T in seconds, without queues.
    """

    rtt: float
    b: float = 25.0
    p0: float = 0.01

    def start(self, window: float) -> Floats:
        """Return the state, a rate in packets per second."""
        return np.array([window / self.rtt])

    def window(self, state: Floats) -> float:
        """Return what is in flight, in packets."""
        return max(float(state[0]) * self.rtt, 1e-3)

    def slope(self, state: Floats, heard: float, loss: float, rtt: float) -> Floats:
        """Return x′."""
        x = max(float(state[0]), 0.0)
        return np.array([heard / (self.b * rtt) * (1 - loss - x * loss / (2 + self.p0 * x))])


def epochs(heard: float, loss: float, rtt: float) -> float:
    """Return recoveries a second, (1 − e^(−x·p·τ))/τ: losses of one round trip are one of them.

    Losses come at random, x·p of them a second; a sender answers to the first of a round trip and
    not to those that follow in it. Without this a full queue, which loses several packets of a
    window at once, would cut it as often: H-TCP over 100 Mbps had half the window that packets
    have.

    Examples
    --------
    >>> round(epochs(1000.0, 0.001, 0.05), 3), round(epochs(1000.0, 0.5, 0.05), 3)
    (0.975, 20.0)
    """
    return -math.expm1(-heard * loss * rtt) / rtt


@dataclass(frozen=True)
class Htcp:
    """H-TCP: w′ = α(Δ)·x(1 − p)/w − (1 − β)w·λ, Δ′ = 1 − Δ·λ, with x, p of a round trip ago.

    λ are `epochs`.
    α = 2(1 − β) up to Δ = 1 s since a loss, and (1 + 10(Δ − 1) + (Δ − 1)²/4) times that afterwards
    (Leith, Shorten, eqs. 17 and 24).

    Parameters
    ----------
    beta
        The share of the window that a loss leaves.
    """

    beta: float = 0.5

    def start(self, window: float) -> Floats:
        """Return window and seconds since a loss."""
        return np.array([window, 0.0])

    def window(self, state: Floats) -> float:
        """Return the window in packets, at least one."""
        return max(float(state[0]), 1.0)

    def slope(self, state: Floats, heard: float, loss: float, rtt: float) -> Floats:
        """Return w′ and Δ′."""
        w, since = self.window(state), max(float(state[1]), 0.0)
        late = max(since - 1, 0.0)
        alpha = 2 * (1 - self.beta) * (1 + 10 * late + late * late / 4)
        cuts = epochs(heard, loss, rtt)
        grows = alpha * heard * (1 - loss) / w
        return np.array([grows - (1 - self.beta) * w * cuts, 1 - since * cuts])


@dataclass(frozen=True)
class Cubic:
    """CUBIC: w = max(c(s − K)³ + W_m, W_est), K = ∛(bW_m/c); W_m′ = −(W_m − w)λ, s′ = 1 − sλ.

    λ are `epochs`. In the region that is friendly to Reno the window is that of Reno which takes b:
    W_est′ = α·x(1 − p)/w − (W_est − (1 − b)w)λ with α = 3b/(2 − b).

    Parameters
    ----------
    c
        Packets per cubic second.
    cut
        b, the share of the window that a loss takes.

    References
    ----------
    Vardoyan, Hollot, Towsley: "Towards stability analysis of data transport mechanisms: a fluid
    model and an application", INFOCOM 2018 (arXiv 1801.02741), for s and W_m; RFC 9438, §4.3, for
    W_est.
    """

    c: float = 0.4
    cut: float = 0.3

    def start(self, window: float) -> Floats:
        """Return seconds since a loss, the window before it, and W_est."""
        return np.array([math.cbrt(self.cut * window / self.c), window, window])

    def window(self, state: Floats) -> float:
        """Return the window in packets, at least one."""
        since, before, friendly = float(state[0]), max(float(state[1]), 1.0), float(state[2])
        cubic = self.c * (since - math.cbrt(self.cut * before / self.c)) ** 3 + before
        return max(cubic, friendly, 1.0)

    def slope(self, state: Floats, heard: float, loss: float, rtt: float) -> Floats:
        """Return s′, W_m′ and W_est′."""
        cuts, w = epochs(heard, loss, rtt), self.window(state)
        since, before, friendly = (float(it) for it in state)
        grows = 3 * self.cut / (2 - self.cut) * heard * (1 - loss) / w
        left = friendly - (1 - self.cut) * w
        return np.array([1 - since * cuts, -(before - w) * cuts, grows - left * cuts])


@dataclass(frozen=True)
class Dctcp:
    """DCTCP: w′ = 1/τ − w·α·p/(2τ), α′ = g(p − α)/τ, with the marks p of a round trip ago.

    Parameters
    ----------
    gain
        g.

    References
    ----------
    Alizadeh, Javanmard, Prabhakar: "Analysis of DCTCP", SIGMETRICS 2011, eqs. 1 and 2.
    """

    gain: float = 1 / 16

    def start(self, window: float) -> Floats:
        """Return the window, and the share of marks that the sender believes in."""
        return np.array([window, 0.0])

    def window(self, state: Floats) -> float:
        """Return the window in packets, at least one."""
        return max(float(state[0]), 1.0)

    def slope(self, state: Floats, heard: float, loss: float, rtt: float) -> Floats:
        """Return w′ and α′."""
        w, alpha = self.window(state), float(state[1])
        return np.array([(1 - w * alpha * loss / 2) / rtt, self.gain * (loss - alpha) / rtt])


LAWS: dict[str, Callable[[], Law]] = {
    "reno": reno,
    "highspeed": highspeed,
    "scalable": scalable,
    "htcp": Htcp,
    "ltcp": ltcp,
    "cubic": Cubic,
    "etcp": etcp,
    "compound": compound,
    "illinois": illinois,
    "dctcp": Dctcp,
}
"""Laws by name, as they come; E-TCP's rate control needs its round trip, and is `EtcpRate`."""


@dataclass(frozen=True)
class Group:
    """Flows of one law and one round trip.

    Parameters
    ----------
    law
        Their law.
    rtt
        The round trip without queues, in seconds, above 0.
    flows
        How many there are, above 0.
    window
        The window of each at time 0, in packets, at least 1.
    """

    law: Law
    rtt: float
    flows: float = 1.0
    window: float = 1.0

    def __post_init__(self) -> None:
        """Check the bounds."""
        above("rtt", self.rtt, 0)
        above("flows", self.flows, 0)
        if not self.window >= 1:
            raise ValueError(f"window: {self.window!r} is not a number of at least 1 packet")


@dataclass(frozen=True)
class Fluid:
    """The solution of a fluid model.

    Parameters
    ----------
    time
        Shape (steps,), in seconds.
    windows
        Shape (steps, groups): the window of one flow of each group, in packets.
    queue
        Shape (steps,): packets in the queue; zeros if the link has no queue that moves.
    rate
        Shape (steps,): what arrives at the link, in packets per second.
    loss
        Shape (steps,): the share of packets that is lost, or marked.
    flows
        Shape (groups,): the flows of each group.
    """

    time: Floats
    windows: Floats
    queue: Floats
    rate: Floats
    loss: Floats
    flows: Floats


def integrate(groups: Sequence[Group], link: Link, seconds: float, steps_a_trip: int = 40) -> Fluid:
    """Return the solution of a fluid model of flows that share a link.

    Sources hear of the queue as it was a round trip ago, the queue of that time included.

    Parameters
    ----------
    groups
        At least one.
    link
        What they share, of `narrows.theory.fluid_queues`.
    seconds
        Length of the solution, in seconds, above 0.
    steps_a_trip
        Steps in the shortest round trip, at least 2. Twice as many show what the solution owes to
        the step.

    Returns
    -------
    Fluid
        The solution.

    Raises
    ------
    ValueError
        If there is no group, a value is out of bounds, or there would be more than a million steps.

    Examples
    --------
    E-TCP comes to rest over 20 packets, at a loss near p0:

    >>> from narrows.theory.fluid_queues import Small, power_loss
    >>> flows = [Group(etcp(), rtt=0.1, window=9000)]
    >>> run = integrate(flows, Small(120_200, power_loss(20)), 12.0)
    >>> round(float(run.windows[-1, 0])), round(float(run.loss[-1]), 5)
    (9553, 0.01011)
    """
    if not groups:
        raise ValueError("groups: there is none")
    if steps_a_trip < 2:
        raise ValueError(f"steps_a_trip: {steps_a_trip!r} is not at least 2")
    model = _Model(groups, link)
    step = min(group.rtt for group in groups) / steps_a_trip
    time, states = solve(model.slope, model.start(), seconds, step, model.clip)
    shown = [model.show(state) for state in states]
    windows, queue, rate, loss = (np.array(column) for column in zip(*shown, strict=True))
    flows = np.array([group.flows for group in groups], dtype=np.float64)
    return Fluid(time, windows, queue, rate, loss, flows)


class _Model:
    """Groups and their link as one state: that of each group in turn, then the link's."""

    def __init__(self, groups: Sequence[Group], link: Link) -> None:
        self.groups, self.link = groups, link
        sizes = [group.law.start(group.window).size for group in groups]
        self.ends = np.cumsum([0, *sizes])

    def start(self) -> Floats:
        """Return the state up to time 0."""
        parts = [group.law.start(group.window) for group in self.groups]
        return np.concatenate([*parts, self.link.start()])

    def own(self, state: Floats, number: int) -> Floats:
        """Return the part of a group."""
        return state[self.ends[number] : self.ends[number + 1]]

    def rates(self, state: Floats) -> list[float]:
        """Return the rate of one flow of each group, in packets per second."""
        waits = self.link.wait(state[self.ends[-1] :])
        windows = (group.law.window(self.own(state, k)) for k, group in enumerate(self.groups))
        pairs = zip(self.groups, windows, strict=True)
        return [window / (group.rtt + waits) for group, window in pairs]

    def load(self, rates: Sequence[float]) -> float:
        """Return what arrives, in packets per second."""
        return sum(group.flows * x for group, x in zip(self.groups, rates, strict=True))

    def slope(self, time: float, state: Floats, past: Past) -> Floats:
        """Return the derivative."""
        link = state[self.ends[-1] :]
        slopes = []
        for number, group in enumerate(self.groups):
            rtt = group.rtt + self.link.wait(link)
            then = past(time - rtt)
            rates = self.rates(then)
            loss = self.link.loss(then[self.ends[-1] :], self.load(rates))
            slopes.append(group.law.slope(self.own(state, number), rates[number], loss, rtt))
        load = self.load(self.rates(state))
        return np.concatenate([*slopes, self.link.slope(link, load)])

    def clip(self, state: Floats) -> Floats:
        """Return a state within the link's bounds."""
        end = self.ends[-1]
        return np.concatenate([state[:end], self.link.clip(state[end:])])

    def show(self, state: Floats) -> tuple[list[float], float, float, float]:
        """Return windows, queue, rate and loss."""
        link, load = state[self.ends[-1] :], self.load(self.rates(state))
        windows = [group.law.window(self.own(state, k)) for k, group in enumerate(self.groups)]
        return windows, self.link.queue(link), load, self.link.loss(link, load)

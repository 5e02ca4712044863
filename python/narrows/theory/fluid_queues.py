"""Links of fluid models: what they lose or mark of what arrives, and how their queue moves."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from narrows.theory.bursts import batch_loss
from narrows.theory.domain import above, whole, within
from narrows.theory.queue import mm1b_loss
from narrows.types import Floats


class Link(Protocol):
    """A link, whose state moves in time."""

    def start(self) -> Floats:
        """Return its state while it is idle."""

    def queue(self, state: Floats) -> float:
        """Return the packets that wait."""

    def wait(self, state: Floats) -> float:
        """Return how long a packet waits, in seconds."""

    def loss(self, state: Floats, load: float) -> float:
        """Return the share that is lost or marked of `load` packets per second."""

    def slope(self, state: Floats, load: float) -> Floats:
        """Return the state's derivative by time in seconds."""

    def clip(self, state: Floats) -> Floats:
        """Return the state within its bounds."""


@dataclass(frozen=True)
class Small:
    """A buffer so small that it has come to rest before a round trip is over: no queue moves.

    Parameters
    ----------
    capacity
        Packets per second, above 0.
    of_load
        The share lost as a function of ρ, load over capacity.
    """

    capacity: float
    of_load: Callable[[float], float]

    def __post_init__(self) -> None:
        """Check the bounds."""
        above("capacity", self.capacity, 0)

    def start(self) -> Floats:
        """Return nothing: it has no state."""
        return np.empty(0)

    def queue(self, state: Floats) -> float:
        """Return 0."""
        return 0.0

    def wait(self, state: Floats) -> float:
        """Return 0."""
        return 0.0

    def loss(self, state: Floats, load: float) -> float:
        """Return the share that is lost."""
        return min(self.of_load(load / self.capacity), 1.0)

    def slope(self, state: Floats, load: float) -> Floats:
        """Return nothing."""
        return state

    def clip(self, state: Floats) -> Floats:
        """Return the same."""
        return state


def power_loss(buffer: int) -> Callable[[float], float]:
    """Return ρ^B, the chance that an M/M/1 queue holds B packets (E-TCP, §II; Raina, Wischik)."""
    whole("buffer", buffer, 1)
    return lambda load: min(load, 1.0) ** buffer


def poisson_loss(buffer: int) -> Callable[[float], float]:
    """Return M/M/1/B's loss: packets come at random, and their sizes differ as exponentially."""
    whole("buffer", buffer, 1)
    return lambda load: float(mm1b_loss(load, buffer))


def equal_loss(buffer: int) -> Callable[[float], float]:
    """Return M/D/1/B's loss: packets come at random and are equal."""
    whole("buffer", buffer, 1)
    return lambda load: float(batch_loss(max(load, 1e-9), buffer))


def overload_loss(load: float) -> float:
    """Return max(0, 1 − 1/ρ): a buffer of √n that is always full or empty."""
    return max(0.0, 1 - 1 / load) if load > 0 else 0.0


@dataclass(frozen=True)
class DropTail:
    """A queue that fills and drains, and loses what comes too fast once it is full.

    Parameters
    ----------
    capacity
        Packets per second, above 0.
    buffer
        Packets, above 0.
    """

    capacity: float
    buffer: float

    def __post_init__(self) -> None:
        """Check the bounds."""
        above("capacity", self.capacity, 0)
        above("buffer", self.buffer, 0)

    def start(self) -> Floats:
        """Return an empty queue."""
        return np.zeros(1)

    def queue(self, state: Floats) -> float:
        """Return the packets that wait."""
        return float(state[0])

    def wait(self, state: Floats) -> float:
        """Return how long a packet waits, in seconds."""
        return float(np.clip(state[0], 0, self.buffer)) / self.capacity

    def loss(self, state: Floats, load: float) -> float:
        """Return 1 − C/load while it is full."""
        full = state[0] >= self.buffer * (1 - 1e-9)
        return max(0.0, 1 - self.capacity / load) if full and load > 0 else 0.0

    def slope(self, state: Floats, load: float) -> Floats:
        """Return q′ = load − C; 0 at a bound that it would pass."""
        return np.array([self.change(state, load)])

    def change(self, state: Floats, load: float) -> float:
        """Return the queue's change in packets per second."""
        change = load - self.capacity
        if state[0] >= self.buffer:
            return min(change, 0.0)
        return max(change, 0.0) if state[0] <= 0 else change

    def clip(self, state: Floats) -> Floats:
        """Return the queue between nothing and its buffer."""
        return np.asarray(np.clip(state, 0.0, self.buffer))


@dataclass(frozen=True)
class Threshold(DropTail):
    """The same, which marks everything while more than `mark` packets wait.

    Parameters
    ----------
    mark
        K in packets, from 0 to the buffer.
    """

    mark: float = 0.0

    def __post_init__(self) -> None:
        """Check the bounds."""
        super().__post_init__()
        within("mark", self.mark, 0, self.buffer)

    def loss(self, state: Floats, load: float) -> float:
        """Return 1 above the threshold."""
        return float(state[0] > self.mark)


@dataclass(frozen=True)
class Red(DropTail):
    """RED: loses p_max·(x̄ − least)/(most − least) by the mean queue x̄, x̄′ = K(q − x̄).

    What it drops does not enter the queue, q′ = (1 − p)·load − C, and a full queue loses the rest.

    Parameters
    ----------
    least, most
        Thresholds of the mean queue in packets, from 0 and above `least`.
    largest
        p_max, above 0 and at most 1.
    weight
        w_q, the weight of a packet in the mean, above 0 and below 1; K = −C·ln(1 − w_q).
    """

    least: float = 5.0
    most: float = 15.0
    largest: float = 0.1
    weight: float = 0.002

    def __post_init__(self) -> None:
        """Check the bounds."""
        super().__post_init__()
        within("least", self.least, 0, math.inf)
        above("most", self.most, self.least)
        above("largest", self.largest, 0, 1)
        above("weight", self.weight, 0, 1 - 1e-12)

    def start(self) -> Floats:
        """Return an empty queue, and its mean."""
        return np.zeros(2)

    def loss(self, state: Floats, load: float) -> float:
        """Return the share that is dropped by the mean queue, or as much as does not fit."""
        return max(self._early(state), super().loss(state, load))

    def _early(self, state: Floats) -> float:
        """Return the share dropped by the mean queue, all beyond the upper threshold."""
        mean = float(state[1])
        if mean >= self.most:
            return 1.0
        return max(0.0, self.largest * (mean - self.least) / (self.most - self.least))

    def slope(self, state: Floats, load: float) -> Floats:
        """Return q′ and x̄′."""
        speed = -self.capacity * math.log1p(-self.weight)
        entering = (1 - self._early(state)) * load
        return np.array([self.change(state, entering), speed * (state[0] - state[1])])

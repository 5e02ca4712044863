"""Real connections of this machine's kernel over a real path with narrows' queues."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from narrows import _core, lateness
from narrows.errors import Error
from narrows.lateness import Lateness, Real
from narrows.results import Result
from narrows.scenario import Scenario

__all__ = ["Check", "Lateness", "Real", "Timing", "doctor", "run", "timing"]


@dataclass(frozen=True)
class Check:
    """Something that a lab needs, or runs better with: whether it is there, or what to do."""

    name: str
    is_there: bool
    is_needed: bool
    told: str


def doctor() -> list[Check]:
    """Return what this machine can do for a lab.

    Returns
    -------
    list of Check
        One for each thing that a lab needs or can use.
    """
    return [Check(*line) for line in _core.doctor()]


@dataclass(frozen=True)
class Timing:
    """What a machine does to timing.

    Attributes
    ----------
    timer
        How late timers of a thread before all others were, in seconds: 50 %, 99 %, 99.9 %.
    wake_up
        How many seconds after something came for it an ordinary thread ran: 50 %, 90 %, 99 %.
    stalls, stalled
        How often the machine stood still for more than 0.4 ms, and for how many seconds altogether.
    seconds
        For how long it was measured.
    """

    timer: list[float]
    wake_up: list[float]
    stalls: int
    stalled: float
    seconds: float

    @property
    def host(self) -> dict[str, Any]:
        """What a flow's ``host`` says of this machine."""
        return lateness.host(self.wake_up[1], self.stalls, self.stalled, self.seconds)


def timing(seconds: float = 60.0, progress: Callable[[float], None] | None = None) -> Timing:
    """Measure this machine's timing.

    Parameters
    ----------
    seconds
        For how long.
    progress
        A function that is called with the fraction done. An exception that it raises stops it.

    Returns
    -------
    Timing
        How late timers and threads are, in seconds.

    Raises
    ------
    Error
        If `seconds` is not above 0.
    """
    if isinstance(seconds, str) or not 0 < seconds < math.inf:
        raise Error(f"seconds: {seconds!r} is not a number above 0; try 60.0")
    timer, wake_up, stalls, stalled, measured = _core.measure_host(seconds, progress)
    return Timing(timer, wake_up, stalls, stalled, measured)


def run(
    scenario: Scenario,
    *,
    seed: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """Run a dumbbell in real time over this machine's TCP.

    Parameters
    ----------
    scenario
        A dumbbell whose flows say what a kernel can do: ``cc``, ``count``, starts, ``stop``,
        ``size``, ``ecn``, and ``quantum`` of 1, or ``datagrams`` with ``app``.
    seed
        The seed of starts and of what queues and wires do at random; the scenario's if None.
    progress
        A function that is called with the fraction done. An exception that it raises stops the run.

    Returns
    -------
    Result
        What was measured, with the tables of a simulated run; its `real` says how late the emulator
        was, and whether to believe it. Epochs and timeouts are as far as looks at the connections
        showed them, and ``limited_by_*`` is not known.

    Raises
    ------
    ScenarioError
        If the scenario asks for what a kernel cannot do.
    RuntimeError
        If this machine cannot run a lab.
    """
    if not isinstance(scenario, Scenario):
        known = "nw.dumbbell(...), or nw.Scenario.load(file)"
        raise Error(f"scenario: {scenario!r} is not a Scenario; try {known}")
    chosen = scenario.seed if seed is None else seed
    core, late, doubt = _core.lab(scenario.core, scenario.checked, chosen, progress)
    return Result(scenario, chosen, core, Real(Lateness(*late), doubt))

"""Real connections of this machine's kernel over a real path with narrows' queues."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from narrows import _core
from narrows.results import Result
from narrows.scenario import Scenario


@dataclass(frozen=True)
class Check:
    """Something that a lab needs, or runs better with: whether it is there, or what to do."""

    name: str
    is_there: bool
    is_needed: bool
    told: str


@dataclass(frozen=True)
class Lateness:
    """How late the emulator was.

    Attributes
    ----------
    p50, p99, p999
        Quantiles of how late packets were delivered, in seconds; of the worse direction.
    stalls
        How often the machine stood still.
    stalled
        For which share of the time.
    strange
        Packets of no flow, or that a device did not take.
    """

    p50: float
    p99: float
    p999: float
    stalls: int
    stalled: float
    strange: int

    def __str__(self) -> str:
        return (
            f"late by {1e6 * self.p50:.0f} us (median), {1e6 * self.p99:.0f} us (99 %), "
            f"{1e6 * self.p999:.0f} us (99.9 %); {self.stalls} stalls, "
            f"{self.stalled:.2%} of the time"
        )


@dataclass(frozen=True)
class Measured:
    """A run of real connections, and whether to believe it.

    Attributes
    ----------
    result
        What was measured, with the tables of a simulated run. Epochs and timeouts are as far as
        looks at the connections showed them, and ``limited_by_*`` is not known.
    lateness
        How late the emulator was.
    doubt
        Why the run is not to be believed; None if it is.
    """

    result: Result
    lateness: Lateness
    doubt: str | None


def doctor() -> list[Check]:
    """Return what this machine can do for a lab."""
    return [Check(*line) for line in _core.doctor()]


def run(
    scenario: Scenario,
    *,
    seed: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Measured:
    """Run a dumbbell in real time over this machine's TCP.

    Parameters
    ----------
    scenario
        A dumbbell whose flows say what a kernel can do: ``cc``, ``count``, starts, ``stop`` and
        ``size``.
    seed
        The seed of starts and of what queues and wires do at random; the scenario's if None.
    progress
        A function that is called with the fraction done. An exception that it raises stops the run.

    Raises
    ------
    ScenarioError
        If the scenario asks for what a kernel cannot do.
    RuntimeError
        If this machine cannot run a lab.
    """
    chosen = scenario.seed if seed is None else seed
    core, late, doubt = _core.lab(scenario.core, chosen, progress)
    return Measured(Result(scenario, chosen, core), Lateness(*late), doubt)

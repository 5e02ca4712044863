"""How late a real path was, and whether to believe what was measured over it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


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

    def host(self, seconds: float) -> dict[str, Any]:
        """Return what a flow's ``host`` says of a machine like this, from a run of `seconds`."""
        return host(2 * self.p50, self.stalls / 2, self.stalled * seconds, seconds)


def host(batch: float, stalls: float, stalled: float, seconds: float) -> dict[str, Any]:
    """Return what a flow's ``host`` says of a machine that was measured for `seconds`.

    Parameters
    ----------
    batch
        What comes within so many seconds is seen together.
    stalls, stalled
        How often it stood still, and for how many seconds altogether.
    """
    said: dict[str, Any] = {"batch": f"{1e6 * batch:.0f}us"}
    if stalls >= 1:
        every, length = seconds / stalls, stalled / stalls
        said["stall"] = {"every": f"{1e3 * every:.1f}ms", "length": f"{1e6 * length:.0f}us"}
    return said


@dataclass(frozen=True)
class Real:
    """What is said of a run of real connections, besides its tables.

    Attributes
    ----------
    lateness
        How late the emulator was.
    doubt
        Why the run is not to be believed; None if it is.
    """

    lateness: Lateness
    doubt: str | None

    def record(self) -> dict[str, Any]:
        """Return it as part of a run's object for ``--json``."""
        return {"real": True, "valid": self.doubt is None, "lateness": asdict(self.lateness)}

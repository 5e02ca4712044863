"""A laboratory for congestion control on fast links with small router buffers.

Examples
--------
>>> import narrows as nw
>>> scenario = nw.dumbbell(rate="10Mbps", rtt="40ms", buffer="20p", cc="cubic", duration="5s")
>>> result = nw.run(scenario)
>>> bool(0.5 < result.summary["utilisation"][0] <= 1.0)
True
"""

from importlib import import_module
from types import ModuleType

from narrows import plot
from narrows._core import Ack, Loss, Mark
from narrows.comparison import Comparison, compare
from narrows.controller import Controller
from narrows.errors import Error, ExperimentError, ScenarioError, SweepError
from narrows.listing import controllers, queues
from narrows.networks import chain, dumbbell, network, parking_lot
from narrows.results import Result, run
from narrows.scenario import Scenario
from narrows.stack import Endpoint, Stack, Told, Transmit
from narrows.sweeps import Sweep, Until, Zipped, sweep

__all__ = [
    "Ack",
    "Comparison",
    "Controller",
    "Endpoint",
    "Error",
    "ExperimentError",
    "Loss",
    "Mark",
    "Result",
    "Scenario",
    "ScenarioError",
    "Stack",
    "Sweep",
    "SweepError",
    "Told",
    "Transmit",
    "Until",
    "Zipped",
    "chain",
    "compare",
    "controllers",
    "dumbbell",
    "network",
    "parking_lot",
    "plot",
    "queues",
    "run",
    "sweep",
]
__version__ = "0.1.0"

# Imported when they are first named: scipy alone takes half a second.
_LATER = {"theory", "papers", "report", "fields", "lab", "kernel", "bulk"}


def __getattr__(name: str) -> ModuleType:
    """Import a part that is seldom needed."""
    if name in _LATER:
        return import_module(f"narrows.{name}")
    raise AttributeError(f"module 'narrows' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the parts that are not imported yet, too."""
    return sorted({*globals(), *_LATER})

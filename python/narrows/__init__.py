"""A laboratory for congestion control on fast links with small router buffers.

Examples
--------
>>> import narrows as nw
>>> scenario = nw.dumbbell(rate="10Mbps", rtt="40ms", buffer="20p", cc="cubic", duration="5s")
>>> result = nw.run(scenario)
>>> bool(0.5 < result.summary["utilisation"][0] <= 1.0)
True
"""

from narrows import plot
from narrows._core import Ack, Loss, ScenarioError
from narrows.controller import Controller
from narrows.results import Result, run
from narrows.scenario import Scenario, dumbbell
from narrows.sweeps import Sweep, Until, Zipped, sweep

__all__ = [
    "Ack",
    "Controller",
    "Loss",
    "Result",
    "Scenario",
    "ScenarioError",
    "Sweep",
    "Until",
    "Zipped",
    "dumbbell",
    "plot",
    "run",
    "sweep",
]
__version__ = "0.1.0"

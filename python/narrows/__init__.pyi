# What `import narrows` offers, and where that is. The parts are imported when they are first named:
# numpy alone takes a tenth of a second, scipy half a second.

from . import _core as _core
from . import arena as arena
from . import bulk as bulk
from . import check as check
from . import comparison as comparison
from . import conformance as conformance
from . import controller as controller
from . import errors as errors
from . import fields as fields
from . import kernel as kernel
from . import lab as lab
from . import listing as listing
from . import networks as networks
from . import playground as playground
from . import plot as plot
from . import report as report
from . import results as results
from . import scenario as scenario
from . import score as score
from . import stack as stack
from . import sweeps as sweeps
from . import theory as theory
from ._core import Ack as Ack
from ._core import Loss as Loss
from ._core import Mark as Mark
from .check import Check as Check
from .check import Verdict as Verdict
from .comparison import Comparison as Comparison
from .comparison import compare as compare
from .conformance import conform as conform
from .controller import Controller as Controller
from .errors import Error as Error
from .errors import ExperimentError as ExperimentError
from .errors import ScenarioError as ScenarioError
from .errors import SweepError as SweepError
from .listing import controllers as controllers
from .listing import queues as queues
from .networks import chain as chain
from .networks import dumbbell as dumbbell
from .networks import network as network
from .networks import parking_lot as parking_lot
from .playground import play as play
from .results import Result as Result
from .results import run as run
from .scenario import Scenario as Scenario
from .stack import Endpoint as Endpoint
from .stack import Stack as Stack
from .stack import Told as Told
from .stack import Transmit as Transmit
from .sweeps import Sweep as Sweep
from .sweeps import Until as Until
from .sweeps import Zipped as Zipped
from .sweeps import sweep as sweep

__version__: str

"""A laboratory for congestion control on fast links with small router buffers.

Examples
--------
>>> import narrows as nw
>>> scenario = nw.dumbbell(rate="10Mbps", rtt="40ms", buffer="20p", cc="cubic", duration="5s")
>>> result = nw.run(scenario)
>>> bool(0.5 < result.summary["utilisation"][0] <= 1.0)
True
"""

import lazy_loader

# What is named here is listed in __init__.pyi, and imported when it is first used.
__getattr__, _names, _all = lazy_loader.attach_stub(__name__, __file__)
__version__ = "0.1.0"
# What `from narrows import *` brings: what people write, and the figures, not the slow parts.
__all__ = [name for name in _all if name[0].isupper()]
__all__ += ["chain", "compare", "controllers", "dumbbell", "network", "parking_lot", "plot"]
__all__ += ["queues", "run", "sweep"]


def __dir__() -> list[str]:
    """List the parts that are not imported yet, too."""
    return sorted({*globals(), *_names()})

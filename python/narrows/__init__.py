"""A laboratory for congestion control on fast links with small router buffers.

Examples
--------
>>> import narrows as nw
>>> scenario = nw.dumbbell(rate="10Mbps", rtt="40ms", buffer="20p", cc="cubic", duration="5s")
>>> result = nw.run(scenario)
>>> bool(0.5 < result.summary["utilisation"][0] <= 1.0)
True
"""

from pkgutil import iter_modules

import lazy_loader

# What is named here is listed in __init__.pyi, and imported when it is first used.
__getattr__, _names, _all = lazy_loader.attach_stub(__name__, __file__)
__version__ = "0.1.0"
# What `from narrows import *` brings: of the parts only the figures, as others are slow.
_slow = {part.name for part in iter_modules(__path__)} - {"plot"}
__all__ = [name for name in _all if name not in _slow]


def __dir__() -> list[str]:
    """List the parts that are not imported yet, too."""
    return sorted({*globals(), *_names()})

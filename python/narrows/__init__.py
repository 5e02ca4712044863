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
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__version__ = "0.1.0"

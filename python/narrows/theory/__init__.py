"""The mathematics of the papers: response functions and models, each with its equation.

All functions take and return numpy arrays or floats.
"""

from narrows.theory import (
    aimd,
    buffers,
    bursts,
    delay,
    droptail,
    evolution,
    fluid,
    fluid_queues,
    gwa,
    mixtures,
    queue,
    response,
    stability,
    steered,
    xcp,
)

__all__ = [
    "aimd",
    "buffers",
    "bursts",
    "delay",
    "droptail",
    "evolution",
    "fluid",
    "fluid_queues",
    "gwa",
    "mixtures",
    "queue",
    "response",
    "stability",
    "steered",
    "xcp",
]

"""LTCP, layered TCP.

Bhandarkar, Jain, Reddy: "LTCP: a layered congestion control protocol for highspeed networks".
"""

from narrows_papers.ltcp import (
    analysis,
    fairness,
    hosts,
    peers,
    real,
    sharing,
    single,
    testbed,
    unequal,
)

__all__ = [
    "analysis",
    "fairness",
    "hosts",
    "peers",
    "real",
    "sharing",
    "single",
    "testbed",
    "unequal",
]

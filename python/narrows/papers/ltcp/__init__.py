"""LTCP, layered TCP.

Bhandarkar, Jain, Reddy: "LTCP: a layered congestion control protocol for highspeed networks".
"""

from narrows.papers.ltcp import analysis, sharing, single, testbed

__all__ = ["analysis", "sharing", "single", "testbed"]

"""H-TCP (Leith, Shorten: "H-TCP: TCP for high-speed and long-distance networks")."""

from narrows.papers.htcp import fast, slow, synchronised, unsynchronised

__all__ = ["fast", "slow", "synchronised", "unsynchronised"]

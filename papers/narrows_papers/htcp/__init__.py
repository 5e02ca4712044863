"""H-TCP (Leith, Shorten: "H-TCP: TCP for high-speed and long-distance networks")."""

from narrows_papers.htcp import comments, fast, slow, synchronised, unequal, unsynchronised

__all__ = ["comments", "fast", "slow", "synchronised", "unequal", "unsynchronised"]

"""Raina, Wischik: "Buffer sizes for large multiplexers" (NGI 2005), and what followed from it."""

from narrows_papers.raina import cycles

__all__ = ["cycles"]

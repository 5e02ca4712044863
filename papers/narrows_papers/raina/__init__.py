"""Raina, Wischik: "Buffer sizes for large multiplexers" (NGI 2005), and what followed from it."""

from narrows_papers.raina import cycles, edges

__all__ = ["cycles", "edges"]

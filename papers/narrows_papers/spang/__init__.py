"""Spang, Arslan, McKeown: "Updating the Theory of Buffer Sizing" (2021, arXiv 2109.11693)."""

from narrows_papers.spang import many, single, synchronised, uneven

__all__ = ["many", "single", "synchronised", "uneven"]

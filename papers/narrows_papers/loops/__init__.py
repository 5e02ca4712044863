"""Loops that routers close, XCP's and RED's: what is proven of them, linear theory, and packets."""

from narrows_papers.loops import red, xcp

__all__ = ["red", "xcp"]

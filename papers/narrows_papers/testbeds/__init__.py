"""Testbeds of other laboratories, predicted: what their kernels did, and what narrows says."""

from narrows_papers.testbeds import overview, sets

__all__ = ["overview", "sets"]

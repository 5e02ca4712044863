"""Testbeds of other laboratories, predicted: what their kernels did, and what narrows says."""

from narrows_papers.testbeds import models, overview, sets

__all__ = ["models", "overview", "sets"]

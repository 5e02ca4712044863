"""Reports: one HTML file per command, to look at offline."""

from narrows.report.page import comparison, conformance, single, sweep

__all__ = ["comparison", "conformance", "single", "sweep"]

"""Reports: one HTML file per command, to look at offline."""

from narrows.report.page import comparison, single, sweep

__all__ = ["comparison", "single", "sweep"]

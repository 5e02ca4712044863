"""Reports: one HTML file per command, to look at offline."""

from narrows.report.page import comparison, single

__all__ = ["comparison", "single"]

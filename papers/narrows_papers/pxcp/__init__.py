"""Paced XCP.

Alparslan, Arakawa, Murata: "Performance of paced and non-paced transmission control in small
buffered networks".
"""

from narrows_papers.pxcp import pacing, parking_lot, required_buffer, small_buffers, web

__all__ = ["pacing", "parking_lot", "required_buffer", "small_buffers", "web"]

"""E-TCP (Gu, Towsley, Hollot, Zhang: "Congestion Control for Small Buffer High Speed Networks")."""

from narrows.papers.etcp import (
    analysis,
    arrivals,
    large_buffers,
    many,
    paths,
    rate,
    reliability,
    root,
    signalling,
    single,
    web,
)

__all__ = [
    "analysis",
    "arrivals",
    "large_buffers",
    "many",
    "paths",
    "rate",
    "reliability",
    "root",
    "signalling",
    "single",
    "web",
]

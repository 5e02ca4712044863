"""E-TCP (Gu, Towsley, Hollot, Zhang: "Congestion Control for Small Buffer High Speed Networks")."""

from narrows.papers.etcp import (
    analysis,
    arrivals,
    erasure,
    errors,
    estimates,
    many,
    paths,
    signalling,
    single,
    start,
    streaming,
    timers,
    web,
)

__all__ = [
    "analysis",
    "arrivals",
    "erasure",
    "errors",
    "estimates",
    "many",
    "paths",
    "signalling",
    "single",
    "start",
    "streaming",
    "timers",
    "web",
]

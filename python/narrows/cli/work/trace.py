"""`narrows trace info`: what a trace of opportunities is like."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from narrows.scenario import Scenario
from narrows.terminal import put

# Bytes of an opportunity.
LARGEST = 1500
# Rates are over so many milliseconds.
SPAN = 100
# A silence of more milliseconds is an outage.
OUTAGE = 500


@dataclass(frozen=True)
class Trace:
    """What a trace is like: rates in bit/s, times in seconds."""

    opportunities: int
    period: float
    mean: float
    p5: float
    p50: float
    p95: float
    longest_silence: float
    outages: int


def of_stamps(stamps: NDArray[np.int64]) -> Trace:
    """Return what the trace of these milliseconds is like, repeated without an end.

    Examples
    --------
    >>> trace = of_stamps(np.array([1, 3, 3, 7]))
    >>> trace.opportunities, trace.period, round(trace.mean), trace.longest_silence
    (4, 0.007, 6857143, 0.004)
    """
    period = int(stamps[-1])
    bits = 8 * LARGEST
    # The last part of a period that is no whole number of spans is left out.
    spans = max(period // SPAN, 1)
    counts = np.bincount(np.minimum(stamps - 1, period - 1).clip(0) // SPAN, minlength=spans)
    rates = counts[:spans] * bits / (min(SPAN, period) * 1e-3)
    # From the last of a period to the first of the next.
    gaps = np.diff(stamps, prepend=stamps[-1] - period)
    p5, p50, p95 = (float(value) for value in np.quantile(rates, [0.05, 0.5, 0.95]))
    return Trace(
        opportunities=len(stamps),
        period=period * 1e-3,
        mean=len(stamps) * bits / (period * 1e-3),
        p5=p5,
        p50=p50,
        p95=p95,
        longest_silence=float(gaps.max()) * 1e-3,
        outages=int((gaps > OUTAGE).sum()),
    )


def info(file: Path, as_json: bool) -> None:
    """Print what a trace is like; fail as a run of it would if it is none."""
    path = {"trace": str(file.resolve()), "rtt": "10ms", "buffer": "1bdp"}
    Scenario(dumbbell=path, flows=[{"cc": "cubic"}])
    trace = of_stamps(np.loadtxt(file, dtype=np.int64, ndmin=1))
    if as_json:
        put(json.dumps(asdict(trace)))
        return
    mega = {name: f"{1e-6 * getattr(trace, name):.2f}" for name in ("mean", "p5", "p50", "p95")}
    put(
        f"{trace.opportunities} opportunities in {trace.period:.3f} s, then again\n"
        f"{mega['mean']} Mbit/s on average; over {SPAN} ms {mega['p5']} / {mega['p50']} / "
        f"{mega['p95']} (5, 50, 95 %)\n"
        f"longest silence {trace.longest_silence:.3f} s, {trace.outages} of more than "
        f"{OUTAGE * 1e-3:.1f} s"
    )

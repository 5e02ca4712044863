"""How arrivals at the first link swing from round trip to round trip."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl

from narrows.types import Floats
from narrows_papers.series import over_poisson

SAMPLES_A_TRIP = 4
# In cycles per round trip: a quarter where the loop becomes unstable, less beyond.
CYCLE = (0.15, 0.35)


def later(link: pl.DataFrame) -> Floats:
    """Return the arrivals at the first link in each sample of a run's last two thirds."""
    rows = link.filter((pl.col("link") == 0) & (pl.col("time") > pl.col("time").max() / 3))
    return rows["arrivals"].to_numpy().astype(np.float64)


def swings(link: pl.DataFrame) -> dict[str, float]:
    """Return by how much more than Poisson's the arrivals of a round trip vary, and the cycle."""
    arrivals = later(link)
    frequency, power = spectrum(arrivals)
    inside = (frequency > CYCLE[0]) & (frequency < CYCLE[1])
    return {
        "variation": over_poisson(arrivals, SAMPLES_A_TRIP),
        "cycle": float(power[inside].mean()),
    }


def spectrum(arrivals: Floats) -> tuple[Any, Any]:
    """Return frequencies in cycles per round trip, and the power there over the mean power."""
    apart = arrivals - arrivals.mean()
    power = np.abs(np.fft.rfft(apart)) ** 2 / len(apart) / apart.var()
    return np.fft.rfftfreq(len(apart), 1 / SAMPLES_A_TRIP), power


def draw(ax: Any, title: str, named: Iterable[tuple[str, pl.DataFrame]]) -> None:
    """Draw the mean spectrum of each series' runs, and where a loop becomes unstable."""
    for name, series in named:
        spectra = [spectrum(later(one)) for _, one in series.group_by("seed")]
        least = min(len(power) for _, power in spectra)
        mean = np.mean([power[:least] for _, power in spectra], axis=0)
        smooth = np.convolve(mean, np.ones(15) / 15, mode="same")
        ax.semilogy(spectra[0][0][:least], smooth, lw=0.9, label=name)
    ax.axvline(0.25, color="k", ls=":", lw=0.8)
    ax.set(xlabel="cycles per round trip", ylabel="power over the mean", title=title)
    ax.set(xlim=(0, 1))
    ax.legend(fontsize="x-small")

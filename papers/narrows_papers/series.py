"""Measures of samples of one run, for all papers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

from narrows.types import Floats


def averaged(values: Any, samples: int) -> Floats:
    """Return the means of consecutive groups of samples, for figures and measures of stability."""
    array = np.asarray(values, dtype=np.float64)
    rows = len(array) // samples
    return np.asarray(array[: rows * samples].reshape(rows, samples).mean(axis=1))


def over_poisson(counts: Any, samples: int) -> float:
    """Return the standard deviation of counts of so many samples each over that of Poisson's."""
    sums = samples * averaged(counts, samples)
    return float(sums.std() / math.sqrt(sums.mean()))


def each_run(
    series: pl.DataFrame, keys: Sequence[str], measure: Callable[[pl.DataFrame], dict[str, Any]]
) -> pl.DataFrame:
    """Return a row for each run: its keys, and what is measured of its samples."""
    groups = series.group_by(keys, maintain_order=True)
    return pl.DataFrame([dict(zip(keys, key, strict=True)) | measure(run) for key, run in groups])

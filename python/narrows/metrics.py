"""The metrics of runs as people see them: heading, scale and digits follow from the kind.

Name, kind, definition and source are those of the core, which says each metric once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import isnan
from typing import Any

from narrows import _core
from narrows.errors import Error, SweepError
from narrows.statistics import Estimate, estimate, mean_and_interval

# What people read: the unit in headings and on axes, the factor to it, and digits.
SHOWN: dict[str, tuple[str, float, int]] = {
    "name": ("", 1.0, 0),
    "number": ("", 1.0, 0),
    "switch": ("", 1.0, 0),
    "rate": ("Mbit/s", 1e-6, 2),
    "ratio": ("", 1.0, 3),
    "share": ("%", 100.0, 3),
    "part": ("%", 100.0, 1),
    "time": ("s", 1.0, 2),
    "delay": ("ms", 1e3, 2),
    "packets": ("packets", 1.0, 2),
    "count": ("", 1.0, 0),
    "bytes": ("bytes", 1.0, 0),
    "speed": ("Mpkt/s", 1e-6, 2),
}
# Delays below this many seconds are written in microseconds, where a unit stands behind them.
BRIEF = 1e-4
# Headings of tables are short; these are the field's words for names that are not.
WORDS = {
    "loss_rate": "loss",
    "mean_rtt": "RTT",
    "jain": "Jain",
    "delay_p50": "p50 delay",
    "delay_p99": "p99 delay",
    "queue_p99": "p99 queue",
    "completion_time": "completion",
    "completion_time_p50": "p50",
    "completion_time_p99": "p99",
    "mean_slowdown": "mean slowdown",
    "slowdown_p50": "p50 slowdown",
    "slowdown_p99": "p99 slowdown",
    "late_frames": "late frames",
    "packets_per_second": "speed",
    "limited_by_window": "window",
    "limited_by_pacing": "pacing",
    "limited_by_application": "application",
    "limited_by_receiver": "receiver",
    "limited_by_recovery": "recovery",
}
AXIS_WORDS = {
    "loss_rate": "loss rate",
    "mean_rtt": "mean RTT",
    "jain": "Jain's index",
    "window": "congestion window",
    "rtt": "smoothed RTT",
}


@dataclass(frozen=True)
class Metric:
    """A metric of a table: its name, kind and unit, what it means, and who defines it."""

    table: str
    name: str
    kind: str
    unit: str
    definition: str
    source: str

    @property
    def scale(self) -> float:
        """The factor from the table's values to those that people read."""
        return SHOWN[self.kind][1]

    @property
    def heading(self) -> str:
        """The heading of a column: short words, and the unit that people read.

        Examples
        --------
        >>> metric("goodput").heading, metric("mean_queue").heading
        ('goodput Mbit/s', 'mean queue')
        """
        unit = "" if self.kind == "packets" else SHOWN[self.kind][0]
        return f"{WORDS.get(self.name, self.name.replace('_', ' '))} {unit}".rstrip()

    @property
    def lines(self) -> str:
        """The heading as narrow as it goes: each word on a line of its own, and the unit below."""
        unit = "" if self.kind == "packets" else SHOWN[self.kind][0]
        words = WORDS.get(self.name, self.name.replace("_", " "))
        return "\n".join([*words.split(), unit]).rstrip()

    @property
    def axis(self) -> str:
        """The label of an axis.

        Examples
        --------
        >>> metric("loss_rate").axis, metric("jain").axis
        ('loss rate (%)', "Jain's index")
        """
        words = AXIS_WORDS.get(self.name, self.name.replace("_", " "))
        unit = SHOWN[self.kind][0]
        return f"{words} ({unit})" if unit else words

    def text(self, value: float) -> str:
        """Write one value as people read it.

        Parameters
        ----------
        value
            In the unit of the tables.

        Returns
        -------
        str
            In the unit that people read, without it.

        Examples
        --------
        >>> metric("loss_rate").text(0.00123)
        '0.123'
        """
        _, scale, digits = SHOWN[self.kind]
        return f"{value * scale:.{digits}f}"

    def cell(self, values: Sequence[float | None]) -> str:
        """Write the values of several seeds: their mean ± half of the 95 % confidence interval.

        Parameters
        ----------
        values
            One for each seed; None where it was not measured.

        Returns
        -------
        str
            For a cell of a table.

        Examples
        --------
        >>> metric("utilisation").cell([0.5]), metric("utilisation").cell([None])
        ('0.500', '-')
        """
        known = [value for value in values if value is not None and not isnan(value)]
        if not known:
            return "-"
        mean, half = mean_and_interval(known)
        return self.text(mean) if len(known) == 1 else f"{self.text(mean)} ± {self.text(half)}"


def quantity(kind: str, value: float, half: float | None = None) -> str:
    """Write a number with its unit as people read it.

    Parameters
    ----------
    kind
        The kind of quantity, as metrics have it.
    value
        In the unit of the tables.
    half
        Half of its interval, if it has one.

    Returns
    -------
    str
        With the unit behind.

    Examples
    --------
    >>> quantity("delay", 0.0051), quantity("share", 0.02, 0.001), quantity("ratio", 0.5)
    ('5.10 ms', '2.000 ± 0.100 %', '0.500')
    >>> quantity("delay", 5.1e-6)
    '5.1 µs'
    """
    unit, scale, digits = SHOWN[kind]
    if kind == "delay" and half is None and 0 < value < BRIEF:
        return f"{value * 1e6:.3g} µs"
    if kind == "count" and value * scale != round(value * scale):
        digits = 1
    interval = "" if half is None else f" ± {half * scale:.{digits}f}"
    unit = "" if kind == "packets" else unit
    return f"{value * scale:.{digits}f}{interval} {unit}".rstrip()


def metric(name: str, table: str = "summary") -> Metric:
    """Return the metric of a table; those of a run's record are in every table.

    Parameters
    ----------
    name
        Its name, like ``utilisation``.
    table
        The table in which it is a column.

    Returns
    -------
    Metric
        With its unit and scale.

    Raises
    ------
    Error
        If the table has no such metric.

    Examples
    --------
    >>> metric("goodput").unit
    'bit/s'
    """
    for place in (table, "record"):
        found = _metrics().get((place, name))
        if found:
            return found
    raise Error(f'no metric "{name}"; known: {", ".join(_numbers(table))}')


def numbers_of_runs() -> list[str]:
    """Return the names of the metrics of a whole run that are numbers, in order.

    Returns
    -------
    list of str
        As they come in a summary.

    Examples
    --------
    >>> numbers_of_runs()[:2]
    ['utilisation', 'goodput']
    """
    return _numbers("summary")


def check_number(metric: str, known: Sequence[str]) -> None:
    """Raise a `SweepError` if `metric` is not one of the numbers that are known.

    Parameters
    ----------
    metric
        A name.
    known
        Those that are numbers.

    Raises
    ------
    SweepError
        If it is not.
    """
    if metric not in known:
        raise SweepError(f'no metric "{metric}" that is a number; known: {", ".join(known)}')


def _numbers(of_table: str) -> list[str]:
    return [
        name
        for (table, name), found in _metrics().items()
        if table == of_table and found.kind not in ("name", "number", "switch")
    ]


def row_of_means(
    runs: Sequence[Mapping[str, Any]], metrics: Sequence[str], method: str
) -> dict[str, Any]:
    """Compute the row of a table of means, from the summaries of runs with several seeds.

    Parameters
    ----------
    runs
        The summaries.
    metrics
        Columns that are numbers of every run.
    method
        As of `estimate`.

    Returns
    -------
    dict
        The number of ``seeds`` that have a value, and for each metric its mean and the interval's
        ends, ``_low`` and ``_high``; None where there is none.

    Raises
    ------
    SweepError
        If no metric is given, or one is not a number of every run.
    """
    if not metrics:
        raise SweepError('means: no metric is given; try means("utilisation")')
    for metric in metrics:
        check_number(metric, numbers_of_runs())
    row: dict[str, Any] = {"seeds": 0}
    for metric in metrics:
        values = [run[metric] for run in runs if run.get(metric) is not None]
        found = estimate(values, method) if values else Estimate(None, None, None)
        row["seeds"] = max(row["seeds"], len(values))
        row |= {metric: found.mean, f"{metric}_low": found.low, f"{metric}_high": found.high}
    return row


def table_names() -> list[str]:
    """Return the names of the tables of a run.

    Returns
    -------
    list of str
        Such as ``flows`` and ``link_series``.
    """
    return list(dict.fromkeys(table for table, _ in _metrics() if table != "record"))


@cache
def _metrics() -> dict[tuple[str, str], Metric]:
    return {(line[0], line[1]): Metric(*line) for line in _core.metrics()}

"""Ranges of values like `1Mbps..1Gbps:7`, spaced evenly by ratio."""

from __future__ import annotations

import re
from typing import Any

from narrows.errors import SweepError
from narrows.scenario import Scenario

_NUMBER = r"(\d+(?:\.\d+)?)\s*([A-Za-zµ%/]*)"
_RANGE = re.compile(rf"\s*{_NUMBER}\s*\.\.\s*{_NUMBER}\s*:\s*(\d+)\s*")


# Values of a range; each is a point of a sweep, or many.
MOST = 10_000


def is_range(value: Any) -> bool:
    """Return whether a value is a text that describes a range.

    Parameters
    ----------
    value
        Any value of a sweep file.

    Returns
    -------
    bool
        Whether it is like ``1Mbps..1Gbps:7``.
    """
    return isinstance(value, str) and _RANGE.fullmatch(value) is not None


def spread(name: str, text: str, base: Scenario | None = None) -> list[Any]:
    """List the values of a range, both ends included, each the same multiple of the one before.

    Parameters
    ----------
    name
        The name of the field, for error messages.
    text
        A range like ``1Mbps..1Gbps:7``. Numbers without a unit, and packets, are rounded to
        integers, and duplicates are removed, unless an end has a decimal point.
    base
        The scenario whose bottleneck converts the ends of a buffer's range to packets if their
        units differ, like ``5p..2bdp:12``.

    Returns
    -------
    list
        Texts with the unit, or numbers.

    Raises
    ------
    SweepError
        If it is no range, falls, has too many values, or ends in two units.

    Examples
    --------
    >>> spread("rate", "10Mbps..1000Mbps:3")
    ['10Mbps', '100Mbps', '1000Mbps']
    >>> spread("flows", "1..100:5")
    [1, 3, 10, 32, 100]
    >>> spread("flows[0].arrivals.load", "0.1..0.9:3")
    [0.1, 0.3, 0.9]
    """
    match = _RANGE.fullmatch(text)
    if match is None or int(match[5]) < 2:
        raise SweepError(f'{name}: "{text}" is not a range; try 10Mbps..1Gbps:5')
    if int(match[5]) > MOST:
        raise SweepError(f'{name}: "{text}" has more than {MOST} values; try 10Mbps..1Gbps:5')
    low, high, count = float(match[1]), float(match[3]), int(match[5])
    unit = match[2] or match[4]
    if match[2] and match[4] != match[2]:
        if name != "buffer" or base is None:
            raise SweepError(
                f'{name}: the ends of "{text}" have different units; write both in {match[4]}'
            )
        low, high, unit = (
            _packets(base, match[1] + match[2]),
            _packets(base, match[3] + match[4]),
            "p",
        )
    if not 0 < low < high:
        raise SweepError(f'{name}: "{text}" must rise from a value above 0; try 10Mbps..1Gbps:5')
    values = [low * (high / low) ** (step / (count - 1)) for step in range(count)]
    if not unit and "." in match[1] + match[3]:
        return [float(f"{value:.4g}") for value in values]
    if unit in ("", "p"):
        whole = list(dict.fromkeys(round(value) for value in values))
        return [f"{value}p" for value in whole] if unit else list(whole)
    return [f"{value:.4g}{unit}" for value in values]


def _packets(base: Scenario, buffer: str) -> float:
    """Convert `buffer` to packets, at the bottleneck of the base scenario."""
    fields = base.fields
    for network in ("dumbbell", "parking_lot"):
        if network in fields:
            fields[network]["buffer"] = buffer
            sizes = Scenario(**fields).buffers
            return float(next(iter(sizes.values())).split("p", 1)[0])
    raise SweepError(
        "buffer: a range with ends in different units needs a dumbbell or a parking lot"
    )

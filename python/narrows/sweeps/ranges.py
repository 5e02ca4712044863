"""Lists as people write them: `1Mbps..1Gbps:7`, spaced evenly by ratio."""

from __future__ import annotations

import re
from typing import Any

from narrows._core import ScenarioError
from narrows.scenario import Scenario

_NUMBER = r"(\d+(?:\.\d+)?)\s*([A-Za-zµ%/]*)"
_RANGE = re.compile(rf"\s*{_NUMBER}\s*\.\.\s*{_NUMBER}\s*:\s*(\d+)\s*")


def is_range(value: Any) -> bool:
    """Whether a text is a range."""
    return isinstance(value, str) and _RANGE.fullmatch(value) is not None


def spread(name: str, text: str, base: Scenario | None = None) -> list[Any]:
    """List a range's values, both ends included, each the same multiple of the one before.

    Parameters
    ----------
    name
        Of the field, for errors.
    text
        Like ``1Mbps..1Gbps:7``; numbers without a unit are rounded to whole ones.
    base
        The scenario whose bottleneck says what a buffer's ends in different units are, like ``5p..2bdp:12``.

    Examples
    --------
    >>> spread("rate", "10Mbps..1000Mbps:3")
    ['10Mbps', '100Mbps', '1000Mbps']
    >>> spread("flows", "1..100:5")
    [1, 3, 10, 32, 100]
    """
    match = _RANGE.fullmatch(text)
    if match is None or int(match[5]) < 2:
        raise ScenarioError(f'{name}: "{text}" is no range; try 10Mbps..1Gbps:5')
    low, high, count = float(match[1]), float(match[3]), int(match[5])
    unit = match[2] or match[4]
    if match[2] and match[4] != match[2]:
        if name != "buffer" or base is None:
            raise ScenarioError(
                f'{name}: "{text}" has ends in different units; write both in {match[4]}'
            )
        low, high, unit = (
            _packets(base, match[1] + match[2]),
            _packets(base, match[3] + match[4]),
            "p",
        )
    if not 0 < low < high:
        raise ScenarioError(f'{name}: "{text}" does not rise from above 0')
    values = [low * (high / low) ** (step / (count - 1)) for step in range(count)]
    if unit in ("", "p"):
        whole = list(dict.fromkeys(round(value) for value in values))
        return [f"{value}p" for value in whole] if unit else list(whole)
    return [f"{value:.4g}{unit}" for value in values]


def _packets(base: Scenario, buffer: str) -> float:
    """The base scenario's bottleneck buffer, were it `buffer`, in packets."""
    fields = base.fields
    for network in ("dumbbell", "parking_lot"):
        if network in fields:
            fields[network]["buffer"] = buffer
            sizes = Scenario(**fields).buffers
            return float(next(iter(sizes.values())).split("p", 1)[0])
    raise ScenarioError("buffer: a range in different units is for a dumbbell or a parking lot")

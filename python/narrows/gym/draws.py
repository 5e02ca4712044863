"""Scenarios drawn at random: values of any of its fields, in the fields' own units."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from narrows.errors import Error
from narrows.scenario import Scenario

_QUANTITY = re.compile(r"\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*([a-zA-Z%]*)\s*")
# Units that say the same, with how many of the first each is.
_FAMILIES: tuple[dict[str, float], ...] = (
    {"bps": 1, "kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9},
    {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9},
    {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9},
)
# As many digits as a drawn number has.
DIGITS = 6


def _quantity(value: str | float) -> tuple[float, str]:
    """Return a number and its unit; none of a bare number."""
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    try:
        number, unit = (float(match[1]), match[2]) if match else (float(value), "")
    except (TypeError, ValueError):
        number, unit = math.nan, ""
    if not math.isfinite(number):
        raise Error(f'draw: {value!r} is not a number with a unit, like "10Mbps"')
    return number, unit


def _range(low: str | float, high: str | float) -> tuple[float, float, str]:
    """Return both ends in the unit of the first."""
    (least, unit), (most, other) = _quantity(low), _quantity(high)
    if unit != other:
        family = next((it for it in _FAMILIES if unit in it and other in it), None)
        if family is None:
            raise Error(f'draw: "{low}" and "{high}" are not of one unit')
        most *= family[other] / family[unit]
    if not least <= most:
        raise Error(f'draw: "{low}" is above "{high}"; swap them')
    return least, most, unit


def _said(number: float, unit: str) -> str | float:
    """Write a number as a scenario has it, so that the file says what was drawn."""
    if unit == "p":
        return f"{max(1, round(number))}p"
    rounded = float(f"{number:.{DIGITS}g}")
    # Without an exponent, as people write them.
    return f"{np.format_float_positional(rounded, trim='-')}{unit}" if unit else rounded


@dataclass(frozen=True)
class Distribution:
    """What a value is drawn from.

    Attributes
    ----------
    text
        How it was written.
    draws
        Draws a value.
    """

    text: str
    draws: Callable[[np.random.Generator], Any] = field(compare=False)

    def __repr__(self) -> str:
        return self.text


def uniform(low: str | float, high: str | float) -> Distribution:
    """Draw evenly between two values.

    Parameters
    ----------
    low, high
        Numbers, or text with units, like ``"10ms"``.

    Returns
    -------
    Distribution
        What draws, to six digits; packets are whole.

    Raises
    ------
    Error
        If a text is no quantity, the units differ in kind, or the ends are swapped.

    Examples
    --------
    >>> uniform("10ms", "0.2s").draws(np.random.default_rng(1))
    '107.246ms'
    """
    least, most, unit = _range(low, high)
    text = f"uniform({low!r}, {high!r})"
    return Distribution(text, partial(_uniform, least, most, unit))


def _uniform(least: float, most: float, unit: str, chance: np.random.Generator) -> str | float:
    return _said(chance.uniform(least, most), unit)


def log_uniform(low: str | float, high: str | float) -> Distribution:
    """Draw so that each factor between two values is as likely.

    Parameters
    ----------
    low, high
        Numbers above 0, or text with units, like ``"1Mbps"``.

    Returns
    -------
    Distribution
        What draws, to six digits; packets are whole.

    Raises
    ------
    Error
        As `uniform`, or if the lower end is not above 0.

    Examples
    --------
    >>> log_uniform("1Mbps", "1Gbps").draws(np.random.default_rng(1))
    '34.3135Mbps'
    """
    least, most, unit = _range(low, high)
    if least <= 0:
        raise Error(f"draw: {low!r} has no logarithm; begin above 0")
    ends = (math.log(least), math.log(most))
    text = f"log_uniform({low!r}, {high!r})"
    return Distribution(text, partial(_log_uniform, *ends, unit))


def _log_uniform(least: float, most: float, unit: str, chance: np.random.Generator) -> str | float:
    return _said(math.exp(chance.uniform(least, most)), unit)


def integer(low: int, high: int) -> Distribution:
    """Draw a whole number, both ends included.

    Parameters
    ----------
    low, high
        The ends.

    Returns
    -------
    Distribution
        What draws.

    Examples
    --------
    >>> integer(2, 5).draws(np.random.default_rng(1))
    3
    """
    if low != int(low) or high != int(high) or low > high:
        raise Error(f"draw: {low} and {high} are not two whole numbers, the lower first")
    return Distribution(f"integer({low}, {high})", partial(_integer, int(low), int(high)))


def _integer(low: int, high: int, chance: np.random.Generator) -> int:
    return int(chance.integers(low, high, endpoint=True))


def choice(values: Sequence[Any], p: Sequence[float] | None = None) -> Distribution:
    """Draw one of some values.

    Parameters
    ----------
    values
        What a field may have.
    p
        How likely each is; all alike if None.

    Returns
    -------
    Distribution
        What draws.

    Raises
    ------
    Error
        If there are none, or the probabilities do not fit or do not add up to 1.

    Examples
    --------
    >>> choice(["0%", "1%"], p=[0.7, 0.3]).draws(np.random.default_rng(1))
    '0%'
    """
    if isinstance(values, str) or not list(values):
        raise Error(f"draw: {values!r} is not a list of values")
    values = list(values)
    if p is not None and len(p) != len(values):
        raise Error(f"draw: {len(p or [])} probabilities for {len(values)} values")
    if p is not None and (abs(sum(p) - 1) > 1e-9 or min(p) < 0):
        raise Error(f"draw: the probabilities {list(p)} do not add up to 1")
    text = f"choice({values!r}, p={list(p)!r})" if p is not None else f"choice({values!r})"
    return Distribution(text, partial(_choice, values, p))


def _choice(values: Sequence[Any], p: Sequence[float] | None, chance: np.random.Generator) -> Any:
    return values[int(chance.choice(len(values), p=p))]


@dataclass(frozen=True)
class Drawn:
    """What was drawn for an episode.

    Attributes
    ----------
    scenario
        The scenario, unchecked.
    seed
        The seed of its run.
    values
        What was drawn, by path.
    start
        The rate to begin with, as a share of the bottleneck's.
    """

    scenario: Scenario
    seed: int
    values: dict[str, Any]
    start: float


def _usual() -> Scenario:
    return Scenario(
        duration="10000s",
        warmup="0s",
        sample="0s",
        dumbbell={"rate": "10Mbps", "rtt": "40ms", "buffer": "1bdp"},
        flows=[{"cc": "learner"}],
    )


class Draw:
    """A distribution of scenarios.

    Parameters
    ----------
    parameters
        What is drawn, by path, like ``{"dumbbell.rtt": uniform("10ms", "200ms")}``; a value that is
        not a distribution stays.
    base
        The scenario whose other fields stay; a dumbbell of one learner if None. Its run lasts at
        most as long as its ``duration``.
    start
        The rate that agents begin with, as a share of the bottleneck's.

    Examples
    --------
    >>> links = Draw({"dumbbell.rate": log_uniform("1Mbps", "100Mbps"), "dumbbell.rtt": "20ms"})
    >>> drawn = links.draw(np.random.default_rng(3))
    >>> drawn.values
    {'dumbbell.rate': '1.48354Mbps', 'dumbbell.rtt': '20ms'}
    """

    def __init__(
        self,
        parameters: Mapping[str, Distribution | Any] | None = None,
        base: Scenario | None = None,
        start: Distribution | float = 1.0,
    ) -> None:
        self.base = base if base is not None else _usual()
        self.parameters = dict(parameters or {})
        self.start = start

    def __repr__(self) -> str:
        return f"Draw({self.parameters!r}, start={self.start!r})"

    def draw(self, chance: np.random.Generator) -> Drawn:
        """Draw a scenario, its parameters first, in the order of their paths, then its seed.

        Parameters
        ----------
        chance
            Where all randomness comes from.

        Returns
        -------
        Drawn
            The scenario and the rest.

        Raises
        ------
        ScenarioError
            If a path does not exist, or a value is none of its field.
        """

        def of(given: Any) -> Any:
            return given.draws(chance) if isinstance(given, Distribution) else given

        values = {path: of(self.parameters[path]) for path in sorted(self.parameters)}
        start = of(self.start)
        if not isinstance(start, int | float) or not start > 0:
            raise Error(f"start: {start!r} is not a share of the bottleneck's rate; try 1.0")
        seed = int(chance.integers(0, 2**63))
        return Drawn(self.base.drafted(values), seed, values, float(start))

"""A sweep as a TOML file."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from narrows.errors import Error, SweepError
from narrows.files import read_text
from narrows.scenario import LARGEST, Scenario
from narrows.sweeps.expression import function_of
from narrows.sweeps.plan import Plan, Until
from narrows.sweeps.points import Axis, Zipped, points_of
from narrows.sweeps.ranges import is_range, spread
from narrows.trace_files import fields_beside

FIELDS = {"scenario", "product", "zipped", "function", "seeds", "until", "series"}


@dataclass(frozen=True)
class SweepFile:
    """A sweep that was read from a file, checked except for its points.

    Parameters
    ----------
    path
        The path of the file.
    scenario
        The scenario whose fields the points' values replace.
    zipped, axes
        The lists and functions.
    seeds
        The list of seeds.
    until
        The criterion for enough seeds.
    series
        Whether to keep time series.
    """

    path: Path
    scenario: Scenario
    zipped: list[Zipped]
    axes: dict[str, Axis]
    seeds: list[int]
    until: Until | None
    series: bool

    @classmethod
    def load(cls, path: Path) -> SweepFile:
        """Read a sweep file.

        Parameters
        ----------
        path
            A TOML file.

        Returns
        -------
        SweepFile
            Whose points are not checked yet.

        Raises
        ------
        ScenarioError
            If the file cannot be read or is not a sweep. The message begins with its path.
        """
        try:
            given = tomllib.loads(read_text(path, LARGEST))
            return cls._of(given, path)
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, Error) as error:
            raise SweepError(f"{path}: {error}") from None

    @classmethod
    def _of(cls, given: dict[str, Any], path: Path) -> SweepFile:
        unknown = sorted(given.keys() - FIELDS)
        if "flows" in unknown or "dumbbell" in unknown:
            raise SweepError(f"is a scenario; narrows run {path} runs it")
        if unknown:
            raise SweepError(f'unknown field "{unknown[0]}"; known: {", ".join(sorted(FIELDS))}')
        if "scenario" not in given:
            raise SweepError('no scenario; add scenario = "dumbbell.toml" or a table [scenario]')
        base = (
            Scenario.load(path.parent / given["scenario"])
            if isinstance(given["scenario"], str)
            else Scenario(**fields_beside(given["scenario"], path.parent))
        )
        axes: dict[str, Axis] = {
            name: _list(name, values, base) for name, values in _table(given, "product").items()
        }
        axes |= {
            name: function_of(name, str(template))
            for name, template in _table(given, "function").items()
        }
        groups = given.get("zipped", [])
        if not isinstance(groups, list):
            raise SweepError(
                "zipped: write [[zipped]], one table for each group of lists that go together"
            )
        zipped = [
            Zipped(**{name: _list(name, values, base) for name, values in group.items()})
            for group in groups
        ]
        return cls(
            path,
            base,
            zipped,
            axes,
            _seeds(given.get("seeds", 1)),
            Until.of(given.get("until")),
            bool(given.get("series", False)),
        )

    def plan(self) -> Plan:
        """Check every point and return the plan of the sweep.

        Returns
        -------
        Plan
            All of whose scenarios can be run.

        Raises
        ------
        ScenarioError
            If a point is not a valid scenario. The message begins with the file's path.
        """
        try:
            return Plan.of(
                self.scenario, points_of(self.zipped, self.axes), self.seeds, self.series
            )
        except Error as error:
            raise SweepError(f"{self.path}: {error}") from None


def _table(given: dict[str, Any], name: str) -> dict[str, Any]:
    table = given.get(name, {})
    if not isinstance(table, dict):
        raise SweepError(f"{name}: write a table [{name}] of lists")
    return table


def _list(name: str, values: Any, base: Scenario) -> list[Any]:
    if is_range(values):
        return spread(name, values, base)
    if not isinstance(values, list):
        raise SweepError(
            f"{name}: {values!r} is not a list; write [{values!r}], or a range like 10Mbps..1Gbps:5"
        )
    return [
        item
        for value in values
        for item in (spread(name, value, base) if is_range(value) else [value])
    ]


def _seeds(given: Any) -> list[int]:
    if isinstance(given, int) and not isinstance(given, bool) and given > 0:
        return list(range(1, given + 1))
    if (
        isinstance(given, list)
        and given
        and all(isinstance(seed, int) and seed >= 0 for seed in given)
    ):
        return given
    raise SweepError(
        f"seeds: {given!r} is neither a number of seeds nor a list of seeds; try 10 or [1, 2, 3]"
    )

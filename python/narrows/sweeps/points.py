"""The points of a sweep, and their scenarios.

Points come from products of lists, from zipped lists, and from functions of the point.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

from narrows import _core
from narrows._core import ScenarioError
from narrows.controller import Controller, name_of
from narrows.errors import SweepError
from narrows.scenario import Scenario

Point = dict[str, Any]
Axis = Sequence[Any] | Callable[[Point], Any]
Base = Scenario | Callable[..., Scenario]

NETWORKS = ("dumbbell", "parking_lot", "chain")


class Zipped:
    """Lists that go together: the first of each, the second of each, and so on.

    Parameters
    ----------
    **axes
        Lists of equal length.

    Raises
    ------
    ScenarioError
        If the lengths differ.

    Examples
    --------
    >>> Zipped(rate=["10Mbps", "1Gbps"], buffer=["20p", "50p"]).points
    [{'rate': '10Mbps', 'buffer': '20p'}, {'rate': '1Gbps', 'buffer': '50p'}]
    """

    def __init__(self, **axes: Sequence[Any]) -> None:
        lengths = {name: len(values) for name, values in axes.items()}
        if len(set(lengths.values())) != 1:
            raise SweepError(f"zipped: the lists must have the same length, not {lengths}")
        self.points: list[Point] = [
            dict(zip(axes, values, strict=True)) for values in zip(*axes.values(), strict=True)
        ]


def points_of(zipped: Sequence[Zipped], axes: Mapping[str, Axis]) -> list[Point]:
    """List the points: the product of all lists, with each zipped group as one list.

    Functions are then called in order; each sees the values of the lists and of the functions
    before it.

    Parameters
    ----------
    zipped
        Groups of lists whose values go together.
    axes
        Lists of values, or functions of the point, by name.

    Returns
    -------
    list of dict
        Values by name, the last list fastest.

    Raises
    ------
    SweepError
        If something is not a list of values, or a group is no `Zipped`.

    Examples
    --------
    >>> buffer = lambda point: f"{20 * point['flows']}p"
    >>> points_of([], {"cc": ["reno", "cubic"], "flows": [1, 4], "buffer": buffer})[-1]
    {'cc': 'cubic', 'flows': 4, 'buffer': '80p'}
    """
    for group in zipped:
        if not isinstance(group, Zipped):
            raise SweepError(
                f"not an axis: {group!r}; write axes as keywords, sweep(scenario, **{{...}}), "
                "or Zipped(...) of several that go together"
            )
    groups = [group.points for group in zipped]
    for name, values in axes.items():
        if callable(values):
            continue
        # A list of numpy's or polars' has a length as well.
        if not (hasattr(values, "__len__") and hasattr(values, "__iter__")):
            raise SweepError(f"{name}: {values!r} is not a list of values; write [{values!r}]")
        if isinstance(values, str) or not len(values):
            raise SweepError(
                f"{name}: {values!r} is not a list of values; write [{values!r}]"
                if len(values)
                else f"{name}: the list is empty"
            )
        groups.append([{name: value} for value in values])
    points = [
        {name: value for part in combination for name, value in part.items()}
        for combination in product(*groups)
    ]
    for point in points:
        for name, values in axes.items():
            if callable(values):
                point[name] = values(point)
    return points


def scenario_at(base: Base, point: Point) -> Scenario:
    """Make the scenario of a point.

    Parameters
    ----------
    base
        A scenario whose fields are replaced by the point's values, or a function that makes a
        scenario from them.
    point
        Values by name. A name is a field of a scenario file, or a path like ``flows[1].cc``. Fields
        like ``rate`` and ``buffer`` belong to the network, those like ``cc`` and ``pacing`` to all
        flows; ``flows`` is the number of flows.

    Returns
    -------
    Scenario
        Checked.

    Raises
    ------
    ScenarioError
        If a name is unknown or a value is wrong. The message names the point.

    Examples
    --------
    >>> import narrows as nw
    >>> base = nw.dumbbell("10Mbps", "40ms", "20p")
    >>> scenario_at(base, {"buffer": "1bdp", "flows": 3}).fields["flows"][0]["count"]
    3
    """
    return checked_at(point, draft_at(base, point))


def draft_at(base: Base, point: Point, changes: Point | None = None) -> Scenario:
    """Make the scenario of a point, which is checked later; `changes` are values for every point.

    Parameters
    ----------
    base
        As for `scenario_at`.
    point
        Values by name.
    changes
        Values by name that every point has.

    Returns
    -------
    Scenario
        Not checked yet.

    Raises
    ------
    ScenarioError
        If a name is unknown, or what a function returns is wrong. The message names the point.
    """
    try:
        values = dict(changes or {})
        if isinstance(base, Scenario):
            values = point | values
            made = base
        else:
            made = base(**point)
            if not isinstance(made, Scenario):
                raise SweepError(f"the function returned {made!r}, which is not a Scenario")
        return made.drafted(_placed(values, made.fields)) if values else made
    except ScenarioError as error:
        raise ScenarioError(f"at {describe(point)}: {error}") from None


def checked_at(point: Point, draft: Scenario) -> Scenario:
    """Check the scenario of a point; an error names the point.

    Parameters
    ----------
    point
        Values by name.
    draft
        Its scenario.

    Returns
    -------
    Scenario
        The same, checked.

    Raises
    ------
    ScenarioError
        If it cannot be run; the message names the point.
    """
    try:
        return draft.valid()
    except ScenarioError as error:
        raise ScenarioError(f"at {describe(point)}: {error}") from None


def named(point: Point) -> Point:
    """Return a point whose laws are names, also those of the user's own controllers.

    Parameters
    ----------
    point
        Values by name.

    Returns
    -------
    dict
        The same, of which tables can be made.
    """
    return {
        name: name_of(value) if callable(value) or isinstance(value, Controller) else value
        for name, value in point.items()
    }


def describe(point: Point) -> str:
    """Describe a point in one line.

    Parameters
    ----------
    point
        Values by name.

    Returns
    -------
    str
        For messages.

    Examples
    --------
    >>> describe({"cc": "cubic", "flows": 4})
    'cc=cubic flows=4'
    """
    return (
        " ".join(f"{name}={value}" for name, value in named(point).items())
        or "the scenario as it is"
    )


def _placed(point: Point, fields: dict[str, Any]) -> dict[str, Any]:
    """Return a point's values by path; fail if two names stand for one place."""
    placed: dict[str, Any] = {}
    names: dict[str, str] = {}
    for name, value in point.items():
        for path in _paths(name, fields):
            if path in placed:
                raise SweepError(f"{path}: both {names[path]} and {name} say it; leave one out")
            placed[path], names[path] = value, name
    return placed


def _paths(name: str, fields: dict[str, Any]) -> list[str]:
    """Return the paths that a name stands for: one, or one for each group of flows."""
    if "." in name or "[" in name:
        return [name]
    groups = range(len(fields.get("flows", [])))
    if name == "flows":
        if len(groups) != 1:
            raise SweepError(
                f"flows: there are {len(groups)} groups of flows; name one, like flows[0].count"
            )
        return ["flows[0].count"]
    for network in NETWORKS:
        if network in fields and name in _names()[network]:
            return [f"{network}.{name}"]
    if name in _names()["scenario"]:
        return [name]
    if name in _names()["flow"]:
        return [f"flows[{group}].{name}" for group in groups]
    known = sorted({name for names in _names().values() for name in names})
    near = difflib.get_close_matches(name, known, 1)
    guess = f'; did you mean "{near[0]}"?' if near else ";"
    raise SweepError(
        f'unknown parameter "{name}"{guess} known: {", ".join(known)}, and paths like flows[1].cc'
    )


@cache
def _names() -> dict[str, set[str]]:
    """Return the names of the fields of a scenario and its parts, from the schema."""
    schema = json.loads(_core.schema())
    parts = {"dumbbell": "Dumbbell", "parking_lot": "ParkingLot", "chain": "Chain", "flow": "Flow"}
    names = {name: set(schema["$defs"][part]["properties"]) for name, part in parts.items()}
    structures = {*NETWORKS, "links", "flows", "trace", "seed"}
    return {**names, "scenario": set(schema["properties"]) - structures}

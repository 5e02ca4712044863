"""Files that a scenario names: traces of links, and sizes of transfers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from narrows import _core

# Traces that come with narrows have names that begin so, and are no files.
BUILT_IN = "narrows:"
# Files of sizes have names that end so; what follows a colon is no part of the name.
SIZES = ".cdf"
MOST = ":max="


def named(core: _core.Scenario) -> dict[str, str]:
    """Return the files that a scenario is read from, by the places that name them.

    Parameters
    ----------
    core
        A scenario of the core, checked or not.

    Returns
    -------
    dict[str, str]
        Like ``{"dumbbell.trace": "lte.mahimahi"}``.

    Examples
    --------
    >>> from narrows import _core
    >>> named(_core.Scenario('dumbbell = { trace = "a", rtt = "9ms", buffer = "9p" }'))
    {'dumbbell.trace': 'a'}
    """
    return dict(_below("", json.loads(core.to_json())))


def _below(place: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, field in value.items():
            below = f"{place}.{name}" if place else str(name)
            if _is_file(name, field):
                yield below, field
            else:
                yield from _below(below, field)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _below(f"{place}[{number}]", item)


def _is_file(name: str, field: Any) -> bool:
    """Return whether a field names a file. The run's own `trace` is a table.

    Examples
    --------
    >>> [_is_file("trace", "narrows:a"), _is_file("sizes", "b.cdf:max=1MB"), _is_file("cc", "bbr")]
    [False, True, False]
    """
    if not isinstance(field, str):
        return False
    if name == "trace":
        return not field.startswith(BUILT_IN)
    return name == "sizes" and field.partition(MOST)[0].endswith(SIZES)


def fields_beside(fields: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return fields of a scenario whose files are found from a folder.

    Parameters
    ----------
    fields
        As in a file in that folder.
    folder
        Where relative names begin.

    Returns
    -------
    dict
        With whole names.

    Examples
    --------
    >>> fields_beside({"links": [{"trace": "up"}]}, Path("/a"))
    {'links': [{'trace': '/a/up'}]}
    """

    def whole(name: str, value: Any) -> Any:
        if _is_file(name, value):
            return _within(folder, value)
        if isinstance(value, Mapping):
            return {below: whole(below, field) for below, field in value.items()}
        if isinstance(value, list):
            return [whole("", item) for item in value]
        return value

    return {name: whole(name, value) for name, value in fields.items()}


def beside(core: _core.Scenario, folder: Path) -> _core.Scenario:
    """Return a scenario whose files are found from a folder, in which its own file lies.

    Parameters
    ----------
    core
        A scenario of the core, not checked.
    folder
        Where relative names begin.

    Returns
    -------
    _core.Scenario
        With whole names: the scenario is also written where its results are.
    """
    found = {place: _within(folder, name) for place, name in named(core).items()}
    return core.patched([(place, json.dumps(name)) for place, name in found.items()])


def _within(folder: Path, name: str) -> str:
    """Return a whole name, with what follows a file of sizes.

    Examples
    --------
    >>> _within(Path("/a"), "b/mine.cdf:max=1MB")
    '/a/b/mine.cdf:max=1MB'
    """
    file, most, limit = name.partition(MOST)
    return f"{(folder / file).resolve()}{most}{limit}"


def digests(core: _core.Scenario) -> str:
    """Return what the files hold, as text: runs are equal only if that is.

    Parameters
    ----------
    core
        A scenario of the core whose files can be read.

    Returns
    -------
    str
        A line for each file; empty if there is none.
    """
    lines = (
        f"# {place}: {hashlib.sha256(Path(name.partition(MOST)[0]).read_bytes()).hexdigest()}\n"
        for place, name in named(core).items()
    )
    return "".join(lines)

"""Controllers named on the command line: built-in ones, hosted stacks, and classes in files."""

from __future__ import annotations

import re
import runpy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from narrows.errors import Error
from narrows.networks import dumbbell

FILE = re.compile(r"(.+\.py):(\w+)")


def named(option: str, names: Sequence[str]) -> list[Any]:
    """Return the controllers that are meant.

    Parameters
    ----------
    option
        Where they were named, for errors.
    names
        What a flow's ``cc`` may be as text, or ``FILE.py:NAME`` for a class or function of a file.

    Returns
    -------
    list
        What a flow's ``cc`` may be.

    Raises
    ------
    Error
        If there is no such controller, or the file cannot be read or lacks the name.

    Examples
    --------
    >>> named("--cc", ["cubic", "bbr"])
    ['cubic', 'bbr']
    """
    return [_known(option, name) for name in names]


def _known(option: str, name: str) -> Any:
    match = FILE.fullmatch(name)
    cc = _from_file(option, Path(match[1]), match[2]) if match else name
    try:
        dumbbell("10Mbps", "40ms", "20p", cc=cc)
    except Error as error:
        raise Error(f"{option}: {str(error).removeprefix('flows[0].cc: ')}") from None
    return cc


def _from_file(option: str, file: Path, name: str) -> Any:
    try:
        found = runpy.run_path(str(file), run_name=file.stem)
    except Exception as error:
        # Whatever the user's file does when it is read.
        raise Error(f"{option}: {file}: {type(error).__name__}: {error}") from None
    if name not in found:
        raise Error(f'{option}: {file} has no "{name}"')
    return found[name]

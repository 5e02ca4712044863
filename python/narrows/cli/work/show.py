"""`narrows show`: the record that a file holds, or that lies in a folder above it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from narrows.errors import Error
from narrows.files import MADE
from narrows.made import Made
from narrows.stamp import stamp_of
from narrows.terminal import put


def show(file: Path, scenarios: bool, as_json: bool) -> bool:
    """Print how a file was made; return whether it is as it was written."""
    made, name = _record(file)
    written = made.files.get(name) if name else None
    same = written is None or written == hashlib.sha256(file.read_bytes()).hexdigest()
    if as_json:
        put(made.to_json(made.files).rstrip())
        return same
    put(str(made))
    for number, (said, text) in enumerate(made.cases, 1):
        told = ", ".join(f"{key}={value}" for key, value in said.items())
        put(f"scenario {number} of {len(made.cases)}{f': {told}' if told else ''}")
        if scenarios:
            put(text.rstrip())
    if written:
        put("as it was written" if same else f"{file} is not as it was written")
    return same


def _record(file: Path) -> tuple[Made, str]:
    """Return the record of a file, and its name there; an empty one if no digest is known."""
    if file.is_dir():
        return Made.load(file), ""
    if not file.is_file():
        raise Error(f"{file}: there is no such file")
    for folder in file.absolute().parents:
        name = file.absolute().relative_to(folder).as_posix()
        if (folder / MADE).is_file() and (made := Made.load(folder)).files.get(name):
            return made, name
    if (text := stamp_of(file.read_bytes())) is not None:
        return Made.parse(text, file), ""
    raise Error(
        f"{file}: it holds no record, and no {MADE} above lists it; a picture that -o has written "
        "holds one, and other files have it beside them"
    )

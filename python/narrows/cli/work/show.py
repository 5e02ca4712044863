"""`narrows show`: the record that a file holds, or that lies in a folder above it."""

from __future__ import annotations

from pathlib import Path

from narrows.errors import Error
from narrows.files import MADE, digest, listed_in, not_written
from narrows.made import Made
from narrows.stamp import may_hold, stamp_of
from narrows.terminal import put

# Bytes by which a picture, a table or a page is known.
BEGINNING = 64


def show(file: Path, scenarios: bool, as_json: bool) -> bool:
    """Print how a file was made; return whether it is as it was written."""
    made, changed = _record(file)
    same = not changed
    if as_json:
        put(made.to_json(made.files).rstrip())
        return same
    put(str(made))
    for number, (said, text) in enumerate(made.cases, 1):
        told = ", ".join(f"{key}={value}" for key, value in said.items())
        put(f"scenario {number} of {len(made.cases)}{f': {told}' if told else ''}")
        if scenarios:
            put(text.rstrip())
    if changed is not None:
        lines = [f"{name} is not as it was written" for name in changed]
        put("\n".join(lines) or "as it was written")
    return same


def _record(file: Path) -> tuple[Made, list[str] | None]:
    """Return the record of a file or folder, and what has been changed; None if that is not known.

    Folders above that hold no record, or one that does not list the file, are passed over.
    """
    if file.is_dir():
        made = Made.load(file)
        return made, [str(file / name) for name in _changed(file, made.files)]
    if not file.is_file():
        raise Error(f"{file}: there is no such file")
    for folder in file.absolute().parents:
        name = file.absolute().relative_to(folder).as_posix()
        if (written := listed_in(folder / MADE).get(name)) is not None:
            return Made.load(folder), [] if digest(file) == written else [str(file)]
    with file.open("rb") as stream:
        is_read = may_hold(stream.read(BEGINNING))
    if is_read and (text := stamp_of(file.read_bytes())) is not None:
        return Made.parse(text, file), None
    raise Error(
        f"{file}: it holds no record, and no {MADE} above lists it; pictures, tables and pages "
        "that -o has written hold one, and other files have it beside them"
    )


def _changed(folder: Path, written: dict[str, str]) -> list[str]:
    """Return the files of a folder that were changed, are new, or are missing."""
    missing = [name for name in written if not (folder / name).is_file()]
    return sorted([*not_written(folder, written), *missing])

"""How commands print runs and write their folder."""

from __future__ import annotations

import errno
import json
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from csv import DictWriter
from io import StringIO
from pathlib import Path
from typing import Any

from narrows.cli.options import check_force
from narrows.errors import Error
from narrows.files import Output
from narrows.made import Made
from narrows.terminal import put, say


def refuse_to_replace(file: Path | None, force: bool) -> None:
    """Refuse to write a file that exists, unless it is to be replaced."""
    check_force(file, force)
    if file and not force and file.exists():
        raise FileExistsError(errno.EEXIST, "it exists; --force replaces it", file)


def one_form(json_: bool, csv: bool) -> None:
    """Refuse two forms at once."""
    if json_ and csv:
        raise Error("--csv: --json is another form; leave one out")


def folder_of(output: Path | None, force: bool) -> AbstractContextManager[Output | None]:
    """Return the folder to write into, if there is one."""
    check_force(output, force)
    return Output(output, force) if output else nullcontext()


def print_records(records: Sequence[dict[str, Any]], csv: bool) -> None:
    """Print runs as CSV, or as one JSON object a line."""
    if csv:
        _print_csv(records)
    else:
        for record in records:
            put(json.dumps(record))


def _print_csv(records: Sequence[dict[str, Any]]) -> None:
    """Print runs as CSV; what is a list has a cell with its values between spaces."""
    rows = [
        {
            name: _joined(value) if isinstance(value, list) else value
            for name, value in record.items()
            if name not in ("groups", "lateness")
        }
        | {f"late_{name}": value for name, value in record.get("lateness", {}).items()}
        for record in records
    ]
    columns = dict.fromkeys(name for row in rows for name in row)
    text = StringIO()
    writer = DictWriter(text, list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    put(text.getvalue(), end="")


def _joined(values: list[Any]) -> str:
    between = "; " if any(isinstance(value, str) for value in values) else " "
    return between.join(map(str, values))


def finish(folder: Output, made: Made, quiet: bool) -> None:
    """Put a folder of results in its place, and say what is in it unless `quiet`."""
    folder.finish(made)
    if not quiet:
        say(f"written to {folder.target}/: " + ", ".join(folder.written()))

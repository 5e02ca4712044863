"""What a forge shows of a job: a table in its summary, and a line at the place of a failure.

GitHub names the file of the summary in GITHUB_STEP_SUMMARY and reads commands from standard output,
see its "Workflow commands"; others have copied that. Elsewhere nothing is written.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from narrows.terminal import plain, put

SUMMARY = "GITHUB_STEP_SUMMARY"


def is_there() -> bool:
    """Return whether this runs as a job of a forge that shows summaries.

    Returns
    -------
    bool
        Whether a file for the summary is named.
    """
    return bool(os.environ.get(SUMMARY))


def summarise(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Add a table to the job's summary, if there is one.

    Parameters
    ----------
    title
        What is above it.
    headings, rows
        The table.
    """
    if not is_there():
        return
    table = [headings, ["---"] * len(headings), *rows]
    text = "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in table)
    with Path(os.environ[SUMMARY]).open("a", encoding="utf-8") as file:
        file.write(f"### {_cell(title)}\n\n{text}\n\n")


def point_at(file: str, message: str) -> None:
    """Let the forge show a failure, at a file if it has one, if this runs in a forge.

    Parameters
    ----------
    file
        The file's path; empty for none.
    message
        What is wrong.
    """
    if is_there():
        place = f" file={_escaped(file, of_field=True)}" if file else ""
        put(f"::error{place}::{_escaped(message)}")


def _cell(text: str) -> str:
    return plain(text).replace("|", "\\|").replace("\n", " ")


def _escaped(text: str, of_field: bool = False) -> str:
    """Write what ends a command or a field of it as GitHub reads it back.

    Examples
    --------
    >>> _escaped("50 %"), _escaped("a,b:c", of_field=True)
    ('50 %25', 'a%2Cb%3Ac')
    """
    signs = {"%": "%25", "\r": "%0D", "\n": "%0A"}
    if of_field:
        signs |= {":": "%3A", ",": "%2C"}
    return "".join(signs.get(sign, sign) for sign in text)

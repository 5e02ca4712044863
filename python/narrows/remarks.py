"""The warnings of many runs as few lines: those that differ only in numbers are one."""

from __future__ import annotations

import re
from collections.abc import Sequence

# More labels of cases than these are counted.
LABELS = 3
# A number that counts something: what is said of flows[0] is not said of flows[1].
_NUMBER = re.compile(r"(?<![\[\d.])\d+(?:\.\d+)?")


def gathered(groups: Sequence[tuple[str, Sequence[Sequence[str]]]]) -> list[str]:
    """Return each kind of warning once, with the cases and the number of runs that have it.

    Parameters
    ----------
    groups
        The label of each case, and the warnings of each of its runs.

    Returns
    -------
    list of str
        One warning of each kind, with the range of each number that differs, followed by whose it
        is unless every run has it.

    Examples
    --------
    >>> gathered([("reno", [["2 epochs"], ["3 epochs"]]), ("bbr", [[], []])])
    ['2 to 3 epochs [reno]']
    >>> gathered([("", [["no loss"], []])])
    ['no loss [1 of 2 runs]']
    """
    said: dict[str, list[str]] = {}
    concerned: dict[str, dict[str, int]] = {}
    runs = {label: len(of_runs) for label, of_runs in groups}
    for label, of_runs in groups:
        for of_run in of_runs:
            kinds = {_NUMBER.sub("#", warning): warning for warning in of_run}
            for kind, warning in kinds.items():
                said.setdefault(kind, []).append(warning)
                counts = concerned.setdefault(kind, {})
                counts[label] = counts.get(label, 0) + 1
    return [
        _merged(said[kind]) + _whose(said[kind][0], counts, runs)
        for kind, counts in concerned.items()
    ]


def of_runs(warnings: Sequence[Sequence[str]]) -> list[str]:
    """Return each kind of warning of several runs once, with the number of runs that have it."""
    return gathered([("", warnings)])


def numbers(warnings: Sequence[Sequence[str]]) -> list[list[int]]:
    """Return for each run the numbers of its warnings, from 1, in the list of `of_runs`.

    Examples
    --------
    >>> numbers([["2 epochs"], [], ["no loss", "3 epochs"]])
    [[1], [], [1, 2]]
    """
    kinds = dict.fromkeys(_NUMBER.sub("#", text) for of_run in warnings for text in of_run)
    order = {kind: number for number, kind in enumerate(kinds, 1)}
    return [sorted({order[_NUMBER.sub("#", text)] for text in of_run}) for of_run in warnings]


def numbered(warnings: Sequence[str]) -> list[str]:
    """Return warnings with the numbers that a table's rows have.

    Examples
    --------
    >>> numbered(["no loss"])
    ['(1) no loss']
    """
    return [f"({number}) {text}" for number, text in enumerate(warnings, 1)]


def _merged(warnings: Sequence[str]) -> str:
    """Return warnings that differ in numbers only as one, with ranges.

    Examples
    --------
    >>> _merged(["held 3 of 40 packets", "held 12 of 40 packets"])
    'held 3 to 12 of 40 packets'
    """
    columns = zip(*(_NUMBER.findall(warning) for warning in warnings), strict=True)
    ranges = []
    for column in columns:
        low, high = min(column, key=float), max(column, key=float)
        ranges.append(low if low == high else f"{low} to {high}")
    numbers = iter(ranges)
    return _NUMBER.sub(lambda _: next(numbers), warnings[0])


def _whose(warning: str, counts: dict[str, int], runs: dict[str, int]) -> str:
    named = all(f'"{label}"' in warning and runs[label] == n for label, n in counts.items())
    if counts == runs or named:
        return ""
    parts = []
    for label, count in counts.items():
        some = "" if count == runs[label] else f"{count} of {runs[label]} runs"
        parts.append(": ".join(part for part in (label, some) if part))
    shown = "; ".join(parts[:LABELS])
    more = len(parts) - LABELS
    return f" [{shown}; and {more} more]" if more > 0 else f" [{shown}]"

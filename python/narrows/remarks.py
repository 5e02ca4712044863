"""The warnings of many runs as few lines: those that differ only in numbers are one."""

from __future__ import annotations

import re
from collections.abc import Sequence

# More labels of cases than these are counted.
LABELS = 3


def gathered(groups: Sequence[tuple[str, Sequence[Sequence[str]]]]) -> list[str]:
    """Return each warning once, with the cases and the number of runs that have it.

    Parameters
    ----------
    groups
        The label of each case, and the warnings of each of its runs.

    Returns
    -------
    list of str
        The first warning of each kind, followed by whose it is unless every run has it.

    Examples
    --------
    >>> gathered([("reno", [["2 epochs"], ["3 epochs"]]), ("bbr", [[], []])])
    ['2 epochs [reno]']
    >>> gathered([("", [["no loss"], []])])
    ['no loss [1 of 2 runs]']
    """
    quoted: dict[str, str] = {}
    concerned: dict[str, dict[str, int]] = {}
    runs = {label: len(of_runs) for label, of_runs in groups}
    for label, of_runs in groups:
        for of_run in of_runs:
            for warning in of_run:
                kind = re.sub(r"\d+(\.\d+)?", "#", warning)
                quoted.setdefault(kind, warning)
                counts = concerned.setdefault(kind, {})
                counts[label] = counts.get(label, 0) + 1
    return [quoted[kind] + _whose(quoted[kind], counts, runs) for kind, counts in concerned.items()]


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

"""Options that several commands have, and how their texts are read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from narrows import _core
from narrows.errors import Error, ScenarioError

# Runs with more seeds than these would not end.
MOST_SEEDS = 1_000_000

Json = Annotated[
    bool,
    typer.Option(
        "--json", "-J", help="Print JSON instead of tables; runs are one object per line."
    ),
]
Csv = Annotated[
    bool, typer.Option("--csv", help="Print CSV instead of tables, one line for each run.")
]
Out = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", help="Write Parquet tables, a figure and a report into this folder."
    ),
]
Junit = Annotated[Path | None, typer.Option(help="Write the results as JUnit XML into this file.")]
Force = Annotated[
    bool, typer.Option("--force", help="Replace the output folder if it has results of narrows.")
]
Seeds = Annotated[
    str, typer.Option(help="The number of seeds, like 10, or a range of them, like 1..10.")
]
CacheFolder = Annotated[
    Path, typer.Option("--cache", help="The folder in which finished runs are kept.")
]


def check_force(output: Path | None, force: bool) -> None:
    """Fail if `--force` is given and nothing is written that it could replace."""
    if force and output is None:
        raise Error("--force: nothing is written that it could replace; give -o, or leave it out")


def group(about: str) -> typer.Typer:
    """Return a group of commands with a name of its own, like `narrows lab`."""
    return typer.Typer(help=about, no_args_is_help=True, rich_markup_mode=None)


@contextmanager
def told_by_option(options: Mapping[str, str]) -> Iterator[None]:
    """Name in what a scenario refuses the option that it is of, not its own field.

    Parameters
    ----------
    options
        Options by the fields, as patterns, that they fill.
    """
    try:
        yield
    except ScenarioError as error:
        raise Error(by_option(str(error), options)) from None


def by_option(text: str, options: Mapping[str, str]) -> str:
    r"""Return an error's text with the option in place of the field.

    Examples
    --------
    >>> by_option('flows[0].cc: unknown controller "x"', {r"flows\[\d+\]\.cc": "--cc"})
    '--cc: unknown controller "x"'
    """
    for field, option in options.items():
        found = re.match(rf"{field}(?=[:.])", text)
        if found:
            return option + text[found.end() :]
    return text


def with_unit(text: str) -> str:
    """Append seconds as the unit to a bare number, as in iperf3's `-t 10`."""
    return f"{text}s" if re.fullmatch(r"[0-9.]+(e[+-]?[0-9]+)?", text) else text


def seconds_of(option: str, text: str) -> float:
    """Read a time above 0, like 100ms; a bare number is in seconds.

    Examples
    --------
    >>> seconds_of("--duration", "100ms"), seconds_of("--duration", "2")
    (0.1, 2.0)
    """
    seconds = _core.seconds(option, with_unit(text.strip()))
    if not seconds:
        raise Error(f'{option}: "{text}" is not a time above 0; try 100ms')
    return seconds


def rate_of(option: str, text: str) -> float:
    """Read a rate in bit/s, like 10Gbps.

    Examples
    --------
    >>> rate_of("--rate", "2.5Gbps")
    2500000000.0
    """
    match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*([kMGT]?)bps", text.strip())
    if not match or not float(match[1]):
        raise Error(f'{option}: "{text}" is not a rate; try 10Gbps')
    return float(match[1]) * {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[match[2]]


def split_list(option: str, text: str) -> list[str]:
    """Split a list by commas.

    Examples
    --------
    >>> split_list("--cc", "cubic, reno")
    ['cubic', 'reno']
    """
    items = [item.strip() for item in text.split(",")]
    if not all(items):
        raise Error(f'{option}: "{text}" has an empty item; separate names by single commas')
    return items


def split_seeds(text: str, first: int | None, usual: int = 1) -> list[int]:
    """Read a number of seeds, like `10`, or a range of them, like `3..12`.

    A number is counted from `first`, or from `usual` if that is None. A range begins where it says,
    and has no `first` beside it.

    Examples
    --------
    >>> split_seeds("3", 7), split_seeds("2..4", None)
    ([7, 8, 9], [2, 3, 4])
    """
    match = re.fullmatch(r"(\d+)(?:\.\.(\d+))?", text.strip())
    if first is not None and not 0 <= first < 2**64:
        raise Error(f"--seed: {first} is not from 0 to 2^64 - 1; try 1")
    if match and match[2]:
        if first is not None:
            raise Error(f"--seed: --seeds {text} says the first seed; leave one out")
        _check_number(text, int(match[2]) - int(match[1]) + 1)
        seeds = list(range(int(match[1]), int(match[2]) + 1))
    else:
        begin = usual if first is None else first
        _check_number(text, int(match[1]) if match else 0)
        seeds = list(range(begin, begin + int(match[1]))) if match else []
    if seeds and seeds[-1] >= 2**64 and first is not None:
        raise Error(f"--seed: {first} leaves no room for {len(seeds)} seeds below 2^64; try 1")
    if not seeds or seeds[0] < 0 or seeds[-1] >= 2**64:
        raise Error(f'--seeds: "{text}" is not a number or range of seeds; try 10 or 1..10')
    return seeds


def _check_number(text: str, seeds: int) -> None:
    if seeds > MOST_SEEDS:
        raise Error(f"--seeds: {text} is more than {MOST_SEEDS} seeds; try 10 or 1..10")

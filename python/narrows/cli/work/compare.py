"""`narrows compare`: controllers and pacings over one bottleneck, with one seed or several."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from narrows import _core, tables
from narrows.cli.work.printing import finish, folder_of, one_form, print_records
from narrows.comparison import Case, Comparison, decided_by, plan, run_cases, varying
from narrows.errors import Error, ScenarioError
from narrows.files import Folder, parquet
from narrows.law_files import parts_of
from narrows.made import Made
from narrows.metrics import table_names
from narrows.pool import check_memory
from narrows.reality import run_both, run_real
from narrows.scenario import Scenario
from narrows.terminal import console, say, warn

MOST_FLOWS = 2**32 - 1


@dataclass(frozen=True)
class Combinations:
    """Every combination of network, law, pacing and seed.

    Parameters
    ----------
    networks
        Lists of values by field of the dumbbell, like ``{"buffer": ["20p", "1bdp"]}``.
    ccs, pacings, seeds
        The laws, pacings and seeds to combine; a pacing that is None is the transport's. A law may
        be a mixture, like ``cubic/bbr`` or ``40*cubic/10*bbr``.
    flows
        The number of flows.
    fields
        The scenario's other fields; those that are None take their defaults.
    flow
        The flows' other fields.
    """

    networks: dict[str, list[str]]
    ccs: list[str]
    pacings: Sequence[str | None]
    seeds: list[int]
    flows: int
    fields: dict[str, Any]
    flow: dict[str, Any]

    def planned(self) -> list[tuple[dict[str, str], Scenario]]:
        """Return each combination, as it was said and as a checked scenario.

        What a law decides by itself is left out for that law: one that paces by itself has one
        scenario whatever the pacings are.
        """
        fields = {name: value for name, value in self.fields.items() if value is not None}
        found = []
        for values in product(*map(dict.fromkeys, self.networks.values())):
            network = dict(zip(self.networks, values, strict=True))
            for cc in dict.fromkeys(self.ccs):
                parts = mixture(cc, self.flows)
                own = set.intersection(*(set(decided_by(law)) for law, _ in parts))
                for pacing in [None] if "pacing" in own else dict.fromkeys(self.pacings):
                    groups = [self._group(law, count, pacing) for law, count in parts]
                    with as_options():
                        scenario = Scenario(**fields, dumbbell=network, flows=groups)
                    said = {"cc": cc, **network, "pacing": "own" if pacing is None else pacing}
                    found.append((said, scenario))
        return found

    def _group(self, law: str, count: int, pacing: str | None) -> dict[str, Any]:
        own = decided_by(law)
        # What is as usual is not said: a kernel could not do it otherwise.
        usual = (None, False, 0.0, "0s")
        flow = {
            name: value
            for name, value in self.flow.items()
            if name not in own and value not in usual
        }
        spaced = {} if pacing is None or "pacing" in own else {"pacing": pacing}
        return {"cc": law, "count": count, **spaced, **flow}

    def left_out(self) -> list[str]:
        """Say of each law which of the options it decides by itself."""
        said = {name for name, value in self.flow.items() if value}
        said |= {"pacing"} if list(self.pacings) != [None] else set()
        laws = dict.fromkeys(law for cc in self.ccs for law, _ in mixture(cc, self.flows))
        return [
            f"{law} decides by itself: {', '.join(own)}"
            for law in laws
            if (own := sorted(said & set(decided_by(law))))
        ]


@contextmanager
def as_options() -> Iterator[None]:
    """Name the option where a scenario that options made is wrong at one of their fields."""
    try:
        yield
    except ScenarioError as error:
        place, colon, message = str(error).partition(":")
        named = re.fullmatch(r"(?:dumbbell\.|flows\[\d+\]\.)?(\w+)", place)
        if not named:
            raise
        option = {"packet": "packet-size"}.get(named[1], named[1].replace("_", "-"))
        raise ScenarioError(f"--{option}{colon}{message}") from None


@dataclass(frozen=True)
class Shown:
    """How cases are run, for real and simulated as well, and what becomes of what is found."""

    how: tuple[bool, bool]
    as_json: bool
    csv: bool
    output: Path | None
    force: bool


def compare(combinations: Combinations, shown: Shown) -> bool:
    """Compare; return whether all that was measured is to be believed."""
    planned = combinations.planned()
    buffers = dict.fromkeys(scenario.buffers["bottleneck"] for _, scenario in planned)
    lines = [f"bottleneck buffer: {buffer}" for buffer in buffers]
    return _compare(planned, combinations.seeds, [*lines, *combinations.left_out()], shown)


def compare_in(
    file: Path, ccs: Sequence[str], seeds_from: Callable[[int], list[int]], shown: Shown
) -> bool:
    """Compare laws in the place of a scenario file's flows; its seed is the first unless told."""
    scenario = Scenario.load(file)
    seeds = seeds_from(scenario.seed)
    for cc in ccs:
        if len(parts_of(cc)) > 1:
            raise Error(f'--cc: "{cc}" is a mixture; with a file name one law, as in cubic,bbr')
    return _compare([plan(scenario, cc, {}) for cc in dict.fromkeys(ccs)], seeds, [], shown)


def _compare(
    planned: Sequence[tuple[dict[str, str], Scenario]],
    seeds: list[int],
    lines: Sequence[str],
    shown: Shown,
) -> bool:
    as_json, csv = shown.as_json, shown.csv
    one_form(as_json, csv)
    real, both = shown.how
    if real and both:
        raise Error("--both: it has the runs of --real; leave one out")
    if not (real or both):
        check_memory([scenario.checked.weight() for _, scenario in planned], len(seeds))
    cases = [(dict(said), scenario.to_toml()) for said, scenario in planned]
    made = Made("lab" if real or both else "compare", cases, seeds)
    with folder_of(shown.output, shown.force) as folder:
        if not (as_json or csv):
            for line in lines:
                say(line)
        compare_cases = run_both if both else run_real if real else run_cases
        comparison = compare_cases(planned, seeds)
        names = varying(comparison.cases)
        records = [
            {name: case.said.get(name) for name in names} | run.record() | _tried(case)
            for case in comparison.cases
            for run in case.runs
        ]
        if as_json or csv:
            print_records(records, csv)
        else:
            found = tables.of_comparison(comparison.cases)
            if both:
                found.append(tables.differences(comparison.cases))
            for table in found:
                console().print(table)
            if not (real or both):
                say(_speed(records))
        if not (as_json or csv) or real or both:
            warn(comparison.warnings)
        if folder:
            write(folder, comparison, made)
            finish(folder, made, quiet=as_json or csv)
    return all(record.get("valid", True) for record in records)


def _tried(case: Case) -> dict[str, str]:
    """Return the law that was tried, where it is one; a run tells those of all its flows."""
    law = case.said["cc"]
    return {"cc": law} if len(parts_of(law)) == 1 else {}


def _speed(records: Sequence[dict[str, Any]]) -> str:
    wall = sum(record["wall"] for record in records)
    packets = sum(record["delivered"] for record in records)
    runs = "1 run" if len(records) == 1 else f"{len(records)} runs"
    return f"{runs}, {wall:.2f} s of one core, {packets / wall / 1e6:.1f} Mpkt/s"


def write(folder: Folder, comparison: Comparison, made: Made) -> None:
    """Write one table of each kind for all runs, the scenario of each case, figure and report."""
    from narrows import plot, report

    for name in table_names():
        frame = comparison.table(name)
        if frame.height:
            folder.data(f"{name}.parquet", parquet(frame))
    names = varying(comparison.cases)
    for case in comparison.cases:
        name = re.sub(r"[^A-Za-z0-9.=+-]", "_", case.label(names, "-"))
        folder.text(f"{name}.toml", case.runs[0].scenario.to_toml())
    folder.data("comparison.png", plot.png(comparison.plot()))
    folder.text("report.html", report.comparison(comparison, made))


def mixture(cc: str, flows: int) -> list[tuple[str, int]]:
    """Split a mixture of laws into laws and numbers of flows.

    Examples
    --------
    >>> mixture("cubic/bbr", 5), mixture("4*cubic/bbr", 5), mixture("reno+newreno", 2)
    ([('cubic', 3), ('bbr', 2)], [('cubic', 4), ('bbr', 1)], [('reno+newreno', 2)])
    """
    if flows > MOST_FLOWS:
        raise Error(f"--flows: {flows} is more than {MOST_FLOWS} flows; try 50")
    known = [name for name, *_ in _core.controllers()]
    plus = re.fullmatch(r"([a-z0-9-]+)(?::\d+)?\+([a-z0-9-]+)(?::\d+)?", cc)
    if plus and plus[1] in known and plus[2] in known and plus[2] != "reno":
        raise Error(
            f'--cc: "{cc}" is not a law over a recovery; for a mixture write {plus[1]}/{plus[2]}, '
            f"or 5*{plus[1]}/5*{plus[2]}"
        )
    laws, said, rest = _counted(cc)
    left = flows - said
    if left < rest or (left and not rest):
        needed = f"at least {said + rest}" if rest else str(said)
        raise Error(
            f'--cc: "{cc}" is {needed} flows, and it would have {flows}, as --flows or another law '
            "of the list says"
        )
    shares = iter(len(part) for part in _parts(left, rest))
    return [(law, count or next(shares)) for law, count in laws]


def flows_of(ccs: Sequence[str]) -> int:
    """Return how many flows a list of laws needs, if nobody says it.

    Examples
    --------
    >>> flows_of(["cubic", "bbr"]), flows_of(["cubic", "cubic/bbr"]), flows_of(["40*cubic/10*bbr"])
    (1, 2, 50)
    """
    return max(said + rest for _, said, rest in map(_counted, ccs))


def _counted(cc: str) -> tuple[list[tuple[str, int]], int, int]:
    """Split a mixture into laws with their counts, 0 for a share of the rest.

    Returns also the sum of the counts, and how many laws share the rest.
    """
    if re.search(r"\.py\b", cc):
        raise Error(
            f"--cc: {cc} is a law in Python; narrows arena, score and seek take it, and in "
            "Python nw.compare(scenario, [Mine])"
        )
    counted = [re.fullmatch(r"(?:(\d+)\*)?(.+)", part.strip()) for part in parts_of(cc)]
    if not all(counted):
        raise Error(f'--cc: "{cc}" has an empty part; try cubic/bbr or 40*cubic/10*bbr')
    laws = [(match[2], int(match[1] or 0)) for match in counted if match]
    if any(match[1] and not int(match[1]) for match in counted if match):
        raise Error(f'--cc: "{cc}" has a law of no flows; leave it out')
    return laws, sum(count for _, count in laws), sum(not count for _, count in laws)


def _parts(whole: int, number: int) -> list[range]:
    """Split a number into parts that differ by one at most, the larger first."""
    ends = [(whole * place + number - 1) // number if number else 0 for place in range(number + 1)]
    return [range(low, high) for low, high in pairwise(ends)]

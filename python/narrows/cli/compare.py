"""`narrows compare`: controllers and pacings over one bottleneck, with one seed or several."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

from narrows import _core
from narrows._files import Folder, parquet
from narrows.comparison import Comparison, varying
from narrows.errors import Error
from narrows.made import Made
from narrows.metrics import table_names
from narrows.scenario import Scenario

# Runs with more seeds than these would not end.
MOST_SEEDS = 1_000_000
MOST_FLOWS = 2**32 - 1


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
                own = set.intersection(*(set(_core.decided_by(law)) for law, _ in parts))
                for pacing in [None] if "pacing" in own else dict.fromkeys(self.pacings):
                    groups = [self._group(law, count, pacing) for law, count in parts]
                    scenario = Scenario(**fields, dumbbell=network, flows=groups)
                    said = {"cc": cc, **network, "pacing": "own" if pacing is None else pacing}
                    found.append((said, scenario))
        return found

    def _group(self, law: str, count: int, pacing: str | None) -> dict[str, Any]:
        own = _core.decided_by(law)
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
            if (own := sorted(said & set(_core.decided_by(law))))
        ]

    def made(self, planned: Sequence[tuple[dict[str, str], Scenario]], kind: str) -> Made:
        """Return what is needed to run the planned combinations again; `kind` is that of `Made`."""
        cases = [(dict(said), scenario.to_toml()) for said, scenario in planned]
        return Made(kind, cases, self.seeds)


def write(folder: Folder, comparison: Comparison, made: Made) -> None:
    """Write one table of each kind for all runs, the scenario of each case, figure and report."""
    from narrows import plot, report  # noqa: PLC0415 (matplotlib takes half a second)

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
    counted = [re.fullmatch(r"(?:(\d+)\*)?(.+)", part.strip()) for part in cc.split("/")]
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

"""The inverse of `narrows buffer`: how many flows of which law fill a link with a given buffer."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from narrows.advisor import CONFIDENCE, FRESH, SEEN, Advisor
from narrows.buffer import beyond
from narrows.check import Verdict, judge
from narrows.cli.options import by_option, split_list
from narrows.cli.work.buffer import (
    KEPT_SHARE,
    MANY_TIMEOUTS,
    OPTIONS,
    Ask,
    base_of,
    beside,
    cell,
    finite,
    packets_of,
)
from narrows.cli.work.printing import finish, folder_of
from narrows.cli.work.score import KEPT, goes_on
from narrows.errors import Error, ScenarioError
from narrows.files import Output
from narrows.law_files import law_of_file, parts_of
from narrows.made import Made
from narrows.metrics import WORDS
from narrows.scenario import Scenario
from narrows.score.store import Store
from narrows.targets import Target, targets_of
from narrows.terminal import console, put, say
from narrows.theory.buffers import FEW, SMALL, Link, flows_of

# Which option fills which field where the buffer is given.
OPTIONS_OF_GIVEN = OPTIONS | {r"dumbbell\.buffer": "--given"}
SERIES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
# Seeds of each number of flows, and of one of which they do not decide.
SEEDS, MORE = [1, 2, 3], list(range(1, 10))
# What is printed besides what was asked for: as much as 80 columns hold.
PRINTED = tuple(it for it in SEEN if it != "delay_p50")
# Between two numbers of flows this far apart it is not looked further.
NEAR = 1.1
# So many times as many flows are tried, too: single ones may do what several do not.
MORE_FLOWS = (2, 5, 10, 20)


@dataclass(frozen=True)
class Row:
    """What was found of one law as it sends.

    Attributes
    ----------
    cc, pacing, quantum
        The law, and how it sends; empty for what it does by itself.
    flows
        The least number of flows that meets what more flows bring nearer; None if a thousand do
        not.
    beyond
        A number of flows that do not; None if one flow does.
    again
        More flows, of those tried, that miss it again; None if none does.
    is_confirmed
        Whether fresh seeds say the same.
    missed
        The targets that are not met there, for which fewer are too many.
    theory
        How many flows normal windows need; NaN where these are not, or the law keeps no share.
    seeds
        Under which it was run there.
    numbers
        Means at `flows`, or at the most that were tried.
    kinds
        Their kinds of quantity.
    timeouts
        Of a flow in a second there; NaN for stacks that do not tell.
    scenario
        What was run there, as TOML.
    """

    cc: str
    pacing: str
    quantum: str
    flows: int | None
    beyond: int | None
    again: int | None
    is_confirmed: bool
    missed: list[str]
    theory: float
    seeds: list[int]
    numbers: dict[str, float]
    kinds: dict[str, str]
    timeouts: float
    scenario: str

    @property
    def place(self) -> tuple[float, ...]:
        """What rows are sorted by: flows, then loss, delay and unfairness.

        Those that more flows miss again come after those of which they do not.
        """
        late = (self.numbers[name] for name in ("loss_rate", "delay_p99"))
        flows = math.inf if self.flows is None or self.missed else self.flows
        return (math.isinf(flows), self.again is not None, flows, *late, -self.numbers["jain"])

    @property
    def notes(self) -> Iterator[str]:
        """What else is to be known of the answer, a sentence each."""
        if self.missed:
            fewest = f"{self.flows} flows are the fewest for the rest"
            yield f"{fewest}, and {', '.join(self.missed)} is missed"
        if not self.is_confirmed:
            yield f"fresh seeds do not say that {self.flows} flows are enough"
        if self.again is not None:
            yield f"{self.again} flows miss it again"
        if self.timeouts > MANY_TIMEOUTS:
            yield f"a flow times out every {1 / self.timeouts:.2g} s"


def invert(
    ask: Ask, given: str, asks: str, as_json: bool, output: Path | None, force: bool
) -> None:
    """Print how many flows of which law meet the targets with a buffer that an option gives."""
    targets = targets_of(ask.target)
    if not any(it.bound.startswith(">") for it in targets):
        raise Error(
            f'--target: more flows do not bring "{ask.target}" nearer, and {asks} asks for the '
            "least number of them; add what they do bring nearer, like utilisation >= 0.98"
        )
    # As Linux sends, which is what can be said of all that is asked about.
    usual = replace(ask, load=replace(ask.load, pacing=None, quantum=None))
    packets = packets_of(usual.scenario(usual.groups("cubic", 1), given))
    if not as_json:
        say(_assumed(usual, packets))
    with folder_of(output, force) as folder:
        try:
            rows = sorted(_rows(ask, given, asks, targets), key=lambda it: it.place)
        except KeyboardInterrupt:
            laws = split_list("--cc", ask.cc)
            say(goes_on(ask.cache / KEPT, [law_of_file(cc) or cc for cc in laws]))
            raise
        if folder:
            _write(folder, rows, quiet=as_json)
        if as_json:
            for row in rows:
                put(json.dumps(_record(row)))
            return
        _print(rows, [it.name for it in targets])
        put(f"the least number of flows that meet {ask.target} with {given}")
        for row in rows:
            for told in row.notes:
                put(f"{row.cc}{_sends(row.pacing, row.quantum)}: {told}")


def _assumed(ask: Ask, packets: float) -> str:
    how = "runs last until windows have been out of step for some time"
    if ask.duration:
        seconds, from_when = ask.times(ask.groups("cubic", 1))
        waited, _ = ask.rest(ask.groups("cubic", 1))
        early = f", where windows of a flow are in step until {waited:g} s"
        how = f"runs of {seconds:g} s, measured from {from_when:g} s on"
        how += early if from_when < waited else ""
    return f"{packets:g} packets of buffer over {ask.rate}{beside(ask.load)}, {ask.trips} ms; {how}"


def _write(folder: Output, rows: Sequence[Row], quiet: bool) -> None:
    folder.text("flows.jsonl", "\n".join(json.dumps(_record(row)) for row in rows) + "\n")
    fields = ("cc", "pacing", "quantum", "flows")
    cases = [({it: getattr(row, it) for it in fields}, row.scenario) for row in rows]
    finish(folder, Made("buffer", cases, max((row.seeds for row in rows), key=len)), quiet)


def _rows(ask: Ask, given: str, asks: str, targets: Sequence[Target]) -> Iterator[Row]:
    """Yield what is found of each law, each with each pacing and each quantum that it can have."""
    pacings = split_list("--pacing", ask.load.pacing) if ask.load.pacing else [None]
    quanta = split_list("--quantum", ask.load.quantum) if ask.load.quantum else [None]
    laws = split_list("--cc", ask.cc)
    for cc in laws:
        if len(parts_of(cc)) > 1 or "*" in cc:
            raise Error(f"--cc: {cc} says how many flows there are, which {asks} asks for")
    searches, left, wrong = [], [], None
    for cc, pacing, quantum in dict.fromkeys(itertools.product(laws, pacings, quanta)):
        load = replace(ask.load, pacing=pacing, quantum=quantum)
        search = _Inverse(replace(ask, cc=cc, load=load), given, targets)
        try:
            search.check()
        except ScenarioError as error:
            wrong = error
            told = by_option(str(error), OPTIONS_OF_GIVEN)
            left.append(f"{cc}{_sends(pacing, quantum)}: {told}")
            continue
        searches.append(search)
    if not searches and wrong is not None:
        raise wrong
    for told in left:
        say(f"left out: {told}")
    for search in searches:
        yield search.row()


def _sends(pacing: str | None, quantum: str | None) -> str:
    said = [
        f"{name} {value}" for name, value in (("pacing", pacing), ("quantum", quantum)) if value
    ]
    return f" with {' and '.join(said)}" if said else ""


class _Inverse:
    """The search for the least number of flows of one law."""

    def __init__(self, ask: Ask, given: str, targets: Sequence[Target]) -> None:
        self._ask, self._given, self._targets = ask, given, list(targets)
        self._store = Store(ask.cache / KEPT)
        self._seen: dict[int, Row] = {}

    def check(self) -> None:
        """Fail if a flow of this law cannot send so, or a target is none."""
        self._advisor(1)

    def row(self) -> Row:
        """Return what is found."""
        beyond: int | None = None
        for flows in SERIES:
            if self._meets(flows):
                return self._between(beyond, flows)
            beyond = flows
        return self._told(None, SERIES[-1], SERIES[-1])

    def _between(self, low: int | None, high: int) -> Row:
        while low is not None and high > low + 1 and high > NEAR * low:
            middle = round(math.sqrt(low * high))
            low, high = (low, middle) if self._meets(middle) else (middle, high)
        flows, is_confirmed = self._confirmed(high)
        more = (flows * times for times in MORE_FLOWS if flows * times <= SERIES[-1])
        again = next((it for it in more if not self._meets(it)), None)
        found = self._told(flows, low, flows)
        return replace(found, again=again, is_confirmed=is_confirmed)

    def _confirmed(self, flows: int) -> tuple[int, bool]:
        """Return as many flows, or up to a tenth or one more, that meet it under fresh seeds.

        And whether any do.
        """
        found = next((it for it in beyond(flows, 1) if self._meets(it, FRESH)), None)
        return (flows, False) if found is None else (found, True)

    def _told(self, flows: int | None, beyond: int | None, at: int) -> Row:
        return replace(self._seen[at], flows=flows, beyond=beyond)

    def _advisor(self, flows: int) -> tuple[Scenario, Advisor]:
        groups = self._ask.groups(self._ask.cc, flows)
        scenario = self._ask.scenario(groups, self._given)
        return scenario, Advisor(scenario, self._targets, math.inf, self._store)

    def _meets(self, flows: int, seeds: list[int] = SEEDS) -> bool:
        """Return whether as many flows meet what more of them bring nearer; keep what they show."""
        scenario, advisor = self._advisor(flows)
        size = round(packets_of(scenario))
        rising = [it for it in self._targets if it.bound.startswith(">")]
        advisor.ask([size], seeds)
        verdicts = [advisor.verdict(it, size, seeds, CONFIDENCE) for it in rising]
        if Verdict.UNDECIDED in verdicts and seeds == SEEDS:
            seeds = MORE
            advisor.ask([size], seeds)
        missed = [it for it in self._targets if not self._is_met(advisor, it, size, seeds)]
        numbers = {it: float(np.mean(advisor.each(it, size, seeds))) for it in advisor.names}
        self._seen[flows] = Row(
            cc=self._ask.cc,
            pacing=self._ask.load.pacing or "",
            quantum=self._ask.load.quantum or "",
            flows=flows,
            beyond=None,
            again=None,
            is_confirmed=True,
            missed=[it.name for it in missed if it not in rising],
            theory=self._theory(flows, size),
            seeds=seeds,
            numbers=numbers,
            kinds=advisor.kinds,
            timeouts=advisor.timeouts(size),
            scenario=scenario.to_toml(),
        )
        return not any(it in rising for it in missed)

    def _is_met(self, advisor: Advisor, target: Target, size: int, seeds: Sequence[int]) -> bool:
        """Return what the mean says, where seeds do not decide."""
        mean = float(np.mean(advisor.values(target, size, seeds)))
        bound = [advisor.bound(target)]
        return judge(advisor.sides[target.name], [mean], bound, CONFIDENCE) is Verdict.HOLDS

    def _theory(self, flows: int, size: int) -> float:
        asks = any(it.name.endswith("utilisation") for it in self._targets)
        if base_of(self._ask.cc) not in KEPT_SHARE or not asks:
            return math.nan
        link = self._ask.link(self._ask.groups(self._ask.cc, flows), self._targets)
        return _valid(flows_of(size, link.bdp, link.target, link.beta), link)


def _valid(flows: float, link: Link) -> float:
    """Return what normal windows need where they are: many, or one, of ten packets and more."""
    is_many = flows >= FEW and link.bdp / flows >= SMALL
    return flows if flows == 1 or is_many else math.nan


def _record(row: Row) -> dict[str, Any]:
    said: dict[str, Any] = {
        "cc": row.cc,
        "pacing": row.pacing,
        "quantum": row.quantum,
        "flows": row.flows,
    }
    said |= {"beyond": row.beyond, "again": row.again, "confirmed": row.is_confirmed}
    said |= {"missed": row.missed, "theory": finite(row.theory)}
    said |= {"timeouts": finite(row.timeouts)}
    return said | {name: finite(value) for name, value in row.numbers.items()}


def _print(rows: Sequence[Row], asked: Sequence[str]) -> None:
    sends = [name for name in ("pacing", "quantum") if any(getattr(it, name) for it in rows)]
    names = list(dict.fromkeys([*PRINTED, *asked]))
    has_theory = any(not math.isnan(row.theory) for row in rows)
    heads = ["law", *sends, "flows", *(["theory"] if has_theory else [])]
    heads += [WORDS.get(it, it) for it in names]
    table = Table(*heads, box=None, pad_edge=False)
    for row in rows:
        cells = [cell(row.kinds[it], row.numbers[it]) for it in names]
        theory = "" if math.isnan(row.theory) else f"{row.theory:.0f}"
        own = [row.cc, *(getattr(row, name) for name in sends), _flows(row)]
        table.add_row(*own, *([theory] if has_theory else []), *cells)
    console().print(table)


def _flows(row: Row) -> str:
    if row.flows is None:
        return f"over {row.beyond}"
    if row.missed:
        return "none"
    if row.beyond is None or row.flows == row.beyond + 1:
        return f"{row.flows}"
    return f"{row.beyond + 1} to {row.flows}"

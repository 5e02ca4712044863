"""Running what a score needs, each controller over the same networks and seeds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from narrows import _core
from narrows._core import ScenarioError
from narrows.check import judged, lean, seeds_of
from narrows.controller import name_of, names_of
from narrows.errors import Error
from narrows.pool import StoppedError, check_memory, each
from narrows.scenario import Scenario
from narrows.score.card import Card, Cell
from narrows.score.store import Store, key_of
from narrows.score.suite import Requirement
from narrows.sweeps.points import Point


@dataclass
class Case:
    """A cell before it is run: a point of a requirement's grid for one controller."""

    cc: str
    requirement: Requirement
    point: Point
    scenario: Scenario | None
    checked: _core.Checked | None
    seeds: list[int]
    reason: str

    @classmethod
    def of(cls, cc: Any, requirement: Requirement, point: Point, seeds: int | None) -> Case:
        """Make the scenario of a cell; it has none if it cannot be run with the controller."""
        name = name_of(cc)
        try:
            scenario = requirement.scenario_of(cc, point)
        except ScenarioError as error:
            # What Reno cannot do either is the file's mistake.
            requirement.scenario_of("reno", point)
            return cls(name, requirement, point, None, None, [], _first(error))
        return cls(
            name, requirement, point, scenario, lean(scenario), seeds_of(scenario, seeds), ""
        )

    def cell(self, found: Mapping[int, list[list[float]] | str]) -> Cell:
        """Return what came of it: numbers, or why a run failed, by seed."""
        if self.scenario is None or self.checked is None:
            return Cell(self.requirement, self.point, None, self.reason)
        text = self.scenario.to_toml()
        failed = [it for it in found.values() if isinstance(it, str)]
        if failed:
            return Cell(self.requirement, self.point, None, failed[0], text, has_failed=True)
        rows = [it for seed in self.seeds if not isinstance(it := found[seed], str)]
        check = judged(self.scenario, self.seeds, self.checked, rows)
        return Cell(self.requirement, self.point, check, "", text)


def score(
    ccs: Sequence[Any],
    requirements: Sequence[Requirement],
    seeds: int | None = None,
    store: Store | None = None,
) -> list[Card]:
    """Try controllers against requirements, in parallel with a progress bar.

    Parameters
    ----------
    ccs
        Names of controllers, or whatever a flow's ``cc`` may be.
    requirements
        What is asked, as `suites` are read.
    seeds
        How many seeds a cell has; as each file says if None.
    store
        Where numbers are kept as they come, and looked for first; nowhere if None.

    Returns
    -------
    list of Card
        One for each controller, in order.

    Raises
    ------
    Error
        If there is no controller, one is named twice, or runs may need more memory than there is.
    """
    names = names_of(ccs)
    if not names:
        raise Error("cc: no controller is named; try cubic")
    cases = [
        Case.of(cc, requirement, point, seeds)
        for requirement in requirements
        for point in requirement.points()
        for cc in ccs
    ]
    found = _run(cases, Store(None) if store is None else store)
    cards: dict[str, list[Cell]] = {name: [] for name in names}
    for case, numbers_found in zip(cases, found, strict=True):
        cards[case.cc].append(case.cell(numbers_found))
    return [Card(name, cells) for name, cells in cards.items()]


def _run(cases: Sequence[Case], store: Store) -> list[dict[int, list[list[float]] | str]]:
    """Run each case under each of its seeds; controllers share references of a point and seed."""
    found: list[dict[int, list[list[float]] | str]] = [{} for _ in cases]
    jobs: dict[tuple[Path, str, int], list[int]] = defaultdict(list)
    for number, case in enumerate(cases):
        for seed in case.seeds:
            known = store.get(key_of(case.scenario, seed)) if case.scenario else None
            if known is not None:
                found[number][seed] = known
            else:
                jobs[case.requirement.path, str(case.point), seed].append(number)
    weights = [case.checked.weight() for case in cases if case.checked is not None]
    check_memory(weights)
    order = list(jobs.items())
    if not order:
        return found

    def one(job: int, watch: Callable[[float], None]) -> None:
        (_, _, seed), members = order[job]
        runs: dict[str, _core.Run] = {}
        for place, number in enumerate(members):
            case = cases[number]

            def share(done: float, before: int = place) -> None:
                watch((before + done) / len(members))

            found[number][seed] = _numbers(case, seed, share, runs, store)

    each(len(order), one)
    return found


def _numbers(
    case: Case,
    seed: int,
    watch: Callable[[float], None],
    runs: dict[str, _core.Run],
    store: Store,
) -> list[list[float]] | str:
    """Return the numbers of a case, or why its run failed."""
    assert case.scenario is not None
    assert case.checked is not None
    try:
        return store.numbers(case.scenario, case.checked, seed, watch, runs)
    except (StoppedError, KeyboardInterrupt):
        raise
    except Exception as error:
        # A law of one's own may raise anything; the other laws' cards are not its business.
        return f"{type(error).__name__}: {_first(error)}"


def _first(error: Exception) -> str:
    return str(error).partition("\n")[0]

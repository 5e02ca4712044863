"""Scenarios side by side over this machine's TCP and in the simulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from narrows import lab
from narrows.comparison import Case, Comparison
from narrows.pool import run_all
from narrows.progress import bar
from narrows.results import Result
from narrows.scenario import Scenario

# What is said of a case under the name `run`.
IDEAL, HOST, REAL = "ideal host", "this host", "real"

Planned = Sequence[tuple[dict[str, str], Scenario]]


def run_real(planned: Planned, seeds: Sequence[int]) -> Comparison:
    """Run scenarios in real time with every seed, one after the other.

    Parameters
    ----------
    planned
        What is said of each scenario, by name, and the scenario.
    seeds
        The seeds of each.

    Returns
    -------
    Comparison
        Of what was measured.

    Raises
    ------
    ScenarioError
        If this machine cannot do what a scenario has.
    RuntimeError
        If a run fails.
    """
    runs = iter(_measure([(scenario, seed) for _, scenario in planned for seed in seeds]))
    return Comparison([Case(said, [next(runs) for _ in seeds]) for said, _ in planned])


def run_both(planned: Planned, seeds: Sequence[int]) -> Comparison:
    """Run scenarios for real, then simulated with an ideal host, then with this one.

    The simulated hosts stand still as often, and for as long, as this machine did in the same run.

    Parameters
    ----------
    planned
        What is said of each scenario, by name, and the scenario.
    seeds
        The seeds of each.

    Returns
    -------
    Comparison
        Three cases for each scenario.

    Raises
    ------
    ScenarioError
        If this machine cannot do what a scenario has.
    RuntimeError
        If a run fails.
    """
    jobs = [(scenario, seed) for _, scenario in planned for seed in seeds]
    measured = _measure(jobs)
    hosts = [
        (_on_host(scenario, run), seed)
        for (scenario, seed), run in zip(jobs, measured, strict=True)
    ]
    parts = {IDEAL: run_all(jobs), HOST: run_all(hosts), REAL: measured}
    cases = []
    for place, (said, _) in enumerate(planned):
        for by, runs in parts.items():
            of_case = runs[place * len(seeds) : (place + 1) * len(seeds)]
            cases.append(Case({**said, "run": by}, of_case))
    return Comparison(cases)


def _measure(jobs: Sequence[tuple[Scenario, int]]) -> list[Result]:
    """Run each in real time."""
    with bar(len(jobs)) as advance:

        def shown(number: int) -> Callable[[float], None]:
            return lambda share: advance(number, share)

        results = []
        for number, (scenario, seed) in enumerate(jobs):
            results.append(lab.run(scenario, seed=seed, progress=shown(number)))
            advance(number, 1.0)
        return results


def _on_host(scenario: Scenario, run: Result) -> Scenario:
    """Return a scenario whose hosts are like this machine was in a run."""
    if run.real is None:
        raise TypeError("a simulated run has no host")
    seconds = run.wall
    host: dict[str, Any] = run.real.lateness.host(seconds)
    fields = scenario.fields
    return Scenario(**{**fields, "flows": [{**flow, "host": host} for flow in fields["flows"]]})

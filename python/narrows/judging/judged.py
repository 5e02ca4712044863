"""What a judgement comes to."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from narrows.judging.marks import Marks, mean, reasons
from narrows.judging.suite import HELD_OUT, KINDS, SHOWN, Case
from narrows.statistics import Estimate, estimate, paired

# What the mean and the worst tenth of scenarios weigh in the total.
MEAN, ROBUST = 0.8, 0.2
# Of an id and a seed.
Key = tuple[str, int]
PARTS = ("goodput", "delay", "loss", "fair")


@dataclass(frozen=True)
class Judged:
    """The answer about a law.

    Attributes
    ----------
    status
        ``judged``; ``failed`` if it raised, answered what cannot be, or took too long; ``budget``
        if the time was over before all was run; ``not deterministic``.
    told
        All of it, as `to_json` writes it.
    """

    status: str
    told: dict[str, Any]

    def to_json(self) -> str:
        """Return all of it as one JSON object."""
        return json.dumps(self.told, indent=1, allow_nan=False)

    @property
    def score(self) -> float | None:
        """The total score, from 0 to 100; None if nothing was run."""
        total: float | None = self.told["score"]["total"]
        return total


@dataclass(frozen=True)
class Run:
    """One law's run of a scenario under a seed.

    Attributes
    ----------
    case
        The scenario.
    seed
        The seed.
    marks
        Of the law, and of each reference by name.
    failure
        What the law did that ended it, or None.
    """

    case: Case
    seed: int
    marks: dict[str, Marks]
    failure: dict[str, Any] | None


def _told(it: Estimate, least: float = 0.0) -> dict[str, float | None]:
    """Return an estimate of what is from `least` to 100."""

    def within(value: float | None) -> float | None:
        return None if value is None else _short(min(100.0, max(least, value)))

    return {"mean": _short(it.mean), "low": within(it.low), "high": within(it.high)}


_NONE = Estimate(None, None, None)


def _short(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(f"{value:.5g}")


def _of_case(runs: Sequence[Run], one: str) -> list[Run]:
    return [run for run in runs if run.case.id == one]


def _by_case(runs: Sequence[Run], law: str) -> dict[str, float]:
    """Return the mean score of each scenario over its seeds."""
    found: dict[str, list[float]] = {}
    for run in runs:
        found.setdefault(run.case.id, []).append(run.marks[law].score)
    return {one: sum(scores) / len(scores) for one, scores in found.items()}


def _kinds(runs: Sequence[Run]) -> dict[str, str]:
    return {run.case.id: run.case.kind for run in runs}


def _part(runs: Sequence[Run], part: str) -> list[Run]:
    return [run for run in runs if run.case.id.startswith(f"{part}/")]


def _strata(values: Mapping[str, float], kinds: Mapping[str, str]) -> tuple[float, float, int]:
    """Return mean, variance of the mean and degrees of freedom of a sample by kinds.

    Kinds are in the suite in fixed numbers, so what differs between them is no chance.
    """
    count, variance, freedom = len(values), 0.0, 0
    for kind in dict.fromkeys(kinds[one] for one in values):
        of_kind = [value for one, value in values.items() if kinds[one] == kind]
        if len(of_kind) > 1:
            mean = sum(of_kind) / len(of_kind)
            spread = sum((value - mean) ** 2 for value in of_kind) / (len(of_kind) - 1)
            variance += spread * len(of_kind) / count**2
            freedom += len(of_kind) - 1
    return sum(values.values()) / count, variance, freedom


def _interval(mean: float, variance: float, freedom: int) -> Estimate:
    if freedom < 1:
        return Estimate(mean, None, None)
    from scipy.stats import t  # noqa: PLC0415

    half = float(t.ppf(0.975, freedom)) * math.sqrt(variance)
    return Estimate(mean, mean - half, mean + half)


def _over_links(values: Mapping[str, float], kinds: Mapping[str, str]) -> Estimate:
    return _interval(*_strata(values, kinds)) if values else _NONE


def _on_suite(runs: Sequence[Run], law: str) -> dict[str, float | None]:
    """Return the mean of this very suite: only seeds are random."""
    found: dict[int, list[float]] = {}
    for run in runs:
        found.setdefault(run.seed, []).append(run.marks[law].score)
    whole = max((len(scores) for scores in found.values()), default=0)
    means = [sum(scores) / len(scores) for scores in found.values() if len(scores) == whole]
    return _told(estimate(means)) if means else _told(_NONE)


def _gap(
    shown: Mapping[str, float], held: Mapping[str, float], kinds: Mapping[str, str]
) -> Estimate:
    """Return shown less held out."""
    if not shown or not held:
        return _NONE
    (one, spread, freedom), (other, more, further) = _strata(shown, kinds), _strata(held, kinds)
    return _interval(one - other, spread + more, freedom + further if freedom and further else 0)


def _robust(scores: Sequence[float]) -> float | None:
    """Return the mean of the worst tenth."""
    worst = sorted(scores)[: max(1, len(scores) // 10)]
    return sum(worst) / len(worst) if worst else None


def scores(runs: Sequence[Run], law: str, asked: Sequence[str] = KINDS) -> dict[str, Any]:
    """Return the score of a law with its intervals.

    Parameters
    ----------
    runs
        All that was run.
    law
        Which.
    asked
        The kinds that the suite has.

    Returns
    -------
    dict of str to object
        ``shown``, ``held_out``: for links like these; ``on_suite``: for these; ``robust``: the
        worst tenth; ``total``, once every kind was run; ``gap``: shown less held out; ``kinds``:
        means by kind.
    """
    kinds_of = _kinds(runs)
    shown, held = (_by_case(_part(runs, part), law) for part in (SHOWN, HELD_OUT))
    every = [*shown.values(), *held.values()]
    robust = _robust(every)
    kinds = {}
    for kind in asked:
        of_kind = [run for run in runs if run.case.kind == kind]
        if of_kind:
            marks = [run.marks[law] for run in of_kind]
            parts = {name: [getattr(it, name) for it in marks] for name in ("score", *PARTS)}
            kinds[kind] = {name: _short(sum(all_) / len(all_)) for name, all_ in parts.items()}
    total = None
    if robust is not None and len(kinds) == len(asked):
        total = MEAN * sum(every) / len(every) + ROBUST * robust
    return {
        "shown": _told(_over_links(shown, kinds_of)),
        "held_out": _told(_over_links(held, kinds_of)),
        "on_suite": _on_suite(runs, law),
        "robust": _short(robust),
        "total": _short(total),
        "gap": _told(_gap(shown, held, kinds_of), -100.0),
        "kinds": kinds,
    }


def against(runs: Sequence[Run], law: str, reference: str) -> dict[str, Any]:
    """Return by how much a law is better than another, scenario by scenario.

    Parameters
    ----------
    runs
        All that was run.
    law, reference
        Which.

    Returns
    -------
    dict of str to object
        Mean difference of scores with its interval over links like these, and on how many scenarios
        each is better for sure, by seeds; None of all of these under one seed.
    """
    ours, theirs = _by_case(runs, law), _by_case(runs, reference)
    difference = _over_links({one: ours[one] - theirs[one] for one in ours}, _kinds(runs))
    counts: dict[str, int | None] = dict.fromkeys(("wins", "losses", "undecided"))
    if max((run.seed for run in runs), default=1) > 1:
        verdicts = [_verdict(_of_case(runs, one), law, reference) for one in ours]
        counts = {name: verdicts.count(name) for name in counts}
    return _told(difference, -100.0) | counts


def _verdict(runs: Sequence[Run], law: str, reference: str) -> str:
    found = paired(
        [run.marks[law].score for run in runs], [run.marks[reference].score for run in runs]
    )
    if found.low is not None and found.low > 0:
        return "wins"
    return "losses" if found.high is not None and found.high < 0 else "undecided"


def scenarios(
    runs: Sequence[Run], law: str, show_held_out: bool, repeat: str | None
) -> list[dict[str, Any]]:
    """Return what came of each scenario.

    Parameters
    ----------
    runs
        All that was run.
    law
        Which law.
    show_held_out
        Whether those held out are told.
    repeat
        The command, to which a scenario's id is added; None if there is none.

    Returns
    -------
    list of dict
        Parameters, mean marks over the seeds, reasons, and the command that shows it again.
    """
    told = []
    for one in dict.fromkeys(run.case.id for run in runs):
        if one.startswith(HELD_OUT) and not show_held_out:
            continue
        of_case = _of_case(runs, one)
        mark, case = mean([run.marks[law] for run in of_case]), of_case[0].case
        about = {"id": one} | case.told() | mark.told() | {"reasons": reasons(case, mark)}
        told.append(about | ({"repeat": f"{repeat} --only {one}"} if repeat else {}))
    return told


def worst(runs: Sequence[Run], law: str, show_held_out: bool) -> list[str]:
    """Return the scenarios with the lowest scores, the lowest first, ten of them.

    Parameters
    ----------
    runs
        All that was run.
    law
        Which law.
    show_held_out
        Whether those held out are told.

    Returns
    -------
    list of str
        Their ids.
    """
    shown = runs if show_held_out else _part(runs, SHOWN)
    means = _by_case(shown, law)
    return sorted(means, key=lambda one: means[one])[:10]

"""What a judgement comes to."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from narrows.judging.marks import Marks, reasons
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


def _told(it: Estimate) -> dict[str, float | None]:
    return {"mean": _short(it.mean), "low": _short(it.low), "high": _short(it.high)}


def _short(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(f"{value:.5g}")


def _by_case(runs: Sequence[Run], law: str) -> dict[str, float]:
    """Return the mean score of each scenario over its seeds."""
    found: dict[str, list[float]] = {}
    for run in runs:
        found.setdefault(run.case.id, []).append(run.marks[law].score)
    return {one: sum(scores) / len(scores) for one, scores in found.items()}


def _part(runs: Sequence[Run], part: str) -> list[Run]:
    return [run for run in runs if run.case.id.startswith(f"{part}/")]


def _of(runs: Sequence[Run], law: str) -> dict[str, float | None]:
    scores = list(_by_case(runs, law).values())
    return _told(estimate(scores)) if scores else _told(Estimate(None, None, None))


def _on_suite(runs: Sequence[Run], law: str) -> dict[str, float | None]:
    """Return the mean of this very suite: only seeds are random."""
    found: dict[int, list[float]] = {}
    for run in runs:
        found.setdefault(run.seed, []).append(run.marks[law].score)
    whole = max((len(scores) for scores in found.values()), default=0)
    means = [sum(scores) / len(scores) for scores in found.values() if len(scores) == whole]
    return _told(estimate(means)) if means else _told(Estimate(None, None, None))


def _gap(shown: Sequence[float], held: Sequence[float]) -> dict[str, float | None]:
    """Return shown less held out, with Welch's interval."""
    if len(shown) < 2 or len(held) < 2:
        return _told(Estimate(None, None, None))
    from scipy.stats import ttest_ind  # noqa: PLC0415

    interval = ttest_ind(shown, held, equal_var=False).confidence_interval()
    mean = sum(shown) / len(shown) - sum(held) / len(held)
    return _told(Estimate(mean, float(interval.low), float(interval.high)))


def _robust(scores: Sequence[float]) -> float | None:
    """Return the mean of the worst tenth."""
    worst = sorted(scores)[: max(1, len(scores) // 10)]
    return sum(worst) / len(worst) if worst else None


def scores(runs: Sequence[Run], law: str) -> dict[str, Any]:
    """Return the score of a law with its intervals.

    Parameters
    ----------
    runs
        All that was run.
    law
        Which.

    Returns
    -------
    dict of str to object
        ``shown``, ``held_out``: for links like these; ``on_suite``: for these; ``robust``: the
        worst tenth; ``total``; ``gap``: shown less held out; ``kinds``: means by kind and part.
    """
    shown, held = (_by_case(_part(runs, part), law) for part in (SHOWN, HELD_OUT))
    every = [*shown.values(), *held.values()]
    robust = _robust(every)
    total = MEAN * sum(every) / len(every) + ROBUST * robust if robust is not None else None
    kinds = {}
    for kind in KINDS:
        of_kind = [run for run in runs if run.case.kind == kind]
        if of_kind:
            marks = [run.marks[law] for run in of_kind]
            parts = {name: [getattr(it, name) for it in marks] for name in ("score", *PARTS)}
            kinds[kind] = {name: _short(sum(all_) / len(all_)) for name, all_ in parts.items()}
    return {
        "shown": _of(_part(runs, SHOWN), law),
        "held_out": _of(_part(runs, HELD_OUT), law),
        "on_suite": _on_suite(runs, law),
        "robust": _short(robust),
        "total": _short(total),
        "gap": _gap(list(shown.values()), list(held.values())),
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
        each is better for sure, by seeds.
    """
    ours, theirs = _by_case(runs, law), _by_case(runs, reference)
    difference = paired([ours[one] for one in ours], [theirs[one] for one in ours])
    counts = {"wins": 0, "losses": 0, "undecided": 0}
    for one in ours:
        of_case = [run for run in runs if run.case.id == one]
        found = paired(
            [run.marks[law].score for run in of_case],
            [run.marks[reference].score for run in of_case],
        )
        if found.low is not None and found.low > 0:
            counts["wins"] += 1
        elif found.high is not None and found.high < 0:
            counts["losses"] += 1
        else:
            counts["undecided"] += 1
    return _told(difference) | counts


def scenarios(
    runs: Sequence[Run], law: str, show_held_out: bool, repeat: str
) -> list[dict[str, Any]]:
    """Return what came of each scenario.

    Parameters
    ----------
    runs
        All that was run.
    law
        Which law.
    show_held_out
        Whether the parameters of those held out are told.
    repeat
        The command, to which a scenario's id is added.

    Returns
    -------
    list of dict
        Parameters, marks of the first seed, reasons, and the command that shows it again.
    """
    told = []
    means = _by_case(runs, law)
    for one, mean in means.items():
        first = next(run for run in runs if run.case.id == one)
        if one.startswith(HELD_OUT) and not show_held_out:
            told.append({"id": one, "kind": first.case.kind, "score": _short(mean)})
            continue
        mark = first.marks[law]
        told.append(
            {"id": one}
            | first.case.told()
            | mark.told()
            | {
                "score": _short(mean),
                "reasons": reasons(first.case, mark),
                "repeat": f"{repeat} --only {one}",
            }
        )
    return told

"""`narrows judge`: what is printed of a judgement."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from narrows import _core
from narrows.cli.work.printing import refuse_to_replace
from narrows.files import write_at_once
from narrows.judging import Judged, judge
from narrows.judging.judged import PARTS
from narrows.terminal import console, put

# Scenarios and failures that are shown of those that cost most.
WORST, FAILURES = 3, 3


@dataclass(frozen=True)
class Asked:
    """What the command is asked."""

    law: str
    key: str | None
    seeds: int
    against: list[str]
    budget: str
    count: int
    seconds: int
    only: str | None
    trusted: bool
    suite: Path | None

    def judged(self) -> Judged:
        """Judge it."""
        return judge(
            self.law,
            key=self.key,
            seeds=self.seeds,
            against=self.against,
            budget=_core.seconds("--budget", self.budget),
            trusted=self.trusted,
            count=self.count,
            seconds=self.seconds,
            only=self.only,
            suite=self.suite,
        )


def show(asked: Asked, as_json: bool, output: Path | None, force: bool) -> bool:
    """Print and write a judgement; return whether the law was judged to the end."""
    refuse_to_replace(output, force)
    judged = asked.judged()
    if output is not None:
        write_at_once(output, f"{judged.to_json()}\n".encode())
    if as_json:
        put(judged.to_json())
    else:
        _table(judged)
    return judged.status == "judged"


def _number(value: float | None, places: int = 1) -> str:
    return "–" if value is None else f"{value:.{places}f}"


def _interval(it: dict[str, Any]) -> str:
    if it["mean"] is None:
        return "–"
    if it["low"] is None:
        return _number(it["mean"])
    return f"{it['mean']:.1f} ({it['low']:.1f} to {it['high']:.1f})"


def _table(judged: Judged) -> None:
    told = judged.told
    score = told["score"]
    if score["kinds"]:
        table = Table(box=None, pad_edge=False)
        table.add_column("kind")
        for name in ("score", *PARTS):
            table.add_column(name, justify="right")
        for kind, means in score["kinds"].items():
            parts = [_number(means[name], 2) for name in PARTS]
            table.add_row(kind, _number(means["score"]), *parts)
        console().print(table)
        put(
            f"{told['law'].get('name') or 'the law'}: {_number(score['total'])} of 100; shown "
            f"{_interval(score['shown'])}, held out {_interval(score['held_out'])}, worst tenth "
            f"{_number(score['robust'])}, gap {_interval(score['gap'])}"
        )
    for name, found in told["against"].items():
        counts = ""
        if found["wins"] is not None:
            counts = f"; better in {found['wins']}, worse in {found['losses']}, not decided in "
            counts += f"{found['undecided']}"
        put(f"against {name}: {_interval(found)}{counts}")
    _worst(told)
    for failure in told["failures"][:FAILURES]:
        where = " ".join(str(failure[it]) for it in ("id", "where") if failure.get(it))
        put(f"failed: {where}: {failure['kind']}: {failure['message']}".replace(": :", ":"))
        if "repeat" in failure:
            put(f"  {failure['repeat']}")
    for suspicion in told["suspicions"]:
        put(f"suspicious: {suspicion}")
    cost = told["cost"]
    if judged.status != "judged":
        put(f"{judged.status}: {cost['runs']} of {cost['of']} runs in {cost['wall']} s")


def _worst(told: dict[str, Any]) -> None:
    """Print why the worst scenarios are what they are."""
    known = {scenario["id"]: scenario for scenario in told["scenarios"]}
    for one in told["worst"][:WORST]:
        scenario = known[one]
        if why := "; ".join(scenario.get("reasons", ())):
            put(f"{one}, {scenario['kind']}, {_number(scenario['score'])}: {why}")

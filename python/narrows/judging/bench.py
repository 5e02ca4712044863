"""Running a judgement: a law and references over the suite, in pairs, within a budget."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shlex
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from narrows import _core
from narrows.controller import Controller, IntervalController, Law, name_of
from narrows.errors import Error
from narrows.files import read_text
from narrows.judging import doors
from narrows.judging.judged import Judged, Run, against, scenarios, scores
from narrows.judging.marks import Marks, marks
from narrows.judging.remote import Cell, LawError, Spent, law_in
from narrows.judging.suite import EACH, HELD_OUT, SHOWN, Case, cases
from narrows.networks import dumbbell
from narrows.own import named
from narrows.pool import StoppedError, each
from narrows.results import Result, run

FORMAT = 1
# A law's file has no more bytes than this.
LARGEST = 60_000
# After so many failures nothing more is run.
MOST_FAILURES = 10
# Scenarios that are run twice, to see whether the same comes of it; and those that are moved.
TWICE, MOVED = 5, 20
# By how much rate and RTT are moved, and by how many points the score may fall.
FACTOR, MOST_FALL = 1.03, 5.0
# A run that failed is worth nothing.
NOTHING = Marks(0.0, 0.0, 0.0, 0.0, 0.0, {})


@dataclass
class _Bench:
    """What a judgement is run with."""

    law: Law
    hears_marks: bool
    references: tuple[str, ...]
    end: float
    spent: Spent
    packets: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _answers: dict[str, bool] = field(default_factory=dict)

    def result(self, case: Case, seed: int, law: Law, marked: bool) -> Result:
        result = run(case.scenario(law, marks=marked), seed=seed)
        with self._lock:
            self.packets += int(result.summary["delivered"][0])
        return result

    def answers_marks(self, law: str) -> bool:
        """Return whether a law by name answers marks."""
        with self._lock:
            if law not in self._answers:
                try:
                    dumbbell("10Mbps", "40ms", "20p", cc=law, ecn=True)
                    self._answers[law] = True
                except Error:
                    self._answers[law] = False
            return self._answers[law]

    def is_over(self) -> bool:
        return time.monotonic() > self.end

    def judged(self, case: Case, seed: int) -> Run | None:
        """Run a scenario with the law and with each reference; None if the time is over."""
        if self.is_over():
            return None
        found: dict[str, Marks] = {}
        beside: float | None = None
        known: dict[str, Result] = {}
        others = [*self.references, *([case.other] if case.other else [])]
        for name in dict.fromkeys(others):
            known[name] = self.result(case, seed, name, self.answers_marks(name))
        if case.other is not None:
            beside = float(known[case.other].flows["arrived"][1])
        for name in self.references:
            found[name] = marks(case, known[name], beside)
        try:
            result = self.result(case, seed, self.law, self.hears_marks)
        except StoppedError:
            raise
        except Exception as error:
            # Whatever a law raises in this process.
            return Run(case, seed, found | {"law": NOTHING}, _failure(error))
        return Run(case, seed, found | {"law": marks(case, result, beside)}, None)

    def alone(self, case: Case, seed: int) -> Marks | None:
        """Run a scenario with the law only; None if that fails, or the time is over."""
        if self.is_over():
            return None
        beside = None
        if case.other is not None:
            other = self.result(case, seed, case.other, self.answers_marks(case.other))
            beside = float(other.flows["arrived"][1])
        try:
            return marks(case, self.result(case, seed, self.law, self.hears_marks), beside)
        except StoppedError:
            raise
        except Exception:
            # It failed before, or will be told of then.
            return None


def _failure(error: Exception) -> dict[str, Any]:
    if isinstance(error, LawError):
        return error.told
    kind = "bounds" if isinstance(error, ValueError) else "raised"
    return {"kind": kind, "message": f"{type(error).__name__}: {error}"[:500], "where": ""}


@dataclass(frozen=True)
class _Given:
    """A law as it was given."""

    about: dict[str, Any]
    law: Law
    hears_marks: bool
    spent: Spent


@contextlib.contextmanager
def _opened(given: Any, trusted: bool, seconds: int) -> Iterator[_Given]:
    """Make a law ready: a file's in a sandbox, unless it is trusted."""
    if not isinstance(given, str | os.PathLike):
        about = {"file": None, "sha256": None, "kind": "object", "name": name_of(given)}
        yield _Given(about | {"sandbox": "none"}, given, _hears(given), Spent())
        return
    text = os.fspath(given)
    if not text.endswith(".py"):
        if text.endswith((".toml", ".wasm", ".rs")):
            raise Error(f"{text}: laws in this form cannot be judged yet; write it in Python")
        named("law", [text])
        yield _Given(
            {"file": None, "sha256": None, "kind": "built-in", "name": text, "sandbox": "none"},
            text,
            True,
            Spent(),
        )
        return
    try:
        source = read_text(Path(text), LARGEST)
    except (OSError, UnicodeDecodeError) as error:
        raise Error(f"{text}: {error}") from None
    about = {
        "file": Path(text).name,
        "sha256": hashlib.sha256(source.encode()).hexdigest(),
        "kind": "python",
    }
    if trusted:
        law = _class_of(source, text)
        yield _Given(about | {"name": law.__name__, "sandbox": "none"}, law, _hears(law), Spent())
        return
    if lacks := doors.missing():
        raise Error(
            f"this machine cannot shut a law in: {'; '.join(lacks)}; judge a law that you trust "
            "with --trusted"
        )
    with Cell(source, seconds) as cell:
        remote = law_in(cell)
        about |= {"name": remote.__name__, "sandbox": "process"}
        yield _Given(about, remote, _hears(remote), cell.spent)


def _hears(law: Any) -> bool:
    """Return whether a class of controllers answers marks."""
    kind = getattr(law, "cls", law)
    if not isinstance(kind, type):
        return True
    if issubclass(kind, IntervalController):
        return bool(kind.ecn)
    return not issubclass(kind, Controller) or kind.on_mark is not Controller.on_mark


def _class_of(source: str, file: str) -> type[Controller]:
    from narrows.judging.cell import made  # noqa: PLC0415

    try:
        return made(source)
    except Exception as error:
        raise Error(f"{file}: {type(error).__name__}: {error}") from None


def judge(
    law: Any,
    *,
    key: str | None = None,
    seeds: int = 3,
    against: Sequence[str] = ("cubic", "bbr"),
    budget: float = 120.0,
    trusted: bool = False,
    count: int = EACH,
    only: str | None = None,
    seconds: int = 10,
) -> Judged:
    """Judge a law that nobody need trust.

    Parameters
    ----------
    law
        The path of a Python file with one class of `narrows.Controller` or
        `narrows.IntervalController`, which runs in a sandbox: no files, no network, no other
        processes, bounded time and memory. Or a law's name, or a class in this process.
    key
        What the held-out scenarios are drawn from, whose parameters are then told; a fresh one if
        None, and they are not.
    seeds
        Seeds of each scenario, from 1.
    against
        Laws that it is compared with, on the same scenarios and seeds.
    budget
        Seconds of wall time; what has been run by then is judged.
    trusted
        Whether a file runs in this process, without a sandbox.
    count
        Scenarios of each part, shown and held out.
    only
        The id of the one scenario to run, like ``shown/017``.
    seconds
        How long a law may compute in one run.

    Returns
    -------
    Judged
        The answer.

    Raises
    ------
    Error
        If a file cannot be read, a law is not known, or this machine has no sandbox.

    Examples
    --------
    >>> import narrows as nw
    >>> verdict = nw.judge("cubic", count=8, seeds=1, against=["reno"], key="mine")
    >>> verdict.score > 50, sorted(verdict.told["against"])
    (True, ['reno'])
    """
    if seeds < 1 or count < 1 or not budget > 0:
        raise Error(f"seeds={seeds}, count={count}, budget={budget}: each is above 0")
    named("against", against)
    begun, told_key = time.monotonic(), key is not None
    key = key if key is not None else secrets.token_hex(8)
    every = [*cases(SHOWN, None, count), *cases(HELD_OUT, key, count)]
    # In turn, so that what has been run when the time is over is of both parts.
    chosen = [case for pair in zip(every[:count], every[count:], strict=True) for case in pair]
    if only is not None:
        chosen = [case for case in chosen if case.id == only]
        if not chosen:
            raise Error(f'only: there is no "{only}"; ids are like {SHOWN}/007, of {count} each')
    repeat = shlex.join(
        [
            "narrows",
            "judge",
            str(law if isinstance(law, str) else name_of(law)),
            *(["--key", key] if told_key else []),
            *(["--trusted"] if trusted else []),
        ]
    )
    failed: dict[str, Any] | None = None
    try:
        with _opened(law, trusted, seconds) as given:
            bench = _Bench(
                given.law, given.hears_marks, tuple(against), begun + budget, given.spent
            )
            runs = _all(bench, chosen, seeds)
            suspicions, same = _looked_at(bench, runs) if only is None else ([], True)
            about, spent, packets = given.about, given.spent, bench.packets
    except LawError as error:
        failed = error.told
        runs, suspicions, same, spent, packets = [], [], True, Spent(), 0
        about = {"file": str(law), "kind": "python"}
    failures = [
        {"id": run.case.id, "seed": run.seed}
        | run.failure
        | {"repeat": f"{repeat} --only {run.case.id}"}
        for run in runs
        if run.failure is not None
    ]
    if failed is not None:
        failures.append({"id": None, "seed": None} | failed)
    wanted = len(chosen) * seeds
    status = _status(bool(failures), same, len(runs) < wanted)
    told = {
        "format": FORMAT,
        "narrows": _core.engine()[:12],
        "law": about,
        "status": status,
        "key": key if told_key else None,
        "seeds": seeds,
        "score": scores(runs, "law"),
        "against": {name: _against(runs, name) for name in against} if runs else {},
        "scenarios": scenarios(runs, "law", told_key, repeat),
        "worst": _worst(runs, told_key),
        "failures": failures[:MOST_FAILURES],
        "suspicions": suspicions,
        "cost": {
            "wall": round(time.monotonic() - begun, 2),
            "runs": len(runs),
            "of": wanted,
            "packets": packets,
            "law_seconds": round(spent.seconds, 3),
            "calls": spent.calls,
        },
    }
    return Judged(status, told)


_against_one = against


def _against(runs: Sequence[Run], name: str) -> dict[str, Any]:
    return _against_one(runs, "law", name)


def _status(failed: bool, same: bool, cut: bool) -> str:
    if failed:
        return "failed"
    if not same:
        return "not deterministic"
    return "budget" if cut else "judged"


def _worst(runs: Sequence[Run], show_held_out: bool) -> list[str]:
    shown = [run for run in runs if show_held_out or run.case.id.startswith(SHOWN)]
    ordered = sorted(shown, key=lambda run: run.marks["law"].score)
    return list(dict.fromkeys(run.case.id for run in ordered))[:10]


def _all(bench: _Bench, chosen: Sequence[Case], seeds: int) -> list[Run]:
    """Run all, seed by seed; stop after too many failures."""
    jobs = [(case, seed) for seed in range(1, seeds + 1) for case in chosen]
    failures = threading.Semaphore(MOST_FAILURES)
    stopped = threading.Event()

    def one(number: int, _: Any) -> Run | None:
        if stopped.is_set():
            return None
        found = bench.judged(*jobs[number])
        if found is not None and found.failure is not None and not failures.acquire(False):
            stopped.set()
        return found

    return [found for found in each(len(jobs), one) if found is not None]


def _looked_at(bench: _Bench, runs: Sequence[Run]) -> tuple[list[str], bool]:
    """Return what is suspicious about a law, and whether it does the same twice."""
    first = [run for run in runs if run.seed == 1 and run.failure is None]
    shown = [run for run in first if run.case.id.startswith(SHOWN)]
    suspicions = []
    same = True
    for known in shown[:TWICE]:
        again = bench.alone(known.case, known.seed)
        same &= again is None or again == known.marks["law"]
    falls = []
    for known in shown[:MOVED]:
        moved = bench.alone(known.case.moved(FACTOR), known.seed)
        if moved is not None:
            falls.append(known.marks["law"].score - moved.score)
    if falls and sum(falls) / len(falls) > MOST_FALL:
        fall = sum(falls) / len(falls)
        suspicions.append(
            f"knows the shown scenarios: its score falls by {fall:.1f} points if their rates and "
            f"RTTs are {100 * (FACTOR - 1):.0f} % larger"
        )
    beside = [run.marks["law"] for run in first if run.case.other is not None]
    idle = [mark for mark in beside if mark.goodput < 0.05]
    if beside and len(idle) > len(beside) / 2:
        suspicions.append(
            f"sends next to nothing beside another law, in {len(idle)} of {len(beside)} scenarios"
        )
    ecn = getattr(bench.law, "ecn", "")
    if ecn == "scalable":
        suspicions.append("sends ECT(1), which queues for L4S let pass first (RFC 9331)")
    return suspicions, same

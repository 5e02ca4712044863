"""Running a judgement: a law and references over the suite, in pairs, within a budget."""

from __future__ import annotations

import builtins
import contextlib
import hashlib
import math
import os
import random
import secrets
import shlex
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from statistics import stdev
from typing import Any

from narrows import _core
from narrows.controller import Controller, IntervalController, Law, name_of
from narrows.errors import Error
from narrows.formula import Formula
from narrows.judging import doors
from narrows.judging.judged import Judged, Run, scenarios, scores, worst
from narrows.judging.judged import against as _against
from narrows.judging.marks import Marks, marks
from narrows.judging.remote import Cell, LawError, OverError, Spent, law_in
from narrows.judging.suite import EACH, HELD_OUT, SHOWN, USUAL, Case, Suite, cases, suite_of
from narrows.law_files import FileLaw, file_of, is_file
from narrows.networks import dumbbell
from narrows.own import named
from narrows.pool import StoppedError, each
from narrows.results import Result, run
from narrows.wasm import Wasm

FORMAT = 1
# Where rustc looks for a make that gives out jobs, and warns if it cannot ask it (crate jobserver).
OF_MAKE = ("CARGO_MAKEFLAGS", "MAKEFLAGS", "MFLAGS")
COMPILES = (
    "rustc --edition 2024 --target wasm32-unknown-unknown --crate-type cdylib -O -C strip=symbols"
)
# Characters that are shown of what it says of a law.
RUSTC_SAYS = 1000
# A law's file has no more bytes than this.
LARGEST = 60_000
# So many scenarios of each kind and part tell a gap from the luck of a part's draw.
ENOUGH = 5
# After so many failures nothing more is run, nor after so many runs that took too long.
MOST_FAILURES, MOST_LATE = 10, 2
# Seconds for which a law may compute in one run.
COMPUTES = 3
# Scenarios that are run twice, to see whether the same comes of it; and those that are moved.
TWICE, MOVED = 5, 24
# By how much rate and RTT are moved at most, by how many points the score may fall on average, and
# how many standard errors more are chance.
FACTOR, MOST_FALL, FEW_FALLS = 1.25, 5.0, 2.0
# How many scenarios with marks are run again without; a law answers marks if not so many times as
# many packets are marked there as are lost here, once that is so much of all.
UNMARKED, MOST_MARKED, MANY_MARKS = 8, 5.0, 0.002
# A run that failed is worth nothing.
NOTHING = Marks(0.0, 0.0, 0.0, 0.0, 0.0, {})
# A law that gets less than this of its share is idle.
IDLE = 0.05

Watch = Callable[[float], None]

# Runs of laws by name, for searches that judge many laws beside the same references: tables of a
# few flows each.
_KEPT: dict[tuple[str, int, str], Result] = {}
_KEPT_LOCK = threading.Lock()
MOST_KEPT = 5000


@dataclass
class _Given:
    """A law as it was given."""

    about: dict[str, Any]
    law: Law
    # Whether its flows are told to be marked, as it answers marks and does not ask itself.
    answers: bool
    cell: Cell | None = None

    @property
    def unmarked(self) -> Law | None:
        """The law as it goes without marks; None if it has none to begin with."""
        asks: object = getattr(self.law, "ecn", "")
        if isinstance(self.law, type) and asks:
            return type(self.law.__name__, (self.law,), {"ecn": ""})
        return self.law if self.answers else None


@dataclass
class _Bench:
    """What a judgement is run with."""

    given: _Given
    references: tuple[str, ...]
    end: float
    packets: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _answers: dict[str, bool] = field(default_factory=dict)

    def result(self, case: Case, seed: int, law: Law, marked: bool, watch: Watch) -> Result:
        def look(share: float) -> None:
            watch(share)
            if self.is_over():
                raise OverError

        result = run(case.scenario(law, marks=marked), seed=seed, progress=look)
        with self._lock:
            self.packets += int(result.summary["delivered"][0])
        return result

    def known(self, case: Case, seed: int, law: str, watch: Watch) -> Result:
        """Run a scenario with a law by name, unless this process has done so before.

        A law of a file may be another by now.
        """
        key = (repr(case), seed, law)
        with _KEPT_LOCK:
            if key in _KEPT:
                return _KEPT[key]
        with self._lock:
            if law not in self._answers:
                self._answers[law] = answers_marks(law)
        result = self.result(case, seed, law, self._answers[law], watch)
        with _KEPT_LOCK:
            if len(_KEPT) >= MOST_KEPT:
                _KEPT.pop(next(iter(_KEPT)))
            if not is_file(law):
                _KEPT[key] = result
        return result

    def is_over(self) -> bool:
        return time.monotonic() > self.end

    def judged(self, case: Case, seed: int, watch: Watch) -> Run | None:
        """Run a scenario with the law and with each reference; None if the time is over."""
        if self.is_over():
            return None
        others = [*self.references, *([case.other] if case.other else [])]
        try:
            known = {name: self.known(case, seed, name, watch) for name in dict.fromkeys(others)}
            beside = float(known[case.other].flows["arrived"][1]) if case.other else None
            ours = self.of_law(case, seed, beside, watch)
        except OverError:
            return None
        found = {name: marks(case, known[name], beside) for name in self.references}
        if isinstance(ours, Marks):
            return Run(case, seed, found | {"law": ours}, None)
        return Run(case, seed, found | {"law": NOTHING}, ours)

    def of_law(
        self, case: Case, seed: int, beside: float | None, watch: Watch, marked: bool = True
    ) -> Marks | dict[str, Any]:
        """Return the law's marks, or how it failed; without ECN unless it is `marked`."""
        law = self.given.law if marked else self.given.unmarked
        assert law is not None, "only a law with marks is run without"
        try:
            marked = marked and self.given.answers
            result = self.result(case, seed, law, marked, watch)
            return marks(case, result, beside)
        except LawError as error:
            return error.told
        except (OverError, StoppedError):
            raise
        except (Exception, SystemExit) as error:
            # Whatever a law raises in this process, or what it answered out of bounds.
            return _failure(error)

    def alone(self, case: Case, seed: int, watch: Watch, marked: bool = True) -> Marks | None:
        """Run a scenario with the law only; None if that fails, or the time is over."""
        if self.is_over():
            return None
        try:
            other = self.known(case, seed, case.other, watch) if case.other else None
            beside = float(other.flows["arrived"][1]) if other else None
            ours = self.of_law(case, seed, beside, watch, marked)
        except OverError:
            return None
        return ours if isinstance(ours, Marks) else None


def _failure(error: BaseException) -> dict[str, Any]:
    if isinstance(error, _core.BoundsError):
        return LawError("bounds", str(error)).told
    return LawError("raised", f"{type(error).__name__}: {error}").told


def answers_marks(law: Law) -> bool:
    """Return whether a law's flows can be told to answer marks.

    Parameters
    ----------
    law
        A name, or a law.

    Returns
    -------
    bool
        False for those that do not answer, and for those that ask for marks themselves.
    """
    try:
        dumbbell("10Mbps", "40ms", "20p", cc=law, ecn=True)
    except Error:
        return False
    kind = getattr(law, "cls", law)
    if isinstance(kind, type) and issubclass(kind, IntervalController):
        return bool(kind.ecn)
    return True


@contextlib.contextmanager
def _opened(given: Any, trusted: bool, seconds: int, end: float) -> Iterator[_Given]:
    """Make a law ready: a file's in a sandbox, unless it is trusted."""
    about = {"file": None, "sha256": None, "kind": "object", "name": None, "sandbox": "none"}
    if not isinstance(given, str | os.PathLike):
        yield _ready(about | {"name": name_of(given)}, given)
        return
    text = os.fspath(given)
    named_file = file_of(text) or ""
    text = named_file if named_file.endswith((".toml", ".wasm")) else text
    if text.endswith((".toml", ".wasm")):
        made = Formula if text.endswith(".toml") else Wasm
        law: FileLaw = made.load(text)
        about |= _of_file(text, _bytes(text))
        yield _ready(about | {"kind": law.kind, "name": law.__name__, "sandbox": law.kind}, law)
        return
    if text.endswith(".rs"):
        if not trusted:
            raise Error(
                f"{text}: rustc reads and shows what a source includes, outside of the sandbox; "
                f"judge a law that you trust with --trusted, or its module: {COMPILES} "
                f"{shlex.quote(text)}"
            )
        with _compiled(text) as module:
            try:
                compiled = Wasm.load(module)
            except Error as error:
                raise Error(str(error).replace(module, text)) from None
            about |= _of_file(text, _bytes(text)) | {"kind": "rust", "sandbox": compiled.kind}
            yield _ready(about | {"name": Path(text).name}, compiled)
        return
    if not text.endswith(".py"):
        if Path(text).exists():
            raise Error(
                f"{text}: a law is a Python file, law.py, a formula, law.toml, or a module, "
                f"law.wasm; of a policy's file say policy:{text}"
            )
        yield _ready(about | _of_name(text), text)
        return
    data = _bytes(text)
    about |= _of_file(text, data) | {"kind": "python"}
    source = _source(text, data)
    if trusted:
        law_here = _class_of(source, text)
        yield _ready(about | {"name": law_here.__name__}, law_here)
        return
    if lacks := doors.missing():
        raise Error(
            f"this machine cannot shut a law in: {'; '.join(lacks)}; judge a law that you trust "
            "with --trusted"
        )
    with Cell(source, seconds, end) as cell:
        about |= {"sandbox": "process"}
        try:
            remote = law_in(cell)
        except LawError as error:
            error.about = about
            raise
        yield _ready(about | {"name": remote.__name__}, remote, cell)


def _of_name(law: str) -> dict[str, Any]:
    """Return what is said of a law that narrows has, or of a policy, by its name."""
    named("law", [law])
    if _core.learns(law):
        raise Error(f"law: nobody decides for {law} here; judge a policy's file, policy:p.npz")
    if (file := file_of(law)) is not None:
        return _of_file(file, _bytes(file)) | {"kind": "policy", "name": law}
    return {"kind": "built-in", "name": law}


def _ready(about: dict[str, Any], law: Law, cell: Cell | None = None) -> _Given:
    """Return a law that flows can have; a `LawError` if what it says of itself cannot be."""
    try:
        return _Given(about, law, answers_marks(law), cell)
    except ValueError as error:
        failed = LawError("bounds", str(error))
        failed.about = about
        raise failed from None


@contextlib.contextmanager
def _compiled(source: str) -> Iterator[str]:
    """Compile a law in Rust to a module."""
    _bytes(source)
    environment = {name: value for name, value in os.environ.items() if name not in OF_MAKE}
    with tempfile.TemporaryDirectory() as folder:
        module = str(Path(folder) / f"{Path(source).stem}.wasm")
        try:
            done = subprocess.run(
                [*COMPILES.split(), "-o", module, source],
                capture_output=True,
                check=False,
                env=environment,
                text=True,
            )
        except FileNotFoundError:
            raise Error(f"{source}: there is no rustc here that compiles it to a module") from None
        if done.returncode:
            raise Error(f"{source}: rustc says: {done.stderr.strip()[:RUSTC_SAYS]}")
        yield module


def _bytes(text: str) -> bytes:
    try:
        return Path(text).read_bytes()
    except OSError as error:
        raise Error(f"{text}: {error.strerror}") from None


def _source(text: str, data: bytes) -> str:
    if len(data) > LARGEST:
        raise Error(f"{text}: it has {len(data)} bytes; a law has at most {LARGEST}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Error(f"{text}: not UTF-8: {error}") from None


def _of_file(text: str, data: bytes) -> dict[str, Any]:
    return {"file": Path(text).name, "sha256": hashlib.sha256(data).hexdigest()}


def _class_of(source: str, file: str) -> type[Controller]:
    from narrows.judging.cell import made  # noqa: PLC0415

    try:
        return made(source)
    except (Exception, SystemExit) as error:
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
    seconds: int = COMPUTES,
    suite: str | os.PathLike[str] | None = None,
) -> Judged:
    """Judge a law that nobody need trust.

    Parameters
    ----------
    law
        The path of a Python file with one class of `narrows.Controller` or
        `narrows.IntervalController`, which runs in a sandbox: no files, no network, no other
        processes, bounded time and memory. Or the path of a `narrows.Formula`, a `narrows.Wasm` or,
        trusted, its source in Rust, a law's name, or a class in this process.
    key
        What the held-out scenarios are drawn from, which are then told; a fresh one if None, and
        they are not.
    seeds
        Seeds of each scenario, from 1.
    against
        Laws that it is compared with, on the same scenarios and seeds.
    budget
        Seconds of wall time; what has been run by then is judged.
    trusted
        Whether a file of Python runs in this process, and one of Rust is compiled, without a
        sandbox.
    count
        Scenarios of each part, shown and held out.
    only
        The id of the one scenario to run, like ``shown/017``.
    seconds
        How long a law may compute in one run.
    suite
        A file of TOML that says what scenarios are drawn from: ranges of ``rate``, ``rtt``,
        ``buffer`` and ``loss``, and ``kinds``; what it does not say is as usual.

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
    >>> judged = nw.judge("cubic", count=8, seeds=1, against=["reno"], key="mine")
    >>> judged.score > 50, sorted(judged.told["against"])
    (True, ['reno'])
    """
    _expect_positive(seeds=seeds, count=count, budget=budget, seconds=seconds)
    named("against", against)
    begun, shows = time.monotonic(), key is not None
    drawn_from = key if key is not None else secrets.token_hex(8)
    of = USUAL if suite is None else suite_of(suite)
    chosen = _chosen(count, drawn_from, only, of)
    key_shown = drawn_from if shows else None
    repeat = _repeat(law, key_shown, trusted, count, seeds, against, seconds, suite)
    runs: list[Run] = []
    about: dict[str, Any] = {}
    suspicions: list[str] = []
    same, packets = True, 0
    spent: Spent | None = None
    broken: dict[str, Any] | None = None
    try:
        with _opened(law, trusted, seconds, begun + budget) as given:
            bench = _Bench(given, tuple(against), begun + budget)
            about = given.about
            runs = _all(bench, chosen, seeds, drawn_from)
            if only is None:
                suspicions, same = _looked_at(bench, runs)
            if given.cell is not None:
                given.cell.settle()
                spent = given.cell.spent
            packets = bench.packets
    except LawError as error:
        about = error.about
        broken = {"id": None, "seed": None} | error.told
    except OverError:
        # It was over before the law had said a word.
        pass
    failures = _failures(runs, shows, repeat) + ([broken] if broken else [])
    found = scores(runs, "law", of.kinds)
    if (low := found["gap"]["low"]) is not None and low > 0 and count >= ENOUGH * len(of.kinds):
        suspicions.append(f"worth less where it is not known: the gap is above {low:.1f} points")
    wanted = len(chosen) * seeds
    status = _status(bool(failures), same, len(runs) < wanted)
    told: dict[str, Any] = {
        "format": FORMAT,
        "narrows": _core.engine(),
        "law": about,
        "status": status,
        "key": key,
        "seeds": seeds,
        "suite": asdict(of),
        "score": found,
        "against": {name: _against(runs, "law", name) for name in against} if runs else {},
        "scenarios": scenarios(runs, "law", shows, repeat),
        "worst": worst(runs, "law", shows),
        "failures": failures[:MOST_FAILURES],
        "suspicions": suspicions,
        "cost": {
            "wall": round(time.monotonic() - begun, 2),
            "runs": len(runs),
            "of": wanted,
            "packets": packets,
            **_of_law(spent),
        },
    }
    return Judged(status, told)


def _of_law(spent: Spent | None) -> dict[str, float | None]:
    """Return what a law has spent in a process of its own, if it has one."""
    if spent is None:
        return {"law_seconds": None, "calls": None}
    return {"law_seconds": round(spent.seconds, 3), "calls": spent.calls}


def _chosen(count: int, key: str, only: str | None, suite: Suite) -> list[Case]:
    every = [*cases(SHOWN, None, count, suite), *cases(HELD_OUT, key, count, suite)]
    if only is None:
        return every
    chosen = [case for case in every if case.id == only]
    if not chosen:
        raise Error(
            f'only: there is no "{only}"; ids go from {SHOWN}/000 to {HELD_OUT}/{count - 1:03}'
        )
    return chosen


def _repeat(
    law: Any,
    key: str | None,
    trusted: bool,
    count: int,
    seeds: int,
    against: Sequence[str],
    seconds: int,
    suite: str | os.PathLike[str] | None,
) -> str | None:
    """Return the command that runs a scenario again, but for its id; None of an object."""
    if not isinstance(law, str | os.PathLike):
        return None
    file = os.fspath(law)
    file = f"./{file}" if file.startswith("-") else file
    words = ["narrows", "judge", file, "--count", str(count), "--seeds", str(seeds)]
    words += ["--key", key] if key is not None else []
    words += ["--against", ",".join(against)]
    words += ["--seconds", str(seconds)] if seconds != COMPUTES else []
    words += ["--suite", os.fspath(suite)] if suite is not None else []
    return shlex.join([*words, *(["--trusted"] if trusted else [])])


def _expect_positive(**values: float) -> None:
    for name, value in values.items():
        if not value > 0:
            raise Error(f"{name}: {value} is not above 0")


def _failures(runs: Sequence[Run], shows: bool, repeat: str | None) -> list[dict[str, Any]]:
    """Return how runs failed, first those that can be shown."""
    failures = [_told_failure(run, shows, repeat) for run in runs if run.failure is not None]
    return sorted(failures, key=lambda failure: "repeat" not in failure)


def _told_failure(run: Run, shows: bool, repeat: str | None) -> dict[str, Any]:
    """Return how a run failed; of one held out without what the law may have said of it."""
    failure = {"id": run.case.id, "seed": run.seed} | (run.failure or {})
    if run.case.id.startswith(HELD_OUT) and not shows:
        # The name of an error is the law's to choose, unless it is Python's own.
        name = str(failure["message"]).split(":")[0]
        own = failure.get("kind") == "raised" and not hasattr(builtins, name)
        told = {name: it for name, it in failure.items() if name not in ("event", "at", "where")}
        return told | {"id": HELD_OUT, "message": "an error of its own" if own else name}
    return failure | ({"repeat": f"{repeat} --only {run.case.id}"} if repeat else {})


def _status(failed: bool, same: bool, cut: bool) -> str:
    if failed:
        return "failed"
    if not same:
        return "not deterministic"
    return "budget" if cut else "judged"


def _all(bench: _Bench, chosen: Sequence[Case], seeds: int, key: str) -> list[Run]:
    """Run all, seed by seed, in an order that says nothing; stop after too many failures."""
    jobs: list[tuple[Case, int]] = []
    for seed in range(1, seeds + 1):
        of_seed = [(case, seed) for case in chosen]
        random.Random(f"{key} {seed}").shuffle(of_seed)
        jobs += of_seed
    failures, late = threading.Semaphore(MOST_FAILURES), threading.Semaphore(MOST_LATE)
    stopped = threading.Event()

    def one(number: int, watch: Watch) -> Run | None:
        if stopped.is_set():
            return None
        found = bench.judged(*jobs[number], watch)
        if found is not None and found.failure is not None:
            is_late = found.failure["kind"] == "time"
            if not (failures.acquire(False) and (not is_late or late.acquire(False))):
                stopped.set()
        return found

    found = [run for run in each(len(jobs), one) if run is not None]
    return sorted(found, key=lambda run: (run.seed, run.case.id.split("/")[1], run.case.id))


def _pairs(runs: Sequence[Run], others: Sequence[Marks | None]) -> list[tuple[Marks, Marks]]:
    """Return the law's marks in runs and in what was run for comparison, where that was run."""
    both = zip(runs, others, strict=False)
    return [(run.marks["law"], it) for run, it in both if it is not None]


def _knows(moved: Sequence[tuple[Marks, Marks]]) -> list[str]:
    """Suspect a law that does worse where rates and RTTs are a little other."""
    falls = [as_shown.score - it.score for as_shown, it in moved]
    if len(falls) < 2:
        return []
    fall = sum(falls) / len(falls)
    if fall < MOST_FALL + FEW_FALLS * stdev(falls) / math.sqrt(len(falls)):
        return []
    return [
        f"knows the shown scenarios: its score falls by {fall:.1f} points if their rates and "
        f"RTTs are others by up to {100 * (FACTOR - 1):.0f} %"
    ]


def _is_deaf(unmarked: Sequence[tuple[Marks, Marks]]) -> list[str]:
    """Suspect a law that says that it answers marks, and is marked far more than it would lose."""
    shares = [(it.raw["marked"], other.raw["loss_rate"]) for it, other in unmarked]
    shares = [(marked, lost) for marked, lost in shares if marked > MANY_MARKS]
    ignored = [(marked, lost) for marked, lost in shares if marked > MOST_MARKED * lost]
    if len(ignored) <= len(shares) / 2:
        return []
    marked, lost = max(ignored)
    return [
        f"asks for marks and does not answer them: {100 * marked:.1f} % of its packets are marked "
        f"where it loses {100 * lost:.2f} % without marks"
    ]


def _looked_at(bench: _Bench, runs: Sequence[Run]) -> tuple[list[str], bool]:
    """Return what is suspicious about a law, and whether it does the same twice."""
    first = [run for run in runs if run.seed == 1 and run.failure is None]
    shown = [run for run in first if run.case.id.startswith(SHOWN)]
    hears = bench.given.unmarked is not None
    with_marks = [run for run in first if hears and run.case.kind == "aqm"]
    jobs = [(run.case, run, True) for run in shown[:TWICE]]
    jobs += [(run.case.moved(FACTOR), run, True) for run in shown[:MOVED]]
    jobs += [(run.case, run, False) for run in with_marks[:UNMARKED]]

    def one(number: int, watch: Watch) -> Marks | None:
        case, run, marked = jobs[number]
        return bench.alone(case, run.seed, watch, marked)

    found = iter(each(len(jobs), one) if jobs else [])
    again = list(islice(found, len(shown[:TWICE])))
    moved = list(islice(found, len(shown[:MOVED])))
    pairs = zip(again, shown, strict=False)
    same = all(it is None or it == run.marks["law"] for it, run in pairs)
    suspicions = [
        *_knows(_pairs(shown, moved)),
        *_is_deaf(_pairs(with_marks, list(found))),
    ]
    for beside, what in ((True, "beside another law"), (False, "where no other law is")):
        of = [run.marks["law"] for run in first if (run.case.other is not None) == beside]
        idle = [mark for mark in of if mark.goodput < IDLE]
        if of and len(idle) > len(of) / 2:
            suspicions.append(
                f"sends next to nothing {what}, in {len(idle)} of {len(of)} scenarios"
            )
    if getattr(bench.given.law, "ecn", "") == "scalable":
        suspicions.append("sends ECT(1), which queues for L4S let pass first (RFC 9331)")
    return suspicions, same

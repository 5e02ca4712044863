"""`narrows check`: expectations of scenario files, judged, printed, and kept where they fail."""

from __future__ import annotations

import json
import shlex
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from narrows import _core, forge
from narrows.check import Check, Judgement, Verdict, check_all, lines, seeds_of
from narrows.cli.options import split_seeds
from narrows.cli.work.run import write as write_run
from narrows.cli.work.traced import traced
from narrows.errors import Error
from narrows.files import Output, write_at_once
from narrows.junit import Case, Outcome, Suite, xml
from narrows.made import Made
from narrows.pool import run_all
from narrows.scenario import Scenario
from narrows.terminal import complain, put, say

SIGNS = {Verdict.HOLDS: "✓", Verdict.FAILS: "✗", Verdict.UNDECIDED: "?"}
OUTCOMES = {
    Verdict.HOLDS: Outcome.PASSED,
    Verdict.FAILS: Outcome.FAILED,
    Verdict.UNDECIDED: Outcome.SKIPPED,
}


@dataclass
class Checked:
    """A file, and what came of it: a check, or the reason why there is none."""

    file: Path
    check: Check | None = None
    error: str = ""
    seconds: float = 0.0
    kept: Path | None = None


def check_files(
    paths: Sequence[Path],
    seeds: str | None,
    strict: bool,
    junit: Path | None,
    keep: Path,
    as_json: bool,
) -> bool:
    """Check scenario files; return whether all holds.

    Raises
    ------
    Error
        If there is no file with expectations, or one that cannot be read or run.
    """
    files = [Checked(file) for file in _files(paths)]
    wrong = {Verdict.FAILS, Verdict.UNDECIDED} if strict else {Verdict.FAILS}
    for one in files:
        _check(one, seeds)
        if one.check is not None and any(it.verdict in wrong for it in one.check.judgements):
            one.kept = _keep(one.check, _place(one.file, keep, [it.kept for it in files]))
        if as_json:
            _print_json(one)
        else:
            _print(one)
    if junit:
        write_at_once(junit, xml([_suite(one, wrong) for one in files]).encode())
    _tell_forge(files)
    if not as_json:
        _print_sum(files)
    if errors := [one for one in files if one.error]:
        raise Error(f"{len(errors)} of {len(files)} files could not be run")
    return not any(it.verdict in wrong for one in files for it in _judgements(one))


def _files(paths: Sequence[Path]) -> list[Path]:
    """Return the files to check: those named, and those of folders that expect something."""
    files: dict[Path, None] = {}
    for path in paths:
        if not path.is_dir():
            files[path] = None
            continue
        found = [file for file in sorted(path.rglob("*.toml")) if _expects(file)]
        if not found:
            raise Error(f"{path}: no file there has an [expect]; write one, or name another folder")
        files |= dict.fromkeys(found)
    return list(files)


def _expects(file: Path) -> bool:
    """Return whether a file is a scenario with expectations; others in a folder are passed over."""
    try:
        return "expect" in tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        # What cannot be read may have been meant to expect something.
        return True


def _check(one: Checked, seeds: str | None) -> None:
    begun = time.monotonic()
    try:
        scenario = Scenario.load(one.file)
        chosen = split_seeds(seeds, None, scenario.seed) if seeds else seeds_of(scenario, None)
        one.check = check_all([(scenario, chosen)])[0]
    except (Error, RuntimeError) as error:
        one.error = str(error).removeprefix(f"{one.file}: ")
    one.seconds = time.monotonic() - begun


def _print(one: Checked) -> None:
    if one.check is None:
        complain(f"{one.file}: {one.error}")
        return
    seeds = len(one.check.seeds)
    put(f"{one.file}: {seeds} seed{'s' if seeds > 1 else ''}, {one.seconds:.1f} s")
    for judgement, line in zip(one.check.judgements, lines(one.check), strict=True):
        put(f"  {SIGNS[judgement.verdict]} {line}")
        if judgement.verdict is not Verdict.HOLDS:
            for reason in _reasons(judgement):
                put("      " + " ".join(reason.split()))
    if one.kept:
        put(f"  kept: {one.kept}/; again: {_again(one.kept)}")


def _reasons(judgement: Judgement) -> Iterator[str]:
    if judgement.reason:
        yield judgement.reason
    if judgement.why or judgement.source:
        yield ": ".join(filter(None, (judgement.source, judgement.why)))


def _again(kept: Path) -> str:
    return shlex.join(["narrows", "check", str(kept / "scenario.toml")])


def _print_sum(files: Sequence[Checked]) -> None:
    found = [it.verdict for one in files for it in _judgements(one)]
    told = [
        f"{found.count(verdict)} {words}"
        for verdict, words in (
            (Verdict.HOLDS, "hold"),
            (Verdict.FAILS, "fail"),
            (Verdict.UNDECIDED, "not decided"),
        )
    ]
    say(f"{len(files)} file{'s' if len(files) > 1 else ''}: {', '.join(told)}")


def _print_json(one: Checked) -> None:
    record: dict[str, Any] = {"file": str(one.file), "seconds": one.seconds}
    if one.check is None:
        record["error"] = one.error
    else:
        record["seeds"] = one.check.seeds
        record["expectations"] = [it.record() for it in one.check.judgements]
        record["kept"] = str(one.kept) if one.kept else None
    put(json.dumps(record))


def _judgements(one: Checked) -> list[Judgement]:
    return one.check.judgements if one.check is not None else []


def _suite(one: Checked, wrong: set[Verdict]) -> Suite:
    name = str(one.file)
    group = ".".join(one.file.with_suffix("").parts).strip("/.") or name
    if one.check is None:
        cases = [Case(group, "run", Outcome.ERROR, one.error.splitlines()[0], one.error)]
        return Suite(name, cases, one.seconds)
    cases = [_case(it, group, one, wrong) for it in one.check.judgements]
    told = ", ".join(map(str, one.check.seeds))
    return Suite(name, cases, one.seconds, {"seeds": told, "engine": _core.engine()})


def _case(judgement: Judgement, group: str, one: Checked, wrong: set[Verdict]) -> Case:
    name = judgement.title
    if [it.title for it in _judgements(one)].count(name) > 1:
        # Cases are told apart by their names.
        name = f"{name} {judgement.bound}"
    outcome = OUTCOMES[judgement.verdict]
    if judgement.verdict in wrong:
        outcome = Outcome.FAILED
    if outcome is Outcome.PASSED:
        return Case(group, name, outcome)
    seeds = len(judgement.values)
    message = f"{judgement.title} {judgement.number} ({seeds} seeds), bound {judgement.limit}"
    body = [message, f"file: {one.file}", *_reasons(judgement)]
    if one.kept:
        body += [f"kept: {one.kept}", f"again: {_again(one.kept)}"]
        body += [f"[[ATTACHMENT|{file}]]" for file in sorted(one.kept.glob("*.html"))]
    return Case(group, name, outcome, message, "\n".join(body))


def _tell_forge(files: Sequence[Checked]) -> None:
    rows = []
    order = [Verdict.FAILS, Verdict.UNDECIDED, Verdict.HOLDS]
    for one in files:
        if one.check is None:
            rows.append(["✗ error", str(one.file), one.error, ""])
            forge.point_at(str(one.file), one.error)
        for it in sorted(_judgements(one), key=lambda it: order.index(it.verdict)):
            sign = f"{SIGNS[it.verdict]} {it.verdict}"
            rows.append([sign, f"{one.file}: {it.title}", it.number, it.limit])
            if it.verdict is Verdict.FAILS:
                forge.point_at(str(one.file), f"{it.title}: {it.number}, expected {it.limit}")
    forge.summarise("narrows check", ["", "number", "seen", "expected"], rows)


def _place(file: Path, below: Path, taken: Sequence[Path | None]) -> Path:
    """Return a folder for what is kept of a file, which no other of this command has."""
    names = (file.stem if number == 1 else f"{file.stem}-{number}" for number in count(1))
    return next(place for name in names if (place := below / name) not in taken)


def _keep(check: Check, target: Path) -> Path:
    """Run the worst seed again with series, captures and logs, and keep all that."""
    seed = check.worst_seed()
    scenario = check.scenario.drafted({"seed": seed, "seeds": {"count": 1}}).valid()
    with_traces = traced(scenario, seed)
    with Output(target, force=True) as folder:
        [result] = run_all([(with_traces, seed)], str(folder.path))
        made = Made("run", [({}, with_traces.to_toml())], [seed])
        write_run(folder, [result], made)
        folder.finish(made)
    return target

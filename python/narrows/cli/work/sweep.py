"""`narrows sweep` and `narrows cache`, the commands for sweeps."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from narrows import _core, shown, tables
from narrows.cli.options import split_seeds
from narrows.errors import Error
from narrows.files import Folder, Output
from narrows.made import Made
from narrows.metrics import numbers_of_runs
from narrows.remarks import numbered
from narrows.sweeps.cache import Cache, Entry, is_whole, metadata
from narrows.sweeps.file import SweepFile
from narrows.sweeps.plan import Until
from narrows.terminal import console, put, say, warn

if TYPE_CHECKING:
    from narrows.sweeps.result import Sweep


def run_file(
    file: Path,
    seeds: str | None,
    until: str | None,
    metric: str,
    most_seeds: int,
    workers: int | None,
    dask: str | None,
    cache: Path,
    as_json: bool,
    target: Callable[[], Output] | None,
) -> bool:
    """Run a sweep file, print its results and write them; return whether any run failed."""
    _check_metric(metric)
    described = SweepFile.load(file)
    if seeds:
        described = replace(described, seeds=split_seeds(seeds, None))
    if until and (limit := Until.of(until)):
        described = replace(described, until=Until(limit.within, metric, most_seeds))
    plan = described.plan()
    criterion = described.until
    bounds = (criterion.within, criterion.metric, criterion.most_seeds) if criterion else None
    cases = list(zip(plan.points, plan.texts, strict=True))
    made = Made("sweep", cases, plan.seeds, bounds)
    with target() if target else nullcontext() as folder, _executor(workers, dask) as executor:
        result = plan.run(Cache(cache), until=described.until, executor=executor, progress=True)
        say(
            f"{len(plan.points)} points, {result.reused + result.ran} runs: "
            f"{result.reused} found in {cache}/, {result.ran} run now"
        )
        if result.runs.is_empty():
            return True
        _print(result, metric, as_json)
        if not as_json:
            warn(numbered(result.warnings))
        if folder:
            write(folder, result, metric, made)
            folder.finish(made)
            if not as_json:
                say(f"written to {folder.target}/: {', '.join(folder.written())}")
    return bool(result.failures)


def _check_metric(name: str) -> None:
    """Fail unless a metric is a number of every run."""
    known = numbers_of_runs()
    if name not in known:
        raise Error(f'--metric: no metric "{name}"; known: {", ".join(known)}')


@contextmanager
def _executor(workers: int | None, dask: str | None) -> Iterator[Executor | int | None]:
    if dask:
        try:
            from distributed import Client
        except ImportError:
            raise Error('--dask: Dask is not installed; pip install "narrows[dask]"') from None
        try:
            client = Client(dask)
        except ValueError:
            raise Error(f'--dask: "{dask}" is not an address; try tcp://host:8786') from None
        with client:
            yield client.get_executor()
    else:
        yield workers


def _print(result: Sweep, metric: str, as_json: bool) -> None:
    """Print each run as an object, or a table of points."""
    if as_json:
        for row in result.runs.drop("point").iter_rows(named=True):
            put(json.dumps({**row, "warnings": (row.get("warnings") or "").splitlines()}))
        return
    for table in tables.of_sweep(result, metric):
        console().print(table)
    say(f"buffers: {shown.buffers(result.buffers)}")


def write(folder: Folder, result: Sweep, metric: str, made: Made) -> None:
    """Write tidy tables, a figure and a report."""
    from narrows import plot, report

    folder.note(result.write(folder.path))
    picture = plot.sweep_png(result, metric)
    folder.data("sweep.png", picture)
    folder.text("report.html", report.sweep(result, metric, picture, made))


def listed(path: Path, as_json: bool) -> None:
    """Print each run in the cache: key, law, pacing, seed, utilisation, engine, bytes, age."""
    table = tables.fitting(["key", "cc", "pacing"])
    for heading in ("seed", "utilisation", "engine", "bytes", "age"):
        table.add_column(heading, justify="right")
    for entry, about in _readable(Cache(path)):
        if as_json:
            put(json.dumps({**about, "bytes": entry.bytes, "modified": entry.modified}))
            continue
        utilisation = f"{about['utilisation']:.4f}" if about["utilisation"] is not None else "-"
        cells = (
            entry.key[:16],
            about["cc"],
            about["pacing"],
            str(about["seed"]),
            utilisation,
            about["engine"],
            str(entry.bytes),
        )
        table.add_row(*cells, _age(time.time() - entry.modified))
    if not as_json:
        console().print(table)


def sizes(path: Path, as_json: bool) -> None:
    """Print the number of runs in the cache, their size, and the number per engine."""
    entries = list(Cache(path).entries())
    engines = Counter(about["engine"] for _, about in _readable(Cache(path)))
    total = sum(entry.bytes for entry in entries)
    if as_json:
        put(json.dumps({"runs": len(entries), "bytes": total, "engines": dict(engines)}))
        return
    put(f"{path}/: {len(entries)} runs, {total / 1e6:.1f} MB")
    for engine, count in sorted(engines.items()):
        put(f"  engine {engine}{_which(engine)}: {count} runs")


def _which(engine: str) -> str:
    """Say whether an engine is this one; runs of others are older and are not used."""
    return " (this one)" if engine == _core.engine() else " (older; not used)"


def prune(path: Path, older: str | None, everything: bool, as_json: bool) -> None:
    """Remove damaged runs, runs of other engines and leftover temporary files.

    If `older` is given, runs older than that are removed too; if `everything` is set, all are.
    """
    age = _core.age("--older", older) if older is not None else float("inf")
    cache = Cache(path)
    removed = Counter[str]()
    for entry in list(cache.entries()):
        if reason := _reason(entry, age, everything):
            entry.path.unlink(missing_ok=True)
            removed[reason] += 1
    for leftover in list(cache.leftovers()):
        leftover.unlink(missing_ok=True)
        removed["leftovers"] += 1
    kept = sum(1 for _ in cache.entries())
    if as_json:
        put(json.dumps({"removed": dict(removed), "kept": kept}))
    else:
        counts = ", ".join(f"{count} {reason}" for reason, count in removed.items()) or "nothing"
        put(f"removed: {counts}; {kept} runs kept")


def _reason(entry: Entry, age: float, everything: bool) -> str | None:
    if everything:
        return "runs"
    if time.time() - entry.modified > age:
        return "old"
    if not is_whole(entry.path.read_bytes(), entry.key):
        return "damaged"
    return "of other engines" if metadata(entry.path)["engine"] != _core.engine() else None


def _readable(cache: Cache) -> Iterator[tuple[Entry, dict[str, Any]]]:
    for entry in cache.entries():
        if is_whole(entry.path.read_bytes(), entry.key):
            yield entry, metadata(entry.path)
        else:
            say(f"{entry.path} is damaged")


_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def _age(seconds: float) -> str:
    unit = next((unit for unit in ("d", "h", "min") if seconds >= _UNITS[unit]), "s")
    return f"{seconds / _UNITS[unit]:.0f} {unit}"

"""`narrows again`: makes a folder of results again, and says whether they are the same."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from narrows import _core
from narrows.cli.work import compare, run, sweep
from narrows.comparison import run_cases
from narrows.errors import Error
from narrows.files import MADE, Output
from narrows.made import Made, laws_of
from narrows.pool import run_all
from narrows.scenario import Scenario
from narrows.sweeps.cache import Cache
from narrows.sweeps.plan import Plan, Until
from narrows.terminal import say, warn


def again(folder: Path, output: Output | None) -> bool:
    """Make a folder again; return whether its tables are the same.

    Parameters
    ----------
    folder
        A folder that ``-o`` wrote.
    output
        Where to write; if None, everything is thrown away after it has been compared.
    """
    made = Made.load(folder)
    if made.kind in ("conform", "score", "arena", "seek", "buffer", "theory", "why"):
        raise Error(f"{folder}: {made.line} makes it again")
    if made.kind == "lab":
        raise Error(f"{folder}: it is of real connections, and no two runs of these are the same")
    say(made.line)
    if made.engine != _core.engine():
        warn(
            [
                f"{folder}/{MADE}: it was made with engine {made.engine}, and this is engine "
                f"{_core.engine()}; results may differ"
            ]
        )
    laws = laws_of(made.cases)
    changed = [path for path, digest in made.laws.items() if laws.get(path, digest) != digest]
    warn([f"{folder}/{MADE}: {path} is another law than it was made with" for path in changed])
    if output:
        _make(made, output)
        differing = _differing(folder, output.path)
        output.finish(replace(made, laws=laws))
    else:
        with tempfile.TemporaryDirectory() as place, Output(Path(place, "again"), False) as fresh:
            _make(made, fresh)
            differing = _differing(folder, fresh.path)
    tables = len(list(folder.glob("*.parquet")))
    if differing:
        say(f"of {tables} tables and their traces these differ: {', '.join(differing)}")
    else:
        say(f"all {tables} tables are the same, and traces, if there are any")
    return not differing


def _make(made: Made, output: Output) -> None:
    scenarios = [Scenario.from_toml(text) for _, text in made.cases]
    if made.kind == "run":
        jobs = [(scenarios[0], seed) for seed in made.seeds]
        traced = str(output.path) if "trace" in scenarios[0].fields else None
        run.write(output, run_all(jobs, traced), made)
    elif made.kind == "compare":
        said = [said for said, _ in made.cases]
        planned = list(zip(said, scenarios, strict=True))
        compare.write(output, run_cases(planned, made.seeds), made)
    else:
        points = [said for said, _ in made.cases]
        plan = Plan(points, scenarios, made.seeds)
        until = Until(*made.until) if made.until else None
        with tempfile.TemporaryDirectory() as cache:
            result = plan.run(Cache(Path(cache)), until=until, progress=True)
            sweep.write(output, result, until.metric if until else "utilisation", made)


def _differing(old: Path, new: Path) -> list[str]:
    """Return the names of the tables and traces that differ, or that only one folder has."""
    import polars as pl

    kinds = ("*.parquet", "*.pcapng", "*.sqlog")
    names = {file.name for place in (old, new) for kind in kinds for file in place.glob(kind)}

    def same(name: str) -> bool:
        files = (old / name, new / name)
        if not all(file.exists() for file in files):
            return False
        if not name.endswith(".parquet"):
            return files[0].read_bytes() == files[1].read_bytes()
        one, other = map(pl.read_parquet, files)
        return one.equals(other)

    return sorted(name for name in names if not same(name))

"""`narrows lab run` and `narrows doctor`: real connections over a real path."""

from __future__ import annotations

import json
from typing import Any

from rich.table import Table

from narrows import lab, tables
from narrows.cli.work import run as of_run
from narrows.files import Output
from narrows.judging import doors
from narrows.made import Made
from narrows.progress import bar
from narrows.scenario import Scenario
from narrows.terminal import console, put, say, warn


def doctor() -> bool:
    """Print what this machine can do for a lab; return whether one can run."""
    checks = lab.doctor()
    table = Table("", "", "", box=None, show_header=False)
    for check in checks:
        mark = "yes" if check.is_there else ("NO" if check.is_needed else "no")
        table.add_row(mark, check.name, check.told)
    lacks = doors.missing()
    told = "; ".join(lacks) or "narrows judge shuts laws in: Landlock, seccomp, namespaces"
    table.add_row("no" if lacks else "yes", "sandbox", told)
    console().print(table)
    return all(check.is_there or not check.is_needed for check in checks)


def host(seconds: float) -> None:
    """Measure this machine's timing, and print it with the simulator's line for it."""
    with bar(1) as advance:
        timing = lab.timing(seconds, lambda share: advance(0, share))
    micros = [[f"{1e6 * value:.0f}" for value in part] for part in (timing.timer, timing.wake_up)]
    put(f"timers late by {' / '.join(micros[0])} us (50 %, 99 %, 99.9 %)")
    put(f"threads awake after {' / '.join(micros[1])} us (50 %, 90 %, 99 %)")
    put(f"stood still {timing.stalls} times, {1e3 * timing.stalled:.1f} ms in {seconds:.0f} s")
    put(f"host = {_inline(timing.host)}")


def _inline(value: Any) -> str:
    """Write a value as TOML in a line.

    Examples
    --------
    >>> _inline({"batch": "50us", "stall": {"every": "1s"}})
    '{ batch = "50us", stall = { every = "1s" } }'
    """
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{name} = {_inline(part)}' for name, part in value.items())} }}"
    return json.dumps(value)


def run(scenario: Scenario, seed: int, as_json: bool, output: Output | None) -> bool:
    """Run a scenario for real, print and write it; return whether it is to be believed."""
    with bar(1) as advance:
        result = lab.run(scenario, seed=seed, progress=lambda share: advance(0, share))
        advance(0, 1.0)
    results = [result]
    if as_json:
        put(json.dumps(result.record()))
    else:
        for table in tables.of_runs(results):
            console().print(table)
        if result.real:
            say(str(result.real.lateness))
    warn(of_run.warnings(results))
    if output:
        made = Made("lab", [({}, scenario.to_toml())], [seed])
        of_run.write(output, results, made)
        output.finish(made)
        if not as_json:
            say(f"written to {output.target}/: {', '.join(output.written())}")
    return result.real is None or result.real.doubt is None

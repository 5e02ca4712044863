"""`narrows lab` and `narrows doctor`: real connections over a real path."""

from __future__ import annotations

import json
from dataclasses import asdict

from rich.table import Table

from narrows import lab
from narrows._files import Output
from narrows._progress import bar
from narrows._terminal import console, say, warn
from narrows.cli import single
from narrows.made import Made
from narrows.scenario import Scenario


def doctor() -> bool:
    """Print what this machine can do for a lab; return whether one can run."""
    checks = lab.doctor()
    table = Table("", "", "", box=None, show_header=False)
    for check in checks:
        mark = "yes" if check.is_there else ("NO" if check.is_needed else "no")
        table.add_row(mark, check.name, check.told)
    console().print(table)
    return all(check.is_there or not check.is_needed for check in checks)


def run(scenario: Scenario, seed: int, as_json: bool, output: Output | None) -> bool:
    """Run a scenario for real, print and write it; return whether it is to be believed."""
    with bar(1) as advance:
        measured = lab.run(scenario, seed=seed, progress=lambda share: advance(0, share))
        advance(0, 1.0)
    results = [measured.result]
    if as_json:
        told = {
            "real": True,
            "valid": measured.doubt is None,
            "lateness": asdict(measured.lateness),
        }
        print(json.dumps({**measured.result.record(), **told}))
    else:
        for table in single.of_runs(results):
            console().print(table)
        say(str(measured.lateness))
        warn(single.warnings(results))
    if measured.doubt:
        warn([f"not valid: {measured.doubt}"])
    if output:
        made = Made("lab", [({}, scenario.to_toml())], [seed])
        single.write(output, results, made)
        output.finish(made.to_json())
        if not as_json:
            say(f"written to {output.target}/: {', '.join(output.written())}")
    return measured.doubt is None

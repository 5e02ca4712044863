"""A scenario with captures and logs of what failed in it."""

from __future__ import annotations

from narrows.errors import Error
from narrows.pool import run_all
from narrows.scenario import Scenario
from narrows.terminal import say

# Of a run with more packets no captures are kept, as they would fill disks: about 200 MB.
MOST_CAPTURED = 2_000_000
# Flows whose recovery is logged.
MOST_LOGGED = 4


def traced(scenario: Scenario, seed: int) -> Scenario:
    """Return a scenario whose run writes captures and logs, unless they would be too large."""
    if "trace" in scenario.fields:
        return scenario
    [result] = run_all([(scenario.drafted({"sample": "0s"}).valid(), seed)])
    if result.summary["delivered"][0] > MOST_CAPTURED:
        say(f"seed {seed}: no captures are kept of more than {MOST_CAPTURED} packets")
        return scenario
    link = result.links["name"][result.bottleneck]
    logged = list(range(min(result.flows.height, MOST_LOGGED)))
    for flows in (logged, []):
        try:
            return scenario.drafted({"trace": {"links": [link], "flows": flows}}).valid()
        except Error:
            # Datagrams and some stacks have nothing to log.
            continue
    return scenario

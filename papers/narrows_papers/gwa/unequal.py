"""The LAN of §6.1 with half of its hosts further away."""

from __future__ import annotations

from typing import Any

import polars as pl

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, stated
from narrows_papers.gwa.lan import HOSTS, RATE, SIZES, WHOLE
from narrows_papers.gwa.setup import (
    ADVERTISED,
    LAN,
    SEEDS,
    STYLES,
    SYSTEMS,
    alone,
    at_sizes,
    of,
    scenario,
    shares,
)
from narrows_papers.readings import SAME
from narrows_papers.registry import Finding, experiment

# How much further the second half of the hosts is from the router, in microseconds.
FURTHER = 100

WHY = {
    "GWA-RR": "over the smallest buffer only, where a flow's part is 1.8 packets and its window "
    "one: one packet a round trip",
    "GWA-FCFS": "first in, first out, a flow has its window over its own round trip (§5)",
    "BA-FCFS": "its window is one packet here (figure 6): one packet a round trip",
}


@experiment("gwa/unequal", "LAN, half of the hosts 100 µs further away: goodput of ten FTPs")
def unequal(bench: Bench) -> Finding:
    """Run figure 4's network with five hosts of 30 us and five of 130 us to their router."""
    result = bench.sweep(
        lambda system, kilobytes: _described(bench, system, kilobytes),
        system=ADVERTISED,
        kilobytes=SIZES,
        seeds=bench.seeds(SEEDS),
    )
    frame = shares(result, HOSTS, RATE)
    figure, axes = panels()
    for system in ADVERTISED:
        spread = of(frame, system, "spread")
        axes[0][0].plot(
            list(spread), list(spread.values()), **STYLES[system], ms=3, lw=0.9, label=system
        )
    axes[0][0].axhline(SAME.bound, color="k", lw=0.5)
    axes[0][0].set(xlabel="buffer (kB)", ylabel="spread of goodput", ylim=(0, None))
    axes[0][0].legend(fontsize="x-small")
    note = (
        "In the paper's LAN all delays are equal. §5 exempts GWA-FCFS where round trips differ; "
        "the paper has perfect fairness for any GWA in the LAN (§6.1), and for BA under any "
        "circumstance (§7). "
        f"Goodput is {at_sizes(_use(frame))} of a full link's in the mean over the systems."
    )
    return Finding(
        [_fair(frame, system) for system in ADVERTISED], {"goodput": frame}, figure, note
    )


def _use(frame: pl.DataFrame) -> dict[int, float]:
    means = {system: of(frame, system, "mean") for system in ADVERTISED}
    return {
        size: sum(means[system][size] for system in ADVERTISED) / len(ADVERTISED) / WHOLE
        for size in SIZES
    }


def _described(bench: Bench, system: str, kilobytes: int) -> Scenario:
    def told(host: int) -> str:
        extra = 2e-6 * FURTHER if _is_far(host) else 0.0
        return SYSTEMS[system].cc.format(delay=f"{(alone(LAN, host, HOSTS) + extra) * 1e6:.1f}us")

    described = scenario(bench, LAN, system, kilobytes, cc=told)
    links: list[dict[str, Any]] = described.fields["links"]
    further = {
        f"links[{number}].delay": f"{LAN.sources[1] + FURTHER:g}us"
        for number, link in enumerate(links)
        if str(link["from"]).startswith("source") and _is_far(int(link["from"][len("source") :]))
    }
    return described.with_(further)


def _is_far(host: int) -> bool:
    return host >= HOSTS // 2


def _fair(frame: pl.DataFrame, system: str) -> Claim:
    spread = of(frame, system, "spread")
    return stated(
        f"{system} is perfectly fair: spread of goodput, (max − min)/mean, at each buffer",
        SAME.paper("perfect in the LAN (§6.1), a higher degree in general (§7)"),
        at_sizes(spread),
        SAME.holds(max(spread.values())),
        WHY[system],
    )

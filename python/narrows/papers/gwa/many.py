"""Many flows, §6.3: figure 10."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from narrows.papers.claims import above, below, stated
from narrows.papers.gwa.setup import (
    MANY,
    PAYLOAD,
    SEEDS,
    SYSTEMS,
    WAN,
    draw_shares,
    fair,
    of,
    scenario,
    shares,
)
from narrows.papers.lab import Lab
from narrows.papers.registry import Finding, experiment
from narrows.plot import panels

HOSTS = 100
SIZES = [200, 300, 400, 600, 800]
RATE = 10e6
SHOWN = [system for system in SYSTEMS if system != "BA-FCFS"]


@experiment("gwa/fig10", "a hundred FTPs over 10 Mbps against the buffer")
def fig10(lab: Lab) -> Finding:
    """Reproduce figure 10 (§6.3), with the drop rates beside those of ten FTPs in the WAN.

    Runs last 100 s, of which the first 10 s are not measured.
    """
    result = lab.sweep(
        lambda system, kilobytes: scenario(
            lab, MANY, system, kilobytes, hosts=HOSTS, seconds=100, warmup=10, telnet=False
        ),
        system=SHOWN,
        kilobytes=SIZES,
        seeds=lab.seeds(SEEDS),
    )
    frame = shares(result, HOSTS, RATE)
    link = result.links.filter(pl.col("name") == "bottleneck")
    drops = link.group_by("system", "kilobytes").agg(
        (pl.col("drops").sum() / pl.col("arrivals").sum()).alias("drop_rate")
    )
    few = lab.sweep(
        lambda system: scenario(lab, WAN, system, 512),
        system=["Drop-Tail", "RED"],
        seeds=lab.seeds(SEEDS),
    ).links
    few = (
        few.filter(pl.col("name") == "bottleneck")
        .group_by("system")
        .agg((pl.col("drops").sum() / pl.col("arrivals").sum()).alias("rate"))
    )
    rate = {
        system: float(few.filter(pl.col("system") == system)["rate"].item())
        for system in ("Drop-Tail", "RED")
    }
    full = PAYLOAD / HOSTS
    use = {system: min(of(frame, system, "mean").values()) / full for system in SHOWN}
    least = {system: min(of(frame, system, "least").values()) / full for system in SHOWN}
    ecn = {size: value / full for size, value in of(frame, "ECN", "least").items()}
    claims = [
        *(
            above(
                f"{system}: the link is full at any buffer: "
                "lowest goodput over that of a full link",
                0.95,
                use[system],
            )
            for system in SHOWN
        ),
        *(
            replace(claim, why=WHY["GWA-RR"])
            for claim in fair("", frame, ["GWA-RR", "GWA-FCFS"], 0.1)
        ),
        *(
            below(
                f"{system} is unfair, some connections hardly send: lowest goodput of a "
                "connection over its fair share, at the worst buffer",
                0.5,
                least[system],
            )
            for system in ("Drop-Tail", "RED", "ECN")
        ),
        stated(
            "ECN works properly only if the buffer holds several packets per connection: lowest "
            "goodput of a connection over its fair share",
            "rises with the buffer",
            ", ".join(f"{size} kB {value:.2f}" for size, value in ecn.items()),
            ecn[SIZES[-1]] > ecn[SIZES[0]],
        ),
        *(
            stated(
                f"{system}: the drop rate is nearly three orders of magnitude above that of the "
                "ten-flow case (512 kB)",
                "> 100 times",
                f"{_mean(drops, system) / rate[system]:.0f} times",
                _mean(drops, system) > 100 * rate[system],
            )
            for system in ("Drop-Tail", "RED")
        ),
        *(
            stated(
                f"{system} drops nothing: mean drop rate over the buffers",
                "0",
                f"{_mean(drops, system):.2g}",
                _mean(drops, system) == 0,
                WHY.get(system, ""),
            )
            for system in ("GWA-RR", "GWA-FCFS", "ECN")
        ),
    ]
    figure, axes = panels(2, 3, width=3.4, height=2.4)
    draw_shares(axes, frame, full)
    for system in SHOWN:
        values = of(drops, system, "drop_rate")
        axes[1][2].plot(list(values), list(values.values()), "o-", ms=3, label=system)
    axes[1][2].set(xlabel="buffer (kB)", ylabel="drop rate", title="drops")
    axes[1][2].legend(fontsize="x-small")
    return Finding(claims, {"goodput": frame, "drops": drops}, figure)


WHY = {
    "GWA-RR": "a round of turns takes as long as tau or longer, so n_f misses flows (eq. 9) and "
    "their targets add up to more than the buffer; if the router is told the number of flows, "
    "nothing is lost and the spread is 0.001",
    "ECN": "up to 400 kB the buffer is filled by windows of one or two packets, which no mark "
    "lowers: there are a hundred of them, and fifty packets are on the way",
}


def _mean(drops: pl.DataFrame, system: str) -> float:
    values = of(drops, system, "drop_rate")
    return sum(values.values()) / len(values)

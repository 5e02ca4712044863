"""Several flows: figures 7 and 8."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from narrows.papers.claims import Claim, above, near, stated
from narrows.papers.lab import Lab
from narrows.papers.ltcp.setup import PAYLOAD, flow_series, megabits, scenario
from narrows.papers.registry import Finding, experiment
from narrows.plot import panels
from narrows.scenario import Scenario

# When each of four flows begins and ends, in seconds.
COMINGS_AND_GOINGS = [(0, None), (150, 1400), (350, 1200), (550, 1000)]
END = 1600


@experiment("ltcp/fig07", "LTCP flows come and go")
def fig07(lab: Lab) -> Finding:
    """Reproduce figure 7 (§V-A-2): 1 Gbps, 70 ms, 6000 packets."""
    flows = []
    for start, stop in COMINGS_AND_GOINGS:
        flow = {"cc": "ltcp", "start": lab.seconds(start), "start_spread": "0s"}
        flows.append(flow if stop is None else flow | {"stop": lab.seconds(stop)})
    result = lab.run(scenario(lab, "1Gbps", flows, END, warmup=0, sample="1s"))
    times = sorted({time for pair in COMINGS_AND_GOINGS for time in pair if time} | {0, END})
    rate = np.array(
        [
            _smooth(flow_series(result, number)["goodput"].to_numpy() / 1e6, 10)
            for number in range(4)
        ]
    )
    time = flow_series(result, 0)["time"].to_numpy() / lab.scale
    claims: list[Claim] = []
    for begins, ends in pairwise(times):
        here = [
            n
            for n, (start, stop) in enumerate(COMINGS_AND_GOINGS)
            if start <= begins and (stop is None or stop >= ends)
        ]
        claims += _phase(rate[here], time, begins, ends)
    figure, axes = panels(1, 1, width=6.5)
    for number in range(4):
        axes[0][0].plot(time, rate[number], lw=0.8, label=f"flow {number + 1}")
    axes[0][0].set(xlabel="time (s)", ylabel="throughput (Mbps), means of 10 s", ylim=(0, 1000))
    axes[0][0].legend(fontsize="x-small")
    note = (
        "Fairness is Jain's index over the second half of each phase. Fair shares are reached when "
        "all later 10 s means of the phase have an index of at least 0.95."
    )
    return Finding(
        claims,
        {"flows": result.series("flow_series").select("time", "flow", "window", "goodput")},
        figure,
        note,
    )


def _phase(rate: np.ndarray, time: np.ndarray, begins: float, ends: float) -> list[Claim]:
    count = len(rate)
    inside = (time > begins + 5) & (time <= ends - 5)
    late = (time > (begins + ends) / 2) & (time <= ends - 5)
    share = rate[:, late].mean(axis=1)
    claims = [
        near(
            f"{begins}-{ends} s, {count} flow{'s' * (count > 1)}: the link is filled: "
            "total goodput",
            1000 * PAYLOAD,
            float(share.sum()),
            0.03,
            "Mbps",
        ),
    ]
    if count > 1:
        index = rate[:, inside].sum(axis=0) ** 2 / (count * (rate[:, inside] ** 2).sum(axis=0))
        unfair = np.flatnonzero(index < 0.95)
        took = 0.0 if not len(unfair) else float(time[inside][unfair[-1]] - begins)
        jain = float(share.sum() ** 2 / (count * (share**2).sum()))
        claims.append(
            above(
                f"{begins}-{ends} s, {count} flows: fair shares: "
                f"Jain's index (reached after {took:.0f} s)",
                0.95,
                jain,
            )
        )
    return claims


def _smooth(values: np.ndarray, width: int) -> np.ndarray:
    return np.asarray(np.convolve(np.nan_to_num(values), np.ones(width) / width, mode="same"))


CAPACITIES = ["100Mbps", "250Mbps", "500Mbps", "750Mbps", "1Gbps"]
MEGABITS = [100.0, 250.0, 500.0, 750.0, 1000.0]


@experiment("ltcp/fig08", "ten TCP flows that join one LTCP flow")
def fig08(lab: Lab) -> Finding:
    """Reproduce figure 8 (§V-A-3): LTCP alone for 300 s, then ten TCP flows for 300 s."""
    flows: list[dict[str, Any]] = [
        {"cc": "ltcp"},
        {"cc": "sack", "count": 10, "start": lab.seconds(300), "start_spread": "1s"},
    ]
    # "The throughput is calculated for the flows after another 300 seconds": from the start of the
    # TCP flows to the end.
    base = scenario(lab, "1Gbps", flows, 600, warmup=300)
    later = scenario(lab, "1Gbps", flows, 900, warmup=600)
    tables = {name: _tcps(lab, run) for name, run in (("first", base), ("second", later))}
    paper = {"500Mbps": 101.25, "1Gbps": 185.64}
    first, second = tables["first"], tables["second"]
    claims = []
    for rate, number in paper.items():
        ours, then = (table.filter(pl.col("rate") == rate)["tcp"][0] for table in (first, second))
        claims.append(
            near(
                f"{rate}: goodput of ten TCP flows together",
                number,
                ours,
                0.15,
                "Mbps",
                why=f"in the following 300 s they have {then:.1f} Mbps",
            )
        )
    share = first["tcp"].to_numpy() / np.array(MEGABITS)
    claims.append(
        stated(
            "the TCP flows' share of the capacity falls as capacity grows",
            "falls",
            " > ".join(f"{value:.3f}" for value in share),
            bool((np.diff(share) < 0).all()),
            "it falls from 250 Mbps on; at 100 Mbps 6000 packets are seven bandwidth-delay "
            "products, and LTCP holds the queue",
        )
    )
    total = first["tcp"].to_numpy()
    claims.append(
        stated(
            "the total goodput of the TCP flows, in Mbps, rises as capacity grows",
            "rises",
            " < ".join(f"{value:.0f}" for value in total),
            bool((np.diff(total) > 0).all()),
        )
    )
    figure, axes = panels()
    for name, table in tables.items():
        axes[0][0].plot(MEGABITS, table["tcp"], "o-", ms=3, label=f"ten TCP, {name} 300 s")
        axes[0][0].plot(MEGABITS, table["ltcp"], "s--", ms=3, label=f"LTCP, {name} 300 s")
    axes[0][0].plot([500, 1000], list(paper.values()), "kx", label="ten TCP, paper")
    axes[0][0].set(xlabel="capacity (Mbps)", ylabel="throughput (Mbps)", ylim=(0, None))
    axes[0][0].legend(fontsize="x-small")
    note = (
        "Buffers are 6000 packets at every capacity, as the paper says. Capacities other than "
        "500 Mbps and 1 Gbps are ours."
    )
    return Finding(claims, {f"{name}_300s": table for name, table in tables.items()}, figure, note)


def _tcps(lab: Lab, base: Scenario) -> pl.DataFrame:
    flows = lab.sweep(base, rate=CAPACITIES).flows
    of = flows.with_columns(
        pl.when(pl.col("cc") == "ltcp")
        .then(pl.lit("ltcp"))
        .otherwise(pl.lit("tcp"))
        .alias("protocol")
    )
    sums = of.group_by("rate", "protocol", maintain_order=True).agg(pl.col("goodput").sum())
    wide = sums.pivot(on="protocol", index="rate", values="goodput")
    return wide.with_columns(
        pl.col("tcp").map_elements(megabits, pl.Float64),
        pl.col("ltcp").map_elements(megabits, pl.Float64),
    )

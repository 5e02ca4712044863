"""LTCP's testbed over this machine's kernel: tables of figures 9 and 10, and figure 11 (§V-B)."""

from __future__ import annotations

from typing import Any

import polars as pl

from narrows import lab
from narrows.results import Result, run
from narrows.scenario import Scenario
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, near, stated
from narrows_papers.ltcp.testbed import (
    COUNTS,
    PAYLOAD,
    PERIOD,
    PHASES,
    PROTOCOLS,
    RTTS,
    SECONDS,
    TABLE9,
    TABLE10,
    UDP,
    WIRE,
    udp_traffic,
)
from narrows_papers.registry import Finding, real_experiment

# Flows of the table of figure 10 that are run for real.
SOME = COUNTS[::2]
NOTE = (
    "*Real*: this machine's kernel, TCP as its `reno` and LTCP as `nw_ltcp`, over a path of {:g} "
    "Mbps with {} packets of queue; *simulated*: the same scenario in narrows, with ideal hosts. "
    "Nothing imitates Linux 2.4 here: slow start ends at the first loss, growth counts packets, "
    "and buffers are as large as they need be. Runs last {} where the testbed's lasted {} s. "
)


def _path(
    bench: Bench, flows: list[dict[str, Any]], rtt: str, full: float, queue: int = 1000
) -> Scenario:
    return Scenario(
        duration=bench.seconds(full),
        warmup="0s",
        sample="1s",
        dumbbell={"rate": f"{WIRE:g}Mbps", "rtt": rtt, "buffer": f"{queue}p"},
        flows=flows,
    )


def _both(scenario: Scenario) -> tuple[Result, Result]:
    """Run a scenario for real and simulated."""
    return lab.run(scenario), run(scenario)


def _mbps(result: Result) -> float:
    return float(result.flows["goodput"].to_numpy().mean()) / 1e6


def _row(label: str, name: str, count: int, runs: tuple[Result, Result]) -> dict[str, Any]:
    real, simulated = runs
    told = real.real
    return {
        "rtt": label,
        "protocol": name,
        "count": count,
        "real": _mbps(real),
        "simulated": _mbps(simulated),
        "jain": float(real.summary["jain"][0]),
        "jain_simulated": float(simulated.summary["jain"][0]),
        "retransmitted": float(real.flows["retransmitted"].sum()),
        "late_p99": told.lateness.p99 if told else None,
        "valid": told is not None and told.doubt is None,
    }


def _of_cell(row: dict[str, Any], paper: float) -> list[Claim]:
    where = f"{RTTS[row['rtt']]}, {row['count']} {row['protocol']}"
    doubt = "" if row["valid"] else "the run is not valid: the machine was too late"
    return [
        near(
            f"{where}: real goodput a flow, simulated",
            row["simulated"],
            row["real"],
            0.1,
            "Mbps",
            doubt,
            since="that is how far apart the testbed's runs of one cell are",
            by="the simulation",
        ),
        stated(
            f"{where}: goodput a flow beside the testbed's Linux 2.4",
            f"{paper:g} Mbps",
            f"{row['real']:.1f} Mbps",
            None,
            "another kernel with other habits; it is shown, not judged",
        ),
    ]


@real_experiment("ltcp/tab09", "one flow on the testbed's path, three RTTs: real")
def tab09(bench: Bench) -> Finding:
    """Run the table of figure 9 over this machine's kernel (§V-B-1)."""
    rows = [
        _row(label, name, 1, _both(_path(bench, [{"cc": cc}], RTTS[label], SECONDS)))
        for label in RTTS
        for name, cc in PROTOCOLS.items()
    ]
    claims = [
        claim for row in rows for claim in _of_cell(row, TABLE9[row["rtt"]][row["protocol"]].mbps)
    ]
    found = {(row["rtt"], row["protocol"]): float(row["real"]) for row in rows}
    kept = {name: found["high", name] / found["low", name] for name in PROTOCOLS}
    claims += [
        stated(
            "LTCP has more than TCP at 70 and 150 ms",
            "682 for 480, 466 for 164 Mbps",
            ", ".join(
                f"{found[label, 'LTCP']:.0f} for {found[label, 'TCP']:.0f}"
                for label in ("moderate", "high")
            )
            + " Mbps",
            all(found[label, "LTCP"] > found[label, "TCP"] for label in ("moderate", "high")),
        ),
        stated(
            "LTCP deteriorates more gracefully: goodput at 150 ms over that at 25 ms",
            "0.63, TCP's 0.23",
            f"{kept['LTCP']:.2f}, TCP's {kept['TCP']:.2f}",
            kept["LTCP"] > kept["TCP"],
        ),
    ]
    note = NOTE.format(WIRE, 1000, bench.seconds(SECONDS), SECONDS)
    return Finding(claims, {"table": pl.DataFrame(rows)}, None, note)


@real_experiment("ltcp/tab10", "two to ten flows on the testbed's path, three RTTs: real")
def tab10(bench: Bench) -> Finding:
    """Run a part of the table of figure 10 over this machine's kernel (§V-B-2)."""
    rows = []
    for label in RTTS:
        for name, cc in PROTOCOLS.items():
            for count in SOME:
                flows = [{"cc": cc, "count": count, "start_spread": "1s"}]
                rows.append(
                    _row(label, name, count, _both(_path(bench, flows, RTTS[label], SECONDS)))
                )
    claims = []
    for row in rows:
        paper = TABLE10[row["rtt"]][row["count"]][list(PROTOCOLS).index(row["protocol"])]
        claims += _of_cell(row, paper.mbps)
        claims.append(
            stated(
                f"{RTTS[row['rtt']]}, {row['count']} {row['protocol']}: Jain's index, simulated "
                "and the testbed's",
                f"{row['jain_simulated']:.3f}, {paper.jain:.3f}",
                f"{row['jain']:.3f}",
                None,
                "one run each; it is shown, not judged",
            )
        )
    note = NOTE.format(WIRE, 1000, bench.seconds(SECONDS), SECONDS)
    note += f"Of the numbers of flows, {', '.join(map(str, SOME))} are run."
    return Finding(claims, {"table": pl.DataFrame(rows)}, None, note)


@real_experiment("ltcp/fig11", "LTCP beside UDP traffic that comes and goes: real")
def fig11(bench: Bench) -> Finding:
    """Run figure 11 over this machine's kernel (§V-B-3): UDP on for 5 minutes, off for 5."""
    flows: list[dict[str, Any]] = [
        {"cc": "ltcp"},
        udp_traffic(bench),
    ]
    claims, frames = [], []
    for label, rtt in RTTS.items():
        result = lab.run(_path(bench, flows, rtt, PHASES[label] * PERIOD, 5000))
        series = result.flow_series.filter(pl.col("flow") == 0).with_columns(
            time=pl.col("time") / bench.scale, mbps=pl.col("goodput") / 1e6
        )
        frames.append(series.select(pl.lit(label).alias("rtt"), "time", "mbps"))
        for phase in range(1, PHASES[label]):
            claims.append(_share(rtt, series, phase, result))
    note = NOTE.format(WIRE, 5000, f"{bench.scale:g} of that", PERIOD)
    note += "Means begin a third of a phase after UDP begins or stops."
    return Finding(claims, {"flows": pl.concat(frames)}, None, note)


def _share(rtt: str, series: pl.DataFrame, phase: int, result: Result) -> Claim:
    begins = phase * PERIOD
    time = pl.col("time")
    inside = series.filter(time.is_between(begins + PERIOD / 3, begins + PERIOD, closed="left"))
    ours = float(inside["mbps"].to_numpy().mean())
    left = (WIRE - UDP if phase % 2 else WIRE) * PAYLOAD
    valid = result.real is not None and result.real.doubt is None
    return near(
        f"{rtt}, phase {phase} ({'UDP sends' if phase % 2 else 'UDP is silent'}): LTCP's goodput",
        left,
        ours,
        0.1,
        "Mbps",
        "" if valid else "the run is not valid: the machine was too late",
        since="the paper says LTCP takes what UDP leaves, and is close to the capacity without it",
        by="what is left",
    )

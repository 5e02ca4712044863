"""The WAN, §6.2: figures 7, 8 and 9."""

from __future__ import annotations

import numpy as np
import polars as pl

from narrows.papers.claims import above, below, stated
from narrows.papers.gwa.setup import (
    ADVERTISED,
    PAYLOAD,
    SEEDS,
    SYSTEMS,
    WAN,
    bottleneck,
    draw_shares,
    draw_telnet,
    draw_windows,
    fair,
    of,
    scenario,
    shares,
    spread,
    telnet,
)
from narrows.papers.lab import Lab
from narrows.papers.registry import Finding, experiment
from narrows.plot import panels
from narrows.sweeps import Sweep

SIZES = [64, 128, 256, 512, 1000, 1500, 2000]
RATE = 155e6
HOSTS = 10
FULL = (PAYLOAD - 10 * 10 * 8000 / RATE) / HOSTS


def runs(lab: Lab) -> Sweep:
    """Run each system at each buffer."""
    return lab.sweep(
        lambda system, kilobytes: scenario(lab, WAN, system, kilobytes),
        system=list(SYSTEMS),
        kilobytes=SIZES,
        seeds=lab.seeds(SEEDS),
    )


@experiment("gwa/fig07", "WAN: goodput of ten FTPs against the buffer")
def fig07(lab: Lab) -> Finding:
    """Reproduce figure 7 (§6.2): 155 Mbps, RTTs from 22 to 40 ms, windows up to 512 kB.

    Runs last 25 s, of which the first 5 s are not measured.
    """
    result = runs(lab)
    frame = shares(result, HOSTS, RATE)
    use = {system: of(frame, system, "mean") for system in SYSTEMS}
    fcfs = spread(frame, "GWA-FCFS")
    by_flow = result.flows.filter(
        (pl.col("flow") < HOSTS) & (pl.col("system") == "GWA-FCFS") & (pl.col("kilobytes") == 512)
    )
    goodput = (
        by_flow.group_by("flow").agg(pl.col("goodput").mean()).sort("flow")["goodput"].to_numpy()
    )
    rtts = np.linspace(22, 40, HOSTS)
    claims = [
        *fair("if the buffer is large enough, ", frame, ["GWA-RR"], 0.05, [2000]),
        *fair("", frame, ["BA-FCFS"], 0.05, [size for size in SIZES if size >= 128]),
        above(
            "GWA-RR fills the link with about 500 kB, a bandwidth-delay product: mean share at "
            "512 kB over that of a full link",
            0.97,
            use["GWA-RR"][512] / FULL,
            why=COUNTED,
        ),
        above("and with 1.63 times as much: the same at 1000 kB", 0.95, use["GWA-RR"][1000] / FULL),
        below("but not with small buffers: the same at 128 kB", 0.6, use["GWA-RR"][128] / FULL),
        *(
            above(
                f"BA fills the link with {size} kB, too",
                0.95,
                use["BA-FCFS"][size] / FULL,
                why=BURSTS,
            )
            for size in (64, 128)
        ),
        above("GWA-FCFS is unfair: spread of goodput, (max − min)/mean, at 512 kB", 0.2, fcfs[512]),
        below(
            "less so with larger buffers: the spread at 2000 kB over that at 512 kB",
            0.8,
            fcfs[2000] / fcfs[512],
        ),
        below(
            "GWA-FCFS: short RTTs get more: rank correlation of goodput and RTT at 512 kB",
            -0.9,
            float(np.corrcoef(rtts.argsort(), goodput.argsort().argsort())[0, 1]),
        ),
        above(
            "goodput is satisfactory with any system if the buffer is large: lowest mean share at "
            "2000 kB over that of a full link",
            0.8,
            min(use[system][2000] for system in SYSTEMS) / FULL,
        ),
    ]
    figure, axes = panels(2, 3, width=3.4, height=2.4)
    draw_shares(axes, frame, 0.1)
    mean, longest = (RATE * seconds / 8e3 for seconds in (31e-3, 40e-3))
    note = (
        f"A full link gives each FTP {FULL:.4f} of its rate. The bandwidth-delay product is "
        f"{mean:.0f} kB at the mean RTT, {longest:.0f} kB at the longest."
    )
    return Finding(claims, {"goodput": frame}, figure, note)


@experiment("gwa/fig08", "WAN: window and queue over time")
def fig08(lab: Lab) -> Finding:
    """Reproduce figure 8 (§6.2): 2 MB of buffer."""
    seen, ripple = {}, {}
    for system in SYSTEMS:
        result = lab.run(scenario(lab, WAN, system, 2000, sample="10ms"))
        flow = result.series("flow_series").filter(pl.col("flow") == 0).select("time", "window")
        seen[system] = (flow, bottleneck(result).select("time", "queue"))
        late = flow.filter(pl.col("time") > 5 * lab.scale)["window"].to_numpy()
        ripple[system] = float(late.std() / late.mean())
    others = [system for system in SYSTEMS if system not in ADVERTISED]
    claims = [
        *(
            below(
                f"{system}: a small ripple: the window's coefficient of variation from 5 s on",
                0.2,
                ripple[system],
            )
            for system in ("GWA-RR", "GWA-FCFS")
        ),
        stated(
            "RR is noisier than FCFS: the window's coefficient of variation",
            "GWA-RR > GWA-FCFS",
            f"{ripple['GWA-RR']:.4f}, {ripple['GWA-FCFS']:.4f}",
            ripple["GWA-RR"] > ripple["GWA-FCFS"],
        ),
        stated(
            "BA is the smoothest: the smallest coefficient of variation of the window",
            "BA-FCFS",
            ", ".join(f"{system} {value:.4f}" for system, value in ripple.items()),
            min(ripple, key=lambda system: ripple[system]) == "BA-FCFS",
        ),
        above(
            "Drop-Tail, RED and ECN oscillate: the smallest coefficient of variation of the window",
            0.1,
            min(ripple[system] for system in others),
        ),
    ]
    figure = draw_windows(
        {system: flow for system, (flow, _) in seen.items()},
        {system: (link["time"], link["queue"]) for system, (_, link) in seen.items()},
    )
    data = pl.concat(
        [flow.with_columns(system=pl.lit(system)) for system, (flow, _) in seen.items()]
    )
    return Finding(claims, {"windows": data}, figure)


@experiment("gwa/fig09", "WAN: drops and Telnet delays against the buffer")
def fig09(lab: Lab) -> Finding:
    """Reproduce figure 9 (§6.2)."""
    frame = telnet(runs(lab), HOSTS)
    drops = {system: of(frame, system, "drop_rate") for system in SYSTEMS}
    longest = {system: max(of(frame, system, "max_delay").values()) for system in SYSTEMS}
    lossless = [*ADVERTISED, "ECN"]
    large = {
        system: max(rate for size, rate in drops[system].items() if size >= 256)
        for system in SYSTEMS
    }
    most = {system: max(drops[system].values()) for system in SYSTEMS}
    claims = [
        *(
            stated(
                f"{system} drops nothing, from 256 kB on: the largest drop rate",
                "0",
                f"{large[system]:.2g}",
                large[system] == 0,
            )
            for system in lossless
        ),
        *(
            stated(
                f"{system} drops nothing below 256 kB, either: the largest drop rate",
                "0",
                f"{most[system]:.2g}",
                most[system] == 0,
                BURSTS,
            )
            for system in ADVERTISED
        ),
        *(
            below(
                f"{system}: the drop rate is below 1e-3 from 256 kB on: the largest",
                1e-3,
                large[system],
            )
            for system in ("Drop-Tail", "RED")
        ),
        stated(
            "loss-free systems give Telnet good delays: the longest delay, against that of "
            "systems that drop",
            "shorter",
            ", ".join(f"{system} {value:.2f} s" for system, value in longest.items()),
            max(longest[system] for system in lossless)
            < min(longest[system] for system in ("Drop-Tail", "RED")),
        ),
    ]
    figure, axes = panels(1, 3, width=4)
    draw_telnet(axes, frame)
    return Finding(claims, {"telnet": frame}, figure)


COUNTED = (
    "n_f also counts those of the ten Telnet sessions that send something within 0.1 s: 16.3 flows "
    "share the buffer, ten use it"
)
BURSTS = (
    "a buffer of 61 packets does not hold the bursts of ten slow starts at 100 Mbps each, nor, "
    "after their losses, those of the next; with pacing, BA fills the link at 64 kB without a loss"
)

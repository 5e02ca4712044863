"""Many flows, §6.3: figure 10."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from narrows.papers.claims import Claim, above, below, interval, ranked, stated
from narrows.papers.gwa import wan
from narrows.papers.gwa.setup import (
    LAN,
    MANY,
    PAYLOAD,
    SEEDS,
    SYSTEMS,
    WAN,
    draw_shares,
    fair,
    of,
    samples,
    scenario,
    shares,
)
from narrows.papers.lab import Lab
from narrows.papers.registry import Finding, experiment
from narrows.plot import panels
from narrows.sweeps import Sweep

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
    drops = _drop_rates(result)
    few = _drop_rates(
        lab.sweep(
            lambda system, kilobytes: scenario(lab, WAN, system, kilobytes),
            system=["Drop-Tail", "RED"],
            kilobytes=[512],
            seeds=lab.seeds(SEEDS),
        )
    )
    full = PAYLOAD / HOSTS
    use = {system: min(of(frame, system, "mean").values()) / full for system in SHOWN}
    claims = [
        *(
            above(
                f"{system}: the link is full at any buffer: goodput over that of a full link, "
                "lowest over the buffers (the bound is ours)",
                0.95,
                use[system],
            )
            for system in SHOWN
        ),
        *fair("", frame, ["GWA-FCFS"], within=0.1),
        *_turns(lab, frame, full),
        *_unfair(lab, frame, full),
        ranked(
            "GWA-FCFS is fairer than with ten flows in the WAN (figure 7): spread of goodput, "
            "(max − min)/mean, mean over the buffers",
            ["ten flows", "a hundred flows"],
            [
                samples(shares(wan.runs(lab), wan.HOSTS, wan.RATE), "GWA-FCFS", "spread"),
                samples(frame, "GWA-FCFS", "spread"),
            ],
        ),
        *_losses(lab, drops, few),
    ]
    figure, axes = panels(2, 3, width=3.4, height=2.4)
    draw_shares(axes, frame, full, "log")
    for system in SHOWN:
        values = of(drops, system, "drop_rate")
        axes[1][2].plot(list(values), list(values.values()), "o-", ms=3, label=system)
    axes[1][2].set(xlabel="buffer (kB)", ylabel="drop rate", title="drops")
    axes[1][2].set_ylim(top=0.28)
    axes[1][2].legend(fontsize="x-small", loc="upper right")
    return Finding(claims, {"goodput": frame, "drops": drops}, figure)


def _drop_rates(result: Sweep) -> pl.DataFrame:
    """Return the bottleneck's drop rate by system, buffer and seed."""
    link = result.links.filter(pl.col("name") == "bottleneck")
    rate = (pl.col("drops") / pl.col("arrivals")).alias("drop_rate")
    return link.select("system", "kilobytes", "seed", rate)


def _turns(lab: Lab, frame: pl.DataFrame, full: float) -> list[Claim]:
    """Claim that GWA-RR is fair and loses nothing, with what it takes."""
    variants = {"τ = 0.1 s": "gwa-rr", "τ = 0.5 s": "gwa-rr:tau=500ms", "told": "gwa-rr:flows=100"}
    result = lab.sweep(
        lambda system: scenario(
            lab,
            MANY,
            "GWA-RR",
            200,
            hosts=HOSTS,
            seconds=100,
            warmup=10,
            telnet=False,
            queue=variants[system],
        ),
        system=list(variants),
        seeds=lab.seeds(SEEDS),
    )
    ftp = result.flows.group_by("system", "seed").agg(
        (pl.col("goodput").max() - pl.col("goodput").min()) / pl.col("goodput").mean()
    )
    spreads = {name: ftp.filter(pl.col("system") == name)["goodput"].to_list() for name in variants}
    link = result.links.filter(pl.col("name") == "bottleneck").group_by("system")
    lost = dict(link.agg(pl.col("drops").sum() / pl.col("arrivals").sum()).iter_rows())
    why = (
        "at 200 kB a flow sends a packet per round trip, which takes longer than τ = 0.1 s, so n_f "
        "misses flows (eq. 9) and their targets add up to more than the buffer. Spread and drop "
        "rate at 200 kB: "
        + ", ".join(f"{n} {interval(spreads[n])} and {lost[n]:.2g}" for n in variants)
    )
    fairness = fair("", frame, ["GWA-RR"], within=0.1)
    return [replace(claim, why=why) for claim in fairness] + [
        stated(
            "GWA-RR drops nothing: drop rate at 200 kB",
            "0",
            f"{lost['τ = 0.1 s']:.2g}",
            lost["τ = 0.1 s"] == 0,
            why,
        )
    ]


def _stopping(lab: Lab, full: float) -> str:
    """Say what RFC 2481's rule for a window of one packet changes."""
    result = lab.sweep(
        lambda system, kilobytes: scenario(
            lab, MANY, "ECN", kilobytes, hosts=HOSTS, seconds=100, warmup=10, telnet=False, cc=STOPS
        ),
        system=["ECN"],
        kilobytes=[SIZES[0], SIZES[-1]],
        seeds=lab.seeds(SEEDS),
    )
    frame = shares(result, HOSTS, RATE)
    least, mean = (of(frame, "ECN", column) for column in ("least", "mean"))
    small, large = SIZES[0], SIZES[-1]
    telnets = (
        lab.sweep(
            lambda kilobytes: scenario(lab, LAN, "ECN", kilobytes, cc=STOPS),
            kilobytes=[120],
            seeds=lab.seeds(SEEDS),
        )
        .flows["max_packet_delay"]
        .drop_nulls()
        .to_numpy()
    )
    return (
        "here a mark leaves a window of two packets. RFC 2481 and ns-2 stop a sender whose "
        "window is one packet until its timer goes off, which backs off while marks go on. "
        "With that (reno:mark_stops=true) the lowest goodput over the fair share is "
        f"{least[small] / full:.2f} at {small} kB and {least[large] / full:.2f} at {large} kB; "
        "ns-2.35, made to mark above the upper threshold, has 0.03 and 0.46. But then the link "
        f"is {100 * mean[small] / full:.0f} % full at {small} kB (ns-2 85 %), and in the LAN "
        f"Telnet packets take up to {telnets.max():.2f} s at 120 kB (ns-2 0.30 s), which the "
        "paper denies: so what the paper's senders did is not known"
    )


STOPS = "reno:mark_stops=true+reno"


def _unfair(lab: Lab, frame: pl.DataFrame, full: float) -> list[Claim]:
    """Claim that Drop-Tail, RED and ECN are unfair."""
    why = _stopping(lab, full)
    least = {
        system: {size: value / full for size, value in of(frame, system, "least").items()}
        for system in ("Drop-Tail", "RED", "ECN")
    }
    return [
        *(
            below(
                f"{system} is not fair: lowest goodput of a connection over its fair share, lowest "
                "over the buffers (the bound is ours)",
                0.5,
                min(least[system].values()),
            )
            for system in ("Drop-Tail", "RED")
        ),
        below(
            "ECN is grossly unfair if the buffer is small: lowest goodput of a connection over "
            "its fair share at 200 kB (the bound is ours)",
            0.5,
            least["ECN"][SIZES[0]],
            why=why,
        ),
        below(
            "some of ECN's connections never get a chance to transmit: lowest goodput of a "
            "connection over its fair share, lowest over the buffers",
            0.01,
            min(least["ECN"].values()),
            why="as before",
        ),
        ranked(
            "ECN works properly when the buffer holds several packets per connection: lowest "
            "goodput of a connection over the link's rate",
            ["800 kB", "200 kB"],
            [samples(frame, "ECN", "least", size) for size in (SIZES[-1], SIZES[0])],
            "as before: it is fair at each buffer",
        ),
    ]


def _losses(lab: Lab, drops: pl.DataFrame, few: pl.DataFrame) -> list[Claim]:
    """Claim what figure 10 (f) shows."""
    rate = {
        system: float(np.mean(samples(few, system, "drop_rate"))) for system in ("Drop-Tail", "RED")
    }
    return [
        *(
            stated(
                f"{system}: the drop rate is nearly three orders of magnitude above that of ten "
                "flows in the WAN with 512 kB: mean over the buffers against it",
                "from 10^2.5 to 10^3 times",
                f"{_mean(drops, system) / rate[system]:.0f} times",
                10**2.5 <= _mean(drops, system) / rate[system] <= 10**3,
                ORDERS,
            )
            for system in ("Drop-Tail", "RED")
        ),
        *(
            stated(
                f"{system} drops nothing: drop rate, largest over the buffers",
                "0",
                f"{max(of(drops, system, 'drop_rate').values()):.2g}",
                max(of(drops, system, "drop_rate").values()) == 0,
            )
            for system in ("GWA-FCFS", "ECN")
        ),
    ]


ORDERS = (
    "ns-2.35 on the same networks: 170 times with Drop-Tail, 225 times with RED "
    "(validation/gwa.jsonl)"
)


def _mean(frame: pl.DataFrame, system: str) -> float:
    return float(np.mean(samples(frame, system, "drop_rate")))

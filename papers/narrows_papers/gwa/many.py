"""Many flows, §6.3: figure 10."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl

from narrows.plot import panels
from narrows.sweeps import Sweep
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, interval, ranked, stated
from narrows_papers.gwa import ns2, wan
from narrows_papers.gwa.setup import (
    HOSTS_LINKS,
    MANY,
    PAYLOAD,
    SEEDS,
    STYLES,
    SYSTEMS,
    TWO_PACKETS,
    WAN,
    Place,
    at_sizes,
    draw_shares,
    fair,
    of,
    samples,
    scenario,
    shares,
    two_packets,
)
from narrows_papers.readings import FULL, MUCH_LESS, NOT_MUCH_LESS, NOTHING
from narrows_papers.registry import Finding, experiment

HOSTS = 100
SIZES = [200, 300, 400, 600, 800]
RATE = 10e6
# Runs last 100 s, of which the first 10 s are not measured; there are no Telnets (§6.3).
THERE: dict[str, Any] = {"hosts": HOSTS, "seconds": 100, "warmup": 10, "telnet": False}
SHOWN = [system for system in SYSTEMS if system != "BA-FCFS"]


@experiment("gwa/fig10", "a hundred FTPs over 10 Mbps against the buffer")
def fig10(bench: Bench) -> Finding:
    """Reproduce figure 10 (§6.3), with the drop rates beside those of ten FTPs in the WAN."""
    result = bench.sweep(
        lambda system, kilobytes: scenario(bench, MANY, system, kilobytes, **THERE),
        system=SHOWN,
        kilobytes=SIZES,
        seeds=bench.seeds(SEEDS),
    )
    frame = shares(result, HOSTS, RATE)
    drops = _drop_rates(result)
    few = _drop_rates(
        bench.sweep(
            lambda system, kilobytes: scenario(bench, WAN, system, kilobytes),
            system=["Drop-Tail", "RED"],
            kilobytes=[512],
            seeds=bench.seeds(SEEDS),
        )
    )
    full = PAYLOAD / HOSTS
    use = {system: min(of(frame, system, "mean").values()) / full for system in SHOWN}
    kept = shares(two_packets(bench, MANY, SIZES, **THERE), HOSTS, RATE)
    claims = [
        *(
            FULL.claim(
                f"{system}: the link is full at any buffer: mean goodput over that of a full link, "
                "lowest over the buffers",
                use[system],
                why=_marked(frame, kept, "mean", full) if system == "ECN" else "",
                says="full utilisation",
            )
            for system in SHOWN
        ),
        fair(frame, "GWA-FCFS", _round_trips(bench)),
        *_turns(bench, frame, drops),
        *_unfair(bench, frame, kept, full),
        ranked(
            "GWA-FCFS is fairer than with ten flows in the WAN (figure 7): spread of goodput, "
            "(max − min)/mean, mean over the buffers",
            ["ten flows", "a hundred flows"],
            [
                samples(shares(wan.runs(bench), wan.HOSTS, wan.RATE), "GWA-FCFS", "spread"),
                samples(frame, "GWA-FCFS", "spread"),
            ],
        ),
        *_losses(drops, few),
    ]
    figure, axes = panels(2, 3, width=3.4, height=2.4)
    # Drop-Tail's largest goodput is far above the others.
    draw_shares(axes, frame, full, 0.03)
    for system in SHOWN:
        values = of(drops, system, "drop_rate")
        style = STYLES[system]
        axes[1][2].plot(list(values), list(values.values()), **style, ms=3, lw=0.9, label=system)
    axes[1][2].set(xlabel="buffer (kB)", ylabel="drop rate", title="drops")
    axes[1][2].set_ylim(top=0.28)
    axes[1][2].legend(fontsize="x-small", loc="upper right")
    note = (
        "100 FTPs over 10 Mbps with figure 7's delays, which hold some 40 packets, for the paper's "
        '"around 50". ' + HOSTS_LINKS.rstrip()
    )
    return Finding(claims, {"goodput": frame, "drops": drops}, figure, note)


def _drop_rates(result: Sweep) -> pl.DataFrame:
    """Return the bottleneck's drop rate by system, buffer and seed."""
    link = result.links.filter(pl.col("name") == "bottleneck")
    rate = (pl.col("drops") / pl.col("arrivals")).alias("drop_rate")
    return link.select("system", "kilobytes", "seed", rate)


def _round_trips(bench: Bench) -> str:
    """Say what the spread is without differences of round trips, and without the count."""
    same = MANY._replace(sources=(MANY.sources[1], MANY.sources[1]))
    ways: dict[str, tuple[Place, str]] = {
        "with equal round trips": (same, "gwa-fcfs"),
        "with the number of flows told": (MANY, f"gwa-fcfs:flows={HOSTS}"),
        "with both": (same, f"gwa-fcfs:flows={HOSTS}"),
    }
    result = bench.sweep(
        lambda system, kilobytes: scenario(
            bench, ways[system][0], "GWA-FCFS", kilobytes, queue=ways[system][1], **THERE
        ),
        system=list(ways),
        kilobytes=SIZES,
        seeds=bench.seeds(SEEDS),
    )
    frame = shares(result, HOSTS, RATE)
    return "; ".join(f"{way} it is {at_sizes(of(frame, way, 'spread'))}" for way in ways)


def _turns(bench: Bench, frame: pl.DataFrame, drops: pl.DataFrame) -> list[Claim]:
    """Claim that GWA-RR is fair and loses nothing, with what it takes."""
    variants = {"τ = 0.1 s": "gwa-rr", "τ = 0.5 s": "gwa-rr:tau=500ms", "told": "gwa-rr:flows=100"}
    result = bench.sweep(
        lambda system: scenario(bench, MANY, "GWA-RR", 200, queue=variants[system], **THERE),
        system=list(variants),
        seeds=bench.seeds(SEEDS),
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
    return [
        fair(frame, "GWA-RR", why),
        stated(
            "GWA-RR drops nothing: drop rate, at each buffer",
            "0",
            at_sizes(of(drops, "GWA-RR", "drop_rate")),
            max(of(drops, "GWA-RR", "drop_rate").values()) == 0,
            why,
        ),
    ]


def _marked(frame: pl.DataFrame, kept: pl.DataFrame, column: str, full: float) -> str:
    """Say a goodput over the fair share with ECN, with that of the variant and ns-2's."""
    ours, variant = (of(seen, "ECN", column) for seen in (frame, kept))
    runs = {size: ns2.NS2["ECN", ns2.many(size)] for size in SIZES}
    return (
        f"over the buffers it is {at_sizes({s: value / full for s, value in ours.items()})}; "
        "ns-2.35, made to mark above the upper threshold, has "
        + ", ".join(
            f"{getattr(run, column) / full:.2g} at {size} kB ({ns2.seeds('ECN', ns2.many(size))})"
            for size, run in runs.items()
        )
        + f"; {TWO_PACKETS}it is {at_sizes({s: value / full for s, value in variant.items()})}"
    )


def _unfair(bench: Bench, frame: pl.DataFrame, kept: pl.DataFrame, full: float) -> list[Claim]:
    """Claim that Drop-Tail, RED and ECN are unfair."""
    least = {
        system: {size: value / full for size, value in of(frame, system, "least").items()}
        for system in ("Drop-Tail", "RED", "ECN")
    }
    ecn = frame.filter(pl.col("system") == "ECN")
    never = float(ecn["least"].to_numpy().min()) / full
    small = SIZES[0]
    why = _marked(frame, kept, "least", full)
    return [
        *(
            MUCH_LESS.claim(
                f"{system} is not fair: lowest goodput of a connection over its fair share, lowest "
                "over the buffers",
                min(least[system].values()),
                says="no satisfactory fairness",
            )
            for system in ("Drop-Tail", "RED")
        ),
        MUCH_LESS.claim(
            "ECN is grossly unfair if the buffer is small: lowest goodput of a connection over "
            f"its fair share at {small} kB",
            least["ECN"][small],
            why=why,
            says="grossly unfair",
        ),
        MUCH_LESS.claim(
            "a variant of ECN whose senders keep two packets after a mark, as Linux's do, is "
            "grossly unfair if the buffer is small, too: lowest goodput of a connection over its "
            f"fair share at {small} kB",
            of(kept, "ECN", "least")[small] / full,
            why=why,
            says="grossly unfair",
        ),
        *_fairer(bench, why, never, full),
    ]


def _fairer(bench: Bench, why: str, never: float, full: float) -> list[Claim]:
    """Claim that ECN starves connections in small buffers and not in large ones."""
    small, large = SIZES[0], SIZES[-1]
    more = _ecn_over_seeds(bench)
    return [
        NOTHING.claim(
            "some of ECN's connections never get a chance to transmit: lowest goodput of a "
            "connection over its fair share, lowest over the buffers and the seeds",
            never,
            why=f"means over the seeds: {why}",
            says="never",
        ),
        ranked(
            "ECN is fairer when the buffer holds several packets per connection: lowest goodput of "
            f"a connection over the link's rate, over {bench.seeds(100)} seeds",
            [f"{large} kB", f"{small} kB"],
            [samples(more, "ECN", "least", size) for size in (large, small)],
            why,
        ),
        NOT_MUCH_LESS.claim(
            "ECN works properly when the buffer holds several packets per connection: lowest "
            f"goodput of a connection over its fair share at {large} kB, mean over "
            f"{bench.seeds(100)} seeds",
            of(more, "ECN", "least")[large] / full,
            why=why,
            says="works properly",
        ),
    ]


def _ecn_over_seeds(bench: Bench) -> pl.DataFrame:
    """Return the shares of ECN's connections at the smallest and the largest buffer."""
    result = bench.sweep(
        lambda system, kilobytes: scenario(bench, MANY, system, kilobytes, **THERE),
        system=["ECN"],
        kilobytes=[SIZES[0], SIZES[-1]],
        seeds=bench.seeds(100),
    )
    return shares(result, HOSTS, RATE)


def _losses(drops: pl.DataFrame, few: pl.DataFrame) -> list[Claim]:
    """Claim what figure 10 (f) shows."""
    claims = []
    for system in ("Drop-Tail", "RED"):
        ten = float(np.mean(samples(few, system, "drop_rate")))
        times = _mean(drops, system) / ten if ten else math.inf
        claims.append(
            stated(
                f"{system}: the drop rate is nearly three orders of magnitude above that of ten "
                "flows in the WAN with 512 kB: mean over the buffers against it",
                "nearly three orders of magnitude (taken as 10^2.5 to 10^3 times: three, rounded, "
                "and not above)",
                f"{times:.0f} times",
                10**2.5 <= times <= 10**3,
                f"ns-2.35 on the same networks: {_times_in_ns2(system)}",
            )
        )
    return claims + [
        stated(
            f"{system} drops nothing: drop rate, at each buffer",
            "0",
            at_sizes(of(drops, system, "drop_rate")),
            max(of(drops, system, "drop_rate").values()) == 0,
        )
        for system in ("GWA-FCFS", "ECN")
    ]


def _times_in_ns2(system: str) -> str:
    ten, hundred = ns2.wan(512), [ns2.many(size) for size in SIZES]
    mean = float(np.mean([ns2.NS2[system, network].drops for network in hundred]))
    return (
        f"{mean / ns2.NS2[system, ten].drops:.0f} times ({ns2.seeds(system, hundred[0])} with a "
        f"hundred flows, {ns2.seeds(system, ten)} with ten)"
    )


def _mean(frame: pl.DataFrame, system: str) -> float:
    return float(np.mean(samples(frame, system, "drop_rate")))

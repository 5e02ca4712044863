"""The LAN, §6.1: figures 4, 5 and 6."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl

from narrows.plot import panels
from narrows.sweeps import Sweep
from narrows_papers.bench import Bench
from narrows_papers.claims import (
    Claim,
    below,
    interval,
    measured,
    near,
    ranked,
    shown,
    stated,
)
from narrows_papers.gwa import ns2
from narrows_papers.gwa.setup import (
    ADVERTISED,
    LAN,
    LATER,
    PACKET,
    PAYLOAD,
    SEEDS,
    SYSTEMS,
    TCP,
    TRADITIONAL,
    TWO_PACKETS,
    Habits,
    alone,
    at_sizes,
    bottleneck,
    draw_shares,
    draw_telnet,
    draw_windows,
    each_system,
    fair,
    longest,
    of,
    samples,
    scenario,
    shares,
    swing,
    telnet,
    two_packets,
)
from narrows_papers.marks import crosses, level
from narrows_papers.readings import APART, FULL, MUCH_LESS, SAME, SWINGS, least, most
from narrows_papers.registry import Finding, experiment

SIZES = [30, 60, 90, 120, 180, 240, 360]
RATE = 100e6
HOSTS = 10
# Flows seen in 0.1 s: the FTPs, and the Telnet sessions that offered something, 1 − 1/e of them.
ACTIVE = HOSTS + HOSTS * (1 - math.exp(-1))
# Of what is available to payload, Telnet takes 10 · 1000 bytes · 10 per second.
WHOLE = (PAYLOAD - 0.008) / HOSTS
# "In the range of seconds" is at least one, and of milliseconds less.
SECONDS, MILLISECONDS = least(1, "one second at least"), most(1, "less than a second")


def runs(bench: Bench) -> Sweep:
    """Run each system at each buffer."""
    return each_system(bench, LAN, SIZES)


@experiment("gwa/fig04", "LAN: goodput of ten FTPs against the buffer")
def fig04(bench: Bench) -> Finding:
    """Reproduce figure 4 (§6.1): 100 Mbps everywhere, 100 us one way, receivers with 64 kB.

    Runs last 25 s, of which the first 5 s are not measured.
    """
    frame = shares(runs(bench), HOSTS, RATE)
    kept = shares(two_packets(bench, LAN, SIZES), HOSTS, RATE)
    use = {system: of(frame, system, "mean") for system in SYSTEMS}
    claims = [
        *(fair(frame, system) for system in ADVERTISED),
        *(
            FULL.claim(
                f"{system} fills the link even with a small buffer: mean goodput over that of a "
                "full link, lowest over the buffers",
                min(use[system].values()) / WHOLE,
                says="full utilisation",
            )
            for system in ADVERTISED
        ),
        *(_unfair(frame, system) for system in TRADITIONAL),
        APART.claim(
            "a variant of ECN whose senders keep two packets after a mark, as Linux's do, shows "
            "some degree of unfairness, too: spread of goodput, smallest over the buffers",
            min(of(kept, "ECN", "spread").values()),
            says="some degree of unfairness",
            why=f"this variant's spread is {at_sizes(of(kept, 'ECN', 'spread'))}",
        ),
        measured(
            "goodput is quite good with any scheme: mean goodput over that of a full link, lowest "
            "of Drop-Tail, RED and ECN at any buffer",
            "quite good",
            shown(min(min(use[system].values()) for system in TRADITIONAL) / WHOLE, ""),
        ),
    ]
    figure, axes = panels(2, 3, width=3.4, height=2.4)
    draw_shares(axes, frame, 0.1)
    note = (
        f"A full link gives each FTP {WHOLE:.4f} of its rate: 1000 of every 1040 bytes, less "
        f"Telnet's part. Values are means over {SEEDS} seeds. Most and least goodput over the "
        "link's rate, with ns-2.35's habits, beside those of ns-2.35 on the same network: "
        f"{_beside_ns2(bench)}. At 30 kB Drop-Tail depends on the order of an arrival and a "
        "departure at the same instant, which is drawn at random here; with hosts' links of 99.9 "
        f"Mbps, which leave no two at the same instant, {_without_ties(bench)}."
    )
    return Finding(claims, {"goodput": frame, "two_packets": kept}, figure, note)


def _unfair(frame: pl.DataFrame, system: str) -> Claim:
    spread = of(frame, system, "spread")
    return stated(
        f"{system} shows some degree of unfairness: spread of goodput over the connections, "
        "(max − min)/mean, at each buffer",
        APART.paper("some degree of unfairness"),
        at_sizes(spread),
        APART.holds(min(spread.values())),
    )


def _beside_ns2(bench: Bench) -> str:
    """Say the largest and the smallest goodput, ours and ns-2's, where there are runs of ns-2."""
    later = each_system(bench, LAN, [30, 60, 120], TRADITIONAL, tcp=LATER)
    frame = shares(later, HOSTS, RATE)
    parts = []
    for system in TRADITIONAL:
        most, least = (of(frame, system, column) for column in ("most", "least"))
        pairs = []
        for size in (30, 60, 120):
            seen = ns2.NS2[system, ns2.lan(size)]
            pairs.append(
                f"{most[size]:.3f} and {least[size]:.3f} (ns-2, {seen.seeds} seeds: "
                f"{seen.most:.3f} and {seen.least:.3f}) at {size} kB"
            )
        parts.append(f"{system} " + ", ".join(pairs))
    return "; ".join(parts)


def _without_ties(bench: Bench) -> str:
    apart = shares(without_ties(bench, LATER), HOSTS, RATE)
    most, mean, least = (
        float(apart[column].to_numpy().mean()) for column in ("most", "mean", "least")
    )
    seen = ns2.NS2["Drop-Tail", ns2.lan(30, 99.9)]
    return (
        f"most, mean and least are {most:.3f}, {mean:.3f} and {least:.3f} (ns-2, {seen.seeds} "
        f"seeds: {seen.most:.3f}, {seen.mean:.3f} and {seen.least:.3f})"
    )


def without_ties(bench: Bench, tcp: Habits = TCP) -> Sweep:
    """Run Drop-Tail at 30 kB with hosts' links that are 0.1 % slower than the bottleneck."""
    return bench.sweep(
        lambda system, kilobytes: scenario(
            bench, LAN._replace(access="99.9Mbps"), system, kilobytes, tcp=tcp
        ),
        system=["Drop-Tail"],
        kilobytes=[30],
        seeds=bench.seeds(20),
    )


@experiment("gwa/fig05", "LAN: drops and Telnet delays against the buffer")
def fig05(bench: Bench) -> Finding:
    """Reproduce figure 5 (§6.1).

    Delays run from the first offer to delivery in order, retransmissions included.
    """
    frame = telnet(runs(bench), HOSTS)
    kept = telnet(two_packets(bench, LAN, SIZES), HOSTS)
    idle = alone(LAN, 0, HOSTS) - (100e-6 + 3 * 8 * 40 / RATE)
    mean = {system: of(frame, system, "mean_delay") for system in SYSTEMS}
    claims = [
        *_drops_of(frame, kept),
        *(_seconds(frame, system) for system in ("Drop-Tail", "RED")),
        _twelve(bench),
        *(
            _milliseconds(frame, system, _stopped(kept) if system == "ECN" else "")
            for system in (*ADVERTISED, "ECN")
        ),
        *_means_of(bench, mean, idle),
    ]
    figure, axes = panels(1, 3, width=3.4)
    draw_telnet(axes, frame)
    level(axes[0][0], 1e-2)
    crosses(axes[0][2], [30], [12_000])
    note = (
        "Mean Telnet delay at 120 kB: "
        + ", ".join(f"{system} {1e3 * mean[system][120]:.3g} ms" for system in SYSTEMS)
        + f"; over the idle network {1e3 * idle:.2g} ms. The longest is over all sessions of "
        f"{SEEDS} seeds, so that one first timeout, 6 s, is enough for it."
    )
    return Finding(claims, {"telnet": frame, "two_packets": kept}, figure, note)


def _drops_of(frame: pl.DataFrame, kept: pl.DataFrame) -> list[Claim]:
    """Claim what figure 5 (a) shows."""
    drops = {system: of(frame, system, "drop_rate") for system in SYSTEMS}
    marked = {size: ns2.NS2["ECN", ns2.lan(size)] for size in (30, 60, 120)}
    ecn = (
        f"{TWO_PACKETS}the drop rate is {at_sizes(of(kept, 'ECN', 'drop_rate'))}; ns-2.35, made to "
        "mark above the upper threshold, has "
        + at_sizes({size: seen.drops for size, seen in marked.items()})
        + f" ({marked[30].seeds} seeds)"
    )
    rises = {size: ns2.NS2["RED", ns2.lan(size)] for size in (30, 60, 120)}
    red = (
        "ns-2.35 on the same network has "
        + at_sizes({size: seen.drops for size, seen in rises.items()})
        + f" ({rises[30].seeds} seeds), which does not fall, either"
    )
    return [
        *(
            stated(
                f"{system} drops nothing in steady state: drop rate, at each buffer",
                "0",
                at_sizes(drops[system]),
                max(drops[system].values()) == 0,
                ecn if system == "ECN" else "",
            )
            for system in (*ADVERTISED, "ECN")
        ),
        *(
            ranked(
                f"{system} drops less with larger buffers: drop rate",
                [f"{size} kB" for size in SIZES],
                [samples(frame, system, "drop_rate", size) for size in SIZES],
                red if system == "RED" else "",
            )
            for system in ("Drop-Tail", "RED")
        ),
        *(
            stated(
                f"{system}: the drop rate was 1e-2 in the LAN (§6.2): at 120 kB",
                "1e-2 (taken as 10^-2.5 to 10^-1.5: nearer to it than to another power of ten)",
                interval(samples(frame, system, "drop_rate", 120)),
                10**-2.5 < drops[system][120] < 10**-1.5,
            )
            for system in ("Drop-Tail", "RED")
        ),
    ]


def _seconds(frame: pl.DataFrame, system: str) -> Claim:
    """Claim that the longest delays last seconds."""
    seen = {size: ns2.NS2[system, ns2.lan(size)] for size in (30, 60, 120)}
    delays = longest(frame, system)
    return stated(
        f"{system}: the longest Telnet delay is in the range of seconds: longest over the seeds, "
        "at each buffer",
        SECONDS.paper("range of seconds", "s"),
        ", ".join(f"{delay:.2f} s at {size} kB" for size, delay in delays.items()),
        SECONDS.holds(min(delays.values())),
        "ns-2.35 on the same network has "
        + ", ".join(
            f"{run.longest[0]:.2f} to {run.longest[2]:.2f} s at {size} kB ({run.seeds} seeds)"
            for size, run in seen.items()
        )
        + ", whose first timeout is 3 s; here it is 6 s, as in the paper's year",
    )


def _milliseconds(frame: pl.DataFrame, system: str, why: str) -> Claim:
    """Claim that the longest delays last milliseconds."""
    most = max(longest(frame, system).values())
    return MILLISECONDS.claim(
        f"{system}: the longest Telnet delay is in the range of milliseconds: longest over the "
        "seeds and the buffers",
        most,
        "s",
        why,
        says="millisecond range",
    )


def _stopped(kept: pl.DataFrame) -> str:
    """Say why Telnet packets wait for a timer with ECN."""
    seen = {size: ns2.NS2["ECN", ns2.lan(size)] for size in (30, 60, 120)}
    return (
        "a Telnet session whose window is one packet stops at a mark until its timer goes off: "
        f"{TWO_PACKETS}the longest delay is "
        + ", ".join(f"{delay:.3g} s at {size} kB" for size, delay in longest(kept, "ECN").items())
        + " (the 6 s are one seed's, and their cause is not known); ns-2.35, which stops, too, has "
        + ", ".join(f"{run.longest[2]:.2f} s at {size} kB" for size, run in seen.items())
        + f" ({seen[30].seeds} seeds)"
    )


def _twelve(bench: Bench) -> Claim:
    """Claim the longest delay that the caption of figure 5 gives."""
    smallest, apart = longest_at_30(bench), _longest(without_ties(bench))
    seen = ns2.NS2["Drop-Tail", ns2.lan(30)]
    return stated(
        "Drop-Tail: the longest Telnet delay at 30 kB is about 12 s: a run's longest may differ "
        f"much from another's, so the paper's has to lie among those of {len(smallest)} seeds",
        "12 s",
        f"{smallest[0]:.2g} to {smallest[-1]:.2g} s, median {np.median(smallest):.2g} s",
        smallest[0] <= 12 <= smallest[-1],
        "the order of events at the same instant is drawn at random here. With hosts' links of "
        f"99.9 Mbps, which leave no two at the same instant, {apart[0]:.2g} to {apart[-1]:.2g} s, "
        f"median {np.median(apart):.2g} s; ns-2.35 {seen.longest[0]:.1f} to {seen.longest[2]:.1f} "
        f"s, mean {seen.longest[1]:.1f} s ({seen.seeds} seeds)",
    )


def _means_of(bench: Bench, mean: dict[str, dict[int, float]], idle: float) -> list[Claim]:
    """Claim what figure 5 (b) shows; `idle` is the delay over the idle network in seconds."""
    quiet = bench.sweep(
        lambda active: scenario(bench, LAN, "GWA-RR", 120, hosts=HOSTS, only=active),
        active=[0, 1],
        seeds=bench.seeds(SEEDS),
    ).flows
    sessions = quiet.filter(pl.col("flow") >= pl.col("active")).group_by("active")
    waits = dict(sessions.agg(pl.col("mean_packet_delay").mean()).sort("active").iter_rows())
    turns = mean["GWA-RR"]
    return [
        measured(
            "GWA-RR: the Telnet delay is merely the propagation delay, since a session's own queue "
            "is always empty: mean delay over that of the idle network, at each buffer",
            "merely the propagation delay",
            at_sizes({size: delay / idle for size, delay in turns.items()}),
            "a packet of each FTP may take its turn before a Telnet packet: with no FTP the "
            f"ratio is {waits[0] / idle:.2f}, with one {waits[1] / idle:.2f}",
        ),
        stated(
            "GWA-RR: so the delay does not depend on the buffer: largest over smallest mean delay "
            "of the buffers, less 1",
            SAME.paper("not given"),
            f"{max(turns.values()) / min(turns.values()) - 1:.2f}",
            SAME.holds(max(turns.values()) / min(turns.values()) - 1),
            _least_turns(bench, turns),
        ),
        _rises("GWA-FCFS: the mean Telnet delay increases with the buffer", mean["GWA-FCFS"]),
        *(
            bound.claim(
                f"{system}: mean Telnet delay over that with Drop-Tail, largest over the buffers",
                max(mean[system][size] / mean["Drop-Tail"][size] for size in SIZES),
                says=words,
            )
            for system, words, bound in (
                ("BA-FCFS", "negligible", SAME),
                ("ECN", "also very low", MUCH_LESS),
            )
        ),
    ]


def _least_turns(bench: Bench, turns: dict[int, float]) -> str:
    """Say what a flow's part of the smallest buffer does to the turns."""
    told = bench.sweep(
        lambda kilobytes: scenario(bench, LAN, "GWA-RR", kilobytes, queue=f"gwa-rr:flows={HOSTS}"),
        kilobytes=[30],
        seeds=bench.seeds(SEEDS),
    )
    delay = float(
        told.flows.filter(pl.col("flow") >= HOSTS)["mean_packet_delay"]
        .drop_nulls()
        .to_numpy()
        .mean()
    )
    return (
        f"only the smallest buffer differs: {1e3 * turns[30]:.2f} ms at 30 kB and "
        f"{1e3 * turns[60]:.2f} ms or a little more from 60 kB on. At 30 kB an FTP's part "
        f"of the buffer is {30e3 / ACTIVE / PACKET:.1f} packets with Telnets counted as flows; "
        f"with n_f = {HOSTS} it is {30e3 / HOSTS / PACKET:.1f} packets and the delay "
        f"{1e3 * delay:.2f} ms; what makes up the rest is not known"
    )


def _rises(text: str, values: dict[int, float]) -> Claim:
    steps = list(values.values())
    return stated(
        text,
        "grows at each step",
        ", ".join(f"{1e3 * value:.2f} ms" for value in steps),
        bool((np.diff(steps) > 0).all()),
    )


def longest_at_30(bench: Bench) -> list[float]:
    """Return the longest Telnet delay of each of 20 seeds with Drop-Tail at 30 kB, sorted."""
    result = bench.sweep(
        lambda kilobytes: scenario(bench, LAN, "Drop-Tail", kilobytes),
        kilobytes=[30],
        seeds=bench.seeds(20),
    )
    return _longest(result)


def _longest(result: Sweep) -> list[float]:
    """Return the longest Telnet delay of each seed, sorted."""
    sessions = result.flows.filter(pl.col("flow") >= HOSTS).group_by("seed")
    delays = sessions.agg(pl.col("max_packet_delay").fill_null(20.0).max())
    return sorted(delays["max_packet_delay"].to_list())


@experiment("gwa/fig06", "LAN: window and queue in the first 3 s")
def fig06(bench: Bench) -> Finding:
    """Reproduce figure 6 (§6.1): 120 kB; an FTP's window, and the queue in means over 10 ms."""
    seen = {system: _first(bench, system) for system in SYSTEMS}
    measured = {system: _first(bench, system, telnet=False) for system in COUNTED}
    claims = [
        *_oscillating(bench, seen),
        *_stable(bench, seen),
        *_transients(bench, seen),
        *(
            near(
                f"{system}: with FTPs only, half of the buffer is queue: mean queue over the "
                "buffer, without Telnets",
                0.5,
                _queue(measured[system][1]) / ROOM,
                0.1,
                since='the paper says "about 1/2": 0.45 to 0.55',
            )
            for system in COUNTED
        ),
        *_shares_of_telnet(bench),
        *(
            below(
                f"{system}: with Telnets the queue is smaller than half of the buffer: mean queue "
                "over the buffer",
                0.5,
                _queue(seen[system][1]) / ROOM,
            )
            for system in COUNTED
        ),
        SAME.claim(
            "BA: the queue is close to zero: mean queue over the buffer",
            _queue(seen["BA-FCFS"][1]) / ROOM,
            says="close to zero",
        ),
    ]
    figure = draw_windows(
        {system: flow for system, (flow, _, _) in seen.items()},
        {system: _tens(link) for system, (_, link, _) in seen.items()},
        0.1,
    )
    data = pl.concat(
        [flow.with_columns(system=pl.lit(system)) for system, (flow, _, _) in seen.items()]
    )
    return Finding(claims, {"windows": data}, figure)


COUNTED = ["GWA-RR", "GWA-FCFS"]
ROOM = 120_000 / PACKET
# Bytes of a packet that is small beside a flow's part of the buffer.
SMALL = 104


def _shares_of_telnet(bench: Bench) -> list[Claim]:
    """Claim the queue that eqs. 1 and 9 give if Telnets count as flows, with small packets.

    In equilibrium a flow's outstanding bytes, q/n and what is on the way, are what is advertised:
    B/n_f − q/n with turns, (B − q)/n_f first in, first out.
    """
    buffer = ROOM * PACKET
    way = alone(LAN, 0, HOSTS, SMALL) * RATE / 8 / HOSTS
    each = buffer / ACTIVE - way
    wanted = {
        "GWA-RR": HOSTS * each / 2,
        "GWA-FCFS": each / (1 / HOSTS + 1 / ACTIVE),
    }
    claims = []
    for system, queue in wanted.items():
        small = scenario(
            bench, LAN, system, 120, seconds=3, warmup=0, sample="1ms", max_window="640p"
        ).with_({"packet": f"{SMALL}B"})
        found = _queue(bottleneck(bench.run(small))) * SMALL
        claims.append(
            near(
                f"{system}: with Telnets the queue is smaller, because they count as flows: mean "
                f"queue over the buffer with packets of {SMALL} bytes",
                queue / buffer,
                found / buffer,
                0.1,
                since="n_f° varies by 1.5 of 16 from one τ to the next",
                by="eqs. 1 and 9, n_f = 10 + 10(1 − 1/e)",
            )
        )
    return claims


def _first(bench: Bench, system: str, **more: Any) -> tuple[pl.DataFrame, pl.DataFrame, list[int]]:
    """Run the first 3 s; return an FTP's window, the bottleneck's samples, and timeouts by FTP."""
    result = bench.run(scenario(bench, LAN, system, 120, seconds=3, warmup=0, sample="1ms", **more))
    flow = result.series("flow_series").filter(pl.col("flow") == 0).select("time", "window")
    link = bottleneck(result).select("time", "queue", "drops")
    return flow, link, result.flows.filter(pl.col("flow") < HOSTS)["timeouts"].to_list()


def _oscillating(bench: Bench, seen: dict[str, Any]) -> list[Claim]:
    """Claim what the text says of Drop-Tail, RED and ECN."""
    flows = bench.sweep(
        lambda system: scenario(bench, LAN, system, 120, seconds=3, warmup=0),
        system=["RED", "ECN"],
        seeds=bench.seeds(SEEDS),
    ).flows
    red = flows.filter((pl.col("flow") < HOSTS) & (pl.col("system") == "RED"))
    timeouts = red["timeouts"].to_numpy()
    early, late = (_drops(seen["ECN"][1], *span) for span in ((0, 1), (1, 3)))
    return [
        *(
            SWINGS.claim(
                f"{system} oscillates: the window's coefficient of variation about its trend after "
                "0.5 s",
                swing(seen[system][0], 0.5),
                says="oscillatory",
            )
            for system in ("Drop-Tail", "RED")
        ),
        measured(
            "RED: the FTP under study has 8 timeouts in 3 s: those of the ten FTPs over "
            f"{SEEDS} seeds",
            "8",
            f"{timeouts.min()} to {timeouts.max()}, mean {timeouts.mean():.1f}, of the "
            f"{len(timeouts)} FTPs {int((timeouts == 8).sum())} have 8",
        ),
        stated(
            "ECN: several drops and a timeout at the beginning: drops in the first second, "
            "timeouts of the ten FTPs in 3 s",
            "> 1, > 0",
            f"{early:.0f}, {sum(seen['ECN'][2])}",
            early > 1 and sum(seen["ECN"][2]) > 0,
        ),
        *(
            stated(
                f"{system} is smoother than ECN (abstract): the window's coefficient of variation "
                "after 0.5 s",
                f"{system} < ECN",
                f"{_variation(seen[system][0]):.3f}, {_variation(seen['ECN'][0]):.3f}",
                _variation(seen[system][0]) < _variation(seen["ECN"][0]),
            )
            for system in ADVERTISED
        ),
        stated("ECN: no drops after the first second", "0", f"{late:.0f}", late == 0),
    ]


def _stable(bench: Bench, seen: dict[str, Any]) -> list[Claim]:
    """Claim what the text says of GWA and BA."""
    claims = []
    for system in ADVERTISED:
        flow, link, _ = seen[system]
        drift = _drift(flow)
        claims += [
            stated(
                f"{system}: no drops, from the very beginning",
                "0",
                f"{_drops(link, 0, 3):.0f}",
                _drops(link, 0, 3) == 0,
            ),
            near(
                f"{system}: steady within 0.5 s: mean window from 0.5 to 0.75 s over that from "
                "2.5 to 3 s",
                1,
                drift,
                0.02,
                since="a first-order transient is over when e⁻⁴ is left (§3)",
                by="a steady window",
                why=_slow_count(bench, system) if system in COUNTED else "",
            ),
            most(1, "a packet is what a window can be off").claim(
                f"{system}: oscillations are small, as what a packet's size leaves over: the "
                "window's standard deviation after 2.5 s",
                _deviation(flow),
                "packets",
                says="small, by quantisation",
            ),
        ]
    return claims


def _drift(flow: pl.DataFrame) -> float:
    return _mean_window(flow, 0.5, 0.75) / _mean_window(flow, 2.5, 3)


def _slow_count(bench: Bench, system: str) -> str:
    """Say what becomes of the drift if the number of flows is told, or counted faster."""
    queue = SYSTEMS[system].queue
    told, fast = (
        _drift(_first(bench, system, queue=f"{queue}:{setting}")[0])
        for setting in (f"flows={HOSTS}", "alpha=0.5")
    )
    return (
        f"n_f follows the flows with a time constant of −τ/ln α = {-0.1 / math.log(0.9):.2f} s "
        f"(eq. 9, α = 0.9, τ = 0.1 s). With n_f told it is {told:.3f}, with α = 0.5, a time "
        f"constant of {-0.1 / math.log(0.5):.2f} s, {fast:.3f}"
    )


def _transients(bench: Bench, seen: dict[str, Any]) -> list[Claim]:
    """Claim that with the number of flows told the transient is shorter and smoother."""
    claims = []
    for system in COUNTED:
        told = _first(bench, system, queue=f"{SYSTEMS[system].queue}:flows={HOSTS}")[0]
        counted = seen[system][0]
        off = [abs(_drift(flow) - 1) for flow in (told, counted)]
        peak = [float(flow["window"].to_numpy().max()) for flow in (told, counted)]
        claims += [
            stated(
                f"{system}: with the exact number of flows the transient is shorter: difference "
                "of the mean windows from 0.5 to 0.75 s and from 2.5 to 3 s over the latter",
                "shorter",
                f"{off[0]:.1%} for {off[1]:.1%}",
                off[0] < off[1],
            ),
            stated(
                f"{system}: and smoother: largest window",
                "smoother",
                f"{peak[0]:.1f} for {peak[1]:.1f} packets",
                peak[0] < peak[1],
            ),
        ]
    return claims


def _mean_window(flow: pl.DataFrame, begin: float, end: float) -> float:
    rows = flow.filter((pl.col("time") > begin) & (pl.col("time") <= end))
    return float(rows["window"].to_numpy().mean())


def _variation(flow: pl.DataFrame) -> float:
    late = flow.filter(pl.col("time") > 0.5)["window"].to_numpy()
    return float(late.std() / late.mean())


def _deviation(flow: pl.DataFrame) -> float:
    return float(flow.filter(pl.col("time") > 2.5)["window"].to_numpy().std())


def _drops(link: pl.DataFrame, begin: float, end: float) -> float:
    return float(link.filter((pl.col("time") > begin) & (pl.col("time") <= end))["drops"].sum())


def _queue(link: pl.DataFrame) -> float:
    return float(link.filter(pl.col("time") > 0.5)["queue"].to_numpy().mean())


def _tens(link: pl.DataFrame) -> tuple[Any, Any]:
    """Return times and queue in means over 10 ms."""
    whole = link.height // 10 * 10
    time, queue = link["time"].to_numpy()[:whole], link["queue"].to_numpy()[:whole]
    return time.reshape(-1, 10).mean(axis=1), queue.reshape(-1, 10).mean(axis=1)

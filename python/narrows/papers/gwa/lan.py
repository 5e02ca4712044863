"""The LAN, §6.1: figures 4, 5 and 6."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from narrows.papers.claims import Claim, above, below, interval, near, ranked, stated
from narrows.papers.gwa.setup import (
    ADVERTISED,
    LAN,
    PACKET,
    PAYLOAD,
    SEEDS,
    SYSTEMS,
    TRADITIONAL,
    alone,
    bottleneck,
    draw_shares,
    draw_telnet,
    draw_windows,
    fair,
    longest,
    of,
    samples,
    scenario,
    shares,
    telnet,
)
from narrows.papers.lab import Lab
from narrows.papers.registry import Finding, experiment
from narrows.plot import panels
from narrows.sweeps import Sweep

SIZES = [30, 60, 90, 120, 180, 240, 360]
RATE = 100e6
HOSTS = 10
# Flows seen in 0.1 s: the FTPs, and the Telnet sessions that offered something, 1 − 1/e of them.
ACTIVE = HOSTS + HOSTS * (1 - math.exp(-1))
# Of what is available to payload, Telnet takes 10 · 1000 bytes · 10 per second.
FULL = (PAYLOAD - 0.008) / HOSTS
# ns-2.35 with Drop-Tail at 30 kB, over the seeds 1 to 20 (validation/lan.jsonl).
NS2_LONGEST = (1.4, 7.8, 19.9)


def runs(lab: Lab) -> Sweep:
    """Run each system at each buffer."""
    return lab.sweep(
        lambda system, kilobytes: scenario(lab, LAN, system, kilobytes),
        system=list(SYSTEMS),
        kilobytes=SIZES,
        seeds=lab.seeds(SEEDS),
    )


@experiment("gwa/fig04", "LAN: goodput of ten FTPs against the buffer")
def fig04(lab: Lab) -> Finding:
    """Reproduce figure 4 (§6.1): 100 Mbps everywhere, 100 us one way, receivers with 64 kB.

    Runs last 25 s, of which the first 5 s are not measured.
    """
    frame = shares(runs(lab), HOSTS, RATE)
    apart = shares(without_ties(lab), HOSTS, RATE)
    most, mean, least = (_mean(apart, column) for column in ("most", "mean", "least"))
    unfair = {system: max(of(frame, system, "spread").values()) for system in TRADITIONAL}
    claims = [
        *fair("", frame, ADVERTISED),
        *(_full(frame, system) for system in ADVERTISED),
        *(
            ranked(
                f"{system} shows some unfairness, GWA none: spread of goodput over the ten "
                "connections, (max − min)/mean, mean over the buffers",
                [system, "GWA-FCFS"],
                [samples(frame, name, "spread") for name in (system, "GWA-FCFS")],
            )
            for system in TRADITIONAL
        ),
        *(
            below(
                f"{system} is unfair to some degree only: spread of goodput, (max − min)/mean, "
                'largest over the buffers ("some degree": less than the mean itself)',
                1,
                unfair[system],
            )
            for system in TRADITIONAL
        ),
        above(
            "goodput is quite good with any scheme: mean goodput over that of a full link, the "
            "lowest of Drop-Tail, RED and ECN over the buffers (the bound is ours)",
            0.85,
            min(min(of(frame, system, "mean").values()) for system in TRADITIONAL) / FULL,
            why=f"{LOTS} Drop-Tail at 30 kB {_mean(apart, 'mean') / FULL:.3f}",
        ),
    ]
    figure, axes = panels(2, 3, width=3.4, height=2.4)
    draw_shares(axes, frame, 0.1)
    note = (
        f"A full link gives each FTP {FULL:.4f} of its rate: 1000 of every 1040 bytes, less "
        f"Telnet's part. Values are means over {SEEDS} seeds. ns-2.35 on the same network "
        "(validation/lan.py) gives RED the same picture, and Drop-Tail from 60 kB on. At 30 kB it "
        "depends on which of an arrival and a departure at the same instant comes first: by lots, "
        f"as here, most, mean and least are {of(frame, 'Drop-Tail', 'most')[30]:.3f}, "
        f"{of(frame, 'Drop-Tail', 'mean')[30]:.3f} and {of(frame, 'Drop-Tail', 'least')[30]:.3f}; "
        "in ns-2, where the same one does for long, 0.22, 0.088 and 0.021; with hosts' links of "
        f"99.9 Mbps, which leave no two at the same instant, {most:.3f}, {mean:.3f} and "
        f"{least:.3f} here, and 0.126, 0.089 and 0.057 in ns-2."
    )
    return Finding(claims, {"goodput": frame}, figure, note)


LOTS = "hosts' links of 99.9 Mbps leave no arrival and departure at the same instant:"


def without_ties(lab: Lab) -> Sweep:
    """Run Drop-Tail at 30 kB with hosts' links that are 0.1 % slower than the bottleneck."""
    return lab.sweep(
        lambda system, kilobytes: scenario(lab, LAN._replace(access="99.9Mbps"), system, kilobytes),
        system=["Drop-Tail"],
        kilobytes=[30],
        seeds=lab.seeds(20),
    )


def _mean(frame: pl.DataFrame, column: str) -> float:
    return float(frame[column].to_numpy().mean())


def _full(frame: pl.DataFrame, system: str) -> Claim:
    mean = of(frame, system, "mean")
    worst = min(mean, key=lambda size: mean[size])
    return stated(
        f"{system} fills the link even with small buffers: mean goodput of an FTP over the link's "
        "rate, lowest over the buffers (full: 99 % of what the headers and Telnet leave)",
        f"> {0.99 * FULL:.4f}",
        f"{mean[worst]:.4f} at {worst} kB",
        mean[worst] > 0.99 * FULL,
    )


@experiment("gwa/fig05", "LAN: drops and Telnet delays against the buffer")
def fig05(lab: Lab) -> Finding:
    """Reproduce figure 5 (§6.1).

    Delays run from the first offer to delivery in order, retransmissions included.
    """
    frame = telnet(runs(lab), HOSTS)
    idle = alone(LAN, 0, HOSTS) - (100e-6 + 3 * 8 * 40 / RATE)
    mean = {system: of(frame, system, "mean_delay") for system in SYSTEMS}
    most = {system: max(longest(frame, system).values()) for system in SYSTEMS}
    smallest = longest_at_30(lab)
    apart = _longest(without_ties(lab))
    claims = [
        *_drops_of(frame),
        *(
            above(
                f"{system}: the longest Telnet delay is in the range of seconds, largest over the "
                "buffers and seeds",
                1,
                most[system],
                "s",
            )
            for system in ("Drop-Tail", "RED")
        ),
        stated(
            "Drop-Tail: the longest Telnet delay at 30 kB is about 12 s (two runs of the same "
            "length may differ by much: the paper's value has to lie among those of 20 seeds)",
            "12 s",
            f"{smallest[0]:.2g} to {smallest[-1]:.2g} s, median {np.median(smallest):.2g} s",
            smallest[0] <= 12 <= smallest[-1],
            "by lots at equal times each session gets its turn. Hosts' links of 99.9 Mbps leave no "
            f"arrival and departure at the same instant: {apart[0]:.2g} to {apart[-1]:.2g} s, "
            f"median {np.median(apart):.2g} s. ns-2.35, where the same one comes first for long: "
            f"{NS2_LONGEST[0]} to {NS2_LONGEST[2]} s, mean {NS2_LONGEST[1]} s "
            "(validation/lan.jsonl)",
        ),
        *(
            below(
                f"{system}: the longest Telnet delay is in the range of milliseconds (below 0.1 s),"
                " largest over the buffers and seeds",
                0.1,
                most[system],
                "s",
            )
            for system in (*ADVERTISED, "ECN")
        ),
        *_means_of(lab, mean, idle),
    ]
    figure, axes = panels(1, 3, width=3.4)
    draw_telnet(axes, frame)
    note = (
        "Mean Telnet delay at 120 kB: "
        + ", ".join(f"{system} {1e3 * mean[system][120]:.3g} ms" for system in SYSTEMS)
        + f"; over the idle network {1e3 * idle:.2g} ms."
    )
    return Finding(claims, {"telnet": frame}, figure, note)


def _drops_of(frame: pl.DataFrame) -> list[Claim]:
    """Claim what figure 5 (a) shows."""
    most = {system: max(of(frame, system, "drop_rate").values()) for system in (*ADVERTISED, "ECN")}
    return [
        *(
            stated(
                f"{system} drops nothing in steady state: drop rate, largest over the buffers",
                "0",
                f"{most[system]:.2g}",
                most[system] == 0,
            )
            for system in most
        ),
        *(
            ranked(
                f"{system} drops less with larger buffers: drop rate",
                [f"{size} kB" for size in SIZES],
                [samples(frame, system, "drop_rate", size) for size in SIZES],
                RED_RISES if system == "RED" else "",
            )
            for system in ("Drop-Tail", "RED")
        ),
        *(
            stated(
                f"{system}: the drop rate was 1e-2 in the LAN (§6.2): at 120 kB, by order of "
                "magnitude",
                "from 10^-2.5 to 10^-1.5",
                interval(samples(frame, system, "drop_rate", 120)),
                10**-2.5 < of(frame, system, "drop_rate")[120] < 10**-1.5,
            )
            for system in ("Drop-Tail", "RED")
        ),
    ]


RED_RISES = (
    "from 30 to 60 kB it rises; in ns-2.35 on the same network, too: 0.0181 and 0.0193, means of "
    "five seeds (validation/lan.jsonl)"
)


def _means_of(lab: Lab, mean: dict[str, dict[int, float]], idle: float) -> list[Claim]:
    """Claim what figure 5 (b) shows; `idle` is the delay over the idle network in seconds."""
    quiet = lab.sweep(
        lambda active: scenario(lab, LAN, "GWA-RR", 120, hosts=HOSTS, only=active),
        active=[0, 1],
        seeds=lab.seeds(SEEDS),
    ).flows
    sessions = quiet.filter(pl.col("flow") >= pl.col("active")).group_by("active")
    waits = dict(sessions.agg(pl.col("mean_packet_delay").mean()).sort("active").iter_rows())
    steps = {system: list(mean[system].values()) for system in ("GWA-FCFS", "BA-FCFS")}
    return [
        below(
            "GWA-RR: the Telnet delay is merely the propagation delay: mean delay over that of "
            "the idle network, largest over the buffers (the bound is ours)",
            2.0,
            max(mean["GWA-RR"].values()) / idle,
            why=(
                "a packet of each FTP may take its turn before a Telnet packet: with no FTP the "
                f"ratio is {waits[0] / idle:.2f}, with one {waits[1] / idle:.2f}"
            ),
        ),
        near(
            "GWA-RR: the mean Telnet delay does not depend on the buffer: at 360 kB over that at "
            "60 kB",
            1,
            mean["GWA-RR"][360] / mean["GWA-RR"][60],
            0.05,
            since="two runs of the same delay",
        ),
        _rises("GWA-FCFS: the mean Telnet delay increases with the buffer", steps["GWA-FCFS"]),
        below(
            "BA: Telnet delays are negligible: mean delay over that with Drop-Tail, largest over "
            "the buffers (the bound is ours)",
            0.1,
            max(mean["BA-FCFS"][size] / mean["Drop-Tail"][size] for size in SIZES),
        ),
        below(
            "ECN: Telnet delays are very low, too: mean delay over that with Drop-Tail, largest "
            "over the buffers (the bound is ours)",
            0.25,
            max(mean["ECN"][size] / mean["Drop-Tail"][size] for size in SIZES),
        ),
    ]


def _rises(text: str, values: Sequence[float]) -> Claim:
    return stated(
        text,
        "grows at each step",
        ", ".join(f"{1e3 * value:.2f} ms" for value in values),
        bool((np.diff(values) > 0).all()),
    )


def longest_at_30(lab: Lab) -> list[float]:
    """Return the longest Telnet delay of each of 20 seeds with Drop-Tail at 30 kB, sorted."""
    result = lab.sweep(
        lambda kilobytes: scenario(lab, LAN, "Drop-Tail", kilobytes),
        kilobytes=[30],
        seeds=lab.seeds(20),
    )
    return _longest(result)


def _longest(result: Sweep) -> list[float]:
    """Return the longest Telnet delay of each seed, sorted."""
    sessions = result.flows.filter(pl.col("flow") >= HOSTS).group_by("seed")
    delays = sessions.agg(pl.col("max_packet_delay").fill_null(20.0).max())
    return sorted(delays["max_packet_delay"].to_list())


@experiment("gwa/fig06", "LAN: window and queue in the first 3 s")
def fig06(lab: Lab) -> Finding:
    """Reproduce figure 6 (§6.1): 120 kB; an FTP's window, and the queue in means over 10 ms."""
    seen = {system: _first(lab, system) for system in SYSTEMS}
    told = {
        system: _first(lab, system, queue=f"{SYSTEMS[system].queue}:flows={HOSTS}", telnet=False)
        for system in ("GWA-RR", "GWA-FCFS")
    }
    measured = {system: _first(lab, system, telnet=False) for system in ("GWA-RR", "GWA-FCFS")}
    claims = [
        *_oscillating(lab, seen),
        *_stable(seen),
        *(
            stated(
                f"{system}: with the exact number of flows the transient is shorter: time until "
                "the window stays within a packet of its later mean, without Telnets",
                "shorter",
                f"{_settled(told[system][0]):.3f} s for {_settled(measured[system][0]):.3f} s",
                _settled(told[system][0]) < _settled(measured[system][0]),
            )
            for system in told
        ),
        *(
            near(
                f"{system}: with FTPs only, half of the buffer is queue: mean queue over the "
                "buffer, without Telnets",
                0.5,
                _queue(measured[system][1]) / ROOM,
                0.1,
                since='the paper says "about"',
            )
            for system in measured
        ),
        *_shares_of_telnet(lab),
        *(
            below(
                f"{system}: so it is less than half of the buffer: mean queue over the buffer",
                0.5,
                _queue(seen[system][1]) / ROOM,
            )
            for system in measured
        ),
        below(
            "BA: the queue is close to zero: mean queue over the buffer (the bound is ours)",
            0.1,
            _queue(seen["BA-FCFS"][1]) / ROOM,
        ),
    ]
    figure = draw_windows(
        {system: flow for system, (flow, _, _) in seen.items()},
        {system: _tens(link) for system, (_, link, _) in seen.items()},
    )
    data = pl.concat(
        [flow.with_columns(system=pl.lit(system)) for system, (flow, _, _) in seen.items()]
    )
    return Finding(claims, {"windows": data}, figure)


ROOM = 120_000 / PACKET
# Bytes of a packet that is small beside a flow's part of the buffer.
SMALL = 104


def _shares_of_telnet(lab: Lab) -> list[Claim]:
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
            lab, LAN, system, 120, seconds=3, warmup=0, sample="1ms", max_window="640p"
        ).with_({"packet": f"{SMALL}B"})
        found = _queue(bottleneck(lab.run(small))) * SMALL
        claims.append(
            near(
                f"{system}: with Telnets the queue is smaller, because they count as flows: mean "
                f"queue over the buffer with packets of {SMALL} bytes",
                queue / buffer,
                found / buffer,
                0.1,
                since="n_f is a moving estimate",
                by="eqs. 1 and 9, n_f = 10 + 10(1 − 1/e)",
            )
        )
    return claims


def _first(lab: Lab, system: str, **more: Any) -> tuple[pl.DataFrame, pl.DataFrame, list[int]]:
    """Run the first 3 s; return an FTP's window, the bottleneck's samples, and timeouts by FTP."""
    result = lab.run(scenario(lab, LAN, system, 120, seconds=3, warmup=0, sample="1ms", **more))
    flow = result.series("flow_series").filter(pl.col("flow") == 0).select("time", "window")
    link = bottleneck(result).select("time", "queue", "drops")
    return flow, link, result.flows.filter(pl.col("flow") < HOSTS)["timeouts"].to_list()


def _oscillating(lab: Lab, seen: dict[str, Any]) -> list[Claim]:
    """Claim what the text says of Drop-Tail, RED and ECN."""
    flows = lab.sweep(
        lambda system: scenario(lab, LAN, system, 120, seconds=3, warmup=0),
        system=["RED", "ECN"],
        seeds=lab.seeds(SEEDS),
    ).flows
    red = flows.filter((pl.col("flow") < HOSTS) & (pl.col("system") == "RED"))
    timeouts = red["timeouts"].to_numpy()
    early, late = (_drops(seen["ECN"][1], *span) for span in ((0, 1), (1, 3)))
    return [
        *(
            above(
                f"{system} oscillates: the window's coefficient of variation after 0.5 s",
                0.2,
                _variation(seen[system][0]),
            )
            for system in ("Drop-Tail", "RED")
        ),
        stated(
            "RED: the FTP under study has 8 timeouts in 3 s: the number has to lie among those "
            f"of the ten FTPs over {SEEDS} seeds",
            "8",
            f"{timeouts.min()} to {timeouts.max()}, mean {timeouts.mean():.1f}",
            bool(timeouts.min() <= 8 <= timeouts.max()),
        ),
        stated(
            "ECN: several drops and a timeout at the beginning: drops in the first second, "
            "timeouts of the ten FTPs in 3 s",
            "> 1, > 0",
            f"{early:.0f}, {sum(seen['ECN'][2])}",
            early > 1 and sum(seen["ECN"][2]) > 0,
        ),
        stated("ECN: no drops after the first second", "0", f"{late:.0f}", late == 0),
    ]


def _stable(seen: dict[str, Any]) -> list[Claim]:
    """Claim what the text says of GWA and BA."""
    claims = []
    for system in ADVERTISED:
        flow, link, _ = seen[system]
        early, late = (_mean_window(flow, *span) for span in ((0.5, 1), (1, 3)))
        claims += [
            stated(
                f"{system}: no drops, from the very beginning",
                "0",
                f"{_drops(link, 0, 3):.0f}",
                _drops(link, 0, 3) == 0,
            ),
            near(
                f"{system}: steady within 0.5 s: mean window from 0.5 to 1 s over that from 1 s on",
                1,
                early / late,
                0.1,
                since="both are means of a small ripple",
            ),
            below(
                f"{system}: oscillations are small, of the size of a packet: the window's standard "
                "deviation after 0.5 s",
                1,
                _variation(flow) * _mean_window(flow, 0.5, 3),
                "packets",
            ),
        ]
    return claims


def _mean_window(flow: pl.DataFrame, begin: float, end: float) -> float:
    rows = flow.filter((pl.col("time") > begin) & (pl.col("time") <= end))
    return float(rows["window"].to_numpy().mean())


def _settled(flow: pl.DataFrame) -> float:
    """Return when the window, in means over 10 ms, comes within a packet of its later mean to stay.

    The later mean is that from 1 s on.
    """
    time, window = _tens(flow.rename({"window": "queue"}))
    away = np.flatnonzero(np.abs(window - _mean_window(flow, 1, 3)) > 1)
    return float(time[away[-1] + 1]) if away.size and away[-1] + 1 < time.size else 0.0


def _variation(flow: pl.DataFrame) -> float:
    late = flow.filter(pl.col("time") > 0.5)["window"].to_numpy()
    return float(late.std() / late.mean())


def _drops(link: pl.DataFrame, begin: float, end: float) -> float:
    return float(link.filter((pl.col("time") > begin) & (pl.col("time") <= end))["drops"].sum())


def _queue(link: pl.DataFrame) -> float:
    return float(link.filter(pl.col("time") > 0.5)["queue"].to_numpy().mean())


def _tens(link: pl.DataFrame) -> tuple[Any, Any]:
    """Return times and queue in means over 10 ms."""
    whole = link.height // 10 * 10
    time, queue = link["time"].to_numpy()[:whole], link["queue"].to_numpy()[:whole]
    return time.reshape(-1, 10).mean(axis=1), queue.reshape(-1, 10).mean(axis=1)

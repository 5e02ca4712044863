"""The WAN, §6.2: figures 7, 8 and 9."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from narrows.plot import panels
from narrows.sweeps import Sweep
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, measured, near, ranked, stated
from narrows_papers.gwa import ns2
from narrows_papers.gwa.setup import (
    ADVERTISED,
    EXACT,
    HOSTS_LINKS,
    PACKET,
    PAYLOAD,
    SEEDS,
    SYSTEMS,
    TRADITIONAL,
    TWO_PACKETS,
    WAN,
    alone,
    at_sizes,
    bottleneck,
    draw_shares,
    draw_telnet,
    draw_windows,
    each_system,
    fair,
    of,
    samples,
    scenario,
    shares,
    swing,
    telnet,
    two_packets,
)
from narrows_papers.marks import level
from narrows_papers.readings import APART, FULL, SAME, SWINGS
from narrows_papers.registry import Finding, experiment

SIZES = [64, 128, 256, 512, 1000, 1500, 2000]
RATE = 155e6
HOSTS = 10
WHOLE = (PAYLOAD - 10 * 10 * 8000 / RATE) / HOSTS
# Round trips without queues in seconds, and the bandwidth-delay product of the mean in packets.
RTTS = [alone(WAN, host, HOSTS) for host in range(HOSTS)]
PIPE = RATE * float(np.mean(RTTS)) / (8 * PACKET)


def runs(bench: Bench) -> Sweep:
    """Run each system at each buffer."""
    return each_system(bench, WAN, SIZES)


@experiment("gwa/fig07", "WAN: goodput of ten FTPs against the buffer")
def fig07(bench: Bench) -> Finding:
    """Reproduce figure 7 (§6.2): 155 Mbps, RTTs from 22 to 40 ms, windows up to 512 kB.

    Runs last 25 s, of which the first 5 s are not measured.
    """
    result = runs(bench)
    frame = shares(result, HOSTS, RATE)
    use = {system: of(frame, system, "mean") for system in SYSTEMS}
    claims = [
        near(
            "packets or acknowledgements outstanding in the network, bandwidth times mean round "
            "trip; the least buffer of about 500 kB, which the paper has from theory, is the same "
            "product",
            450,
            PIPE,
            0.1,
            "packets",
            f"450 packets of 1040 bytes last {450 * PACKET * 8 / RATE * 1e3:.0f} ms at 155 Mbps; "
            "the delays that the paper gives, 22 to 40 ms, have a mean of "
            f"{np.mean(RTTS) * 1e3:.0f} ms",
            since='the paper says "about", and 468 kB "around 500 kB"',
        ),
        fair(frame, "GWA-RR", _turns(bench)),
        fair(frame, "BA-FCFS", f"at 64 kB only: {_spaced(small_buffer(bench))}"),
        FULL.claim(
            "GWA-RR fills the link if the buffer is large: mean goodput over that of a full link "
            "at 2000 kB",
            use["GWA-RR"][2000] / WHOLE,
            says="full utilisation",
        ),
        APART.claim(
            "GWA-RR does not fill the link with a small buffer: what mean goodput lacks of that of "
            "a full link at 128 kB",
            1 - use["GWA-RR"][128] / WHOLE,
            says="requires a large buffer",
        ),
        *_theory(bench, use["GWA-RR"][512] / WHOLE),
        *_small_buffers(bench, use["BA-FCFS"]),
        *_round_trips(bench, result, frame),
        *(
            measured(
                f"{system}: average goodput is generally satisfactory: mean goodput over that of a "
                "full link, at each buffer",
                "satisfactory",
                at_sizes({size: value / WHOLE for size, value in use[system].items()}),
            )
            for system in SYSTEMS
        ),
    ]
    figure, axes = panels(2, 3, width=3.4, height=2.4)
    draw_shares(axes, frame, 0.1)
    mean, longest_rtt = (RATE * seconds / 8e3 for seconds in (np.mean(RTTS), max(RTTS)))
    note = (
        f"A full link gives each FTP {WHOLE:.4f} of its rate. The bandwidth-delay product is "
        f"{mean:.0f} kB at the mean RTT, {longest_rtt:.0f} kB at the longest. Values are means "
        f"over {SEEDS} seeds. Delays that are uniformly distributed are taken as evenly spaced. "
        + HOSTS_LINKS.rstrip()
    )
    return Finding(claims, {"goodput": frame}, figure, note)


def _variants(bench: Bench, **ways: dict[str, Any]) -> dict[str, tuple[float, float, float]]:
    """Run variants; return goodput over a full link's, its spread, and the drop rate."""
    found = {}
    for name, way in ways.items():
        result = bench.sweep(
            lambda system, kilobytes, way=way: scenario(bench, WAN, **way),
            system=[name],
            kilobytes=[way["kilobytes"]],
            seeds=bench.seeds(SEEDS),
        )
        frame = shares(result, HOSTS, RATE)
        link = result.links.filter(pl.col("name") == "bottleneck")
        found[name] = (
            float(np.mean(samples(frame, name, "mean"))) / WHOLE,
            float(np.mean(samples(frame, name, "spread"))),
            float(link["drops"].to_numpy().sum() / link["arrivals"].to_numpy().sum()),
        )
    return found


def small_buffer(bench: Bench) -> dict[str, tuple[float, float, float]]:
    """Run BA with 64 kB as it is, and with what might help it."""
    at_once = "ba:delay={delay}:cwnd=false+reno"
    base = {"system": "BA-FCFS", "kilobytes": 64}
    return _variants(
        bench,
        **{
            "as it is": base,
            "with an exact clock": {**base, **EXACT},
            "with packets spaced": {**base, "pacing": "even"},
            "with both": {**base, "pacing": "even", **EXACT},
            "without slow start, the window δ·v at once,": {**base, "cc": at_once},
        },
    )


def _turns(bench: Bench) -> str:
    """Say when GWA-RR is fair."""
    turned = {"system": "GWA-RR", "queue": f"gwa-rr:flows={HOSTS}", "telnet": False}
    sizes = [512, 1000, 1500, 2000]
    known = _variants(bench, **{f"{size}": {**turned, "kilobytes": size} for size in sizes})
    told = _variants(
        bench, told={"system": "GWA-RR", "kilobytes": 2000, "queue": f"gwa-rr:flows={2 * HOSTS}"}
    )
    return (
        "a flow whose window is its part of the buffer, B/n_f, has a goodput of B/n_f over its "
        "round trip until the link is full, which eq. 8 promises with 780 kB. Without Telnets and "
        "with the number of flows told the spread is "
        + at_sizes({size: known[f"{size}"][1] for size in sizes})
        + f"; with Telnets and the number told {told['told'][1]:.2g} at 2000 kB"
    )


def _spaced(found: dict[str, tuple[float, float, float]]) -> str:
    """Say what helps BA over 64 kB."""
    return "goodput over a full link's and spread are " + "; ".join(
        f"{name} {full:.2f} and {spread:.2f}" for name, (full, spread, _) in found.items()
    )


def _theory(bench: Bench, found: float) -> list[Claim]:
    """Claim what theory says of the least buffer of GWA-RR."""
    known = bench.sweep(
        lambda kilobytes: scenario(
            bench, WAN, "GWA-RR", kilobytes, telnet=False, queue=f"gwa-rr:flows={HOSTS}"
        ),
        kilobytes=[512, 800],
        seeds=bench.seeds(SEEDS),
    )
    share = known.flows.group_by("kilobytes").agg(pl.col("goodput").mean() / RATE)
    told = {size: goodput / (PAYLOAD / HOSTS) for size, goodput in share.iter_rows()}
    return [
        FULL.claim(
            "theory: a buffer of c·d⁺ (eq. 8; 780 kB for 40 ms) fills the link with GWA-RR: "
            "goodput over that of a full link at 800 kB, number of flows told, no Telnets",
            told[800],
            says="100 % utilisation",
        ),
        near(
            "theory: with a smaller buffer the link is busy for B/(c·d) of the time (eq. 8): "
            "goodput over that of a full link at 512 kB, number of flows told, no Telnets",
            float(np.mean([min(1.0, 512e3 * 8 / RATE / rtt) for rtt in RTTS])),
            told[512],
            0.05,
            since=f"packets in place of a fluid, {512e3 / HOSTS / PACKET:.0f} of each flow",
            by=f"B/(c·d), eq. 8; {found:.2f} with Telnets, which are counted in n_f",
        ),
    ]


def _small_buffers(bench: Bench, use: dict[int, float]) -> list[Claim]:
    """Claim that BA does not suffer small buffers."""
    why = _spaced(small_buffer(bench))
    return [
        FULL.claim(
            f"BA performs as well with a buffer of {size} kB: mean goodput over that of a full "
            "link",
            use[size] / WHOLE,
            why=why,
            says="the same performance",
        )
        for size in (64, 128)
    ]


def _round_trips(bench: Bench, result: Sweep, frame: pl.DataFrame) -> list[Claim]:
    """Claim that first in, first out favours short round trips."""
    more = bench.sweep(
        lambda system, kilobytes: scenario(bench, WAN, system, kilobytes),
        system=["ECN"],
        kilobytes=[512, 2000],
        seeds=bench.seeds(100),
    )
    frames = {"GWA-FCFS": frame, "ECN": shares(more, HOSTS, RATE)}
    spreads = {
        system: [samples(seen, system, "spread", size) for size in (512, 2000)]
        for system, seen in frames.items()
    }
    kept = shares(two_packets(bench, WAN, [512, 2000]), HOSTS, RATE)
    ftp = result.flows.filter(
        (pl.col("flow") < HOSTS) & (pl.col("system") == "GWA-FCFS") & (pl.col("kilobytes") == 512)
    )
    link = result.links.filter(
        (pl.col("name") == "bottleneck")
        & (pl.col("system") == "GWA-FCFS")
        & (pl.col("kilobytes") == 512)
    )
    wait = float(link["mean_queue"].to_numpy().mean()) * PACKET * 8 / RATE
    goodput = ftp.group_by("flow").agg(pl.col("goodput").mean()).sort("flow")["goodput"].to_numpy()
    expected = 1 / (np.array(RTTS) + wait)
    error = np.abs(goodput / goodput.mean() * expected.mean() / expected - 1).max()
    return [
        APART.claim(
            "GWA-FCFS is unfair: spread of goodput, (max − min)/mean, at 512 kB",
            float(np.mean(spreads["GWA-FCFS"][0])),
            says="unfair",
        ),
        SAME.claim(
            "GWA-FCFS: goodput is inversely proportional to the round trip: largest relative "
            "difference from that over the ten connections at 512 kB",
            float(error),
            says="inversely proportional",
        ),
        *(
            ranked(
                f"{system} gets fairer with larger buffers: spread of goodput, (max − min)/mean, "
                f"over {len(pair[0])} seeds",
                ["512 kB", "2000 kB"],
                pair,
                f"{TWO_PACKETS}it is {at_sizes(of(kept, 'ECN', 'spread'))}"
                if system == "ECN"
                else "",
            )
            for system, pair in spreads.items()
        ),
    ]


def _oscillates(system: str, window: pl.DataFrame, bench: Bench) -> Claim:
    """Hold a window that is drawn against an oscillation."""
    return SWINGS.claim(
        f"{system} oscillates: the coefficient of variation of the window drawn, about its trend, "
        "from 5 s on",
        swing(window, 5 * bench.scale),
        why="its window is at its limit, the receiver's, or on the way there",
        says="behaves as expected",
    )


@experiment("gwa/fig08", "WAN: window and queue over time")
def fig08(bench: Bench) -> Finding:
    """Reproduce figure 8 (§6.2): 2 MB of buffer."""
    seen, ripple, timeouts = {}, {}, {}
    for system in SYSTEMS:
        result = bench.run(scenario(bench, WAN, system, 2000, sample="2ms"))
        windows = result.series("flow_series").filter(pl.col("flow") < HOSTS)
        flow = windows.filter(pl.col("flow") == 0).select("time", "window")
        seen[system] = (flow, bottleneck(result).select("time", "queue"))
        late = windows.filter(pl.col("time") > 5 * bench.scale).group_by("flow")
        of_each = late.agg(pl.col("window").std() / pl.col("window").mean())["window"]
        ripple[system] = float(of_each.to_numpy().mean())
        timeouts[system] = result.flows.filter(pl.col("flow") < HOSTS)["timeouts"].sum()
    claims = [
        *(
            measured(
                f"{system}: a high frequency ripple: the window's coefficient of variation from "
                "5 s on, mean of ten FTPs",
                "a ripple",
                f"{ripple[system]:.3f}, Drop-Tail's {ripple['Drop-Tail']:.3f}",
            )
            for system in ("GWA-RR", "GWA-FCFS")
        ),
        *(
            stated(
                f"{system} is smoother than ECN (abstract): the window's coefficient of variation "
                "from 5 s on, mean of ten FTPs",
                f"{system} < ECN",
                f"{ripple[system]:.3f}, {ripple['ECN']:.3f}",
                ripple[system] < ripple["ECN"],
            )
            for system in ADVERTISED
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
        *(_oscillates(system, seen[system][0], bench) for system in TRADITIONAL),
        *_fewer_timeouts(bench),
    ]
    figure = draw_windows(
        {system: flow for system, (flow, _) in seen.items()},
        {system: (link["time"], link["queue"]) for system, (_, link) in seen.items()},
        1,
    )
    data = pl.concat(
        [flow.with_columns(system=pl.lit(system)) for system, (flow, _) in seen.items()]
    )
    return Finding(claims, {"windows": data}, figure)


def _fewer_timeouts(bench: Bench) -> list[Claim]:
    """Claim that there are fewer timeouts than in the LAN, over the same time."""
    from narrows_papers.gwa import lan  # noqa: PLC0415 (for its runs)

    def by_seed(result: Sweep, system: str, size: int) -> list[float]:
        rows = result.flows.filter(
            (pl.col("flow") < HOSTS) & (pl.col("system") == system) & (pl.col("kilobytes") == size)
        )
        by = rows.group_by("seed").agg(pl.col("timeouts").mean()).sort("seed")
        return [float(value) for value in by["timeouts"]]

    return [
        ranked(
            f"{system}: fewer timeouts than in the LAN: timeouts per FTP in 25 s",
            ["LAN, 120 kB", "WAN, 2000 kB"],
            [by_seed(lan.runs(bench), system, 120), by_seed(runs(bench), system, 2000)],
        )
        for system in ("Drop-Tail", "RED")
    ]


@experiment("gwa/fig09", "WAN: drops and Telnet delays against the buffer")
def fig09(bench: Bench) -> Finding:
    """Reproduce figure 9 (§6.2)."""
    result = runs(bench)
    frame, queues = telnet(result, HOSTS), _queues(result)
    kept = telnet(two_packets(bench, WAN, SIZES), HOSTS)
    drops = {system: of(frame, system, "drop_rate") for system in SYSTEMS}
    lossless = [*ADVERTISED, "ECN"]
    why = {
        "BA-FCFS": f"drop rate at 64 kB: {_dropped(bench)}",
        "ECN": f"{TWO_PACKETS}it is {at_sizes(of(kept, 'ECN', 'drop_rate'))}",
    }
    claims = [
        *(
            stated(
                f"{system} drops nothing: drop rate, at each buffer",
                "0",
                at_sizes(drops[system]),
                max(drops[system].values()) == 0,
                why.get(system, ""),
            )
            for system in lossless
        ),
        stated(
            "GWA guarantees that nothing is lost, and ECN does not: largest drop rates of GWA-RR, "
            "GWA-FCFS and ECN over the buffers",
            "0, 0, > 0",
            ", ".join(f"{max(drops[s].values()):.2g}" for s in ("GWA-RR", "GWA-FCFS", "ECN")),
            [max(drops[s].values()) > 0 for s in ("GWA-RR", "GWA-FCFS", "ECN")]
            == [False, False, True],
        ),
        *(
            stated(
                f"{system}: the drop rate never exceeds 1e-3: drop rate, at each buffer",
                "at most 1e-3",
                at_sizes(drops[system]),
                max(drops[system].values()) <= 1e-3,
                "ns-2.35 on the same network has "
                + ns2.drop_rates(system, [ns2.wan(size) for size in (64, 128, 512)]),
            )
            for system in ("Drop-Tail", "RED")
        ),
        *(_good_delays(frame, queues, system) for system in lossless),
    ]
    figure, axes = panels(1, 3, width=3.4)
    draw_telnet(axes, frame)
    level(axes[0][0], 1e-3)
    return Finding(claims, {"telnet": frame, "two_packets": kept}, figure)


def _queues(result: Sweep) -> dict[tuple[str, int], float]:
    """Return the mean queue in packets by system and buffer."""
    link = result.links.filter(pl.col("name") == "bottleneck")
    mean = link.group_by("system", "kilobytes").agg(pl.col("mean_queue").mean())
    return {(system, size): queue for system, size, queue in mean.iter_rows()}


def _good_delays(frame: pl.DataFrame, queues: dict[tuple[str, int], float], system: str) -> Claim:
    """Claim that a system without losses delays Telnet packets less than those that drop."""
    verdicts: list[bool | None] = []
    parts, longer = [], []
    for other in ("Drop-Tail", "RED"):
        for size in SIZES:
            pair = [samples(frame, name, "mean_delay", size) for name in (other, system)]
            holds = ranked("", [other, system], pair).holds
            verdicts.append(holds)
            if holds:
                continue
            means = " and ".join(f"{1e3 * float(np.mean(values)):.1f}" for values in pair[::-1])
            word = "not decided against" if holds is None else "longer than"
            parts.append(f"{word} {other}'s at {size} kB ({means} ms)")
            if holds is False:
                longer.append(
                    f"{queues[system, size]:.0f} packets against {other}'s "
                    f"{queues[other, size]:.0f} at {size} kB"
                )
    return stated(
        f"{system} has no losses and therefore good Telnet delays: its mean delay is shorter than "
        "those of Drop-Tail and RED, at each buffer",
        "shorter",
        ", ".join(parts) or "shorter at each",
        False if longer else None if None in verdicts else True,
        f"its mean queue is {', '.join(longer)}"
        if longer
        else "the intervals of the seeds overlap where no order is shown to hold",
    )


def _dropped(bench: Bench) -> str:
    """Say what BA drops over 64 kB in each of its variants."""
    return "; ".join(f"{name} {lost:.2g}" for name, (_, _, lost) in small_buffer(bench).items())

"""What the paper describes and does not measure: §2, §5 (eq. 10), note 4 and the abstract."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.sweeps import Sweep
from narrows_papers.bench import Bench
from narrows_papers.claims import (
    Claim,
    above,
    interval,
    measured,
    near,
    ours,
    ranked,
    stated,
)
from narrows_papers.gwa.setup import (
    EXACT,
    LAN,
    MANY,
    PACKET,
    PAYLOAD,
    SEEDS,
    TICK,
    WAN,
    Place,
    at_sizes,
    bottleneck,
    of,
    scenario,
    shares,
)
from narrows_papers.readings import FULL, MUCH_LESS, NOT_MUCH_MORE, SAME
from narrows_papers.registry import Finding, experiment

HOSTS = 10
# What the WAN leaves to an FTP's payload, less Telnet's part, over its rate.
WAN_FULL = (PAYLOAD - 10 * 10 * 8000 / 155e6) / HOSTS
OURS = "The paper describes this and does not measure it: set-up and bounds are ours."


def _link(result: Sweep, *keys: str) -> pl.DataFrame:
    """Return drops, utilisation and queue of the bottleneck by `keys` and seed."""
    rows = result.links.filter(pl.col("name") == "bottleneck")
    return rows.select(*keys, "seed", "drops", "utilisation", "mean_queue", "max_queue")


def _mean(frame: pl.DataFrame, column: str, **at: Any) -> float:
    """Return the mean over seeds of a column, of the rows that have the values `at`."""
    values = _by(frame, column, **at)
    return sum(values) / len(values)


def _by(frame: pl.DataFrame, column: str, **at: Any) -> list[float]:
    """Return a column, by seed, of the rows that have the values `at`."""
    rows = frame.filter(*(pl.col(name) == value for name, value in at.items())).sort("seed")
    return [float(value) for value in rows[column]]


@experiment("gwa/syn", "§2: feedback from the SYN on, and the first window it gives")
def syn(bench: Bench) -> Finding:
    """Start 5 to 80 FTPs within 10 ms in the LAN, each with a first window of 10 packets (§2)."""
    counts = [5, 10, 20, 40, 80]
    result = bench.sweep(
        lambda asks, known, hosts: scenario(
            bench,
            LAN,
            "GWA-FCFS",
            120,
            hosts=hosts,
            telnet=False,
            seconds=3,
            warmup=0,
            cc=f"gwa:syn={str(asks == 'SYN').lower()}+reno",
            queue="gwa-fcfs" + (f":flows={hosts}" if known == "told" else ""),
            handshake=True,
            initial_window=10,
            start_spread="10ms",
        ),
        asks=["SYN", "data"],
        known=["told", "measured"],
        hosts=counts,
        seeds=bench.seeds(SEEDS),
    )
    frame = _link(result, "asks", "known", "hosts")
    drops = {
        (asks, known): {
            n: sum(_by(frame, "drops", asks=asks, known=known, hosts=n)) for n in counts
        }
        for asks in ("SYN", "data")
        for known in ("told", "measured")
    }
    rounds = {count: _shown(values) for count, values in drops.items()}
    claims = [
        stated(
            "with feedback from the very beginning, the SYN, nothing is lost in the transient, "
            "number of flows told: drops by number of FTPs, sum over the seeds",
            "0",
            rounds["SYN", "told"],
            sum(drops["SYN", "told"].values()) == 0,
        ),
        stated(
            "without feedback on the SYN the first windows of many flows overflow the buffer, "
            "number of flows told: drops by number of FTPs, sum over the seeds",
            "not given (> 0)",
            rounds["data", "told"],
            sum(drops["data", "told"].values()) > 0,
        ),
        stated(
            "feedback from the SYN on avoids losses, number of flows measured: drops with and "
            "without feedback on the SYN",
            "fewer",
            f"{rounds['SYN', 'measured']}; without it {rounds['data', 'measured']}",
            sum(drops["SYN", "measured"].values()) < sum(drops["data", "measured"].values()),
        ),
    ]
    figure = _draw_syn(counts, drops)
    return Finding(claims, {"drops": frame}, figure, OURS)


def _draw_syn(counts: list[int], drops: dict[tuple[str, str], dict[int, float]]) -> Figure:
    """Draw the figure of gwa/syn."""
    figure, axes = panels(1, 1, width=5)
    for (asks, known), values in drops.items():
        style = ("o" if asks == "SYN" else "s") + ("-" if known == "told" else "--")
        label = f"{asks} asks, number of flows {known}"
        size, fill = (7, "none") if known == "told" else (3, "full")
        drawn = list(values.values())
        axes[0][0].plot(counts, drawn, style, ms=size, fillstyle=fill, lw=0.9, label=label)
    axes[0][0].set(xlabel="FTPs", ylabel="drops in 3 s, all seeds", yscale="symlog")
    axes[0][0].legend(fontsize="x-small")
    return figure


def _shown(values: dict[int, float]) -> str:
    return ", ".join(f"{count}: {value:.0f}" for count, value in values.items())


@experiment("gwa/backward", "§2: backward notification against forward notification")
def backward(bench: Bench) -> Finding:
    """Let routers write into acknowledgements on their way back, in the LAN and the WAN (§2)."""
    seen: dict[tuple[str, str, bool], pl.DataFrame] = {}
    rows = []
    for place, where, size in ((LAN, "LAN", 120), (WAN, "WAN", 2000)):
        for system in ("GWA-RR", "GWA-FCFS"):
            for back in (False, True):
                queue = f"{system.lower()}:backward={str(back).lower()}"
                result = bench.run(scenario(bench, place, system, size, queue=queue, sample="5ms"))
                flow = result.series("flow_series").filter(pl.col("flow") == 0)
                seen[where, system, back] = flow.select("time", "window")
                ripple, settled = _ripple(bench, flow)
                ftp = result.flows.filter(pl.col("flow") < HOSTS)["goodput"]
                link = bottleneck(result)
                rows.append(
                    {
                        "where": where,
                        "system": system,
                        "backward": back,
                        "goodput": float(ftp.to_numpy().mean()),
                        "ripple": ripple,
                        "drops": int(link["drops"].sum()),
                        "settled": settled,
                    }
                )
    frame = pl.DataFrame(rows)
    pairs = [
        (forward, back)
        for forward in frame.filter(~pl.col("backward")).iter_rows(named=True)
        for back in frame.filter(pl.col("backward")).iter_rows(named=True)
        if (forward["where"], forward["system"]) == (back["where"], back["system"])
    ]
    claims = _claims_of_backward(bench, pairs)
    figure = _draw_backward(seen)
    return Finding(claims, {"runs": frame}, figure, OURS)


def _claims_of_backward(
    bench: Bench, pairs: list[tuple[dict[str, Any], dict[str, Any]]]
) -> list[Claim]:
    """Return the claims of gwa/backward, with their verdicts."""
    return [
        stated(
            "no losses with backward notification, either: drops from the start on, LAN and WAN",
            "0",
            f"{sum(back['drops'] for _, back in pairs)}",
            not sum(back["drops"] for _, back in pairs),
        ),
        *(
            measured(
                f"{back['where']}, {back['system']}: which way makes little difference: goodput "
                "with backward over that with forward notification",
                "minor implications on performance",
                f"{back['goodput'] / forward['goodput']:.3f}",
            )
            for forward, back in pairs
        ),
        *(
            stated(
                f"{back['where']}, {back['system']}: which way has minor implications for "
                "transients: time until the window, in means over 0.1 s, stays within a fifth of "
                "its later mean (more than its ripple), with backward and with forward "
                "notification",
                "minor implications (taken as at most 0.1 s apart: τ of eq. 9)",
                f"{back['settled']:.1f} s, {forward['settled']:.1f} s",
                abs(back["settled"] - forward["settled"]) < 0.101,
                _alone(bench, back["where"], back["system"], 1, "{:.1f} s"),
            )
            for forward, back in pairs
        ),
        *(
            stated(
                f"{back['where']}, {back['system']}: which way has minor implications for the "
                "ripple: the window's coefficient of variation, with backward and with forward "
                "notification, the larger over the smaller",
                NOT_MUCH_MORE.paper("not given"),
                f"{back['ripple']:.3f}, {forward['ripple']:.3f}",
                NOT_MUCH_MORE.holds(_apart(back["ripple"], forward["ripple"])),
                _alone(bench, back["where"], back["system"], 0, "{:.3f}"),
            )
            for forward, back in pairs
        ),
    ]


def _draw_backward(seen: dict[tuple[str, str, bool], pl.DataFrame]) -> Figure:
    """Draw the figure of gwa/backward."""
    figure, axes = panels(2, 2, width=4.4, height=1.8)
    for ax, (where, system) in zip(
        axes.flat, [(w, s) for w in ("LAN", "WAN") for s in ("GWA-RR", "GWA-FCFS")], strict=True
    ):
        for back, label in ((False, "forward"), (True, "backward")):
            early = seen[where, system, back].filter(pl.col("time") < 2)
            ax.plot(early["time"], early["window"], lw=0.7, label=label)
        ax.set(title=f"{where}, {system}", xlabel="time (s)", ylabel="window (packets)")
        ax.set_ylim(0, None)
    axes[0][0].legend(fontsize="x-small")
    return figure


def _ripple(bench: Bench, flow: pl.DataFrame) -> tuple[float, float]:
    """Return the window's coefficient of variation from 5 s on, and when it is steady."""
    late = flow.filter(pl.col("time") > 5 * bench.scale)["window"].to_numpy()
    return float(late.std() / late.mean()), _settled(flow, float(late.mean()))


def _alone(bench: Bench, where: str, system: str, which: int, form: str) -> str:
    """Say a figure of `_ripple` without what may cause it: the count of flows, and Telnets."""
    place, size = (LAN, 120) if where == "LAN" else (WAN, 2000)
    parts = []
    for name, settings, telnet in (
        ("with the number of flows told", f":flows={HOSTS}", True),
        ("without Telnets", "", False),
    ):
        found = []
        for back in (True, False):
            queue = f"{system.lower()}{settings}:backward={str(back).lower()}"
            result = bench.run(
                scenario(bench, place, system, size, queue=queue, telnet=telnet, sample="5ms")
            )
            flow = result.series("flow_series").filter(pl.col("flow") == 0)
            found.append(form.format(_ripple(bench, flow.select("time", "window"))[which]))
        parts.append(f"{name} {found[0]}, {found[1]}")
    return "; ".join(parts)


def _settled(flow: pl.DataFrame, mean: float) -> float:
    """Return when the window, in means over 0.1 s, comes within a fifth of its mean to stay."""
    window = flow["window"].to_numpy()
    tenths = window[: len(window) // 20 * 20].reshape(-1, 20).mean(axis=1)
    away = np.flatnonzero(np.abs(tenths / mean - 1) > 0.2)
    return 0.1 * float(away[-1] + 1) if away.size else 0.0


@experiment("gwa/scale", "§2: B_n in 16 bits with the connection's window scale")
def scale(bench: Bench) -> Finding:
    """Ask for windows of 64 kB to 1 GB, with a scale of 0 to 14 bits (§2), in the LAN."""
    windows = [64, 2048, 16_384, 32_768, 65_536, 131_072, 262_144, 1_048_576]
    result = bench.sweep(
        lambda window: scenario(
            bench,
            LAN,
            "GWA-FCFS",
            120,
            telnet=False,
            queue=f"gwa-fcfs:flows={HOSTS}",
            max_window=f"{window * 1000}B",
        ),
        window=windows,
        seeds=bench.seeds(SEEDS),
    )
    frame = _link(result, "window")
    # RFC 7323: the least scale with which a window fits into 16 bits.
    steps = {
        window: 2 ** max(0, math.ceil(math.log2(window * 1000 / 65_535))) for window in windows
    }
    use = {window: _mean(frame, "utilisation", window=window) for window in windows}
    queue = {window: _mean(frame, "mean_queue", window=window) for window in windows}
    coarse = max(windows)
    claims = [
        near(
            "a scale whose step is small beside a packet changes nothing: mean queue with a step "
            "of 32 bytes over that with a step of 1",
            1,
            queue[2048] / queue[64],
            0.02,
            since="32 bytes are 3 % of a packet, and half of that is lost on average",
            by="no rounding",
        ),
        MUCH_LESS.claim(
            "a step of several packets rounds what is advertised down, often to nothing: mean "
            f"queue with a step of {steps[coarse]} bytes over that with a step of 1",
            queue[coarse] / queue[64],
            says="not given",
        ),
        stated(
            "nothing is lost with any scale: rounding is down",
            "0",
            f"{frame['drops'].sum()}",
            not frame["drops"].sum(),
        ),
    ]
    figure = _draw_scale(windows, steps, use, queue)
    note = (
        f"{OURS} RFC 7323's scale, chosen for the largest window asked for, is the step "
        "in which routers "
        "can say how much room there is: with ten flows and 120 kB each has 12 kB at most."
    )
    return Finding(claims, {"runs": frame}, figure, note)


def _draw_scale(
    windows: list[int], steps: dict[int, Any], use: dict[int, float], queue: dict[int, float]
) -> Figure:
    """Draw the figure of gwa/scale."""
    figure, axes = panels(1, 2, width=3.6)
    for ax, values, label in (
        (axes[0][0], use, "utilisation"),
        (axes[0][1], queue, "mean queue (packets)"),
    ):
        ax.semilogx(list(steps.values()), [values[window] for window in windows], "o-", ms=3)
        ax.axvline(PACKET, color="k", lw=0.4)
        ax.set(xlabel="step of the window (bytes; line: a packet)", ylabel=label, ylim=(0, None))
    return figure


@experiment("gwa/eq10", "§5: BA by eq. 10 in the routers, each delay known")
def eq10(bench: Bench) -> Finding:
    """Compare eq. 10, B_n = v·d − q/n_f, with δ·v in the senders, in the WAN of §6.2."""
    sizes = [64, 128, 256, 512]
    ways = {
        "eq. 10 in the routers": "gwa:delay={delay}+reno",
        "eq. 10, no slow start": "gwa:delay={delay}:cwnd=false+reno",
        "δ·v in the senders": "ba:delay={delay}+reno",
        "δ·v, no slow start": "ba:delay={delay}:cwnd=false+reno",
    }
    result = bench.sweep(
        lambda system, kilobytes: scenario(bench, WAN, "BA-FCFS", kilobytes, cc=ways[system]),
        system=list(ways),
        kilobytes=sizes,
        seeds=bench.seeds(SEEDS),
    )
    frame = shares(result, HOSTS, 155e6).with_columns(mean=pl.col("mean") / WAN_FULL)
    link = _link(result, "system", "kilobytes")
    own = "eq. 10 in the routers"
    queue = {size: _mean(link, "mean_queue", system=own, kilobytes=size) for size in sizes}
    claims = [
        stated(
            "eq. 10 does not need a large buffer to fill the link, a bandwidth-delay product being "
            "605 kB: mean goodput over that of a full link, at each buffer",
            FULL.paper("not given"),
            at_sizes(of(frame, own, "mean")),
            FULL.holds(min(of(frame, own, "mean").values())),
            _least(bench),
        ),
        stated(
            "eq. 10 drives the queue to zero at steady state: mean queue over the buffer, at each "
            "buffer",
            SAME.paper("zero"),
            at_sizes({size: queue[size] * PACKET / (1e3 * size) for size in sizes}),
            SAME.holds(max(queue[size] * PACKET / (1e3 * size) for size in sizes)),
            _least(bench),
        ),
        stated(
            "eq. 10 is fair whatever the round trips: spread of goodput, (max − min)/mean, at each "
            "buffer",
            SAME.paper("not given"),
            at_sizes(of(frame, own, "spread")),
            SAME.holds(max(of(frame, own, "spread").values())),
            _least(bench),
        ),
        measured(
            "δ·v in the senders is a lower bound of the same window: goodput over that of eq. 10 "
            "at 512 kB, where the queue is empty with both",
            "1 by §5",
            f"{of(frame, 'δ·v in the senders', 'mean')[512] / of(frame, own, 'mean')[512]:.3f}",
        ),
    ]
    figure = _draw_eq10(sizes, ways, frame, link)
    return Finding(claims, {"goodput": frame, "links": link}, figure, OURS)


def _apart(one: float, other: float) -> float:
    """Return the larger number over the smaller."""
    return max(one, other) / min(one, other) if min(one, other) else math.inf


def _draw_eq10(
    sizes: list[int], ways: dict[str, str], frame: pl.DataFrame, link: pl.DataFrame
) -> Figure:
    """Draw the figure of gwa/eq10."""
    figure, axes = panels(1, 2, width=3.8)
    for way in ways:
        values = of(frame, way, "mean")
        axes[0][0].plot(list(values), list(values.values()), "o-", ms=3, lw=0.9, label=way)
        waits = [_mean(link, "mean_queue", system=way, kilobytes=s) for s in sizes]
        axes[0][1].plot(sizes, waits, "o-", ms=3, lw=0.9, label=way)
    axes[0][0].set(xlabel="buffer (kB)", ylabel="goodput over a full link's", ylim=(0, 1.05))
    axes[0][1].set(xlabel="buffer (kB)", ylabel="mean queue (packets)", ylim=(0, None))
    axes[0][0].legend(fontsize="x-small", loc="lower right")
    return figure


def _least(bench: Bench) -> str:
    """Say what the smallest buffer does to packets that are spaced, and without slow start."""
    ways: dict[str, dict[str, Any]] = {
        "packets spaced by an exact clock": {"pacing": "even", **EXACT},
        "an exact clock alone": EXACT,
    }
    parts = []
    for name, way in ways.items():
        result = bench.sweep(
            lambda system, kilobytes, way=way: scenario(
                bench, WAN, system, kilobytes, cc="gwa:delay={delay}+reno", **way
            ),
            system=["BA-FCFS"],
            kilobytes=[64],
            seeds=bench.seeds(SEEDS),
        )
        frame = shares(result, HOSTS, 155e6)
        queue = _mean(_link(result, "system"), "mean_queue", system="BA-FCFS") * PACKET / 64e3
        parts.append(
            f"with {name} {of(frame, 'BA-FCFS', 'mean')[64] / WAN_FULL:.2f}, {queue:.2f} and "
            f"{of(frame, 'BA-FCFS', 'spread')[64]:.2f}"
        )
    return "goodput over a full link's, queue over the buffer and spread at 64 kB are " + "; ".join(
        parts
    )


@experiment("gwa/mixed", "abstract: GWA hosts beside others")
def mixed(bench: Bench) -> Finding:
    """Put five GWA hosts beside five Reno hosts, in the LAN (abstract, §7)."""
    queues = {"GWA-RR": "gwa-rr", "GWA-FCFS": "gwa-fcfs", "Drop-Tail": "drop-tail"}
    result = bench.sweep(
        lambda system, others, kilobytes: _beside(bench, queues[system], others, kilobytes),
        system=list(queues),
        others=[0, 5, 10],
        kilobytes=[120, 360],
        seeds=bench.seeds(SEEDS),
    )
    flows = result.flows.with_columns(gwa=pl.col("flow") < HOSTS - pl.col("others"))
    by = flows.group_by("system", "others", "kilobytes", "seed", "gwa").agg(
        pl.col("goodput").mean() / 1e7, pl.col("goodput").min().alias("least")
    )
    link = _link(result, "system", "others", "kilobytes")

    def share(system: str, gwa: bool, kilobytes: int = 120) -> list[float]:
        at = {"system": system, "others": 5, "kilobytes": kilobytes, "gwa": gwa}
        return _by(by, "goodput", **at)

    same = [
        by.filter((pl.col("system") == "Drop-Tail") & (pl.col("others") == others))
        .group_by("kilobytes", "seed")
        .agg(pl.col("goodput").mean())
        .sort("kilobytes", "seed")["goodput"]
        .to_list()
        for others in (0, 10)
    ]
    claims = _claims_of_mixed(by, link, share, same)
    figure = _draw_mixed(queues, share)
    return Finding(claims, {"goodput": by, "links": link}, figure, OURS)


def _claims_of_mixed(
    by: pl.DataFrame, link: pl.DataFrame, share: Callable[..., list[float]], same: list[list[Any]]
) -> list[Claim]:
    """Return the claims of gwa/mixed, with their verdicts."""
    return [
        stated(
            "GWA hosts are Reno hosts where no router speaks GWA: their goodput over Drop-Tail is "
            "Reno's to the last bit, for each buffer and seed",
            "equal",
            "equal" if same[0] == same[1] else "different",
            same[0] == same[1],
        ),
        above(
            "GWA and other hosts can always communicate, also beside each other: the lowest "
            "goodput of a connection over its fair share, any queue, buffer and seed",
            0,
            float(by.filter(pl.col("others") == 5)["least"].to_numpy().min()) / 1e7,
        ),
        *(
            ours(
                ranked(
                    "beside Reno over GWA-FCFS GWA hosts lose, as Reno fills what they leave free: "
                    f"goodput over the fair share, {size} kB",
                    ["Reno", "GWA"],
                    [share("GWA-FCFS", gwa, size) for gwa in (False, True)],
                )
            )
            for size in (120, 360)
        ),
        *(
            ours(
                ranked(
                    "GWA-RR protects GWA hosts better than GWA-FCFS: a GWA host's goodput over its "
                    f"fair share beside Reno, {size} kB",
                    ["GWA-RR", "GWA-FCFS"],
                    [share(system, True, size) for system in ("GWA-RR", "GWA-FCFS")],
                )
            )
            for size in (120, 360)
        ),
        stated(
            "with hosts that do not listen nothing is guaranteed: drops at 120 kB in 20 s, "
            "GWA-FCFS, with 0, 5 and 10 Reno hosts of ten",
            "0, > 0, > 0",
            ", ".join(
                interval(_by(link, "drops", system="GWA-FCFS", others=n, kilobytes=120))
                for n in (0, 5, 10)
            ),
            [
                sum(_by(link, "drops", system="GWA-FCFS", others=n, kilobytes=120)) > 0
                for n in (0, 5, 10)
            ]
            == [False, True, True],
        ),
    ]


def _draw_mixed(queues: dict[str, str], share: Callable[..., list[float]]) -> Figure:
    """Draw the figure of gwa/mixed."""
    figure, axes = panels(1, 2, width=3.8)
    for ax, kilobytes in zip(axes[0], (120, 360), strict=True):
        for place, (gwa, label) in enumerate(((True, "GWA"), (False, "Reno"))):
            values = [share(system, gwa, kilobytes) for system in queues]
            ax.bar(
                [x + 0.4 * place for x in range(len(queues))],
                [sum(value) / len(value) for value in values],
                0.38,
                label=label,
            )
        ax.axhline(1, color="k", lw=0.4)
        ax.set_xticks([x + 0.2 for x in range(len(queues))], list(queues))
        ax.set(title=f"{kilobytes} kB", ylabel="goodput over the fair share")
    axes[0][0].legend(fontsize="x-small")
    return figure


def _beside(bench: Bench, queue: str, others: int, kilobytes: int) -> Scenario:
    """Describe the LAN with ten FTPs, the last `others` of which are Reno's."""
    kinds = ["gwa+reno"] * (HOSTS - others) + ["reno+reno"] * others
    return scenario(
        bench, LAN, "GWA-FCFS", kilobytes, telnet=False, queue=queue, cc=lambda host: kinds[host]
    )


@experiment("gwa/lossy", "note 4: slow start and congestion avoidance turned off over lossy links")
def lossy(bench: Bench) -> Finding:
    """Lose packets on the wire of the WAN's bottleneck, with and without W_c (note 4)."""
    losses = [0, 1e-4, 1e-3, 1e-2, 3e-2]
    ways = {"with W_c": "gwa", "without W_c": "gwa:cwnd=false", "Reno": "sack"}
    result = bench.sweep(
        lambda way, loss: scenario(
            bench,
            WAN,
            "GWA-RR",
            1000,
            telnet=False,
            cc=ways[way],
            queue="drop-tail" if way == "Reno" else f"gwa-rr:flows={HOSTS}",
            loss=f"{loss:g}",
        ),
        way=list(ways),
        loss=losses,
        seeds=bench.seeds(SEEDS),
    )
    ftp = result.flows.group_by("way", "loss", "seed").agg(
        pl.col("goodput").sum() / (155e6 * PAYLOAD), pl.col("timeouts").sum()
    )
    link = _link(result, "way", "loss")
    mean = {
        way: {loss: _mean(ftp, "goodput", way=way, loss=loss) for loss in losses} for way in ways
    }
    claims = _claims_of_lossy(losses, ftp, link, mean)
    figure = _draw_lossy(losses, ways, mean)
    note = (
        f"{OURS} Ten FTPs in the WAN of §6.2 with 1000 kB, selective acknowledgements in "
        "place of Reno's "
        "recovery, number of flows told."
    )
    return Finding(claims, {"goodput": ftp, "links": link}, figure, note)


def _claims_of_lossy(
    losses: list[float], ftp: pl.DataFrame, link: pl.DataFrame, mean: dict[str, dict[float, float]]
) -> list[Claim]:
    """Return the claims of gwa/lossy, with their verdicts."""
    return [
        *(
            ranked(
                f"GWA over a link that loses {loss:g} of the packets needs slow start and "
                "congestion avoidance to be off: goodput over that of a full link",
                ["without W_c", "with W_c"],
                [_by(ftp, "goodput", way=way, loss=loss) for way in ("without W_c", "with W_c")],
                "the link is full either way",
            )
            for loss in losses[1:]
        ),
        *(
            measured(
                f"without W_c goodput at a loss of {loss:g} is what the losses leave: goodput over "
                "that of a full link",
                f"not given ({1 - loss:.4g} by 1 − p)",
                f"{mean['without W_c'][loss]:.4g}",
                why=_timeouts(ftp, loss),
            )
            for loss in losses[1:]
        ),
        stated(
            "without W_c the routers' buffers still lose nothing: drops, at any loss of the wire",
            "0",
            f"{link.filter(pl.col('way') == 'without W_c')['drops'].sum()}",
            not link.filter(pl.col("way") == "without W_c")["drops"].sum(),
        ),
    ]


def _draw_lossy(
    losses: list[float], ways: dict[str, str], mean: dict[str, dict[float, float]]
) -> Figure:
    """Draw the figure of gwa/lossy."""
    figure, axes = panels(1, 1, width=5)
    for way in ways:
        values = [mean[way][loss] for loss in losses]
        style = {"ls": "--", "ms": 7, "fillstyle": "none"} if way == "Reno" else {"ms": 3}
        axes[0][0].plot(range(len(losses)), values, marker="o", **style, lw=0.9, label=way)
    axes[0][0].set(xlabel="loss on the wire", ylabel="goodput over a full link's")
    axes[0][0].set_xticks(range(len(losses)), labels=[f"{loss:g}" for loss in losses])
    axes[0][0].set_ylim(0, 1.05)
    axes[0][0].legend(fontsize="x-small")
    return figure


def _timeouts(ftp: pl.DataFrame, loss: float) -> str:
    """Say how many timeouts the ten FTPs have without W_c."""
    return (
        f"the ten FTPs have {_mean(ftp, 'timeouts', way='without W_c', loss=loss):.0f} timeouts in "
        "25 s, during which nothing leaves"
    )


@experiment("gwa/count", "§5: the number of flows that eq. 9 counts")
def count(bench: Bench) -> Finding:
    """Infer n_f from what GWA-FCFS advertises, (B − q)/n_f, in the three networks of §6."""
    networks = {
        "LAN": (LAN, [30, 120, 360], {}),
        "WAN": (WAN, [512, 1000, 2000], {}),
        "100 flows": (
            MANY,
            [200, 400, 800],
            {"hosts": 100, "telnet": False, "seconds": 100, "warmup": 10},
        ),
    }
    rows = [
        (name, size, *_counted(bench, place, size, fields))
        for name, (place, sizes, fields) in networks.items()
        for size in sizes
    ]
    frame = pl.DataFrame(
        rows, schema=["network", "kilobytes", "counted", "active", "drops"], orient="row"
    )
    claims = []
    for name in networks:
        kept = frame.filter(pl.col("network") == name)
        claims.append(
            stated(
                "α = 0.9 and τ = 0.1 s generally lead to an overestimate of the number of active "
                f"flows ({name}): n_f, and the mean number of flows with data under way, at each "
                "buffer",
                "n_f is larger",
                ", ".join(
                    f"{row['counted']:.1f} for {row['active']:.1f} at {row['kilobytes']} kB"
                    for row in kept.iter_rows(named=True)
                ),
                bool((kept["counted"] > kept["active"]).all()),
                f"with τ = 1 s {_longer(bench)} at 800 kB: a round trip with its queueing is "
                "longer than 0.1 s, and a flow that sends its window in one clump is seen once "
                "in it",
            )
        )
    claims.append(
        stated(
            "GWA-FCFS loses nothing, whatever n_f is: drops in the three networks",
            "0",
            f"{frame['drops'].sum()}",
            frame["drops"].sum() == 0,
        )
    )
    figure, axes = panels(1, 1, width=5)
    labels = [f"{row['network']},\n{row['kilobytes']} kB" for row in frame.iter_rows(named=True)]
    axes[0][0].semilogy(frame["counted"], "o", ms=4, label="n_f by eq. 9")
    axes[0][0].semilogy(frame["active"], "k_", ms=14, label="flows with data under way")
    axes[0][0].set_xticks(range(len(labels)), labels=labels, fontsize="xx-small")
    axes[0][0].set(ylabel="flows", ylim=(5, 200))
    axes[0][0].legend(fontsize="x-small", loc="upper left")
    note = (
        "n_f is what is left of the buffer over the window that a sender is told, both in means "
        "over time. A Telnet session has data under way for its mean delay ten times a second."
    )
    return Finding(claims, {"counts": frame}, figure, note)


def _counted(
    bench: Bench, place: Place, size: int, fields: dict[str, Any], queue: str = "gwa-fcfs"
) -> tuple[float, float, int]:
    """Return n_f, the mean number of flows with data under way, and drops."""
    hosts = fields.get("hosts", HOSTS)
    result = bench.run(
        scenario(bench, place, "GWA-FCFS", size, queue=queue, sample="5ms", **fields)
    )
    late = pl.col("time") > 5 * bench.scale
    told = result.series("law_series").filter(
        (pl.col("name") == "advertised") & (pl.col("flow") < hosts) & late
    )["value"]
    link = bottleneck(result)
    room = 1e3 * size / PACKET - float(link.filter(late)["queue"].to_numpy().mean())
    delays = result.flows.filter(pl.col("flow") >= hosts)["mean_packet_delay"].drop_nulls()
    return (
        room / float(told.to_numpy().mean()),
        hosts + 10 * float(delays.sum()),
        int(link["drops"].sum()),
    )


def _longer(bench: Bench) -> str:
    fields = {"hosts": 100, "telnet": False, "seconds": 100, "warmup": 10}
    return f"{_counted(bench, MANY, 800, fields, 'gwa-fcfs:tau=1s')[0]:.0f}"


# Rates of two links one after the other; one is twice as fast as the other and never full.
CHAIN = {"slow": 50e6, "fast": 100e6}


@experiment("gwa/routers", "§2: B_n is the smallest room of the routers on the path")
def routers(bench: Bench) -> Finding:
    """Put two GWA-FCFS routers into the LAN's path, in either order (§2)."""
    cases = [
        (slow, fast, first) for slow, fast in ((120, 40), (40, 120), (60, 60)) for first in CHAIN
    ]
    rows = [
        (slow, fast, first, *_chain(bench, {"slow": slow, "fast": fast}, first), _room(slow, fast))
        for slow, fast, first in cases
    ]
    frame = pl.DataFrame(
        rows, schema=["slow", "fast", "first", "window", "drops", "expected"], orient="row"
    )
    deaf = _chain(bench, {"slow": 40, "fast": 120}, "fast", "drop-tail")
    claims = [
        stated(
            "the smallest room on the path is advertised, whichever router has it: bytes that a "
            "sender is told, by buffers of the slow and the fast router, either one first",
            ", ".join(f"{row['expected']:.0f}" for row in frame[::2].iter_rows(named=True))
            + " (not given: eqs. 1, 2 in equilibrium; within a packet of 1040 bytes, of which "
            "there are whole ones)",
            ", ".join(
                f"{row['slow']} and {row['fast']} kB, {row['first']} first: {row['window']:.0f}"
                for row in frame.iter_rows(named=True)
            ),
            bool((frame["window"] - frame["expected"]).abs().to_numpy().max() < PACKET),
        ),
        stated(
            "nothing is lost at either router: drops",
            "0",
            f"{frame['drops'].sum()}",
            frame["drops"].sum() == 0,
        ),
        stated(
            "what protects the second router is the room that it writes itself: drops in 10 s if "
            "it is slow, has 40 kB and does not write (Drop-Tail)",
            "not given (> 0)",
            f"{deaf[1]}, with {deaf[0]:.0f} bytes told",
            deaf[1] > 0,
        ),
    ]
    figure, axes = panels(1, 1, width=5)
    labels = [
        f"{row['slow']}, {row['fast']} kB,\n{row['first']} first"
        for row in frame.iter_rows(named=True)
    ]
    axes[0][0].plot(frame["window"], "o", ms=4, label="told")
    axes[0][0].plot(frame["expected"], "k_", ms=16, label="smaller of the two rooms")
    axes[0][0].set_xticks(range(len(labels)), labels=labels, fontsize="x-small")
    axes[0][0].set(ylabel="window (bytes)", ylim=(0, None))
    axes[0][0].legend(fontsize="x-small")
    return Finding(claims, {"chains": frame}, figure, f"{OURS} Number of flows told.")


def _room(slow: int, fast: int) -> float:
    """Return the smaller of the rooms of two routers for each of ten flows, in bytes.

    The slow one's queue is what is outstanding less what is on the way: W = (B − (nW − way))/n.
    The fast one's is empty.
    """
    send = 8 / CHAIN["slow"] + 3 * 8 / CHAIN["fast"]
    way = CHAIN["slow"] / 8 * ((PACKET + 40) * send + 4 * 70e-6)
    return min((1e3 * slow + way) / (2 * HOSTS), 1e3 * fast / HOSTS)


def _chain(
    bench: Bench, buffers: dict[str, int], first: str, second: str = f"gwa-fcfs:flows={HOSTS}"
) -> tuple[float, int]:
    """Run ten FTPs over two routers; return the bytes told to a sender, and drops."""
    order = [first, *(name for name in CHAIN if name != first)]
    links: list[dict[str, Any]] = [
        {
            "from": f"R{number}",
            "to": f"R{number + 1}",
            "name": name,
            "rate": f"{CHAIN[name]:g}bps",
            "delay": "40us",
            "buffer": f"{buffers[name]}kB",
            "queue": queue,
        }
        for number, (name, queue) in enumerate(
            zip(order, (f"gwa-fcfs:flows={HOSTS}", second), strict=True)
        )
    ]
    for host in range(HOSTS):
        near_it = {"rate": "100Mbps", "delay": "30us", "buffer": "50p"}
        links.append({"from": f"source{host}", "to": "R0", **near_it})
        links.append({"from": "R2", "to": f"receiver{host}", **near_it})
    flow = {"cc": "gwa+reno", "max_window": "64p", "tick": TICK, "tick_integers": True}
    flows = [{**flow, "from": f"source{host}", "to": f"receiver{host}"} for host in range(HOSTS)]
    result = bench.run(
        Scenario(
            tcp="ns2",
            packet=f"{PACKET}B",
            duration=bench.seconds(10),
            warmup="0s",
            sample="5ms",
            links=links,
            flows=flows,
        )
    )
    told = result.series("law_series").filter(
        (pl.col("name") == "advertised") & (pl.col("time") > 5 * bench.scale)
    )["value"]
    drops = result.links.filter(pl.col("name").is_in(order))["drops"].sum()
    return float(told.to_numpy().mean()) * PACKET, int(drops)

"""What the paper describes and does not measure: §2, §5 (eq. 10), note 4 and the abstract."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from narrows.papers.claims import above, below, interval, near, ranked, stated
from narrows.papers.gwa.setup import (
    LAN,
    PACKET,
    PAYLOAD,
    SEEDS,
    WAN,
    bottleneck,
    of,
    scenario,
    shares,
)
from narrows.papers.lab import Lab
from narrows.papers.registry import Finding, experiment
from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.sweeps import Sweep

HOSTS = 10
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
def syn(lab: Lab) -> Finding:
    """Start 5 to 80 FTPs within 10 ms in the LAN, each with a first window of 10 packets (§2)."""
    counts = [5, 10, 20, 40, 80]
    result = lab.sweep(
        lambda asks, known, hosts: scenario(
            lab,
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
        seeds=lab.seeds(SEEDS),
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
            "feedback is there from the very beginning, the SYN: with it nothing is lost in the "
            "transient, number of flows told: drops by number of FTPs, sum over the seeds",
            "0",
            rounds["SYN", "told"],
            sum(drops["SYN", "told"].values()) == 0,
        ),
        stated(
            "without it the first windows of many flows overflow the buffer",
            "> 0",
            rounds["data", "told"],
            sum(drops["data", "told"].values()) > 0,
        ),
        stated(
            "feedback from the SYN on avoids losses, number of flows measured: drops with it "
            "against those without it",
            "fewer",
            f"{rounds['SYN', 'measured']}; without it {rounds['data', 'measured']}",
            sum(drops["SYN", "measured"].values()) < sum(drops["data", "measured"].values()),
        ),
    ]
    figure, axes = panels(1, 1, width=5)
    for (asks, known), values in drops.items():
        style = ("o" if asks == "SYN" else "s") + ("-" if known == "told" else "--")
        label = f"{asks} asks, number of flows {known}"
        axes[0][0].plot(counts, list(values.values()), style, ms=4, lw=0.9, label=label)
    axes[0][0].set(xlabel="FTPs", ylabel="drops in 3 s, all seeds", yscale="symlog")
    axes[0][0].legend(fontsize="x-small")
    return Finding(claims, {"drops": frame}, figure, OURS)


def _shown(values: dict[int, float]) -> str:
    return ", ".join(f"{count}: {value:.0f}" for count, value in values.items())


@experiment("gwa/backward", "§2: backward notification against forward notification")
def backward(lab: Lab) -> Finding:
    """Let routers write into acknowledgements on their way back, in the LAN and the WAN (§2)."""
    seen: dict[tuple[str, str, bool], pl.DataFrame] = {}
    rows = []
    for place, where, size in ((LAN, "LAN", 120), (WAN, "WAN", 2000)):
        for system in ("GWA-RR", "GWA-FCFS"):
            for back in (False, True):
                queue = f"{system.lower()}:backward={str(back).lower()}"
                result = lab.run(scenario(lab, place, system, size, queue=queue, sample="5ms"))
                flow = result.series("flow_series").filter(pl.col("flow") == 0)
                seen[where, system, back] = flow.select("time", "window")
                late = flow.filter(pl.col("time") > 5 * lab.scale)["window"].to_numpy()
                ftp = result.flows.filter(pl.col("flow") < HOSTS)["goodput"]
                link = bottleneck(result)
                rows.append(
                    {
                        "where": where,
                        "system": system,
                        "backward": back,
                        "goodput": float(ftp.to_numpy().mean()),
                        "ripple": float(late.std() / late.mean()),
                        "drops": int(link["drops"].sum()),
                        "settled": _settled(flow, late.mean()),
                    }
                )
    frame = pl.DataFrame(rows)
    pairs = [
        (forward, back)
        for forward in frame.filter(~pl.col("backward")).iter_rows(named=True)
        for back in frame.filter(pl.col("backward")).iter_rows(named=True)
        if (forward["where"], forward["system"]) == (back["where"], back["system"])
    ]
    claims = [
        stated(
            "no losses with backward notification, either: drops from the start on, LAN and WAN",
            "0",
            f"{sum(back['drops'] for _, back in pairs)}",
            not sum(back["drops"] for _, back in pairs),
        ),
        *(
            near(
                f"{back['where']}, {back['system']}: which way makes little difference: goodput "
                "with backward over that with forward notification",
                1,
                back["goodput"] / forward["goodput"],
                0.02,
                since='the paper says "minor implications"',
            )
            for forward, back in pairs
        ),
        *(
            stated(
                f"{back['where']}, {back['system']}: minor implications for transients: time until "
                "the window is within a fifth of its later mean, with backward and with forward "
                "notification (minor: less than τ of eq. 9, 0.1 s, apart)",
                "< 0.1 s apart",
                f"{back['settled']:.3f} s, {forward['settled']:.3f} s",
                abs(back["settled"] - forward["settled"]) < 0.1,
            )
            for forward, back in pairs
        ),
    ]
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
    ripples = ", ".join(
        f"{back['where']} {back['system']} {forward['ripple']:.3f} and {back['ripple']:.3f}"
        for forward, back in pairs
    )
    note = f"{OURS} The window's coefficient of variation, forward and backward: {ripples}."
    return Finding(claims, {"runs": frame}, figure, note)


def _settled(flow: pl.DataFrame, mean: float) -> float:
    """Return when the window first is within a fifth of its later mean, in seconds."""
    near_it = flow.filter((pl.col("window") / mean - 1).abs() < 0.2)
    return float(near_it["time"].to_numpy()[0]) if near_it.height else math.inf


@experiment("gwa/scale", "§2: B_n in 16 bits with the connection's window scale")
def scale(lab: Lab) -> Finding:
    """Ask for windows of 64 kB to 1 GB, with a scale of 0 to 14 bits (§2), in the LAN."""
    windows = [64, 2048, 16_384, 32_768, 65_536, 131_072, 262_144, 1_048_576]
    result = lab.sweep(
        lambda window: scenario(
            lab,
            LAN,
            "GWA-FCFS",
            120,
            telnet=False,
            queue=f"gwa-fcfs:flows={HOSTS}",
            max_window=f"{window * 1000}B",
        ),
        window=windows,
        seeds=lab.seeds(SEEDS),
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
        ),
        below(
            "a step of several packets rounds what is advertised down, often to nothing: mean "
            f"queue with a step of {steps[coarse]} bytes over that with a step of 1",
            0.8,
            queue[coarse] / queue[64],
        ),
        stated(
            "nothing is lost with any scale: rounding is down",
            "0",
            f"{frame['drops'].sum()}",
            not frame["drops"].sum(),
        ),
    ]
    figure, axes = panels(1, 2, width=3.6)
    for ax, values, label in (
        (axes[0][0], use, "utilisation"),
        (axes[0][1], queue, "mean queue (packets)"),
    ):
        ax.semilogx(list(steps.values()), [values[window] for window in windows], "o-", ms=3)
        ax.axvline(PACKET, color="k", lw=0.4)
        ax.set(xlabel="step of the window (bytes; line: a packet)", ylabel=label, ylim=(0, None))
    note = (
        f"{OURS} RFC 7323's scale, chosen for the largest window asked for, is the step "
        "in which routers "
        "can say how much room there is: with ten flows and 120 kB each has 12 kB at most."
    )
    return Finding(claims, {"runs": frame}, figure, note)


@experiment("gwa/eq10", "§5: BA by eq. 10 in the routers, each delay known")
def eq10(lab: Lab) -> Finding:
    """Compare eq. 10, B_n = v·d − q/n_f, with δ·v in the senders, in the WAN of §6.2."""
    sizes = [64, 128, 256, 512]
    ways = {
        "eq. 10 in the routers": "gwa:delay={delay}+reno",
        "eq. 10, no slow start": "gwa:delay={delay}:cwnd=false+reno",
        "δ·v in the senders": "ba:delay={delay}+reno",
        "δ·v, no slow start": "ba:delay={delay}:cwnd=false+reno",
    }
    result = lab.sweep(
        lambda system, kilobytes: scenario(lab, WAN, "BA-FCFS", kilobytes, cc=ways[system]),
        system=list(ways),
        kilobytes=sizes,
        seeds=lab.seeds(SEEDS),
    )
    frame = shares(result, HOSTS, 155e6).with_columns(
        mean=pl.col("mean") * HOSTS / (PAYLOAD - 10 * 10 * 8000 / 155e6)
    )
    link = _link(result, "system", "kilobytes")
    own = "eq. 10 in the routers"
    queue = {size: _mean(link, "mean_queue", system=own, kilobytes=size) for size in sizes}
    claims = [
        above(
            "eq. 10 fills the link with a buffer of 256 kB, less than half of a bandwidth-delay "
            "product: mean goodput over that of a full link",
            0.95,
            of(frame, own, "mean")[256],
        ),
        below(
            "eq. 10 drives the queue to zero at steady state: mean queue over the buffer at 256 kB "
            "(the bound is ours)",
            0.1,
            queue[256] * PACKET / 256e3,
        ),
        below(
            "eq. 10 is fair whatever the round trips: spread of goodput, (max − min)/mean, largest "
            "of 256 and 512 kB",
            0.05,
            max(of(frame, own, "spread")[size] for size in (256, 512)),
        ),
        near(
            "δ·v in the senders is a lower bound of the same window: goodput over that of eq. 10 "
            "at 512 kB",
            1,
            of(frame, "δ·v in the senders", "mean")[512] / of(frame, own, "mean")[512],
            0.02,
            since="the queue is empty with both",
        ),
    ]
    figure, axes = panels(1, 2, width=3.8)
    for way in ways:
        values = of(frame, way, "mean")
        axes[0][0].plot(list(values), list(values.values()), "o-", ms=3, lw=0.9, label=way)
        waits = [_mean(link, "mean_queue", system=way, kilobytes=s) for s in sizes]
        axes[0][1].plot(sizes, waits, "o-", ms=3, lw=0.9, label=way)
    axes[0][0].set(xlabel="buffer (kB)", ylabel="goodput over a full link's", ylim=(0, 1.05))
    axes[0][1].set(xlabel="buffer (kB)", ylabel="mean queue (packets)", ylim=(0, None))
    axes[0][0].legend(fontsize="x-small", loc="lower right")
    return Finding(claims, {"goodput": frame, "links": link}, figure, OURS)


@experiment("gwa/mixed", "abstract: GWA hosts beside others")
def mixed(lab: Lab) -> Finding:
    """Put five GWA hosts beside five Reno hosts, in the LAN (abstract, §7)."""
    queues = {"GWA-RR": "gwa-rr", "GWA-FCFS": "gwa-fcfs", "Drop-Tail": "drop-tail"}
    result = lab.sweep(
        lambda system, others, kilobytes: _beside(lab, queues[system], others, kilobytes),
        system=list(queues),
        others=[0, 5, 10],
        kilobytes=[120, 360],
        seeds=lab.seeds(SEEDS),
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
    claims = [
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
        ranked(
            "beside Reno over GWA-FCFS, GWA hosts lose: Reno fills what they leave free (ours: the "
            "paper says nothing): goodput over the fair share, 120 kB",
            ["Reno", "GWA"],
            [share("GWA-FCFS", False), share("GWA-FCFS", True)],
        ),
        ranked(
            "turns protect them (ours): a GWA host's goodput over its fair share beside "
            "Reno, GWA-RR "
            "against GWA-FCFS, 120 kB",
            ["GWA-RR", "GWA-FCFS"],
            [share("GWA-RR", True), share("GWA-FCFS", True)],
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
    return Finding(claims, {"goodput": by, "links": link}, figure, OURS)


def _beside(lab: Lab, queue: str, others: int, kilobytes: int) -> Scenario:
    """Describe the LAN with ten FTPs, the last `others` of which are Reno's."""
    kinds = ["gwa+reno"] * (HOSTS - others) + ["reno"] * others
    return scenario(
        lab, LAN, "GWA-FCFS", kilobytes, telnet=False, queue=queue, cc=lambda host: kinds[host]
    )


@experiment("gwa/lossy", "note 4: slow start and congestion avoidance turned off over lossy links")
def lossy(lab: Lab) -> Finding:
    """Lose packets on the wire of the WAN's bottleneck, with and without W_c (note 4)."""
    losses = [0, 1e-4, 1e-3, 1e-2, 3e-2]
    ways = {"with W_c": "gwa", "without W_c": "gwa:cwnd=false", "Reno": "sack"}
    result = lab.sweep(
        lambda way, loss: scenario(
            lab,
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
        seeds=lab.seeds(SEEDS),
    )
    ftp = result.flows.group_by("way", "loss", "seed").agg(
        pl.col("goodput").sum() / (155e6 * PAYLOAD), pl.col("timeouts").sum()
    )
    link = _link(result, "way", "loss")
    mean = {
        way: {loss: _mean(ftp, "goodput", way=way, loss=loss) for loss in losses} for way in ways
    }
    wanted = {loss: 1 - loss for loss in losses}
    claims = [
        *(
            ranked(
                f"GWA over a link that loses {loss:g} of the packets needs slow start and "
                "congestion avoidance to be off: goodput over that of a full link",
                ["without W_c", "with W_c"],
                [_by(ftp, "goodput", way=way, loss=loss) for way in ("without W_c", "with W_c")],
            )
            for loss in (1e-3, 1e-2)
        ),
        *(
            near(
                f"without W_c, goodput at {loss:g} is what the losses leave: goodput over that of "
                "a full link",
                wanted[loss],
                mean["without W_c"][loss],
                0.03,
                since="a round trip is lost now and then",
                by="1 − p",
            )
            for loss in (1e-3, 1e-2)
        ),
        stated(
            "and the routers' buffers still lose nothing: drops, any loss of the wire",
            "0",
            f"{link.filter(pl.col('way') == 'without W_c')['drops'].sum()}",
            not link.filter(pl.col("way") == "without W_c")["drops"].sum(),
        ),
    ]
    figure, axes = panels(1, 1, width=5)
    for way in ways:
        axes[0][0].plot(
            [max(loss, 3e-5) for loss in losses],
            [mean[way][loss] for loss in losses],
            "o-",
            ms=3,
            label=way,
        )
    axes[0][0].set(
        xscale="log", xlabel="loss on the wire (first: none)", ylabel="goodput over a full link's"
    )
    axes[0][0].set_ylim(0, 1.05)
    axes[0][0].legend(fontsize="x-small")
    note = (
        f"{OURS} Ten FTPs in the WAN of §6.2 with 1000 kB, selective acknowledgements in "
        "place of Reno's "
        "recovery, number of flows told."
    )
    return Finding(claims, {"goodput": ftp, "links": link}, figure, note)

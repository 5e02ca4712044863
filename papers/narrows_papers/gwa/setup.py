"""What the paper's experiments have in common (§6).

That is the six systems, the network of figure 3, FTP and Telnet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.sweeps import Sweep
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, stated
from narrows_papers.readings import SAME

# ns-2 as it was in the paper's year: docs/defaults.md, "Older habits".
Habits = Literal["ns2", "ns2-2000"]
TCP: Habits = "ns2-2000"
# What the runs of ns-2 beside ours have: ns-2.35's habits.
LATER: Habits = "ns2"
# §6: "the timer granularity (i.e., the TCP 'tick') is 0.1 s".
TICK = "100ms"
# A variant: a clock that is exact beside round trips of 0.5 to 40 ms. A pacer needs these, and a
# clock of 0.1 s has them at 0.1 s.
EXACT: dict[str, Any] = {"tick": "1us", "tick_integers": None}
# An MSS of 1000 bytes and 40 of headers.
PACKET = 1040
PAYLOAD = 1000 / 1040
ACK = 40
SEEDS = 5
# The spread of goodput up to which we call a system perfectly fair, in all networks; above it a
# system is unfair to some degree. The paper gives no number.
# 25 s minus 5 s: the delay, in seconds, of a Telnet session that gets nothing through.
MEASURED = 20.0
# §6: lower threshold at a twelfth of the buffer, upper at a quarter, probability 0.1 at the upper
# threshold, everything above it. These are narrows' defaults; the spacing is ns-2's.
RED = "red:wait=true"


@dataclass(frozen=True)
class System:
    """A sender and the queue at the bottleneck."""

    cc: str
    queue: str
    ecn: bool = False


# BA's sender is told its round trip without queues (delta of §5): with a clock of 0.1 s it could
# not measure one of 0.5 to 40 ms. ECN is RFC 2481's, which the paper cites, and ns-2's: a sender
# whose window is one packet stops at a mark until its timer goes off, and retransmissions are
# ECN-capable.
SYSTEMS = {
    "Drop-Tail": System("reno+reno", "drop-tail"),
    "RED": System("reno+reno", f"{RED}:ecn=false"),
    "ECN": System("reno:mark_stops=true+reno", f"{RED}:mark_above=true", ecn=True),
    "GWA-RR": System("gwa+reno", "gwa-rr"),
    "GWA-FCFS": System("gwa+reno", "gwa-fcfs"),
    "BA-FCFS": System("ba:delay={delay}+reno", "ba"),
}
ADVERTISED = ["GWA-RR", "GWA-FCFS", "BA-FCFS"]
TRADITIONAL = ["Drop-Tail", "RED", "ECN"]


class Place(NamedTuple):
    """Figure 3 in a LAN or a WAN: rates, one-way delays in microseconds, the receivers' windows."""

    bottleneck: str
    access: str
    # tau_i from the nearest to the furthest host, spread evenly; tau_B; tau_r.
    sources: tuple[float, float]
    middle: float
    receivers: float
    window: str


LAN = Place("100Mbps", "100Mbps", (30, 30), 40, 30, "64p")
WAN = Place("155Mbps", "100Mbps", (1000, 10_000), 5000, 5000, "512p")
# §6.3: the same delays, 10 Mbps everywhere.
MANY = Place("10Mbps", "10Mbps", (1000, 10_000), 5000, 5000, "512p")
# ns-2's own queue limit, for the hosts' links: the paper says nothing about them.
ACCESS_BUFFER = "50p"
HOSTS_LINKS = (
    "Hosts' links have queues of 50 packets, ns-2's own limit, which the paper does not give, and "
    "drop there, too; drops are counted at the bottleneck only. "
)


def scenario(
    bench: Bench,
    place: Place,
    system: str,
    kilobytes: int,
    *,
    hosts: int = 10,
    seconds: float = 25,
    warmup: float = 5,
    telnet: bool = True,
    only: int | None = None,
    sample: str = "0s",
    cc: str | Callable[[int], str] | None = None,
    queue: str | None = None,
    loss: str = "0",
    tcp: Habits = TCP,
    **fields: Any,
) -> Scenario:
    """Describe hosts that share one link, each with an FTP and perhaps a Telnet session.

    Parameters
    ----------
    bench
        The bench, for its scale.
    place, system, kilobytes
        The network, the sender with the queue, and the bottleneck's buffer.
    hosts, seconds, warmup, telnet, only, sample
        Their number, the durations, whether there are Telnets, how many hosts have FTPs if not
        all, and the interval of samples.
    cc, queue
        In place of the system's; ``{delay}`` in `cc` is a host's round trip without queues. A
        function gives each host's `cc`.
    loss
        Share of packets lost on the bottleneck's wire, as text.
    tcp
        The habits of the hosts' TCP.
    fields
        More fields of the flows; None leaves one out.
    """
    entry = SYSTEMS[system]
    flow: dict[str, Any] = {
        "ecn": entry.ecn,
        "ecn_retransmit": entry.ecn,
        "max_window": place.window,
        "tick": TICK,
        "tick_integers": True,
        **fields,
    }
    flow = {name: value for name, value in flow.items() if value is not None}
    ends = _ends(place, hosts, cc or entry.cc)
    sessions: list[dict[str, Any]] = [{"telnet": "100ms", **end} for end in ends] if telnet else []
    return Scenario(
        tcp=tcp,
        packet=f"{PACKET}B",
        duration=bench.seconds(seconds),
        warmup=bench.seconds(warmup),
        sample=sample,
        links=_network(place, queue or entry.queue, kilobytes, hosts, loss),
        flows=[{**flow, **end} for end in (*ends[:only], *sessions)],
    )


def _ends(place: Place, hosts: int, cc: str | Callable[[int], str]) -> list[dict[str, Any]]:
    """Return from where to where each host sends, and with which law."""
    return [
        {
            "from": f"source{host}",
            "to": f"receiver{host}",
            "cc": (cc(host) if callable(cc) else cc).format(
                delay=f"{alone(place, host, hosts) * 1e6:.1f}us"
            ),
        }
        for host in range(hosts)
    ]


def alone(place: Place, host: int, hosts: int, packet: int = PACKET) -> float:
    """Return a host's round trip over the idle network in seconds, transmissions included."""
    bottleneck, access = (float(rate.removesuffix("Mbps")) * 1e6 for rate in place[:2])
    packets = 8 * (packet + ACK) * (1 / bottleneck + 2 / access)
    return packets + 2e-6 * (_near(place, host, hosts) + place.middle + place.receivers)


def _near(place: Place, host: int, hosts: int) -> float:
    """Return tau_i in microseconds."""
    first, last = place.sources
    return first + (last - first) * host / max(1, hosts - 1)


def _network(
    place: Place, queue: str, kilobytes: int, hosts: int, loss: str
) -> list[dict[str, Any]]:
    bottleneck = {
        "from": "R1",
        "to": "R2",
        "name": "bottleneck",
        "rate": place.bottleneck,
        "delay": f"{place.middle}us",
        **({} if loss == "0" else {"loss": loss}),
    }
    links: list[dict[str, Any]] = [{**bottleneck, "buffer": f"{kilobytes}kB", "queue": queue}]
    access = {"rate": place.access, "buffer": ACCESS_BUFFER}
    for host in range(hosts):
        delay = _near(place, host, hosts)
        links.append({**access, "from": f"source{host}", "to": "R1", "delay": f"{delay:g}us"})
        links.append(
            {**access, "from": "R2", "to": f"receiver{host}", "delay": f"{place.receivers}us"}
        )
    return links


def bottleneck(result: Sweep) -> pl.DataFrame:
    """Return the samples of the bottleneck of one run."""
    number = result.links.filter(pl.col("name") == "bottleneck")["link"].item()
    return result.series("link_series").filter(pl.col("link") == number)


def shares(result: Sweep, hosts: int, rate: float) -> pl.DataFrame:
    """Return the FTPs' goodput over the link's rate, one row per system, buffer and seed.

    Columns are the mean, the largest (``most``) and the smallest (``least``) of the connections,
    and their ``spread``, (most − least)/mean.
    """
    ftp = result.flows.filter(pl.col("flow") < hosts).with_columns(share=pl.col("goodput") / rate)
    return (
        ftp.group_by("system", "kilobytes", "seed")
        .agg(
            pl.col("share").mean().alias("mean"),
            pl.col("share").max().alias("most"),
            pl.col("share").min().alias("least"),
        )
        .with_columns(spread=(pl.col("most") - pl.col("least")) / pl.col("mean"))
        .sort("system", "kilobytes", "seed")
    )


def swing(flow: pl.DataFrame, since: float) -> float:
    """Return the coefficient of variation of a window about its trend, from a time on."""
    late = flow.filter(pl.col("time") > since)
    time, window = late["time"].to_numpy(), late["window"].to_numpy().astype(np.float64)
    trend = np.polyval(np.polyfit(time, window, 1), time)
    return float((window - trend).std() / window.mean())


def of(frame: pl.DataFrame, system: str, column: str) -> dict[int, float]:
    """Return a column of one system, mean over seeds, by kilobytes."""
    groups = frame.filter(pl.col("system") == system).group_by("kilobytes")
    rows = groups.agg(pl.col(column).mean()).sort("kilobytes")
    return dict(zip(rows["kilobytes"].to_list(), rows[column].to_list(), strict=True))


def samples(
    frame: pl.DataFrame, system: str, column: str, kilobytes: int | None = None
) -> list[float]:
    """Return a column of one system at one buffer, or its mean over buffers, by seed."""
    rows = frame.filter(pl.col("system") == system)
    if kilobytes is not None:
        rows = rows.filter(pl.col("kilobytes") == kilobytes)
    return rows.group_by("seed").agg(pl.col(column).mean()).sort("seed")[column].to_list()


def at_sizes(found: dict[int, float]) -> str:
    """Say a number for each buffer, or once if all are the same."""
    if len(set(found.values())) == 1:
        return f"{next(iter(found.values())):.2g} at each"
    return ", ".join(f"{value:.2g} at {size} kB" for size, value in found.items())


def fair(frame: pl.DataFrame, system: str, why: str = "") -> Claim:
    """Claim that a system is perfectly fair at each buffer."""
    found = of(frame, system, "spread")
    return stated(
        f"{system} is perfectly fair: spread of goodput over the connections, (max − min)/mean, "
        "at each buffer",
        SAME.paper("perfect"),
        at_sizes(found),
        SAME.holds(max(found.values())),
        why,
    )


def each_system(
    bench: Bench,
    place: Place,
    sizes: list[int],
    systems: Sequence[str] = tuple(SYSTEMS),
    tcp: Habits = TCP,
) -> Sweep:
    """Run each system at each buffer."""
    return bench.sweep(
        lambda system, kilobytes: scenario(bench, place, system, kilobytes, tcp=tcp),
        system=list(systems),
        kilobytes=sizes,
        seeds=bench.seeds(SEEDS),
    )


def two_packets(bench: Bench, place: Place, sizes: list[int], **more: Any) -> Sweep:
    """Run ECN with senders that keep two packets after a mark, as Linux's do."""
    return bench.sweep(
        lambda system, kilobytes: scenario(bench, place, system, kilobytes, cc="reno+reno", **more),
        system=["ECN"],
        kilobytes=sizes,
        seeds=bench.seeds(SEEDS),
    )


TWO_PACKETS = "if a mark leaves a window of at least two packets, as in Linux, "


def telnet(result: Sweep, hosts: int) -> pl.DataFrame:
    """Return the bottleneck's drop rate, and mean and longest Telnet delay in seconds.

    There is one row per system, buffer and seed.
    """
    keys = ["system", "kilobytes", "seed"]
    sessions = (
        result.flows.filter(pl.col("flow") >= hosts)
        .group_by(keys)
        .agg(
            pl.col("mean_packet_delay").fill_null(MEASURED).mean().alias("mean_delay"),
            pl.col("max_packet_delay").fill_null(MEASURED).max().alias("max_delay"),
        )
    )
    drops = (
        result.links.filter(pl.col("name") == "bottleneck")
        .group_by(keys)
        .agg((pl.col("drops").sum() / pl.col("arrivals").sum()).alias("drop_rate"))
    )
    return sessions.join(drops, on=keys).sort(keys)


# Lines that lie on each other stay visible: the later ones are shorter dashes.
STYLES: dict[str, dict[str, Any]] = {
    system: {"ls": (0, (6 - number, number)) if number else "-", "marker": "os^vD*"[number]}
    for number, system in enumerate(SYSTEMS)
}


def draw_shares(axes: Any, frame: pl.DataFrame, fair_share: float, top: float = math.inf) -> None:
    """Draw the paper's plots: mean, most and least against the buffer, one panel per system.

    All panels have the same vertical axis, which ends at `top`; what lies above is written there.
    """
    highest = max(max(of(frame, system, "most").values()) for system in frame["system"].unique())
    top = min(top, 1.1 * highest)
    systems = [system for system in SYSTEMS if system in frame["system"]]
    for ax, system in zip(axes.flat, systems, strict=False):
        for column, style in (("most", "C0^--"), ("mean", "ko-"), ("least", "C3v--")):
            values = of(frame, system, column)
            ax.plot(list(values), list(values.values()), style, ms=3, lw=0.9, label=column)
        beyond = [f"{value:.2f}" for value in of(frame, system, "most").values() if value > top]
        if beyond:
            ax.text(0.5, 0.9, f"most: {', '.join(beyond)}", transform=ax.transAxes, ha="center")
        ax.axhline(fair_share, color="k", lw=0.3)
        ax.set(
            title=system,
            xlabel="buffer (kB)",
            ylabel="goodput over the link's rate",
            ylim=(0, top),
        )
    handles, labels = axes.flat[0].get_legend_handles_labels()
    axes.flat[0].figure.legend(
        handles, labels, fontsize="x-small", ncol=3, loc="outside lower center"
    )


def draw_telnet(axes: Any, frame: pl.DataFrame) -> None:
    """Draw drop rate, mean and longest delay against the buffer, one line per system."""
    from matplotlib.ticker import LogFormatter  # noqa: PLC0415 (loads matplotlib)

    columns = {
        "drop_rate": "drop rate",
        "mean_delay": "mean Telnet delay (ms)",
        "max_delay": "longest Telnet delay (ms)",
    }
    for ax, (column, label) in zip(axes[0], columns.items(), strict=True):
        drops = column == "drop_rate"
        for system, style in STYLES.items():
            longest_ones = column == "max_delay"
            values = longest(frame, system) if longest_ones else of(frame, system, column)
            shown = [value * (1 if drops else 1e3) for value in values.values()]
            ax.plot(list(values), shown, **style, ms=3, lw=0.9, label=system)
        ax.set(xlabel="buffer (kB)", ylabel=label)
        if drops:
            ax.set_yscale("symlog", linthresh=1e-5)
        else:
            ax.set_yscale("log")
            plain = LogFormatter(labelOnlyBase=False, minor_thresholds=(1.5, 0.5))
            ax.yaxis.set_major_formatter(plain)
            ax.yaxis.set_minor_formatter(plain)
    figure = axes[0][0].figure
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize="x-small", loc="outside right center")


def longest(frame: pl.DataFrame, system: str) -> dict[int, float]:
    """Return the longest Telnet delay of one system over all seeds, by kilobytes."""
    groups = frame.filter(pl.col("system") == system).group_by("kilobytes")
    rows = groups.agg(pl.col("max_delay").max()).sort("kilobytes")
    return dict(zip(rows["kilobytes"].to_list(), rows["max_delay"].to_list(), strict=True))


def draw_windows(
    windows: dict[str, pl.DataFrame], queues: dict[str, tuple[Any, Any]], early: float
) -> Any:
    """Draw the paper's figures 6 and 8, one row per system.

    The window of an FTP is on the left, with the first `early` seconds in the middle, and the queue
    on the right.
    """
    figure, axes = panels(len(windows), 3, width=3.6, height=1.5)
    for row, (system, window) in zip(axes, windows.items(), strict=True):
        row[0].plot(window["time"], window["window"], lw=0.6)
        row[0].set(ylabel=f"{system}\nwindow (packets)", ylim=(0, None))
        begin = window.filter(pl.col("time") <= early)
        row[1].plot(begin["time"], begin["window"], ".-", ms=2, lw=0.6)
        row[1].set(ylim=(0, None))
        row[2].plot(*queues[system], lw=0.6)
        row[2].set(ylabel="queue (packets)", ylim=(0, None))
    titles = ("window of an FTP", f"the first {early:g} s", "queue")
    for ax, title in zip(axes[0], titles, strict=True):
        ax.set_title(title, fontsize="small")
    for ax in axes[-1]:
        ax.set_xlabel("time (s)")
    return figure

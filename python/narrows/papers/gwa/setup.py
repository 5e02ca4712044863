"""What the paper's experiments have in common (§6).

That is the six systems, the network of figure 3, FTP and Telnet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from narrows.papers.claims import Claim, stated
from narrows.papers.lab import Lab
from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.sweeps import Sweep

# An MSS of 1000 bytes and 40 of headers.
PACKET = 1040
PAYLOAD = 1000 / 1040
SEEDS = 3
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


SYSTEMS = {
    "Drop-Tail": System("reno", "drop-tail"),
    "RED": System("reno", f"{RED}:ecn=false"),
    "ECN": System("reno", f"{RED}:mark_above=true", ecn=True),
    "GWA-RR": System("gwa+reno", "gwa-rr"),
    "GWA-FCFS": System("gwa+reno", "gwa-fcfs"),
    "BA-FCFS": System("ba+reno", "ba"),
}
ADVERTISED = ["GWA-RR", "GWA-FCFS", "BA-FCFS"]
TRADITIONAL = ["Drop-Tail", "RED", "ECN"]


@dataclass(frozen=True)
class Place:
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


def scenario(
    lab: Lab,
    place: Place,
    system: str,
    kilobytes: int,
    *,
    hosts: int = 10,
    seconds: float = 25,
    warmup: float = 5,
    telnet: bool = True,
    sample: str = "0s",
) -> Scenario:
    """Describe hosts that share one link, each with an FTP and perhaps a Telnet session.

    The bottleneck has a buffer of `kilobytes` kB.
    """
    entry = SYSTEMS[system]
    flow: dict[str, Any] = {"cc": entry.cc, "ecn": entry.ecn, "max_window": place.window}
    ends = [{"from": f"source{host}", "to": f"receiver{host}"} for host in range(hosts)]
    applications = [{}, {"telnet": "100ms"}] if telnet else [{}]
    return Scenario(
        tcp="ns2",
        packet=f"{PACKET}B",
        duration=lab.seconds(seconds),
        warmup=lab.seconds(warmup),
        sample=sample,
        links=_network(place, entry.queue, kilobytes, hosts),
        flows=[{**flow, **application, **end} for application in applications for end in ends],
    )


def _network(place: Place, queue: str, kilobytes: int, hosts: int) -> list[dict[str, Any]]:
    bottleneck = {
        "from": "R1",
        "to": "R2",
        "name": "bottleneck",
        "rate": place.bottleneck,
        "delay": f"{place.middle}us",
    }
    links: list[dict[str, Any]] = [{**bottleneck, "buffer": f"{kilobytes}kB", "queue": queue}]
    access = {"rate": place.access, "buffer": ACCESS_BUFFER}
    first, last = place.sources
    for host in range(hosts):
        delay = first + (last - first) * host / (hosts - 1)
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
    """Return the FTPs' goodput over the link's rate.

    Mean, largest (``most``) and smallest (``least``) of the connections are averaged over seeds.
    """
    ftp = result.flows.filter(pl.col("flow") < hosts).with_columns(share=pl.col("goodput") / rate)
    by_run = ftp.group_by("system", "kilobytes", "seed").agg(
        pl.col("share").mean().alias("mean"),
        pl.col("share").max().alias("most"),
        pl.col("share").min().alias("least"),
    )
    return (
        by_run.group_by("system", "kilobytes")
        .agg(pl.col("mean", "most", "least").mean())
        .sort("system", "kilobytes")
    )


def of(frame: pl.DataFrame, system: str, column: str) -> dict[int, float]:
    """Return a column of one system, by kilobytes."""
    rows = frame.filter(pl.col("system") == system).sort("kilobytes")
    return dict(zip(rows["kilobytes"].to_list(), rows[column].to_list(), strict=True))


def spread(frame: pl.DataFrame, system: str) -> dict[int, float]:
    """Return the spread of goodput, (max − min)/mean, by kilobytes."""
    most, least, mean = (of(frame, system, name) for name in ("most", "least", "mean"))
    return {size: (most[size] - least[size]) / mean[size] for size in mean}


def fair(
    where: str,
    frame: pl.DataFrame,
    systems: list[str],
    within: float,
    sizes: list[int] | None = None,
) -> list[Claim]:
    """Claim that the spread of goodput, (max − min)/mean, is below `within` at each buffer."""
    claims = []
    for system in systems:
        found = {
            size: value
            for size, value in spread(frame, system).items()
            if sizes is None or size in sizes
        }
        worst = max(found, key=lambda size: found[size])
        text = f"{where}{system} is fair: spread of goodput, (max − min)/mean, at the worst buffer"
        claims.append(
            stated(text, f"< {within}", f"{found[worst]:.3f} at {worst} kB", found[worst] < within)
        )
    return claims


def telnet(result: Sweep, hosts: int) -> pl.DataFrame:
    """Return the bottleneck's drop rate, and mean and longest Telnet delay in seconds.

    There is one row per system and buffer.
    """
    sessions = (
        result.flows.filter(pl.col("flow") >= hosts)
        .group_by("system", "kilobytes")
        .agg(
            pl.col("mean_packet_delay").fill_null(MEASURED).mean().alias("mean_delay"),
            pl.col("max_packet_delay").fill_null(MEASURED).max().alias("max_delay"),
        )
    )
    drops = (
        result.links.filter(pl.col("name") == "bottleneck")
        .group_by("system", "kilobytes")
        .agg((pl.col("drops").sum() / pl.col("arrivals").sum()).alias("drop_rate"))
    )
    return sessions.join(drops, on=["system", "kilobytes"]).sort("system", "kilobytes")


def draw_shares(axes: Any, frame: pl.DataFrame, fair_share: float) -> None:
    """Draw the paper's plots: mean, most and least against the buffer, one panel per system."""
    for ax, system in zip(
        axes.flat, frame["system"].unique(maintain_order=True).sort().to_list(), strict=False
    ):
        for column, style in (("most", "C0^--"), ("mean", "ko-"), ("least", "C3v--")):
            values = of(frame, system, column)
            ax.plot(list(values), list(values.values()), style, ms=3, lw=0.9, label=column)
        ax.axhline(fair_share, color="k", lw=0.3)
        ax.set(
            title=system,
            xlabel="buffer (kB)",
            ylabel="goodput over the link's rate",
            ylim=(0, None),
        )
    axes.flat[0].legend(fontsize="x-small")


def draw_telnet(axes: Any, frame: pl.DataFrame) -> None:
    """Draw drop rate, mean and longest delay against the buffer, one line per system."""
    columns = {
        "drop_rate": "drop rate",
        "mean_delay": "mean Telnet delay (s)",
        "max_delay": "longest Telnet delay (s)",
    }
    for ax, (column, label) in zip(axes[0], columns.items(), strict=True):
        for system in SYSTEMS:
            values = of(frame, system, column)
            ax.plot(list(values), list(values.values()), "o-", ms=3, lw=0.9, label=system)
        ax.set(xlabel="buffer (kB)", ylabel=label)
        ax.set_yscale(
            "log" if column != "drop_rate" else "symlog",
            **({} if column != "drop_rate" else {"linthresh": 1e-5}),
        )
    axes[0][0].legend(fontsize="x-small")


def draw_windows(windows: dict[str, pl.DataFrame], queues: dict[str, tuple[Any, Any]]) -> Any:
    """Draw the paper's figures 6 and 8, one row per system.

    The window of an FTP is on the left, the queue on the right.
    """
    figure, axes = panels(len(windows), 2, width=4.4, height=1.5)
    for row, (system, window) in zip(axes, windows.items(), strict=True):
        row[0].plot(window["time"], window["window"], lw=0.6)
        row[0].set(ylabel=f"{system}\nwindow (packets)", ylim=(0, None))
        row[1].plot(*queues[system], lw=0.6)
        row[1].set(ylabel="queue (packets)", ylim=(0, None))
    for ax in axes[-1]:
        ax.set_xlabel("time (s)")
    return figure

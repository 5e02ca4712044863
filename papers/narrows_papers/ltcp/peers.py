"""LTCP beside the other high-speed laws: the comparison that §VI leaves to future work. Our own."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.theory.response import aimd
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, near, stated
from narrows_papers.ltcp.setup import PACKET_BITS, PAYLOAD, RTT, scenario
from narrows_papers.registry import Finding, experiment

# What a user opens, and the bottleneck's queue. N = 10 is what an LTCP flow is like that has
# evolved to layer 15 (§IV-A); at 1 Gbps it reaches layer 11.
VIRTUAL = 10
SCHEMES: dict[str, tuple[dict[str, Any], str]] = {
    "LTCP": ({"cc": "ltcp"}, "drop-tail"),
    "LTCP by layer": ({"cc": "ltcp:by_layer=true"}, "drop-tail"),
    "MulTCP": ({"cc": f"multcp:n={VIRTUAL}"}, "drop-tail"),
    "10 TCPs": ({"cc": "sack", "count": VIRTUAL}, "drop-tail"),
    "HighSpeed": ({"cc": "highspeed"}, "drop-tail"),
    "Scalable": ({"cc": "scalable"}, "drop-tail"),
    "BIC": ({"cc": "bic"}, "drop-tail"),
    "H-TCP": ({"cc": "htcp"}, "drop-tail"),
    "FAST": ({"cc": "fast:alpha=1000:mi_threshold=0.00075"}, "drop-tail"),
    "XCP": ({"cc": "xcp"}, "xcp"),
    "TCP": ({"cc": "sack"}, "drop-tail"),
}
# One user alone, a second one from JOINS on, and the end.
JOINS, END = 200, 500
# The network of §V-A-3 at 500 Mbps: XCP's routers expect XCP's flows only.
BESIDE_TCP = [name for name in SCHEMES if name != "XCP"]


@experiment(
    "ltcp/peers", "LTCP beside MulTCP, parallel TCPs and the laws it is to be compared with"
)
def peers(bench: Bench) -> Finding:
    """Ask §V-A's questions of the laws that §II and §VI name, on §V-A's network.

    One user's utilisation, the share of a second user who joins, and what ten TCP flows keep.
    """
    users = _two_users(bench, list(SCHEMES))
    alone = {name: _mean(frame, "first", JOINS / 2, JOINS) for name, frame in users.items()}
    share = {
        name: _mean(frame, "second", END - 100, END)
        / (_mean(frame, "first", END - 100, END) + _mean(frame, "second", END - 100, END))
        for name, frame in users.items()
    }
    beside = _beside_tcp(bench, BESIDE_TCP)
    found = pl.DataFrame(
        [
            (name, alone[name] / 1000 / PAYLOAD, share[name], beside.get(name, float("nan")))
            for name in SCHEMES
        ],
        schema=["scheme", "alone", "share_of_second", "share_of_ten_tcps"],
        orient="row",
    )
    note = (
        "An experiment of our own: the paper has no numbers for it. 1 Gbps, 70 ms, 6000 packets. "
        f"The first user sends for {END} s, the second from {JOINS} s on; one run each, with the "
        "laws' default settings (FAST: alpha 1000; MulTCP and the parallel connections: 10 "
        "flows). In brackets: utilisation alone (100 to 200 s, of what the link carries), the "
        "second user's share (last 100 s; fair is 0.5), and what ten TCP flows that join later "
        "have together of 500 Mbps as in figure 8. "
        + "; ".join(
            f"{name} ({alone[name] / 1000 / PAYLOAD:.2f}, {share[name]:.2f}, "
            + (f"{beside[name]:.2f})" if name in beside else "–)")
            for name in SCHEMES
        )
        + "."
    )
    series = pl.concat(
        [frame.select(pl.lit(name).alias("scheme"), pl.all()) for name, frame in users.items()]
    )
    return Finding(
        [*_claims(alone, share, beside), _response(bench)],
        {"table": found, "users": series},
        _drawn(users, found),
        note,
    )


def _two_users(bench: Bench, names: list[str]) -> dict[str, pl.DataFrame]:
    """Return for each scheme the goodput of two users in Mbps, a row per second of full scale."""

    def base(scheme: str) -> Scenario:
        user, queue = SCHEMES[scheme]
        first = user | {"start_spread": "0s"}
        flows = [first, first | {"start": bench.seconds(JOINS)}]
        return scenario(bench, "1Gbps", flows, END, warmup=0, sample="1s", queue=queue)

    series = bench.sweep(base, series=True, scheme=names).series("flow_series")
    found = {}
    for name in names:
        count = SCHEMES[name][0].get("count", 1)
        of = pl.when(pl.col("flow") < count).then(pl.lit("first")).otherwise(pl.lit("second"))
        sums = (
            series.filter(pl.col("scheme") == name)
            .with_columns(of.alias("user"))
            .group_by("time", "user", maintain_order=True)
            .agg(pl.col("goodput").fill_nan(0).fill_null(0).sum() / 1e6)
        )
        wide = sums.pivot(on="user", index="time", values="goodput").sort("time")
        found[name] = wide.with_columns(pl.col("time") / bench.scale)
    return found


def _mean(frame: pl.DataFrame, user: str, begins: float, ends: float) -> float:
    inside = frame.filter(pl.col("time").is_between(begins, ends, closed="right"))
    return float(inside[user].to_numpy().mean())


def _beside_tcp(bench: Bench, names: list[str]) -> dict[str, float]:
    """Return the share of 500 Mbps that ten TCP flows have 300 to 600 s after they have begun."""

    def base(scheme: str) -> Scenario:
        tcps = {"cc": "sack", "count": 10, "start": bench.seconds(300), "start_spread": "1s"}
        return scenario(bench, "500Mbps", [SCHEMES[scheme][0], tcps], 900, warmup=600)

    flows = bench.sweep(base, scheme=names).flows
    found = {}
    for name in names:
        count = SCHEMES[name][0].get("count", 1)
        tcps = flows.filter((pl.col("scheme") == name) & (pl.col("flow") >= count))
        found[name] = float(tcps["goodput"].to_numpy().sum() / 500e6)
    return found


def _claims(
    alone: dict[str, float], share: dict[str, float], beside: dict[str, float]
) -> list[Claim]:
    """Claim what theory says of these laws."""
    full = 1000 * PAYLOAD
    fills = [name for name in SCHEMES if name not in ("TCP", "10 TCPs")]
    idle = min(fills, key=lambda name: alone[name])
    return [
        near(
            f"one user alone: the lowest goodput among the single high-speed flows ({idle})",
            full,
            alone[idle],
            0.05,
            "Mbps",
            why="FAST's start doubles while the queue is short, from 8413 packets to 16,826, where "
            "path and queue hold 14,413, and times out"
            if idle == "FAST"
            else "",
            since="the queue is 0.7 of a bandwidth-delay product, and each gives up at most half",
            by="the capacity",
        ),
        near(
            "XCP: the second user's share",
            0.5,
            share["XCP"],
            0.02,
            since="its routers give equal rates",
            by="Katabi, Handley, Rohrs, §3.5",
        ),
        stated(
            "multiplicative increase does not converge: Scalable's second user stays further from "
            "the fair share than LTCP's",
            "not given (by Chiu, Jain, 1989)",
            f"{share['Scalable']:.2f}, LTCP's {share['LTCP']:.2f}",
            abs(share["Scalable"] - 0.5) > abs(share["LTCP"] - 0.5),
        ),
        stated(
            "a reduction by layer makes flows converge more slowly than one by window: the second "
            "user is further from the fair share (§III)",
            "not given (by eq. 3, see ltcp/eq03)",
            f"{share['LTCP by layer']:.2f}, LTCP's {share['LTCP']:.2f}",
            abs(share["LTCP by layer"] - 0.5) > abs(share["LTCP"] - 0.5),
        ),
        *_claims_beside(beside),
    ]


def _claims_beside(beside: dict[str, float]) -> list[Claim]:
    """Return the claims on what ten TCPs keep beside a law."""
    return [
        near(
            "ten parallel TCPs leave ten other TCPs: share of 500 Mbps",
            0.5 * PAYLOAD,
            beside["10 TCPs"],
            0.1,
            since="20 flows, a few cycles",
            by="equal numbers of equal flows",
        ),
        near(
            f"MulTCP with N = {VIRTUAL} leaves ten TCPs: share of 500 Mbps",
            0.5 * PAYLOAD,
            beside["MulTCP"],
            0.1,
            since="as for ten parallel TCPs",
            by="N flows in one",
            why="MulTCP answers the losses of an epoch together, with W/(2N), and ten connections "
            "answer them one by one. Where losses are independent, so that each is an epoch, its "
            "window is that of N flows (the last row)",
        ),
        stated(
            "one TCP leaves ten others more than LTCP does",
            "not given (LTCP is more aggressive above W_T, §III)",
            f"{beside['TCP']:.2f}, LTCP {beside['LTCP']:.2f}",
            beside["TCP"] > beside["LTCP"],
        ),
    ]


def _response(bench: Bench) -> Claim:
    """Claim MulTCP's window under independent losses, over a path that it cannot fill."""
    losses = [1e-3, 1e-4]
    flows = [{"cc": f"multcp:n={VIRTUAL}"}]
    base = scenario(bench, "10Gbps", flows, 400, warmup=50, loss="1e-4", access_rate="40Gbps")
    means = bench.sweep(base, loss=[f"{p:g}" for p in losses], seeds=bench.seeds(2)).means(
        "utilisation"
    )
    windows = means["utilisation"].to_numpy() * 10e9 / PACKET_BITS * RTT
    ratio = windows / aimd(losses, alpha=VIRTUAL, beta=1 - 0.5 / VIRTUAL)
    off = ratio[np.argmax(np.abs(ratio - 1))]
    return near(
        f"MulTCP with N = {VIRTUAL}, independent losses of 1e-3 and 1e-4: its window over "
        "N√(2(1 − 1/(4N))/p), the one further off",
        1.0,
        float(off),
        0.1,
        since="independent losses make Reno's window larger by 7 %",
        by="equally spaced losses",
    )


def _drawn(users: dict[str, pl.DataFrame], found: pl.DataFrame) -> Any:
    figure, axes = panels(4, 3, width=3, height=1.9)
    for ax, (name, frame) in zip(axes.flat, users.items(), strict=False):
        for user in ("first", "second"):
            ax.plot(frame["time"], frame[user], lw=0.7, label=f"{user} user")
        ax.set(title=name, ylim=(0, 1300), xlim=(0, END))
    axes[0][0].legend(fontsize="x-small", ncols=2, loc="upper center", columnspacing=1)
    for row in range(4):
        axes[row][0].set_ylabel("goodput (Mbps)")
    found = found.filter(pl.col("scheme").is_in(BESIDE_TCP))
    ax, place = axes[3][2], np.arange(len(found))
    ax.barh(place, found["share_of_ten_tcps"].to_numpy(), color="C2")
    ax.set_yticks(place, found["scheme"].to_list(), fontsize="xx-small")
    ax.invert_yaxis()
    ax.set(title="left to ten TCPs", xlabel="share of 500 Mbps", xlim=(0, 1))
    for number in (9, 10):
        axes.flat[number].set_xlabel("time (s)")
    return figure

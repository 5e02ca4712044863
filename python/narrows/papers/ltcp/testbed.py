"""The Linux testbed, simulated: the tables of figures 9 and 10, and figure 11 (§V-B)."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from narrows.papers.claims import Claim, above, near, stated
from narrows.papers.lab import Lab
from narrows.papers.ltcp.setup import flow_series
from narrows.papers.registry import Finding, experiment
from narrows.plot import panels
from narrows.scenario import Scenario

RTTS = {"low": "25ms", "moderate": "70ms", "high": "150ms"}
PROTOCOLS = {"TCP": "sack", "LTCP": "ltcp"}
SIMULATED = (
    "*Simulated*: a path of 750 Mbps, the rate that the testbed's PCI bus let through, with a "
    "queue of 1000 packets of 1500 bytes, and the TCP habits of Linux. The testbed's losses came "
    'from its hosts, too ("SACK processing", interrupt load); those are not simulated.'
)
WHY = (
    "the testbed's hosts lost packets of their own at this rate; a simulated path loses packets "
    "only when its queue is full"
)


def testbed(
    lab: Lab,
    flows: list[dict[str, Any]],
    rtt: str,
    seconds: float,
    *,
    queue: int = 1000,
    sample: str = "0s",
    warmup: float = 0,
) -> Scenario:
    """Describe flows over the testbed's path."""
    return Scenario(
        tcp="linux",
        duration=lab.seconds(seconds),
        warmup=lab.seconds(warmup),
        sample=sample,
        dumbbell={"rate": "750Mbps", "rtt": rtt, "buffer": f"{queue}p", "access_rate": "1Gbps"},
        flows=flows,
    )


# Mbps and standard deviation of four runs.
TABLE9 = {
    "low": {"TCP": (719.25, 0.50), "LTCP": (742.75, 0.50)},
    "moderate": {"TCP": (480.25, 54.52), "LTCP": (681.50, 5.00)},
    "high": {"TCP": (164.00, 14.02), "LTCP": (466.00, 11.86)},
}


@experiment("ltcp/tab09", "one flow on the testbed's path, three RTTs: simulated")
def tab09(lab: Lab) -> Finding:
    """Reproduce the table of figure 9 (§V-B-1): 900 s, four times."""
    rows = []
    for label, rtt in RTTS.items():
        for name, cc in PROTOCOLS.items():
            # Socket buffers of 32 MB limit the windows, as in the testbed.
            base = testbed(lab, [{"cc": cc, "max_window": "32MB"}], rtt, 900)
            rates = lab.sweep(base, seeds=lab.seeds(4)).runs["goodput"].to_numpy() / 1e6
            rows.append(
                (
                    label,
                    name,
                    float(rates.mean()),
                    float(rates.std(ddof=1)) if len(rates) > 1 else 0.0,
                    float(rates.mean() * 900 / 8e3),
                )
            )
    found = pl.DataFrame(rows, schema=["rtt", "protocol", "Mbps", "deviation", "GB"], orient="row")

    def mbps(label: str, name: str) -> float:
        return float(
            found.filter((pl.col("rtt") == label) & (pl.col("protocol") == name))["Mbps"][0]
        )

    claims = [
        near(
            f"{label} RTT, {name}: goodput",
            TABLE9[label][name][0],
            mbps(label, name),
            0.1,
            "Mbps",
            why=WHY,
        )
        for label in RTTS
        for name in PROTOCOLS
    ]
    gain = mbps("high", "LTCP") / mbps("high", "TCP")
    claims += [
        near("high RTT: goodput of LTCP over TCP's, almost a factor of 3", 3, gain, 0.2, why=WHY),
        stated(
            "TCP deteriorates as the RTT grows: goodput in Mbps",
            "falls",
            " > ".join(f"{mbps(label, 'TCP'):.0f}" for label in RTTS),
            mbps("low", "TCP") > mbps("moderate", "TCP") > mbps("high", "TCP"),
        ),
        stated(
            "LTCP deteriorates more gracefully: goodput at 150 ms over that at 25 ms",
            "more than TCP's",
            f"{mbps('high', 'LTCP') / mbps('low', 'LTCP'):.2f}, TCP's "
            f"{mbps('high', 'TCP') / mbps('low', 'TCP'):.2f}",
            mbps("high", "LTCP") / mbps("low", "LTCP") > mbps("high", "TCP") / mbps("low", "TCP"),
        ),
    ]
    figure, axes = panels()
    place = np.arange(3)
    for number, name in enumerate(PROTOCOLS):
        axes[0][0].bar(
            place + 0.4 * number - 0.2, [mbps(label, name) for label in RTTS], 0.4, label=name
        )
        axes[0][0].plot(
            place + 0.4 * number - 0.2,
            [TABLE9[label][name][0] for label in RTTS],
            "kx",
            label="testbed" if number else None,
        )
    axes[0][0].set_xticks(place, list(RTTS.values()))
    axes[0][0].set_ylabel("goodput (Mbps), simulated")
    axes[0][0].legend(fontsize="x-small")
    return Finding(claims, {"table": found}, figure, SIMULATED)


# Jain's index of the testbed: TCP, LTCP.
TABLE10 = {
    "low": {
        2: (0.991, 0.999),
        4: (0.987, 0.998),
        6: (0.991, 1.000),
        8: (0.999, 1.000),
        10: (0.997, 0.999),
    },
    "moderate": {
        2: (0.977, 1.000),
        4: (0.996, 0.999),
        6: (0.975, 0.998),
        8: (0.945, 1.000),
        10: (0.981, 0.996),
    },
    "high": {
        2: (0.959, 0.996),
        4: (0.957, 0.998),
        6: (0.976, 0.983),
        8: (0.815, 0.991),
        10: (0.916, 0.992),
    },
}


@experiment("ltcp/tab10", "two to ten flows on the testbed's path, three RTTs: simulated")
def tab10(lab: Lab) -> Finding:
    """Reproduce the table of figure 10 (§V-B-2)."""
    rows = []
    for label, rtt in RTTS.items():
        for name, cc in PROTOCOLS.items():
            # A host's sender never answers at once: an overhead of up to the time of one packet
            # breaks the simulator's phase effects.
            flow = {"cc": cc, "start_spread": "1s", "overhead": "16us"}
            sweep = lab.sweep(testbed(lab, [flow], rtt, 900), count=[2, 4, 6, 8, 10])
            flows = sweep.flows.group_by("count", maintain_order=True).agg(
                (pl.col("goodput").mean() / 1e6).alias("Mbps"),
                (pl.col("goodput").std() / 1e6).alias("deviation"),
                (pl.col("goodput").sum() ** 2 / (pl.len() * (pl.col("goodput") ** 2).sum())).alias(
                    "jain"
                ),
            )
            rows += [(label, name, *row) for row in flows.iter_rows()]
    found = pl.DataFrame(
        rows, schema=["rtt", "protocol", "flows", "Mbps", "deviation", "jain"], orient="row"
    )
    indices = {name: found.filter(pl.col("protocol") == name) for name in PROTOCOLS}
    least = {name: float(frame["jain"].to_numpy().min()) for name, frame in indices.items()}
    wins = int(
        (indices["LTCP"]["deviation"].to_numpy() < indices["TCP"]["deviation"].to_numpy()).sum()
    )
    claims = [
        above(
            "LTCP's Jain index is high everywhere: the lowest",
            0.983,
            least["LTCP"],
            why="the lowest of the testbed is itself 0.983",
        ),
        stated(
            "TCP's Jain index goes further down: the lowest",
            "0.815",
            f"{least['TCP']:.3f}",
            least["TCP"] < least["LTCP"],
            WHY,
        ),
        stated(
            "LTCP's flows deviate less from each other than TCP's: "
            "cases with a smaller standard deviation of goodput",
            "15 of 15",
            f"{wins} of 15",
            wins >= 12,
            WHY,
        ),
    ]
    figure, axes = panels(1, 3, width=3)
    for number, label in enumerate(RTTS):
        for place, name in enumerate(PROTOCOLS):
            row = indices[name].filter(pl.col("rtt") == label)
            axes[0][number].plot(row["flows"], row["jain"], "o-", ms=3, label=name)
            axes[0][number].plot(
                list(TABLE10[label]),
                [pair[place] for pair in TABLE10[label].values()],
                f"C{place}x",
                label=f"{name}, testbed",
            )
        axes[0][number].set(title=RTTS[label], xlabel="flows", ylim=(0.75, 1.005))
    axes[0][0].set_ylabel("Jain's index, simulated")
    axes[0][2].legend(fontsize="x-small")
    return Finding(
        claims,
        {"table": found},
        figure,
        SIMULATED + " Each case is one run; the paper does not say how often it ran these.",
    )


UDP = 350.0
PERIOD = 300


@experiment("ltcp/fig11", "LTCP beside UDP traffic that comes and goes: simulated")
def fig11(lab: Lab) -> Finding:
    """Reproduce figure 11 (§V-B-3): 350 Mbps of UDP, on for 5 minutes, off for 5 minutes.

    The RTT is 70 ms, the queue 5000 packets.
    """
    flows = [
        {"cc": "ltcp", "max_window": "32MB"},
        {
            "datagrams": "constant",
            "app_rate": "350Mbps",
            "start": lab.seconds(PERIOD),
            "start_spread": "0s",
            "on": lab.seconds(PERIOD),
            "off": lab.seconds(PERIOD),
        },
    ]
    result = lab.run(testbed(lab, flows, "70ms", 6 * PERIOD, queue=5000, sample="1s"))
    ltcp, udp = (flow_series(result, number) for number in (0, 1))
    time = ltcp["time"].to_numpy() / lab.scale
    rate, beside = ltcp["goodput"].to_numpy() / 1e6, udp["goodput"].to_numpy() / 1e6
    phase = (time // PERIOD).astype(int)
    settled = time % PERIOD > PERIOD / 3
    full = 750 * 1448 / 1500
    claims: list[Claim] = []
    for number in range(1, 6):
        inside = (phase == number) & settled
        ours, theirs = float(rate[inside].mean()), float(beside[inside].mean())
        if number % 2:
            claims.append(
                near(
                    f"{_span(number)}: LTCP shares the link and leaves UDP what it sends: "
                    "UDP's goodput",
                    UDP * 1448 / 1500,
                    theirs,
                    0.05,
                    "Mbps",
                    why=LOSES,
                )
            )
            claims.append(
                near(
                    f"{_span(number)}: LTCP takes the rest: its goodput",
                    full - UDP * 1448 / 1500,
                    ours,
                    0.1,
                    "Mbps",
                )
            )
        else:
            claims.append(
                near(f"{_span(number)}: LTCP fills the link: its goodput", full, ours, 0.03, "Mbps")
            )
    figure, axes = panels(1, 1, width=6)
    axes[0][0].plot(time, rate, lw=0.8, label="LTCP")
    axes[0][0].plot(time, beside, lw=0.8, label="UDP")
    axes[0][0].set(xlabel="time (s)", ylabel="goodput (Mbps), simulated", ylim=(0, 800))
    axes[0][0].legend(fontsize="x-small")
    note = (
        SIMULATED + " Means begin 100 s after UDP begins or stops. Payload is 1448 of 1500 bytes, "
        "for datagrams too."
    )
    return Finding(
        claims,
        {"flows": result.series("flow_series").select("time", "flow", "window", "goodput")},
        figure,
        note,
    )


LOSES = (
    "UDP does not respond to losses, but it suffers them: "
    "its share is what it sends less what the full queue drops"
)


def _span(number: int) -> str:
    return f"{number * PERIOD}-{(number + 1) * PERIOD} s"

"""The parking lot, §4.4: figure 4 and table 1."""

from __future__ import annotations

from typing import Any

import polars as pl

from narrows.papers.claims import Claim, above, below, near, stated
from narrows.papers.lab import Lab
from narrows.papers.pxcp.setup import RULE_OF_THUMB, SENDERS, Sender, both_ways, links
from narrows.papers.registry import Finding, experiment
from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.sweeps import Sweep

PAPER_BUFFER = 10_200
LINKS = ["link1", "link2", "link3"]
# Table 1.
FAIRNESS = {
    "P. XCP": 1.0,
    "P. Reno": 0.78,
    "P. NewReno": 0.76,
    "P. HSTCP": 0.44,
    "N.P. XCP": 0.76,
    "N.P. Reno": 0.72,
    "N.P. NewReno": 0.74,
    "N.P. HSTCP": 0.73,
}


def described(lab: Lab, sender: Sender, buffer: int) -> Scenario:
    """Describe three links of 10 ms, with traffic both ways.

    Ten long flows go over all links, ten short ones over the first and ten over the second.
    """
    long = {**sender.flow, "count": 10, "rtt": "64ms", "rtt_spread": "36ms"}
    short = {**sender.flow, "count": 10, "rtt": "24ms", "rtt_spread": "36ms"}
    flows = [long, {**short, "over": [1, 1]}, {**short, "over": [2, 2]}]
    return Scenario(
        tcp="ns2",
        packet="1000B",
        duration=lab.seconds(100),
        warmup=lab.seconds(40),
        sample="0s",
        parking_lot={
            "hops": 3,
            "rate": "622Mbps",
            "delay": "10ms",
            "buffer": f"{buffer}B",
            "queue": sender.queue,
            "access_rate": "2.4Gbps",
        },
        flows=both_ways([{"start_spread": lab.seconds(10), **flow} for flow in flows]),
    )


def needed(lab: Lab) -> int:
    """Return the bytes that paced XCP with C.P. needs: the longest queue of the three links."""
    result = lab.sweep(described(lab, SENDERS["P. XCP"], RULE_OF_THUMB))
    return int(max(float(links(result, name)["max_queue_bytes"].item()) for name in LINKS))


def runs(lab: Lab, buffer: int) -> Sweep:
    """Run every sender with a buffer."""
    return lab.sweep(lambda sender: described(lab, SENDERS[sender], buffer), sender=list(SENDERS))


def fairness(result: Sweep) -> dict[str, float]:
    """Return Jain's index of the goodput of the thirty flows in one direction, by sender."""
    found = {}
    for name in SENDERS:
        goodput = result.flows.filter((pl.col("sender") == name) & ~pl.col("reverse"))[
            "goodput"
        ].to_numpy()
        found[name] = float(goodput.sum() ** 2 / (len(goodput) * (goodput**2).sum()))
    return found


@experiment("pxcp/fig04", "utilisation of the three links of a parking lot")
def fig04(lab: Lab) -> Finding:
    """Reproduce figure 4 (§4.4): with the buffer that narrows measures, and with 10,200 bytes."""
    measured = needed(lab)
    figure, axes = panels(1, 2, width=5, height=3.6)
    claims = [
        near(
            "longest queue of paced XCP with conservative parameters (C.P.)",
            PAPER_BUFFER,
            measured,
            0.25,
            "bytes",
        )
    ]
    data = {}
    for ax, where, buffer in (
        (axes[0][0], "measured", measured),
        (axes[0][1], "paper", PAPER_BUFFER),
    ):
        result = runs(lab, buffer)
        use = {name: [_use(result, name, link) for link in LINKS] for name in SENDERS}
        claims += _claims(f"{buffer} bytes", use)
        for name, entry in SENDERS.items():
            ax.plot(["1", "2", "3"], use[name], "o-" if entry.paced else "s--", ms=3, label=name)
        ax.set(xlabel="link", ylabel="utilisation", ylim=(0, 1), title=f"{buffer} bytes ({where})")
        data[where] = pl.DataFrame(
            [
                {"sender": name, **dict(zip(LINKS, values, strict=True))}
                for name, values in use.items()
            ]
        )
    axes[0][0].legend(fontsize="xx-small", ncols=2)
    return Finding(claims, data, figure)


ALIVE = (
    "it has timeout after timeout, as in the paper, but some windows of a few packets get through; "
    "why ns-2's windows get a tenth of that is not known"
)


def _use(result: Sweep, sender: str, link: str) -> float:
    return float(links(result, link).filter(pl.col("sender") == sender)["utilisation"].item())


def _claims(where: str, use: dict[str, list[float]]) -> list[Claim]:
    def order(text: str, names: list[str], place: Any) -> Claim:
        ranked = sorted(names, key=lambda name: -place(use[name]))
        found = " > ".join(f"{name} {place(use[name]):.3f}" for name in ranked)
        return stated(f"{where}: {text}", " > ".join(names), found, ranked == names)

    return [
        order(
            "order of the paced senders by mean utilisation of links 1 and 2",
            ["P. XCP", "P. NewReno", "P. HSTCP", "P. Reno"],
            lambda values: (values[0] + values[1]) / 2,
        ),
        order(
            "order of the paced senders by utilisation of link 3, which has long flows only",
            ["P. XCP", "P. Reno", "P. NewReno", "P. HSTCP"],
            lambda values: values[2],
        ),
        below(
            f"{where}: paced HSTCP is very low on link 3: utilisation over that of paced NewReno",
            0.6,
            use["P. HSTCP"][2] / use["P. NewReno"][2],
        ),
        below(
            f"{where}: non-paced XCP does not work at all: highest utilisation of the three links",
            0.005,
            max(use["N.P. XCP"]),
            why=ALIVE,
        ),
        above(
            f"{where}: non-paced Reno has the lowest utilisation of the non-paced TCPs on each "
            "link: smallest margin of the others",
            0.0,
            min(
                min(use["N.P. NewReno"][k], use["N.P. HSTCP"][k]) - use["N.P. Reno"][k]
                for k in range(3)
            ),
        ),
    ]


@experiment("pxcp/tab01", "fairness among the thirty flows of the parking lot")
def tab01(lab: Lab) -> Finding:
    """Reproduce table 1 (§4.4): Jain's index of goodput, with the paper's buffer, 10,200 bytes."""
    found = fairness(runs(lab, PAPER_BUFFER))
    claims = [
        near(name, FAIRNESS[name], found[name], 0.1) for name in FAIRNESS if name != "N.P. XCP"
    ]
    rest = [found[name] for name in FAIRNESS if name not in ("P. XCP", "P. HSTCP", "N.P. XCP")]
    claims.append(
        stated(
            "paced XCP is the fairest sender, paced HSTCP the least fair",
            "P. XCP … P. HSTCP",
            f"{found['P. XCP']:.2f}, "
            f"others {min(rest):.2f} to {max(rest):.2f}, {found['P. HSTCP']:.2f}",
            found["P. XCP"] > max(rest) and found["P. HSTCP"] < min(rest),
        )
    )
    data = pl.DataFrame(
        {
            "sender": list(FAIRNESS),
            "paper": list(FAIRNESS.values()),
            "found": [found[name] for name in FAIRNESS],
        }
    )
    return Finding(
        claims,
        {"fairness": data},
        None,
        f"For non-paced XCP (N.P. XCP) {found['N.P. XCP']:.2f} against 0.76 "
        'is "meaningless" (§4.4): it hardly sends.',
    )

"""Long flows and files, §4.3: figure 3."""

from __future__ import annotations

import numpy as np
import polars as pl

from narrows.papers.claims import above, below, stated
from narrows.papers.lab import Lab
from narrows.papers.pxcp.setup import (
    BURSTY_TCP,
    PACED_TCP,
    RATE,
    RTTS,
    RULE_OF_THUMB,
    SENDERS,
    Sender,
    dumbbell,
    links,
    long_flows,
    share,
)
from narrows.papers.registry import Finding, experiment
from narrows.plot import panels
from narrows.scenario import Scenario

SOURCES = [0, 50, 100, 200, 300, 400]
LONG = 40


@experiment("pxcp/fig03", "forty long flows beside sources of files")
def fig03(lab: Lab) -> Finding:
    """Reproduce figure 3 (§4.3): files of 30 packets on average (Pareto, 1.35), silence of 0.2 s.

    Runs last 50 s and are measured from 20 s on.
    """

    def described(sender: Sender, sources: int, buffer: int, long: int = LONG) -> Scenario:
        flows = [long_flows(sender, long)] if long else []
        if sources:
            flows.append(
                {
                    **sender.flow,
                    "count": sources,
                    **RTTS,
                    "files": {"mean": 30, "shape": 1.35, "off": "200ms"},
                }
            )
        return dumbbell(lab, flows, sender.queue, buffer, seconds=50, warmup=20)

    paced_xcp = SENDERS["P. XCP"]
    longest = links(
        lab.sweep(lambda sources: described(paced_xcp, sources, RULE_OF_THUMB), sources=SOURCES)
    )
    queue = {
        sources: int(share(longest, "max_queue_bytes", sources=sources)) for sources in SOURCES
    }
    alone = lab.sweep(
        lambda sources: described(SENDERS["N.P. NewReno"], sources, RULE_OF_THUMB, 0),
        sources=SOURCES[-1:],
    )
    injected = float(alone.flows.filter(~pl.col("reverse"))["throughput"].sum()) / RATE
    seen = links(
        lab.sweep(
            lambda sender, sources: described(SENDERS[sender], sources, queue[sources]),
            sender=list(SENDERS),
            sources=SOURCES,
        )
    ).select("sender", "sources", "utilisation")
    use = {
        name: seen.filter(pl.col("sender") == name).sort("sources")["utilisation"].to_numpy()
        for name in SENDERS
    }
    rising = {name: float(np.polyfit(SOURCES, use[name], 1)[0]) * 400 for name in SENDERS}
    claims = [
        below(
            "the longest queue of paced XCP hardly grows: "
            "with 400 sources over that without sources",
            2.0,
            queue[400] / queue[0],
        ),
        below(
            "short flows inject less than 30 % of the link's rate: "
            "throughput of 400 sources alone over the rate",
            0.3,
            injected,
        ),
        below(
            "paced XCP: utilisation falls as short flows grow: change from 0 to 400 sources, "
            "from a linear fit",
            0.0,
            rising["P. XCP"],
        ),
        above(
            "every paced TCP: utilisation rises: the smallest change",
            0.0,
            min(rising[name] for name in PACED_TCP),
        ),
        above(
            "every non-paced TCP: utilisation rises: the smallest change",
            0.0,
            min(rising[name] for name in BURSTY_TCP),
        ),
        stated(
            "Reno has the lowest mean utilisation of the paced TCPs, and of the non-paced TCPs",
            "P. Reno, N.P. Reno",
            ", ".join(
                min(names, key=lambda name: use[name].mean()) for names in (PACED_TCP, BURSTY_TCP)
            ),
            all(
                min(names, key=lambda name: use[name].mean()).endswith(". Reno")
                for names in (PACED_TCP, BURSTY_TCP)
            ),
        ),
    ]
    figure, axes = panels(1, 2, width=4.8, height=3.4)
    axes[0][0].plot(SOURCES, list(queue.values()), "o-", ms=3)
    axes[0][0].set(
        xlabel="sources of files each way",
        ylabel="longest queue of P. XCP, C.P. (bytes)",
        ylim=(0, None),
    )
    for name, entry in SENDERS.items():
        axes[0][1].plot(SOURCES, use[name], "o-" if entry.paced else "s--", ms=3, label=name)
    axes[0][1].set(xlabel="sources of files each way", ylabel="utilisation", ylim=(0, 1))
    axes[0][1].legend(fontsize="xx-small", ncols=2)
    return Finding(
        claims, {"queue": longest.select("sources", "max_queue_bytes"), "utilisation": seen}, figure
    )

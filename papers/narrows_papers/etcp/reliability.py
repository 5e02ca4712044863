"""§IV: what is lost is sent again, within a round trip, at any number of losses."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from narrows.plot import panels
from narrows_papers.bench import Bench, bottleneck
from narrows_papers.claims import interval, near
from narrows_papers.etcp.setup import later, loss_of, mean, scenario
from narrows_papers.readings import NOTHING, most
from narrows_papers.registry import Finding, experiment

RTT, SEEDS, LOSS = 0.1, 5, "3e-4"
# Half of its capacity is offered, and so few packets are lost on the wire that none is lost twice.
OFFERED: dict[str, Any] = {"cc": "etcp", "app": {"rate": "50Mbps"}}


@experiment("etcp/sec4", "reliable delivery: how soon a lost packet is there")
def sec4(bench: Bench) -> Finding:
    """Measure §IV's recovery: one connection at 50 of 100 Mbps, and one that fills 1 Gbps."""
    single = bench.sweep(
        scenario(bench, "100Mbps", "100ms", [OFFERED], 60, loss=LOSS),
        seeds=max(2, bench.seeds(SEEDS)),
    ).flows
    delays = (single["max_packet_delay"] / RTT).to_list()
    full = bench.run(scenario(bench, "1Gbps", "100ms", [{"cc": "etcp"}], 60, sample="20ms"))
    flow, link = full.series("flow_series"), bottleneck(full)
    counts = full.flows.row(0, named=True)
    end = later(link, 0.5)
    losses = float(end["drops"].sum()) / float(np.ptp(end["time"].to_numpy())) * RTT
    window = mean(later(flow, 0.5), "window")
    behind = _behind(flow)
    claims = [
        near(
            "a packet that is lost once reaches the application a round trip later than others: "
            "the longest time from the application at one end to that at the other, in round "
            f"trips, mean over seeds (50 of 100 Mbps offered, {LOSS} lost on the wire)",
            1.5,
            float(np.mean(delays)),
            0.05,
            "RTT",
            f"seeds give {interval(delays)}",
            since="numbers of packets to tell a loss, gaps and queues come on top",
            by="half a round trip to arrive, and one for the retransmission, §IV",
        ),
        NOTHING.claim(
            "nothing is sent again in vain: packets that arrive twice over those sent again",
            counts["duplicates"] / counts["retransmitted"],
            says="not given",
        ),
        most(4, "a packet lost four times takes four").claim(
            "delivery in order keeps up with arrivals: the longest that the application waits for "
            "a lost packet, in round trips, once slow start's losses are recovered",
            float(behind["behind"].to_numpy()[len(behind) // 2 :].max()),
            says="not given",
        ),
    ]
    figure, axes = panels(width=5.5)
    axes[0][0].plot(behind["time"], behind["behind"], lw=0.6)
    axes[0][0].set(xlabel="time (s)", ylabel="in order behind\narrivals (RTTs)", ylim=(0, None))
    note = (
        f"At 1 Gbps {loss_of(end):.4f} of the packets are lost, {losses:.0f} in a round trip with "
        f"a window of {window:,.0f}, among them as many of those sent again, which take a round "
        f"trip each time: {counts['retransmitted']:,} were sent again for {counts['lost']:,} lost."
    )
    return Finding(claims, {"behind": behind, "delays": single}, figure, note)


def _behind(flow: pl.DataFrame) -> pl.DataFrame:
    """Return for each sample how long ago as much had arrived as is in order now, in RTTs."""
    time = flow["time"].to_numpy()
    arrived, ordered = (flow[name].cum_sum().to_numpy() for name in ("goodput", "in_order"))
    then = np.interp(ordered, arrived, time)
    return pl.DataFrame({"time": time, "behind": (time - then) / RTT})

"""Figure 7's flows with different round trips."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from narrows.plot import panels
from narrows.types import Floats
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, measured
from narrows_papers.ltcp.setup import PROTOCOLS, flow_series, scenario
from narrows_papers.ltcp.sharing import COMINGS_AND_GOINGS, END
from narrows_papers.registry import Finding, experiment

# Of figure 7's flows the second and the fourth have twice the RTT.
RTTS = ["70ms", "140ms", "70ms", "140ms"]


@experiment("ltcp/unequal", "flows that come and go, every second one with twice the RTT")
def unequal(bench: Bench) -> Finding:
    """Run figure 7's flows with 70 and 140 ms, of LTCP and of TCP."""
    rates = {name: _rates(bench, cc) for name, cc in PROTOCOLS.items()}
    figure, axes = panels(1, len(PROTOCOLS), width=4.4)
    shares: dict[str, list[Floats]] = {}
    for ax, (name, (time, rate)) in zip(axes[0], rates.items(), strict=True):
        shares[name] = [_last(time, rate, *phase) for phase in _phases()]
        for number, rtt in enumerate(RTTS):
            ax.plot(time, rate[number], lw=0.6, label=f"{number + 1}: {rtt[:-2]} ms")
        ax.set(title=name, xlabel="time (s)", ylabel="goodput (Mbps)", ylim=(0, 1000))
        ax.legend(fontsize="x-small")
    indices = {name: [_jain(share) for share in shares[name]] for name in shares}
    rows = [
        (name, ends, _jain(share), " ".join(f"{mbps:.0f}" for mbps in share))
        for name in shares
        for (_, ends), share in zip(_phases(), shares[name], strict=True)
    ]
    table = pl.DataFrame(rows, schema=["law", "until", "jain", "mbps"], orient="row")
    note = (
        "§III asks for fair shares of flows with similar RTTs; the conclusion does not say so. "
        "Shares are means from 25 to 5 s before the end of a phase, as in figure 7."
    )
    return Finding(_claims(shares, indices), {"shares": table}, figure, note)


def _claims(shares: dict[str, list[Floats]], indices: dict[str, list[float]]) -> list[Claim]:
    words = {
        name: "; ".join("/".join(f"{mbps:.0f}" for mbps in share) for share in shares[name])
        for name in shares
    }
    return [
        measured(
            "flows of LTCP share the link equitably (§VI): with 70 and 140 ms in turns, shares in "
            "Mbps by phase",
            "equitably",
            words["LTCP"],
            f"Jain's index is {min(indices['LTCP']):.2f} to {max(indices['LTCP']):.2f}; of TCP, "
            f"with {words['TCP']}, {min(indices['TCP']):.2f} to {max(indices['TCP']):.2f}",
        ),
    ]


def _phases() -> list[tuple[float, float]]:
    """Return from when to when so many flows are there, where there are several."""
    times = sorted({time for pair in COMINGS_AND_GOINGS for time in pair if time} | {0, END})
    return [
        (begins, ends)
        for begins, ends in pairwise(times)
        if sum(_is_there(pair, begins, ends) for pair in COMINGS_AND_GOINGS) > 1
    ]


def _is_there(pair: tuple[float, float | None], begins: float, ends: float) -> bool:
    start, stop = pair
    return start <= begins and (stop is None or stop >= ends)


def _rates(bench: Bench, cc: str) -> tuple[Floats, Floats]:
    """Return times at full scale, and goodputs in Mbps in shape (flows, samples)."""
    flows = []
    for (start, stop), rtt in zip(COMINGS_AND_GOINGS, RTTS, strict=True):
        flow: dict[str, Any] = {
            "cc": cc,
            "rtt": rtt,
            "start": bench.seconds(start),
            "start_spread": "0s",
        }
        flows.append(flow if stop is None else flow | {"stop": bench.seconds(stop)})
    result = bench.run(scenario(bench, "1Gbps", flows, END, warmup=0, sample="1s"))
    rows = [flow_series(result, number) for number in range(len(flows))]
    rate = np.array([row["goodput"].to_numpy() for row in rows]) / 1e6
    return rows[0]["time"].to_numpy() / bench.scale, np.nan_to_num(rate)


def _last(time: Floats, rate: Floats, begins: float, ends: float) -> Floats:
    """Return the shares of the flows that are there, from 25 to 5 s before a phase's end."""
    there = [_is_there(pair, begins, ends) for pair in COMINGS_AND_GOINGS]
    late = (time > ends - 25) & (time <= ends - 5)
    return np.asarray(rate[there][:, late].mean(axis=1))


def _jain(share: Floats) -> float:
    return float(share.sum() ** 2 / (len(share) * (share**2).sum()))

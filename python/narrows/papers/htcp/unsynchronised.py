"""Sources with different RTTs that do not all see a drop (§2.1): figures 6 and 7."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl

from narrows._types import Floats
from narrows.papers.claims import below, stated
from narrows.papers.htcp.setup import events, windows
from narrows.papers.lab import Lab
from narrows.papers.registry import Finding, experiment
from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.theory import aimd

# The paper gives no numbers. We take a queue that is small compared with every bandwidth-delay
# product, as §2.1 asks for, and some web traffic.
RATE = 100e6
QUEUE = 40
RTTS = [50, 80, 120, 200]
WEB_USERS = 60
SECONDS = 1200
SEEDS = 3
PACKET_BITS = 8000
BETA = 0.5


class Measured:
    """The congestion events of three runs, one after another, and the model's windows for them."""

    def __init__(self, lab: Lab) -> None:
        flows: list[dict[str, Any]] = [{"cc": "sack", "rtt": f"{rtt}ms"} for rtt in RTTS]
        flows.append({"cc": "sack", "count": WEB_USERS, "web": {"think": "2s"}})
        network = Scenario(
            tcp="ns2",
            duration=lab.seconds(SECONDS),
            warmup="0s",
            sample="20ms",
            dumbbell={"rate": "100Mbps", "rtt": "50ms", "buffer": f"{QUEUE}p"},
            flows=flows,
        )
        parts = []
        for seed in range(1, SEEDS + 1):
            time, window = windows(lab.sweep(network, seeds=[seed], series=True), len(RTTS))
            settled = time > 30 * min(1.0, lab.scale * 10)
            parts.append(events(window[:, settled], time[settled], 0.2))
        self.before = np.concatenate([before for _, before, _ in parts])
        self.drops = np.concatenate([drops for _, _, drops in parts])
        self.alpha = 1000.0 / (np.array(RTTS) + QUEUE * PACKET_BITS / RATE * 500)
        self.beta = np.full(len(RTTS), BETA)
        self.probability = self.drops.mean(axis=0)
        self.simulated = self.before.mean(axis=0)
        # At congestion the rates add up to the link's, less what the web users take. The model
        # keeps the sum of windows constant; we keep the sum of rates.
        model = aimd.random_products(self.alpha, self.beta, self.drops, self.before[0], 20_000)[
            500:
        ]
        self.model = self._scaled(model.mean(axis=0))
        self.analytic = self._scaled(aimd.mean_shares(self.alpha, self.beta, self.probability))

    def _scaled(self, shares: Floats) -> Floats:
        rates = 1000.0 / np.array(RTTS)
        return np.asarray(shares * (self.simulated @ rates) / (shares @ rates))


@cache
def _measured(lab: Lab) -> Measured:
    return Measured(lab)


@experiment(
    "htcp/fig06", "unsynchronised sources: mean windows by simulation, random matrices and analysis"
)
def fig06(lab: Lab) -> Finding:
    """Reproduce figure 6: eqs. 10 to 15, with the drops as they were observed."""
    seen = _measured(lab)
    shares = {
        "simulation": seen.simulated,
        "random matrices": seen.model,
        "analytic mean": seen.analytic,
    }
    share = {name: values / values.sum() for name, values in shares.items()}
    claims = [
        below(
            "random matrices against the analytic mean: largest relative difference of a share",
            0.05,
            _apart(share["random matrices"], share["analytic mean"]),
        ),
        below(
            "simulation against the analytic mean: largest relative difference of a share",
            0.05,
            _apart(share["simulation"], share["analytic mean"]),
            why="the model assumes that drops are independent of windows; "
            f"here {_dependence(seen)}",
        ),
        stated(
            "not every source sees a drop at every event: "
            "share of events at which a source sees one",
            "below 1",
            ", ".join(f"{rtt} ms {p:.2f}" for rtt, p in zip(RTTS, seen.probability, strict=True)),
            bool((seen.probability < 1).all()),
        ),
    ]
    data = pl.DataFrame({"rtt_ms": RTTS, "drop_probability": seen.probability} | shares)
    figure, axes = panels()
    for marker, (name, values) in zip("+.o", shares.items(), strict=True):
        axes[0][0].plot(
            RTTS, values, marker, ms=9 if marker == "+" else 5, fillstyle="none", label=name
        )
    axes[0][0].set(xlabel="RTT (ms)", ylabel="mean window (packets)", ylim=(0, None))
    axes[0][0].legend(fontsize="x-small")
    note = (
        f"100 Mbps, {QUEUE} packets of queue, RTTs {', '.join(map(str, RTTS))} ms, {WEB_USERS} web "
        f"users who think for 2 s; {len(seen.before)} congestion "
        f"events in {SEEDS} runs. The paper does not give its "
        "network. The matrices of eq. 14 keep the sum of windows constant, but with different RTTs "
        "the link keeps the sum of rates constant. All three are therefore scaled to the "
        "simulation's sum of rates, and their shares are compared."
    )
    return Finding(claims, {"means": data}, figure, note)


@experiment("htcp/fig07", "the empirical mean of windows converges")
def fig07(lab: Lab) -> Finding:
    """Reproduce figure 7: the running mean of W(k) against its limit."""
    seen = _measured(lab)
    mean = aimd.running_mean(seen.before)
    half = mean[len(mean) // 2 :]
    drift = float((np.ptp(half, axis=0) / mean[-1]).max())
    off = _apart(mean[-1] / mean[-1].sum(), seen.analytic / seen.analytic.sum())
    claims = [
        below(
            "the mean converges: its range in the second half of the events over its final value, "
            "the largest of any source",
            0.1,
            drift,
        ),
        below(
            "it converges to the analytic mean: largest relative difference of a share",
            0.05,
            off,
            why=f"as in figure 6: {_dependence(seen)}",
        ),
    ]
    figure, axes = panels(1, 1, width=6)
    for number, rtt in enumerate(RTTS):
        axes[0][0].plot(mean[:, number], lw=0.8, color=f"C{number}", label=f"{rtt} ms")
        axes[0][0].axhline(seen.analytic[number], color=f"C{number}", lw=0.5, ls="--")
    axes[0][0].set(
        xlabel="congestion event k", ylabel="mean of W(0) … W(k) (packets)", ylim=(0, None)
    )
    axes[0][0].legend(fontsize="x-small")
    data = pl.DataFrame(
        {"event": np.arange(len(mean))}
        | {f"mean_{rtt}ms": mean[:, n] for n, rtt in enumerate(RTTS)}
    )
    return Finding(claims, {"means": data}, figure, "Dashed: the analytic mean.")


def _apart(found: Floats, expected: Floats) -> float:
    return float(np.abs(found / expected - 1).max())


def _dependence(seen: Measured) -> str:
    larger = [
        seen.before[seen.drops[:, n], n].mean() / seen.before[~seen.drops[:, n], n].mean() - 1
        for n in range(len(RTTS))
    ]
    return (
        "a source's window is "
        + ", ".join(f"{value:+.0%}" for value in larger)
        + " larger at events at which it sees a drop (by RTT)"
    )

"""Sources with different RTTs that do not all see a drop (§2.1): figures 6 and 7."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.theory import aimd
from narrows.types import Floats
from narrows_papers.bench import Bench
from narrows_papers.claims import interval, mean_below, stated
from narrows_papers.htcp.setup import events, windows
from narrows_papers.readings import SAME
from narrows_papers.registry import Finding, experiment

# Figure 5, of which we have the caption only, gives its network. We take a queue that is small
# compared with every bandwidth-delay product, as §2.1 asks for, and some web traffic.
RATE = 100e6
QUEUE = 40
RTTS = [50, 80, 120, 200]
WEB_USERS = 60
SECONDS = 1200
SEEDS = 3
PACKET_BITS = 8000
BETA = 0.5


def _beside_web_users(bench: Bench, rtt: str, sources: list[dict[str, Any]]) -> Scenario:
    """Return the network of long sources beside web users, whose RTT is `rtt`."""
    return Scenario(
        tcp="ns2",
        duration=bench.seconds(SECONDS),
        warmup="0s",
        sample="20ms",
        dumbbell={"rate": "100Mbps", "rtt": rtt, "buffer": f"{QUEUE}p"},
        flows=[*sources, {"cc": "sack", "count": WEB_USERS, "web": {"think": "2s"}}],
    )


class Measured:
    """The congestion events of three runs, one after another, and the model's windows for them."""

    def __init__(self, bench: Bench) -> None:
        network = _beside_web_users(
            bench, "50ms", [{"cc": "sack", "rtt": f"{rtt}ms"} for rtt in RTTS]
        )
        parts = []
        for seed in range(1, SEEDS + 1):
            time, window = windows(bench.sweep(network, seeds=[seed], series=True), len(RTTS))
            settled = time > 30 * min(1.0, bench.scale * 10)
            parts.append(events(window[:, settled], time[settled], 0.2))
        self.before = np.concatenate([before for _, before, _ in parts])
        self.drops = np.concatenate([drops for _, _, drops in parts])
        self.alpha = 1000.0 / (np.array(RTTS) + QUEUE * PACKET_BITS / RATE * 500)
        self.beta = np.full(len(RTTS), BETA)
        self.probability = self.drops.mean(axis=0)
        self.simulated = _share(self.before.mean(axis=0))
        model = aimd.random_products(self.alpha, self.beta, self.drops, self.before[0], 20_000)[
            500:
        ]
        self.model = _share(model.mean(axis=0))
        self.analytic = aimd.mean_shares(self.alpha, self.beta, self.probability)


@cache
def _measured(bench: Bench) -> Measured:
    return Measured(bench)


@experiment(
    "htcp/fig06", "unsynchronised sources: mean windows by simulation, random matrices and analysis"
)
def fig06(bench: Bench) -> Finding:
    """Reproduce figure 6: eqs. 10 to 15, with the drops as they were observed."""
    seen = _measured(bench)
    shares = {
        "simulation": seen.simulated,
        "random matrices": seen.model,
        "analytic mean": seen.analytic,
    }
    claims = [
        SAME.claim(
            "random matrices against the analytic mean: largest relative difference of a share",
            _apart(shares["random matrices"], shares["analytic mean"]),
            says="on each other in the figure",
        ),
        SAME.claim(
            "simulation against the analytic mean: largest relative difference of a share",
            _apart(shares["simulation"], shares["analytic mean"]),
            says="on each other in the figure",
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
    axes[0][0].set(xlabel="RTT (ms)", ylabel="share of the mean windows", ylim=(0, None))
    axes[0][0].legend(fontsize="x-small")
    note = (
        f"100 Mbps, {QUEUE} packets of queue, RTTs {', '.join(map(str, RTTS))} ms, {WEB_USERS} web "
        f"users who think for 2 s; {len(seen.before)} congestion "
        f"events in {SEEDS} runs. The paper does not give its "
        "network. The matrices of eq. 14 keep the sum of windows constant, but with different RTTs "
        "the link keeps the sum of rates constant, so only shares of the windows are compared."
    )
    return Finding(claims, {"means": data}, figure, note)


@experiment("htcp/fig07", "the empirical mean of windows converges")
def fig07(bench: Bench) -> Finding:
    """Reproduce figure 7: the running mean of W(k) against its limit."""
    seen = _measured(bench)
    mean = aimd.running_mean(seen.before)
    half = mean[len(mean) // 2 :]
    drift = float((np.ptp(half, axis=0) / mean[-1]).max())
    claims = [
        SAME.claim(
            "the mean converges: its range in the second half of the events over its final value, "
            "the largest of any source",
            drift,
            says="converges",
        ),
    ]
    figure, axes = panels(1, 1, width=6)
    total = mean[-1].sum()
    for number, rtt in enumerate(RTTS):
        axes[0][0].plot(mean[:, number], lw=0.8, color=f"C{number}", label=f"{rtt} ms")
        axes[0][0].axhline(seen.analytic[number] * total, color=f"C{number}", lw=0.5, ls="--")
    axes[0][0].set(
        xlabel="congestion event k", ylabel="mean of W(0) … W(k) (packets)", ylim=(0, None)
    )
    axes[0][0].legend(fontsize="x-small")
    data = pl.DataFrame(
        {"event": np.arange(len(mean))}
        | {f"mean_{rtt}ms": mean[:, n] for n, rtt in enumerate(RTTS)}
    )
    return Finding(claims, {"means": data}, figure, "Dashed: the analytic shares of the last sum.")


def _share(values: Floats) -> Floats:
    return np.asarray(values / values.sum())


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


# Sources of equal RTTs whose α and β differ, with k = 2.
FOUR = np.array([0.5, 0.375, 0.25, 0.125])
MANY_SEEDS = 10


@experiment("htcp/fixed", "unsynchronised sources: the fixed point is fair if α = k(1 − β)")
def fixed(bench: Bench) -> Finding:
    """Check §2.1's fair fixed point with random matrices, and simulate it over equal RTTs."""
    off = _random_networks(bench)
    before, drops = _four(bench)
    shares = np.array([_share(windows.mean(axis=0)) for windows in before])
    probability = np.concatenate(drops).mean(axis=0)
    analytic = aimd.mean_shares(2 * (1 - FOUR), FOUR, probability)
    by_source = ", ".join(
        f"β = {beta:g} {interval(values.tolist())}"
        for beta, values in zip(FOUR, shares.T, strict=True)
    )
    off_fair = np.abs(shares.mean(axis=0) * len(FOUR) - 1)
    away, widest = float(off_fair.max()), int(off_fair.argmax())
    claims = [
        SAME.claim(
            "random matrices, each set of drops equally likely, α = k(1 − β), random k and β: "
            f"largest difference of a mean window from their mean, {len(off)} networks of 2 to 6 "
            "sources, 20,000 events",
            max(off),
            says="fair",
        ),
        stated(
            "simulated sources with α = 2(1 − β) over equal RTTs have equal mean windows at "
            "congestion: share of the windows, largest relative difference from a quarter",
            SAME.paper("fair"),
            f"{away:.3f}: {by_source}",
            mean_below(SAME.bound, [abs(share * len(FOUR) - 1) for share in shares[:, widest]]),
            "the seeds' interval of the largest has the bound in it; shares of events at which "
            "sources see a drop are "
            + ", ".join(f"{p:.2f}" for p in probability)
            + ", which by the formula makes shares of "
            + ", ".join(f"{share:.3f}" for share in analytic)
            + "; what else makes the difference is not known",
        ),
    ]
    figure, axes = panels()
    axes[0][0].plot(FOUR, shares.T, "k.", ms=3)
    axes[0][0].plot(FOUR, shares.mean(axis=0), "o", ms=6, fillstyle="none", label="simulation")
    axes[0][0].axhline(0.25, color="k", lw=0.5, ls="--", label="fair")
    axes[0][0].set(xlabel="β", ylabel="share of the mean windows", ylim=(0, None))
    axes[0][0].legend(fontsize="x-small")
    note = (
        f"100 Mbps, {QUEUE} packets of queue, RTTs of 100 ms, {WEB_USERS} web users, "
        f"{len(before)} seeds of {SECONDS} s (dots)."
    )
    data = pl.DataFrame(
        {"beta": FOUR, "share": shares.mean(axis=0), "drop_probability": probability}
    )
    return Finding(claims, {"shares": data}, figure, note)


def _random_networks(bench: Bench) -> list[float]:
    """Return the largest difference of a mean window from their mean, for random networks."""
    random = np.random.default_rng(1)
    found = []
    for _ in range(max(10, round(60 * bench.scale))):
        n = int(random.integers(2, 7))
        beta = random.uniform(0.25, 0.9, n)
        alpha = random.uniform(1, 5) * (1 - beta)
        drops = [[bool(subset >> source & 1) for source in range(n)] for subset in range(1, 2**n)]
        model = aimd.random_products(
            alpha, beta, drops, np.ones(n), 20_000, seed=int(random.integers(10**6))
        )
        mean = model[500:].mean(axis=0)
        found.append(float(np.abs(mean / mean.mean() - 1).max()))
    return found


def _four(bench: Bench) -> tuple[list[Floats], list[Any]]:
    """Run four sources of equal RTTs beside web users; return windows and drops by seed."""
    network = _beside_web_users(
        bench, "100ms", [{"cc": f"aimd:alpha={2 * (1 - b):g}:beta={b:g}"} for b in FOUR]
    )
    before, drops = [], []
    for seed in range(1, bench.seeds(MANY_SEEDS) + 1):
        time, window = windows(bench.sweep(network, seeds=[seed], series=True), len(FOUR))
        settled = time > 30 * min(1.0, bench.scale * 10)
        _, seen, dropped = events(window[:, settled], time[settled], 0.2)
        before.append(seen)
        drops.append(dropped)
    return before, drops

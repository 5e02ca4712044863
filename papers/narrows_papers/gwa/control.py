"""The control law, §3 and §4: eqs. 3 to 8."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from numpy.typing import NDArray

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.sweeps import Sweep
from narrows.theory.gwa import fluid, overshoot, window_settles
from narrows.types import Floats
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, below, near, stated
from narrows_papers.readings import FULL, most
from narrows_papers.registry import Finding, experiment

FORWARD, BACKWARD = 0.04, 0.06
DELAY = FORWARD + BACKWARD
CAPACITY = 1250.0
BDP = CAPACITY * DELAY


@experiment(
    "gwa/sec3",
    "the Smith predictor: first order, no overshoot, no loss, "
    "a full link with a bandwidth-delay product",
)
def sec3(bench: Bench) -> Finding:
    """Integrate eqs. 3 to 7 (§3), and simulate eq. 8 (§4) and the window form of eqs. 1 and 2.

    The path has 10 Mbps and 100 ms: a bandwidth-delay product of 125 packets.
    """
    time, _, stopped = fluid(BDP, FORWARD, BACKWARD, lambda t: 0.0, 8 * DELAY)
    expected = np.where(time > FORWARD, BDP * (1 - np.exp(-(time - FORWARD) / DELAY)), 0.0)
    random = np.random.default_rng(1)
    worst = -np.inf
    for _ in range(20):
        # The service rate changes every 50 ms, and is 0 for a third of the time.
        levels = random.uniform(0, 2 * CAPACITY, 60) * (random.uniform(size=60) > 1 / 3)
        queue = fluid(BDP, FORWARD, BACKWARD, _steps(levels), 3.0, step=2e-4)[2]
        worst = max(worst, overshoot(queue, BDP))
    # The service stops at once for a second, ten round trips, of every two.
    stops = fluid(BDP, FORWARD, BACKWARD, lambda t: CAPACITY * (t % 2 < 1), 6.0, step=2e-4)[2]
    _, rate, _ = fluid(BDP, FORWARD, BACKWARD, lambda t: CAPACITY, 2.0)
    _, double, _ = fluid(2 * BDP, FORWARD, BACKWARD, lambda t: CAPACITY, 2.0)
    shares = [0.25, 0.5, 0.75, 1.0, 1.5, 2.0]
    found = bench.sweep(lambda share: _window_form(share, "even"), share=shares)
    bursty = bench.sweep(lambda share: _window_form(share, "none"), share=[1.0])
    use = dict(zip(found.runs["share"].to_list(), found.runs["utilisation"].to_list(), strict=True))
    queue_of = dict(
        zip(found.runs["share"].to_list(), found.runs["mean_queue"].to_list(), strict=True)
    )
    wanted = {share: window_settles(share * BDP, CAPACITY, DELAY) for share in shares}
    claims = [
        *_claims_of_equations(time, stopped, expected, worst, stops, rate, double),
        *_claims_of_windows(shares, found, bursty, use, queue_of, wanted),
        *_claims_of_rate_sender(bench),
    ]
    figure = _draw_sec3(time, stopped, expected, shares, use, wanted)
    data = pl.DataFrame(
        {
            "share": shares,
            "utilisation": [use[share] for share in shares],
            "queue": [queue_of[share] for share in shares],
        }
    )
    return Finding(claims, {"window": data}, figure)


def _claims_of_equations(
    time: Floats,
    stopped: Floats,
    expected: Floats,
    worst: float,
    stops: Floats,
    rate: Floats,
    double: Floats,
) -> list[Claim]:
    """Return the claims of gwa/sec3 that are judged by the equations."""
    return [
        most(0.002, "twice the integration's step over d").claim(
            "first order: the queue without service against q*(1 − e^(−(t − d')/d)), largest "
            "difference over q*",
            float(np.abs(stopped - expected).max() / BDP),
            says="first order",
        ),
        stated(
            "the queue without service is monotone, without overshoot",
            "never falls",
            f"smallest step {np.diff(stopped).min():.2g}",
            bool(np.diff(stopped).min() >= -1e-9),
        ),
        near(
            "settled after four round trips: queue over its target q*",
            1 - math.exp(-4),
            float(stopped[np.searchsorted(time, FORWARD + 4 * DELAY)] / BDP),
            0.005,
            since="step of the integration",
            by="1 − e⁻⁴; the paper says that the transient is over",
        ),
        below(
            "the buffer never drops a packet, whatever the service (eq. 4): largest excess of the "
            "queue over its target, random service that is zero for a third of the time",
            1e-6,
            worst,
            "packets",
        ),
        below(
            "the buffer never drops a packet, even if the bandwidth goes abruptly to zero (§4): "
            "largest excess of the queue over its target if it is zero for a second of every two",
            1e-6,
            overshoot(stops, BDP),
            "packets",
        ),
        *_claims_of_rates(rate, double),
    ]


def _claims_of_rates(rate: Floats, double: Floats) -> list[Claim]:
    """Return the claims of gwa/sec3 on the rate form, with one product of buffer and with two."""
    return [
        near(
            "the rate form (eq. 7, k = 1/d) fills the link if the buffer is a bandwidth-delay "
            "product: utilisation",
            1.0,
            float(rate[-1] / CAPACITY),
            0.005,
            since="the paper says 100 %",
            why="in equilibrium r(d + 1/k) = q* − q: "
            "with k = 1/d eq. 7 needs two bandwidth-delay products",
        ),
        near(
            "the rate form with two bandwidth-delay products: utilisation",
            1.0,
            float(double[-1] / CAPACITY),
            0.005,
            since="step of the integration",
            by="r(d + 1/k) = q* − q",
        ),
    ]


def _claims_of_windows(
    shares: list[float],
    found: Sweep,
    bursty: Sweep,
    use: dict[Any, Any],
    queue_of: dict[Any, Any],
    wanted: dict[float, tuple[float, float]],
) -> list[Claim]:
    """Return the claims of gwa/sec3 that packets are judged by."""
    return [
        FULL.claim(
            "the window form (eqs. 1, 2) fills the link with one bandwidth-delay product: "
            "simulated utilisation, paced, after slow start",
            use[1.0],
            says="100 %",
        ),
        FULL.claim(
            "the window form without pacing fills the link with one bandwidth-delay product, too",
            float(bursty.runs["utilisation"].item()),
            why=CLUMPS,
            says="100 %",
        ),
        most(1 / 31, "a packet of 31").claim(
            "with a smaller buffer utilisation is q*/(c·d) (eq. 8): largest difference",
            max(abs(use[share] - wanted[share][1] / CAPACITY) for share in shares if share < 1),
            says="none",
        ),
        most(2, "windows and queues are whole packets").claim(
            "with a larger buffer half of the excess is queue (§6.1): largest difference",
            max(abs(queue_of[share] - 1 - wanted[share][0]) for share in shares if share > 1),
            "packets",
            says="none",
        ),
        stated(
            "nothing is lost at any buffer: drops of the simulated flow",
            "0",
            f"{int(found.links['drops'].sum())}",
            int(found.links["drops"].sum()) == 0,
        ),
    ]


def _draw_sec3(
    time: Floats,
    stopped: Floats,
    expected: Floats,
    shares: list[float],
    use: dict[Any, Any],
    wanted: dict[float, tuple[float, float]],
) -> Figure:
    """Draw the figure of gwa/sec3."""
    figure, axes = panels(1, 2, width=4.6)
    axes[0][0].plot(time / DELAY, stopped / BDP, label="eq. 7, no service")
    axes[0][0].plot(time / DELAY, expected / BDP, "k:", label="first order")
    axes[0][0].set(xlabel="time (round trips)", ylabel="queue over its target")
    axes[0][0].legend(fontsize="x-small")
    axes[0][1].plot(shares, [use[share] for share in shares], "o", label="packets")
    axes[0][1].plot(
        shares, [wanted[share][1] / CAPACITY for share in shares], "k:", label="min(1, q*/(c·d))"
    )
    axes[0][1].set(xlabel="buffer (bandwidth-delay products)", ylabel="utilisation", ylim=(0, 1.05))
    axes[0][1].legend(fontsize="x-small")
    return figure


CLUMPS = (
    "eq. 1 keeps the sum of outstanding packets and queue constant, so r(t) − c = −(r(t − d) − c) "
    "while packets wait: the clumps that slow start leaves are sent again and again, neither "
    "damped nor growing"
)


def _steps(levels: NDArray[np.float64]) -> Callable[[float], float]:
    """Return a service rate that changes every 50 ms, as a function of time."""
    return lambda time: float(levels[int(time / 0.05)])


def _claims_of_rate_sender(bench: Bench) -> list[Claim]:
    """Return the claims of gwa/sec3 on eq. 7 as a sender of packets, `gwa-rate`."""
    shares = [0.5, 1.0, 2.0]
    found = bench.sweep(lambda share: _window_form(share, "none", "gwa-rate"), share=shares)
    use = dict(zip(shares, found.runs["utilisation"].to_list(), strict=True))
    lost = int(found.links["drops"].sum())
    return [
        *(
            near(
                f"eq. 7 as a sender of packets, with {share:g} bandwidth-delay products: "
                "utilisation",
                share / 2,
                use[share],
                0.03,
                since="whole packets, of which half a product here has 31 in flight",
                by="r(d + 1/k) = q* − q with k = 1/d",
            )
            for share in shares
        ),
        stated("eq. 7 as a sender of packets loses nothing", "0", f"{lost}", lost == 0),
    ]


def _window_form(share: float, pacing: str, cc: str = "gwa+reno") -> Scenario:
    """Describe one flow that slow start brings to the advertised window before the measurement.

    The router is told the number of flows.
    """
    return Scenario(
        tcp="ns2",
        duration="10s",
        warmup="1s",
        sample="0s",
        dumbbell={
            "rate": "10Mbps",
            "rtt": f"{DELAY * 1e3:g}ms",
            "buffer": f"{round(share * BDP * 1000)}B",
            "queue": "gwa-rr:flows=1",
        },
        flows=[{"cc": cc, "start_spread": "0s", "pacing": pacing, "max_window": "1000p"}],
    )

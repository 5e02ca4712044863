"""XCP, simulated packet by packet, against its fluid model and the bound of its theorem 1."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from narrows import Scenario, run
from narrows.theory.xcp import LARGEST_ALPHA, beta, fluid, phase_margin

RTT = 0.08


def half_leaves(alpha: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Run twenty flows of which ten stop at 12 s.

    Return utilisation and queue (packets) for each RTT from then on.
    """
    flow = {"cc": "xcp+reno", "count": 10, "start_spread": "1s", "pacing": "even"}
    scenario = Scenario(
        tcp="ns2",
        duration="24s",
        sample=f"{RTT}s",
        dumbbell={
            "rate": "100Mbps",
            "rtt": f"{RTT}s",
            "buffer": "4000p",
            "queue": f"xcp:alpha={alpha}:beta={beta(alpha):.6f}",
        },
        flows=[flow, {**flow, "stop": "12s"}],
    )
    link = run(scenario).link_series
    rows = link.filter((link["link"] == 0) & (link["time"] > 12))
    return rows["utilisation"].to_numpy(), rows["queue"].to_numpy()


def test_the_link_fills_again_as_the_fluid_model_does() -> None:
    use, queue = half_leaves(0.2)
    # Half of the traffic is gone one round trip after the flows stop. The router learns of this one
    # interval later and acts in the interval after that.
    gone = int(np.argmax(use < 0.6))
    _, rate, _ = fluid(0.2, beta(0.2), 0.5, 2.5, RTT, step=RTT / 80)
    model = np.concatenate([[0.5, 0.5], rate[::80]])[:25]
    assert np.abs(use[gone : gone + 25] - model).max() < 0.08, list(
        zip(use[gone : gone + 25].round(3), model.round(3), strict=True)
    )
    assert queue.max() < 30


@pytest.mark.parametrize(("alpha", "settles"), [(0.2, True), (0.4, True), (0.9, False)])
def test_it_settles_where_theorem_1_says_so(alpha: float, settles: bool) -> None:
    assert (alpha < LARGEST_ALPHA) == (phase_margin(alpha, beta(alpha)) > 0) == settles
    use, queue = half_leaves(alpha)
    late = use[len(use) // 2 :]
    assert (late.std() < 0.01) == settles, f"{late.std()}"
    assert (queue[len(queue) // 2 :].max() < 30) == settles

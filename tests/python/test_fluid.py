"""Equations with delays, fluid models, stability and mixtures, against what is known of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import lambertw

from narrows.theory import delay, fluid, fluid_queues, mixtures, response, stability
from narrows.theory.fluid import Group
from narrows.theory.fluid_queues import Small, equal_loss, poisson_loss, power_loss
from narrows.types import Floats

Loss = Callable[[float], float]


def steps_exact(t: float) -> float:
    """Return x(t) of x′ = −x(t − 1), 1 before 0, by the method of steps."""
    terms = ((-1.0) ** k * (t - k + 1) ** k / math.factorial(k) for k in range(int(t) + 2))
    return float(sum(terms))


@pytest.mark.parametrize(("steps", "error"), [(5, 1.83e-6), (10, 1.14e-7), (20, 7.16e-9)])
def test_the_solution_is_of_order_four(steps: int, error: float) -> None:
    _, states = delay.solve(lambda t, x, past: -past(t - 1), [1.0], 10.0, 1 / steps)
    assert abs(states[-1, 0] - steps_exact(10)) == pytest.approx(error, rel=0.01)


def test_the_past_may_be_a_function_and_delays_may_depend_on_the_state() -> None:
    _, line = delay.solve(
        lambda t, x, past: 2 - past(t - x[0] / 2) / (x[0] / 2),
        lambda t: np.array([t + 1.0]),
        2.0,
        0.01,
    )
    # x = t + 1: x(t − (t + 1)/2) = (t + 1)/2 = x/2, so that x′ = 1.
    assert line[-1, 0] == pytest.approx(3.0, abs=1e-9)


def _hutchinson(before: Callable[[float], Any]) -> Callable[[float, Any], Any]:
    return lambda t, x: 1.7 * x * (1 - before(t - 1))


def test_hutchinsons_cycle_is_scipys() -> None:
    _, states = delay.solve(lambda t, x, past: 1.7 * x * (1 - past(t - 1)), [0.5], 80.0, 1 / 40)
    past: Callable[[float], Any] = np.poly1d([0.5])
    at = np.array([0.5])
    for second in range(80):
        before = past
        found = solve_ivp(
            _hutchinson(before),
            (second, second + 1),
            at,
            rtol=1e-10,
            atol=1e-12,
            dense_output=True,
            method="DOP853",
        )
        assert found.sol is not None
        past, at = found.sol, found.y[:, -1]
    assert states[-1, 0] == pytest.approx(at[0], abs=1e-5)


def test_what_cannot_be_solved_is_refused() -> None:
    def falls(t: float, x: Floats, past: delay.Past) -> Floats:
        return -past(t - 1)

    with pytest.raises(ValueError, match="step: 1e-09 makes"):
        delay.solve(falls, [1.0], 10.0, 1e-9)
    with pytest.raises(ValueError, match="less than a step"):
        delay.solve(lambda t, x, past: past(t - 0.01), [1.0], 2.0, 0.1)
    with pytest.raises(ValueError, match="leaves all bounds"):
        delay.solve(lambda t, x, past: np.inf * past(t - 1), [10.0], 10.0, 0.1)
    with pytest.raises(ValueError, match="2 of them for 1 matrices"):
        delay.rightmost([-1.0], [0, 1])


@pytest.mark.parametrize("a", [0.1, 0.2, 1.0, 1.5, math.pi / 2, 2.0, 5.0])
def test_hayes_roots_are_lamberts(a: float) -> None:
    root = complex(lambertw(-a))
    found = delay.rightmost([0, -a], [0, 1])
    assert abs(found - complex(root.real, abs(root.imag))) < 1e-11


@pytest.mark.parametrize(
    ("alpha", "beta", "root"),
    [
        (0.4, 0.226, -0.0854325 + 0.5604014j),
        (0.5, 0.25 * 2**0.5, -0.0370043 + 0.7110313j),
        (0.6, 0.36 * 2**0.5, 0.0331350 + 0.8401112j),
    ],
)
def test_xcps_roots(alpha: float, beta: float, root: complex) -> None:
    assert abs(stability.xcp(alpha, beta) - root) < 1e-6


@pytest.mark.parametrize(
    ("slope", "speed", "root", "proven"),
    [
        (1.86e-4, 0.005, -0.0646463, True),
        (1.86e-4, 0.05, -0.216767 + 0.483243j, False),
        (5e-4, 0.05, -0.114683 + 0.812488j, False),
    ],
)
def test_reds_roots(slope: float, speed: float, root: complex, proven: bool) -> None:
    # 60 flows, 3750 packets per second, 246 ms (Hollot and others).
    found, said = stability.red(60, 3750, 0.246, slope, speed)
    assert abs(found - root) < 1e-6
    assert said == proven


@pytest.mark.parametrize(
    ("loss", "least"), [(power_loss, 12.73), (poisson_loss, 9.03), (equal_loss, 15.34)]
)
def test_the_least_b_of_e_tcp_at_twelve_thousand_packets(
    loss: Callable[[int], Loss], least: float
) -> None:
    unit = stability.at_window(fluid.etcp(1.0), loss(20), 12_020)
    found = unit.gain / stability.critical_gain(unit.damping / unit.gain)
    assert found == pytest.approx(least, abs=0.006)


@pytest.mark.parametrize(
    ("buffer", "power", "equal"), [(10, 5.58, []), (20, 11.92, [3.85, 14.82]), (50, 31.02, [46.21])]
)
def test_the_windows_at_which_reno_swings(buffer: int, power: float, equal: list[float]) -> None:
    def stable(loss: Loss, window: float) -> bool:
        return stability.at_window(fluid.reno(), loss, window).is_stable

    assert [stable(power_loss(buffer), power * k) for k in (0.995, 1.005)] == [False, True]
    for edge in equal:
        near = [stable(equal_loss(buffer), edge * k) for k in (0.995, 1.005)]
        assert near[0] != near[1], edge


def test_the_linear_root_is_that_of_the_loop() -> None:
    roots = [stability.at_window(fluid.reno(), power_loss(20), w).root for w in (11, 12)]
    assert abs(roots[0] - (0.0541542 + 1.7065030j)) < 1e-6
    assert abs(roots[1] - (-0.0044635 + 1.6664669j)) < 1e-6


@pytest.mark.parametrize(
    ("b", "least", "most"), [(8, 7114, 10201), (12.5, 9364, 9704), (25, 9552.87, 9552.87)]
)
def test_e_tcp_swings_below_its_least_b(b: float, least: float, most: float) -> None:
    flows = [Group(fluid.etcp(b=b), rtt=1.0, window=9000.0)]
    found = fluid.integrate(flows, Small(12_020, power_loss(20)), 600.0).windows[-4000:, 0]
    assert [found.min(), found.max()] == pytest.approx([least, most], rel=1e-4)


def test_a_bigger_buffer_asks_for_no_bigger_b() -> None:
    # A buffer of a bandwidth-delay product stays full: E = (1 − p)/p, and b = 66 is enough.
    def swing(b: float) -> float:
        flows = [Group(fluid.etcp(b=b), rtt=0.1, window=24_200.0)]
        found = fluid.integrate(flows, fluid_queues.DropTail(120_190, 12_019), 100.0, 10)
        return float(np.ptp(found.windows[-2000:, 0]))

    assert swing(70) < 5
    assert swing(50) > 500


def test_cubic_rests_where_its_equations_say() -> None:
    # s = K = 1/λ, so W = c/(b·λ³), with p = 10⁻⁴(W/300)⁴ and λ = (1 − e^(−Wp))/τ.
    def surplus(window: float) -> float:
        cuts = -math.expm1(-window * 1e-4 * (window / 300) ** 4) / 0.1
        return window - 0.4 / 0.3 / cuts**3

    rest = float(brentq(surplus, 100, 1000, xtol=1e-12))
    # As Vardoyan and others have it, for losses that come alone: (c/b)^¼·(τ/p)^¾.
    alone = (0.4 / 0.3 * (0.1 * 300.0**4 / 1e-4) ** 3) ** (1 / 16)
    assert rest == pytest.approx(alone, rel=0.01)
    for beside, moved in ((1.0, 1e-9), (1.01, 1e-2)):
        flows = [Group(fluid.Cubic(), rtt=0.1, window=beside * rest)]
        found = fluid.integrate(flows, Small(3000, lambda load: 1e-4 * load**4), 60.0, 10)
        assert abs(found.windows[-1, 0] / rest - 1) < moved


def test_cubic_is_friendly_to_reno_where_windows_are_small() -> None:
    # Reno that takes b and gains α = 3b/(2 − b): α(1 − p)/τ = b·w·λ at rest.
    loss = 5e-3
    window = _rests(fluid.Cubic(), loss)
    gained, taken = 3 * 0.3 / 1.7 * (1 - loss), 0.3 * window * -math.expm1(-window * loss)
    assert gained == pytest.approx(taken, rel=1e-4)
    assert window > (0.4 / 0.3) ** 0.25 * (RTT / loss) ** 0.75


def test_dctcp_swings_about_its_threshold() -> None:
    flows = [Group(fluid.Dctcp(), rtt=1e-3, flows=10, window=10.0)]
    link = fluid_queues.Threshold(100_000, 1000, mark=40)
    found = fluid.integrate(flows, link, 0.5, 20)
    half = found.queue[len(found.queue) // 2 :]
    assert half.min() > 0 and 30 < half.mean() < 60


def test_two_round_trips_share_as_their_windows_say() -> None:
    # Reno's windows are equal at equal losses, so rates are as 1/T.
    groups = [Group(fluid.reno(), rtt=rtt, flows=10, window=30.0) for rtt in (0.05, 0.1)]
    found = fluid.integrate(groups, Small(20_000, power_loss(20)), 60.0, 10)
    assert found.windows[-1, 0] == pytest.approx(found.windows[-1, 1], rel=0.02)


@pytest.mark.parametrize(
    ("etcp_flows", "reno_flows", "load", "windows", "share"),
    [
        (1, 10, 0.8806, [10454, 13.0], 0.9877),
        (10, 10, 0.8902, [1058, 12.1], 0.9887),
        (25, 25, 0.9041, [424, 10.9], 0.9750),
        (0, 50, 0.6533, [math.inf, 157], 0.0),
    ],
)
def test_shares_beside_e_tcp(
    etcp_flows: int, reno_flows: int, load: float, windows: list[float], share: float
) -> None:
    def etcp(p: float) -> float:
        ratio = p / (1 - p)
        return float(response.etcp(ratio)) if ratio > 0.01 else math.inf

    parts = [mixtures.Part(etcp, 0.1, etcp_flows)]
    parts.append(mixtures.Part(lambda p: 1.31 / p**0.5, 0.1, reno_flows))
    found = mixtures.of_losses(parts, 1e9 / 8320, poisson_loss(20))
    assert found.load == pytest.approx(load, abs=5e-5)
    assert found.windows == pytest.approx(windows, rel=4e-3)
    assert found.shares[0] == pytest.approx(share, abs=5e-5)


def test_bbr_beside_losses() -> None:
    many = [mixtures.of_bbr(x * 33.333, 33.333, 8, 0.04) for x in (1, 2, 4, 8, 16, 32, 64)]
    assert many == pytest.approx([0.972, 0.968, 0.830, 0.644, 0.539, 0.463, 0.376], abs=6e-4)
    with pytest.raises(ValueError, match="less than a BDP"):
        mixtures.of_bbr(10, 33, 1, 0.04)


@pytest.mark.parametrize("ratio", [-0.9, -0.5, 0.0, 0.5, 0.99])
def test_a_loop_is_unstable_just_above_its_critical_gain(ratio: float) -> None:
    gain = stability.critical_gain(ratio)
    below, over = (
        delay.rightmost([-ratio * g, -g], [0, 1]).real for g in (0.97 * gain, 1.03 * gain)
    )
    assert below < 0 < over
    assert stability.critical_gain(-1.5) == 0 and delay.rightmost([1.5, -1.0], [0, 1]).real > 0


RTT = 0.1


def _rests(law: fluid.Law, loss: float) -> float:
    """Return the window at which a law rests over a link that loses the same of any load."""
    link = Small(1e4, lambda _: loss)
    solved = fluid.integrate([Group(law, RTT, 1, 20.0)], link, 200.0)
    assert np.ptp(solved.windows[-100:, 0]) < 1e-4 * solved.windows[-1, 0]
    return float(solved.windows[-1, 0])


@pytest.mark.parametrize(
    ("law", "loss", "response_of", "apart"),
    [
        (fluid.reno(), 1e-3, response.square_root, 0.16),
        (fluid.highspeed(), 1e-4, response.highspeed, 0.18),
        (fluid.scalable(), 1e-3, response.scalable, 0.08),
        (fluid.ltcp(), 1e-4, response.ltcp, 0.05),
        (fluid.etcp(), 0.02, lambda p: response.etcp(p / (1 - p)), 1e-3),
        (fluid.EtcpRate(RTT), 0.02, lambda p: RTT * response.etcp(p / (1 - p)), 1e-3),
    ],
    ids=["reno", "highspeed", "scalable", "ltcp", "etcp", "etcp rate"],
)
def test_laws_rest_near_their_response_functions(
    law: fluid.Law, loss: float, response_of: Callable[[float], Any], apart: float
) -> None:
    """The functions take the mean of a sawtooth, fluid models the point of rest."""
    assert _rests(law, loss) == pytest.approx(float(response_of(loss)), rel=apart)


def test_htcp_rests_where_its_equations_say() -> None:
    loss, law = 1e-3, fluid.Htcp()
    window = _rests(law, loss)
    cuts = -math.expm1(-window * loss) / RTT
    late = 1 / cuts - 1
    alpha = 1 + 10 * late + late * late / 4 if late > 0 else 1.0
    assert alpha * (1 - loss) / RTT == pytest.approx(window / 2 * cuts, rel=1e-4)


def test_red_settles_where_its_mean_queue_loses_what_reno_needs() -> None:
    link = fluid_queues.Red(1000.0, 300.0, least=20.0, most=120.0, largest=0.1, weight=0.002)
    solved = fluid.integrate([Group(fluid.reno(), RTT, 10, 5.0)], link, 200.0)
    queue, loss, window = solved.queue[-1], solved.loss[-1], solved.windows[-1, 0]
    assert loss == pytest.approx(0.1 * (queue - 20) / 100, rel=1e-3)
    assert window == pytest.approx(math.sqrt(2 * (1 - loss) / loss), rel=1e-3)
    # What is dropped early does not enter.
    assert 10 * window * (1 - loss) == pytest.approx(1000 * RTT + queue, rel=1e-3)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: fluid_queues.Red(1000.0, 300.0, least=15.0, most=15.0), "most"),
        (lambda: fluid_queues.Red(1000.0, 300.0, largest=1.1), "largest"),
        (lambda: fluid_queues.Red(1000.0, 300.0, weight=1.0), "weight"),
        (lambda: fluid_queues.Threshold(1000.0, 300.0, mark=301.0), "mark"),
    ],
)
def test_queues_check_their_bounds(make: Callable[[], Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        make()

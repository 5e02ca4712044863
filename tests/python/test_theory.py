"""Where the functions of theory are defined, and what they say elsewhere."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from narrows.theory import aimd, evolution, gwa, queue, response, xcp

OUTSIDE: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (response.square_root, (-1,)),
    (response.square_root, (0,)),
    (response.square_root, (1.1,)),
    (response.square_root, ([0.1, float("nan")],)),
    (response.square_root, (0.1, 0)),
    (response.square_root_loss, (0,)),
    (response.etcp, (0.005,)),
    (response.etcp, (0.01,)),
    (response.etcp, (0.02, -0.1)),
    (response.etcp_loss, (-5,)),
    (response.etcp_sqrt, (0.01,)),
    (response.etcp_sqrt_loss, (0,)),
    (response.per_packet_sent, (-1,)),
    (response.aimd, (0.1, 0)),
    (response.aimd, (0.1, 1, 1)),
    (response.highspeed, (0,)),
    (response.scalable, (0.1, 0.01, 1.5)),
    (response.compound, (0.1, 0)),
    (response.compound, (0.1, 0.125, 1)),
    (response.compound, (0.1, 0.125, 0.5, 1)),
    (response.ltcp_layer, (-1,)),
    (response.ltcp_layer, (1e13,)),
    (response.ltcp, (1e-13,)),
    (response.ltcp, (0.1, 1)),
    (response.cubic, (0.1, 0)),
    (response.cubic, (0.1, 0.1, 0.4, 1)),
    (response.htcp, (1e-15, 0.1)),
    (response.htcp, (0.1, -0.1)),
    (response.bic, (0,)),
    (response.bic, (0.1, 1.0)),
    (aimd.matrix, ([1, 1], [0.5])),
    (aimd.matrix, ([1, -1], [0.5, 0.5])),
    (aimd.perron_vector, ([1, 1], [0.5, 1])),
    (aimd.eigenvalues, ([1, 1], [0.5, 1.5])),
    (aimd.rise_time, ([1, 1], [0.5, 0.5], 0)),
    (aimd.rise_time, ([1], [0.5])),
    (aimd.mean_shares, ([1, 1], [0.5, 0.5], [0, 1])),
    (aimd.throughput_ratio_beta, (2.0, 1.0)),
    (evolution.utilisation_at, (0, 0.1, response.etcp_loss, 20)),
    (evolution.utilisation_of_generation, (1e5, 1, 0, 0.5, 1.0, 20)),
    (evolution.utilisation_of_generation, (1, 100, 0.1, 0.5, 1.0, 20)),
    (evolution.buffer_for, (1.0, 1e4)),
    (queue.mm1b_loss, (-1, 20)),
    (queue.mm1b_load, (1.0, 20)),
    (queue.p0_for, (0, 0.9)),
    (queue.b_for, (0,)),
    (queue.elasticity, (lambda load: 0.0, 0.5)),
    (gwa.fluid, (1.0, 0.0, 0.0, lambda t: 1.0, 1.0)),
    (gwa.fluid, (0.0, 0.1, 0.1, lambda t: 1.0, 1.0)),
    (gwa.window_settles, (1.0, 0.0, 0.1)),
    (gwa.overshoot, ([], 1.0)),
    (xcp.beta, (0,)),
    (xcp.phase_margin, (0.4, -1)),
    (xcp.fluid, (0.4, 0.226, 1.0, 1.0, 0.0)),
    (xcp.fluid, (0.4, 0.226, 1.0, float("inf"), 0.1)),
    (xcp.phase_margin, (1e100, 1)),
    (response.square_root_loss, (1,)),
    (response.htcp, (1e-6, 30_000)),
    (response.ltcp, (1e-12, 0.15, 0.01)),
    (response.ltcp_layer, (1, float("inf"))),
    (aimd.matrix, ([float("inf"), 1], [0.5, 0.5])),
    (aimd.evolve, ([1, 1], [0.5, 0.5], [1, 2], -1)),
    (aimd.evolve, ([1, 1], [0.5, 0.5], [1, 2, 3], 1)),
    (aimd.evolve, ([1, 1], [0.5, 0.5], [1, -2], 1)),
    (aimd.random_products, ([1, 1], [0.5, 0.5], [True, False], [1, 2], 1)),
    (aimd.mean_shares, ([1, 1], [0.5, 0.5], 0.5)),
    (aimd.running_mean, ([1, 2, 3],)),
    (aimd.throughput_ratio_beta, (float("inf"), float("inf"))),
    (gwa.fluid, (1.0, 0.1, 0.1, lambda t: 1.0, 1.0, 0.0)),
    (gwa.fluid, (1.0, 0.1, 0.1, lambda t: -1.0, 1.0)),
    (queue.mg1b_loss, (0.5, 2.5, queue.Gamma())),
    (queue.mg1b_loss, (1e5, 20, queue.Gamma(1e6))),
]


@pytest.mark.parametrize(("function", "arguments"), OUTSIDE)
def test_outside_of_its_domain_a_function_raises(
    function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"not|no |needs|beyond|one source|shape"):
            function(*arguments)


def test_a_bound_that_is_outside_is_told_as_one() -> None:
    with pytest.raises(ValueError, match=r"beta: 1\.0 is not at least 0 and below 1"):
        aimd.perron_vector([1.0], [1.0])
    with pytest.raises(ValueError, match=r"loss: 0\.9999999 is not from 0 to 0\.999999"):
        queue.mm1b_load(0.9999999, 1)


def test_whole_numbers_are_numbers() -> None:
    of_whole = xcp.fluid(0.4, 0.226, 2, 3.0, 0.1)
    of_real = xcp.fluid(0.4, 0.226, 2.0, 3.0, 0.1)
    np.testing.assert_array_equal(of_whole[1], of_real[1])
    assert response.ltcp([]).shape == response.bic([]).shape == (0,)


LAWS: list[Callable[[Any], Any]] = [
    response.square_root,
    response.aimd,
    response.highspeed,
    response.scalable,
    response.compound,
    response.ltcp,
    response.bic,
    lambda p: response.cubic(p, 0.1),
    lambda p: response.htcp(p, 0.1),
    lambda p: response.etcp(0.01 + p),
    lambda p: response.etcp_sqrt(0.01 + p),
]


@pytest.mark.parametrize("law", LAWS)
def test_windows_fall_as_losses_become_frequent(law: Callable[[Any], Any]) -> None:
    windows = law(np.geomspace(1e-7, 0.1, 40))
    assert windows.shape == (40,)
    assert np.isfinite(windows).all()
    assert (windows > 0).all()
    assert (np.diff(windows) <= 0).all()


def test_inverses_are_inverse() -> None:
    window = np.geomspace(2, 1e6, 30)
    np.testing.assert_allclose(response.etcp(response.etcp_loss(window)), window, rtol=1e-6)
    np.testing.assert_allclose(
        response.etcp_sqrt(response.etcp_sqrt_loss(window[:15])), window[:15], rtol=1e-6
    )
    loads = np.linspace(0.05, 1.5, 30)
    np.testing.assert_allclose(queue.mm1b_load(queue.mm1b_loss(loads, 20), 20), loads, rtol=1e-6)


def test_products_of_the_matrix_go_to_its_perron_vector() -> None:
    alpha, beta = [1.0, 0.5, 2.0], [0.5, 0.75, 0.3]
    windows = aimd.evolve(alpha, beta, [1.0, 50.0, 7.0], 200)
    assert windows.shape == (201, 3)
    np.testing.assert_allclose(windows.sum(axis=1), 58.0)
    np.testing.assert_allclose(windows[-1] / 58.0, aimd.perron_vector(alpha, beta), rtol=1e-9)
    # What is left of a distance after `rise_time` epochs, with equal sources exactly.
    pair = aimd.evolve([1, 1], [0.5, 0.5], [10.0, 0.0], 5)
    left = (pair[:, 0] - 5) / 5
    assert left[round(aimd.rise_time([1, 1], [0.5, 0.5], left[4]))] == pytest.approx(left[4])


def test_gwa_settles_where_its_equations_say() -> None:
    assert gwa.window_settles(100, 1000, 0.2) == (0.0, 500.0)
    assert gwa.window_settles(300, 1000, 0.2) == (50.0, 1000.0)
    _, rate, packets = gwa.fluid(300.0, 0.1, 0.1, lambda t: 1000.0, 6.0, step=1e-3)
    # r(d + 1/k) = q* − q with k = 1/d.
    assert rate[-1] * 0.4 == pytest.approx(300 - packets[-1], rel=0.01)

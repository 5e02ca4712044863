"""Queues of finite length against known answers."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from narrows.theory.queue import Gamma, Service, Sizes, elasticity, mg1b_loss, mm1b_load, mm1b_loss

CONSTANT = Sizes([1.0])
EXPONENTIAL = Gamma(1.0)

loads = st.floats(0.05, 3.0)
buffers = st.integers(1, 60)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: mm1b_loss(0.9, 0), "buffer: 0"),
        (lambda: mm1b_loss([0.5, -1.0], 20), "load: -1"),
        (lambda: mm1b_loss(math.nan, 20), "load: nan"),
        (lambda: mm1b_load(1.0, 20), "loss: 1"),
        (lambda: mm1b_load(0.01, -1), "buffer: -1"),
        (lambda: mg1b_loss(0.0, 20, CONSTANT), "load: 0"),
        (lambda: mg1b_loss(0.9, 0, CONSTANT), "buffer: 0"),
        (lambda: Sizes([]), "sizes: "),
        (lambda: Sizes([40, 0]), "sizes: 0"),
        (lambda: Sizes([40, 1500], [1.0]), "shares: 1 for 2"),
        (lambda: Gamma(0.0), "shape: 0"),
    ],
)
def test_what_is_out_of_bounds_is_named(call: Callable[[], object], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        call()


def test_an_overloaded_queue_of_any_length_loses_what_is_above_its_capacity() -> None:
    assert math.isclose(float(mm1b_loss(1.05, 100_000)), 1 - 1 / 1.05, rel_tol=1e-14)
    assert math.isclose(float(mm1b_loss(700.0, 10**6)), 1 - 1 / 700, rel_tol=1e-14)
    assert math.isclose(float(mg1b_loss(1.05, 2_000, CONSTANT)), 1 - 1 / 1.05, rel_tol=1e-12)
    assert math.isclose(float(mm1b_load(0.01, 100_000)), 1 / 0.99, rel_tol=1e-12)


def test_near_a_load_of_one_nothing_cancels() -> None:
    # The first term of the series about ρ = 1: P(1 + h) = (1 + hB/2)/(B + 1).
    for h in (-1e-7, -1e-11, 1e-13, 1e-11, 1e-7):
        assert math.isclose(float(mm1b_loss(1 + h, 20)), (1 + 10 * h) / 21, rel_tol=1e-12)


# Computed independently: closed form in decimals of 80 digits up to 20 packets, asymptotic form
# beyond (the project's notes on buffers).
@pytest.mark.parametrize(
    ("buffer", "load", "loss"),
    [
        (5, 0.8, 3.529040e-2),
        (10, 0.9, 1.663175e-2),
        (20, 0.95, 8.068650e-3),
        (20, 1.05, 5.550918e-2),
        (50, 0.8, 1.175540e-10),
        (100, 0.8, 5.183436e-20),
        (100, 1.0, 5.008347e-3),
        (1000, 0.99, 1.953318e-11),
        (1000, 0.9, 1.251415e-91),
    ],
)
def test_constant_service_has_its_known_losses(buffer: int, load: float, loss: float) -> None:
    assert math.isclose(float(mg1b_loss(load, buffer, CONSTANT)), loss, rel_tol=5e-7)


@given(load=loads, buffer=buffers)
@settings(max_examples=60, deadline=None)
def test_exponential_service_is_the_closed_form(load: float, buffer: int) -> None:
    found, known = float(mg1b_loss(load, buffer, EXPONENTIAL)), float(mm1b_loss(load, buffer))
    assert math.isclose(found, known, rel_tol=1e-9)


@given(load=loads, sizes=st.lists(st.floats(0.01, 100.0), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_with_room_for_one_packet_the_distribution_does_not_matter(
    load: float, sizes: list[float]
) -> None:
    found = float(mg1b_loss(load, 1, Sizes(sizes)))
    assert math.isclose(found, load / (1 + load), rel_tol=1e-9)


@given(load=loads, buffer=buffers, shape=st.floats(0.3, 20.0))
@settings(max_examples=60, deadline=None)
def test_loss_rises_with_the_load_and_falls_with_the_buffer(
    load: float, buffer: int, shape: float
) -> None:
    loss = float(mg1b_loss(load, buffer, Gamma(shape)))
    assert max(0.0, 1 - 1 / load) * (1 - 1e-12) <= loss < 1
    assert float(mg1b_loss(load, buffer + 1, Gamma(shape))) <= loss * (1 + 1e-12)
    assert float(mg1b_loss(load * 1.1, buffer, Gamma(shape))) > loss


@given(load=st.floats(0.3, 0.99), buffer=st.integers(2, 60))
@settings(max_examples=60, deadline=None)
def test_the_more_variable_the_service_the_more_is_lost(load: float, buffer: int) -> None:
    services: list[Service] = [CONSTANT, Gamma(4.0), EXPONENTIAL, Gamma(0.5)]
    losses = [float(mg1b_loss(load, buffer, service)) for service in services]
    assert losses == sorted(losses) and losses[0] < losses[-1]


def test_a_mixture_of_sizes_lies_where_a_simulation_finds_it() -> None:
    random = np.random.default_rng(1)
    packets, buffer, load = 400_000, 8, 0.9
    sizes = np.array([0.1, 1.9])[random.integers(2, size=packets)]
    arrivals = random.exponential(1 / load, packets).cumsum()
    ends: list[float] = []
    lost, free = 0, 0.0
    for arrival, size in zip(arrivals, sizes, strict=True):
        while ends and ends[0] <= arrival:
            ends.pop(0)
        if len(ends) == buffer:
            lost += 1
            continue
        free = max(free, arrival) + size
        ends.append(free)
    expected = float(mg1b_loss(load, buffer, Sizes([0.1, 1.9])))
    assert math.isclose(lost / packets, expected, rel_tol=0.03)


def test_the_elasticity_is_the_buffer_only_for_a_power() -> None:
    assert math.isclose(elasticity(lambda rho: rho**20, 0.9), 20, rel_tol=1e-9)
    # B − ρ/(1 − ρ) + (B + 1)ρ^(B+1)/(1 − ρ^(B+1)).
    exact = 20 - 0.88 / 0.12 + 21 * 0.88**21 / (1 - 0.88**21)
    found = elasticity(lambda rho: float(mm1b_loss(rho, 20)), 0.88)
    assert math.isclose(found, exact, rel_tol=1e-6)

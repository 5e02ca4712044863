"""Decisions a second in environments, the cost of an episode's beginning, and of a judgement."""

from __future__ import annotations

import time

import numpy as np

import narrows as nw
import narrows.gym as ng

# Seconds for each row.
SPAN = 3.0


def decisions(places: int, threads: int) -> tuple[float, float, float]:
    """Return decisions a second, million packets a second, and packets a decision."""
    envs = ng.VectorEnv(num_envs=places, preset="aurora", threads=threads)
    envs.reset(seed=1)
    chance = np.random.default_rng(1)
    begun, before, steps = time.perf_counter(), envs.delivered, 0
    while (seconds := time.perf_counter() - begun) < SPAN:
        envs.step(chance.normal(size=(places, 1)).astype(np.float32))
        steps += places
    packets = envs.delivered - before
    return steps / seconds, packets / seconds / 1e6, packets / steps


def beginning() -> float:
    """Return the microseconds that an episode takes to begin, up to its first decision."""
    envs = ng.VectorEnv(num_envs=64, preset="plain", interval=1e-3)
    begun, rounds = time.perf_counter(), 10
    for seed in range(rounds):
        envs.reset(seed=seed)
    return (time.perf_counter() - begun) / (64 * rounds) * 1e6


def main() -> None:
    """Print all of it."""
    for places, threads in ((1, 1), (16, 1), (64, 1), (64, 2)):
        rate, packets, each = decisions(places, threads)
        print(
            f"{places:3} places, {threads} threads: {rate:6.0f} decisions/s, {packets:.2f} million "
            f"packets/s, {each:.0f} packets a decision"
        )
    print(f"an episode begins in {beginning():.0f} us")
    judged = nw.judge("cubic", seeds=1, against=[], key="bench")
    cost = judged.told["cost"]
    print(f"200 scenarios, CUBIC: {cost['wall']} s, {cost['packets']} packets")


if __name__ == "__main__":
    main()

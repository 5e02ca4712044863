"""Learn with NumPy alone: a search over a linear policy, which is then a law in a file.

    python gym_random_search.py 20

for so many rounds of the cross-entropy method. Each candidate acts on eight links at once.
"""

import sys

import numpy as np

import narrows as nw
import narrows.gym as ng

LINKS = ng.Draw(
    {"dumbbell.rate": ng.log_uniform("2Mbps", "50Mbps"), "dumbbell.buffer": "1bdp"},
    start=ng.uniform(0.3, 1.5),
)
# What the newest of eight intervals shows: 6 numbers of 48, and a constant.
NEWEST, SEEN = 6, 48


def worth(weights: np.ndarray, seed: int, places: int = 8, steps: int = 40) -> float:
    """The mean reward of a linear policy."""
    envs = ng.VectorEnv(LINKS, places, preset="plain", steps=steps)
    seen, _ = envs.reset(seed=seed)
    total = 0.0
    for _ in range(steps):
        said = weights[0] + seen[:, -NEWEST:] @ weights[1:]
        seen, rewards, *_ = envs.step(np.clip(said, -1, 1)[:, np.newaxis].astype(np.float32))
        total += float(rewards.mean())
    return total / steps


def main(rounds: int) -> nw.Policy:
    """Search, and write the best."""
    chance = np.random.default_rng(1)
    mean, spread = np.zeros(1 + NEWEST), np.full(1 + NEWEST, 1.0)
    for round_ in range(rounds):
        tried = mean + spread * chance.normal(size=(16, len(mean)))
        worths = [worth(weights, 100 + round_) for weights in tried]
        best = tried[np.argsort(worths)[-4:]]
        mean, spread = best.mean(axis=0), best.std(axis=0) + 0.02
        print(f"{round_:3} {max(worths):.3f}", flush=True)
    print(
        f"on links not seen: {worth(mean, 5000, 16):.3f}; doing nothing: "
        f"{worth(np.zeros_like(mean), 5000, 16):.3f}"
    )
    weights = np.zeros((1, SEEN))
    weights[0, -NEWEST:] = mean[1:]
    policy = nw.Policy("plain", [(weights, mean[:1])], name="linear")
    policy.save("linear.npz")
    return policy


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)

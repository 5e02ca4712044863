"""Four agents in one network, for PettingZoo: each hears its own flow only.

    python gym_four_flows.py linear.npz

lets a policy of the plain preset act for all four, and prints how they share.
"""

import sys

import numpy as np

import narrows as nw
import narrows.gym as ng


def main(file: str | None) -> nw.Result:
    """Let four flows act, and print what each got."""
    says = nw.Policy.load(file).says if file else (lambda seen: [0.0])
    links = ng.Draw({"flows[0].count": 4, "dumbbell.rate": "40Mbps"}, start=ng.uniform(0.2, 1.5))
    env = ng.ParallelEnv(links, agents=4, preset="plain", interval="50ms", steps=400)
    seen, _ = env.reset(seed=1)
    while env.agents:
        actions = {agent: np.asarray(says(seen[agent]), np.float32) for agent in env.agents}
        seen, *_ = env.step(actions)
    result = env.result()
    print(result.flows.select("flow", "goodput", "loss_rate", "mean_rtt"))
    print(f"Jain's index {result.summary['jain'][0]:.3f}")
    return result


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)

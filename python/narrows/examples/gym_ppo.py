"""Train a policy with PPO of stable-baselines3 on Aurora's links, and hold it against laws.

Run it with ``pip install "narrows[gym]" stable-baselines3`` and ``python gym_ppo.py 400000``, for
so many decisions. docs/gym.md says what comes of it, and what it is not.
"""

import sys
import time

import narrows as nw
import narrows.gym as ng


def main() -> None:
    """Train, write the policy, and print both tables."""
    import torch  # noqa: PLC0415
    from gymnasium.vector import AutoresetMode  # noqa: PLC0415
    from stable_baselines3 import PPO  # noqa: PLC0415

    decisions = int(sys.argv[1]) if len(sys.argv) > 1 else 400_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1

    # With nets as small as these threads wait for each other more than they compute.
    torch.set_num_threads(1)
    links = ng.links_of("aurora")
    envs = ng.VectorEnv(
        links,
        16,
        preset="aurora",
        reward=ng.rewards.Link(),
        steps=200,
        scale=6,
        autoreset=AutoresetMode.SAME_STEP,
    )
    model = PPO(
        "MlpPolicy",
        ng.sb3(envs),
        seed=seed,
        n_steps=256,
        batch_size=1024,
        n_epochs=8,
        # It ends at 0: at one rate for good PPO forgets again what it has learnt.
        learning_rate=lambda left: 5e-4 * left,
        policy_kwargs={"net_arch": [64, 32]},
        device="cpu",
    )
    begun = time.monotonic()
    model.learn(decisions)
    seconds = time.monotonic() - begun
    policy = nw.Policy.from_sb3(model, "aurora", scale=6, name="ppo")
    policy.save("ppo.npz")
    print(f"{model.num_timesteps} decisions in {seconds:.0f} s")

    laws = ["copa", "bbr", "cubic"]
    for name, where in (
        ("the links of training", links),
        (
            "the same without random loss",
            ng.Draw(links.parameters | {"dumbbell.loss": "0%"}, links.base, links.start),
        ),
    ):
        table = ng.evaluate(policy, where, against=laws)
        print(name)
        print(table.group_by("cc").mean().select("cc", "share", "rtt_ratio", "loss").sort("cc"))


if __name__ == "__main__":
    main()

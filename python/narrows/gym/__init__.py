"""Environments for agents that learn congestion control: Gymnasium's and PettingZoo's interfaces.

An episode is a run of any scenario whose flows with the law ``learner`` are told once an interval
how to go on. ``pip install narrows[gym]`` brings what it needs; docs/gym.md trains a policy.

Examples
--------
>>> import narrows.gym as ng
>>> env = ng.Env(preset="plain", steps=10)
>>> seen, info = env.reset(seed=1)
>>> seen.shape, round(float(info["base_rtt"]), 3) > 0
((48,), True)
"""

try:
    from gymnasium.envs.registration import register, registry
except ImportError:
    raise ImportError(
        'narrows.gym needs Gymnasium; install it with pip install "narrows[gym]"'
    ) from None

from narrows import _core
from narrows.gym import rewards
from narrows.gym.draws import Draw, Drawn, choice, integer, log_uniform, uniform
from narrows.gym.env import Env
from narrows.gym.evaluation import evaluate
from narrows.gym.parallel import ParallelEnv
from narrows.gym.presets import Preset, links_of, preset_of
from narrows.gym.sb3 import sb3
from narrows.gym.truth import Truth, VectorTruth
from narrows.gym.vector import VectorEnv

__all__ = [
    "Draw",
    "Drawn",
    "Env",
    "ParallelEnv",
    "Preset",
    "Truth",
    "VectorEnv",
    "VectorTruth",
    "choice",
    "evaluate",
    "integer",
    "links_of",
    "log_uniform",
    "preset_of",
    "register_all",
    "rewards",
    "sb3",
    "uniform",
]


def register_all() -> None:
    """Register an environment of each preset with Gymnasium, like ``narrows/Aurora-v0``."""
    for name, *_ in _core.learning_presets():
        if (known := f"narrows/{name.capitalize()}-v0") not in registry:
            register(
                known,
                entry_point="narrows.gym:Env",
                vector_entry_point="narrows.gym:VectorEnv",
                kwargs={"preset": name},
            )


register_all()

"""A bridge to stable-baselines3, which has none to Gymnasium's vector environments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode

from narrows.errors import Error
from narrows.gym.episodes import TRUTHS
from narrows.gym.truth import VectorTruth
from narrows.gym.vector import VectorEnv

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv


def sb3(envs: VectorEnv | VectorTruth) -> VecEnv:
    """Return a ``VecEnv`` of stable-baselines3 that steps these.

    Parameters
    ----------
    envs
        Made with ``autoreset=AutoresetMode.SAME_STEP``, as stable-baselines3 begins episodes anew.

    Returns
    -------
    VecEnv
        With ``terminal_observation`` and ``TimeLimit.truncated``, from which PPO goes on; its infos
        have the truth of each place, and ``reward_terms``.

    Raises
    ------
    Error
        If episodes begin anew otherwise.
    ImportError
        If stable-baselines3 is not installed.
    """
    from stable_baselines3.common.vec_env import VecEnv  # noqa: PLC0415

    if envs.autoreset is not AutoresetMode.SAME_STEP:
        raise Error("sb3: make the VectorEnv with autoreset=AutoresetMode.SAME_STEP")

    class Bridge(VecEnv):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)
            self._actions: Any = None

        def reset(self) -> Any:
            seeds = list(self._seeds) if any(it is not None for it in self._seeds) else None
            seen, _ = envs.reset(seed=seeds)
            self._reset_seeds()
            return seen

        def step_async(self, actions: Any) -> None:
            self._actions = actions

        def step_wait(self) -> Any:
            seen, rewards, terminated, truncated, info = envs.step(self._actions)
            last = info.get("final_info", info)
            terms = last["reward_terms"]
            # What was true of the interval that is rewarded, also of an episode's last.
            infos: list[dict[str, Any]] = [
                {name: float(last[name][place]) for name in TRUTHS}
                | {"reward_terms": {name: float(term[place]) for name, term in terms.items()}}
                for place in range(envs.num_envs)
            ]
            for place in np.flatnonzero(terminated | truncated):
                infos[place]["terminal_observation"] = info["final_obs"][place]
                infos[place]["TimeLimit.truncated"] = bool(truncated[place])
            return seen, rewards.astype(np.float32), terminated | truncated, infos

        def close(self) -> None:
            envs.close()

        def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
            return [getattr(envs, attr_name)] * self._count(indices)

        def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
            setattr(envs, attr_name, value)

        def env_method(
            self, method_name: str, *args: Any, indices: Any = None, **named: Any
        ) -> list[Any]:
            raise Error(f"sb3: the places of a VectorEnv have no method {method_name}")

        def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
            return [False] * self._count(indices)

        def _count(self, indices: Any) -> int:
            return envs.num_envs if indices is None else len(np.atleast_1d(indices))

    return Bridge()

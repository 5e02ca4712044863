"""What a sender cannot know, as an observation."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Space
from gymnasium.vector import VectorWrapper
from gymnasium.vector.utils import batch_space

from narrows.gym.env import Env
from narrows.gym.episodes import TRUTHS
from narrows.gym.vector import Step, VectorEnv


def _with_room(space: Space[np.ndarray]) -> Box:
    """Return a space with room for the truth behind what is seen."""
    assert isinstance(space, Box)
    low = np.concatenate([space.low, np.full(len(TRUTHS), -np.inf, np.float32)])
    high = np.concatenate([space.high, np.full(len(TRUTHS), np.inf, np.float32)])
    return Box(low, high, dtype=np.float32)


def _behind(seen: np.ndarray, info: dict[str, Any]) -> np.ndarray:
    """Put the truth of one place, or of as many as there are rows, behind what is seen."""
    truth = np.stack([info[name] for name in TRUTHS], axis=-1).astype(np.float32)
    # A loss that varies is not one number.
    return np.concatenate([seen, np.nan_to_num(truth)], axis=-1)


class Truth(gym.Wrapper[np.ndarray, np.ndarray, np.ndarray, np.ndarray]):
    """Puts the truth behind what is seen, for an upper bound of what could be learnt.

    Parameters
    ----------
    env
        The environment.

    Examples
    --------
    >>> import narrows.gym as ng
    >>> ng.Truth(ng.Env(preset="plain")).observation_space.shape
    (55,)
    """

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        self.observation_space = _with_room(env.observation_space)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode; see `Env.reset`.

        Parameters
        ----------
        seed, options
            As there.

        Returns
        -------
        tuple
            As there.
        """
        seen, info = self.env.reset(seed=seed, options=options)
        return _behind(seen, info), info

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Decide; see `Env.step`.

        Parameters
        ----------
        action
            As there.

        Returns
        -------
        tuple
            As there.
        """
        seen, reward, terminated, truncated, info = self.env.step(action)
        return _behind(seen, info), float(reward), terminated, truncated, info


class VectorTruth(VectorWrapper[np.ndarray, np.ndarray, np.ndarray]):
    """The same for many episodes at once; `sb3` takes it, too.

    Parameters
    ----------
    envs
        The environments.

    Examples
    --------
    >>> import narrows.gym as ng
    >>> ng.VectorTruth(ng.VectorEnv(num_envs=3, preset="plain")).observation_space.shape
    (3, 55)
    """

    def __init__(self, envs: VectorEnv) -> None:
        super().__init__(envs)
        self.autoreset = envs.autoreset
        self.single_observation_space = _with_room(envs.single_observation_space)
        self.observation_space = batch_space(self.single_observation_space, envs.num_envs)

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin episodes; see `VectorEnv.reset`.

        Parameters
        ----------
        seed, options
            As there.

        Returns
        -------
        tuple
            As there.
        """
        seen, info = self.env.reset(seed=seed, options=options)
        return _behind(seen, info), info

    def step(self, actions: np.ndarray) -> Step:
        """Decide in each place; see `VectorEnv.step`.

        Parameters
        ----------
        actions
            As there.

        Returns
        -------
        tuple
            As there; ``final_obs`` have their truth behind them, too.
        """
        seen, rewards, terminated, truncated, info = self.env.step(actions)
        for place in np.flatnonzero(info.get("_final_obs", [])):
            last = {name: info["final_info"][name][place] for name in TRUTHS}
            info["final_obs"][place] = _behind(info["final_obs"][place], last)
        return _behind(seen, info), rewards, terminated, truncated, info

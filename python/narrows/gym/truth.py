"""What a sender cannot know, as an observation."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box

from narrows.gym.env import Env
from narrows.gym.episodes import TRUTHS


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
        space = env.observation_space
        assert isinstance(space, Box)
        low = np.concatenate([space.low, np.full(len(TRUTHS), -np.inf, np.float32)])
        high = np.concatenate([space.high, np.full(len(TRUTHS), np.inf, np.float32)])
        self.observation_space = Box(low, high, dtype=np.float32)

    def _with(self, seen: np.ndarray, info: dict[str, Any]) -> np.ndarray:
        truth = np.array([info[name] for name in TRUTHS], np.float32)
        # A loss that varies is not one number.
        return np.concatenate([seen, np.nan_to_num(truth)])

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
        return self._with(seen, info), info

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
        return self._with(seen, info), float(reward), terminated, truncated, info

"""One episode at a time, for Gymnasium."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from narrows.gym.draws import Draw
from narrows.gym.episodes import Episodes
from narrows.gym.presets import Preset
from narrows.gym.rewards import Reward
from narrows.results import Result
from narrows.scenario import Scenario


class Env(gym.Env[np.ndarray, np.ndarray]):
    """A flow that is told once an interval how to go on.

    An episode ends by truncation, after ``steps`` decisions or with its scenario; it terminates
    only when a flow of finite ``size`` has delivered all. It begins once its flow has.

    Parameters
    ----------
    links
        The scenarios, with one flow of the law ``learner``; the preset's own if None.
    preset
        What the agent sees and does: ``"aurora"``, ``"orca"``, ``"plain"``, or a `Preset`.
    reward
        What it is rewarded for; the preset's if None.
    steps
        Decisions of an episode; the preset's if None.
    interval
        Between decisions, instead of the preset's: seconds, or text like ``"30ms"``.
    scale
        What an action is multiplied by: the space is so much smaller.

    Examples
    --------
    >>> import narrows.gym as ng
    >>> env = ng.Env(preset="aurora")
    >>> seen, info = env.reset(seed=7)
    >>> seen, reward, terminated, truncated, info = env.step(env.action_space.sample() * 0)
    >>> sorted(info["reward_terms"]), truncated
    (['latency', 'loss', 'throughput'], False)
    """

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        links: Draw | Scenario | None = None,
        preset: str | Preset = "aurora",
        *,
        reward: Reward | None = None,
        steps: int | None = None,
        interval: str | float | None = None,
        scale: float = 1.0,
    ) -> None:
        self._given = (links, preset, reward, steps, interval, scale)
        self._episodes = Episodes(
            links, 1, 1, preset, reward=reward, steps=steps, interval=interval, scale=scale
        )
        self.observation_space = self._episodes.preset.observation_space
        self.action_space = self._episodes.action_space

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle how it was made; an episode under way stays here."""
        return _made, self._given

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode, drawn from the generator that ``seed`` makes; see Gymnasium.

        Parameters
        ----------
        seed
            None to go on with the generator that there is.
        options
            None are known.

        Returns
        -------
        tuple
            What is seen, and the truth, with the scenario as TOML (``scenario``) and its seed
            (``run_seed``).
        """
        super().reset(seed=seed)
        self._episodes.begin(0, self.np_random)
        info = self._episodes.info(0) | {
            "scenario": self.scenario.to_toml(),
            "run_seed": self.run_seed,
        }
        return self._episodes.seen[0, 0].copy(), info

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Decide, and go on to the next decision; see Gymnasium.

        Parameters
        ----------
        action
            What the agent says, (1,).

        Returns
        -------
        tuple
            What is seen, the reward, whether all is delivered, whether the episode is over, and
            the truth with ``reward_terms`` and ``row``, what was learnt by column.
        """
        self._episodes.drawn_in(0)
        rewards, terms, over = self._episodes.step([0], np.asarray(action))
        info = self._episodes.info(0)
        info["reward_terms"] = {name: float(term[0, 0]) for name, term in terms.items()}
        info["row"] = self._episodes.rows[0, 0].copy()
        ended = self._episodes.has_ended(0)
        seen = self._episodes.seen[0, 0].copy()
        return seen, float(rewards[0, 0]), ended, bool(over[0]) and not ended, info

    @property
    def scenario(self) -> Scenario:
        """The scenario of the episode."""
        return self._episodes.drawn_in(0).scenario

    @property
    def run_seed(self) -> int:
        """The seed of the episode's run."""
        return self._episodes.drawn_in(0).seed

    def result(self, warmup: float = 0.0) -> Result:
        """Run the episode again up to now, for tables and figures.

        Parameters
        ----------
        warmup
            From when on it is measured, in seconds.

        Returns
        -------
        Result
            As of any run.

        Raises
        ------
        Error
            If no episode has begun.

        Examples
        --------
        >>> import narrows.gym as ng
        >>> env = ng.Env(preset="plain")
        >>> _ = env.reset(seed=1)
        >>> for _ in range(20):
        ...     _ = env.step([0.1])
        >>> env.result().flows["cc"].to_list()
        ['learner']
        """
        return self._episodes.result(0, warmup)


def _made(
    links: Draw | Scenario | None,
    preset: str | Preset,
    reward: Reward | None,
    steps: int | None,
    interval: str | float | None,
    scale: float,
) -> Env:
    return Env(links, preset, reward=reward, steps=steps, interval=interval, scale=scale)

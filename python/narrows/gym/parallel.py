"""Several agents in one network, for PettingZoo."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box
from gymnasium.utils import seeding

try:
    from pettingzoo import ParallelEnv as Base
except ImportError:
    raise ImportError(
        'narrows.gym needs PettingZoo; install it with pip install "narrows[gym]"'
    ) from None

from narrows.errors import Error
from narrows.gym.draws import Draw
from narrows.gym.episodes import TRUTHS, Episodes
from narrows.gym.presets import Preset, links_of, preset_of
from narrows.gym.rewards import Reward
from narrows.results import Result
from narrows.scenario import Scenario

Dicts = dict[str, Any]


class ParallelEnv(Base[str, np.ndarray, np.ndarray]):  # type: ignore[misc]
    """Flows of one network that are told together, at common instants, how to go on.

    A flow that has delivered all leaves ``agents``. One that has not begun yet sees what it sees
    before its first interval, what it says does not count, and its ``info["started"]`` is false.

    Parameters
    ----------
    links
        The scenarios, with as many flows of the law ``learner`` as there are agents; if None the
        preset's links with all of them.
    agents
        How many.
    preset, reward, steps, scale
        As for `Env`.
    interval
        How often they decide, like ``"30ms"``.

    Examples
    --------
    >>> import narrows.gym as ng
    >>> env = ng.ParallelEnv(agents=2, preset="plain", interval="30ms")
    >>> seen, info = env.reset(seed=1)
    >>> seen, rewards, *_ = env.step({agent: np.zeros(1, np.float32) for agent in env.agents})
    >>> list(rewards)
    ['flow_0', 'flow_1']
    """

    metadata = {"render_modes": [], "name": "narrows_v0"}  # noqa: RUF012

    def __init__(
        self,
        links: Draw | Scenario | None = None,
        agents: int = 2,
        preset: str | Preset = "plain",
        *,
        reward: Reward | None = None,
        steps: int | None = None,
        interval: str | float = "30ms",
        scale: float = 1.0,
    ) -> None:
        if links is None:
            links = links_of(preset_of(preset).name)
            links = Draw(links.parameters | {"flows[0].count": agents}, links.base, links.start)
        self._episodes = Episodes(
            links,
            1,
            agents,
            preset,
            reward=reward,
            steps=steps,
            interval=interval,
            scale=scale,
        )
        self.possible_agents = [f"flow_{number}" for number in range(agents)]
        self.agents: list[str] = []
        self._begun: set[str] = set()
        self._chance: np.random.Generator | None = None

    def observation_space(self, agent: str) -> Box:
        """Return what an agent may see.

        Parameters
        ----------
        agent
            Its name.

        Returns
        -------
        Box
            The same for all.
        """
        return self._episodes.preset.observation_space

    def action_space(self, agent: str) -> Box:
        """Return what an agent may say.

        Parameters
        ----------
        agent
            Its name.

        Returns
        -------
        Box
            The same for all; one generator for each.
        """
        return self._episodes.action_space

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Dicts, Dicts]:
        """Begin an episode; see PettingZoo.

        Parameters
        ----------
        seed
            None to go on with the generator that there is.
        options
            None are known.

        Returns
        -------
        tuple
            What each sees, and what it cannot know.
        """
        if seed is not None or self._chance is None:
            self._chance = seeding.np_random(seed)[0]
        self._episodes.begin(0, self._chance)
        self.agents = list(self.possible_agents)
        self._begun = set()
        return self._seen(), self._infos()

    def _seen(self) -> Dicts:
        every = zip(self.possible_agents, self._episodes.seen[0], strict=True)
        return {agent: seen.copy() for agent, seen in every if agent in self.agents}

    def _infos(self) -> Dicts:
        running = self._episodes.running(0)
        every = zip(self.possible_agents, running, self._episodes.truth[0], strict=True)
        self._begun |= {agent for agent, runs, _ in every if runs}
        return {
            agent: dict(zip(TRUTHS, self._episodes.truth[0, number].tolist(), strict=True))
            | {"started": agent in self._begun, "row": self._episodes.rows[0, number].copy()}
            | {"run_seed": self.run_seed}
            | self._episodes.drawn_in(0).values
            for number, agent in enumerate(self.possible_agents)
            if agent in self.agents
        }

    def step(self, actions: Dicts) -> tuple[Dicts, Dicts, Dicts, Dicts, Dicts]:
        """Decide for all, and go on to the next decision; see PettingZoo.

        Parameters
        ----------
        actions
            What each says, by name.

        Returns
        -------
        tuple
            What each sees, its reward, whether it has delivered all, whether the episode is over,
            and what it cannot know.
        """
        if set(actions) != set(self.agents):
            raise Error(
                f"step: actions of {sorted(actions)}; one is wanted of each of {self.agents}"
            )
        said = np.zeros((1, len(self.possible_agents)), np.float32)
        for number, agent in enumerate(self.possible_agents):
            if agent in actions:
                said[0, number] = np.asarray(actions[agent]).reshape(-1)[0]
        rewards, terms, over = self._episodes.step([0], said)
        seen, infos = self._seen(), self._infos()
        running = dict(zip(self.possible_agents, self._episodes.running(0), strict=True))
        ended = {agent: agent in self._begun and not running[agent] for agent in self.agents}
        of = {agent: number for number, agent in enumerate(self.possible_agents)}
        for agent in self.agents:
            infos[agent]["reward_terms"] = {
                name: float(term[0, of[agent]]) for name, term in terms.items()
            }
        given = {agent: float(rewards[0, of[agent]]) for agent in self.agents}
        done = {agent: bool(over[0]) and not ended[agent] for agent in self.agents}
        self.agents = [agent for agent in self.agents if not (ended[agent] or done[agent])]
        return seen, given, ended, done, infos

    def state(self) -> np.ndarray:
        """Return what all see, one after the other, for critics that know all.

        Returns
        -------
        ndarray
            float32 (agents · numbers,).
        """
        return np.array(self._episodes.seen[0]).reshape(-1)

    @property
    def run_seed(self) -> int:
        """The seed of the episode's run: with `scenario` all that it takes to run it again."""
        return self._episodes.drawn_in(0).seed

    @property
    def scenario(self) -> Scenario:
        """The scenario of the episode."""
        return self._episodes.drawn_in(0).scenario

    def result(self) -> Result:
        """Run the episode again up to now; see `Env.result`.

        Returns
        -------
        Result
            As of any run.
        """
        return self._episodes.result(0)

    def render(self) -> None:
        """Draw nothing: `result` has figures."""

    def close(self) -> None:
        """There is nothing to close."""

"""Many episodes at once, in one process and one call, for Gymnasium."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector import VectorEnv as Base
from gymnasium.vector.utils import batch_space

from narrows.errors import Error
from narrows.gym.draws import Draw
from narrows.gym.episodes import COLUMNS, TRUTHS, Episodes
from narrows.gym.presets import Preset
from narrows.gym.rewards import Reward, Terms
from narrows.results import Result
from narrows.scenario import Scenario

Mask = npt.NDArray[np.bool_]
Step = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]


class VectorEnv(Base[np.ndarray, np.ndarray, np.ndarray]):
    """As many of `Env`, stepped by one call.

    Place i of ``reset(seed=s)`` is `Env` with seed s + i, to the last bit, however many threads
    step them.

    Parameters
    ----------
    links
        As for `Env`.
    num_envs
        How many.
    preset, reward, steps, interval, scale
        As for `Env`.
    threads
        How many step them.
    autoreset
        What happens to an episode that is over: it begins anew in the next step (``NEXT_STEP``,
        Gymnasium's own), in the same (``SAME_STEP``), or when ``reset`` is told which
        (``DISABLED``).

    Examples
    --------
    >>> import numpy as np
    >>> import narrows.gym as ng
    >>> envs = ng.VectorEnv(num_envs=3, preset="plain", steps=5)
    >>> seen, info = envs.reset(seed=1)
    >>> seen, rewards, terminated, truncated, info = envs.step(np.zeros((3, 1), np.float32))
    >>> rewards.shape, truncated.tolist()
    ((3,), [False, False, False])
    """

    def __init__(
        self,
        links: Draw | Scenario | None = None,
        num_envs: int = 1,
        preset: str | Preset = "aurora",
        *,
        reward: Reward | None = None,
        steps: int | None = None,
        interval: str | float | None = None,
        scale: float = 1.0,
        threads: int = 1,
        autoreset: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ) -> None:
        self._episodes = Episodes(
            links,
            num_envs,
            1,
            preset,
            reward=reward,
            steps=steps,
            threads=threads,
            interval=interval,
            scale=scale,
        )
        self.num_envs = num_envs
        if isinstance(autoreset, str) and autoreset in AutoresetMode.__members__:
            autoreset = AutoresetMode[autoreset]
        self.autoreset = AutoresetMode(autoreset)
        self.metadata = {"render_modes": [], "autoreset_mode": self.autoreset}
        self.single_observation_space = self._episodes.preset.observation_space
        self.single_action_space = self._episodes.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._chances: list[np.random.Generator] = []
        self._over: Mask = np.zeros(num_envs, np.bool_)

    def reset(
        self,
        *,
        seed: int | np.integer[Any] | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin episodes; see Gymnasium.

        Parameters
        ----------
        seed
            Of the first place, those after it have the next; or one for each; None to go on with
            the generators that there are.
        options
            ``reset_mask``: the places that begin, as booleans; all without it.

        Returns
        -------
        tuple
            What is seen (places, numbers), and the truth.
        """
        mask = (options or {}).get("reset_mask")
        if mask is not None:
            mask = np.asarray(mask)
            if mask.shape != (self.num_envs,) or mask.dtype != np.bool_ or not mask.any():
                raise Error(
                    f"reset_mask: {mask!r} is not {self.num_envs} booleans, one of them true"
                )
        places = list(range(self.num_envs)) if mask is None else np.flatnonzero(mask).tolist()
        self._seed(seed, places)
        self._begin(places)
        return self._episodes.seen[:, 0].copy(), self._info()

    def _seed(self, seed: Any, places: Sequence[int]) -> None:
        """Give these places generators of a first seed, or of one for each place."""
        seeds: list[int | None] = [None] * self.num_envs
        if isinstance(seed, int | np.integer):
            seeds = [int(seed) + place for place in range(self.num_envs)]
        elif seed is not None:
            seeds = [None if one is None else int(one) for one in seed]
        if len(seeds) != self.num_envs:
            raise Error(f"seed: {len(seeds)} seeds for {self.num_envs} places")
        if not self._chances:
            self._chances = [seeding.np_random(one)[0] for one in seeds]
            return
        for place in places:
            if seeds[place] is not None:
                self._chances[place] = seeding.np_random(seeds[place])[0]

    def _begin(self, places: Sequence[int]) -> None:
        for place in places:
            self._episodes.begin(place, self._chances[place])
        self._over[list(places)] = False

    def step(self, actions: np.ndarray) -> Step:
        """Decide in each place, and go on to the next decisions; see Gymnasium.

        Parameters
        ----------
        actions
            What agents say, (places, 1).

        Returns
        -------
        tuple
            What is seen, rewards, which have delivered all, which are over, and the truth with
            ``reward_terms``, each as arrays.
        """
        if not self._chances:
            raise Error("step: no episode has begun; reset first")
        if self.autoreset is AutoresetMode.DISABLED and self._over.any():
            ended = np.flatnonzero(self._over).tolist()
            raise Error(f"step: the episodes in places {ended} are over; reset with reset_mask")
        again = np.flatnonzero(self._over).tolist()
        places = np.flatnonzero(~self._over).tolist()
        rewards = np.zeros(self.num_envs)
        terminated, truncated = (np.zeros(self.num_envs, np.bool_) for _ in range(2))
        terms: Terms = {}
        said = np.asarray(actions)
        if said.shape not in ((self.num_envs,), (self.num_envs, 1)):
            raise Error(f"step: actions of shape {said.shape}; give ({self.num_envs}, 1)")
        if places:
            given, of_places, over = self._episodes.step(places, said[places])
            rewards[places] = given[:, 0]
            for name, term in of_places.items():
                terms[name] = np.zeros(self.num_envs)
                terms[name][places] = term[:, 0]
            terminated[places] = [self._episodes.has_ended(place) for place in places]
            truncated[places] = over & ~terminated[places]
        self._begin(again)
        self._over = terminated | truncated
        info = self._info()
        info["reward_terms"], info["_reward_terms"] = terms, np.ones(self.num_envs, np.bool_)
        seen = self._episodes.seen[:, 0].copy()
        if self.autoreset is AutoresetMode.SAME_STEP and self._over.any():
            seen = self._same_step(seen, info)
        return seen, rewards, terminated, truncated, info

    def _same_step(self, seen: np.ndarray, info: dict[str, Any]) -> np.ndarray:
        """Begin those that are over anew; return what is seen then."""
        over = self._over.copy()
        last = np.full(self.num_envs, None, dtype=object)
        for place in np.flatnonzero(over):
            last[place] = seen[place].copy()
        final = {name: value for name, value in info.items() if not name.startswith("_")}
        final |= {f"_{name}": over.copy() for name in final}
        self._begin(np.flatnonzero(over).tolist())
        # The truth is that of the episodes that go on.
        info |= self._info()
        info |= {"final_obs": last, "_final_obs": over, "final_info": final, "_final_info": over}
        return self._episodes.seen[:, 0].copy()

    def _info(self) -> dict[str, Any]:
        every = np.ones(self.num_envs, np.bool_)
        truth = self._episodes.truth[:, 0]
        info: dict[str, Any] = {}
        for place, name in enumerate(TRUTHS):
            info[name], info[f"_{name}"] = truth[:, place].copy(), every
        info["rows"], info["_rows"] = self._episodes.rows[:, 0].copy(), every
        info["run_seed"] = np.array(
            [it.seed if it else 0 for it in self._episodes.drawn], np.uint64
        )
        info["_run_seed"] = every
        drawn = [it.values if it else {} for it in self._episodes.drawn]
        for path in drawn[0]:
            info[path] = np.array([values.get(path) for values in drawn], dtype=object)
            info[f"_{path}"] = every
        return info

    @property
    def columns(self) -> list[str]:
        """The names of the columns of ``info["rows"]``."""
        return COLUMNS

    @property
    def delivered(self) -> int:
        """Data packets that have reached their receivers in all episodes."""
        return self._episodes.delivered

    def scenario(self, place: int) -> Scenario:
        """Return the scenario of a place's episode.

        Parameters
        ----------
        place
            Where.

        Returns
        -------
        Scenario
            As it was drawn.
        """
        return self._episodes.drawn_in(place).scenario

    def result(self, place: int) -> Result:
        """Run a place's episode again up to now; see `Env.result`.

        Parameters
        ----------
        place
            Where.

        Returns
        -------
        Result
            As of any run.
        """
        return self._episodes.result(place)

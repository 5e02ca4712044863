"""Episodes side by side: what Env, VectorEnv and ParallelEnv have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box

from narrows import _core
from narrows.errors import Error
from narrows.gym.draws import Draw, Drawn
from narrows.gym.presets import Preset, links_of, preset_of
from narrows.gym.rewards import Reward, Rows, Terms
from narrows.results import Result
from narrows.scenario import Scenario

COLUMNS = _core.Intervals.columns()
TRUTHS = _core.Intervals.truths()
_SENT = COLUMNS.index("sent")
Floats = npt.NDArray[np.float64]
Seen = npt.NDArray[np.float32]


def _flows(drawn: Drawn) -> list[dict[str, Any]]:
    """Return the groups of learners."""
    flows: list[dict[str, Any]] = drawn.scenario.fields["flows"]
    return [flow for flow in flows if _core.learns(flow.get("cc", ""))]


def _seconds(interval: str | float | None) -> float | None:
    """Return an interval in seconds, of text like ``"30ms"`` or a number of them."""
    if interval is None or isinstance(interval, str):
        return None if interval is None else _core.seconds("interval", interval)
    if not 1e-6 <= float(interval) <= 1e6:
        raise Error(f'interval: {interval} s; take from 1e-6 to 1e6, or a text like "30ms"')
    return float(interval)


class Episodes:
    """As many places, each with an episode of as many agents.

    Parameters
    ----------
    links
        The scenarios; the preset's own if None.
    places, agents
        How many episodes, and learning flows in each.
    preset
        What agents see and do.
    reward
        What rewards them; the preset's if None.
    steps
        Decisions of an episode; the preset's if None.
    threads
        How many step them.
    interval
        Between decisions, instead of the preset's: seconds, or text like ``"30ms"``; needed for
        several agents.
    scale
        What an action is multiplied by.

    Attributes
    ----------
    rows, truth
        What agents of each place learnt in their last interval, and what they cannot know, as
        arrays (places, agents, columns).
    seen
        What they see, float32 (places, agents, numbers).
    taken
        Decisions so far of each place.
    """

    def __init__(
        self,
        links: Draw | Scenario | None,
        places: int,
        agents: int,
        preset: str | Preset,
        *,
        reward: Reward | None = None,
        steps: int | None = None,
        threads: int = 1,
        interval: str | float | None = None,
        scale: float = 1.0,
    ) -> None:
        if not scale > 0:
            raise Error(f"scale: {scale} is not above 0; try 1.0")
        if isinstance(links, Scenario):
            links = Draw({}, links)
        if links is not None and not isinstance(links, Draw):
            raise Error(f"links: {links!r} is not a Draw or a Scenario")
        if reward is not None and (isinstance(reward, type) or not hasattr(reward, "terms")):
            raise Error(f"reward: {reward!r} is not a reward; try narrows.gym.rewards.Link()")
        self.preset, self.scale = preset_of(preset), scale
        most = float(self.preset.action_space.high[0]) / scale
        self.action_space = Box(-most, most, (1,), np.float32)
        self.links = links if links is not None else links_of(self.preset.name)
        self.reward = reward if reward is not None else self.preset.reward()
        self.steps = steps if steps is not None else self.preset.steps
        if self.steps != int(self.steps):
            raise Error(f"steps: {self.steps} is not a whole number")
        if self.steps < 1 or places < 1 or agents < 1 or threads < 1:
            raise Error(
                f"steps={self.steps}, {places} places, {agents} agents, {threads} threads: "
                "each is at least 1"
            )
        if agents > 1 and interval is None:
            raise Error('interval: several agents decide together; say how often, like "30ms"')
        self.interval = _seconds(interval)
        self.agents = agents
        self._intervals = _core.Intervals(places, agents, threads, self.preset.below)
        self._agents = self.preset.agents(places * agents)
        self.drawn: list[Drawn | None] = [None] * places
        self.rows: Floats = np.zeros((places, agents, len(COLUMNS)))
        self.truth: Floats = np.zeros((places, agents, len(TRUTHS)))
        (width,) = self.preset.observation_space.shape
        self.seen: Seen = np.zeros((places, agents, width), np.float32)
        self.taken = np.zeros(places, np.int64)
        self.ends = np.zeros(places)
        self.finite = [False] * places
        self.first: Floats = np.zeros((places, agents, 3))
        self.begun = np.zeros((places, agents), np.bool_)

    def numbers(self, places: Sequence[int]) -> list[int]:
        """Return the numbers of the agents of some places.

        Parameters
        ----------
        places
            Their numbers.

        Returns
        -------
        list of int
            Place by place.
        """
        return [place * self.agents + agent for place in places for agent in range(self.agents)]

    def begin(self, place: int, chance: np.random.Generator) -> None:
        """Begin an episode up to its first decision.

        Parameters
        ----------
        place
            Where.
        chance
            What draws it.

        Raises
        ------
        ScenarioError
            If a scenario that was drawn is wrong.
        Error
            If it has not as many learners as there are agents.
        RuntimeError
            If the run fails.
        """
        self.begin_drawn(place, self.links.draw(chance))

    def begin_drawn(self, place: int, drawn: Drawn) -> None:
        """Begin a given episode; see `begin`.

        Parameters
        ----------
        place
            Where.
        drawn
            The episode.
        """
        scenario = drawn.scenario
        paths, duration = self._intervals.lay(
            place, scenario.core, drawn.seed, scenario.controllers
        )
        numbers = self.numbers([place])
        wanted, warm_ups = np.empty((self.agents, 3)), 1
        for agent, (number, (capacity, base_rtt)) in enumerate(zip(numbers, paths, strict=True)):
            *first, warm_ups = self._agents.begin(
                number, capacity * drawn.start / self.agents, base_rtt
            )
            wanted[agent] = first
        if self.interval is not None:
            wanted[:, 2] = self.interval
        self._intervals.begin(place, wanted)
        self.first[place], self.begun[place] = wanted, False
        self.drawn[place], self.ends[place], self.taken[place] = drawn, duration, 0
        self.finite[place] = any("size" in flow for flow in _flows(drawn))
        row = np.empty((1, self.agents, len(COLUMNS)))
        self._intervals.step([place], None, row)
        # Nothing is decided before a flow has sent for as long as its preset begins.
        left = warm_ups
        while left and row[0, 0, 0] < duration:
            left -= bool(row[0, :, _SENT].any())
            if left:
                self._intervals.step([place], wanted, row)
        if not row[0, 0, 0] < duration:
            raise Error(
                f"duration: the scenario ends after {duration:g} s, before there is a decision; "
                "give it more"
            )
        self._agents.warmed_up(numbers, row[0])
        self.rows[place] = row[0]
        self.begun[place] = row[0, :, _SENT] > 0
        self.reward.begin(numbers)
        self._look([place], numbers)

    def step(
        self, places: Sequence[int], actions: npt.ArrayLike
    ) -> tuple[Floats, Terms, npt.NDArray[np.bool_]]:
        """Decide in some places, and go on to their next decisions.

        Parameters
        ----------
        places
            Their numbers.
        actions
            What agents say, (places, agents).

        Returns
        -------
        tuple
            The rewards (places, agents), the terms that they are sums of, each (places, agents),
            and whether each episode is over: all its decisions are made, or its scenario has ended.

        Raises
        ------
        Error
            If an action is not a number, or a place has no episode.
        RuntimeError
            If a run fails.
        """
        numbers = self.numbers(places)
        given = np.asarray(actions)
        if given.dtype == object or given.size != len(numbers):
            raise Error(
                f"step: actions of shape {given.shape}; one is wanted for each of "
                f"{len(numbers)} agents"
            )
        said = np.float32(self.scale) * given.astype(np.float32).reshape(len(numbers))
        # Who has not begun goes on as it is to begin.
        acts = self.begun[places].reshape(-1)
        wanted = self.first[places].reshape(-1, 3).copy()
        if acts.all():
            self._agents.act(numbers, said, wanted)
        else:
            acting = np.flatnonzero(acts)
            of_acting = np.empty((len(acting), 3))
            self._agents.act([numbers[it] for it in acting], said[acting], of_acting)
            wanted[acting] = of_acting
        if self.interval is not None:
            wanted[:, 2] = self.interval
        rows = np.empty((len(places), self.agents, len(COLUMNS)))
        self._intervals.step(places, wanted, rows)
        self.rows[places] = rows
        self.taken[places] += 1
        if acts.all():
            self._agents.observe(numbers, rows)
        else:
            flat_rows = rows.reshape(len(numbers), -1)
            self._agents.observe([numbers[it] for it in acting], flat_rows[acting].copy())
            self.begun[places] |= rows[..., _SENT] > 0
        self._look(places, numbers)
        flat, shape = (len(numbers), -1), (len(places), self.agents)
        learnt = Rows(COLUMNS, rows.reshape(flat))
        truth = Rows(TRUTHS, self.truth[places].reshape(flat))
        terms = {
            name: term.reshape(shape)
            for name, term in self.reward.terms(numbers, learnt, truth).items()
        }
        total: Floats = np.sum(list(terms.values()), axis=0)
        now = rows[:, 0, 0]
        over = (self.taken[places] >= self.steps) | (now >= self.ends[places])
        return total, terms, over

    def _look(self, places: Sequence[int], numbers: Sequence[int]) -> None:
        """Fill what agents of some places see, and the truth."""
        truth = np.empty((len(places), self.agents, len(TRUTHS)))
        self._intervals.truth(places, truth)
        seen = np.empty((len(places), self.agents, self.seen.shape[-1]), np.float32)
        self._agents.seen(numbers, seen)
        self.truth[places], self.seen[places] = truth, seen

    def running(self, place: int) -> list[bool]:
        """Return whether each agent's flow has begun and still has data.

        Parameters
        ----------
        place
            Where.

        Returns
        -------
        list of bool
            One for each agent.
        """
        return self._intervals.running(place)

    def has_ended(self, place: int) -> bool:
        """Return whether all agents of a place have delivered all that they had.

        Parameters
        ----------
        place
            Where.

        Returns
        -------
        bool
            False for flows without end.
        """
        if not self.finite[place]:
            return False
        running = self.running(place)
        return bool(self.begun[place].all()) and not any(running)

    def drawn_in(self, place: int) -> Drawn:
        """Return what was drawn for the episode of a place.

        Parameters
        ----------
        place
            Where.

        Returns
        -------
        Drawn
            The scenario and the rest.

        Raises
        ------
        Error
            If no episode has begun.
        """
        drawn = self.drawn[place]
        if drawn is None:
            raise Error("no episode has begun; reset first")
        return drawn

    def info(self, place: int) -> dict[str, Any]:
        """Return the truth about a place's first agent, and what was drawn.

        Parameters
        ----------
        place
            Where.

        Returns
        -------
        dict of str to object
            By column of the truth, and by path.
        """
        truth: dict[str, Any] = dict(zip(TRUTHS, self.truth[place, 0].tolist(), strict=True))
        drawn = self.drawn[place]
        return truth | (drawn.values if drawn is not None else {})

    def result(self, place: int, warmup: float = 0.0) -> Result:
        """Run a place's episode again up to now, for tables and figures.

        Parameters
        ----------
        place
            Where.
        warmup
            From when on it is measured, in seconds.

        Returns
        -------
        Result
            As of any run.

        Raises
        ------
        Error
            If no episode has begun there.
        """
        drawn = self.drawn_in(place)
        checked, seed = self._intervals.again(place, warmup)
        return Result(drawn.scenario, seed, _core.run(checked, seed))

    @property
    def delivered(self) -> int:
        """Data packets that have reached their receivers in all episodes."""
        return self._intervals.delivered()

"""What agents see and do: the papers' ways, a plain one, and the user's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from gymnasium.spaces import Box

from narrows import _core
from narrows.errors import Error
from narrows.gym import rewards
from narrows.gym.draws import Distribution, Draw, choice, log_uniform, uniform


class Agents(Protocol):
    """As many agents of one preset, by number; arrays are filled in place."""

    def begin(self, agent: int, rate: float, base_rtt: float) -> tuple[float, float, float, int]:
        """Begin anew; return window, rate and seconds to begin with, and for how many intervals.

        Parameters
        ----------
        agent
            Its number.
        rate
            Packets per second to begin with.
        base_rtt
            The path's RTT without queues, in seconds.
        """

    def act(self, agents: Sequence[int], actions: Any, wanted: Any) -> None:
        """Fill ``wanted`` (agents, 3): window, rate, seconds to the next decision.

        Parameters
        ----------
        agents
            Their numbers.
        actions
            What they say, float32 (agents,).
        wanted
            float64.
        """

    def warmed_up(self, agents: Sequence[int], rows: Any) -> None:
        """Take the last interval in of which nothing is seen.

        Parameters
        ----------
        agents
            Their numbers.
        rows
            float64 (agents, columns).
        """

    def observe(self, agents: Sequence[int], rows: Any) -> None:
        """Take intervals in.

        Parameters
        ----------
        agents
            Their numbers.
        rows
            float64 (agents, columns).
        """

    def seen(self, agents: Sequence[int], seen: Any) -> None:
        """Fill ``seen`` with what they see.

        Parameters
        ----------
        agents
            Their numbers.
        seen
            float32 (agents, numbers).
        """


@dataclass(frozen=True)
class Preset:
    """What an agent sees and does.

    Attributes
    ----------
    name
        Its name.
    observation_space, action_space
        Of one agent, float32.
    steps
        Decisions of an episode, unless it is said.
    agents
        Makes as many agents.
    reward
        Makes what rewards them, unless it is said.
    below
        The law whose window they set; they have window and rate themselves if None.
    features
        The names of what is seen of each interval, the oldest of which comes first.
    """

    name: str
    observation_space: Box
    action_space: Box
    steps: int
    agents: Callable[[int], Agents]
    reward: Callable[[], rewards.Reward]
    below: str | None = None
    features: tuple[str, ...] = ()


_REWARDS: dict[str, Callable[[], rewards.Reward]] = {
    "aurora": rewards.Aurora,
    "orca": rewards.Orca,
    "plain": rewards.Link,
}


def preset_of(given: str | Preset) -> Preset:
    """Return a preset by name, or the user's own as it is.

    Parameters
    ----------
    given
        ``"aurora"``, ``"orca"``, ``"plain"``, or a `Preset`.

    Returns
    -------
    Preset
        The preset.

    Raises
    ------
    Error
        If there is none of this name.

    Examples
    --------
    >>> preset_of("aurora").features
    ('sent_latency_inflation', 'latency_ratio', 'send_ratio')
    """
    if isinstance(given, Preset):
        return given
    for name, features, history, most, below, steps in _core.learning_presets():
        if name == given:
            low = np.tile(np.array([least for _, least, _ in features], np.float32), history)
            high = np.tile(np.array([top for _, _, top in features], np.float32), history)
            return Preset(
                name,
                Box(low, high, dtype=np.float32),
                Box(-most, most, (1,), np.float32),
                steps,
                partial(_core.Agents, given),
                _REWARDS[name],
                below,
                tuple(feature for feature, _, _ in features),
            )
    known = ", ".join(line[0] for line in _core.learning_presets())
    raise Error(f'preset: no preset "{given}"; known: {known}')


def _queue(chance: np.random.Generator) -> str:
    """Draw PCC-RL's queue: 1 + ⌊e^U(0, 8)⌋ packets."""
    return f"{1 + int(np.exp(chance.uniform(0, 8)))}p"


def _loss(chance: np.random.Generator) -> str:
    """Draw no loss in 70 % of cases, and else 0.01 to 1 %."""
    clean = choice(["0%", ""], p=[0.7, 0.3]).draws(chance)
    return str(clean or log_uniform("0.01%", "1%").draws(chance))


def links_of(preset: str) -> Draw:
    """Return the links on which a preset's paper trains.

    Parameters
    ----------
    preset
        Its name.

    Returns
    -------
    Draw
        A dumbbell of one learner: Aurora's of PCC-RL's network_sim.py (100 to 500 packets/s, 50 to
        500 ms each way, 1 to 2981 packets, up to 5 % random loss, begun at 0.3 to 1.5 of the rate);
        Orca's 6 to 192 Mbit/s, 4 to 400 ms and half to two bandwidth-delay products; the plain
        preset's 1 to 200 Mbit/s, 10 to 200 ms and 0.1 to 5 bandwidth-delay products, each
        log-uniform, no random loss in 70 % of them and else 0.01 to 1 %, begun at 0.3 to 1.5 of the
        rate.

    Raises
    ------
    Error
        If it has none.

    Examples
    --------
    >>> links_of("orca").parameters["dumbbell.buffer"]
    uniform('0.5bdp', '2bdp')
    """
    if preset == "aurora":
        return Draw(
            {
                "dumbbell.rate": uniform("1.2Mbps", "6Mbps"),
                "dumbbell.rtt": uniform("100ms", "1000ms"),
                "dumbbell.buffer": Distribution("1 + floor(exp(uniform(0, 8)))", _queue),
                "dumbbell.loss": uniform("0%", "5%"),
            },
            start=uniform(0.3, 1.5),
        )
    if preset == "orca":
        return Draw(
            {
                "dumbbell.rate": uniform("6Mbps", "192Mbps"),
                "dumbbell.rtt": uniform("4ms", "400ms"),
                "dumbbell.buffer": uniform("0.5bdp", "2bdp"),
            }
        )
    if preset != "plain":
        raise Error(f"links: the preset {preset} has no links of its own; give some")
    return Draw(
        {
            "dumbbell.rate": log_uniform("1Mbps", "200Mbps"),
            "dumbbell.rtt": log_uniform("10ms", "200ms"),
            "dumbbell.buffer": log_uniform("0.1bdp", "5bdp"),
            "dumbbell.loss": Distribution("0 % in 70 %, else log_uniform('0.01%', '1%')", _loss),
        },
        start=uniform(0.3, 1.5),
    )

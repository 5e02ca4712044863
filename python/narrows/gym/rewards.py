"""What an agent is rewarded for: sums of named terms, none of them hidden.

A reward sees what the sender learnt (`Rows`) and, if it is for training only, the truth about the
link. Its terms are in ``info["reward_terms"]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Terms = dict[str, Floats]


class Rows:
    """Numbers of agents by the name of their column, like ``rows["acked"]``.

    Parameters
    ----------
    names
        The columns.
    values
        Numbers (agents, columns).
    """

    def __init__(self, names: Sequence[str], values: Floats) -> None:
        self._place = {name: place for place, name in enumerate(names)}
        self.values = values

    def __getitem__(self, name: str) -> Floats:
        column: Floats = self.values[..., self._place[name]]
        return column


class Reward(Protocol):
    """What gives rewards to agents."""

    def begin(self, agents: Sequence[int]) -> None:
        """Forget what these agents did: their episodes begin.

        Parameters
        ----------
        agents
            Their numbers.
        """

    def terms(self, agents: Sequence[int], rows: Rows, truth: Rows) -> Terms:
        """Return what the reward of each agent is the sum of.

        Parameters
        ----------
        agents
            Their numbers.
        rows
            What each has learnt in the interval.
        truth
            What it cannot know.

        Returns
        -------
        dict of str to ndarray
            Terms by name, each (agents,).
        """


def _share(part: Floats, whole: Floats, otherwise: float = 0.0) -> Floats:
    """Return part / whole, and something else where that is 0."""
    known = whole > 0
    return np.where(known, part / np.where(known, whole, 1.0), otherwise)


class _Stateless:
    def begin(self, agents: Sequence[int]) -> None:
        """Nothing is remembered."""


class Aurora(_Stateless):
    """Aurora's: 10⁻³ · (10 · packets/s − 10³ · RTT in s − 2 · 10³ · loss).

    The rate is of a packet less, as in PCC-RL's ``_mi_metric_recv_rate``, and loss is of what was
    answered (``run_for_dur`` in network_sim.py, 64bea6e). It is in packets per second: trained at
    100 to 500 of them it says nothing at 10⁵.
    """

    def terms(self, agents: Sequence[int], rows: Rows, truth: Rows) -> Terms:
        """Return ``throughput``, ``latency`` and ``loss``; see `Reward.terms`."""
        through = _share(np.maximum(rows["acked"] - 1, 0), rows["duration"])
        loss = _share(rows["lost"], rows["lost"] + rows["acked"])
        return {"throughput": 0.01 * through, "latency": -rows["rtt"], "loss": -2.0 * loss}


class Orca:
    """Orca's: (delivery − 5 · loss) / largest delivery so far · delay metric.

    Delivery and loss are packets per second (``envwrapper.py`` of Soheil-ab/Orca, cafaf9a).
    """

    def __init__(self) -> None:
        self._most: dict[int, float] = {}

    def begin(self, agents: Sequence[int]) -> None:
        """Forget the largest delivery; see `Reward.begin`."""
        for agent in agents:
            self._most[agent] = 0.0

    def terms(self, agents: Sequence[int], rows: Rows, truth: Rows) -> Terms:
        """Return ``delivery`` and ``loss``; see `Reward.terms`."""
        delivery = rows["delivery_rate"]
        for agent, rate in zip(agents, delivery, strict=True):
            self._most[agent] = max(self._most.get(agent, 0.0), float(rate))
        most = np.array([self._most[agent] for agent in agents])
        least, smoothed = 1.25 * rows["conn_min_rtt"], rows["srtt"]
        metric = np.where(smoothed > least, _share(least, smoothed, 1.0), 1.0)
        lost = _share(rows["lost"], rows["duration"])
        return {
            "delivery": _share(delivery, most) * metric,
            "loss": -5.0 * _share(lost, most) * metric,
        }


class Link(_Stateless):
    """How well the link is used: a reward of its truth, for training only.

    delivered / (share · (1 − wire loss)) − 0.3 · (RTT / base RTT − 1, at most 5) − 2 · (loss beyond
    the wire's). The share is the bottleneck's rate over the flows that there are.
    """

    def terms(self, agents: Sequence[int], rows: Rows, truth: Rows) -> Terms:
        """Return ``use``, ``delay`` and ``loss``; see `Reward.terms`."""
        wire = np.nan_to_num(truth["wire_loss"])
        use = _share(rows["delivery_rate"], truth["fair_share"] * (1 - wire))
        above = np.clip(_share(rows["rtt"], truth["base_rtt"], 1.0) - 1, 0, 5)
        loss = _share(rows["lost"], rows["lost"] + rows["acked"])
        return {"use": use, "delay": -0.3 * above, "loss": -2.0 * np.maximum(loss - wire, 0)}


class Power(_Stateless):
    """log(delivery) − α · log(RTT / least RTT): nothing that the sender does not know (Kleinrock).

    Parameters
    ----------
    alpha
        What delay weighs.
    """

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def terms(self, agents: Sequence[int], rows: Rows, truth: Rows) -> Terms:
        """Return ``rate`` and ``delay``; see `Reward.terms`."""
        rate = np.log(np.maximum(rows["delivery_rate"], 1e-3))
        above = _share(rows["rtt"], rows["conn_min_rtt"], 1.0)
        return {"rate": rate, "delay": -self.alpha * np.log(np.maximum(above, 1.0))}


class Vivace(_Stateless):
    """PCC Vivace's utility: x^0.9 − 900 · x · RTT gradient − 11.35 · x · loss, x in Mbit/s.

    M. Dong and others, "PCC Vivace", NSDI 2018, eq. 1 with §4's parameters; the gradient is the
    slope of the interval's samples.

    Parameters
    ----------
    packet
        Bytes of a packet.
    """

    def __init__(self, packet: float = 1500) -> None:
        self.packet = packet

    def terms(self, agents: Sequence[int], rows: Rows, truth: Rows) -> Terms:
        """Return ``rate``, ``gradient`` and ``loss``; see `Reward.terms`."""
        rate = _share(rows["sent"], rows["duration"]) * self.packet * 8e-6
        loss = _share(rows["lost"], rows["lost"] + rows["acked"])
        return {
            "rate": rate**0.9,
            "gradient": -900.0 * rate * rows["rtt_gradient"],
            "loss": -11.35 * rate * loss,
        }


class Share(_Stateless):
    """How fair a flow is: a reward of its truth, for several learners in one network.

    min(delivered / share, 1) − max(delivered / share − 1, 0) − 2 · loss: what is taken beyond the
    share counts as much as what is not used of it. The share is the bottleneck's rate over the
    flows that there are.
    """

    def terms(self, agents: Sequence[int], rows: Rows, truth: Rows) -> Terms:
        """Return ``use``, ``excess`` and ``loss``; see `Reward.terms`."""
        share = _share(rows["delivery_rate"], truth["fair_share"])
        loss = _share(rows["lost"], rows["lost"] + rows["acked"])
        return {
            "use": np.minimum(share, 1.0),
            "excess": -np.maximum(share - 1.0, 0.0),
            "loss": -2.0 * loss,
        }

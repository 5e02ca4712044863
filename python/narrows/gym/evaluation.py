"""Policies beside laws, on the same links under the same seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl
from gymnasium.utils import seeding

from narrows import _core
from narrows.controller import Law, name_of
from narrows.gym.draws import Draw, Drawn
from narrows.gym.episodes import COLUMNS, TRUTHS, Episodes
from narrows.gym.presets import Preset
from narrows.gym.rewards import Rows
from narrows.policy import Policy
from narrows.results import Result
from narrows.results import run as run_scenario

# What an agent says of what it sees.
Says = Callable[[np.ndarray], Any]
# The first RTTs of an episode are not measured.
WARM_UP = 3.0


def evaluate(
    policy: Policy | Says,
    links: Draw,
    *,
    preset: str | Preset | None = None,
    scale: float = 1.0,
    interval: str | float | None = None,
    steps: int = 200,
    seeds: int = 64,
    first_seed: int = 1_000_000,
    against: Sequence[Law] = ("cubic", "bbr"),
) -> pl.DataFrame:
    """Run a policy and laws over links that are drawn, each for as long as the policy's decisions.

    Parameters
    ----------
    policy
        What says what is done, of what is seen.
    links
        The scenarios. Where a learner is one of several flows, laws take its place.
    preset
        What the policy sees and does: its own, and else Aurora's, if None.
    scale, interval
        As of the environment that it was trained in; a `Policy` has its scale in it.
    steps
        Its decisions on each link.
    seeds, first_seed
        How many links, and the seed of the first: take those that nothing was trained on.
    against
        Laws.

    Returns
    -------
    DataFrame
        A row per controller (``cc``) and link (``seed``): ``share``, packets that arrived for the
        first time over those that the bottleneck could have sent; ``rtt_ratio``, mean over base
        RTT; ``loss``, lost of sent packets; ``wire_loss``; ``seconds`` that it took. The first
        three RTTs are not measured.

    Examples
    --------
    >>> import narrows.gym as ng
    >>> links = ng.Draw({"dumbbell.rate": ng.log_uniform("2Mbps", "20Mbps")})
    >>> still = lambda seen: [0.0]
    >>> table = ng.evaluate(still, links, preset="plain", steps=50, seeds=2, against=["reno"])
    >>> table["cc"].to_list()
    ['policy', 'policy', 'reno', 'reno']
    """
    says = policy.says if isinstance(policy, Policy) else policy
    name = policy.__name__ if isinstance(policy, Policy) else "policy"
    kind = preset or (policy.preset if isinstance(policy, Policy) else "aurora")
    rows: list[dict[str, Any]] = []
    of_laws: list[dict[str, Any]] = []
    for seed in range(first_seed, first_seed + seeds):
        episodes = Episodes(links, 1, 1, kind, steps=steps, scale=scale, interval=interval)
        episodes.begin(0, seeding.np_random(seed)[0])
        warmup, offered = _act(episodes, says)
        drawn, seconds = episodes.drawn_in(0), float(episodes.rows[0, 0, 0])
        truth = Rows(TRUTHS, episodes.truth[0, 0])
        about = {"wire_loss": float(truth["wire_loss"]), "seconds": seconds, "seed": seed}
        path = (_place_of(drawn), offered, float(truth["base_rtt"]))
        rows.append({"cc": name} | _measured(episodes.result(0, warmup), *path) | about)
        for law in against:
            run = run_scenario(_with_law(drawn, law, seconds, warmup), seed=drawn.seed)
            of_laws.append({"cc": name_of(law)} | _measured(run, *path) | about)
    return pl.DataFrame(rows + of_laws).sort("cc", "seed", maintain_order=True)


def _act(episodes: Episodes, says: Says) -> tuple[float, float]:
    """Act to the end; return from when on it counts, and the packets that could leave since."""
    warmup, offered, over = 0.0, 0.0, False
    while not over:
        _, _, done = episodes.step([0], np.asarray(says(episodes.seen[0, 0])))
        over = bool(done[0])
        rows, truth = Rows(COLUMNS, episodes.rows[0, 0]), Rows(TRUTHS, episodes.truth[0, 0])
        if float(rows["now"]) <= WARM_UP * float(truth["base_rtt"]) and not over:
            warmup = float(rows["now"])
        else:
            offered += float(truth["capacity"] * rows["duration"])
    return warmup, offered


def _place_of(drawn: Drawn) -> int:
    flows = drawn.scenario.fields["flows"]
    return next(number for number, flow in enumerate(flows) if _core.learns(flow.get("cc", "")))


def _with_law(drawn: Drawn, law: Law, seconds: float, warmup: float) -> Any:
    times = {"duration": f"{seconds:.9f}s", "warmup": f"{warmup:.9f}s"}
    return drawn.scenario.with_({f"flows[{_place_of(drawn)}].cc": law, **times})


def _measured(result: Result, group: int, offered: float, base_rtt: float) -> dict[str, float]:
    flows = result.scenario.fields["flows"]
    number = sum(flow.get("count", 1) for flow in flows[:group])
    flow = result.flows.row(number, named=True)
    rtt = flow["mean_rtt"]
    return {
        "share": flow["arrived"] / offered if offered > 0 else float("nan"),
        "rtt_ratio": rtt / base_rtt if rtt is not None else float("nan"),
        "loss": flow["loss_rate"],
    }

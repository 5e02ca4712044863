"""What asks runs of a link with one buffer after the other, and keeps what they show."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from narrows.check import Verdict, judge, lean
from narrows.errors import Error
from narrows.pool import check_memory, each
from narrows.scenario import Scenario
from narrows.score.store import Numbers, Store
from narrows.targets import Target, check_share, share_of
from narrows.types import Floats

# Seeds that no search has seen, and how sure they judge.
FRESH = list(range(1001, 1007))
CONFIDENCE = 0.95
# What is seen at each buffer besides the targets, for tables and figures; bounds that always hold.
SEEN = ("utilisation", "loss_rate", "delay_p50", "delay_p99", "jain")
ALWAYS = ">= 0"


class Advisor:
    """What asks runs, and keeps what they say.

    Parameters
    ----------
    base
        A scenario over a dumbbell, whose buffer varies.
    targets
        What is asked of it.
    most
        The largest buffer that is tried, in packets.
    store
        Where numbers are kept as they come.
    packets
        How many packets a run's measured window has at the most.
    """

    def __init__(
        self,
        base: Scenario,
        targets: Sequence[Target],
        most: float,
        store: Store | None = None,
        packets: float = math.inf,
    ) -> None:
        self.targets = list(targets)
        self.most, self.packets = most, packets
        # Short flows beside, and what goes the other way, are not those that are asked about.
        self._counts = {
            f"groups[{place}].timeouts": int(group.get("count", 1))
            for place, group in enumerate(base.fields["flows"])
            if "arrivals" not in group and not group.get("reverse")
        }
        bounds = dict.fromkeys((*SEEN, *self._counts), ALWAYS)
        bounds |= {target.name: target.bound for target in targets}
        self._base = base.with_(expect=bounds)
        self._store = Store(None) if store is None else store
        self._known: dict[tuple[int, int], Floats] = {}
        if self._base.checked.needs_samples():
            self._base = self._base.with_(sample=None)
        told = self._base.checked.expectations()
        for name, bound, is_relative, *_ in told:
            if is_relative:
                raise Error(
                    f'--target: {name} "{bound}" speaks of another number of a run; give a number'
                )
        self._places = {name: place for place, (name, *_) in enumerate(told)}
        self.sides = {name: side for name, _, _, side, *_ in told}
        self.kinds = {name: kind for name, _, _, _, kind, *_ in told}
        for target in targets:
            kind = self.kinds[target.name]
            if kind in ("share", "part") or target.name.endswith("jain"):
                check_share(target)
            if not target.is_searched or not target.bound.startswith(">"):
                continue
            if kind == "ratio":
                share_of(target)
            elif kind != "part":
                raise Error(
                    f"--target: {target.name} has no greatest value to come near to; ask for a "
                    "ratio, like utilisation >= 0.98"
                )
        self.runs = 0

    def scenario(self, packets: int) -> Scenario:
        """Return the scenario with a buffer."""
        return self._base.with_({"dumbbell.buffer": f"{packets}p"})

    def bound(self, target: Target) -> float:
        """Return what a target's bound amounts to; runs have been made."""
        place = self._places[target.name]
        return float(next(iter(self._known.values()))[place][1])

    def ask(self, buffers: Sequence[int], seeds: Sequence[int]) -> None:
        """Run buffers under seeds, as far as they have not been run."""
        jobs = [
            (packets, seed)
            for packets in dict.fromkeys(buffers)
            for seed in seeds
            if (packets, seed) not in self._known
        ]
        cases = {packets: self.scenario(packets) for packets in {job[0] for job in jobs}}
        leans = {packets: lean(case) for packets, case in cases.items()}
        check_memory([case.weight() for case in leans.values()], len(seeds))

        def one(job: int, watch: Callable[[float], None]) -> Numbers:
            packets, seed = jobs[job]
            return self._store.numbers(cases[packets], leans[packets], seed, watch)

        if jobs:
            for job, found in zip(jobs, each(len(jobs), one), strict=True):
                self._known[job] = np.array(found, dtype=np.float64)
                self.runs += 1

    def values(self, target: Target, packets: int, seeds: Sequence[int]) -> list[float]:
        """Return the number under each seed; it has been asked for."""
        values = self.each(target.name, packets, seeds)
        if any(map(math.isnan, values)):
            raise Error(
                f"--target: runs with {packets} packets of buffer show no {target.name}; give a "
                "longer --duration, or another target"
            )
        return values

    def verdict(
        self, target: Target, packets: int, seeds: Sequence[int], confidence: float
    ) -> Verdict:
        """Return whether a target is met at a buffer; it has been asked for."""
        values = self.each(target.name, packets, seeds)
        bounds = [self.bound(target)] * len(values)
        return judge(self.sides[target.name], values, bounds, confidence)

    @property
    def names(self) -> list[str]:
        """The numbers that are known of each run: `SEEN`, and those of targets."""
        return list(dict.fromkeys([*SEEN, *(it.name for it in self.targets)]))

    def each(self, name: str, packets: int, seeds: Sequence[int]) -> list[float]:
        """Return a number under each seed, NaN where a run shows none; it has been asked for."""
        place = self._places[name]
        return [float(self._known[packets, seed][place][0]) for seed in seeds]

    def timeouts(self, packets: int) -> float:
        """Return how many timeouts a flow had in a second with a buffer that has been asked for.

        NaN for stacks that do not tell.
        """
        seeds = [*self.seeds_of(packets), *(it for it in FRESH if (packets, it) in self._known)]
        sums = [sum(self.each(name, packets, seeds)) for name in self._counts]
        length, from_when = self._base.checked.times()
        return sum(sums) / (len(seeds) * sum(self._counts.values()) * (length - from_when))

    def asked(self) -> list[int]:
        """Return the buffers that have been run, in order."""
        return sorted({packets for packets, seed in self._known if seed not in FRESH})

    def seeds_of(self, packets: int) -> list[int]:
        """Return the seeds under which a buffer has been run, but for fresh ones."""
        return sorted(seed for size, seed in self._known if size == packets and seed not in FRESH)


@dataclass(frozen=True)
class Look:
    """What runs show of a target at a buffer where others are met.

    Attributes
    ----------
    target
        Which.
    packets
        The buffer.
    mean
        Of the number over fresh seeds.
    verdict
        Whether it is met there.
    """

    target: Target
    packets: int
    mean: float
    verdict: Verdict


def look(advisor: Advisor, target: Target, packets: int) -> Look:
    """Judge a target at a buffer by fresh seeds.

    Parameters
    ----------
    advisor
        What asks runs.
    target
        One of its targets.
    packets
        The buffer.

    Returns
    -------
    Look
        With 95 % confidence.
    """
    advisor.ask([packets], FRESH)
    mean = float(np.mean(advisor.each(target.name, packets, FRESH)))
    return Look(target, packets, mean, advisor.verdict(target, packets, FRESH, CONFIDENCE))


def curve(advisor: Advisor) -> list[dict[str, Any]]:
    """Return what has been seen at each buffer, means over its seeds.

    Parameters
    ----------
    advisor
        After answers.

    Returns
    -------
    list of dict
        ``buffer`` in packets, ``seeds``, and each number by name: those of targets, and `SEEN`; NaN
        where a run shows none.
    """
    rows = []
    for packets in advisor.asked():
        seeds = advisor.seeds_of(packets)
        row: dict[str, Any] = {"buffer": packets, "seeds": len(seeds)}
        rows.append(
            row
            | {name: float(np.mean(advisor.each(name, packets, seeds))) for name in advisor.names}
        )
    return rows

"""What a run is worth: goodput, delay, loss and fairness, each from 0 to 1, and one number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from narrows.judging.suite import Case
from narrows.results import Result

# What each part of the score weighs: a geometric mean, so that nothing is bought with a zero.
WEIGHTS = {"goodput": 0.4, "delay": 0.2, "loss": 0.2, "fair": 0.2}
LEAST = 1e-3
# Loss beyond the wire's that is worth nothing.
MOST_LOSS = 0.05
PACKET = 12_000


@dataclass(frozen=True)
class Marks:
    """A run's marks.

    Attributes
    ----------
    goodput
        The law's packets per fair share of the link, at most 1.
    delay
        1 / (1 + 95th percentile of the queueing delay / base RTT).
    loss
        1 − (loss − the wire's) / 5 %, at least 0.
    fair
        Of two of it (2 · Jain − 1); beside another, what that gets of what it gets beside itself.
    score
        100 times the weighted geometric mean.
    raw
        What the marks are of: ``goodput`` of the law and of the link in bit/s, ``delay_p95`` in
        seconds, ``loss``, and what reasons are read from.
    """

    goodput: float
    delay: float
    loss: float
    fair: float
    score: float
    raw: dict[str, float]

    def told(self) -> dict[str, Any]:
        """Return all of it, for JSON."""
        rounded = {name: _short(value) for name, value in asdict(self).items() if name != "raw"}
        return rounded | {name: _short(value) for name, value in self.raw.items()}


def _short(value: float) -> float | None:
    return float(f"{value:.5g}") if math.isfinite(value) else None


def _offered(case: Case, result: Result) -> float:
    """Return the bits that the link could have sent while it was measured."""
    link = result.links.row(result.bottleneck, named=True)
    sent = link["departed_bytes"] * 8
    return sent / link["utilisation"] if link["utilisation"] else case.rate * case.duration


def marks(case: Case, result: Result, beside_itself: float | None = None) -> Marks:
    """Mark a run.

    Parameters
    ----------
    case
        What was run.
    result
        What came of it.
    beside_itself
        Of a scenario with another law, the packets that this one gets beside one more of its own.

    Returns
    -------
    Marks
        The marks.
    """
    flows = result.flows
    own = flows.row(0, named=True)
    arrived = [float(count) for count in flows["arrived"].to_list()]
    offered = _offered(case, result) * (1 - case.loss) / PACKET
    link = result.links.row(result.bottleneck, named=True)
    delay = link["delay_p95"] or 0.0
    ours_are = flows.rows(named=True)[: 2 if case.kind in ("two", "late") else 1]
    sent = sum(flow["sent"] for flow in ours_are)
    # What is found lost may have left before it was measured.
    loss = min(1.0, sum(flow["lost"] for flow in ours_are) / sent) if sent else 1.0
    if case.kind in ("two", "late"):
        ours, share = sum(arrived) / 2, offered / 2
        squares = sum(it * it for it in arrived)
        fair = sum(arrived) ** 2 / squares - 1 if squares else 0.0
    elif case.other is not None:
        ours, share = arrived[0], offered / 2
        fair = min(1.0, arrived[1] / beside_itself) if beside_itself else 1.0
    else:
        ours, share, fair = arrived[0], offered, 1.0
    parts = {
        "goodput": min(1.0, ours / share) if share else 0.0,
        "delay": 1 / (1 + delay / case.rtt),
        "loss": max(0.0, min(1.0, 1 - (loss - case.loss) / MOST_LOSS)),
        "fair": fair,
    }
    log = sum(weight * math.log(max(LEAST, parts[name])) for name, weight in WEIGHTS.items())
    raw = {
        "own_packets": ours,
        "other_packets": arrived[1] if case.other is not None else math.nan,
        "share_of_link": arrived[0] / offered if offered else math.nan,
        "delay_p95": delay,
        "loss_rate": loss,
        "marked": link["marks"] / sent if sent else 0.0,
        "timeouts": float(sum(flow["timeouts"] or 0 for flow in ours_are)),
        "recovery": own["limited_by_recovery"] or 0.0,
    }
    return Marks(**parts, score=100 * math.exp(log), raw=raw)


def reasons(case: Case, mark: Marks) -> list[str]:
    """Return what cost most, in words, with the numbers.

    Parameters
    ----------
    case
        What was run.
    mark
        Its marks.

    Returns
    -------
    list of str
        At most three sentences, the costliest first; empty if little is lost.
    """
    raw = mark.raw
    if not raw:
        return ["the law failed"]
    found: list[tuple[float, str]] = []

    def cost(part: str) -> float:
        return -WEIGHTS[part] * math.log(max(LEAST, getattr(mark, part)))

    share = 100 * raw["share_of_link"]
    if case.other is not None and mark.fair < 0.8:
        kept = 100 * mark.fair
        found.append(
            (
                cost("fair"),
                f"takes {share:.0f} % beside {case.other}, which keeps {kept:.0f} % of what it has "
                "beside itself",
            )
        )
    elif case.kind in ("two", "late") and mark.fair < 0.8:
        found.append((cost("fair"), f"two of it share unevenly: 2·Jain − 1 is {mark.fair:.2f}"))
    if mark.goodput < 0.8:
        said = f"uses {100 * mark.goodput:.0f} % of its share"
        if raw["recovery"] > 0.6:
            said += f", {100 * raw['recovery']:.0f} % of the time in recovery"
        if raw["timeouts"] > 2:
            said += f", with {raw['timeouts']:.0f} timeouts"
        found.append((cost("goodput"), said))
    if mark.delay < 0.6:
        times = raw["delay_p95"] / case.rtt
        found.append(
            (
                cost("delay"),
                f"standing queue: 95th percentile of {1e3 * raw['delay_p95']:.0f} ms, {times:.1f} "
                "times the base RTT",
            )
        )
    if mark.loss < 0.8:
        found.append(
            (
                cost("loss"),
                f"loses {100 * raw['loss_rate']:.1f} % of its packets, "
                f"the wire {100 * case.loss:.2g} %",
            )
        )
    return [said for _, said in sorted(found, reverse=True)[:3]]


def mean(all_: Sequence[Marks]) -> Marks:
    """Return the mean of marks, each part by itself.

    Parameters
    ----------
    all_
        Of one scenario under several seeds.

    Returns
    -------
    Marks
        Their means; of those that failed there are no raw numbers.
    """
    raw = [one.raw for one in all_ if one.raw]

    def of(values: Sequence[float]) -> float:
        return sum(values) / len(values)

    return Marks(
        of([one.goodput for one in all_]),
        of([one.delay for one in all_]),
        of([one.loss for one in all_]),
        of([one.fair for one in all_]),
        of([one.score for one in all_]),
        {name: of([one[name] for one in raw]) for name in raw[0]} if raw else {},
    )

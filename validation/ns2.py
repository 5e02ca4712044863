"""Run every case of the ns-2 reference again and compare the results (`ns2.jsonl`).

Flows start when they did in ns-2: the start times are drawn in the same order from the same
generator, MRG32k3a (L'Ecuyer, 1999), seeded with six equal numbers. Only ns-2's random overhead
is drawn differently; if a case has one, narrows' figures are means over several seeds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from narrows.pool import run_all
from narrows.results import Result
from narrows.scenario import Scenario
from narrows.statistics import mean_and_interval
from tables import Section

REFERENCE = Path(__file__).resolve().with_name("ns2.jsonl")
# Settings that all senders of ns-2's Agent/TCP/Linux share: those of the TCP of Linux 2.6.22.
LINUX = {"timestamps": True, "packet": "1010B"}
# ns-2's names of senders, and the same senders here. In Linux 2.6.22, CUBIC has beta 819/1024,
# C 410/1024 and S_max 16 packets per 100 ms; BIC counts an acknowledgement as 31/16 packets;
# Scalable TCP adds one packet per 50 acknowledged; H-TCP grows in proportion to the RTT.
SENDERS: dict[str, dict[str, Any]] = {
    "reno": {"cc": "reno+reno"},
    "newreno": {"cc": "newreno"},
    "sack": {"cc": "sack"},
    "hstcp": {"cc": "highspeed"},
    "linux:bic": {"cc": "bic:delayed_ack=1.9375", "rate_halving": 1, **LINUX},
    "linux:cubic": {
        "cc": "cubic:beta=0.7998046875:c=0.400390625:s_max=160"
        ":friendly=rfc:unknown_growth=0:ahead=smoothed:whole=false",
        "rate_halving": 1,
        **LINUX,
    },
    "linux:htcp": {"cc": "htcp:rtt_scaling=true", "rate_halving": 0.5, **LINUX},
    "linux:scalable": {"cc": "scalable:a=0.02", "rate_halving": 0.5, **LINUX},
    "xcp": {"cc": "xcp:whole=true+reno", **LINUX},
}
# ns-2's names of queues, and the same queues here. When ns-2's RED computes how many packets could
# have been sent while the queue was idle, it takes them to be of 500 bytes (mean_pktsize_, which
# dumbbell.tcl leaves at its default).
RED = "red:wait=true:mean_packet=500"
QUEUES = {"DropTail": "drop-tail", "RED": f"{RED}:ecn=false", "ECN": RED, "XCP": "xcp"}
SEEDS = 3
AIM = 0.02
PACKET = 1000


@dataclass(frozen=True)
class Comparison:
    """The figures of ns-2 and of narrows for one case.

    If data flows both ways, utilisation is computed from goodput.
    """

    case: str
    reference: dict[str, float]
    found: dict[str, float]

    @property
    def difference(self) -> float:
        """The utilisation of narrows minus that of ns-2."""
        return self.found["utilisation"] - self.reference["utilisation"]


def mrg32k3a(seed: int) -> Iterator[float]:
    """Draw ns-2's uniform random numbers.

    Parameters
    ----------
    seed
        The seed that ns-2 is given with ``$rng seed``.

    Yields
    ------
    float
        A number between 0 and 1.

    References
    ----------
    P. L'Ecuyer: "Good parameters and implementations for combined multiple recursive random number
    generators", Operations Research 47 (1999).

    Examples
    --------
    The first two numbers that ns-2.35 prints for seed 1:

    >>> draws = mrg32k3a(1)
    >>> f"{next(draws):.12f}", f"{next(draws):.12f}"
    ('0.000339576975', '0.555880715864')
    """
    m1, m2 = 4294967087, 4294944443
    a, b = [seed] * 3, [seed] * 3
    while True:
        a = [a[1], a[2], (1403580 * a[1] - 810728 * a[0]) % m1]
        b = [b[1], b[2], (527612 * b[2] - 1370589 * b[0]) % m2]
        # ns-2 first makes 31-bit integers (RNG::next), and its uniform numbers from those.
        yield int(2**31 * ((a[2] - b[2]) % m1 or m1) / (m1 + 1)) / (2**31 - 1)


def scenario_of(case: dict[str, Any]) -> Scenario:
    """Describe a case of the reference as a scenario."""
    draws = mrg32k3a(1)
    forward, reverse = case["n"], case.get("rev", 0)
    starts = [f"{next(draws) * case.get('start', 0.1):.12f}s" for _ in range(forward + reverse)]
    overhead = case.get("jitter", 0)
    sender = dict(SENDERS[case["proto"]], overhead=f"{overhead}s")
    # ns-2's rate halving stalls whenever its overhead delays a departure.
    if overhead and "rate_halving" in sender:
        sender["halving_stalls"] = True
    sender["max_ssthresh"] = case.get("ssmax", 0)
    queue = case.get("q", "DropTail")
    sender["ecn"] = queue == "ECN"
    flows = [{**sender, "count": forward, "starts": starts[:forward]}]
    if reverse:
        # ns-2's reverse flows all have the first flow's RTT, without rtt_step.
        flows.append(
            {
                **sender,
                "count": reverse,
                "starts": starts[forward:],
                "reverse": True,
                "rtt": f"{case['rtt']}ms",
            }
        )
    return Scenario(
        duration=f"{case['dur']}s",
        warmup=f"{case['warm']}s",
        tcp="ns2",
        sample="0s",
        dumbbell={
            "rate": f"{case['bw']}Mbps",
            "rtt": f"{case['rtt']}ms",
            "rtt_step": f"{case.get('drtt', 0)}ms",
            "buffer": f"{case['buf']}p",
            "queue": QUEUES[queue],
        },
        flows=flows,
    )


def figures(case: dict[str, Any], result: Result) -> dict[str, float]:
    """Compute a run's figures as ns-2's script does.

    Packets count as 1000 bytes, and the queue excludes the packet in service.
    """
    link = result.links.row(0, named=True)
    seconds = case["dur"] - case["warm"]
    capacity = case["bw"] * 1e6 * seconds / (8 * PACKET)
    arrived = result.flows.filter(~result.flows["reverse"])["arrived"]
    squares = sum(packets**2 for packets in arrived)
    delivered = float(arrived.sum())
    return {
        "utilisation": (delivered if case.get("rev") else link["departures"]) / capacity,
        "loss_rate": link["loss_rate"],
        "jain": delivered**2 / (len(arrived) * squares) if squares else 0.0,
        "mean_queue": link["mean_queue"] - link["utilisation"],
    }


def reference_figures(case: dict[str, Any], result: dict[str, Any]) -> dict[str, float]:
    """Return ns-2's figures for a case."""
    goodput = result["goodput_mbps"] / case["bw"]
    utilisation = goodput if case.get("rev") else result["utilisation"]
    return {
        "utilisation": utilisation,
        **{key: result[key] for key in ("loss_rate", "jain", "mean_queue")},
    }


def compare(reference: Path, only: str | None) -> list[Comparison]:
    """Run every case of a reference file for whose sender and queue narrows has a counterpart.

    Parameters
    ----------
    reference
        A file with one JSON object per line.
    only
        Text that the description of a case must contain; None for all cases.
    """
    lines = [json.loads(line) for line in reference.read_text().splitlines()]
    lines = [
        line for line in lines if line["case"]["proto"] in SENDERS and line["result"]["q"] in QUEUES
    ]
    described = [(" ".join(f"{k}={v}" for k, v in line["case"].items()), line) for line in lines]
    chosen = [(text, line) for text, line in described if only is None or only in text]
    jobs: list[tuple[Scenario, int]] = []
    for _, line in chosen:
        jobs += [(scenario_of(line["case"]), seed) for seed in range(1, _seeds(line["case"]) + 1)]
    results = iter(run_all(jobs))
    comparisons = []
    for text, line in chosen:
        runs = [figures(line["case"], next(results)) for _ in range(_seeds(line["case"]))]
        found = {key: sum(run[key] for run in runs) / len(runs) for key in runs[0]}
        comparisons.append(Comparison(text, reference_figures(line["case"], line["result"]), found))
    return comparisons


def _seeds(case: dict[str, Any]) -> int:
    return SEEDS if case.get("jitter") else 1


HEAD = [
    "case",
    "utilisation, ns-2",
    "narrows",
    "difference",
    "loss rate, ns-2",
    "narrows",
    "Jain's index, ns-2",
    "narrows",
    "mean queue, ns-2",
    "narrows",
]


def rows(comparisons: list[Comparison]) -> list[list[str]]:
    """Return the cells of the table, one row per case."""

    def pair(comparison: Comparison, key: str, form: str) -> list[str]:
        return [f"{figures[key]:{form}}" for figures in (comparison.reference, comparison.found)]

    cells = []
    for c in comparisons:
        mark = "" if abs(c.difference) <= AIM else " *"
        loss, jain, queue = (
            pair(c, "loss_rate", ".2e"),
            pair(c, "jain", ".3f"),
            pair(c, "mean_queue", ".1f"),
        )
        cells.append(
            [
                c.case,
                *pair(c, "utilisation", ".4f"),
                f"{c.difference:+.4f}{mark}",
                *loss,
                *jain,
                *queue,
            ]
        )
    return cells


def summary(comparisons: list[Comparison]) -> str:
    """Report in how many cases narrows is within the aim, and by how much it differs."""
    differences = [c.difference for c in comparisons]
    within = sum(abs(d) <= AIM for d in differences)
    mean, _ = mean_and_interval(differences)
    root = math.sqrt(sum(d * d for d in differences) / len(differences))
    losses = [
        math.log(c.found["loss_rate"] / c.reference["loss_rate"])
        for c in comparisons
        if min(c.found["loss_rate"], c.reference["loss_rate"]) > 0
    ]
    loss = (
        f"; loss rate {math.exp(sum(losses) / len(losses)):.3f} times ns-2's (geometric mean of "
        f"{len(losses)} cases)"
        if losses
        else ""
    )
    return (
        f"utilisation within {100 * AIM:.0f} percentage points of ns-2's "
        f"in {within} of {len(comparisons)} cases ({within / len(comparisons):.1%}); "
        f"mean difference {mean:+.4f}, root mean square {root:.4f}{loss}"
    )


def sections(reference: Path, only: str | None) -> list[Section]:
    """Run a reference file's cases and make a table; none if no case is chosen."""
    comparisons = compare(reference, only)
    if not comparisons:
        return []
    return [Section("ns2", HEAD, rows(comparisons), summary(comparisons))]

"""Figure 2: the pseudo code of congestion signalling, run as it is printed."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np
import polars as pl

from narrows.plot import panels
from narrows_papers.bench import Bench
from narrows_papers.claims import below, near, stated
from narrows_papers.registry import Finding, experiment

BITS = 32


class Figure2:
    """The sender of figure 2, line by line.

    Each number that it answers is passed to `note` as (number, received).
    """

    def __init__(self, note: Callable[[int, bool], None]) -> None:
        self.cc_ack = -1
        self._note = note

    def on_ack(self, h_seq: int, bitmap: int) -> None:
        """Respond to an acknowledgement."""
        if self.cc_ack >= h_seq:
            return
        mask = 1
        while self.cc_ack + 1 < h_seq - BITS:
            self._note(self.cc_ack + 1, False)
            self.cc_ack += 1
        if h_seq - self.cc_ack > 2:
            mask <<= h_seq - self.cc_ack - 2
        while self.cc_ack < h_seq:
            if mask & bitmap or self.cc_ack == h_seq - 1:
                self._note(self.cc_ack + 1, True)
            elif h_seq > self.cc_ack + 3:
                self._note(self.cc_ack + 1, False)
            else:
                break
            mask >>= 1
            self.cc_ack += 1


def simulate(packets: int, loss: float, seed: int) -> tuple[list[int], int, int]:
    """Send packets one by one over paths that lose packets both ways.

    Return how often each number was answered, how many received packets were taken for lost, and
    how many were received.
    """
    chance = random.Random(seed)
    answered, arrived, wrong = [0] * packets, bytearray(packets), 0

    def note(number: int, received: bool) -> None:
        nonlocal wrong
        answered[number] += 1
        wrong += bool(arrived[number]) and not received

    sender, bitmap, highest = Figure2(note), 0, -1
    for number in range(packets):
        if chance.random() < loss:
            continue
        arrived[number] = 1
        # Bit k stands for h_seq − 1 − k: the old h_seq moves into the map, and the map shifts.
        bitmap = ((bitmap << 1 | (highest >= 0)) << (number - highest - 1)) & (2**BITS - 1)
        highest = number
        if chance.random() >= loss:
            sender.on_ack(highest, bitmap)
    return answered[: sender.cc_ack + 1], wrong, sum(arrived)


def taken_for_lost(p: float) -> float:
    """Return the probability that a received packet is taken for lost, with the wait at holes.

    Behind a hole at s − 2 the acknowledgement of s itself does not answer s; behind a hole at s − 1
    the acknowledgement of s + 1 does not answer s either.

    Examples
    --------
    >>> f"{taken_for_lost(0.05):.2g}"
    '2.7e-33'
    """
    silent = p + (1 - p) * p
    return (1 - p) ** 2 * p * silent**BITS + (1 - p) * p * silent**BITS + p * silent ** (BITS - 1)


@experiment(
    "etcp/fig02", "congestion signalling: each number is answered once, and how rarely wrongly"
)
def fig02(bench: Bench) -> Finding:
    """Run figure 2 (§III-B).

    The same facts are property tests in `crates/transport/tests/etcp.rs`.
    """
    packets = round(2_000_000 * bench.scale)
    rows = []
    for loss in (0.05, 0.3, 0.4, 0.5):
        answered, wrong, received = simulate(packets, loss, seed=1)
        rows.append((loss, wrong / received, taken_for_lost(loss), min(answered), max(answered)))
    frame = pl.DataFrame(
        rows, schema=["loss", "wrong", "computed", "least_answers", "most_answers"], orient="row"
    )
    silent = 0.05 + 0.95 * 0.05
    expected = taken_for_lost(0.5) * packets / 2
    least, most = min(row[3] for row in rows), max(row[4] for row in rows)
    claims = [
        stated(
            "each sequence number is answered once and only once",
            "once",
            f"{least} to {most} times",
            least == most == 1,
        ),
        below(
            "5 % loss both ways: probability that a received number is in none of the "
            "acknowledgements that arrive",
            1e-33,
            0.05 * silent**BITS,
        ),
        below(
            "5 % loss both ways: probability that a received number is taken for lost",
            1e-33,
            taken_for_lost(0.05),
            why="behind a hole the pseudo code waits for h_seq > s + 2, so acknowledgements of s "
            "and s + 1 do not answer s; the paper's bound leaves that out. The probability is "
            "still far below anything that matters",
        ),
        near(
            "50 % loss both ways: share of received numbers taken for lost, "
            "simulated against computed",
            taken_for_lost(0.5),
            rows[-1][1],
            3 / math.sqrt(expected),
            since=f"three standard deviations of the count, of which {expected:.0f} are expected",
            by="the probabilities of the pseudo code",
        ),
    ]
    figure, axes = panels()
    fine = np.linspace(0.2, 0.5, 61)
    axes[0][0].semilogy(fine, [taken_for_lost(p) for p in fine], "-", label="computed")
    shown = frame.filter(pl.col("wrong") > 0)
    axes[0][0].semilogy(shown["loss"], shown["wrong"], "o", label=f"{packets:,} packets simulated")
    axes[0][0].set(xlabel="loss both ways", ylabel="received numbers\ntaken for lost")
    axes[0][0].legend(fontsize="x-small")
    return Finding(claims, {"answers": frame}, figure)

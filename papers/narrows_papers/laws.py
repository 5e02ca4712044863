"""The response function of every law, measured under independent losses, over its formula."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.theory import response
from narrows.types import Floats
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, stated
from narrows_papers.registry import Finding, experiment

RTT = 0.1
PACKET_BITS = 12_000
LOSSES = [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7]
# Losses in a run: the mean window over n epochs is known to a relative error of about 1/(2√n).
MOST_LOSSES = 200
MOST_PACKETS = 4e7


@dataclass(frozen=True)
class Law:
    """A law, its formula, and how far independent losses may take the law from its formula.

    Parameters
    ----------
    cc
        The law's name, as a flow gives it.
    formula
        The mean window at a loss rate, for equally spaced losses.
    written
        The formula as text.
    within
        Bound on measured/formula and on its inverse: allows for the effect of independent losses,
        which the formula leaves out.
    seconds
        The shortest run: a large window takes a long time to build up.
    why
        What is known about a difference.
    least
        The smallest loss rate measured. At 1e-7 Scalable's window is 800,000 packets, and a run
        would take an hour.
    """

    cc: str
    formula: Callable[[Floats], Floats]
    written: str
    within: float = 1.25
    least: float = 0.0
    seconds: float = 60.0
    why: str = ""


LAWS = [
    Law("reno+reno", response.square_root, "√(3/(2p)) = 1.22/√p", 1.15),
    Law(
        "highspeed",
        response.highspeed,
        "0.12/p^0.835",
        seconds=300.0,
    ),
    Law("scalable", response.scalable, "0.08/p", 1.35, least=1e-6, seconds=200.0),
    Law(
        "ltcp",
        response.ltcp,
        "√(K(1 − β/2)/(βp)), eq. 18",
        why="at 1e-3 eq. 18 with eq. 10 has two solutions, K = 1 with 39 packets and K = 2 with "
        "111; chance takes every run past 50 packets, and so to the larger",
    ),
    Law(
        "cubic:friendly=rfc:unknown_growth=0:ahead=smoothed:whole=false",
        lambda p: response.cubic(p, RTT),
        "1.054(RTT/p)^¾, RFC 9438 §5.1",
        1.5,
    ),
    Law(
        "bic",
        response.bic,
        "numerical, equally spaced losses",
        1.4,
        why="not known; the formula is for equally spaced losses, growth beyond W_max is convex",
    ),
    Law(
        "htcp:adaptive=false",
        lambda p: response.htcp(p, RTT),
        "numerical, from eqs. 17 and 24",
        2.0,
    ),
]
# At 1e-7 a run has eight epochs.
LEAST_JUDGED = 5e-7
# E-TCP's p is above p0 and counts losses per acknowledged packet.
ETCP_LOSSES = [0.0105, 0.011, 0.012, 0.015, 0.02]


@experiment("laws/response", "the response function of every law")
def laws(bench: Bench) -> Finding:
    """Measure the window at Bernoulli loss rates from 1e-2 to 1e-7; RTT 100 ms, no queue."""
    frames = [_measured(bench, law) for law in LAWS]
    etcp = _etcp(bench)
    claims = [_claim(law, frame) for law, frame in zip(LAWS, frames, strict=True)]
    ratio = etcp["window"].to_numpy() / etcp["formula"].to_numpy()
    claims.append(_stated("etcp", "2/(p − p0), p per acknowledged packet", ratio, 1.1))
    found = pl.concat([*frames, etcp])
    note = (
        "One flow over a path of 100 ms that it cannot fill; the window is the sending rate times "
        f"the RTT. A run lasts for {MOST_LOSSES} losses or {MOST_PACKETS:.0e} packets, whichever "
        "is less, and is done twice; at 1e-7 that is eight epochs, and the mean is known to a "
        "fifth, so that rate is drawn and not judged. The formulas assume equally spaced losses; "
        "independent losses make Reno's window "
        "larger by a factor of 1.07 (Ott, Kemperman, Mathis) and Scalable's by about 1/(1 − b). "
        "The bounds in the claims allow for that. "
        "At p = 0.01 timeouts are part of what is measured."
    )
    return Finding(claims, {"windows": found}, _drawn(frames, etcp), note)


def _claim(law: Law, frame: pl.DataFrame) -> Claim:
    judged = frame.filter(pl.col("p") >= LEAST_JUDGED)
    return _stated(
        law.cc,
        law.written,
        judged["window"].to_numpy() / judged["formula"].to_numpy(),
        law.within,
        law.why,
    )


def _stated(name: str, written: str, ratio: Floats, within: float, why: str = "") -> Claim:
    return stated(
        f"{name}: measured mean window divided by the formula's, {written}",
        f"{1 / within:.2f} to {within:.2f}",
        f"{ratio.min():.2f} to {ratio.max():.2f}",
        bool(ratio.min() >= 1 / within and ratio.max() <= within),
        ", ".join(f"{value:.2f}" for value in ratio)
        + " in the order of the loss rates"
        + (f"; {why}" if why else ""),
    )


def _measured(bench: Bench, law: Law) -> pl.DataFrame:
    p = np.array([loss for loss in LOSSES if loss >= law.least])
    formula = law.formula(p)
    windows = [
        _window(bench, law.cc, float(loss), float(window), law.seconds)
        for loss, window in zip(p, formula, strict=True)
    ]
    return pl.DataFrame({"law": [law.cc] * len(p), "p": p, "window": windows, "formula": formula})


def _etcp(bench: Bench) -> pl.DataFrame:
    acknowledged = np.array(ETCP_LOSSES)
    formula = response.etcp(acknowledged)
    sent = response.per_packet_sent(acknowledged)
    windows = [
        _window(bench, "etcp", float(loss), float(window), 900.0)
        for loss, window in zip(sent, formula, strict=True)
    ]
    return pl.DataFrame(
        {"law": ["etcp"] * len(sent), "p": acknowledged, "window": windows, "formula": formula}
    )


def _window(bench: Bench, cc: str, loss: float, expected: float, least: float) -> float:
    """Return the mean window, rate times RTT in packets, over the last two thirds of a run."""
    packets = min(MOST_LOSSES / loss, MOST_PACKETS * bench.scale)
    seconds = max(least * min(1.0, 10 * bench.scale), 1.5 * packets * RTT / expected)
    # Slow start lets the window grow until the first loss. Limited slow start ends not
    # far above the level at which the window settles.
    flow: dict[str, Any] = {"cc": cc} if cc == "etcp" else {"cc": cc, "max_ssthresh": 100}
    base = Scenario(
        tcp="ns2",
        packet="1500B",
        duration=f"{seconds:.3f}s",
        warmup=f"{seconds / 3:.3f}s",
        sample="0s",
        # No queue: the rate is ten times what the flow needs, or more.
        dumbbell={"rate": "100Gbps", "rtt": f"{RTT}s", "buffer": "10000p", "loss": f"{loss:.9g}"},
        flows=[flow],
    )
    # The mean window over few losses is noisy, so take two runs.
    throughput = bench.sweep(base, seeds=2).flows["throughput"].to_numpy()
    return float(throughput.mean()) / PACKET_BITS * RTT


def _drawn(frames: list[pl.DataFrame], etcp: pl.DataFrame) -> Any:
    figure, axes = panels(1, 2, width=5, height=3.8)
    dense = np.logspace(-7, -2, 61)
    for number, (law, frame) in enumerate(zip(LAWS, frames, strict=True)):
        axes[0][0].loglog(
            dense,
            law.formula(dense),
            color=f"C{number}",
            lw=1,
            label=f"{law.cc.split(':')[0]}: {law.written}",
        )
        axes[0][0].loglog(frame["p"], frame["window"], "o", ms=4, color=f"C{number}")
    axes[0][0].set(xlabel="loss rate p", ylabel="mean window (packets)")
    axes[0][0].legend(fontsize="xx-small")
    fine = np.linspace(0.0102, 0.021, 100)
    axes[0][1].semilogy(fine, response.etcp(fine), color="k", lw=1, label="etcp: 2/(p − p0)")
    axes[0][1].semilogy(etcp["p"], etcp["window"], "ko", ms=4, label="measured")
    axes[0][1].set(xlabel="losses per acknowledged packet", ylabel="mean window (packets)")
    axes[0][1].legend(fontsize="xx-small")
    return figure

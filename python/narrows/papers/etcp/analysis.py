"""§II, §III and figure 1: the evolutionary model."""

from __future__ import annotations

import numpy as np
import polars as pl

from narrows.papers.claims import Claim, near, stated
from narrows.papers.lab import Lab
from narrows.papers.registry import Finding, experiment
from narrows.plot import panels
from narrows.theory.evolution import buffer_for, utilisation_at, utilisation_of_generation
from narrows.theory.queue import mm1b_load, mm1b_loss
from narrows.theory.response import etcp_loss, square_root_loss

BUFFER = 20
RTT = 0.1
# Response functions W = constant/p^exponent (eqs. 2, 12, 13). The paper gives BIC's exponent as
# between 1/2 and 1.
LAWS = {"TCP": (0.5, 2**0.5), "HSTCP": (0.835, 0.12), "STCP": (1.0, 0.08)}


@experiment(
    "etcp/sec2",
    "the evolutionary model: utilisation as connections become faster and buffers do not grow",
)
def sec2(lab: Lab) -> Finding:
    """Compute eqs. 1 to 4 (§II, §IX) with one connection and an RTT of 100 ms."""
    capacity = np.logspace(3, 14, 45)
    rows = {
        name: [utilisation_of_generation(c, 1, RTT, *law, BUFFER) for c in capacity]
        for name, law in LAWS.items()
    }
    rows["E-TCP"] = utilisation_at(capacity * 0.88, RTT, etcp_loss, BUFFER).tolist()
    frame = pl.DataFrame({"capacity": capacity, **rows})
    claims = []
    for name, (exponent, _) in LAWS.items():
        curve = np.array(rows[name])
        slope = np.diff(np.log(curve[-8:])).mean() / np.diff(np.log(capacity[-8:])).mean()
        # ρ·P_B(ρ)^a ∝ 1/c with P_B ≈ ρ^B: ρ falls to 0 as c^(−1/(1 + aB)).
        claims.append(
            stated(
                f"{name}: utilisation tends to 0, as c^(−1/(1 + aB)) with a = {exponent}",
                f"slope {-1 / (1 + exponent * BUFFER):.4f}",
                f"slope {slope:.4f}, {curve[-1]:.2f} at 10¹⁴ packets/s",
                bool((np.diff(curve) < 0).all())
                and abs(slope * (1 + exponent * BUFFER) + 1) < 0.05,
            )
        )
    claims.append(
        near(
            "E-TCP: utilisation tends to the ρ at which P_B(ρ) = p0",
            float(mm1b_load(0.01, BUFFER)),
            rows["E-TCP"][-1],
            1e-3,
        )
    )
    claims.append(_rule())
    figure, axes = panels()
    for name, values in rows.items():
        axes[0][0].semilogx(capacity, values, label=name)
    axes[0][0].set(xlabel="capacity (packets/s)", ylabel="utilisation ρ", ylim=(0, 1))
    axes[0][0].legend(fontsize="x-small")
    return Finding(claims, {"model": frame}, figure)


def _rule() -> Claim:
    windows = np.logspace(2, 6, 9)
    buffers = buffer_for(0.9, windows)
    found = [
        utilisation_of_generation(w / 0.9 / RTT * 0.9, 1, RTT, 0.5, 2**0.5, round(float(b)))
        for w, b in zip(windows, buffers, strict=True)
    ]
    grows = np.polyfit(np.log(windows), buffers, 1)[0]
    return stated(
        "B + 2 = log_ρ 2(g/(τc))² keeps ρ constant at 0.9, so B grows as log W",
        f"ρ = 0.9, B grows by {-2 / np.log(0.9):.1f} for each e-fold of W",
        f"ρ = {min(found):.3f} to {max(found):.3f}, B grows by {grows:.1f}",
        max(found) - min(found) < 0.03 and abs(grows * np.log(0.9) + 2) < 1e-6,
        "the approximation P_B(ρ) ≈ ρ^B leaves out the factor (1 − ρ)/(1 − ρ^(B+1)), "
        "a tenth at ρ = 0.9",
    )


@experiment("etcp/sec3", "p0 from the buffer: the load at which an M/M/1/20 queue loses 1 %")
def sec3(lab: Lab) -> Finding:
    """Compute the load for p0 as in §III-A, "Setting p0"."""
    root = float(mm1b_load(0.01, BUFFER))
    at_ninety = float(mm1b_loss(0.9, BUFFER))
    claims = [
        near(
            "figure 1: the load at which an M/M/1/20 queue loses 0.01 of the packets",
            0.88,
            root,
            0.002,
        ),
        near(
            "text: the load at which an M/M/1/20 queue loses 0.01 of the packets",
            0.90,
            root,
            0.005,
            why=f"the exact root is {root:.4f}; at 0.9 the queue loses {at_ninety:.4f}. "
            "The text rounds up",
        ),
    ]
    load = np.linspace(0.6, 1.0, 81)
    figure, axes = panels()
    axes[0][0].semilogy(load, mm1b_loss(load, BUFFER))
    axes[0][0].plot(root, 0.01, "ko")
    axes[0][0].set(xlabel="load ρ", ylabel="loss probability of M/M/1/20")
    return Finding(
        claims, {"loss": pl.DataFrame({"load": load, "loss": mm1b_loss(load, BUFFER)})}, figure
    )


@experiment("etcp/fig01", "utilisation against a connection's throughput, TCP and E-TCP")
def fig01(lab: Lab) -> Finding:
    """Compute figure 1: 1000-byte packets, RTT 100 ms, an M/M/1/20 queue."""
    megabits = np.logspace(0, 5, 101)
    throughput = megabits * 1e6 / 8000
    tcp = utilisation_at(throughput, RTT, square_root_loss, BUFFER)
    etcp = utilisation_at(throughput, RTT, etcp_loss, BUFFER)
    under_half = megabits[np.argmax(tcp < 0.5)]
    claims = [
        stated(
            "TCP's utilisation drops below 50 % as its throughput increases",
            "< 50 %",
            f"from {under_half:.0f} Mbps on",
            bool((tcp < 0.5).any()),
        ),
        near("E-TCP's utilisation converges to 88 %", 0.88, float(etcp[-1]), 0.002),
    ]
    figure, axes = panels()
    axes[0][0].semilogx(megabits, etcp, label="E-TCP")
    axes[0][0].semilogx(megabits, tcp, "--", label="TCP")
    axes[0][0].set(xlabel="throughput of a connection (Mbps)", ylabel="utilisation", ylim=(0, 1))
    axes[0][0].legend()
    return Finding(
        claims, {"curves": pl.DataFrame({"megabits": megabits, "tcp": tcp, "etcp": etcp})}, figure
    )

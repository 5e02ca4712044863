"""§II, §III and figure 1: the evolutionary model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from narrows.plot import panels
from narrows.theory.evolution import buffer_for, utilisation_at, utilisation_of_generation
from narrows.theory.queue import Sizes, elasticity, mg1b_loss, mm1b_load, mm1b_loss
from narrows.theory.response import etcp_loss, per_packet_sent, square_root_loss
from narrows.types import Floats
from narrows_papers.bench import Bench, bottleneck
from narrows_papers.claims import Claim, above, digits, near, stated
from narrows_papers.etcp.setup import later, scenario, variation
from narrows_papers.marks import level
from narrows_papers.readings import MUCH_MORE, SAME
from narrows_papers.registry import Finding, experiment

BUFFER = 20
RTT = 0.1
# Response functions W = constant/p^exponent (eqs. 2, 12, 13). The paper gives BIC's exponent as
# between 1/2 and 1.
LAWS = {"TCP": (0.5, 2**0.5), "HSTCP": (0.835, 0.12), "STCP": (1.0, 0.08)}


# BIC's exponents in §IX: "1/2 < r < 1".
BIC = np.linspace(0.55, 0.95, 9)
LIMIT = "P_B(ρ) ≈ ρ^B leaves out 1 − ρ, which still moves by a hundredth"


@experiment(
    "etcp/sec2",
    "the evolutionary model: utilisation as connections become faster and buffers do not grow",
)
def sec2(bench: Bench) -> Finding:
    """Compute eqs. 1 to 4 (§II, §IX) with one connection and an RTT of 100 ms."""
    capacity = np.logspace(3, 14, 45)
    rows = {
        name: [utilisation_of_generation(c, 1, RTT, *law, BUFFER) for c in capacity]
        for name, law in LAWS.items()
    }
    band = {
        float(r): [utilisation_of_generation(c, 1, RTT, float(r), 1.0, BUFFER) for c in capacity]
        for r in BIC
    }
    rows["E-TCP"] = utilisation_at(capacity * 0.88, RTT, etcp_loss, BUFFER).tolist()
    rows["TCP, g = c/1000"] = [
        utilisation_of_generation(c, np.ceil(c / 1000), RTT, *LAWS["TCP"], BUFFER) for c in capacity
    ]
    frame = pl.DataFrame({"capacity": capacity, **rows})
    claims = _claims_of_sec2(capacity, rows, band)
    figure = _draw_sec2(capacity, rows, band)
    note = (
        "The factor of BIC's response function is not in the paper; 1 is taken. Slopes are those "
        "of ln ρ over ln c, over the last two decades of capacity."
    )
    return Finding(claims, {"model": frame}, figure, note)


def _claims_of_sec2(
    capacity: Floats, rows: dict[str, list[float]], band: dict[float, list[float]]
) -> list[Claim]:
    """Return the claims of etcp/sec2, with their verdicts."""
    claims = [
        _vanishes(name, exponent, capacity, rows[name]) for name, (exponent, _) in LAWS.items()
    ]
    claims += [
        _vanishes(f"BIC with r = {r:g}", r, capacity, band[r])
        for r in (float(BIC[0]), float(BIC[-1]))
    ]
    between = [_between(capacity, values) for values in band.values()]
    claims += [
        stated(
            "BIC, whatever r between 1/2 and 1: utilisation falls at every capacity, by a slope "
            "between those of TCP and STCP",
            "decreases to 0",
            f"{sum(between)} of {len(between)} exponents",
            all(between),
        ),
        near(
            "E-TCP: utilisation tends to the ρ at which P_B(ρ) = p0",
            float(mm1b_load(0.01, BUFFER)),
            rows["E-TCP"][-1],
            1e-3,
            since="2/W is 2e-10 at 10¹⁴ packets/s",
            by="eq. 5 for W → ∞",
        ),
        MUCH_MORE.claim(
            "connections in proportion to capacity, one for 1000 packets/s: utilisation does not "
            "vanish: the lowest up to 10¹⁴ packets/s, over that of a single connection there",
            min(rows["TCP, g = c/1000"]) / rows["TCP"][-1],
            says="greater than 0",
        ),
        stated(
            "a connection's throughput is unbounded although the utilisation vanishes: TCP's at "
            "10¹⁴ packets/s over that at 10³",
            "grows",
            f"{rows['TCP'][-1] * capacity[-1] / (rows['TCP'][0] * capacity[0]):,.0f} times",
            bool((np.diff(np.array(rows["TCP"]) * capacity) > 0).all()),
        ),
        *_rule(),
    ]
    return claims


def _draw_sec2(
    capacity: Floats, rows: dict[str, list[float]], band: dict[float, list[float]]
) -> Figure:
    """Draw the figure of etcp/sec2."""
    figure, axes = panels()
    for name, values in rows.items():
        axes[0][0].semilogx(capacity, values, "--" if "g =" in name else "-", label=name)
    axes[0][0].fill_between(
        capacity,
        np.min(list(band.values()), axis=0),
        np.max(list(band.values()), axis=0),
        color="0.85",
        label="BIC, 1/2 < r < 1",
    )
    axes[0][0].set(xlabel="capacity (packets/s)", ylabel="utilisation ρ", ylim=(0, 1.4))
    axes[0][0].legend(fontsize="x-small", ncols=2, loc="upper right")
    return figure


def _slope(capacity: Floats, values: Sequence[float]) -> float:
    """Return d ln ρ/d ln c over the last two decades."""
    return float(np.polyfit(np.log(capacity[-8:]), np.log(values[-8:]), 1)[0])


def _between(capacity: Floats, values: Sequence[float]) -> bool:
    falls = bool((np.diff(values) < 0).all())
    return falls and -1 / (1 + BUFFER / 2) < _slope(capacity, values) < -1 / (1 + BUFFER) * 0.98


def _vanishes(name: str, exponent: float, capacity: Floats, values: Sequence[float]) -> Claim:
    """Claim that ρ falls to 0: ρ·P_B(ρ)^a ∝ 1/c and P_B ≈ ρ^B make it c^(−1/(1 + aB))."""
    return near(
        f"{name}: utilisation tends to 0, as c^(−1/(1 + aB)) with a = {exponent:g}: the slope",
        -1 / (1 + exponent * BUFFER),
        _slope(capacity, values),
        0.02,
        since=LIMIT,
        by="eq. 4 with P_B ≈ ρ^B",
    )


WINDOWS = np.logspace(2, 6, 9)


def _buffers() -> Floats:
    """Return the buffer at which a TCP of each window has a utilisation of 0.9 (eq. 4, M/M/1/B)."""

    def surplus(buffer: float, window: float) -> float:
        # ρ is 0.9 where the queue loses 2/(ρ·W)²; a buffer need not be whole here.
        loss = 0.1 * 0.9**buffer / (1 - 0.9 ** (buffer + 1))
        return float(loss - 2 / (0.9 * window) ** 2)

    return np.array([brentq(surplus, 1.0, 1000.0, args=(w,)) for w in WINDOWS])


def _rule() -> list[Claim]:
    buffers = _buffers()
    steps = np.diff(buffers) / np.diff(np.log(WINDOWS))
    furthest = int(np.abs(steps + 2 / np.log(0.9)).argmax())
    return [
        near(
            "buffers must grow as log W for a utilisation of 0.9, by 2/ln(1/ρ) packets for each "
            "e-fold of W: the growth from W = 100 to 10⁶ that is furthest from it, with P_B of "
            "M/M/1/B",
            -2 / np.log(0.9),
            float(steps[furthest]),
            0.01,
            since="1 − ρ^(B+1) is 1 to a thousandth from 70 packets on",
            by="§II's rule",
        ),
        near(
            "the rule itself, B + 2 = log_ρ 2(g/(τc))²: what it gives for W = 10⁶, against the "
            "buffer that is needed",
            float(buffers[-1]),
            float(buffer_for(0.9, WINDOWS)[-1]),
            0.1,
            since='the paper says "approximately", as P_B ≈ ρ^B leaves out (1 − ρ)/(1 − ρ^(B+1))',
            by="M/M/1/B at ρ = 0.9",
            why="the factor left out is a tenth at ρ = 0.9, whose logarithm to the base ρ is "
            f"{np.log(0.1) / np.log(0.9):.0f} packets, at any W",
        ),
    ]


# §III-A takes b = 25 and p0 = 0.01; the others are ours.
BS = [2, 5, 10, 25]


@experiment("etcp/sec3", "p0 from the buffer, b from stability, and losses in a round trip")
def sec3(bench: Bench) -> Finding:
    """Compute the load for p0 and run b below and above the buffer (§III-A).

    One connection over 1 Gbps, 100 ms and 20 packets for 60 s, of which the last 45 s are measured.
    """
    root = float(mm1b_load(0.01, BUFFER))
    at_ninety = float(mm1b_loss(0.9, BUFFER))
    runs = {b: _alone(bench, f"etcp:b={b}") for b in BS}
    low = _alone(bench, "etcp:p0=0.001")
    calmer = {b: _alone(bench, f"etcp:p0=0.001:b={b}") for b in (31, 40, 100)}
    load = load_of(0.01)
    needed = _elastic(load)
    least = 2 / np.pi * needed
    claims = _claims_of_sec3(root, at_ninety, runs, low, calmer, least)
    figure = _draw_sec3(bench, root, runs, load)
    note = (
        '"b larger than B" is sufficient, and is b > E = ρP′(ρ)/P(ρ) for P = ρ^B, where E = B. '
        f"Equal packets make the queue M/D/1/20, which at a loss of 1 % has E = {needed:.1f}: "
        f"b = 25 is {25 / needed - 1:.0%} above it, "
        f"and 2E/π = {least:.1f} is the bound for one link. "
        + "Utilisation and variation of the window: "
        + ", ".join(
            f"{run.use:.3f} and {run.variation:.2f} with b = {b}" for b, run in runs.items()
        )
        + "."
    )
    data = pl.DataFrame(
        [(b, run.use, run.variation, run.window, run.losses) for b, run in runs.items()],
        schema=["b", "utilisation", "variation", "window", "losses_per_rtt"],
        orient="row",
    )
    return Finding(claims, {"runs": data}, figure, note)


def _claims_of_sec3(
    root: float,
    at_ninety: float,
    runs: dict[int, Alone],
    low: Alone,
    calmer: dict[int, Alone],
    least: float,
) -> list[Claim]:
    """Return the claims of etcp/sec3, with their verdicts."""
    claims = [
        digits(
            "figure 1: the load at which an M/M/1/20 queue loses 0.01 of the packets", "0.88", root
        ),
        digits(
            "text: the load at which an M/M/1/20 queue loses 0.01 of the packets",
            "0.90",
            root,
            why=f"the exact root is {root:.4f}; at 0.9 the queue loses {at_ninety:.4f}",
        ),
        near(
            "p0 = 0.01: utilisation is that of a queue of equal packets, M/D/1/20, at p0 + 2/W",
            _predicted(runs[25], 0.01),
            runs[25].use,
            0.01,
            since="the window still moves by 1 or 2 %",
            by="eq. 5 and P_B of M/D/1/20",
        ),
        near(
            "p0 = 0.001, the alternative of §III-A: the same",
            _predicted(low, 0.001),
            low.use,
            0.01,
            since="the window still moves by 1 or 2 %",
            by="eq. 5 and P_B of M/D/1/20",
            why="the window varies, and as losses grow faster than the load, it loses as much at a "
            f"smaller mean load. Its coefficient of variation is {low.variation:.3f}; larger b "
            "calm it: "
            + ", ".join(
                f"{run.variation:.3f} and a utilisation of {run.use:.3f} with b = {b}"
                for b, run in calmer.items()
            )
            + f" (E of M/D/1/20 is {_elastic(load_of(0.001)):.1f} at this loss)",
        ),
        above(
            "E[N] ≥ p0·W*: losses in a round trip, mean, at 1 Gbps and 100 ms",
            0.01 * runs[25].window,
            runs[25].losses,
            why="",
        ),
        SAME.claim(
            "stable with b = 25, larger than the buffer of 20 packets: coefficient of variation of "
            "the window",
            runs[25].variation,
            says="stable",
        ),
    ]
    claims += [_unstable(b, runs[b], runs[25], least) for b in BS if b < least]
    return claims


def _draw_sec3(bench: Bench, root: float, runs: dict[int, Alone], load: float) -> Figure:
    """Draw the figure of etcp/sec3."""
    figure, axes = panels(1, 2)
    loads = np.linspace(0.6, 1.0, 81)
    axes[0][0].semilogy(loads, mm1b_loss(loads, BUFFER), label="M/M/1/20")
    axes[0][0].semilogy(loads, _constant(loads), "--", label="M/D/1/20")
    axes[0][0].plot([root, load], [0.01, 0.01], "ko", ms=4)
    axes[0][0].set(xlabel="load ρ", ylabel="loss probability", ylim=(1e-5, 0.1))
    axes[0][0].legend(fontsize="x-small", loc="lower right")
    for b, run in runs.items():
        axes[0][1].plot(run.time, run.windows, lw=0.8, label=f"b = {b}")
    axes[0][1].set(
        xlabel="time (s)", ylabel="cwnd (packets)", xlim=(0, 20 * bench.scale), ylim=(0, 22_000)
    )
    axes[0][1].legend(fontsize="x-small", ncols=2, loc="upper right")
    return figure


@dataclass(frozen=True)
class Alone:
    """What one connection does at 1 Gbps and 100 ms."""

    time: Floats
    windows: Floats
    use: float
    window: float
    variation: float
    losses: float

    @classmethod
    def of(cls, bench: Bench, cc: str) -> Alone:
        """Run it for 60 s; the first quarter is not measured."""
        result = bench.run(scenario(bench, "1Gbps", "100ms", [{"cc": cc}], 60, sample="100ms"))
        flow = result.series("flow_series")
        measured = later(flow, 0.25)["window"].to_numpy()
        link = later(bottleneck(result), 0.25)
        seconds = float(link["time"][-1] - link["time"][0])
        return cls(
            flow["time"].to_numpy(),
            flow["window"].to_numpy(),
            float(result.runs["utilisation"][0]),
            float(measured.mean()),
            variation(measured),
            float(link["drops"][1:].sum()) / seconds * RTT,
        )


def _alone(bench: Bench, cc: str) -> Alone:
    return Alone.of(bench, cc)


def _constant(load: ArrayLike) -> Floats:
    """Return the loss probability of the queue that equal packets see, M/D/1/20."""
    return mg1b_loss(load, BUFFER, Sizes([1.0]))


def load_of(loss: float) -> float:
    """Return the load at which M/D/1/20 loses a given share."""
    return float(brentq(lambda rho: float(_constant(rho)) - loss, 0.3, 1.2))


def _elastic(load: float) -> float:
    """Return E of M/D/1/20 at a load."""
    return elasticity(lambda rho: float(_constant(rho)), load)


def _predicted(run: Alone, p0: float) -> float:
    """Return what an M/D/1/20 queue carries at the loss rate of a window (eq. 5)."""
    sent = float(per_packet_sent(etcp_loss(run.window, p0)))
    return load_of(sent) * (1 - sent)


def _unstable(b: int, run: Alone, stable: Alone, least: float) -> Claim:
    return stated(
        f"b = {b}, below 2E/π: the window oscillates, coefficient of variation more than three "
        "times that with b = 25",
        f"not given (b > {least:.1f} on one link by Vinnicombe's condition)",
        f"{run.variation:.2f}, {stable.variation:.2f} with b = 25",
        run.variation > 3 * stable.variation,
    )


@experiment("etcp/fig01", "utilisation against a connection's throughput, TCP and E-TCP")
def fig01(bench: Bench) -> Finding:
    """Compute figure 1: 1000-byte packets, RTT 100 ms, an M/M/1/20 queue."""
    megabits = np.logspace(0, 5, 101)
    throughput = megabits * 1e6 / 8000
    tcp = utilisation_at(throughput, RTT, square_root_loss, BUFFER)
    etcp = utilisation_at(throughput, RTT, etcp_loss, BUFFER)
    # W = √(2/p) at the p of a load of one half.
    crossing = float(np.sqrt(2 / mm1b_loss(0.5, BUFFER))) / RTT * 8000 / 1e6
    claims = [
        stated(
            "TCP's utilisation drops below 50 % as its throughput increases",
            "< 50 %",
            f"from {crossing:.0f} Mbps on; {tcp[-1]:.0%} at 100 Gbps",
            bool((np.diff(tcp) < 0).all() and ((tcp < 0.5) == (megabits > crossing)).all()),
        ),
        digits("E-TCP's utilisation converges", "0.88", float(etcp[-1])),
    ]
    figure, axes = panels()
    axes[0][0].semilogx(megabits, etcp, label="E-TCP")
    axes[0][0].semilogx(megabits, tcp, "--", label="TCP")
    axes[0][0].plot(crossing, 0.5, "ko", ms=4)
    level(axes[0][0], 0.88)
    axes[0][0].set(
        xlabel="throughput of a connection (Mbps)", ylabel="load ρ (utilisation)", ylim=(0, None)
    )
    axes[0][0].legend()
    return Finding(
        claims, {"curves": pl.DataFrame({"megabits": megabits, "tcp": tcp, "etcp": etcp})}, figure
    )

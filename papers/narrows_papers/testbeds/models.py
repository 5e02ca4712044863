"""What models say of the same cells: Ware's of BBRv1 beside others, Mathis' constant at scale."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.theory.mixtures import of_bbr
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, measured, stated
from narrows_papers.registry import Finding, experiment
from narrows_papers.testbeds.cell import Cell, cells
from narrows_papers.testbeds.compare import run, shares
from narrows_papers.testbeds.judge import legend
from narrows_papers.testbeds.setup import scenario
from narrows_papers.testbeds.shared import cells_of, shared_set

# The model's median error beside them, as its author tells it, without saying of what (R. Ware:
# Modeling BBRv1's interactions with loss-based congestion control, 2024, quangvdao/csd-blog
# ad449291).
WARE_ERROR = {"cubic": "5 %", "reno": "8 %"}
# One flow of BBRv1 beside so many of CUBIC, in the cell of a buffer of 32 BDP; and by how many
# points its share may change for it "not to depend" on their number.
LOSERS, SAME = [1, 2, 4, 8, 16], 5.0
OF_MODEL = (
    "The model is told the buffer in packets of 1500 bytes. Shares are of the payload that the "
    "link carries."
)
DEEP = "nyu-ware/figure2a/1xbbr1+1xcubic/10mbps/40ms/32bdp"
# Mathis' constant of Reno over CloudLab, 20 ms, by the rate of halvings and of the router's drops,
# and drops a halving (vinitaparasrampuria/IMC-Revisiting-TCP dfc64e34, C_CloudLab.csv).
CONSTANTS = {
    10: (1.2875, 1.9516, 2.29),
    30: (1.2592, 1.7761, 1.98),
    50: (1.2372, 1.7024, 1.89),
    100: (1.2820, 2.1181, 2.73),
    300: (1.2550, 1.9587, 2.43),
    500: (1.2335, 1.9131, 2.40),
    1000: (1.3285, 2.7398, 4.24),
    3000: (1.2866, 2.2652, 3.10),
    5000: (1.2686, 2.0254, 2.56),
}
# 100 Mbps, 1 and 10 Gbps.
EDGE, CORE = (10, 30, 50), (1000, 3000, 5000)
# 10 Gbps for 200 s are 160 million packets. With 1000 flows a window halves each 47 s.
CORE_S, CORE_WARMUP_S = 200.0, 60.0
# Constants are the same within a tenth.
CONSISTENT = 1.1


@experiment("testbeds/ware-model", "Ware's model of BBRv1 beside the kernel and narrows")
def ware_model(bench: Bench) -> Finding:
    """Judge Ware and others (IMC 2019) by the cells that Sarpkaya and others measured after it."""
    chosen, seeds = shared_set("ware-bbr1")
    table = shares(chosen, run(bench, chosen, seeds)).filter(pl.col("group") == 0)
    rows = [(*_of(cell), *_kernel_and_narrows(table, cell)) for cell in chosen]
    names = ["beside", "flows", "bdp", "model", "kernel", "narrows"]
    data = pl.DataFrame(rows, schema=names, orient="row")
    claims = [claim for law in WARE_ERROR for claim in _errors(data, law)]
    claims.append(_of_losers(bench))
    figure, axes = panels(1, 2)
    for ax, law in zip(axes[0], WARE_ERROR, strict=True):
        part = data.filter(pl.col("beside") == law)
        ax.plot([0, 100], [0, 100], color="grey", lw=0.8)
        for who in ("model", "narrows"):
            ax.plot(part["kernel"], part[who], "o", ms=3, alpha=0.7, label=f"{who}, {law}")
        ax.set(xlabel="BBRv1's share in the testbed (%)", ylabel="predicted (%)")
        legend(ax)
    return Finding(claims, {"shares": data}, figure, OF_MODEL)


def _kernel_and_narrows(table: pl.DataFrame, cell: Cell) -> tuple[float, float]:
    """Return the first group's share of the link, measured and predicted, in hundredths."""
    row = table.row(by_predicate=pl.col("cell") == cell.id, named=True)
    # What goes by is 1448 bytes of payload in 1514.
    whole = 1448 / 1514
    return row["kernel"] / whole, row["narrows"] / whole


def _of(cell: Cell) -> tuple[str, int, float, float]:
    bdp = cell.rate_mbps * cell.rtt_ms * 125 / 1500
    buffer = max(cell.queue["buffer_bytes"] / 1500, bdp)
    first, second = cell.groups
    seconds = cell.duration_s - cell.warmup_s
    model = 100 * of_bbr(buffer, bdp, first.count, cell.rtt_ms / 1e3, seconds)
    return second.law, first.count, round(buffer / bdp, 1), model


def _errors(data: pl.DataFrame, law: str) -> list[Claim]:
    """Return how far Ware's model is off, beside what its author says, and that narrows is less."""
    part = data.filter(pl.col("beside") == law)
    kernel = part["kernel"].to_numpy()
    model, here = (np.abs(part[who].to_numpy() - kernel) for who in ("model", "narrows"))
    points, nearer = float(np.median(model)), float(np.median(here))
    found = f"{points:.1f} points of the link, {100 * np.median(model / kernel):.1f} % of a share"
    return [
        measured(f"Ware's model beside {law}: its median error", WARE_ERROR[law], found),
        stated(
            f"narrows is nearer to the kernel beside {law} than Ware's model, in the median",
            "nearer (ours)",
            f"{nearer:.1f} points for {points:.1f}, {part.height} cells",
            nearer < points,
        ),
    ]


def _of_losers(bench: Bench) -> Claim:
    """Return whether BBRv1's share depends on how many flows of CUBIC are beside it."""
    cell = cells("nyu-ware")[DEEP]

    def at(number: int) -> Scenario:
        one, others = cell.groups
        return scenario(bench, replace(cell, groups=(one, replace(others, count=number))))

    found = bench.sweep(at, number=LOSERS, seeds=bench.seeds(2)).groups
    means = found.filter(pl.col("group") == 0).group_by("number").agg(pl.col("share").mean())
    had = [100 * share for share in means.sort("number")["share"]]
    told = ", ".join(f"{share:.0f}" for share in had)
    numbers = ", ".join(map(str, LOSERS))
    return stated(
        f"BBRv1's share does not depend on how many flows are beside it: {numbers} of CUBIC",
        "the same",
        f"{told} hundredths",
        max(had) - min(had) <= SAME,
    )


@experiment("testbeds/mathis", "Mathis' constant of 10 to 5000 flows of Reno, 100 Mbps to 10 Gbps")
def mathis(bench: Bench) -> Finding:
    """Find Mathis' constant by drops and by halvings (Philip and others, IMC 2021)."""
    result = run(bench, [reno(flows) for flows in CONSTANTS], 1)
    drops = result.links.filter(pl.col("link") == 0)
    rows = []
    for flows, (by_halvings, by_drops, ratio) in CONSTANTS.items():
        key = reno(flows).id
        of_key = result.flows.filter(pl.col("cell") == key)
        link = drops.row(by_predicate=pl.col("cell") == key, named=True)
        lost = link["drops"] / link["arrivals"]
        halved = of_key["epochs"].to_numpy() / of_key["sent"].to_numpy()
        here = (
            constant(of_key, halved),
            constant(of_key, np.full(of_key.height, lost)),
            link["drops"] / of_key["epochs"].sum(),
        )
        rows.append((flows, by_halvings, by_drops, ratio, *here))
    names = [
        f"{who}_{what}" for who in ("kernel", "narrows") for what in ("halvings", "drops", "ratio")
    ]
    table = pl.DataFrame(rows, schema=["flows", *names], orient="row")
    figure, axes = panels(1, 2)
    for ax, what in zip(axes[0], ("halvings", "drops"), strict=True):
        for who, style in (("kernel", "o--"), ("narrows", "s-")):
            ax.plot(table["flows"], table[f"{who}_{what}"], style, ms=3, label=who)
        ax.set(xscale="log", xlabel="flows", ylabel=f"Mathis' constant by {what}", ylim=(0, 3))
        ax.legend(fontsize="x-small")
    note = (
        "10 Gbps: 200 s, of which 60 are not measured, of an hour there, where the link carried 88 "
        "to 92 % of what it does here; slower links: 20 minutes of three hours."
    )
    return Finding(_constants(table), {"constants": table}, figure, note)


def reno(flows: int) -> Cell:
    """Return CloudLab's cell of so many flows of Reno over 20 ms; those that lack, as their like.

    Parameters
    ----------
    flows
        Their number.

    Returns
    -------
    Cell
        Those of 10 Gbps last for 200 s.
    """
    rate = 100 if flows in EDGE else 10_000 if flows in CORE else 1000
    like = cells_of("nyu-many-cloudlab", lambda it: "mathis/" in it.id and it.rate_mbps == rate)[0]
    groups = (replace(like.groups[0], count=flows),)
    name = f"nyu-many-cloudlab/mathis/{flows}xreno/{rate}mbps/20ms"
    cell = replace(like, id=name, rtt_ms=20.0, groups=groups)
    if flows in CORE:
        return replace(cell, duration_s=CORE_S, warmup_s=CORE_WARMUP_S)
    return cell


def constant(flows: pl.DataFrame, rates: np.ndarray) -> float:
    """Return C of goodput = C·MSS/(RTT·√p), by a line through the origin, as Philip's repeaters do.

    Parameters
    ----------
    flows
        Has ``goodput`` and ``mean_rtt``.
    rates
        p of each, a ratio; a flow whose p is 0 does not count.

    Returns
    -------
    float
        Mathis' constant.
    """
    heard = rates > 0
    rtt = flows["mean_rtt"].to_numpy()[heard]
    goodput = flows["goodput"].to_numpy()[heard]
    x = 1448 * 8 / (rtt * np.sqrt(rates[heard]))
    return float((x * goodput).sum() / (x * x).sum())


def _constants(table: pl.DataFrame) -> list[Claim]:
    """Return what Philip and others say, as their repeaters quote them, and the testbed's."""
    halvings = {who: table[f"{who}_halvings"].to_list() for who in ("narrows", "kernel")}
    ranges = {who: f"{min(values):.2f} to {max(values):.2f}" for who, values in halvings.items()}
    here = halvings["narrows"]
    edge, core = (_mean(table, "narrows_drops", flows) for flows in (EDGE, CORE))
    there = [f"{_mean(table, 'kernel_drops', flows):.2f}" for flows in (EDGE, CORE)]
    claims = [
        stated(
            "by halvings Mathis' constant is the same for all numbers of flows "
            f"(on CloudLab: {ranges['kernel']})",
            "consistent",
            ranges["narrows"],
            max(here) <= CONSISTENT * min(here),
        ),
        stated(
            "by drops it is another at 10 Gbps than at 100 Mbps "
            f"(on CloudLab: {there[1]} and {there[0]})",
            "another",
            f"{core:.2f} and {edge:.2f}",
            not 1 / CONSISTENT <= core / edge <= CONSISTENT,
        ),
    ]
    off = (table["narrows_halvings"] / table["kernel_halvings"]).to_numpy()
    held = int(((off <= CONSISTENT) & (off >= 1 / CONSISTENT)).sum())
    text = "the constant by halvings is within a tenth of the testbed's"
    claims.append(stated(text, "80 % (ours)", f"{held} of {len(off)}", held >= 0.8 * len(off)))
    for flows, paper in ((EDGE, "1.7"), (CORE, "6 to 9")):
        part = table.filter(pl.col("flows").is_in(flows))
        told = {
            who: ", ".join(f"{ratio:.1f}" for ratio in part[f"{who}_ratio"])
            for who in ("kernel", "narrows")
        }
        numbers = ", ".join(map(str, flows))
        text = f"drops a halving, {numbers} flows (on CloudLab: {told['kernel']})"
        claims.append(measured(text, paper, told["narrows"]))
    return claims


def _mean(table: pl.DataFrame, column: str, flows: tuple[int, ...]) -> float:
    return float(table.filter(pl.col("flows").is_in(flows))[column].to_numpy().mean())

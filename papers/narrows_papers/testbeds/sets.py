"""The sets of cells, each an experiment: predicted over measured, by law and queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from narrows.plot import panels
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, stated
from narrows_papers.registry import Finding, experiment
from narrows_papers.testbeds import equilibria
from narrows_papers.testbeds.cell import Cell
from narrows_papers.testbeds.compare import LOSS, Runs, run, shares, worst
from narrows_papers.testbeds.judge import (
    biases,
    draw_shares,
    legend,
    scatter,
    within,
    within_each,
)
from narrows_papers.testbeds.setup import why_not
from narrows_papers.testbeds.shared import cells_of, shared_set

MIXTURES = (
    "Of the 49 mixtures of each path and buffer five are here, and of those left out about as many "
    "are predicted (200 of 280 at random, 50 and 100 Mbps)."
)
# Numbers that are judged by a factor, with their verbs, and what axes say of all numbers.
FACTORS = {"loss": "loss is", "drops_per_halving": "drops per halving are"}
DROPS = (1, 2, 5, 10, 20)
LABELS = {"jfi": "Jain's index", "loss": "loss", "drops_per_halving": "drops per halving"}


@experiment("testbeds/ware-bbr1", "BBRv1 beside CUBIC or Reno, 1 to 64 BDP, 1 to 32 flows")
def ware_bbr1(bench: Bench) -> Finding:
    """Predict cells of Sarpkaya, Fund and Panwar (IFIP Networking 2025), BBRv1."""
    return _shared(bench, "ware-bbr1")


@experiment("testbeds/ware-bbr2", "BBRv2 beside CUBIC or Reno, 1 to 64 BDP, 1 to 32 flows")
def ware_bbr2(bench: Bench) -> Finding:
    """Predict the same with BBRv2."""
    return _shared(bench, "ware-bbr2")


@experiment("testbeds/ware-bbr3", "BBRv3 beside CUBIC or Reno, 1 to 64 BDP, 1 to 32 flows")
def ware_bbr3(bench: Bench) -> Finding:
    """Predict the same with BBRv3."""
    return _shared(bench, "ware-bbr3")


@experiment("testbeds/scherrer", "five and five flows of two laws, RTTs of 30 to 40 ms")
def scherrer(bench: Bench) -> Finding:
    """Predict Jain's index and loss of the same authors' cells after Scherrer and others."""
    return _numbers(bench, cells_of("nyu-scherrer"), seeds=3)


@experiment(
    "testbeds/many", "10 to 500 flows of one law, 100 Mbps and 1 Gbps, RTTs of 20 to 200 ms"
)
def many(bench: Bench) -> Finding:
    """Predict cells of Parasrampuria and others (after Philip and others, IMC 2021)."""
    both = cells_of("nyu-many-cloudlab") + cells_of("nyu-many-fabric")
    return _numbers(bench, both, seeds=1)


@experiment(
    "testbeds/dominance", "50 flows of BBRv1 and CUBIC, 0.5 to 50 BDP, 120 s from the start"
)
def dominance(bench: Bench) -> Finding:
    """Predict cells of Srivastava, Fund and Panwar (CNERT 2023, after Mishra and others 2022)."""
    claims, table, note = _judged(bench, "dominance")
    balanced = equilibria.equilibria(shared_set("dominance")[0], table)
    figure, axes = panels(1, 2)
    draw_shares(axes[0][0], table)
    axes[0][0].legend(fontsize="x-small", loc="upper left")
    equilibria.draw(axes[0][1], balanced)
    data = {"shares": table, "equilibria": balanced}
    return Finding(claims + equilibria.judged(balanced), data, figure, f"{note} {MIXTURES}")


@experiment("testbeds/l4s", "Prague beside CUBIC and BBR, 100 Mbps, 10 ms, in nine queues")
def l4s(bench: Bench) -> Finding:
    """Predict the cells of Sarpkaya and others (PAM 2025)."""
    return _shared(bench, "l4s")


@experiment("testbeds/heist", "two flows of CUBIC, Reno and Prague with unequal RTTs")
def heist(bench: Bench) -> Finding:
    """Predict P. Heist's tests of L4S (2020 and 2021)."""
    return _shared(bench, "heist")


@experiment("testbeds/l4steam", "one to four flows of CUBIC and Prague")
def l4steam(bench: Bench) -> Finding:
    """Predict the L4S team's own cells (IETF 109, and a rerun of Heist's tests)."""
    return _shared(bench, "l4steam")


@experiment("testbeds/gomez", "BBRv3 beside CUBIC and beside itself, 1 Gbps, 20 ms, 0.1 to 50 BDP")
def gomez(bench: Bench) -> Finding:
    """Predict cells of Gomez, Kfoury, Crichigno and Srivastava (Computer Communications 2024)."""
    return _shared(bench, "gomez")


@experiment("testbeds/greenscreen", "Prague with its fallback beside CUBIC, 4 to 256 Mbps")
def greenscreen(bench: Bench) -> Finding:
    """Predict Greenscreen23's cells, with the fallback as it was and put right (2025)."""
    return _shared(bench, "greenscreen")


def _left_out(all_cells: Sequence[Cell]) -> tuple[list[Cell], str]:
    """Return the cells that can be run, and a sentence about the others."""
    reasons = Counter(why_not(cell) for cell in all_cells)
    ran = reasons.pop("", 0)
    told = "".join(f"; {number} are not: {reason}" for reason, number in reasons.items())
    source = "; ".join(dict.fromkeys(cell.citation for cell in all_cells))
    note = f"Measured by: {source}. {ran} of {len(all_cells)} cells are run{told}."
    return [cell for cell in all_cells if not why_not(cell)], note


def _shared(bench: Bench, name: str) -> Finding:
    """Judge and draw the shares of groups that share a link."""
    claims, table, note = _judged(bench, name)
    return Finding(claims, {"shares": table}, scatter(table), note)


def _judged(bench: Bench, name: str) -> tuple[list[Claim], pl.DataFrame, str]:
    """Return claims, shares and a note of the groups that share a link."""
    all_cells, seeds = shared_set(name)
    chosen, note = _left_out(all_cells)
    table = shares(chosen, run(bench, chosen, seeds))
    whole = worst(table)
    claims = [within("all cells", whole), *within_each(whole, "laws")]
    if whole["queue"].n_unique() > 1:
        claims += within_each(whole, "queue", "queue")
    return claims + biases(table), table, note + _furthest(whole)


def _furthest(cells_of: pl.DataFrame) -> str:
    """Return the cells that are furthest off, in a sentence."""
    wrong = cells_of.filter(~pl.col("within")).sort(pl.col("error").abs(), descending=True)
    rows = wrong.head(5).select("cell", "law", "narrows", "kernel").iter_rows()
    told = [
        f"{cell.partition('/')[2]} ({law} {found:.0f} for {kernel:.0f})"
        for cell, law, found, kernel in rows
    ]
    return f" Furthest off, in hundredths of the link: {', '.join(told)}." if told else ""


def _numbers(bench: Bench, all_cells: Sequence[Cell], seeds: int) -> Finding:
    """Judge Jain's index, loss and drops per halving."""
    chosen, note = _left_out(all_cells)
    result = run(bench, chosen, seeds)
    table = _told(chosen, result, bench.scale)
    claims: list[Claim] = []
    for (lab,), part in sorted(table.group_by("lab")):
        indices = part.filter(pl.col("number") == "jfi")
        claims += [
            _factor(lab, words, of_name)
            for name, words in FACTORS.items()
            # A loss of nothing has no factor.
            if (of_name := part.filter((pl.col("number") == name) & (pl.col("kernel") > 0))).height
        ]
        if indices.height:
            off = np.abs((indices["narrows"] - indices["kernel"]).to_numpy())
            median, most = float(np.median(off)), float(off.max())
            found = f"median {median:.3f}, largest {most:.3f}, {len(off)} cells"
            text = f"{lab}: Jain's index is off by 0.05 at most, in the median"
            claims.append(stated(text, "0.05 (ours)", found, median <= 0.05))
    return Finding(claims, {"numbers": table}, _draw_numbers(table), note)


def _factor(lab: object, words: str, part: pl.DataFrame) -> Claim:
    """Return whether enough numbers are within a factor of those that were measured."""
    ratios = (part["narrows"] / part["kernel"]).to_numpy()
    held = int(((ratios <= LOSS) & (ratios >= 1 / LOSS)).sum())
    found = f"{held} of {len(ratios)}, median ratio {float(np.median(ratios)):.2f}"
    text = f"{lab}: cells whose {words} within a factor of {LOSS:g}"
    return stated(text, "80 % (ours)", found, held >= 0.8 * len(ratios))


def _told(chosen: Sequence[Cell], result: Runs, scale: float) -> pl.DataFrame:
    """Return Jain's index, loss and drops per halving of each cell, measured and predicted."""
    flows = result.flows
    links = result.links.filter(pl.col("link") == 0)
    rows = []
    for cell in chosen:
        of_cell = flows.filter(pl.col("cell") == cell.id)
        for name, measured in cell.numbers.items():
            if name == "jfi":
                found = float(
                    np.mean(
                        [_jain(part["goodput"].to_numpy()) for _, part in of_cell.group_by("seed")]
                    )
                )
            elif name == "loss" and cell.lab == "nyu-scherrer":
                # Retransmissions of 1500 bytes over goodput, as its authors reckon.
                seconds = scale * (cell.duration_s - cell.warmup_s)
                again = _total(of_cell, "retransmitted") * 1500 * 8 / seconds
                found = again / _total(of_cell, "goodput")
            elif name in FACTORS:
                link = links.filter(pl.col("cell") == cell.id)
                of_all = (link, "arrivals") if name == "loss" else (of_cell, "epochs")
                found = _total(link, "drops") / _total(*of_all)
            else:
                continue
            rows.append((cell.id, cell.lab, cell.laws, name, measured.mean, found))
    names = ["cell", "lab", "laws", "number", "kernel", "narrows"]
    return pl.DataFrame(rows, schema=names, orient="row")


def _total(table: pl.DataFrame, column: str) -> float:
    return float(table[column].to_numpy().sum())


def _jain(goodputs: np.ndarray) -> float:
    return float(goodputs.sum() ** 2 / (len(goodputs) * (goodputs**2).sum()))


def _draw_numbers(table: pl.DataFrame) -> Figure:
    """Draw predicted over measured numbers, a panel each."""
    names = [name for name in LABELS if (table["number"] == name).any()]
    figure, axes = panels(1, len(names))
    # The same law has one colour in all panels.
    colours = {laws: f"C{place}" for place, laws in enumerate(sorted(table["laws"].unique()))}
    for ax, name in zip(axes[0], names, strict=True):
        of_name = table.filter((pl.col("number") == name) & (pl.col("kernel") > 0))
        for laws, colour in colours.items():
            part = of_name.filter(pl.col("laws") == laws)
            style = {"ms": 3, "alpha": 0.7, "color": colour, "label": laws}
            ax.plot(part["kernel"], part["narrows"], "o", **style)
        both = np.concatenate([of_name["kernel"].to_numpy(), of_name["narrows"].to_numpy()])
        low, high = float(both.min()), float(both.max())
        ax.plot([low, high], [low, high], color="grey", lw=0.8)
        if name in FACTORS:
            ax.set(xscale="log", yscale="log")
        if name == "drops_per_halving":
            ax.minorticks_off()
            ax.set_xticks(DROPS, map(str, DROPS))
            ax.set_yticks(DROPS, map(str, DROPS))
        ax.set(xlabel=f"{LABELS[name]} in the testbed", ylabel=f"{LABELS[name]} in narrows")
    legend(axes[0][-1])
    return figure

"""How far windows are above their fair part (their figure 11)."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, stated
from narrows_papers.registry import Finding, experiment
from narrows_papers.spang.setup import ASSUMED, BDP, BUFFERS, scenario

FLOWS = [1, 2, 4, 8, 16, 32, 64, 128]
FACTOR = 1.6
# From their data: the 95th percentile of W over BDP/n, over all buffers, 1 to 128 flows.
THEIRS = {
    "Reno": [1.56, 1.81, 2.70, 2.93, 3.34, 3.74, 5.14, 8.45],
    "CUBIC": [1.37, 1.60, 1.75, 2.18, 2.63, 3.69, 4.92, 8.91],
    "BBRv1": [2.1, 2.6, 3.9, 4.6, 7.0, 11.4, 19.3, 40.4],
}


@experiment("spang/fig11", "how far windows are above their fair part, 1 to 128 flows")
def uneven(bench: Bench) -> Finding:
    """Take the 95th percentile of windows over BDP/n in the middle third (figure 11)."""

    def at(law: str, flows: int, buffer: int) -> Scenario:
        return scenario(bench, law, flows, buffer, sample="20ms")

    sweep = bench.sweep(
        at, law=list(THEIRS), flows=FLOWS, buffer=BUFFERS, seeds=bench.seeds(1), series=True
    )
    third = pl.col("time").max() / 3
    middle = sweep.flow_series.filter(pl.col("time").is_between(third, 2 * third))
    over = (pl.col("window") * pl.col("flows") / BDP).quantile(0.95)
    table = middle.group_by("law", "flows").agg(over.alias("most")).sort("law", "flows")
    claims = [*(_as_theirs(table, law) for law in THEIRS), _bbr_is_less_fair(table)]
    note = (
        f"{ASSUMED}Windows of each 20 ms in the middle third of runs of {len(BUFFERS)} buffers, "
        f"{BUFFERS[0]} to {BUFFERS[-1]} packets, one seed. The rule of √n is theirs for windows "
        "that exceed BDP/n by no more than a constant factor."
    )
    return Finding(claims, {"most": table}, _figure(table), note)


def _of(table: pl.DataFrame, law: str) -> list[float]:
    return table.filter(law=law).sort("flows")["most"].to_list()


def _as_theirs(table: pl.DataFrame, law: str) -> Claim:
    mine = _of(table, law)
    ratios = [found / theirs for found, theirs in zip(mine, THEIRS[law], strict=True)]
    near = sum(abs(math.log(ratio)) <= math.log(FACTOR) for ratio in ratios)
    return stated(
        f"the 95th percentile of {law}'s windows over BDP/n, 1 to 128 flows (within a factor of "
        f"{FACTOR}, as figure 10)",
        ", ".join(f"{value:g}" for value in THEIRS[law]),
        f"{', '.join(f'{value:.2f}' for value in mine)}: {near} of {len(mine)}",
        near == len(mine),
    )


def _bbr_is_less_fair(table: pl.DataFrame) -> Claim:
    many = [flows for flows in FLOWS if flows >= 8]
    rows = {law: dict(zip(FLOWS, _of(table, law), strict=True)) for law in THEIRS}
    least = min(rows["BBRv1"][n] / max(rows["Reno"][n], rows["CUBIC"][n]) for n in many)
    return stated(
        "from 8 flows on BBRv1's largest windows exceed their fair part by more than Reno's and "
        "CUBIC's do: the least ratio",
        "above 1",
        f"{least:.2f}",
        least > 1,
    )


def _figure(table: pl.DataFrame) -> Any:
    figure, axes = panels(1, 1, width=4.5)
    ax = axes[0][0]
    for number, (law, theirs) in enumerate(THEIRS.items()):
        ax.loglog(FLOWS, _of(table, law), "o-", ms=3, color=f"C{number}", label=law)
        word = "the laboratory" if number == 0 else None
        ax.loglog(FLOWS, theirs, "x:", ms=4, color=f"C{number}", label=word)
    ax.set(xlabel="flows", ylabel="95th percentile of W over BDP/n")
    ax.set_xticks(FLOWS, [str(flows) for flows in FLOWS])
    ax.set_xticks([], minor=True)
    ax.set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
    ax.set_yticks([], minor=True)
    ax.legend(fontsize="x-small")
    return figure

"""Many flows: the least buffer that keeps a link full (their figure 5)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, stated
from narrows_papers.registry import Finding, experiment
from narrows_papers.series import each_run
from narrows_papers.spang.setup import (
    ASSUMED,
    BDP,
    BUFFERS,
    FULL,
    LAWS,
    lowest_queue,
    scenario,
    worst_windows,
)

FLOWS = [1, 2, 4, 8, 16, 32, 64]
SEEDS = 3
# Their figure 5 (a), from their data: the least buffer whose queue is hardly ever empty.
NEVER_EMPTY = {
    "Reno": [177.8, 133.3, 111.1, 111.1, 66.7, 35.6, 26.7],
    "CUBIC": [111.1, 111.1, 111.1, 66.7, 40.0, 31.1, 26.7],
    "Scalable": [40.0, 40.0, 31.1, 35.6, 35.6, 26.7, 26.7],
    "BBRv1": [44.4, 22.2, 13.3, 17.8, 22.2, 17.8, 17.8],
}
# Their figure 5 (b), read off: the least buffer that keeps the link full.
FULL_LINK = {
    "Reno": [133.0, 111.0, 44.0, 27.0, 27.0, 18.0, 18.0],
    "CUBIC": [67.0, 67.0, 67.0, 31.0, 27.0, 18.0, 18.0],
    "Scalable": [27.0, 31.0, 22.0, 27.0, 18.0, 18.0, 13.0],
    "BBRv1": [9.0, 4.0, 13.0, 18.0, 22.0, 36.0, 31.0],
}
# Between two of their buffers there is a factor of up to 1.67.
FACTOR = 1.5
# What the two are called in claims.
EMPTY, FILLED = "with which {}'s queue is never empty", "that {} fills the link with"


@experiment("spang/fig05", "1 to 64 flows: the least buffer that keeps the link full")
def many_flows(bench: Bench) -> Finding:
    """Find the least buffers for two meanings of "full" (figure 5)."""

    def at(law: str, flows: int, buffer: int) -> Scenario:
        return scenario(bench, law, flows, buffer)

    sweep = bench.sweep(
        at, law=list(LAWS), flows=FLOWS, buffer=BUFFERS, seeds=bench.seeds(SEEDS), series=True
    )
    keys = ["law", "flows", "buffer", "seed"]
    runs = each_run(
        sweep.link_series,
        keys,
        lambda run: {"low": worst_windows(run), "queue": lowest_queue(run)},
    )
    table = runs.group_by(keys[:3], maintain_order=True)
    means = table.agg(pl.col("low").mean(), pl.col("queue").mean())
    never_empty = _least(means, lambda row: row["queue"] > 2)
    full = _least(means, lambda row: row["low"] >= FULL)
    claims = [
        *(_as_measured(never_empty, law, NEVER_EMPTY, EMPTY) for law in LAWS),
        *(_as_measured(full, law, FULL_LINK, FILLED) for law in LAWS),
        _below_the_line(never_empty),
        *(_falls(full, law) for law in LAWS),
    ]
    note = (
        f"{ASSUMED}The mean of {SEEDS} seeds. Never empty: the 1st percentile of the queue in the "
        "middle third of the run is above two packets. Full: the 10th percentile of the "
        "utilisation of 20 ms is 0.85 of 0.95, as their goodput tops out at 0.95."
    )
    data = {"means": means, "never empty": never_empty, "full": full}
    return Finding(claims, data, _figure(never_empty, full), note)


def _least(means: pl.DataFrame, meets: Callable[[dict[str, Any]], bool]) -> pl.DataFrame:
    """Return the least buffer of each law and number of flows that meets a target."""

    def found() -> Iterator[dict[str, Any]]:
        for (law, flows), group in means.sort("buffer").group_by("law", "flows"):
            fitting = [row["buffer"] for row in group.iter_rows(named=True) if meets(row)]
            yield {"law": law, "flows": flows, "least": float(min(fitting, default=math.inf))}

    return pl.DataFrame(list(found())).sort("law", "flows")


def _of(least: pl.DataFrame, law: str) -> list[float]:
    return least.filter(pl.col("law") == law).sort("flows")["least"].to_list()


def _as_measured(
    least: pl.DataFrame, law: str, measured: dict[str, list[float]], words: str
) -> Claim:
    pairs = zip(FLOWS, _of(least, law), measured[law], strict=True)
    ratios = {flows: mine / theirs for flows, mine, theirs in pairs}
    worst = max(ratios, key=lambda flows: abs(math.log(ratios[flows])))
    # One that is as far as the factor is within it, whatever its last bit.
    most = math.log(FACTOR) + 1e-9
    near = sum(abs(math.log(ratio)) <= most for ratio in ratios.values())
    return stated(
        f"the least buffer {words.format(law)}, 1 to 64 flows (within a factor of {FACTOR}: one "
        "step of their buffers)",
        ", ".join(f"{value:g}" for value in measured[law]),
        f"{', '.join(f'{value:g}' for value in _of(least, law))}: {near} of {len(ratios)}, worst "
        f"{ratios[worst]:.2f} with {worst}",
        near == len(ratios),
    )


def _below_the_line(least: pl.DataFrame) -> Claim:
    """Claim what their figure draws: two bandwidth-delay products over √n are always enough."""
    shares = least.with_columns(
        (pl.col("least") * pl.col("flows").sqrt() / BDP).alias("share")
    ).sort("share", descending=True)
    worst = shares.row(0, named=True)
    return stated(
        "no law needs more than 2·BDP/√n for a queue that is never empty: the largest, over BDP/√n",
        "at most 2",
        f"{worst['share']:.2f}, {worst['law']} with {worst['flows']}",
        worst["share"] <= 2,
    )


def _falls(full: pl.DataFrame, law: str) -> Claim:
    """Judge by which power of n the buffer falls, from four flows on."""
    pairs = [(n, b) for n, b in zip(FLOWS, _of(full, law), strict=True) if n >= 4]
    flows, buffers = np.log(np.array(pairs)).T
    power = float(np.polyfit(flows, buffers, 1)[0])
    falls = law != "BBRv1"
    return stated(
        f"the least buffer that {law} fills the link with "
        f"{'falls as 1/√n' if falls else 'does not fall as 1/√n'}: the power of n, from four flows",
        "−0.5 (taken as −0.75 to −0.25: nearer than to 0 or −1)" if falls else "above −0.25",
        f"{power:.2f}",
        -0.75 <= power <= -0.25 if falls else power > -0.25,
    )


def _figure(never_empty: pl.DataFrame, full: pl.DataFrame) -> Any:
    figure, axes = panels(1, 2, width=4.2)
    both = (
        (never_empty, NEVER_EMPTY, "queue never empty"),
        (full, FULL_LINK, "link full"),
    )
    for ax, (least, measured, title) in zip(axes[0], both, strict=True):
        for number, law in enumerate(LAWS):
            ax.loglog(FLOWS, _of(least, law), "o-", ms=3, color=f"C{number}", label=law)
            theirs = "the laboratory" if number == 0 else None
            ax.loglog(FLOWS, measured[law], "x:", ms=4, color=f"C{number}", label=theirs)
        ax.loglog(FLOWS, [BDP / math.sqrt(n) for n in FLOWS], "k--", lw=0.8, label="BDP/√n")
        ax.set(title=title, xlabel="flows", ylabel="least buffer (packets)", ylim=(3, 400))
        ax.set_xticks(FLOWS, [str(flows) for flows in FLOWS])
        ax.set_xticks([], minor=True)
        ax.legend(fontsize="x-small")
    return figure

"""Long flows and files, §4.3: figure 3."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.types import Floats
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, above, below, ranked, stated
from narrows_papers.pxcp.setup import (
    BURSTY_TCP,
    PACED_TCP,
    RATE,
    RTTS,
    RULE_OF_THUMB,
    SEEDS,
    SENDERS,
    Sender,
    dumbbell,
    links,
    long_flows,
    order,
    over_seeds,
    share,
)
from narrows_papers.readings import NOT_MUCH_MORE, SAME
from narrows_papers.registry import Finding, experiment

SOURCES = list(range(0, 401, 50))
LONG = 40


@experiment("pxcp/fig03", "forty long flows beside sources of files")
def fig03(bench: Bench) -> Finding:
    """Reproduce figure 3 (§4.3): files of 30 packets on average (Pareto, 1.35), silence of 0.2 s.

    Runs last 50 s and are measured from 20 s on.
    """

    def described(sender: Sender, sources: int, buffer: int, long: int = LONG) -> Scenario:
        flows = [long_flows(sender, long)] if long else []
        if sources:
            flows.append(
                {
                    **sender.flow,
                    "count": sources,
                    **RTTS,
                    "files": {"mean": 30, "shape": 1.35, "off": "200ms"},
                }
            )
        return dumbbell(bench, flows, sender.queue, buffer, seconds=50, warmup=20)

    paced_xcp = SENDERS["P. XCP"]
    longest = links(
        bench.sweep(lambda sources: described(paced_xcp, sources, RULE_OF_THUMB), sources=SOURCES)
    )
    queue = {
        sources: int(share(longest, "max_queue_bytes", sources=sources)) for sources in SOURCES
    }
    newreno = SENDERS["N.P. NewReno"]
    alone = bench.sweep(
        lambda sources: described(newreno, sources, RULE_OF_THUMB, 0), sources=SOURCES[-1:]
    )
    injected = float(alone.flows.filter(~pl.col("reverse"))["throughput"].sum()) / RATE

    def seen(senders: list[str], seeds: int) -> pl.DataFrame:
        result = bench.sweep(
            lambda sender, sources: described(SENDERS[sender], sources, queue[sources]),
            sender=senders,
            sources=SOURCES,
            seeds=bench.seeds(seeds),
        )
        return links(result).select("sender", "sources", "seed", "utilisation")

    others = [name for name in SENDERS if name not in PACED_TCP]
    frame = pl.concat([seen(others, 1), seen(PACED_TCP, SEEDS)])
    use, mean = _uses(frame)
    rising = {name: _rise(use[name]) for name in SENDERS}
    claims = _claims_of_fig03(queue, injected, frame, use, mean, rising)
    figure = _draw_fig03(queue, use)
    data = {"queue": longest.select("sources", "max_queue_bytes"), "utilisation": frame}
    return Finding(claims, data, figure)


def _claims_of_fig03(
    queue: dict[int, int],
    injected: float,
    frame: pl.DataFrame,
    use: dict[str, Floats],
    mean: dict[str, list[float]],
    rising: dict[str, float],
) -> list[Claim]:
    """Return the claims of pxcp/fig03, with their verdicts."""
    return [
        NOT_MUCH_MORE.claim(
            'the longest queue of paced XCP does "not show a big change": with 400 sources over '
            "that without sources",
            queue[400] / queue[0],
            says="not a big change",
        ),
        below(
            "short flows inject less than 30 % of the link's rate: "
            "throughput of 400 sources alone over the rate",
            0.3,
            injected,
        ),
        below(
            "paced XCP: utilisation falls as short flows grow: change from 0 to 400 sources, "
            "from a linear fit",
            0.0,
            rising["P. XCP"],
        ),
        *(
            ranked(
                f"{name}: utilisation rises as short flows grow, which are of 0, 100 and 400 "
                "sources",
                ["400", "100", "0"],
                [
                    over_seeds(frame, "utilisation", sender=name, sources=sources)
                    for sources in (400, 100, 0)
                ],
                "it rises up to some hundred sources and falls beyond: not known why",
            )
            for name in PACED_TCP
        ),
        *_claims_of_laws(frame, use, mean, rising),
    ]


def _claims_of_laws(
    frame: pl.DataFrame,
    use: dict[str, Floats],
    mean: dict[str, list[float]],
    rising: dict[str, float],
) -> list[Claim]:
    """Return the claims of pxcp/fig03 that compare laws."""
    return [
        above(
            "every non-paced TCP: utilisation rises: the smallest change",
            0.0,
            min(rising[name] for name in BURSTY_TCP),
        ),
        _somewhere(frame),
        *(
            order(
                f"paced Reno is generally worse than {other}: mean utilisation over the numbers of "
                "sources",
                [other, "P. Reno"],
                mean,
            )
            for other in ("P. NewReno", "P. HSTCP")
        ),
        SAME.claim(
            'non-paced NewReno and HSTCP have "almost the same performance" in a figure of 0 to 1: '
            "difference of their utilisations, largest over the numbers of sources",
            float(np.max(np.abs(use["N.P. NewReno"] - use["N.P. HSTCP"]))),
            says="almost the same",
        ),
        stated(
            "non-paced Reno is the worst of the non-paced TCPs: numbers of sources with which it "
            f"has the lowest utilisation, of {len(SOURCES)}",
            f"{len(SOURCES)}",
            f"{_lowest(use)}",
            _lowest(use) == len(SOURCES),
        ),
    ]


def _draw_fig03(queue: dict[int, int], use: dict[str, Floats]) -> Figure:
    """Draw the figure of pxcp/fig03."""
    figure, axes = panels(1, 2, width=4.8, height=3.4)
    axes[0][0].plot(SOURCES, list(queue.values()), "o-", ms=3)
    axes[0][0].set(
        xlabel="sources of files each way",
        ylabel="longest queue of P. XCP, C.P. (bytes)",
        ylim=(0, None),
    )
    for name, entry in SENDERS.items():
        axes[0][1].plot(SOURCES, use[name], "o-" if entry.paced else "s--", ms=3, label=name)
    axes[0][1].set(xlabel="sources of files each way", ylabel="utilisation", ylim=(0, 1))
    axes[0][1].legend(fontsize="xx-small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _uses(frame: pl.DataFrame) -> tuple[dict[str, Floats], dict[str, list[float]]]:
    """Return utilisations with the first seed by sources, and the means over these by seed."""
    use = {
        name: frame.filter((pl.col("sender") == name) & (pl.col("seed") == 1))
        .sort("sources")["utilisation"]
        .to_numpy()
        for name in SENDERS
    }
    mean = {
        name: frame.filter(pl.col("sender") == name)
        .group_by("seed")
        .agg(pl.col("utilisation").mean())
        .sort("seed")["utilisation"]
        .to_list()
        for name in PACED_TCP
    }
    return use, mean


def _rise(use: Floats) -> float:
    """Return by how much utilisation rises from 0 to 400 sources, by a linear fit."""
    return float(np.polyfit(SOURCES, use, 1)[0]) * 400


def _somewhere(frame: pl.DataFrame) -> Claim:
    """Claim that paced HSTCP is above paced NewReno with some number of sources."""
    from scipy.stats import ttest_ind  # noqa: PLC0415 (a third of a second, needed here only)

    chances = {}
    for sources in SOURCES:
        higher, lower = (
            over_seeds(frame, "utilisation", sender=name, sources=sources)
            for name in ("P. HSTCP", "P. NewReno")
        )
        test = ttest_ind(higher, lower, equal_var=False, alternative="greater")
        chances[sources] = float(test.pvalue)
    least = min(chances, key=lambda sources: chances[sources])
    return stated(
        "paced HSTCP has a higher utilisation than paced NewReno at some points: by how much by "
        f"chance, at the likeliest of {len(SOURCES)} numbers of sources (below 5 %, divided by the "
        "number of points asked)",
        "some",
        f"{100 * chances[least]:.2g} % with {least} sources",
        True if chances[least] < 0.05 / len(SOURCES) else None,
        "of nine points one is as far apart by chance",
    )


def _lowest(use: dict[str, np.ndarray[Any, Any]]) -> int:
    """Return with how many numbers of sources non-paced Reno is the lowest non-paced TCP."""
    least = np.min([use[name] for name in BURSTY_TCP], axis=0)
    return int((use["N.P. Reno"] == least).sum())

"""Finite flows: figures 16 and 17."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.types import Floats
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, interval, measured, ranked, stated
from narrows_papers.etcp.setup import scenario
from narrows_papers.marks import crosses
from narrows_papers.registry import Finding, experiment

PROTOCOLS: dict[str, dict[str, Any]] = {
    "E-TCP": {"cc": "etcp"},
    "NewReno": {"cc": "newreno"},
    "NewReno paced": {"cc": "newreno", "pacing": "even"},
}
PEERS = ("NewReno", "NewReno paced")
# Link in Mbps, users, factor on sizes.
Setting = tuple[int, int, int]
SETTINGS: list[Setting] = [
    (155, 500, 15),
    (155, 1000, 15),
    (155, 1500, 15),
    (622, 500, 60),
    (622, 1000, 60),
    (622, 1500, 60),
    (622, 500, 120),
    (622, 1000, 120),
    (622, 1500, 120),
]
# What the text says about E-TCP's gain in throughput over NewReno and over paced NewReno.
GAINS = {(622, 1000, 60): ("0.18", "0.09"), (622, 1000, 120): ("0.41", "0.37")}
MORE_THAN = {(622, 1500, 60): 0.20, (155, 1500, 15): 0.10}
# The setting that loads its link least.
QUIET: Setting = (155, 500, 15)
SEEDS = 5
# Calibrated: 1500 users at factor 1 offer 98 % of 10 Mbps.
THINK = "22.5s"
ACCESS = "100Mbps"
# The access links of §VI-A, as a variant.
FAST_ACCESS = "100Gbps"
# Connections of a user at a time, as a variant: the paper does not say how many there are.
PARALLEL = 4
USERS = (
    "The paper's empirical tables are not available; the distributions are those named in "
    "`crates/sim/src/requests.rs`. A user asks for one object at a time; RTTs are 10 to 150 ms, "
    "all equally frequent."
)


def users(
    bench: Bench,
    setting: tuple[int, int, float],
    sender: dict[str, Any],
    seconds: float = 400,
    access: str = ACCESS,
    connections: int = 1,
) -> Scenario:
    """Describe web users with RTTs of 10, 11, … 150 ms, an equal number of each.

    Each has so many connections at a time.
    """
    mbps, count, factor = setting
    web: dict[str, Any] = {"think": THINK, "size_factor": factor, "persistent": "15%"}
    if connections > 1:
        web["connections"] = connections
    rtts = np.linspace(10, 150, 141).round().astype(int)
    shares = np.diff(np.linspace(0, count, len(rtts) + 1).round().astype(int))
    pairs = zip(rtts, shares, strict=True)
    flows = [
        {
            **sender,
            "count": int(share) * connections,
            "rtt": f"{rtt}ms",
            "start_spread": "1s",
            "web": web,
        }
        for rtt, share in pairs
        if share
    ]
    return scenario(bench, f"{mbps}Mbps", "10ms", flows, seconds, access_rate=access)


@experiment("etcp/fig16", "sizes of objects, and the calibration of the users")
def fig16(bench: Bench) -> Finding:
    """Draw figure 16 (§VI-H); its number is what the users are calibrated to."""
    loads = {}
    for mbps in (100, 10):
        result = bench.sweep(users(bench, (mbps, 1500, 1.0), PROTOCOLS["NewReno"]))
        loads[mbps] = float(result.runs["utilisation"][0]) * mbps / 10
        sizes = np.sort(result.transfers["bytes"].to_numpy())
    figure, axes = panels()
    axes[0][0].loglog(sizes, 1.0 - np.arange(len(sizes)) / len(sizes))
    axes[0][0].set(xlabel="size of an object (bytes)", ylabel="share of objects that are larger")
    claims = [
        measured(
            "1500 users lead to about 98 % utilisation on a 10 Mbps link, which ours are "
            "calibrated to by what they offer: what they fill",
            "98 %",
            f"{100 * loads[10]:.1f} %",
            f"over 20 packets; what they offer, measured over 100 Mbps, is {100 * loads[100]:.1f} "
            "% of 10 Mbps",
        )
    ]
    note = (
        f"Users think for 22.5 s on average; 1500 of them then offer {loads[100]:.3f} of "
        "10 Mbps over a link of 100 Mbps, and fill "
        f"{loads[10]:.3f} of a link of 10 Mbps with 20 packets of buffer. {USERS}"
    )
    return Finding(claims, {"sizes": pl.DataFrame({"bytes": sizes})}, figure, note)


@experiment("etcp/fig17", "web users: throughput and completion times of three protocols")
def fig17(bench: Bench) -> Finding:
    """Reproduce figure 17 (§VI-H): 400 s, the first 100 s not measured; means over five seeds."""

    def at(protocol: str, setting: Setting) -> Scenario:
        return users(bench, setting, PROTOCOLS[protocol])

    result = bench.sweep(at, protocol=list(PROTOCOLS), setting=SETTINGS, seeds=SEEDS)
    shape = (len(PROTOCOLS), len(SETTINGS), SEEDS)
    goodput = result.runs["goodput"].to_numpy().reshape(shape) / 1e6
    times = _mean_times(result.transfers)
    gains = {setting: _gains(goodput[:, number]) for number, setting in enumerate(SETTINGS)}
    labels = [_name(setting) for setting in SETTINGS]
    means = dict(zip(PROTOCOLS, goodput.mean(axis=2), strict=True))
    claims = [
        *_claims(gains, _variants(bench), _quiet(bench)),
        *(
            stated(
                "the expected time to finish an object is shorter with E-TCP than with "
                f"{PEERS[row]}, in every setting: mean over the same sizes",
                f"{len(SETTINGS)} of {len(SETTINGS)}",
                f"{int((times[0] < other).sum())} of {len(SETTINGS)}; {_both(times[0], other)}",
                bool((times[0] < other).all()),
                _slower(result.transfers, times, row + 1),
            )
            for row, other in enumerate(times[1:])
        ),
    ]
    note = (
        f"A setting reads Mbps/users/factor on sizes. Access links have {ACCESS}, chosen "
        "because gains over NewReno lie nearer the paper's with them than with the 100 Gbps that "
        '§VI-A has "unless specified otherwise" (those over paced NewReno do not), so that numbers '
        "of gains are measured and not judged. §VI-H has "
        "another network, a link between two networks, with round trips "
        f"shorter than figure 4's edges, and names no rate. {USERS} They think for 22.5 s on "
        "average (figure 16)."
    )
    data = {
        "throughput": pl.DataFrame({"setting": labels, **means}),
        "times": _times(result.transfers),
        "mean_times": pl.DataFrame({"setting": labels, **dict(zip(PROTOCOLS, times, strict=True))}),
    }
    return Finding(claims, data, _draw(labels, goodput.mean(axis=2), times), note)


def _both(etcp: Floats, other: Floats) -> str:
    """Return E-TCP's and a peer's times in the settings where the text gives throughputs."""
    return ", ".join(
        f"{_name(setting)} {etcp[SETTINGS.index(setting)]:.2f} for "
        f"{other[SETTINGS.index(setting)]:.2f} s"
        for setting in (*GAINS, *MORE_THAN)
    )


def _name(setting: Setting) -> str:
    return "/".join(map(str, setting))


def _gains(goodput: Floats) -> Floats:
    """Return E-TCP's gain over each peer, by seed."""
    return np.asarray(goodput[0] / goodput[1:] - 1)


def _variants(bench: Bench) -> dict[str, dict[Setting, Floats]]:
    """Return the gains in variants of the users, where the text has a number or a bound."""
    chosen = [*GAINS, *MORE_THAN]

    def gains(**variant: Any) -> dict[Setting, Floats]:
        def at(protocol: str, setting: Setting) -> Scenario:
            return users(bench, setting, PROTOCOLS[protocol], **variant)

        runs = bench.sweep(at, protocol=list(PROTOCOLS), setting=chosen).runs
        goodput = runs["goodput"].to_numpy().reshape(len(PROTOCOLS), len(chosen), 1)
        return {setting: _gains(goodput[:, number]) for number, setting in enumerate(chosen)}

    return {
        "access links of 100 Gbps instead of 100 Mbps": gains(access=FAST_ACCESS),
        f"{PARALLEL} connections a user": gains(connections=PARALLEL),
    }


def _claims(
    gains: dict[Setting, Floats], variants: dict[str, dict[Setting, Floats]], quiet: Floats
) -> list[Claim]:
    claims = []
    for setting, printed in GAINS.items():
        for row, (peer, number) in enumerate(zip(PEERS, printed, strict=True)):
            claims.append(
                measured(
                    f"{_name(setting)}: goodput gain of E-TCP over {peer}",
                    number,
                    interval(gains[setting][row].tolist()),
                    _tried(float(number), gains[setting][row], _of(variants, setting, row)),
                )
            )
    for setting, bound in MORE_THAN.items():
        claims += [
            measured(
                f"{_name(setting)}: goodput gain of E-TCP over {peer}",
                f"> {bound:g}",
                interval(gain.tolist()),
                _tried(bound, gain, _of(variants, setting, row)),
            )
            for row, (peer, gain) in enumerate(zip(PEERS, gains[setting], strict=True))
        ]
    return [*claims, *_higher(gains, quiet)]


def _higher(gains: dict[Setting, Floats], quiet: Floats) -> list[Claim]:
    """Claim that E-TCP's throughput is the highest: in each setting, and in the quietest one."""
    others = {setting: gain for setting, gain in gains.items() if setting != QUIET}
    verdicts = {
        f"{_name(setting)} over {peer}": ranked(
            "", ["E-TCP", peer], [(1 + over).tolist(), [1.0] * len(over)]
        ).holds
        for setting, gain in others.items()
        for peer, over in zip(PEERS, gain, strict=True)
    }
    above_all = sum(holds is True for holds in verdicts.values())
    return [
        stated(
            f"E-TCP's throughput is higher than both others' in all settings but {_name(QUIET)}: "
            "gains above 0 with 95 % confidence over the seeds",
            f"{len(verdicts)} of {len(verdicts)}",
            f"{above_all} of {len(verdicts)}",
            False if False in verdicts.values() else (None if None in verdicts.values() else True),
            "lower or not decided: "
            + ", ".join(name for name, holds in verdicts.items() if holds is not True),
        ),
        *(
            ranked(
                f"{_name(QUIET)}: E-TCP's goodput over {peer}'s, above 1",
                ["E-TCP", peer],
                [list(1 + quiet[row]), [1.0] * quiet.shape[1]],
                "few users offer what any of the three carries",
            )
            for row, peer in enumerate(PEERS)
        ),
    ]


def _quiet(bench: Bench) -> Floats:
    """Return the gains over each peer in the quietest setting, over six seeds."""

    def at(protocol: str) -> Scenario:
        return users(bench, QUIET, PROTOCOLS[protocol])

    runs = bench.sweep(at, protocol=list(PROTOCOLS), seeds=max(2, bench.seeds(6))).runs
    return _gains(runs["goodput"].to_numpy().reshape(len(PROTOCOLS), -1))


def _of(variants: dict[str, dict[Setting, Floats]], setting: Setting, row: int) -> dict[str, float]:
    """Return the gain over one peer in one setting, by variant."""
    return {name: float(gains[setting][row].mean()) for name, gains in variants.items()}


def _tried(paper: float, by_seed: Floats, variants: dict[str, float]) -> str:
    """Return what was tried for a gain, and whether the paper's lies in between."""
    found = [*by_seed, *variants.values()]
    seeds = ", ".join(f"{gain:.3f}" for gain in by_seed)
    others = ", ".join(f"with {name} {gain:.3f}" for name, gain in variants.items())
    tried = (
        f"the seeds give {seeds}; {others}. The paper's tables of sizes and thinking are not "
        "available"
    )
    if min(found) <= paper <= max(found):
        return f"the gain hangs on what the paper does not give: {tried}"
    return f"not known: {tried}"


def _slower(transfers: pl.DataFrame, times: Floats, row: int) -> str:
    """Return where E-TCP's objects take longer, and of which size they are."""
    slower = [number for number in range(len(SETTINGS)) if times[0][number] >= times[row][number]]
    names = list(PROTOCOLS)
    table = _times(transfers)
    parts = []
    for number in slower:
        medians = table.filter(pl.col("setting") == str(SETTINGS[number]))
        by_size = []
        for decade in (4, 5, 6):
            at = medians.filter(pl.col("decade") == decade)
            found = [
                float(at.filter(protocol=name)["median"][0]) for name in (names[0], names[row])
            ]
            by_size.append(f"{found[0]:.2f} for {found[1]:.2f} s from {10**decade // 1000} kB on")
        parts.append(
            f"at {_name(SETTINGS[number])} the means are {times[0][number]:.2f} and "
            f"{times[row][number]:.2f} s, and medians by size {', '.join(by_size)}"
        )
    return "; ".join(parts) + ": small objects wait for a full link that loses 1 % or more"


def _mean_times(transfers: pl.DataFrame) -> Floats:
    """Return the mean time to finish an object: one row per protocol, one column per setting.

    In 400 s a faster protocol finishes more of the largest objects, so means are taken for sizes
    within a factor of two, and weighted by how many of them all protocols together finished.
    """
    where = ["setting", "octave"]
    by_size = transfers.with_columns(
        pl.col("setting").cast(pl.String), pl.col("bytes").log(2).floor().alias("octave")
    )
    weights = by_size.group_by(where).agg(pl.len().alias("weight"))
    means = by_size.group_by("protocol", *where).agg(pl.col("completion_time").mean().alias("time"))
    shared = means.join(weights, on=where).filter(
        pl.col("protocol").n_unique().over(where) == len(PROTOCOLS)
    )
    weighted = (pl.col("time") * pl.col("weight")).sum() / pl.col("weight").sum()
    table = {
        (protocol, setting): time
        for protocol, setting, time in shared.group_by("protocol", "setting")
        .agg(weighted)
        .iter_rows()
    }
    return np.array(
        [[table[protocol, str(setting)] for setting in SETTINGS] for protocol in PROTOCOLS]
    )


def _times(transfers: pl.DataFrame) -> pl.DataFrame:
    """Return completion times by size of object: median and 95th percentile."""
    decade = pl.col("bytes").log10().floor().alias("decade")
    quantiles = [
        pl.col("completion_time").quantile(share).alias(name)
        for share, name in ((0.5, "median"), (0.95, "p95"))
    ]
    settings = pl.col("setting").cast(pl.String)
    return (
        transfers.group_by("protocol", settings, decade)
        .agg(pl.len().alias("objects"), *quantiles)
        .sort("protocol", "setting", "decade")
    )


def _goodputs_of_the_paper(etcp: Floats) -> tuple[list[float], list[float]]:
    """Return where peers' bars would end by the paper's gains, beside E-TCP's goodput here."""
    x, y = [], []
    for setting, gains in GAINS.items():
        place = SETTINGS.index(setting)
        for row, gain in enumerate(gains, 1):
            x.append(place + 0.27 * (row - 1))
            y.append(float(etcp[place]) / (1 + float(gain)))
    return x, y


def _draw(labels: list[str], goodput: Floats, times: Floats) -> Any:
    figure, axes = panels(2, 1, width=8)
    for ax, values, label in (
        (axes[0][0], goodput, "goodput (Mbps)"),
        (axes[1][0], times, "mean time to finish\nan object (s)"),
    ):
        for number, name in enumerate(PROTOCOLS):
            ax.bar(np.arange(len(labels)) + 0.27 * (number - 1), values[number], 0.27, label=name)
        ax.set_xticks(range(len(labels)), labels, fontsize="x-small")
        ax.set_ylabel(label)
    crosses(axes[0][0], *_goodputs_of_the_paper(goodput[0]), says="E-TCP over the paper's gain")
    axes[1][0].set_xlabel("Mbps / users / factor on the sizes of objects")
    axes[0][0].legend(fontsize="x-small", loc="upper left")
    return figure

"""The Linux testbed, simulated: the tables of figures 9 and 10, and figure 11 (§V-B)."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, above, near, stated
from narrows_papers.registry import Finding, experiment

RTTS = {"low": "25ms", "moderate": "70ms", "high": "150ms"}
PROTOCOLS = {"TCP": "sack", "LTCP": "ltcp"}
WIRE = 773.0
PAYLOAD = 1448 / 1500
# The clock of Linux 2.4 and of its packet schedulers (HZ is 100 on i386, and PSCHED_CLOCK_SOURCE is
# PSCHED_JIFFIES in include/net/pkt_sched.h of 2.4.27).
TICK = 0.01
SOCKETS = {"max_window": "32MB"}
SIMULATED = (
    "*Simulated*: two hosts with the habits of Linux 2.4 (`linux24`), sockets of 32 MB, nothing "
    "between them, as in the paper. The bottleneck is the sender's own card: a path of 773 Mbps, "
    "which carries the 746 Mbps of data that the PCI bus let through (the table of several flows "
    "adds up to 743 to 747 at 25 ms, which is therefore no claim), with txqueuelen {}. What finds "
    "it full is not lost: its sender hears and reduces its window (`tcp_enter_cwr`). The delay is "
    "the receiver's, by a scheduler with 2.4's clock of 10 ms: the acknowledgements of one tick "
    "come back together, as many whole ticks later as the nominal RTT has, rounded up. Nothing "
    "else is fitted; slow start has no threshold. "
)
RUNS_SPREAD = "in the table of figure 9 the four runs of one cell deviate by up to 11 %"


def testbed(
    bench: Bench,
    flows: list[dict[str, Any]],
    label: str,
    seconds: float,
    *,
    queue: int = 1000,
    sample: str = "0s",
    tcp: Literal["linux24", "linux"] = "linux24",
    told: bool = True,
    ticks: bool = True,
) -> Scenario:
    """Describe flows over the testbed's path at the RTT called `label`.

    Without `told` the card drops what finds it full, as a router would; without `ticks`
    acknowledgements are delayed exactly.
    """
    rtt = float(RTTS[label].removesuffix("ms")) / 1000
    # What arrives within a tick is stamped with its beginning, and leaves at a tick.
    delay = (math.ceil(round(rtt / TICK, 6)) - 1) * TICK if ticks else rtt
    card = {
        "from": "sender",
        "to": "receiver",
        "name": "card",
        "rate": f"{WIRE:g}Mbps",
        "delay": "10us",
        "buffer": f"{queue}p",
        "device": told,
        "duplex": False,
    }
    back: dict[str, Any] = {
        "from": "receiver",
        "to": "sender",
        "rate": "1Gbps",
        "delay": f"{delay:g}s",
        "duplex": False,
    }
    if ticks:
        back["hold"] = {"every": f"{TICK:g}s"}
    ends = {"from": "sender", "to": "receiver"}
    return Scenario(
        tcp=tcp,
        duration=bench.seconds(seconds),
        warmup="0s",
        sample=sample,
        links=[card, back],
        flows=[{**ends, **flow} for flow in flows],
    )


class Cell(NamedTuple):
    """A row of one protocol in the tables: Mbps, their deviation, of several flows Jain's index."""

    mbps: float
    deviation: float
    jain: float = 1.0


# Four runs of one flow.
TABLE9 = {
    "low": {"TCP": Cell(719.25, 0.50), "LTCP": Cell(742.75, 0.50)},
    "moderate": {"TCP": Cell(480.25, 54.52), "LTCP": Cell(681.50, 5.00)},
    "high": {"TCP": Cell(164.00, 14.02), "LTCP": Cell(466.00, 11.86)},
}
SECONDS = 900


@experiment("ltcp/tab09", "one flow on the testbed's path, three RTTs: simulated")
def tab09(bench: Bench) -> Finding:
    """Reproduce the table of figure 9 (§V-B-1): 900 s, four times."""
    runs = {(label, name): _alone(bench, label, name) for label in RTTS for name in PROTOCOLS}
    found = pl.DataFrame(
        [(label, name, *_mean_and_deviation(rates)) for (label, name), rates in runs.items()],
        schema=["rtt", "protocol", "Mbps", "deviation"],
        orient="row",
    )
    mbps = {key: float(rates.mean()) for key, rates in runs.items()}
    variants = _variants(bench)
    claims = [
        claim
        for (label, name), rates in runs.items()
        for claim in _cells_of_table9(label, name, rates, float(variants[EXACT][label, name]))
    ]
    claims += _words_of_table9(mbps)
    note = SIMULATED.format(1000) + (
        "Means hold if they lie in the 95 % interval of the testbed's four runs, and ours are of "
        "four starts within 100 ms. Bytes in 900 s, which the table also has, are the goodput "
        "again. What each assumption does, in Mbps: "
        + "; ".join(
            f"{variant}: "
            + ", ".join(
                f"{name} {' and '.join(f'{found[label, name]:.0f}' for label in RTTS)}"
                for name in PROTOCOLS
            )
            for variant, found in variants.items()
        )
        + " (one run at 25, 70 and 150 ms; the testbed has TCP 719, 480 and 164, LTCP 743, 682 and "
        "466)."
    )
    changed = pl.DataFrame(
        [
            (variant, *key, value)
            for variant, found_there in variants.items()
            for key, value in found_there.items()
        ],
        schema=["variant", "rtt", "protocol", "Mbps"],
        orient="row",
    )
    return Finding(claims, {"table": found, "variants": changed}, _bars(mbps), note)


def _alone(bench: Bench, label: str, name: str, seeds: int = 4, **path: Any) -> Any:
    """Return the goodput in Mbps of one flow over the testbed's path, for each seed."""
    flow = {"cc": PROTOCOLS[name], **SOCKETS}
    base = testbed(bench, [flow], label, SECONDS, **path)
    return bench.sweep(base, seeds=bench.seeds(seeds)).runs["goodput"].to_numpy() / 1e6


EXACT = "acknowledgements delayed exactly"
# What each assumption is changed to.
VARIANTS: dict[str, dict[str, Any]] = {
    "a queue that drops": {"told": False},
    EXACT: {"ticks": False},
    "both": {"told": False, "ticks": False},
    "both, and today's Linux": {"told": False, "ticks": False, "tcp": "linux"},
}


def _variants(bench: Bench) -> dict[str, dict[tuple[str, str], float]]:
    """Return the table in Mbps with each assumption changed, one seed each."""
    return {
        variant: {
            (label, name): float(_alone(bench, label, name, 1, **path).mean())
            for name in PROTOCOLS
            for label in RTTS
        }
        for variant, path in VARIANTS.items()
    }


def _mean_and_deviation(rates: Any) -> tuple[float, float]:
    return float(rates.mean()), float(rates.std(ddof=1)) if len(rates) > 1 else 0.0


def _cells_of_table9(label: str, name: str, rates: Any, exact: float) -> list[Claim]:
    """Judge a cell; `exact` is what it has if acknowledgements are delayed exactly."""
    paper, where = TABLE9[label][name], f"{RTTS[label]}, {name}"
    mean, deviation = _mean_and_deviation(rates)
    return [
        _within_four_runs(f"{where}: goodput", paper, mean, _how_far(paper.mbps, mean, exact)),
        stated(
            f"{where}: standard deviation over four runs",
            f"{paper.deviation:g} Mbps",
            f"{deviation:.3g} Mbps",
            None,
            SEEDS,
        ),
    ]


# Student's t with three degrees of freedom at 97.5 %, over the root of four runs.
OF_FOUR = 3.182 / 2
SEEDS = (
    "our runs differ by when they start, and repeat themselves; what varied between the testbed's "
    "runs is not known"
)


def _how_far(paper: float, found: float, exact: float) -> str:
    """Return what is known of a cell of figure 9 that differs."""
    if found < paper < exact:
        return (
            "the bursts of a tick, which fill the card before the window fills the path: delayed "
            f"exactly, it is {exact:.0f} Mbps. By how much the testbed's were smoothed is not known"
        )
    return "not known; the testbed's interval is narrow, and no variant of the note has all cells"


def _within_four_runs(text: str, paper: Cell, found: float, why: str) -> Claim:
    """Claim that a number lies in the 95 % interval of the mean of the testbed's four runs."""
    half = OF_FOUR * paper.deviation
    return stated(
        f"{text}, within the 95 % interval of four runs",
        f"{paper.mbps:g} ± {half:.2g} Mbps",
        f"{found:.5g} Mbps",
        abs(found - paper.mbps) <= half,
        why,
    )


def _deviates(text: str, paper: float, found: float, count: int, unit: str, why: str = "") -> Claim:
    """Claim that two standard deviations of `count` values each could be those of one spread."""
    low, high = _spread_bounds(count)
    holds = low * paper <= found <= high * paper
    return stated(
        f"{text} (F test, 95 %: {low:.2g} to {high:.2g} times the paper's)",
        f"{paper:g} {unit}",
        f"{found:.3g} {unit}",
        bool(holds) if count > 1 else None,
        why if count > 1 else "a deviation needs two runs",
    )


def _spread_bounds(count: int) -> tuple[float, float]:
    """Return between which ratios two deviations of `count` values of one spread lie (95 %).

    Examples
    --------
    >>> [round(bound, 3) for bound in _spread_bounds(4)]  # the table of F(3, 3) has 15.44
    [0.255, 3.929]
    """
    from scipy.stats import f  # noqa: PLC0415 (a third of a second, needed here only)

    high = math.sqrt(float(f.ppf(0.975, max(count - 1, 1), max(count - 1, 1))))
    return 1 / high, high


def _words_of_table9(mbps: dict[tuple[str, str], float]) -> list[Claim]:
    gain = mbps["high", "LTCP"] / mbps["high", "TCP"]
    kept = {name: mbps["high", name] / mbps["low", name] for name in PROTOCOLS}
    return [
        near(
            "150 ms: goodput of LTCP over TCP's",
            3,
            gain,
            0.06,
            why="LTCP at 150 ms is faster than the testbed's, TCP is as fast: see their rows",
            since='the paper says "almost a factor of 3" of 2.84, which is 5.6 % off',
        ),
        stated(
            "TCP deteriorates as the RTT grows: goodput in Mbps",
            "falls",
            " > ".join(f"{mbps[label, 'TCP']:.0f}" for label in RTTS),
            mbps["low", "TCP"] > mbps["moderate", "TCP"] > mbps["high", "TCP"],
        ),
        stated(
            "LTCP deteriorates more gracefully: goodput at 150 ms over that at 25 ms",
            "0.63, TCP's 0.23",
            f"{kept['LTCP']:.2f}, TCP's {kept['TCP']:.2f}",
            kept["LTCP"] > kept["TCP"],
        ),
    ]


def _bars(mbps: dict[tuple[str, str], float]) -> Any:
    figure, axes = panels(1, 1, width=5)
    ax, place = axes[0][0], np.arange(3)
    for number, name in enumerate(PROTOCOLS):
        x = place + 0.4 * number - 0.2
        ax.bar(x, [mbps[label, name] for label in RTTS], 0.4, label=name)
        cells = [TABLE9[label][name] for label in RTTS]
        ax.errorbar(
            x,
            [cell.mbps for cell in cells],
            [cell.deviation for cell in cells],
            fmt="kx",
            capsize=3,
            label="testbed, with deviation" if number else None,
        )
    ax.set_xticks(place, list(RTTS.values()))
    ax.set(xlabel="RTT", ylabel="goodput (Mbps), simulated", ylim=(0, 1000))
    ax.legend(fontsize="x-small", loc="upper center", ncols=3)
    return figure


# Goodput per flow in Mbps, its standard deviation over the flows, Jain's index.
TABLE10 = {
    "low": {
        2: (Cell(373.50, 50.20, 0.991), Cell(373.00, 12.73, 0.999)),
        4: (Cell(186.25, 24.98, 0.987), Cell(186.50, 8.81, 0.998)),
        6: (Cell(124.00, 12.63, 0.991), Cell(124.17, 2.32, 1.000)),
        8: (Cell(92.93, 3.26, 0.999), Cell(92.96, 2.05, 1.000)),
        10: (Cell(74.26, 4.13, 0.997), Cell(74.28, 2.69, 0.999)),
    },
    "moderate": {
        2: (Cell(299.50, 64.35, 0.977), Cell(353.50, 9.19, 1.000)),
        4: (Cell(175.50, 12.01, 0.996), Cell(181.75, 4.86, 0.999)),
        6: (Cell(116.77, 20.40, 0.975), Cell(121.50, 6.53, 0.998)),
        8: (Cell(89.35, 23.03, 0.945), Cell(91.31, 1.90, 1.000)),
        10: (Cell(70.53, 10.33, 0.981), Cell(73.04, 4.66, 0.996)),
    },
    "high": {
        2: (Cell(128.50, 37.48, 0.959), Cell(286.50, 26.16, 0.996)),
        4: (Cell(123.73, 30.21, 0.957), Cell(166.00, 7.53, 0.998)),
        6: (Cell(103.85, 17.98, 0.976), Cell(113.62, 16.58, 0.983)),
        8: (Cell(78.06, 39.80, 0.815), Cell(86.68, 8.72, 0.991)),
        10: (Cell(66.06, 21.02, 0.916), Cell(69.61, 6.76, 0.992)),
    },
}
COUNTS = [2, 4, 6, 8, 10]


@experiment("ltcp/tab10", "two to ten flows on the testbed's path, three RTTs: simulated")
def tab10(bench: Bench) -> Finding:
    """Reproduce the table of figure 10 (§V-B-2)."""
    found = pl.concat([_together(bench, label, name) for label in RTTS for name in PROTOCOLS])
    judged = found.drop("jain").iter_rows(named=True)
    claims = [claim for row in judged for claim in _cells_of_table10(**row)]
    claims += _pooled(found)
    claims += _words_of_table10(found)
    note = SIMULATED.format(1000) + (
        "Flows start within 100 ms. Each case is one run, as far as the paper says. A deviation "
        "holds if the two samples could have one variance (F test over the flows, 95 %): with two "
        "or four flows that is a weak test, which the rows over all numbers of flows make up for. "
        "Jain's index of a cell is its deviation over its mean again, so it is drawn and not "
        "judged; nor are mean goodputs where the link is full, whose sum the path is fitted to."
    )
    return Finding(claims, {"table": found}, _three_panels(found), note)


def _together(bench: Bench, label: str, name: str) -> pl.DataFrame:
    """Return goodput, its deviation and Jain's index for each number of flows."""
    flow = {"cc": PROTOCOLS[name], **SOCKETS}

    def at(count: int) -> Scenario:
        return testbed(bench, [{**flow, "count": count}], label, SECONDS)

    flows = bench.sweep(at, count=COUNTS).flows
    rate = pl.col("goodput")
    return (
        flows.group_by("count", maintain_order=True)
        .agg(
            (rate.mean() / 1e6).alias("mbps"),
            (rate.std() / 1e6).alias("deviation"),
            (rate.sum() ** 2 / (pl.len() * (rate**2).sum())).alias("jain"),
        )
        .select(
            pl.lit(label).alias("rtt"),
            pl.lit(name).alias("protocol"),
            pl.col("count").cast(pl.Int64),
            "mbps",
            "deviation",
            "jain",
        )
    )


def _cells_of_table10(
    rtt: str, protocol: str, count: int, mbps: float, deviation: float
) -> list[Claim]:
    paper = TABLE10[rtt][count][list(PROTOCOLS).index(protocol)]
    where, why = f"{RTTS[rtt]}, {count} {protocol} flows", "see the row over all numbers of flows"
    deviates = _deviates(
        f"{where}: deviation of goodput", paper.deviation, deviation, count, "Mbps", why
    )
    if rtt == "low":
        return [deviates]
    goodput = near(
        f"{where}: mean goodput",
        paper.mbps,
        mbps,
        0.1,
        "Mbps",
        "not known; see the single flow of figure 9",
        since=RUNS_SPREAD,
    )
    return [goodput, deviates]


def _pooled(found: pl.DataFrame) -> list[Claim]:
    """Judge the deviations of all numbers of flows together, by RTT and protocol."""
    claims = []
    low, high = _pooled_bounds()
    for label, rtt in RTTS.items():
        for place, name in enumerate(PROTOCOLS):
            rows = found.filter((pl.col("rtt") == label) & (pl.col("protocol") == name))
            ratio = _ratio_of_deviations(rows, label, place)
            claims.append(
                stated(
                    f"{rtt}, {name}, all numbers of flows: deviation of goodput over the "
                    "testbed's, geometric mean weighted by the flows less one (95 % if both have "
                    f"one spread: {low:.2f} to {high:.2f})",
                    "1",
                    f"{ratio:.2f}",
                    low <= ratio <= high,
                    "not known",
                )
            )
    return claims


def _ratio_of_deviations(rows: pl.DataFrame, label: str, place: int) -> float:
    logs = [
        (row["count"] - 1) * math.log(max(row["deviation"], 1e-6) / cell.deviation)
        for row in rows.iter_rows(named=True)
        for cell in [TABLE10[label][row["count"]][place]]
    ]
    return math.exp(sum(logs) / sum(count - 1 for count in COUNTS))


def _pooled_bounds() -> tuple[float, float]:
    """Return between which such means lie in 95 % of the cases if both spreads are one (drawn)."""
    draws = np.random.default_rng(1)
    logs = sum((n - 1) * np.log(draws.f(n - 1, n - 1, 100_000)) / 2 for n in COUNTS)
    low, high = np.exp(np.quantile(logs / sum(n - 1 for n in COUNTS), [0.025, 0.975]))
    return float(low), float(high)


def _words_of_table10(found: pl.DataFrame) -> list[Claim]:
    of = {name: found.filter(pl.col("protocol") == name) for name in PROTOCOLS}
    least = {name: float(frame["jain"].to_numpy().min()) for name, frame in of.items()}
    lowest = of["LTCP"].sort("jain")
    wins = int((of["LTCP"]["deviation"].to_numpy() < of["TCP"]["deviation"].to_numpy()).sum())
    return [
        above(
            "LTCP's Jain index is high across RTTs and numbers of flows: the lowest of 15",
            0.983 - 0.0005,
            least["LTCP"],
            why=f"of {lowest['count'][0]} flows at {RTTS[lowest['rtt'][0]]}, which deviate by "
            f"{lowest['deviation'][0]:.0f} Mbps from each other in this run",
        ),
        stated(
            "TCP's index goes further down than LTCP's: the lowest of 15",
            "0.815, LTCP's 0.983",
            f"{least['TCP']:.3f}, LTCP's {least['LTCP']:.3f}",
            least["TCP"] < least["LTCP"],
        ),
        stated(
            "LTCP's flows deviate less from each other than TCP's: cases with a smaller standard "
            "deviation of goodput",
            "15 of 15",
            f"{wins} of 15",
            wins == 15,
            "TCP's few flows hardly deviate here in the cells that are left",
        ),
    ]


def _three_panels(found: pl.DataFrame) -> Any:
    figure, axes = panels(3, 3, width=3, height=2.2)
    rows = (
        ("mbps", "goodput per flow (Mbps)"),
        ("deviation", "deviation (Mbps)"),
        ("jain", "Jain's index"),
    )
    for column, label in enumerate(RTTS):
        for place, name in enumerate(PROTOCOLS):
            ours = found.filter((pl.col("rtt") == label) & (pl.col("protocol") == name))
            for row, (key, _) in enumerate(rows):
                ax = axes[row][column]
                ax.plot(ours["count"], ours[key], f"C{place}o-", ms=3, label=name)
                paper = [TABLE10[label][count][place][row] for count in COUNTS]
                ax.plot(COUNTS, paper, f"C{place}x", ms=6, label=f"{name}, testbed")
        axes[0][column].set(title=f"RTT {RTTS[label]}", ylim=(0, 400))
        axes[1][column].set(ylim=(0, 90))
        axes[2][column].set(xlabel="flows", ylim=(0.78, 1.01))
    for row, (_, text) in enumerate(rows):
        axes[row][0].set_ylabel(text)
    axes[0][2].legend(fontsize="x-small")
    return figure


UDP = 350.0
PERIOD = 300
# Phases of 300 s: UDP is silent in the even ones, and sends in the odd ones.
PHASES = {"low": 3, "moderate": 6, "high": 3}
FULL = WIRE * PAYLOAD


@experiment("ltcp/fig11", "LTCP beside UDP traffic that comes and goes: simulated")
def fig11(bench: Bench) -> Finding:
    """Reproduce figure 11 (§V-B-3): 350 Mbps of UDP, on for 5 minutes, off for 5 minutes.

    The queue is 5000 packets; the paper shows 70 ms, and "verified this at different RTTs".
    """
    found = _beside_udp(bench)
    claims, frames = [], []
    figure, axes = panels(3, 1, width=6, height=2)
    for number, (label, phases) in enumerate(PHASES.items()):
        frame = found[label]
        frames.append(frame.select(pl.lit(label).alias("rtt"), pl.all()))
        claims += _shares(RTTS[label], frame, phases)
        ax = axes[number][0]
        ax.plot(frame["time"], frame["ltcp"], lw=0.8, label="LTCP")
        ax.plot(frame["time"], frame["udp"], lw=0.8, label="UDP")
        ax.set(title=f"RTT {RTTS[label]}", ylim=(0, 800), xlim=(0, PERIOD * phases))
    axes[1][0].set_ylabel("goodput (Mbps), simulated")
    axes[2][0].set_xlabel("time (s)")
    axes[2][0].legend(fontsize="x-small", loc="center right")
    note = (
        SIMULATED.format(5000) + "Means begin 100 s after UDP begins or stops. Payload is 1448 of "
        "1500 bytes, for datagrams too. UDP does not respond: it has the 338 Mbps of payload that "
        "it sends, if the paper's 350 are of whole packets; as payload they would be 363. 25 and "
        "150 ms are run until UDP has come and gone once."
    )
    return Finding(claims, {"flows": pl.concat(frames)}, figure, note)


def udp_traffic(bench: Bench) -> dict[str, Any]:
    """Describe the UDP traffic that is silent for 5 minutes and sends for 5 (§V-B-3)."""
    return {
        "datagrams": "constant",
        "app": {
            "rate": f"{UDP:g}Mbps",
            "on": bench.seconds(PERIOD),
            "off": bench.seconds(PERIOD),
        },
        "start": bench.seconds(PERIOD),
        "start_spread": "0s",
    }


def _beside_udp(bench: Bench) -> dict[str, pl.DataFrame]:
    """Return for each RTT the goodputs of LTCP and UDP in Mbps, a row per second of full scale."""
    flows: list[dict[str, Any]] = [{"cc": "ltcp", **SOCKETS}, udp_traffic(bench)]

    def base(label: str) -> Scenario:
        seconds = PHASES[label] * PERIOD
        return testbed(bench, flows, label, seconds, queue=5000, sample="1s")

    series = bench.sweep(base, series=True, label=list(PHASES)).series("flow_series")
    found = {}
    for label in PHASES:
        ltcp, udp = (
            series.filter((pl.col("label") == label) & (pl.col("flow") == number))
            for number in (0, 1)
        )
        found[label] = pl.DataFrame(
            {
                "time": ltcp["time"] / bench.scale,
                "ltcp": ltcp["goodput"] / 1e6,
                "udp": udp["goodput"] / 1e6,
            }
        )
    return found


def _shares(rtt: str, frame: pl.DataFrame, phases: int) -> list[Claim]:
    """Claim that LTCP shares the link while UDP sends, and is close to all of it otherwise."""
    claims = []
    time = pl.col("time")
    for phase in range(1, phases):
        begins = phase * PERIOD
        inside = frame.filter(time.is_between(begins + PERIOD / 3, begins + PERIOD, closed="left"))
        ours = float(inside["ltcp"].to_numpy().mean())
        when = f"{rtt}, {begins}-{begins + PERIOD} s"
        if phase % 2:
            claims.append(
                near(
                    f"{when}: the link is shared: LTCP's goodput",
                    FULL - UDP * PAYLOAD,
                    ours,
                    0.1,
                    "Mbps",
                    since='LTCP alone is "close to the full link capacity", and so is the sum here',
                    by="what UDP leaves",
                )
            )
        else:
            claims.append(
                near(
                    f"{when}: LTCP is close to the full link capacity: its goodput",
                    FULL,
                    ours,
                    0.1,
                    "Mbps",
                    since='"close to"',
                    by="the capacity",
                )
            )
    return claims

"""§I and §IV: the square-root law, layers, the choice of β, throughput, the alternate design."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from narrows.plot import panels
from narrows.scenario import Scenario
from narrows.theory.response import ltcp, ltcp_layer, square_root
from narrows_papers.bench import Bench
from narrows_papers.claims import Claim, above, digits, measured, near, rounds_to, stated
from narrows_papers.ltcp.setup import flow_series, scenario
from narrows_papers.ltcp.single import figure_5
from narrows_papers.readings import most
from narrows_papers.registry import Finding, experiment

PACKET_BITS = 1500 * 8
RTT = 0.2


@experiment("ltcp/sec1", "the square-root law: the loss rate that TCP needs for 1 Gbps")
def sec1(bench: Bench) -> Finding:
    """Check T = 1.2 S/(R√p) with S = 1500 B and R = 200 ms (§I).

    The paper's numbers are those of √(3/2) = 1.2247 in place of 1.2.
    """

    def throughput(p: float, constant: float = np.sqrt(1.5)) -> float:
        return float(square_root(p, constant)) * PACKET_BITS / RTT

    def loss(rate: float, constant: float = np.sqrt(1.5)) -> float:
        return (constant * PACKET_BITS / (RTT * rate)) ** 2

    a_loss_lasts = 1 / loss(10e9) * PACKET_BITS / 10e9 / 3600
    measured = _measured(bench)
    random_losses = float(np.sqrt(1.5) * measured["of_the_law"].to_numpy().mean())
    claims = [
        digits("throughput at p = 1e-5", "23.2", throughput(1e-5) / 1e6, "Mbps"),
        digits("throughput at p = 1e-7", "232.4", throughput(1e-7) / 1e6, "Mbps"),
        digits("loss rate for 1 Gbps", "5.4e-9", loss(1e9)),
        digits("loss rate for 10 Gbps", "5.4e-11", loss(10e9)),
        digits("packets per loss at 10 Gbps", "1.85e10", 1 / loss(10e9)),
        digits("hours between losses at 10 Gbps", "6", a_loss_lasts, "h"),
        digits("the constant of the law, √(3/2), which gives these numbers", "1.2", np.sqrt(1.5)),
        near(
            "simulated, independent losses: the constant of Reno's law over SACK",
            1.31,
            random_losses,
            0.05,
            since="a run's mean is known to 5 %",
            by="Ott, Kemperman, Mathis",
        ),
    ]
    return Finding(claims, {"law": _law(), "simulated": measured}, _drawn(measured))


def _law() -> pl.DataFrame:
    p = np.logspace(-11, -2, 91)
    return pl.DataFrame({"p": p, "throughput": square_root(p) * PACKET_BITS / RTT})


def _measured(bench: Bench) -> pl.DataFrame:
    """Run one flow of Reno's law over SACK, with independent losses, on a link it cannot fill."""
    base = Scenario(
        tcp="ns2",
        duration=bench.seconds(4000),
        packet="1500B",
        sample="0s",
        dumbbell={"rate": "10Gbps", "rtt": "200ms", "buffer": "1bdp", "loss": "0.001%"},
        flows=[{"cc": "sack"}],
    )
    losses = [1e-5, 1e-4, 1e-3]
    result = bench.sweep(base, loss=[f"{p:g}" for p in losses], seeds=bench.seeds(8))
    means = result.means("utilisation")
    found = means["utilisation"].to_numpy() * 10e9
    law = square_root(np.array(losses)) * PACKET_BITS / RTT
    return pl.DataFrame({"p": losses, "throughput": found, "law": law, "of_the_law": found / law})


def _drawn(measured: pl.DataFrame) -> Any:
    law = _law()
    figure, axes = panels()
    ax = axes[0][0]
    ax.loglog(law["p"], law["throughput"] / 1e6, label="√(3/2)·S/(R√p)")
    ax.loglog(
        measured["p"], measured["throughput"] / 1e6, "o", label="simulated, independent losses"
    )
    for p, rate in ((1e-5, 23.2), (1e-7, 232.4), (5.4e-9, 1e3), (5.4e-11, 1e4)):
        ax.plot(p, rate, "kx")
    ax.plot([], [], "kx", label="the paper's numbers")
    ax.set_xlabel("loss rate p")
    ax.set_ylabel("throughput (Mbps)")
    ax.legend(fontsize="x-small")
    return figure


TABLE = {
    2: (50, 1.00, 1.00),
    3: (200, 2.00, 6.67),
    4: (500, 2.57, 10.00),
    5: (1000, 3.17, 13.33),
    6: (1750, 3.78, 16.67),
    7: (2800, 4.40, 20.00),
    8: (4200, 5.03, 23.33),
    9: (6000, 5.67, 26.67),
    10: (8250, 6.31, 30.00),
    11: (11000, 6.95, 33.33),
    12: (14300, 7.60, 36.67),
    13: (18200, 8.25, 40.00),
    14: (22750, 8.90, 43.33),
    15: (28000, 9.56, 46.67),
    16: (34000, 10.21, 50.00),
    17: (40800, 10.87, 53.33),
    18: (48450, 11.52, 56.67),
    19: (57000, 12.18, 60.00),
    20: (66500, 12.84, 63.33),
    21: (77000, 13.50, 66.67),
    22: (88550, 14.16, 70.00),
    23: (101200, 14.82, 73.33),
    24: (115000, 15.48, 76.67),
    25: (130000, 16.14, 80.00),
}
W_T = 50.0
BETA = 0.15


def begins(k: Any) -> Any:
    """Return W_K (eq. 10)."""
    return k * (k + 1) * (k - 1) / 6 * W_T


@experiment("ltcp/tab02", "layers, and how much faster than TCP they make LTCP")
def tab02(bench: Bench) -> Finding:
    """Check every cell of the table of figure 2: eq. 10, eq. 14 and 3.33(K − 1).

    A simulation shows what the law itself does.
    """
    k = np.array(list(TABLE), dtype=np.float64)
    printed = np.array(list(TABLE.values()))
    # Slow start ends at W_T = W_2. From there TCP needs W_K − W_2 round trips, LTCP
    # Σ δ_k/k = (K − 2)(K + 3)/4 · W_T (eq. 14).
    rounds = (k - 2) * (k + 3) / 4 * W_T
    # At W_T nothing is layered yet: the paper gives 1 for K = 2.
    claiming = np.where(k == 2, 1.0, (begins(k) - W_T) / np.where(k == 2, 1.0, rounds))
    recovery = 0.5 / BETA * (k - 1)
    data = pl.DataFrame(
        {"layer": k, "begins": begins(k), "claiming": claiming, "recovery": recovery}
    )
    measured = _rounds_to_layers(bench)
    off = np.abs(measured["rounds"].to_numpy()[1:] / measured["eq14"].to_numpy()[1:] - 1)
    claims = [
        _cells("W_K", printed[:, 0], begins(k), 0),
        _cells("speed-up in claiming bandwidth", printed[:, 1], claiming, 2),
        _cells("speed-up in loss recovery, K from 3 on", printed[1:, 2], recovery[1:], 2, first=3),
        digits(
            "speed-up in loss recovery, K = 2",
            "1.00",
            float(recovery[0]),
            why="3.33(K − 1) is 3.33 at K = 2, by the same rule as in every other row: LTCP gives "
            "up 0.15 of its window and TCP half, and both regain one packet per round trip. The "
            "table's 1.00 treats LTCP as TCP at W_T",
        ),
        most(0.02, "a round at each end of a hundred and more").claim(
            "simulated: round trips from W_3 to W_K against eq. 14, "
            "the largest relative difference",
            float(off.max()),
            says="eq. 14",
        ),
    ]
    figure, axes = panels()
    axes[0][0].plot(measured["layer"], measured["rounds"], "o", ms=3, label="simulated")
    axes[0][0].plot(measured["layer"], measured["eq14"], lw=1, label="eq. 14")
    axes[0][0].set(xlabel="layer K", ylabel="round trips from $W_3$ to $W_K$")
    axes[0][0].legend(fontsize="x-small")
    note = (
        "In the simulation datagrams fill a path of 10 Gbps and 20 ms for one second and then "
        "leave it to one LTCP flow with a small window."
    )
    return Finding(claims, {"table": data, "simulated": measured}, figure, note)


def _cells(name: str, printed: Any, found: Any, digits: int, first: int = 2) -> Claim:
    layers = range(first, first + len(printed))
    # The paper truncates some cells and rounds others: a difference of one unit in the last digit
    # counts as the same number.
    unit = 10.0**-digits
    exact = sum(abs(a - b) <= unit / 2 + 1e-9 for a, b in zip(printed, found, strict=True))
    wrong = [k for k, a, b in zip(layers, printed, found, strict=True) if abs(a - b) > 1.01 * unit]
    text = f"{exact} of {len(printed)} as printed" + (
        "" if exact == len(printed) else ", the others within one unit of the last digit"
    )
    return stated(
        f"{name}: every cell",
        f"{len(printed)} cells",
        f"{text}; wrong: K = {wrong}" if wrong else text,
        not wrong,
    )


def _rounds_to_layers(bench: Bench) -> pl.DataFrame:
    """Measure after how many round trips one LTCP flow's window passes each W_K without losses."""
    layers = np.arange(3.0, 11.0)
    expected = ((layers - 2) * (layers + 3) - 6) / 4 * W_T
    scenario = Scenario(
        tcp="ns2",
        duration=f"{(expected[-1] + 300) * 0.02:g}s",
        warmup="0s",
        sample="20ms",
        dumbbell={"rate": "10Gbps", "rtt": "20ms", "buffer": "20p"},
        flows=[
            {"cc": "ltcp"},
            {
                "datagrams": "constant",
                "app": {"rate": "9.99Gbps"},
                "start_spread": "0s",
                "stop": "1s",
            },
        ],
    )
    flow = flow_series(bench.run(scenario), 0).filter(pl.col("time") > 1.0)
    time = np.interp(begins(layers), flow["window"], flow["time"])
    return pl.DataFrame({"layer": layers, "rounds": (time - time[0]) / 0.02, "eq14": expected})


@experiment("ltcp/eq03", "what makes flows converge: eqs. 2, 3, 8 and 9 for every pair of layers")
def eq03(bench: Bench) -> Finding:
    """Check the conditions of §III and §IV by arithmetic, for layers 2 to 18.

    Up to layer 18 at most one layer is lost with β = 0.15 (eq. 13).
    """
    layers, windows = _windows()
    eq3 = {name: _regained(windows, by_layer) for name, by_layer in (("W", False), ("W_K", True))}
    figure = _draw_eq03(windows, eq3)
    note = (
        "Eq. 3 holds for a pair of windows if the curve rises from the smaller to the larger. The "
        "reduction by layer is the other choice of §III; its formula, β·W_K, is ours."
    )
    data = pl.DataFrame(
        {"window": windows, "layer": layers, "by_window": eq3["W"], "by_layer": eq3["W_K"]}
    )
    claims = [*_claims_of_layers(), *_claims_of_windows(layers, windows, eq3)]
    return Finding(claims, {"rounds": data}, figure, note)


def _claims_of_layers() -> list[Claim]:
    """Return the claims of ltcp/eq03 on the layers themselves."""
    k = np.arange(2.0, 19.0)
    pace = (begins(k + 1) - begins(k)) / k
    steps = begins(k[1:]) / begins(k[:-1])
    by_eq9 = (k[1:] + 1) / (k[1:] - 2)
    skipped = begins(k[1:] + 1) / begins(k[1:] - 1)
    bound = k[1:] / (k[1:] - 2)
    begun = _regained(begins(k), by_layer=False)
    return [
        stated(
            "eq. 2: the higher of two layers adds layers more slowly, δ_K/K grows with K "
            "(136 pairs of layers)",
            "all pairs",
            _of_pairs(pace),
            bool((np.diff(pace) > 0).all()),
        ),
        stated(
            "eq. 9 follows from eq. 10: W_K/W_(K−1) = (K + 1)/(K − 2), K = 3 to 18",
            "equal",
            f"largest difference {float(np.abs(steps - by_eq9).max()):.1g}",
            bool(np.allclose(steps, by_eq9, rtol=1e-12)),
        ),
        stated(
            "eq. 8: W_(K+1) > K/(K − 2)·W_(K−1), K = 3 to 18",
            "always",
            f"least of left over right {float((skipped / bound).min()):.2f}",
            bool((skipped > bound).all()),
        ),
        stated(
            "eq. 3 for two windows that have just begun their layers: the larger takes more round "
            "trips to regain what a loss takes",
            "all pairs",
            _of_pairs(begun),
            bool((np.diff(begun) > 0).all()),
        ),
    ]


def _claims_of_windows(layers: Any, windows: Any, eq3: dict[str, Any]) -> list[Claim]:
    """Return the claims of ltcp/eq03 on any two windows."""
    apart = _largest_failing(windows, eq3["W"])
    return [
        stated(
            '"this inequality is held after a congestion event irrespective of the layer '
            'transitions": eq. 3 for any two windows in layers 2 to 18',
            "all pairs",
            f"{_of_pairs(eq3['W'])}; no pair fails if the larger window is more than "
            f"{apart:.2f} times the other",
            bool((np.diff(eq3["W"]) > 0).all()),
            "a window just below W_K/(1 − β), which lies within layer K, loses a layer and regains "
            "K − 1 packets per round trip; one just above keeps its layer and regains K. The "
            "larger is then back first, until it is K/(K − 1) times the other. The proof for "
            "adjacent layers puts the larger window at the top of its layer and the smaller at the "
            "bottom (eq. 8), which is the easiest case",
        ),
        *_within_a_layer(layers, windows, eq3),
    ]


def _draw_eq03(windows: Any, eq3: dict[str, Any]) -> Figure:
    """Draw the figure of ltcp/eq03."""
    figure, axes = panels(1, 1, width=6)
    axes[0][0].loglog(windows, eq3["W"], lw=0.8, label="decrease by window, β·$W$")
    axes[0][0].loglog(windows, eq3["W_K"], lw=0.8, label="decrease by layer, β·$W_K$")
    axes[0][0].set(xlabel="window at the loss (packets)", ylabel="round trips to regain it")
    axes[0][0].legend(fontsize="x-small")
    return figure


def _windows() -> tuple[Any, Any]:
    """Return 100 windows in each layer from 2 to 18, and their layers."""
    layers = np.repeat(np.arange(2.0, 19.0), 100)
    share = np.tile(np.arange(100) / 100, 17)
    return layers, begins(layers) + share * (begins(layers + 1) - begins(layers))


def _regained(windows: Any, by_layer: bool) -> Any:
    """Return after how many round trips a window has regained what a loss takes, WR/K' (eq. 3)."""
    given_up = BETA * (begins(ltcp_layer(windows)) if by_layer else windows)
    return given_up / ltcp_layer(windows - given_up)


def _of_pairs(values: Any) -> str:
    """Return in how many pairs of a series the later value is the larger."""
    later, earlier = np.triu_indices(len(values), 1)[::-1]
    kept = int((values[later] > values[earlier]).sum())
    return f"{kept:,} of {len(later):,} pairs"


def _largest_failing(windows: Any, rounds: Any) -> float:
    """Return the largest ratio of two windows for which eq. 3 fails."""
    later, earlier = np.triu_indices(len(windows), 1)[::-1]
    fails = rounds[later] <= rounds[earlier]
    return float((windows[later] / windows[earlier])[fails].max())


def _within_a_layer(layers: Any, windows: Any, eq3: dict[str, Any]) -> list[Claim]:
    """Claim what §III says of two flows in one layer, for the two ways to decrease."""
    kept = {}
    for name, rounds in eq3.items():
        inside = [rounds[layers == layer] for layer in np.unique(layers)]
        pairs = [np.triu_indices(len(one), 1) for one in inside]
        kept[name] = float(
            np.mean([(one[j] > one[i]).mean() for one, (i, j) in zip(inside, pairs, strict=True)])
        )
    return [
        stated(
            "eq. 3 for two windows in the same layer",
            "all pairs",
            f"{kept['W']:.3f} of the pairs",
            kept["W"] == 1,
            "as above: in each layer lies a window W_K/(1 − β) at which one more layer is kept",
        ),
    ]


@experiment("ltcp/eq13", "the share β given up at a loss that costs at most one layer")
def eq13(bench: Bench) -> Finding:
    """Check eqs. 12 and 13: βW_K < δ_(K−1), so β < 3/(K + 1)."""
    k = np.arange(2.0, 61.0)
    lost = k - ltcp_layer((1 - BETA) * begins(k))
    safe = 3 / (k + 1) > BETA
    last_safe = int(k[np.flatnonzero(safe)[-1]])
    data = pl.DataFrame({"layer": k, "bound": 3 / (k + 1), "layers_lost": lost})
    claims = [
        digits(
            "β = 0.15 corresponds to K = 19, by eq. 13: 3/(K + 1)",
            "0.15",
            float(3 / (19 + 1)),
        ),
        stated(
            "eq. 13 is strict: the last K for which β is below 3/(K + 1)",
            "not given (19)",
            f"{last_safe}",
            last_safe == 19,
            "at K = 19 they are equal",
        ),
        stated(
            "counted from eq. 10: layers lost at W_K up to K = 19",
            "at most 1",
            f"{int(lost[k <= 19].max())}",
            bool(lost[k <= 19].max() <= 1),
        ),
        stated(
            "counted from eq. 10: layers lost at W_K beyond K = 19",
            "not given (more than 1)",
            f"2 first at K = {int(k[lost > 1][0])}",
            bool((lost[k > 19] > 1).any()),
        ),
    ]
    figure, axes = panels()
    axes[0][0].plot(k, 3 / (k + 1), label="3/(K + 1)")
    axes[0][0].axhline(BETA, color="k", lw=0.8, label="β = 0.15")
    axes[0][0].step(k, lost / 10, where="mid", lw=0.8, label="layers lost at $W_K$, tenths")
    axes[0][0].set(xlabel="layer K", ylabel="share of the window", ylim=(0, 1.05))
    axes[0][0].legend(fontsize="x-small")
    return Finding(claims, {"bound": data}, figure)


@experiment("ltcp/eq18", "throughput at 2.4 Gbps and 150 ms, against TCP")
def eq18(bench: Bench) -> Finding:
    """Check eq. 18 (§IV-A) with W = 30,000, K = 15, and both laws under independent losses."""
    layer = float(ltcp_layer(30_000))
    gain = np.sqrt(layer / BETA * (1 - BETA / 2)) / np.sqrt(1.5)
    p = 10.0 ** np.array([-6, -5, -4])
    measured = _over_losses(bench, p)
    ratio = measured["ltcp"].to_numpy() / measured["ltcp_eq18"].to_numpy()
    claims = [
        digits("the layer at a window of 30,000", "15", layer),
        digits("LTCP's throughput over TCP's", "8", float(gain)),
        most(0.07, "what independent losses add to Reno's window").claim(
            "simulated, independent losses: LTCP's window against eq. 18, the largest relative "
            "difference",
            float(np.abs(ratio - 1).max()),
            says="eq. 18",
        ),
        rounds_to(
            "simulated, independent losses at the rate that gives W = 30,000, 1.2e-7: LTCP's "
            "throughput over TCP's, runs of some twenty losses each",
            "8",
            _at_the_papers_point(bench),
        ),
    ]
    figure, axes = panels()
    losses = np.logspace(-8, -2, 61)
    axes[0][0].loglog(losses, ltcp(losses), label="LTCP, eq. 18")
    axes[0][0].loglog(losses, square_root(losses), label="TCP, √(3/(2p))")
    axes[0][0].loglog(p, measured["ltcp"], "o", ms=4, label="LTCP, simulated")
    axes[0][0].loglog(p, measured["tcp"], "s", ms=4, label="TCP, simulated")
    axes[0][0].set(xlabel="loss rate p", ylabel="mean window (packets)")
    axes[0][0].legend(fontsize="x-small")
    note = (
        f"√(15/0.15·(1 − 0.075)) is {np.sqrt(layer / BETA * (1 - BETA / 2)):.2f}; over TCP's "
        f"constant √(3/2) it is {gain:.2f}. Independent losses make windows a little larger than "
        "the equally spaced losses that eq. 18 assumes (Reno's constant is 1.31 instead of 1.22)."
    )
    return Finding(claims, {"simulated": measured}, figure, note)


def _at_the_papers_point(bench: Bench) -> list[float]:
    """Return the ratio of throughputs at a loss rate of 1.2e-7, by seed.

    That is the loss rate of 2.4 Gbps and 150 ms, eq. 18.
    """

    def at(cc: str) -> Scenario:
        # Twenty losses: LTCP's come 40 s apart, TCP's 350 s.
        seconds = {"ltcp": 1600, "sack": 8000}[cc]
        return Scenario(
            tcp="ns2",
            packet="1500B",
            duration=bench.seconds(seconds),
            sample="0s",
            dumbbell={"rate": "40Gbps", "rtt": "150ms", "buffer": "1bdp", "loss": "1.2e-7"},
            flows=[{"cc": cc, "max_ssthresh": 100}],
        )

    runs = bench.sweep(at, cc=["ltcp", "sack"], seeds=max(2, bench.seeds(5))).runs
    by_seed = {cc: runs.filter(cc=cc).sort("seed")["goodput"] for cc in ("ltcp", "sack")}
    return [float(ratio) for ratio in by_seed["ltcp"] / by_seed["sack"]]


def _over_losses(bench: Bench, p: Any) -> pl.DataFrame:
    found = {}
    for name, cc in (("ltcp", "ltcp"), ("tcp", "sack")):
        base = Scenario(
            tcp="ns2",
            packet="1500B",
            duration=bench.seconds(2000),
            sample="0s",
            dumbbell={"rate": "40Gbps", "rtt": "150ms", "buffer": "1bdp", "loss": "0.1%"},
            flows=[{"cc": cc}],
        )
        means = bench.sweep(base, loss=[f"{loss:g}" for loss in p], seeds=bench.seeds(2)).means(
            "utilisation"
        )
        found[name] = means["utilisation"].to_numpy() * 40e9 / PACKET_BITS * 0.15
    return pl.DataFrame({"p": p, **found, "ltcp_eq18": ltcp(p), "tcp_law": square_root(p)})


@experiment("ltcp/alt", "the alternate design: W_K = α·W_(K−1), a decrease like TCP's")
def alt(bench: Bench) -> Finding:
    """Simulate "Alternate Designs" (§IV-A): named, not specified; here α = 2 and β = 0.5."""
    flows = [("chosen design", "ltcp"), ("alternate", "ltcp:geometric=true"), ("TCP", "sack")]
    results = {
        name: bench.run(scenario(bench, "1Gbps", [{"cc": cc}], 600, warmup=200, sample="1s"))
        for name, cc in flows
    }
    windows = {name: flow_series(result, 0) for name, result in results.items()}
    swing = {
        name: _swing(frame.filter(pl.col("time") > 200 * bench.scale)["window"].to_numpy())
        for name, frame in windows.items()
    }
    gain = {
        name: _gain(frame.filter(pl.col("time") > 200 * bench.scale)["window"].to_numpy())
        for name, frame in windows.items()
    }
    # TCP takes ten minutes from one loss to the next: its swing is that of figure 5's 2400 s.
    long = figure_5(bench).series("flow_series").filter(pl.col("cc") == "sack")
    swing["TCP"] = _swing(long.filter(pl.col("time") > 300 * bench.scale)["window"].to_numpy())
    claims = [
        measured(
            "the window reduction makes the alternate design's window fluctuate like TCP's: "
            "(max − min)/mean of the window; the chosen design's is "
            f"{swing['chosen design']:.2f}",
            f"not given ({swing['TCP']:.2f}, TCP's over 2400 s)",
            f"{swing['alternate']:.2f}",
        ),
        above(
            "but it increases faster than TCP: packets per second that its window gains, "
            "over TCP's",
            1.0,
            gain["alternate"] / gain["TCP"],
        ),
    ]
    figure, axes = panels(1, 1, width=5.5)
    for name, frame in windows.items():
        axes[0][0].plot(frame["time"], frame["window"], lw=0.8, label=name)
    axes[0][0].set(xlabel="time (s)", ylabel="cwnd (packets)", ylim=(0, None))
    axes[0][0].legend(fontsize="x-small")
    data = pl.concat(
        [
            frame.select(pl.lit(name).alias("design"), "time", "window")
            for name, frame in windows.items()
        ]
    )
    return Finding(claims, {"windows": data}, figure)


def _gain(window: Any) -> float:
    """Return the median gain of a window from one sample to the next."""
    steps = np.diff(window)
    return float(np.median(steps[steps > 0]))


def _swing(window: Any) -> float:
    return float((window.max() - window.min()) / window.mean())

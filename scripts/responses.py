"""Draws docs/laws/responses: what each law sends against random losses, or marks.

One flow over 200 Mbps and 100 ms, packet by packet. Runs are kept in out/responses; all of them
take two minutes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
from matplotlib.ticker import LogLocator

import narrows as nw
from narrows.theory import response
from narrows.types import Floats

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "docs/laws/responses"
RTT = 0.1
RATE = 200e6
PACKET_BITS = 12_000
CAPACITY = RATE * RTT / PACKET_BITS
RATES = [10 ** (-half / 2) for half in range(2, 10)]
SEEDS = 3
# What E-TCP's formulas take for the loss above which the bottleneck is kept.
P0 = 0.01
# Losses in a run, as far as it may last so long, in seconds.
LOSSES, SHORTEST, LONGEST = 100, 30, 300
# What a law is called over ns-2's habits.
NS2 = {"reno": "reno+reno"}
# They have no timestamps of TCP's: packets are answered one by one.
E_TCP = {"etcp", "etcp-rate", "etcp-sqrt", "etcp-unit"}
# Their routers say what they may send.
TOLD_BY_ROUTERS = {"ba", "gwa", "gwa-rate", "xcp"}
# They answer to marks; each so many packets is marked.
MARKED = {"dctcp", "etcp-ecn", "prague"}
FORMULAS: dict[str, Callable[[Floats], Floats]] = {
    "reno": response.square_root,
    "aimd": response.square_root,
    "etcp": lambda p: _above(p, response.etcp),
    "etcp-unit": lambda p: _above(p, response.etcp),
    "etcp-sqrt": lambda p: _above(p, response.etcp_sqrt),
    "highspeed": response.highspeed,
    "scalable": response.scalable,
    "compound": response.compound,
    "ltcp": response.ltcp,
    "cubic": lambda p: response.cubic(p, RTT),
    "bic": response.bic,
    "htcp": lambda p: response.htcp(p, RTT),
}
# Colours by name, light and dark; matplotlib draws in the names' stand-ins.
COLOURS = {
    "ground": ("#010101", "#ffffff", "#17181a"),
    "ink": ("#020202", "#1c1c1a", "#ececea"),
    "soft": ("#030303", "#8a8a84", "#8e9196"),
    "grid": ("#040404", "#e3e3de", "#33363a"),
    "law": ("#050505", "#00588c", "#7cc4f5"),
}


def _above(p: Floats, formula: Callable[[Floats], Floats]) -> Floats:
    """Return E-TCP's window where more is lost than it wants; without a bound below."""
    # Losses per packet sent; the formulas have them per packet acknowledged.
    acknowledged = p / (1 - p)
    found = np.full_like(p, np.inf)
    found[acknowledged > P0] = formula(acknowledged[acknowledged > P0])
    return found


def measured(law: str) -> pl.DataFrame:
    """Return the packets per RTT that a law sends at each rate of losses or marks."""
    rows = []
    for rate in RATES:
        seconds = LOSSES / rate / float(response.square_root(rate)) * RTT
        seconds = float(np.clip(seconds, SHORTEST, LONGEST))
        link = {"rate": f"{RATE:.0f}bps", "rtt": f"{RTT}s", "buffer": "1bdp"}
        marks = law in MARKED
        scenario = nw.Scenario(
            tcp="ns2",
            packet="1500B",
            duration=f"{seconds:.1f}s",
            warmup=f"{seconds / 3:.1f}s",
            sample="0s",
            dumbbell=link
            | (
                {"script": [{"each": round(1 / rate), "mark": 1}]}
                if marks
                else {"loss": f"{rate:.6g}"}
            ),
            # With them an RTT is known of each packet, without one of each round trip.
            flows=[{"cc": NS2.get(law, law)} | ({} if law in E_TCP else {"timestamps": True})],
        )
        swept = nw.sweep(scenario, seeds=SEEDS, cache=ROOT / "out/responses")
        sent = swept.flows["throughput"].to_numpy() / PACKET_BITS * RTT
        rows.append({"rate": rate, "window": float(sent.mean())})
    return pl.DataFrame(rows)


def drawn(law: str, frame: pl.DataFrame) -> str:
    """Return the curve as SVG, whose colours follow the reader's scheme."""
    of = {name: stand_in for name, (stand_in, *_) in COLOURS.items()}
    style: dict[str, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": law,
        "font.family": "sans-serif",
        "font.size": 9,
        "text.color": of["ink"],
        "axes.edgecolor": of["soft"],
        "axes.labelcolor": of["ink"],
        "xtick.color": of["soft"],
        "ytick.color": of["soft"],
        "xtick.labelcolor": of["ink"],
        "ytick.labelcolor": of["ink"],
        "axes.facecolor": of["ground"],
        "figure.facecolor": of["ground"],
    }
    with plt.rc_context(style):
        figure, axes = plt.subplots(figsize=(5.4, 3.0), layout="constrained")
        dense = np.logspace(np.log10(RATES[-1]), np.log10(RATES[0]), 41)
        axes.axhline(CAPACITY, color=of["soft"], lw=1, ls=":")
        axes.annotate(
            "what the path carries", (RATES[0], CAPACITY), (0, 3), textcoords="offset points",
            ha="right", fontsize=8, color=of["ink"],
        )  # fmt: skip
        if law != "reno":
            reno = response.square_root(dense)
            axes.plot(dense, reno, color=of["soft"], lw=1, ls="--", label="Reno, √(3/(2p))")
        if law in FORMULAS:
            formula = np.minimum(FORMULAS[law](dense), CAPACITY)
            axes.plot(dense, formula, color=of["law"], lw=1.2, label=f"{law}, by formula")
        axes.plot(
            frame["rate"], frame["window"], "o-" if law not in FORMULAS else "o",
            color=of["law"], lw=1, ms=4.5, label=f"{law}, measured",
        )  # fmt: skip
        axes.set(xscale="log", yscale="log", ylim=(0.8, 3 * CAPACITY))
        axes.set_xlabel("share of packets marked" if law in MARKED else "loss probability")
        axes.set_ylabel("packets per RTT")
        axes.xaxis.set_major_locator(LogLocator())
        axes.minorticks_off()
        axes.grid(color=of["grid"], lw=0.6)
        axes.legend(frameon=False, fontsize=8, loc="lower left")
        kept = io.StringIO()
        figure.savefig(kept, format="svg", metadata={"Date": None, "Creator": None})
        plt.close(figure)
    return coloured(kept.getvalue())


def coloured(svg: str) -> str:
    """Return a picture with colours that follow the reader's scheme."""
    light, dark = (
        "".join(f"--{name}:{shades[which]};" for name, shades in COLOURS.items())
        for which in (1, 2)
    )
    rules = f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"
    for name, (stand_in, *_) in COLOURS.items():
        svg = svg.replace(stand_in, f"var(--{name})")
    svg = re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = svg.replace("<defs>", f"<style>{rules}</style>\n <defs>", 1)
    return svg.strip() + "\n"


def main() -> None:
    """Draw them all."""
    PLACE.mkdir(exist_ok=True)
    for law in (entry.name for entry in nw.controllers()):
        if law in TOLD_BY_ROUTERS:
            continue
        frame = measured(law)
        (PLACE / f"{law}.svg").write_text(drawn(law, frame))
        print(law, " ".join(f"{window:.4g}" for window in frame["window"]), flush=True)


if __name__ == "__main__":
    main()

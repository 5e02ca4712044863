"""`narrows why` and `narrows fit`: what is printed and written of a capture."""

from __future__ import annotations

import errno
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
from rich.table import Table

from narrows.captures import Explained, in_sum, sentence, why
from narrows.cli.work.printing import finish, folder_of
from narrows.files import parquet, write_at_once
from narrows.fitted import Fitted, fit
from narrows.made import Made
from narrows.metrics import quantity
from narrows.report.why import NAMES, page, told
from narrows.results import run
from narrows.statistics import mean_and_interval
from narrows.terminal import console, live, put, say, tell

# Seeds with which laws are tried.
SEEDS = 5


@dataclass(frozen=True)
class Ask:
    """What a command was asked: of `why` how many flows to show, of `fit` which of them."""

    file: Path
    flows: int
    anonymous: bool
    rate: float | None = None


def explain(ask: Ask, as_json: bool, output: Path | None, force: bool) -> bool:
    """Print and write what a capture tells; return whether it was read to its end."""
    with folder_of(output, force) as folder, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        explained = _read(ask)
        if as_json:
            put(explained.to_json())
        else:
            _print(explained, ask.flows)
        if folder:
            made = Made("why", [({"file": explained.name}, "")], [1])
            if ask.anonymous:
                made = replace(made, command=["narrows", "why", explained.name, "--anonymous"])
            folder.text("index.html", page(explained, made))
            folder.data("flows.parquet", parquet(explained.flows))
            folder.data("times.parquet", parquet(explained.times))
            finish(folder, made, as_json)
    for warning in said:
        tell(str(warning.message))
    return not explained.told["broken"]


def write_fitted(ask: Ask, cc: str, output: Path | None, force: bool) -> None:
    """Print the path that a flow saw as a scenario, or write it into a file."""
    if output and not force and output.exists():
        raise FileExistsError(errno.EEXIST, "it exists; --force replaces it", output)
    text = fit(_read(ask), ask.flows, cc, ask.rate).to_toml()
    if output:
        write_at_once(output, text.encode())
        say(f"written to {output}; narrows run {output} runs it")
    else:
        put(text, end="")


def try_laws(ask: Ask, laws: Sequence[str]) -> None:
    """Print what laws get over the path that a flow saw, beside what was seen."""
    explained = _read(ask)
    table = Table("", "Mbit/s", "RTT", "sent again", box=None)
    rows = [(cc, _own(fit(explained, ask.flows, cc, ask.rate))) for cc in laws]
    seen = explained.told["flows"][ask.flows]
    again, rtt = seen["again"] / max(seen["segments"], 1), seen["rtt_p50"]
    median = quantity("delay", rtt) + " (median)" if rtt else "–"
    table.add_row("seen", f"{seen['goodput'] * 1e-6:.2f}", median, f"{100 * again:.2f} %")
    for cc, own in rows:
        mean, half = mean_and_interval(own["goodput"].to_list())
        again = sum(own["retransmitted"]) / max(sum(own["sent"]), 1)
        rtt = sum(own["mean_rtt"]) / len(own)
        table.add_row(
            cc,
            f"{mean * 1e-6:.2f} ± {half * 1e-6:.2f}",
            f"{quantity('delay', rtt)} (mean)",
            f"{100 * again:.2f} %",
        )
    console().print(table)


def _own(fitted: Fitted) -> pl.DataFrame:
    """Return the own flow of a fitted path under five seeds."""
    scenario = fitted.scenario.with_({"warmup": "0s"})
    runs = [run(scenario, seed=seed).flows.head(1) for seed in range(1, SEEDS + 1)]
    return pl.concat(runs)


def _read(ask: Ask) -> Explained:
    is_seen = sys.stderr.isatty()
    explained = why(ask.file, anonymous=ask.anonymous, watch=_show if is_seen else None)
    if is_seen:
        live("")
    return explained


def _show(frames: int) -> None:
    live(f"{frames} frames")


def _print(explained: Explained, most: int) -> None:
    flows = explained.told["flows"]
    table = Table(box=None)
    table.add_column("")
    # An address is never cut short.
    table.add_column("from, to", overflow="fold", min_width=21)
    for name in ("Mbit/s", "held back by", "bottleneck", "lost"):
        table.add_column(name, no_wrap=True)
    for number, flow in enumerate(flows[:most]):
        table.add_row(str(number), *_cells(flow))
    console().print(table)
    if len(flows) > most:
        rest = len(flows) - most
        put(f"and {rest} smaller flow{'s' if rest > 1 else ''}; --flows, --json and -o have more")
    if any(flow["base_rtt"] and flow["base_rtt"]["low"] <= 0 for flow in flows[:most]):
        put("≤: the path always had a queue, so that its least round trip is not known")
    console().print(f"\nIn sum: {in_sum(flows)}.\n\nFlow 0: {sentence(flows[0])}")


def _cells(flow: Mapping[str, Any]) -> list[str]:
    share = max(flow["shares"])
    lost = str(flow["lost"])
    if flow["loss"] not in ("none", "untold"):
        lost += f"\n{flow['loss']}"
    cause = "receiver" if flow["cause"] == "receiver" else NAMES[flow["cause"]]
    return [
        f"{flow['sender']}\n{flow['receiver']}",
        f"{flow['goodput'] * 1e-6:.2f}",
        f"{cause}\n{100 * share:.0f} %",
        f"{told(flow['rate'], 1e-6, 'Mbit/s')}\n{told(flow['base_rtt'], 1e3, 'ms')}",
        lost,
    ]

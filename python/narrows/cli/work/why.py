"""`narrows why` and `narrows fit`: what is printed and written of a capture."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
from rich.table import Table

from narrows.captures import LINES, Explained, in_sum, sentence, why
from narrows.causes import NAMES
from narrows.cli.work.printing import finish, folder_of, refuse_to_replace
from narrows.errors import Error
from narrows.files import parquet, write_at_once
from narrows.fitted import OTHERS, Fitted, fit
from narrows.identified import identify, likely
from narrows.made import Made
from narrows.metrics import quantity
from narrows.pool import each
from narrows.report.why import estimated, page
from narrows.results import run
from narrows.scenario import Scenario
from narrows.statistics import mean_and_interval
from narrows.terminal import console, live, put, say, tell

# Seeds with which laws are tried.
SEEDS = 5


@dataclass(frozen=True)
class Capture:
    """What both commands are asked."""

    file: Path
    anonymous: bool

    def read(self, lines: int = LINES) -> Explained:
        """Read it, with progress on a terminal; say if it is broken."""
        is_seen = sys.stderr.isatty()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            explained = why(
                self.file,
                lines=lines,
                anonymous=self.anonymous,
                watch=_show if is_seen else None,
            )
        if is_seen:
            live("")
        for warning in said:
            tell(str(warning.message))
        return explained


def _show(frames: int) -> None:
    live(f"{frames} frames")


@dataclass(frozen=True)
class Laws:
    """Whether laws are to be told, and the bottleneck's rate in bit/s if a user knows it."""

    wanted: bool
    rate: float | None


def explain(
    capture: Capture, most: int, laws: Laws, as_json: bool, output: Path | None, force: bool
) -> bool:
    """Print and write what a capture tells; return whether it was read to its end."""
    with folder_of(output, force) as folder:
        explained = capture.read(max(most, LINES) if laws.wanted else LINES)
        if laws.wanted:
            explained = told_laws(explained, most, laws.rate)
        if as_json:
            put(explained.to_json())
        else:
            _print(explained, most)
        if folder:
            made = Made("why", [({"file": explained.name}, "")], [1])
            if capture.anonymous:
                more = ["--law"] if laws.wanted else []
                command = ["narrows", "why", explained.name, "--anonymous", *more]
                made = replace(made, command=command)
            folder.text("index.html", page(explained, made))
            folder.data("flows.parquet", parquet(explained.flows))
            folder.data("times.parquet", parquet(explained.times))
            finish(folder, made, as_json)
    return not explained.told["broken"]


def told_laws(explained: Explained, most: int, rate: float | None) -> Explained:
    """Return a capture with the laws of its largest flows, or why one cannot be told."""
    flows = [dict(flow) for flow in explained.told["flows"]]
    for number, flow in enumerate(flows[:most]):
        try:
            found = identify(explained, number, rate=rate)
        except Error as error:
            flow["law"], flow["law_not_told"] = None, str(error).partition(": ")[2]
        else:
            flow["law"] = dict(found.probabilities)
    return replace(explained, told={**explained.told, "flows": flows})


@dataclass(frozen=True)
class Wanted:
    """The flow whose path is fitted, its rate if a user knows it, and the law in its place."""

    flow: int
    rate: float | None
    cc: str | None
    laws: Sequence[str]


def fit_path(capture: Capture, wanted: Wanted, output: Path | None, force: bool) -> None:
    """Print what laws get over the path that a flow saw; print or write it as a scenario."""
    refuse_to_replace(output, force)
    if wanted.laws and not output and wanted.cc:
        raise Error("--cc: no scenario is written to have this law; leave it out, or add -o")
    explained = capture.read()

    def fitted(cc: str) -> Fitted:
        return fit(explained, wanted.flow, cc, wanted.rate)

    if wanted.laws:
        seen = explained.told["flows"][wanted.flow : wanted.flow + 1]
        _print_laws([fitted(cc).scenario for cc in wanted.laws], wanted.laws, seen)
    text = fitted(wanted.cc or OTHERS).to_toml()
    if output:
        write_at_once(output, text.encode())
        say(f"written to {output}; narrows run {output} runs it")
    elif not wanted.laws:
        put(text, end="")


def _print_laws(
    scenarios: Sequence[Scenario], laws: Sequence[str], seen: Sequence[Mapping[str, Any]]
) -> None:
    """Print what a flow got, and what laws get in its place under five seeds."""

    def own(number: int, watch: Callable[[float], None]) -> pl.DataFrame:
        scenario = scenarios[number // SEEDS].with_({"warmup": "0s"})
        return run(scenario, seed=number % SEEDS + 1, progress=watch).flows.head(1)

    runs = each(SEEDS * len(laws), own)
    table = Table("", "Mbit/s", "RTT", "sent again", box=None)
    for flow in seen:
        again, rtt = flow["again"] / max(flow["segments"], 1), flow["rtt_p50"]
        median = quantity("delay", rtt) + " (median)" if rtt else "–"
        table.add_row("seen", f"{flow['goodput'] * 1e-6:.2f}", median, f"{100 * again:.2f} %")
    for number, cc in enumerate(laws):
        found = pl.concat(runs[SEEDS * number : SEEDS * (number + 1)])
        mean, half = mean_and_interval(found["goodput"].to_list())
        again = sum(found["retransmitted"]) / max(sum(found["sent"]), 1)
        rtt = sum(found["mean_rtt"]) / len(found)
        table.add_row(
            cc,
            f"{mean * 1e-6:.2f} ± {half * 1e-6:.2f}",
            f"{quantity('delay', rtt)} (mean)",
            f"{100 * again:.2f} %",
        )
    console().print(table)


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
    for number, flow in enumerate(flows[:most]):
        if law := flow.get("law"):
            put(f"Law of flow {number}: {likely(law)}")
        elif reason := flow.get("law_not_told"):
            put(f"Law of flow {number}: not told; {reason}")


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
        f"{estimated(flow['rate'], 1e-6, 'Mbit/s')}\n{estimated(flow['base_rtt'], 1e3, 'ms')}",
        lost,
    ]

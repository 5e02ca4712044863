"""Write docs/stacks.md: the controllers of stacks that others wrote, over one queue.

Each alone and beside our CUBIC, on an ideal host and on one like tokio's, over buffers from 10
packets to 2 BDP. Needs `make hosts`.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import narrows as nw

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/stacks.md"
KEPT = ROOT / "out/stacks.jsonl"
BUFFERS = ["10p", "20p", "0.1bdp", "0.2bdp", "0.5bdp", "1bdp", "2bdp"]
OURS = ["cubic", "bbr:as=draft"]
THEIRS = [
    "quinn:cubic",
    "quinn:newreno",
    "quinn:bbr",
    "noq:cubic",
    "noq:newreno",
    "noq:bbr",
    "smoltcp:cubic",
    "smoltcp:reno",
    "s2n:cubic",
    "s2n:bbr",
]
HOSTS = ["ideal", "tokio"]
SEEDS = 3
PATH = {"rate": "100Mbps", "rtt": "40ms"}


def points() -> Iterator[dict[str, Any]]:
    """List every run: who, whose host, which buffer, beside whom, under which seed."""
    for cc, host, buffer, beside, seed in product(
        [*OURS, *THEIRS], HOSTS, BUFFERS, [False, True], range(1, SEEDS + 1)
    ):
        yield {"cc": cc, "host": host, "buffer": buffer, "beside": beside, "seed": seed}


def run(point: dict[str, Any]) -> dict[str, Any]:
    """Run a point and return it with what it showed."""
    host = {"host": {"like": "tokio"}} if point["host"] == "tokio" else {}
    flows = [{"cc": point["cc"]} | host]
    if point["beside"]:
        flows.append({"cc": "cubic", "start": "2s"} | host)
    scenario = nw.Scenario(
        dumbbell={**PATH, "buffer": point["buffer"]},
        flows=flows,
        seed=point["seed"],
        warmup="10s",
        duration="40s",
    )
    result = nw.run(scenario)
    goodput = result.flows["goodput"].to_list()
    return point | {
        "utilisation": result.summary["utilisation"][0],
        "drops": result.summary["loss_rate"][0],
        "share": goodput[0] / sum(goodput) if sum(goodput) > 0 else 0.0,
        "ended": next((line for line in result.warnings if "ended: " in line), None),
    }


def key(point: dict[str, Any]) -> tuple[Any, ...]:
    """Return what tells a point from others."""
    return tuple(point[name] for name in ("cc", "host", "buffer", "beside", "seed"))


def measure(again: bool) -> list[dict[str, Any]]:
    """Run what is not kept yet, and keep each run as it is done."""
    KEPT.parent.mkdir(exist_ok=True)
    if again:
        KEPT.unlink(missing_ok=True)
    lines = KEPT.read_text().splitlines() if KEPT.exists() else []
    done = {key(row): row for row in map(json.loads, lines)}
    missing = [point for point in points() if key(point) not in done]
    with KEPT.open("a") as file, ThreadPoolExecutor() as pool:
        for number, row in enumerate(pool.map(run, missing), 1):
            done[key(row)] = row
            file.write(json.dumps(row) + "\n")
            file.flush()
            print(f"\r{number} of {len(missing)}", end="", file=sys.stderr, flush=True)
    return [done[key(point)] for point in points()]


def table(rows: list[dict[str, Any]], metric: str, *, beside: bool, host: str) -> str:
    """Return a table of the mean over seeds, a controller a line; ± where seeds differ by more."""
    lines = [f"| | {' | '.join(BUFFERS)} |", "|---" * (len(BUFFERS) + 1) + "|"]
    for cc in [*OURS, *THEIRS]:
        cells = []
        for buffer in BUFFERS:
            mine = [
                row
                for row in rows
                if (row["cc"], row["buffer"], row["beside"]) == (cc, buffer, beside)
                and row["host"] == host
            ]
            values = [100 * row[metric] for row in mine]
            mean, spread = statistics.mean(values), max(values) - min(values)
            digits = 2 if metric == "drops" and mean < 1 else 1
            ends = sum(row["ended"] is not None for row in mine)
            cell = f"{mean:.{digits}f}"
            cell += f" ({min(values):.0f}–{max(values):.0f})" if spread > 5 else ""
            cells.append(cell + (f" †{ends}" if ends else ""))
        name = f"narrows {cc}" if cc in OURS else cc
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def versions() -> str:
    """Return the versions that Cargo.lock pins."""
    lock = (ROOT / "Cargo.lock").read_text()
    found = []
    for name in ("quinn-proto", "noq-proto", "smoltcp", "s2n-quic-transport"):
        version = re.search(rf'name = "{name}"\nversion = "([^"]+)"', lock)
        found.append(f"{name} {version[1] if version else '?'}")
    return ", ".join(found)


def page(rows: list[dict[str, Any]]) -> str:
    """Return the measured part of the page."""
    parts = [f"Versions: {versions()}; narrows {nw.__version__}. Seeds 1 to {SEEDS}.\n"]
    for metric, title, beside in [
        ("utilisation", "Utilisation in percent, alone", False),
        ("drops", "Drops in percent of arrivals, alone", False),
        ("share", "Share of the goodput in percent, beside one of our CUBIC", True),
        ("drops", "Drops in percent of arrivals, beside our CUBIC", True),
    ]:
        for host in HOSTS:
            heading = f"### {title}: {'ideal host' if host == 'ideal' else 'a host like tokio'}"
            parts.append(f"{heading}\n\n{table(rows, metric, beside=beside, host=host)}\n")
    return "\n".join(parts)


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--again", action="store_true", help="run what is kept again, too")
    again = parser.parse_args().again
    begin, end = "<!-- measured -->\n", "<!-- end -->\n"
    before, rest = PAGE.read_text().split(begin)
    after = rest.split(end)[1]
    PAGE.write_text(f"{before}{begin}\n{page(measure(again))}\n{end}{after}")
    print(f"\n{PAGE.relative_to(ROOT)} is written", file=sys.stderr)


if __name__ == "__main__":
    main()

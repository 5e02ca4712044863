"""The simulator beside this machine's kernel: `make validate-real`, some twenty minutes as root.

Each case runs for real, and simulated with an ideal host and with a host like this machine was in
that run. What has been measured is kept in out/validate-real.jsonl, a line a case, so that a second
call goes on; the table is written into docs/validation-real.md. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equilibrium
from narrows import _core
from narrows.reality import HOST, IDEAL, REAL, run_both
from narrows.scenario import Scenario

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "validation-real.md"
KEPT = ROOT / "out" / "validate-real.jsonl"

LAWS = ["sack", "cubic", "etcp", "ltcp", "htcp", "highspeed", "scalable"]
PATHS = [("100Mbps", "20ms"), ("300Mbps", "40ms"), ("500Mbps", "10ms")]
BUFFERS = ["20p", "0.1bdp", "1bdp"]
# A case that the machine was too late for is tried again so often.
TRIES = 3
# Where fewer packets are lost in the measured time of both, a quotient says nothing.
FEW = 30
# A buffer that is shorter is judged with this machine's timing in the simulator.
SHORT = 2e-3


@dataclass(frozen=True)
class Case:
    """A law over a path."""

    law: str
    rate: str
    rtt: str
    buffer: str
    flows: int

    def scenario(self) -> Scenario:
        """Return it as a scenario of 20 s, of which 15 s are measured."""
        return Scenario(
            duration="20s",
            warmup="5s",
            dumbbell={"rate": self.rate, "rtt": self.rtt, "buffer": self.buffer},
            flows=[{"cc": self.law, "count": self.flows, "start_spread": "100ms"}],
        )

    @property
    def name(self) -> str:
        """What tells it apart."""
        return f"{self.law} {self.rate} {self.rtt} {self.buffer} {self.flows}"


def cases() -> Iterator[Case]:
    """Yield each law over each path and buffer, with one flow and with four by turns."""
    number = 0
    for rate, rtt in PATHS:
        for buffer in BUFFERS:
            for law in LAWS:
                yield Case(law, rate, rtt, buffer, 1 if number % 2 else 4)
                number += 1


def measure(case: Case) -> dict[str, Any]:
    """Run a case for real and simulated; return what is kept of it."""
    buffer = case.scenario().buffers["bottleneck"]
    length = re.search(r"= ([0-9.]+)(us|ms|s) ", buffer)
    unit = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
    said: dict[str, Any] = {"case": case.name, "tries": 0}
    said["buffer_seconds"] = float(length[1]) * unit[length[2]] if length else 0.0
    for _ in range(TRIES):
        comparison = run_both([({"cc": case.law}, case.scenario())], [1])
        of_case = {it.said["run"]: it.runs[0] for it in comparison.cases}
        said["tries"] += 1
        for by in (IDEAL, HOST, REAL):
            record = of_case[by].record()
            link = of_case[by].links.row(0, named=True)
            said[by] = {
                "utilisation": record["utilisation"],
                "loss": record["loss_rate"] or 0.0,
                "queue": record["mean_queue"],
                "drops": link["drops"],
            }
        real = of_case[REAL].real
        if real is None:
            raise TypeError("a run for real says how late it was")
        said["valid"] = real.doubt is None
        said["doubt"] = real.doubt
        said["late"] = [real.lateness.p50, real.lateness.p99, real.lateness.p999]
        said["stalls"] = real.lateness.stalls
        said["stalled"] = real.lateness.stalled
        if said["valid"]:
            break
    return said


@dataclass(frozen=True)
class Judged:
    """What a case says."""

    case: Case
    kept: dict[str, Any]

    @property
    def by(self) -> str:
        """The simulated host that it is judged by: this machine's where the buffer is short."""
        return HOST if self.kept["buffer_seconds"] < SHORT else IDEAL

    def within(self) -> dict[str, bool | None]:
        """Say of each quantity whether it agrees; None where a quotient says nothing."""
        real, simulated = self.kept[REAL], self.kept[self.by]
        few = min(real["drops"], simulated["drops"]) < FEW
        return {
            "utilisation": abs(real["utilisation"] - simulated["utilisation"]) <= 0.05,
            "loss": None if few else _near(real["loss"], simulated["loss"]),
            "queue": _near(real["queue"], simulated["queue"]),
        }


def _near(one: float, other: float) -> bool:
    return bool(one) and bool(other) and 1 / 1.5 <= one / other <= 1.5


def _three(parts: list[dict[str, Any]], name: str, digits: int, factor: float = 1.0) -> str:
    return " / ".join(f"{factor * part[name]:.{digits}f}" for part in parts)


def table(judged: list[Judged]) -> str:
    """Return the page's part that is measured."""
    lines = [
        f"Linux {platform.release()}, engine {_core.engine()}, "
        f"{sum(it.kept['valid'] for it in judged)} valid cases of {len(judged)}.",
        "",
        "| law | path | buffer | flows | utilisation | loss % | queue | agrees |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for it in judged:
        real, ideal, host = (it.kept[by] for by in (REAL, IDEAL, HOST))
        parts = [real, ideal, host]
        within = it.within()
        no = [name for name, agrees in within.items() if agrees is False]
        verdict = "not valid" if not it.kept["valid"] else "no: " + ", ".join(no) if no else "yes"
        lines.append(
            f"| `{it.case.law}` | {it.case.rate} {it.case.rtt} | {it.case.buffer} "
            f"| {it.case.flows} "
            f"| {_three(parts, 'utilisation', 3)} | {_three(parts, 'loss', 3, 100)} "
            f"| {_three(parts, 'queue', 1)} | {verdict} |"
        )
    valid = [it for it in judged if it.kept["valid"]]
    classes = {
        "all valid cases": valid,
        "buffers of 2 ms and more": [it for it in valid if it.by == IDEAL],
        "shorter buffers": [it for it in valid if it.by == HOST],
        "four flows": [it for it in valid if it.case.flows == 4],
        "one flow": [it for it in valid if it.case.flows == 1],
    }
    lines += ["", "| | utilisation | loss | queue |", "|---|---|---|---|"]
    for name, part in classes.items():
        cells = [_counted(part, quantity) for quantity in ("utilisation", "loss", "queue")]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _counted(judged: list[Judged], quantity: str) -> str:
    """Say how many agree, of those of which something can be said."""
    told = [agrees for it in judged if (agrees := it.within()[quantity]) is not None]
    return f"{sum(told)} of {len(told)}"


def kept() -> dict[str, dict[str, Any]]:
    """Return what has been measured already by this engine."""
    if not KEPT.exists():
        return {}
    lines = [json.loads(line) for line in KEPT.read_text().splitlines()]
    return {line["case"]: line for line in lines if line["engine"] == _core.engine()}


def main() -> int:
    """Measure what is missing, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="only cases whose name has this")
    parser.add_argument(
        "--path", action="store_true", help="only E-TCP's equilibrium, and the path"
    )
    chosen = parser.parse_args()
    KEPT.parent.mkdir(exist_ok=True)
    done = kept()
    if chosen.path:
        write("path", equilibrium.page())
        return 0
    every = [case for case in cases() if chosen.only in case.name]
    for number, case in enumerate(every):
        if case.name in done:
            continue
        said = {**measure(case), "engine": _core.engine()}
        done[case.name] = said
        with KEPT.open("a") as file:
            file.write(json.dumps(said) + "\n")
        print(f"{number + 1} of {len(every)}: {case.name}", file=sys.stderr, flush=True)
    judged = [Judged(case, done[case.name]) for case in every]
    print(table(judged))
    if not chosen.only:
        write("measured", table(judged))
        write("path", equilibrium.page())
    return 0


def write(part: str, text: str) -> None:
    """Write a part of the page anew."""
    page = PAGE.read_text()
    begin, end = f"<!-- {part} -->", f"<!-- /{part} -->"
    before, after = page.split(begin)[0], page.split(end)[1]
    PAGE.write_text(f"{before}{begin}\n{text}\n{end}{after}")


if __name__ == "__main__":
    sys.exit(main())

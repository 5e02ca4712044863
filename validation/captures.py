"""Holds `narrows why` against captures of simulated runs, in which the causes are known.

``captures.py [FIRST [COUNT]]`` draws networks from seeds, and prints what was found of each flow and
what was true. Seeds from 1000 on are never looked at one by one.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import narrows as nw

# Seconds of a run.
DURATION = 20
PACKET = 1500
# What waits for nothing: the way from a host to the capture beside it, in seconds.
BESIDE = 1e-5
SITUATIONS = (
    "alone",
    "several",
    "receiver",
    "application",
    "pacing",
    "random loss",
    "policer",
    "bursts",
)
LAWS = ("cubic", "reno", "bbr", "htcp", "scalable", "vegas", "hstcp", "illinois", "westwood")


@dataclass(frozen=True)
class Drawn:
    """A network, and what is true of it: seconds, bit/s, packets."""

    fields: dict[str, Any]
    situation: str
    place: str
    base: float
    rate: float
    buffer: float


def draw(seed: int) -> Drawn:
    """Return the network of a seed."""
    rng = np.random.default_rng(seed)
    situation = str(rng.choice(SITUATIONS))
    place = str(rng.choice(("sender", "between", "receiver")))
    rate = 1e6 * round(float(np.exp(rng.uniform(np.log(5), np.log(300)))), 1)
    one_way = round(float(np.exp(rng.uniform(np.log(4), np.log(60)))), 2) * 1e-3
    bdp = 2 * one_way * rate / 8 / PACKET
    buffer = max(round(float(rng.uniform(0.15, 2)) * bdp), 8)
    before = BESIDE if place == "sender" else 0.3 * one_way
    behind = BESIDE if place == "receiver" else 0.2 * one_way
    middle: dict[str, Any] = {"rate": f"{rate:.0f}bps", "buffer": f"{buffer}p"}
    flows = _flows(rng, situation, rate, bdp, middle)
    seconds = [before, one_way - before - behind, behind]
    names = ["a", "bottleneck", "b"]
    ends = [("s", "r"), ("r", "q"), ("q", "d")]
    links = [
        {"from": start, "to": end, "name": name, "delay": f"{delay:.9f}s", "rate": "10Gbps"}
        for (start, end), name, delay in zip(ends, names, seconds, strict=True)
    ]
    links[1] |= middle
    traced = {
        "sender": ["a", "a-back"],
        "between": ["bottleneck", "a-back"],
        "receiver": ["b", "bottleneck-back"],
    }[place]
    fields = {
        "duration": f"{DURATION}s",
        "warmup": "0s",
        "seed": seed,
        "links": links,
        "flows": [{"from": "s", "to": "d"} | flow for flow in flows],
        "trace": {"links": traced},
    }
    transmission = 8 * PACKET * (1 / rate + 2 / 10e9) + 8 * 52 * (1 / rate + 2 / 10e9)
    return Drawn(fields, situation, place, 2 * one_way + transmission, rate, buffer)


def _flows(
    rng: np.random.Generator, situation: str, rate: float, bdp: float, middle: dict[str, Any]
) -> list[dict[str, Any]]:
    law = str(rng.choice(LAWS))
    match situation:
        case "several":
            count = int(rng.integers(2, 6))
            return [{"cc": str(rng.choice(LAWS)), "start": f"{0.1 * k:.1f}s"} for k in range(count)]
        case "receiver":
            return [{"cc": law, "max_window": f"{max(round(rng.uniform(0.2, 0.8) * bdp), 4)}p"}]
        case "application":
            share = rng.uniform(0.1, 0.7)
            app: dict[str, Any] = {"rate": f"{share * rate:.0f}bps"}
            if rng.random() < 0.5:
                app["frames"] = int(rng.integers(5, 60))
            return [{"cc": law, "app": app}]
        case "pacing":
            return [{"cc": str(rng.choice(["htcp", "cubic", "reno"])), "pacing": "even"}]
        case "random loss":
            middle["loss"] = f"{float(np.exp(rng.uniform(np.log(2e-4), np.log(1e-2)))):.6f}"
            return [{"cc": law}]
        case "policer":
            middle["policer"] = {"rate": f"{rng.uniform(0.2, 0.6) * rate:.0f}bps", "burst": "60kB"}
            return [{"cc": law}]
        case "bursts":
            share = rng.uniform(0.2, 0.7)
            return [{"cc": law, "app": {"rate": f"{share * rate:.0f}bps", "frames": 1}}]
        case _:
            return [{"cc": law}]


def capture(drawn: Drawn, folder: Path) -> tuple[Path, nw.Result]:
    """Run a network, and return its capture and its results."""
    result = nw.run(nw.Scenario(**drawn.fields), traces_to=folder)
    return folder / "packets.pcapng", result


def truth(row: dict[str, Any]) -> dict[str, float]:
    """Return the shares of a flow's time by what is known of it."""
    names = ("window", "pacing", "application", "receiver", "recovery")
    return {name: row[f"limited_by_{name}"] for name in names}


def _why(path: Path) -> str:
    return subprocess.run(
        ["target/release/examples/why", str(path)], stdout=subprocess.PIPE, text=True, check=True
    ).stdout


CAUSES = ("window", "pacing", "application", "receiver", "recovery", "timeout", "handshake", "path", "untold")


def _row(seed: int, drawn: Drawn, found: dict[str, Any], result: nw.Result) -> dict[str, Any]:
    number = int(found["sender"].split(":")[0].split(".")[-1]) - 1
    flow = result.flows.row(number, named=True)
    shares = dict(zip(CAUSES, found["shares"], strict=True))
    shares["recovery"] += shares.pop("timeout")
    true = truth(flow)
    # What only one of both knows takes nothing away.
    agree = sum(min(shares[name], share) for name, share in true.items())
    # A path that is seen to be full is what the window or the pacer waits for.
    rest = sum(max(true[name] - shares[name], 0.0) for name in ("window", "pacing"))
    agree += min(rest, shares["path"])

    def value(name: str) -> float | None:
        return (found[name] or {}).get("value")

    return {
        "seed": seed, "cc": flow["cc"], "situation": drawn.situation, "place": drawn.place, "found_place": found["place"],
        "agree": agree, "shares": {k: round(v, 3) for k, v in shares.items() if v > 0.005},
        "true": {k: round(v, 3) for k, v in true.items() if v > 0.005},
        "base": [value("base_rtt"), drawn.base], "rate": [value("rate"), drawn.rate],
        "buffer": [value("buffer"), drawn.buffer * PACKET], "loss": found["loss"],
        "lost": [found["lost"], flow["retransmitted"]], "needless": [found["needless"], flow["duplicates"]],
        "timeouts": [found["timeouts"], flow["timeouts"]], "busy": found["busy"],
    }


def main() -> None:
    """Draw, run, read, compare."""
    first, count = (int(text) for text in (sys.argv[1:] + ["0", "24"][len(sys.argv) - 1 :]))
    rows = []
    for seed in range(first, first + count):
        drawn = draw(seed)
        with tempfile.TemporaryDirectory() as folder:
            path, result = capture(drawn, Path(folder))
            report = json.loads(_why(path))
        rows += [_row(seed, drawn, found, result) for found in report["flows"]]
    for row in rows:
        print(json.dumps(row))


if __name__ == "__main__":
    main()

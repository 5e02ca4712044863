"""Holds `narrows why` against captures of this machine's kernel over the lab's path.

What held the sender back is known from the kernel: for how long the receiver's window was the limit
(`tcpi_rwnd_limited`), and how often nothing waited to be sent (`tcpi_notsent_bytes`, looked at each
millisecond); rate, base RTT and buffer are the path's. Needs root; some 12 s a capture.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import narrows as nw
from captures import PACKET, over, within
from narrows.causes import CAUSES

ENDS = Path(__file__).with_name("lab_ends.py")
SITUATIONS = ("alone", "receiver", "reader", "application", "random loss")
LAWS = ("cubic", "reno", "bbr")
SECONDS = 10
# What a capture tells of a sender that had data and room: the kernel does not tell these apart.
FLOWING = ("window", "pacing", "recovery", "timeout")


@dataclass(frozen=True)
class Drawn:
    """A path and two ends: bit/s, seconds, packets."""

    situation: str
    place: str
    law: str
    rate: float
    rtt: float
    buffer: int
    loss: float
    # Arguments of the sender and of the receiver.
    sends: list[str]
    receives: list[str]


def draw(seed: int) -> Drawn:
    """Return what a seed draws."""
    rng = np.random.default_rng([9, seed])
    situation, law = str(rng.choice(SITUATIONS)), str(rng.choice(LAWS))
    place = str(rng.choice(["sender", "receiver"]))
    rate = 1e6 * round(float(np.exp(rng.uniform(np.log(4), np.log(80)))), 1)
    rtt = round(float(np.exp(rng.uniform(np.log(10), np.log(80))))) * 1e-3
    bdp = rate * rtt / 8 / PACKET
    buffer = max(round(float(rng.uniform(0.2, 2)) * bdp), 10)
    sends: list[str] = []
    receives: list[str] = []
    loss = 0.0
    match situation:
        case "receiver":
            receives = ["--buffer", str(max(round(rng.uniform(0.1, 0.4) * bdp * PACKET), 4096))]
        case "reader":
            receives = ["--rate", f"{rng.uniform(0.2, 0.7) * rate:.0f}"]
        case "application":
            every = round(float(rng.uniform(0.005, 0.08)), 3)
            size = max(round(rng.uniform(0.1, 0.6) * rate * every / 8), 200)
            sends = ["--every", f"{every}", "--bytes", str(size)]
        case "random loss":
            loss = round(float(np.exp(rng.uniform(np.log(2e-4), np.log(1e-2)))), 6)
    return Drawn(situation, place, law, rate, rtt, buffer, loss, sends, receives)


@dataclass(frozen=True)
class Row:
    """What was found of a connection beside what is true; found over true, None if not told.

    `right` is the share of time that has its cause, `hidden` that beside the receiver in which the
    link was used, which hides what the sender waits for.
    """

    seed: int
    situation: str
    place: str
    law: str
    told: float
    right: float
    hidden: float
    loss: str
    lost: int
    base: float | None
    rate: float | None
    buffer: float | None
    shares: dict[str, float]
    true: dict[str, float]


def look(seed: int, folder: Path) -> Row:
    """Run a connection, or take one that is kept, read its capture, and compare."""
    drawn = draw(seed)
    pcap, account = folder / f"{seed}.pcap", folder / f"{seed}.json"
    if not account.exists():
        _run(seed, drawn, pcap, account)
    flows = nw.why(pcap, lines=0).told["flows"]
    found = max(flows, key=lambda flow: flow["bytes"])
    return _row(seed, drawn, found, json.loads(account.read_text()))


def _run(seed: int, drawn: Drawn, pcap: Path, account: Path) -> None:
    python = sys.executable
    beside = [python, str(ENDS), "send", "--law", drawn.law, "--seconds", str(SECONDS)]
    beside += ["--account", str(account), *drawn.sends]
    behind = [python, str(ENDS), "receive", "--device", "inside", *drawn.receives]
    (beside if drawn.place == "sender" else behind).extend(["--pcap", str(pcap)])
    path = [python, "-m", "narrows", "lab", "exec", "--rate", f"{drawn.rate:.0f}bps"]
    path += ["--rtt", f"{1000 * drawn.rtt:g}ms", "--buffer", f"{drawn.buffer}p"]
    path += ["--loss", f"{drawn.loss:.6f}"] if drawn.loss else []
    command = [*path, "--seed", str(seed), "--beside", shlex.join(beside), "--", *behind]
    subprocess.run(command, check=True, capture_output=True, timeout=120)


def _row(seed: int, drawn: Drawn, found: dict[str, Any], account: dict[str, float]) -> Row:
    named = dict(zip(CAUSES, found["shares"], strict=True))
    # The kernel's account begins behind the handshake.
    whole = 1.0 - named.pop("handshake")
    shares = {name: share / whole for name, share in named.items()}
    mine = {name: shares[name] for name in ("receiver", "application")}
    mine["flowing"] = sum(shares[name] for name in FLOWING)
    true = _true(account)
    right = sum(min(mine[name], share) for name, share in true.items())
    used = 8 * found["bytes"] / found["seconds"] / drawn.rate * PACKET / found["segment_size"]
    hidden = min(shares["path"], used, 1.0 - right) if drawn.place == "receiver" else 0.0

    return Row(
        seed,
        drawn.situation,
        drawn.place,
        drawn.law,
        1.0 - shares["untold"],
        right,
        hidden,
        found["loss"],
        found["lost"],
        over(found["base_rtt"], _nearest(found["base_rtt"], drawn)),
        over(found["rate"], drawn.rate),
        over(found["buffer"], drawn.buffer * PACKET),
        {name: round(share, 3) for name, share in shares.items() if share > 0.005},
        {name: round(share, 3) for name, share in true.items() if share > 0.005},
    )


def _nearest(found: dict[str, float] | None, drawn: Drawn) -> float:
    """Return what the base RTT is: of an empty packet, of a full one, or between."""
    least, most = (drawn.rtt + 8 * size / drawn.rate for size in (2 * 52, PACKET + 52))
    return min(max(found["value"] if found else least, least), most)


def _true(account: dict[str, float]) -> dict[str, float]:
    """Return what held the sender back, by the kernel's account of its socket."""
    receiver = min(account["receiver"] / account["seconds"], 1.0)
    application = min(account["nothing_to_send"], 1.0 - receiver)
    return {
        "flowing": 1.0 - receiver - application,
        "receiver": receiver,
        "application": application,
    }


def summary(rows: Sequence[Row]) -> dict[str, str]:
    """Return what one would say of them, by its name."""
    told, right, hidden = (
        sum(getattr(row, name) for row in rows) for name in ("told", "right", "hidden")
    )
    losses = [row for row in rows if row.lost and row.loss not in ("none", "untold")]
    random = ("random", "congestion")
    good = sum(row.loss == random[row.situation != "random loss"] for row in losses)
    return {
        "connections": str(len(rows)),
        "time that is told": f"{100 * told / len(rows):.1f} %",
        "of that, with the right cause": f"{100 * right / told:.1f} %",
        "hidden by a link in use": f"{100 * hidden / told:.1f} %",
        "base RTT within 2 %": within([row.base for row in rows], 0.02),
        "rate within 5 %": within([row.rate for row in rows], 0.05),
        "buffer within 20 %": within([row.buffer for row in rows], 0.2),
        "what lost packets": f"{good} of {len(losses)} told",
    }


def main() -> None:
    """Draw, run, read, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", default="1001..1060", help="from..to")
    parser.add_argument("--keep", type=Path, help="where captures are kept, and taken from")
    given = parser.parse_args()
    first, last = (int(text) for text in given.seeds.split(".."))
    rows = []
    for seed in range(first, last + 1):
        with tempfile.TemporaryDirectory() as folder:
            rows.append(look(seed, given.keep or Path(folder)))
        print(json.dumps(asdict(rows[-1])), flush=True)
    groups = {"all": rows}
    for name in ("situation", "place", "law"):
        for value in dict.fromkeys(getattr(row, name) for row in rows):
            groups[value] = [row for row in rows if getattr(row, name) == value]
    for name, of in groups.items():
        print(f"{name}: " + "; ".join(f"{key} {value}" for key, value in summary(of).items()))


if __name__ == "__main__":
    main()

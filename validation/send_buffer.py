"""Holds `send_buffer` against this machine's kernel: what is outstanding, least and most.

CUBIC over the lab's path (100 Mbps, 200 ms, a queue that is never full) with tcp_wmem's 4 MB: once
as iperf3 writes, ten times 128 kB when select says that it may, once in one write after the other,
and so in bursts of 45 packets. Fails if a number is 5 % off. Needs root; two minutes.
"""

from __future__ import annotations

import re
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import polars as pl

import narrows as nw

PATH = ("100Mbps", "200ms", "9000p")
BUFFER, BLOCK, BLOCKS = 4_194_304, 131_072, 10
# The first seconds, in which the window grows, are not compared.
SECONDS, FROM = 16.0, 6.0
ADDRESS, PORT = "10.77.0.2", 5001
# What a simulated flow has in each way.
WAYS: dict[str, dict[str, Any]] = {
    "iperf3": {"write_size": f"{BLOCK * BLOCKS}B"},
    "always": {},
    "bursts": {"quantum": 45},
}
NEAR = 0.05


def receive() -> None:
    """Read all that comes; to be run at the right end."""
    with open("/proc/sys/net/ipv4/tcp_rmem", "w") as sizes:
        sizes.write("4096 131072 33554432")
    listener = socket.create_server(("", PORT))
    while True:
        connection, _ = listener.accept()
        while connection.recv(1 << 20):
            pass


def send(way: str) -> None:
    """Write in a way, and print what is outstanding; to be run at the left end."""
    with open("/proc/sys/net/ipv4/tcp_wmem", "w") as sizes:
        sizes.write(f"4096 16384 {BUFFER}")
    with open("/proc/sys/net/ipv4/tcp_min_tso_segs", "w") as least:
        least.write("45" if way == "bursts" else "2")
    connection = socket.socket()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    connection.connect((ADDRESS, PORT))
    connection.setblocking(way != "iperf3")
    block, end = bytes(BLOCK), time.monotonic() + SECONDS
    threading.Thread(target=watch, args=(end,), daemon=True).start()
    while time.monotonic() < end:
        if way != "iperf3":
            connection.send(block)
            continue
        select.select([], [connection], [], 1.0)
        for _ in range(BLOCKS):
            try:
                connection.send(block)
            except BlockingIOError:
                break


def watch(end: float) -> None:
    """Print time, window and packets outstanding until `end`."""
    began = time.monotonic()
    command = ["ss", "-tin", "state", "established", f"dport = :{PORT}"]
    while time.monotonic() < end:
        said = subprocess.run(command, check=False, capture_output=True, text=True).stdout
        found = [re.search(rf"{name}:(\d+)", said) for name in ("cwnd", "unacked")]
        if all(found):
            numbers = [int(one[1]) for one in found if one]
            print(time.monotonic() - began, *numbers, flush=True)
        time.sleep(0.003)


@contextmanager
def path() -> Iterator[None]:
    """Let the lab's path stand."""
    narrows = [sys.executable, "-m", "narrows", "lab"]
    rate, rtt, buffer = PATH
    up = [*narrows, "up", "--rate", rate, "--rtt", rtt, "--buffer", buffer]
    quiet = subprocess.DEVNULL
    stands = subprocess.Popen(up, stdout=quiet)
    time.sleep(2)
    reads = subprocess.Popen([*narrows, "exec", "right", "--", *itself("receive")], stdout=quiet)
    time.sleep(1)
    try:
        yield
    finally:
        reads.kill()
        subprocess.run([*narrows, "down"], check=False, stdout=quiet)
        stands.wait()


def itself(*words: str) -> list[str]:
    """Return the command of this file."""
    return [sys.executable, __file__, *words]


def kernels(way: str) -> tuple[int, int, int]:
    """Return what is outstanding in the kernel."""
    command = [sys.executable, "-m", "narrows", "lab", "exec", "left", "--", *itself(way)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [[float(word) for word in line.split()] for line in said.splitlines()]
    _, windows, outstanding = zip(*(row for row in rows if row[0] > FROM), strict=True)
    return seen(outstanding, windows)


def ours(way: str) -> tuple[int, int, int]:
    """Return the same of a simulation."""
    flow: dict[str, Any] = {"cc": "cubic", "start_spread": "0s", **WAYS[way]}
    flow["send_buffer"] = f"{BUFFER}B"
    scenario = nw.dumbbell(*PATH, flows=[flow], duration=f"{SECONDS}s", sample="3ms", tcp="linux")
    series = nw.run(scenario).flow_series.filter(pl.col("time") > FROM)
    return seen(series["in_flight"].to_list(), series["window"].to_list())


def seen(outstanding: Sequence[float], windows: Sequence[float]) -> tuple[int, int, int]:
    """Return the least and most that are outstanding but for a hundredth, and the window."""
    least, most = (int(part) for part in np.quantile(outstanding, [0.01, 0.99]))
    return least, most, int(max(windows))


def main() -> None:
    """Print both, a line a way; fail if they differ."""
    if len(sys.argv) > 1:
        receive() if sys.argv[1] == "receive" else send(sys.argv[1])
        return
    apart = []
    with path():
        for way in WAYS:
            linux, here = kernels(way), ours(way)
            print(f"{way}: least, most outstanding and window {linux}, here {here}", flush=True)
            apart += [abs(our / its - 1) for our, its in zip(here, linux, strict=True)]
    if max(apart) > NEAR:
        raise SystemExit(f"{max(apart):.1%} apart; the bound is {NEAR:.0%}")


if __name__ == "__main__":
    main()

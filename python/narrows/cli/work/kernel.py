"""`narrows kernel`: laws in Linux's kernel, and a look at every connection."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.live import Live
from rich.markup import escape
from rich.table import Table

from narrows import kernel
from narrows.errors import Error
from narrows.files import parquet, write_at_once
from narrows.kernel import Connection
from narrows.terminal import console, put, say, warn

if TYPE_CHECKING:
    import polars as pl

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
EMPTY = (
    "no TCP connection in this network namespace; a path's are in its own: "
    "narrows lab exec left -- narrows kernel watch"
)
# Rows of the table on a terminal.
ROWS = 30


def show() -> None:
    """Print the laws for the kernel, and which are there."""
    there = {law.name: law for law in kernel.installed()}
    table = Table("law", "in the kernel", "loaded", "settings", box=None)
    for law, name in kernel.laws().items():
        settings = ", ".join(there[name].given) if name in there else ""
        table.add_row(law, name, "yes" if name in there else "no", settings)
    console().print(table)
    put(f"the kernel has: {AVAILABLE.read_text().strip()}")


def load(laws: list[str]) -> None:
    """Load laws to stay, if all of them can be asked for like this."""
    for law in laws:
        kernel.check(law)
    for law in laws:
        name = kernel.load(law)
        put(name)
    say("they stay until narrows kernel unload, or a reboot")


def unload(laws: list[str]) -> None:
    """Take laws away; all that narrows has loaded if none is named."""
    names = list(dict.fromkeys(laws)) or [law.name for law in kernel.installed()]
    if not names:
        raise Error("narrows has loaded none; narrows kernel list shows what the kernel has")
    for name in names:
        kernel.unload(name)
        put(f"{name} is gone; connections that use it keep it until they close")


def watch(every: float, duration: float | None, cc: str | None, output: Path | None) -> None:
    """Show every connection until Ctrl-C or for `duration` seconds, and write what was seen."""
    seen = _Seen(every)
    begun = time.monotonic()
    try:
        with Live(console=console(), refresh_per_second=10, transient=False) as live:
            while True:
                now = time.monotonic() - begun
                if duration is not None and now > duration:
                    break
                found = [it for it in kernel.connections() if cc is None or it.cc == cc]
                seen.add(now, found)
                live.update(_table(found))
                time.sleep(max(0.0, every - (time.monotonic() - begun - now)))
    finally:
        if not console().is_terminal:
            put()
        if output:
            seen.write(output)


def _table(found: list[Connection]) -> Table:
    """Return a table of connections, the largest windows first."""
    columns = ["connection", "law", "window", "ssthresh", "RTT ms", "pacing Mbit/s", "again"]
    table = Table(*columns, box=None)
    for column in table.columns[2:]:
        column.justify = "right"
    for it in sorted(found, key=lambda it: -it.window)[:ROWS]:
        table.add_row(
            escape(f"{it.local} > {it.remote}"),
            escape(it.cc),
            f"{it.window:.0f}",
            "-" if it.ssthresh == float("inf") else f"{it.ssthresh:.0f}",
            f"{1e3 * it.rtt:.2f}",
            "-" if it.pacing_rate == float("inf") else f"{8e-6 * it.pacing_rate:.1f}",
            str(it.retransmitted),
        )
    if not found:
        table.caption = EMPTY
    if len(found) > ROWS:
        table.caption = f"and {len(found) - ROWS} more"
    return table


class _Seen:
    """Samples of connections, as the simulator's table `flow_series` has them."""

    def __init__(self, every: float) -> None:
        self._every = every
        self._numbers: dict[tuple[str, str], int] = {}
        self._flows: list[tuple[str, str, str]] = []
        self._before: dict[int, tuple[float, Connection]] = {}
        self._rows: list[tuple[float | int, ...]] = []

    def add(self, now: float, found: list[Connection]) -> None:
        """Keep a look at connections."""
        for it in found:
            ends = (it.local, it.remote)
            number = self._numbers.get(ends)
            # A connection that has sent less than before is another one between the same ends.
            if number is None or it.sent < self._before[number][1].sent:
                number = self._numbers[ends] = len(self._flows)
                self._flows.append((*ends, it.cc))
            then, before = self._before.get(number, (now - self._every, it))
            seconds = max(now - then, 1e-9)
            sent = 8 * (it.sent - before.sent) * it.mss / seconds
            goodput = 8 * (it.acked - before.acked) / seconds
            self._before[number] = (now, it)
            self._rows.append(
                (
                    now,
                    number,
                    it.window,
                    it.ssthresh,
                    it.rtt,
                    float(it.in_flight),
                    sent,
                    goodput,
                    goodput,
                )
            )

    def frame(self) -> pl.DataFrame:
        """Return the table."""
        import polars as pl

        floats = ["window", "ssthresh", "rtt", "in_flight", "throughput", "goodput", "in_order"]
        schema = {"time": pl.Float64, "flow": pl.UInt32, **dict.fromkeys(floats, pl.Float64)}
        return pl.DataFrame(self._rows, schema=schema, orient="row")

    def write(self, output: Path) -> None:
        """Write the table, and beside it which connection is which flow."""
        if not self._rows:
            warn([EMPTY])
        write_at_once(output, parquet(self.frame()))
        lines = ["flow,local,remote,cc"]
        for number, (local, remote, cc) in enumerate(self._flows):
            lines.append(f"{number},{local},{remote},{cc}")
        flows = output.with_suffix(".flows.csv")
        write_at_once(flows, ("\n".join(lines) + "\n").encode())
        say(f"written to {output} and {flows}")

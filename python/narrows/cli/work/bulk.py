"""`narrows send` and `narrows recv`: a file to another machine."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from rich.markup import escape
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from narrows import bulk
from narrows.progress import Lines
from narrows.terminal import complain, console_of_errors, put


def send(file: Path, to: str, cc: str, patience: float, as_json: bool) -> bool:
    """Send a file or a directory, and say how it went; return whether all of it was taken."""
    with _shown() as progress:
        sent = bulk.send(file, to, cc=cc, patience=patience, progress=progress, notice=complain)
    if as_json:
        put(json.dumps(asdict(sent)))
        return not sent.refused
    what = f"{sent.name}, {sent.files} files" if sent.files > 1 else sent.name
    put(f"sent {what}: {_rate(sent.size - sent.resumed_at, sent.seconds)}")
    if sent.resumed_at:
        put(f"resumed at {sent.resumed_at} of {sent.size} bytes")
    share = 100 * sent.lost / max(sent.packets, 1)
    put(
        f"{cc}: {sent.packets} packets, {sent.lost} lost ({share:.2g} %), "
        f"RTT {1e3 * sent.rtt:.3g} ms, window {sent.window:.0f} packets"
    )
    put(f"BLAKE3 {sent.blake3}")
    for name, why in sent.refused:
        complain(f"{name}: refused: {why}")
    return not sent.refused


def receive(
    directory: Path, listen: str, host: str | None, fresh: bool, keep: bool, as_json: bool
) -> None:
    """Print a ticket, and take a file from whoever has it; all that come if `keep`."""
    receiver = bulk.Receiver(directory, listen=listen, identity=None if fresh else _identity())
    ticket = receiver.ticket(host)
    if as_json:
        put(json.dumps({"ticket": ticket}))
    else:
        put(f"On the other machine:\n\n  narrows send FILE {ticket}\n")
    while True:
        with _shown() as progress:
            received = receiver.receive(progress=progress, notice=complain)
        if as_json:
            put(json.dumps({**asdict(received), "path": str(received.path)}))
        else:
            arrived = received.size - received.resumed_at
            files = f", {received.files} files" if received.files > 1 else ""
            put(f"received {received.path}{files}: {_rate(arrived, received.seconds)}")
            if received.resumed_at:
                put(f"resumed at {received.resumed_at} of {received.size} bytes")
            put(f"BLAKE3 {received.blake3}")
        if not keep:
            return


def _identity() -> Path:
    """Return where the key is kept from one receiver to the next."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "narrows" / "recv.json"


def _rate(size: int, seconds: float) -> str:
    """Write how much came how fast.

    Examples
    --------
    >>> _rate(125_000_000, 2.0)
    '125000000 bytes in 2.00 s, 500 Mbps'
    >>> _rate(1_000_000, 0.7)
    '1000000 bytes in 0.70 s, 11.4 Mbps'
    """
    mbps = 8e-6 * size / max(seconds, 1e-9)
    return (
        f"{size} bytes in {seconds:.2f} s, {f'{mbps:.0f}' if mbps >= 100 else f'{mbps:.3g}'} Mbps"
    )


class _Logged:
    """Progress for logs, counted from the first byte that comes."""

    def __init__(self) -> None:
        self._lines: Lines | None = None
        self._begun = ("", 0)

    def show(self, name: str, done: int, size: int) -> None:
        """Print a line if it is time."""
        if self._lines is None or self._begun[0] != name:
            self._lines, self._begun = Lines(1), (name, done)
        self._lines.show((done - self._begun[1]) / max(size - self._begun[1], 1))


@contextmanager
def _shown() -> Iterator[bulk.Progress]:
    """Show bytes on a terminal, and a line now and then elsewhere."""
    console = console_of_errors()
    if not console.is_terminal:
        yield _Logged().show
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=None)

        def show(name: str, done: int, size: int) -> None:
            progress.update(task, description=escape(name[-24:]), completed=done, total=size)

        yield show

"""What simulator and law say to each other over a pipe: numbers, and texts of errors."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache

ACK, LOSS, MARK, TIMER, INTERVAL, BEGIN = range(6)
# What a law is asked for each of them, but for the last.
EVENTS = ("on_ack", "on_loss", "on_mark", "on_timer", "on_interval")
# A number that is none.
NAN = float("nan")

# Fields of an acknowledgement: numbers, then truths.
ACK_FIELDS = (
    "now",
    "packets",
    "rtt",
    "smoothed_rtt",
    "min_rtt",
    "in_flight",
    "marked",
    "newest",
    "next",
    "delivery_rate",
    "delivered",
)
ACK_TRUTHS = ("rtt_is_fresh", "window_limited", "recovering", "app_limited")
LOSS_FIELDS = ("now", "in_flight")
LOSS_TRUTHS = ("opens_epoch", "timeout")
MARK_FIELDS = ("now", "packets")
MARK_TRUTHS = ("opens_epoch",)
# The numbers that may be missing.
OPTIONAL = ("rtt", "smoothed_rtt", "min_rtt", "delivery_rate", "delivered")

HEAD = struct.Struct("<BI")
# Window, threshold, rate, timer; NaN for none.
ANSWER = struct.Struct("<4d")
# A law that says more than this has said too much; its file may be longer.
LONGEST = 1 << 16
LONGEST_FILE = 1 << 18

OK, RAISED = range(2)


@cache
def numbers(count: int) -> struct.Struct:
    """Return what packs so many numbers.

    Parameters
    ----------
    count
        How many.

    Returns
    -------
    Struct
        Of doubles.
    """
    return struct.Struct(f"<{count}d")


class ClosedError(Exception):
    """The other side is gone, or says what cannot be."""


def send(write: Callable[[bytes], int], kind: int, body: bytes) -> None:
    """Send a message.

    Parameters
    ----------
    write
        Writes bytes, and returns how many.
    kind
        What it is.
    body
        What it says.

    Raises
    ------
    ClosedError
        If the other side is gone.
    """
    data = HEAD.pack(kind, len(body)) + body
    try:
        while data:
            data = data[write(data) :]
    except OSError:
        raise ClosedError("nobody listens") from None


def receive(read: Callable[[int], bytes], longest: int = LONGEST) -> tuple[int, bytes]:
    """Receive a message.

    Parameters
    ----------
    read
        Reads at most so many bytes.
    longest
        Bytes that are heard.

    Returns
    -------
    tuple of int and bytes
        What it is, and what it says.

    Raises
    ------
    ClosedError
        If the other side is gone, or says too much.
    """
    kind, length = HEAD.unpack(_exactly(read, HEAD.size))
    if length > longest:
        raise ClosedError(f"a message of {length} bytes; at most {longest} are heard")
    return kind, _exactly(read, length)


def _exactly(read: Callable[[int], bytes], length: int) -> bytes:
    data = b""
    while len(data) < length:
        try:
            part = read(length - len(data))
        except OSError:
            part = b""
        if not part:
            raise ClosedError("the law's process is gone")
        data += part
    return data

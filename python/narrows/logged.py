"""What held back the sender that logged itself (qlog)."""

from __future__ import annotations

from itertools import chain, islice
from pathlib import Path
from typing import Any

from narrows.causes import CAUSES
from narrows.errors import Error
from narrows.log_sender import Sender, unit_of_rtts
from narrows.qlogs import traces_of

PIECES = 512
# Events by which a log's units are told.
HEAD = 4096


def read(path: Path, lines: int) -> dict[str, Any]:
    """Return what a log tells, as the core does of captures.

    Parameters
    ----------
    path
        A qlog file of whatever form.
    lines
        The number of flows, the largest, that keep their time line.

    Returns
    -------
    dict[str, Any]
        Frames are events; a flow for each trace in which something was sent.

    Raises
    ------
    Error
        If it is no qlog, or its connection has several paths.
    """
    flows, count = [], 0
    for number, events in enumerate(traces_of(path)):
        head = list(islice(events, HEAD))
        zero = head[0].at if head else 0.0
        sender = Sender(of_rtts=unit_of_rtts(head))
        try:
            for event in chain(head, events):
                # Of times since 1970 little would be left of a microsecond.
                event.at -= zero
                sender.take(event)
                count += 1
        except Error as error:
            raise Error(f"{path}: {error}") from None
        if sender.packets:
            flows.append(_flow(sender, number))
    flows.sort(key=lambda flow: -flow["bytes"])
    for flow in flows[lines:]:
        flow["timeline"] = None
    empty = {"others": 0, "doubled": 0, "beyond": 0, "broken": None}
    return {"frames": count, **empty, "connections": len(flows), "flows": flows}


def _flow(sender: Sender, number: int) -> dict[str, Any]:
    begins, ends = sender.spans[0][0] if sender.spans else 0.0, sender.last_sent or 0.0
    seconds = max(ends - begins, 1e-9)
    shares = dict.fromkeys(CAUSES, 0.0)
    for since, until, cause in sender.spans:
        shares[cause] += (until - since) / seconds
    trips = sorted(sender.trips.second)
    base = sender.least
    return {
        "sender": f"log:{number}",
        "receiver": f"peer:{number}",
        "begins": begins,
        "seconds": seconds,
        "bytes": round(sender.delivered),
        "goodput": 8 * sender.delivered / seconds,
        "place": "sender",
        "cause": max(shares, key=lambda name: shares[name]),
        "shares": list(shares.values()),
        "base_rtt": {"value": base, "low": 0.98 * base, "high": base} if base else None,
        "rate": None,
        "rates": None,
        "buffer": None,
        "rtt_p50": trips[len(trips) // 2] if trips else None,
        "rtt_p99": trips[len(trips) * 99 // 100] if trips else None,
        "busy": None,
        "loss": "untold" if sender.lost else "none",
        "segments": sender.packets,
        "again": sender.lost,
        "lost": sender.lost,
        "needless": 0,
        "episodes": sender.episodes,
        "timeouts": sender.timeouts,
        "per_acknowledgement": None,
        "compressed": None,
        "offloaded": 0,
        "largest_payload": round(sender.largest),
        "segment_size": round(sender.largest),
        "restarts": 0,
        "receive_window": None,
        "zero_windows": 0,
        "zero_seconds": 0.0,
        "unseen": 0,
        "marked": 0,
        "timeline": _timeline(sender, begins, seconds),
    }


def _timeline(sender: Sender, begins: float, seconds: float) -> dict[str, Any]:
    width = max(seconds / PIECES, 1e-3)
    pieces: list[dict[str, Any]] = [
        {"causes": [0.0] * len(CAUSES), "bytes": 0, "rtt": [0.0, 0.0], "again": 0, "flight": 0}
        for _ in range(int(seconds / width) + 1)
    ]

    def piece(at: float) -> dict[str, Any]:
        return pieces[min(max(int((at - begins) / width), 0), len(pieces) - 1)]

    for since, until, cause in sender.spans:
        at = since
        while at < until:
            after = begins + (int((at - begins) / width + 1e-9) + 1) * width
            piece(at)["causes"][CAUSES.index(cause)] += min(after, until) - at
            at = min(after, until)
    for at, size in sender.acknowledged:
        piece(at)["bytes"] += round(size)
    for at, rtt in sender.trips:
        least, most = piece(at)["rtt"]
        piece(at)["rtt"] = [min(least or rtt, rtt), max(most, rtt)]
    return {"width": width, "pieces": pieces}

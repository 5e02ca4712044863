"""What held back the sender that logged itself (qlog)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from narrows.causes import CAUSES
from narrows.qlogs import Event, events_of

# Bytes of a packet that carries data, unless packets say so, and of one that only acknowledges.
FULL, SMALL = 1200, 100
# Seconds within which a packet leaves that an acknowledgement let go.
PROMPT = 1e-4
# A silence of so many round trips, and of so many seconds, is a timer's.
SILENCE, LEAST_SILENCE = 1.5, 0.01
# Without a pacing rate a pacer is taken to leave so much more than a window in a round trip.
GAIN = 1.25
PIECES = 512
# No packet number, size or time of a log is more.
MOST = 2.0**53


@dataclass
class Sender:
    """What a log shows of its endpoint as a sender."""

    window: float = 0.0
    flight: float = 0.0
    pacing: float | None = None
    smoothed: float = 0.0
    least: float | None = None
    rtts: list[float] = field(default_factory=list)
    is_repairing: bool = False
    is_blocked: bool = False
    expired: bool = False
    # The window had no room for another packet when the last had left.
    was_full: bool = False
    last_heard: float = float("-inf")
    last_sent: float | None = None
    # When something was acknowledged for the first time since.
    freed: float | None = None
    burst: float = 0.0
    # Bytes of packets under way by number, and of those that were acknowledged.
    sent: dict[int, float] = field(default_factory=dict)
    delivered: float = 0.0
    packets: int = 0
    lost: int = 0
    episodes: int = 0
    timeouts: int = 0
    largest: float = 0.0
    # From second to second, and the place of the cause.
    spans: list[tuple[float, float, str]] = field(default_factory=list)
    acknowledged: list[tuple[float, float]] = field(default_factory=list)
    trips: list[tuple[float, float]] = field(default_factory=list)
    begins: float | None = None

    def take(self, event: Event) -> None:
        """Take an event."""
        match event.name:
            case "packet_sent":
                self._on_sent(event.at, event.data)
            case "packet_received":
                self._on_received(event.at, event.data)
            case "metrics_updated":
                self._on_metrics(event.at, event.data, event.unit)
            case "packet_lost":
                self._on_lost(event.data)
            case "congestion_state_updated":
                state = str(event.data.get("new", ""))
                self.is_repairing = "recovery" in state.lower()
            case "loss_timer_updated" if event.data.get("event_type") == "expired":
                self.expired = True
                self.timeouts += 1

    def _on_metrics(self, at: float, data: Mapping[str, Any], unit: float) -> None:
        self.window = _number(data, "congestion_window", "cwnd", usual=self.window)
        self.flight = _number(data, "bytes_in_flight", usual=self.flight)
        self.smoothed = _number(data, "smoothed_rtt", usual=self.smoothed / unit) * unit
        rate = _number(data, "pacing_rate", usual=0.0)
        self.pacing = rate / 8 if rate > 0 else self.pacing
        latest = _number(data, "latest_rtt", usual=0.0) * unit
        if latest > 0:
            self.rtts.append(latest)
            self.trips.append((at, latest))
        least = _number(data, "min_rtt", usual=0.0) * unit
        if least > 0:
            self.least = least if self.least is None else min(self.least, least)

    def _on_lost(self, data: Mapping[str, Any]) -> None:
        self.lost += 1
        self.episodes += not self.is_repairing
        size = self.sent.pop(_packet_number(data), 0.0)
        self.flight = max(self.flight - size, 0.0)

    def _on_received(self, at: float, data: Mapping[str, Any]) -> None:
        before = self.delivered
        for frame in _frames(data):
            if frame.get("frame_type") == "ack":
                self._acknowledge(frame.get("acked_ranges") or [])
        if self.delivered > before:
            self.last_heard = at
            self.freed = at if self.freed is None else self.freed
            self.acknowledged.append((at, self.delivered - before))

    def _acknowledge(self, ranges: Any) -> None:
        for given in ranges if isinstance(ranges, list) else []:
            ends = given if isinstance(given, list) else [given]
            try:
                first, last = int(ends[0]), int(ends[-1])
            except (ValueError, TypeError, IndexError):
                continue
            if last - first > len(self.sent):
                found = [number for number in self.sent if first <= number <= last]
            else:
                found = [number for number in range(first, last + 1) if number in self.sent]
            for number in found:
                size = self.sent.pop(number)
                self.delivered += size
                # A log need not say each time how much is under way.
                self.flight = max(self.flight - size, 0.0)

    def _on_sent(self, at: float, data: Mapping[str, Any]) -> None:
        size = _size(data)
        kinds = {str(frame.get("frame_type")) for frame in _frames(data)}
        if kinds & {"data_blocked", "stream_data_blocked"}:
            self.is_blocked = True
        if size < SMALL or (kinds and kinds <= {"ack", "padding"}):
            return
        if self.begins is None:
            self.begins = at
        if _is_handshake(data):
            self._spend(at, "handshake")
        else:
            self._spend(at, self._cause(at))
            self.sent[_packet_number(data)] = size
            self.packets += 1
        self.largest = max(self.largest, size)
        self.flight += size
        follows = self.last_sent is not None and at - self.last_sent < PROMPT
        self.burst = (self.burst if follows else 0.0) + size
        self.last_sent, self.expired, self.freed = at, False, None
        self.was_full = self.window > 0 and self.flight + self.largest > self.window

    def _cause(self, at: float) -> str:
        """Return what new data waited for since the last left."""
        last = self.last_sent if self.last_sent is not None else at
        silence = at - max(last, self.last_heard)
        is_silent = self.flight > 0 and silence > max(SILENCE * self.smoothed, LEAST_SILENCE)
        if self.expired or (is_silent and self.is_repairing):
            self.timeouts += not self.expired
            return "timeout"
        if self.is_repairing:
            return "recovery"
        if self.is_blocked:
            self.is_blocked = False
            return "receiver"
        return self._cause_with_room(at, at - last)

    def _cause_with_room(self, at: float, wait: float) -> str:
        rate = self.pacing or (GAIN * self.window / self.smoothed if self.smoothed else 0.0)
        paced = 2 * self.burst / rate if rate else 0.0
        if self.was_full and (self.freed is None or at - self.freed <= max(PROMPT, paced)):
            return "window"
        if self.was_full and self.freed is not None:
            # There was room since, and nothing to fill it with.
            self._spend(self.freed, "window")
            return "application"
        if at - self.last_heard <= PROMPT:
            # Let go by an acknowledgement, though the window had room: the other end's had none.
            return "receiver"
        return "pacing" if wait <= paced else "application"

    def _spend(self, at: float, cause: str) -> None:
        since = self.spans[-1][1] if self.spans else self.begins
        if since is not None and at > since:
            self.spans.append((since, at, cause))


def _number(data: Mapping[str, Any], *names: str, usual: float) -> float:
    """Return the first of these fields that is a number, or a text of one, within reason."""
    for name in names:
        value = data.get(name)
        try:
            found = float(value) if isinstance(value, int | float | str) else -1.0
        except (ValueError, OverflowError):
            continue
        if 0 <= found <= MOST and not isinstance(value, bool):
            return found
    return usual


def _header(data: Mapping[str, Any]) -> Mapping[str, Any]:
    header = data.get("header", data)
    return header if isinstance(header, dict) else {}


def _packet_number(data: Mapping[str, Any]) -> int:
    return int(_number(_header(data), "packet_number", usual=-1))


def _size(data: Mapping[str, Any]) -> float:
    raw = data.get("raw")
    size = _number(raw, "length", usual=0.0) if isinstance(raw, dict) else 0.0
    return size or _number(_header(data), "packet_size", "payload_length", usual=float(FULL))


def _frames(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    frames = data.get("frames")
    return [it for it in frames if isinstance(it, dict)] if isinstance(frames, list) else []


def _is_handshake(data: Mapping[str, Any]) -> bool:
    kind = str(_header(data).get("packet_type", data.get("packet_type", ""))).lower()
    return kind in ("initial", "handshake", "retry")


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
        If it is no qlog.
    """
    flows, count = [], 0
    for number, events in enumerate(events_of(path)):
        events.sort(key=lambda event: event.at)
        count += len(events)
        sender = Sender()
        for event in events:
            sender.take(event)
        if sender.packets:
            flows.append(_flow(sender, number, events[0].at))
    flows.sort(key=lambda flow: -flow["bytes"])
    for flow in flows[lines:]:
        flow["timeline"] = None
    empty = {"others": 0, "doubled": 0, "beyond": 0, "broken": None}
    return {"frames": count, **empty, "connections": len(flows), "flows": flows}


def _flow(sender: Sender, number: int, zero: float) -> dict[str, Any]:
    begins, ends = sender.spans[0][0] if sender.spans else 0.0, sender.last_sent or 0.0
    seconds = max(ends - begins, 1e-9)
    shares = dict.fromkeys(CAUSES, 0.0)
    for since, until, cause in sender.spans:
        shares[cause] += (until - since) / seconds
    trips = sorted(sender.rtts)
    base = sender.least
    return {
        "sender": f"log:{number}",
        "receiver": f"peer:{number}",
        "begins": begins - zero,
        "seconds": seconds,
        "bytes": round(sender.delivered),
        "goodput": 8 * sender.delivered / seconds,
        "place": "sender",
        "cause": max(shares, key=lambda name: shares[name]),
        "shares": list(shares.values()),
        "base_rtt": {"value": base, "low": 0.98 * base, "high": base} if base else None,
        "rate": None,
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

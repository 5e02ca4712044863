"""A sender as its log shows it: what it waited for, what it sent, and what came back (qlog)."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from narrows.errors import Error
from narrows.qlogs import Event

# Bytes of a packet that carries data, unless packets say so, and of one that only acknowledges.
FULL, SMALL = 1200, 100
# Seconds within which a packet leaves that an acknowledgement let go.
PROMPT = 1e-4
# A silence of so many round trips, and of so many seconds, is a timer's.
SILENCE, LEAST_SILENCE = 1.5, 0.01
# Without a pacing rate a pacer is taken to leave so much more than a window in a round trip.
GAIN = 1.25
# No packet number, size or time of a log is more.
MOST = 2.0**53
# Frames that acknowledge: of picoquic's those with marks and of a path have names of their own.
ACKNOWLEDGEMENTS = ("ack", "ack_ecn", "path_ack", "path_ack_ecn")


class Pairs:
    """Numbers two by two, sixteen bytes for both."""

    def __init__(self) -> None:
        self.first, self.second = array("d"), array("d")

    def add(self, first: float, second: float) -> None:
        """Add two numbers."""
        self.first.append(first)
        self.second.append(second)

    def __iter__(self) -> Iterator[tuple[float, float]]:
        return zip(self.first, self.second, strict=True)


def unit_of_rtts(head: Iterable[Event]) -> float | None:
    """Return a second if round trips are in seconds, though times are not, as quinn writes them.

    In seconds the first that is measured is no longer than the time since the first packet left; in
    the unit of times it would be less than a thirtieth of that.

    Parameters
    ----------
    head
        What a log begins with, in order.

    Returns
    -------
    float or None
        None if round trips have the unit of times, or there is none; or if packets have frames,
        which those of quinn have not.
    """
    first, was_answered = None, False
    for event in head:
        if event.name == "packet_sent" and first is None:
            first = event.at
        if event.name == "packet_received":
            was_answered = True
            if _frames(event.data):
                return None
        latest = _number(event.data, "latest_rtt", usual=0.0) if was_answered else 0.0
        if event.name == "metrics_updated" and latest > 0 and first is not None:
            elapsed = event.at - first
            return 1.0 if latest <= elapsed and latest * event.unit < elapsed / 30 else None
    return None


@dataclass
class Sender:
    """What a log shows of its endpoint as a sender."""

    window: float = 0.0
    # Bytes under way, and what the log has said of them last; negative if it never has.
    flight: float = 0.0
    told: float = -1.0
    pacing: float | None = None
    smoothed: float = 0.0
    least: float | None = None
    # Seconds of the unit that round trips have, if it is not that of times.
    of_rtts: float | None = None
    was_answered: bool = False
    is_repairing: bool = False
    # Whether packets say what they carry.
    has_frames: bool = False
    is_blocked: bool = False
    expired: bool = False
    # The window had no room for another packet when the last had left.
    was_full: bool = False
    last_heard: float = float("-inf")
    last_sent: float | None = None
    # When something was acknowledged for the first time since.
    freed: float | None = None
    burst: float = 0.0
    # Bytes of packets under way by number, these numbers in order, and the bytes that arrived.
    sent: dict[int, float] = field(default_factory=dict)
    numbers: list[int] = field(default_factory=list)
    delivered: float = 0.0
    packets: int = 0
    lost: int = 0
    episodes: int = 0
    timeouts: int = 0
    largest: float = 0.0
    # From second to second, and the cause.
    spans: list[tuple[float, float, str]] = field(default_factory=list)
    # When so many bytes were acknowledged, and when round trips took so many seconds.
    acknowledged: Pairs = field(default_factory=Pairs)
    trips: Pairs = field(default_factory=Pairs)
    begins: float | None = None

    def take(self, event: Event) -> None:
        """Take an event."""
        match event.name:
            case "packet_sent":
                self._on_sent(event.at, event.data, event.path)
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
        unit = self.of_rtts or unit
        self.window = _number(data, "congestion_window", "cwnd", usual=self.window)
        if self.has_frames:
            self.flight = _number(data, "bytes_in_flight", usual=self.flight)
        elif self.was_answered:
            self._settle(at, data)
        self.smoothed = _number(data, "smoothed_rtt", usual=self.smoothed / unit) * unit
        rate = _number(data, "pacing_rate", usual=0.0)
        self.pacing = rate / 8 if rate > 0 else self.pacing
        if not self.was_answered:
            # Not measured, but what RFC 9002 (§6.2.2) begins with.
            return
        latest = _number(data, "latest_rtt", usual=0.0) * unit
        if latest > 0:
            self.trips.add(at, latest)
        least = _number(data, "min_rtt", usual=0.0) * unit
        if least > 0:
            self.least = least if self.least is None else min(self.least, least)

    def _on_lost(self, data: Mapping[str, Any]) -> None:
        self.lost += 1
        self.episodes += not self.is_repairing
        number = _packet_number(data)
        size = self._forget(number, number)
        self.flight = max(self.flight - size, 0.0)

    def _on_received(self, at: float, data: Mapping[str, Any]) -> None:
        heard, self.was_answered = 0.0, True
        for frame in _frames(data):
            self.has_frames = True
            if frame.get("frame_type") in ACKNOWLEDGEMENTS:
                heard += self._acknowledge(frame.get("acked_ranges") or [])
        if heard > 0:
            self._hear(at, heard)

    def _hear(self, at: float, size: float) -> None:
        """Take so many bytes for delivered, of which the sender heard now."""
        self.delivered += size
        self.last_heard = at
        self.freed = at if self.freed is None else self.freed
        self.acknowledged.add(at, size)

    def _acknowledge(self, ranges: Any) -> float:
        """Forget these packets, and return their bytes."""
        heard = 0.0
        for given in ranges if isinstance(ranges, list) else []:
            ends = given if isinstance(given, list) else [given]
            try:
                first, last = int(ends[0]), int(ends[-1])
            except (ValueError, TypeError, IndexError, OverflowError):
                continue
            heard += self._forget(first, last)
        # A log need not say each time how much is under way.
        self.flight = max(self.flight - heard, 0.0)
        return heard

    def _settle(self, at: float, data: Mapping[str, Any]) -> None:
        """Take for delivered what is no longer under way, and is not lost: the oldest packets.

        A number that has not changed is not written again.
        """
        self.told = _number(data, "bytes_in_flight", usual=self.told)
        if self.told < 0:
            return
        size = self.flight - self.told
        self.flight = self.told
        if size <= 0:
            return
        oldest, count = 0.0, 0
        while count < len(self.numbers) and oldest + 1 < size:
            oldest += self.sent[self.numbers[count]]
            count += 1
        if count:
            self._forget(self.numbers[0], self.numbers[count - 1])
        self._hear(at, size)

    def _forget(self, first: int, last: int) -> float:
        """Forget the packets with these numbers, and return their bytes."""
        begin, end = bisect_left(self.numbers, first), bisect_right(self.numbers, last)
        size = sum(self.sent.pop(number) for number in self.numbers[begin:end])
        del self.numbers[begin:end]
        return size

    def _track(self, number: int, size: float) -> None:
        if number not in self.sent:
            insort(self.numbers, number)
        self.sent[number] = size

    def _on_sent(self, at: float, data: Mapping[str, Any], path: int) -> None:
        size = _size(data)
        if path > 0:
            raise Error("its connection has several paths; write a log of one")
        kinds = {str(frame.get("frame_type")) for frame in _frames(data)}
        if kinds & {"data_blocked", "stream_data_blocked"}:
            self.is_blocked = True
        if size < SMALL or (kinds and kinds <= {*ACKNOWLEDGEMENTS, "padding"}):
            return
        if self.begins is None:
            self.begins = at
        if _is_handshake(data):
            self._spend(at, "handshake")
        else:
            self._spend(at, self._cause(at))
            self._track(_packet_number(data), size)
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
        if since is None or at <= since:
            return
        if self.spans and self.spans[-1][2] == cause:
            since = self.spans.pop()[0]
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
    names = ("length", "packet_size", "payload_length")
    return size or _number(_header(data), *names, usual=float(FULL))


def _frames(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    frames = data.get("frames")
    return [it for it in frames if isinstance(it, dict)] if isinstance(frames, list) else []


def _is_handshake(data: Mapping[str, Any]) -> bool:
    kind = str(_header(data).get("packet_type", data.get("packet_type", ""))).lower()
    return kind in ("initial", "handshake", "retry")

"""Logs of QUIC endpoints (qlog): all drafts, contained and in lines."""

from __future__ import annotations

import heapq
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from narrows.errors import Error
from narrows.files import read_text

# What the records of a JSON text sequence begin with (RFC 7464).
RECORD = "\x1e"
# A line that is longer is no event.
LONGEST = 1 << 22
# A contained log is read whole, into ten times its size; no larger one is.
LARGEST = 128 << 20
# Events of so many lines are put into the order of their times.
NEAR = 4096
# Where a trace says how it counts time.
PLACES = ("configuration", "common_fields")
# What events were called until draft-01.
OLD = {"metric_update": "metrics_updated", "congestion_state_update": "congestion_state_updated"}


@dataclass
class Event:
    """An event: seconds, its name without a category, its data, seconds of its units, its path."""

    at: float
    name: str
    data: Mapping[str, Any]
    unit: float
    path: int


def is_qlog(beginning: bytes) -> bool:
    r"""Return whether a file that begins so is a log and no capture.

    Examples
    --------
    >>> is_qlog(b'{"qlog_version":"0.3"'), is_qlog(b"\x1e{"), is_qlog(b"\n\r\r\n")
    (True, True, False)
    """
    return beginning.lstrip(b"\x1e \t\r\n")[:1] == b"{"


def traces_of(path: Path) -> Iterator[Iterator[Event]]:
    """Read the traces of a file: a JSON text sequence, a line for each event, or contained JSON.

    Events come in the order of their times, if none stands thousands of lines from its place.

    Raises
    ------
    Error
        If it is none of these.
    OSError
        If it is contained JSON of more than 128 MiB.
    """
    with path.open(encoding="utf-8", errors="replace") as stream:
        first = stream.readline(LONGEST)
        head = _parsed(first)
        if head is not None and "traces" not in head:
            yield _in_order(_timed(_lines(head, stream), _clock(head.get("trace"))))
            return
    try:
        whole = json.loads(read_text(path, LARGEST).strip(RECORD + "\n "))
    except (ValueError, RecursionError):
        raise Error(f"{path}: is no qlog, neither contained nor in lines") from None
    traces = whole.get("traces") if isinstance(whole, dict) else None
    if not isinstance(traces, list):
        raise Error(f"{path}: is no qlog, as it has no traces")
    for trace in traces:
        if isinstance(trace, dict):
            yield _in_order(_timed(_contained(trace), _clock(trace)))


def _in_order(events: Iterator[Event]) -> Iterator[Event]:
    near: list[tuple[float, int, Event]] = []
    for place, event in enumerate(events):
        entry = (event.at, place, event)
        if len(near) < NEAR:
            heapq.heappush(near, entry)
        else:
            yield heapq.heappushpop(near, entry)[2]
    while near:
        yield heapq.heappop(near)[2]


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line.strip(RECORD + "\n\r\t "))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _lines(head: dict[str, Any], lines: Iterator[str]) -> Iterator[Event]:
    """Return the events of lines; one that is broken, as the last may be, is left out."""
    for line in lines:
        parsed = _parsed(line)
        if parsed is not None and (event := _event(parsed)):
            yield event
    if event := _event(head):
        yield event


def _contained(trace: Mapping[str, Any]) -> Iterator[Event]:
    fields, events = trace.get("event_fields"), trace.get("events")
    for given in events if isinstance(events, list) else []:
        # Until draft-01 an event was a list, whose fields the trace names.
        if isinstance(given, list) and isinstance(fields, list):
            names = [str(name).lower() for name in fields]
            given = dict(zip(names, given, strict=False))  # noqa: PLW2901
        if isinstance(given, dict) and (event := _event(given)):
            yield event


@dataclass(frozen=True)
class Clock:
    """Seconds of a log's units, and whether a time is since the event before."""

    unit: float = 1e-3
    is_delta: bool = False


def _clock(trace: Any) -> Clock:
    """Return how a trace counts time, which drafts say at different places."""
    places = [trace, *(trace.get(name) for name in PLACES)] if isinstance(trace, dict) else []
    told = {
        name: value
        for place in places
        if isinstance(place, dict)
        for name, value in place.items()
        if name in ("time_units", "time_format")
    }
    unit = 1e-6 if told.get("time_units") == "us" else 1e-3
    return Clock(unit, told.get("time_format") in ("delta", "relative_to_previous_event"))


def _timed(events: Iterator[Event], clock: Clock) -> Iterator[Event]:
    """Give events their times and units in seconds."""
    at = 0.0
    for event in events:
        at = at + event.at * clock.unit if clock.is_delta else event.at * clock.unit
        event.at, event.unit = at, clock.unit
        yield event


def _event(given: Mapping[str, Any]) -> Event | None:
    """Return an event, whose time is still in the log's units."""
    at = given.get("time", given.get("relative_time"))
    name = given.get("name", given.get("event", given.get("event_type")))
    data = given.get("data", {})
    if not isinstance(name, str) or not isinstance(data, dict):
        return None
    try:
        # Until draft-01 all numbers were texts.
        time = float(at) if isinstance(at, int | float | str) else math.nan
    except ValueError:
        return None
    if not math.isfinite(time):
        return None
    plain = name.rpartition(":")[2].lower().removeprefix("recovery_")
    return Event(time, OLD.get(plain, plain), data, 1.0, _path(given, data))


def _path(given: Mapping[str, Any], data: Mapping[str, Any]) -> int:
    """Return the number of the path: picoquic writes it beside an event's name, noq in headers."""
    header = data.get("header")
    told = given.get("path_id", header.get("path_id") if isinstance(header, dict) else None)
    return told if isinstance(told, int) and not isinstance(told, bool) else 0

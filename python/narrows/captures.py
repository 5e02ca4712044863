"""What held back the connections of a capture or a log."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from narrows import _core, logged
from narrows.causes import CAUSES, NAMES
from narrows.errors import Error
from narrows.qlogs import is_qlog

# As people say it, behind "held back by".
WORDS = {
    "window": "its congestion window",
    "pacing": "its pacer",
    "application": "the application, which had nothing to send",
    "receiver": "the receiver's window",
    "recovery": "the repair of losses",
    "timeout": "waiting for timers in silence",
    "handshake": "the handshake",
    "path": "the path itself",
    "untold": "what cannot be told",
}
# Values with an interval.
ESTIMATES = ("base_rtt", "rate", "buffer")
# Time lines that are kept unless asked otherwise.
LINES = 8
# Columns that are there if laws were told.
OF_LAWS = {"law": pl.String, "law_probability": pl.Float64, "law_not_told": pl.String}
# A capture without these cannot be told to be of TCP.
NAMELESS = "capture"


@dataclass(frozen=True)
class Explained:
    """What a capture tells of each connection, one for each way that has payload.

    Attributes
    ----------
    name
        The file's name, without folders.
    told
        All of it: numbers of frames, and ``flows``, the largest first.
    """

    name: str
    told: Mapping[str, Any]

    @cached_property
    def flows(self) -> pl.DataFrame:
        """A row for each flow, the largest first.

        Shares of time are ``limited_by_…``; ``base_rtt`` is in seconds, ``rate`` and ``goodput``
        in bit/s, ``buffer`` in bytes, with ``…_low`` and ``…_high`` beside them. What cannot be
        told is null.
        """
        rows = [_row(flow) for flow in self.told["flows"]]
        said = {name: kind for name, kind in OF_LAWS.items() if name in rows[0]}
        return pl.DataFrame(rows, schema_overrides=said, infer_schema_length=None)

    @cached_property
    def times(self) -> pl.DataFrame:
        """A row for each piece of each time line.

        The flow's number, ``t`` in seconds since its beginning, the share of the piece under each
        cause, goodput in bit/s, the least and the largest RTT in seconds, bytes under way and
        segments sent again.
        """
        rows = [
            row for number, flow in enumerate(self.told["flows"]) for row in _pieces(number, flow)
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def __repr__(self) -> str:
        """Say how much it is, and what held back the largest flow."""
        flows = self.told["flows"]
        return f"{self.name}: {in_sum(flows)}.\nFlow 0: {sentence(flows[0])}"

    def to_json(self) -> str:
        """Return all of it as JSON, with the causes by name."""
        flows = [_named(flow) for flow in self.told["flows"]]
        return json.dumps({**self.told, "file": self.name, "flows": flows})


def why(
    file: str | os.PathLike[str],
    *,
    lines: int = LINES,
    anonymous: bool = False,
    watch: Callable[[int], None] | None = None,
) -> Explained:
    """Say what held back each connection of a capture or a log.

    The file is read twice, in bounded memory. What is on the wire tells what each sender waited
    for; `docs/why.md` says how, and how sure that is. A file that breaks off is read up to there,
    and a `UserWarning` says so.

    Parameters
    ----------
    file
        A pcap or pcapng file, from either end or from the middle, with whole or cut packets; or a
        qlog of a sender over QUIC, contained or in lines.
    lines
        The number of flows, the largest, that get a time line.
    anonymous
        Whether to put numbers in the place of addresses, and to leave the file's name out.
    watch
        Called with a number of frames now and then; what it raises ends the reading.

    Returns
    -------
    Explained
        The flows, with causes and estimates.

    Raises
    ------
    Error
        If the file is no capture, or holds no TCP connection with payload.
    OSError
        If it cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> import narrows as nw
    >>> scenario = nw.dumbbell(rate="20Mbps", rtt="40ms", buffer="1bdp", cc="cubic", duration="5s")
    >>> traced = scenario.with_({"trace.links": ["bottleneck", "reverse"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = nw.run(traced, traces_to=folder)
    ...     flow = nw.why(f"{folder}/packets.pcapng").flows.row(0, named=True)
    >>> flow["cause"], round(flow["rate"] / 1e6)
    ('window', 20)
    """
    path = Path(file)
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise Error(f"{path}: is no regular file, and is read twice; write it to a file first")
    # An error of Python's own names the file.
    with path.open("rb") as stream:
        beginning = stream.read(64)
    if is_qlog(beginning):
        told = logged.read(path, lines)
    else:
        told = json.loads(_core.why(path, lines, watch or _nothing))
    if not told["flows"]:
        beyond = (
            f", {told['beyond']} of connections beyond the first 65536" if told["beyond"] else ""
        )
        kind = "connection" if is_qlog(beginning) else "TCP connection"
        frames = f"{told['frames']} frame{'' if told['frames'] == 1 else 's'}"
        raise Error(f"{path}: holds no {kind} with payload; it has {frames}{beyond}")
    name = path.name
    if told["broken"]:
        where = NAMELESS if anonymous else path
        frames, reason = told["frames"], told["broken"]
        text = f"{where}: ends or is broken after {frames} frames ({reason}); they are all told"
        warnings.warn(text, stacklevel=2)
    if anonymous:
        name = NAMELESS
        _hide(told["flows"])
    return Explained(name, told)


def _nothing(_frames: int) -> None:
    pass


def _hide(flows: Sequence[dict[str, Any]]) -> None:
    """Put a number in the place of each address; ports stay."""
    numbers: dict[str, int] = {}
    for flow in flows:
        for end in ("sender", "receiver"):
            address, _, port = flow[end].rpartition(":")
            flow[end] = f"host{numbers.setdefault(address, len(numbers) + 1)}:{port}"


def _named(flow: Mapping[str, Any]) -> dict[str, Any]:
    """Return a flow with its causes by name."""
    shares = dict(zip(CAUSES, flow["shares"], strict=True))
    named = {**flow, "shares": shares}
    if line := flow["timeline"]:
        pieces = [
            {**piece, "causes": dict(zip(CAUSES, piece["causes"], strict=True))}
            for piece in line["pieces"]
        ]
        named["timeline"] = {**line, "pieces": pieces}
    return named


def _row(flow: Mapping[str, Any]) -> dict[str, Any]:
    row = {
        name: value
        for name, value in flow.items()
        if name not in (*ESTIMATES, "shares", "timeline", "rates", "law", "law_not_told")
    }
    if "law" in flow:
        law, probability = next(iter((flow["law"] or {}).items()), (None, None))
        told = {"law": law, "law_probability": probability}
        row |= told | {"law_not_told": flow.get("law_not_told")}
    for name, share in zip(CAUSES, flow["shares"], strict=True):
        row[f"limited_by_{name}"] = share
    for name in ESTIMATES:
        found = flow[name] or {}
        row[name] = found.get("value")
        row[f"{name}_low"], row[f"{name}_high"] = found.get("low"), found.get("high")
    return row


def _pieces(number: int, flow: Mapping[str, Any]) -> list[dict[str, Any]]:
    line = flow["timeline"]
    if not line:
        return []
    width = line["width"]
    return [
        {
            "flow": number,
            "t": place * width,
            **{name: spent / width for name, spent in zip(CAUSES, piece["causes"], strict=True)},
            "goodput": 8 * piece["bytes"] / width,
            "rtt_min": piece["rtt"][0] or None,
            "rtt_max": piece["rtt"][1] or None,
            "flight": piece["flight"],
            "again": piece["again"],
        }
        for place, piece in enumerate(line["pieces"])
    ]


def sentence(flow: Mapping[str, Any]) -> str:
    """Say in a sentence or two what held a flow back.

    Parameters
    ----------
    flow
        One of `Explained.told`.

    Returns
    -------
    str
        For people.

    Examples
    --------
    >>> from textwrap import fill
    >>> shares = [0.9, 0, 0, 0, 0.1, 0, 0, 0, 0]
    >>> flow = {"shares": shares, "cause": "window", "busy": 0.97, "rate": {"value": 2e7}}
    >>> flow |= {"loss": "congestion", "lost": 7, "needless": 0, "timeouts": 0}
    >>> print(fill(sentence(flow), 80))
    Held back by its congestion window for 90 % of its time, then by the repair of
    losses (10 %). The bottleneck (20 Mbit/s) had a queue for 97 % of that time. 7
    packets were lost, to a full queue.
    """
    shares = dict(zip(CAUSES, flow["shares"], strict=True))
    untold = shares["untold"]
    first = max(shares, key=lambda name: shares[name])
    second = max(shares.keys() - {first, "untold"}, key=lambda name: shares[name])
    if not shares[first]:
        return "It is over as soon as it begins."
    said = f"Held back by {WORDS[first]} for {shares[first]:.0%} of its time"
    if shares[second] >= SECOND:
        said += f", then by {WORDS[second]} ({shares[second]:.0%})"
    if SECOND <= untold < shares[first]:
        said += f"; {untold:.0%} is not told"
    parts = [said.replace("%", " %") + "."]
    # Without a rate a queue may be nothing but what the sender let go at once.
    if (rate := flow["rate"]) and flow["busy"] >= SECOND:
        which = f"bottleneck ({_mega(rate['value'])})"
        if rates := flow.get("rates"):
            which = f"bottleneck, whose rate changed ({_course(rates)}),"
        parts.append(f"The {which} had a queue for {100 * flow['busy']:.0f} % of that time.")
    parts += _losses(flow)
    parts += _acknowledgements(flow)
    return " ".join(parts)


def in_sum(flows: Sequence[Mapping[str, Any]]) -> str:
    """Say what held all flows back, by the time that they took together.

    Examples
    --------
    >>> one = {"shares": [1, 0, 0, 0, 0, 0, 0, 0, 0], "seconds": 3.0, "bytes": 4_000_000}
    >>> two = {"shares": [0, 0, 1, 0, 0, 0, 0, 0, 0], "seconds": 1.0, "bytes": 1_000_000}
    >>> in_sum([one, two])
    '2 flows, 5.00 MB, held back by: window 75 %, application 25 %'
    """
    whole = sum(flow["seconds"] for flow in flows) or 1.0
    size = 1e-6 * sum(flow["bytes"] for flow in flows)
    sums = {
        name: sum(flow["shares"][place] * flow["seconds"] for flow in flows) / whole
        for place, name in enumerate(CAUSES)
    }
    largest = sorted((name for name in sums if sums[name] >= LEAST), key=lambda name: -sums[name])
    said = ", ".join(f"{NAMES[name]} {100 * sums[name]:.0f} %" for name in largest)
    count = f"{len(flows)} flow{'s' if len(flows) > 1 else ''}"
    return f"{count}, {size:.2f} MB" + (f", held back by: {said}" if said else "")


# A share of all time that is named.
LEAST = 0.005
# A share of time that is worth a word.
SECOND = 0.05
LOSSES = {
    "congestion": ", to a full queue",
    "random": ", whatever the queue was",
    "policer": ", as by a policer: when a bucket of tokens would have been empty",
}


def _losses(flow: Mapping[str, Any]) -> list[str]:
    said = []
    if lost := flow["lost"]:
        said.append(f"{_some(lost, 'packet')} lost{LOSSES.get(flow['loss'], '')}.")
    if needless := flow["needless"]:
        said.append(f"{_some(needless, 'packet')} sent again for nothing.")
    if timeouts := flow["timeouts"]:
        said.append(f"{timeouts} timer{'s' if timeouts > 1 else ''} expired.")
    return said


# Segments for each acknowledgement from which on these are thinned, where two are usual (RFC 1122,
# §4.2.3.2), and a share of them that came compressed which is worth a word.
THINNED, COMPRESSED = 4.0, 0.05
# Rates of a bottleneck that are told one by one.
MOST_STEPS = 4


def _acknowledgements(flow: Mapping[str, Any]) -> list[str]:
    """Say what is unusual about acknowledgements."""
    said = []
    if (each := flow.get("per_acknowledgement")) and each >= THINNED:
        said.append(f"Acknowledgements are thinned: one for {each:.2g} segments, not for two.")
    if (share := flow.get("compressed")) and share >= COMPRESSED:
        told = f"{100 * share:.0f} % of acknowledgements came compressed"
        said.append(f"{told}, closer together than what they answer.")
    return said


def _some(count: int, what: str) -> str:
    return f"{count} {what}s were" if count > 1 else f"{count} {what} was"


def _course(rates: Sequence[tuple[float, float]]) -> str:
    """Say how a rate went, or between which it did if that would be long."""
    told = [f"{rate * 1e-6:.3g} Mbit/s" for _, rate in rates]
    if len(rates) > MOST_STEPS:
        (least, _), *_, (most, _) = sorted(zip(told, rates, strict=True), key=lambda it: it[1][1])
        return f"{least} to {most}, {len(rates) - 1} changes"
    then = zip(rates[1:], told[1:], strict=True)
    return ", ".join([told[0], *(f"{rate} from {at:.1f} s on" for (at, _), rate in then)])


def _mega(rate: float) -> str:
    return f"{rate * 1e-6:.4g} Mbit/s"

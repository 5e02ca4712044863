"""What a capture tells, as a page: a table, and a time line of each of the largest flows."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

from narrows.captures import Explained, in_sum, sentence
from narrows.causes import CAUSES, NAMES
from narrows.identified import likely
from narrows.made import Made
from narrows.report.sheet import sheet

# Okabe and Ito's colours, and greys for what tells least.
COLOURS = dict(
    zip(
        CAUSES,
        (
            "#0072b2",
            "#56b4e9",
            "#009e73",
            "#e69f00",
            "#d55e00",
            "#a01830",
            "#cc79a7",
            "#5b6dcd",
            "#9a9a9a",
        ),
        strict=True,
    )
)
PLACES = {
    "sender": "Captured beside the sender",
    "between": "Captured between both ends",
    "receiver": "Captured beside the receiver",
}
# Rows of the table, those beside which time lines are found, and columns of a time line.
MOST_ROWS = 500
FEW = 20
COLUMNS = 256
WIDTH, HEIGHT, PART = 900, 90, 60
HINT = (
    "Shares of each flow's time by what kept its sender from sending, as it saw things itself. "
    "A value that is “–” cannot be told from this capture; one with “≤” is at most that, as the "
    "path always had a queue. Time that is “not told” has no cause that shows."
)


def page(explained: Explained, made: Made) -> str:
    """Return the page of a capture.

    Parameters
    ----------
    explained
        What the capture tells.
    made
        How the page was made.

    Returns
    -------
    str
        HTML that needs no other file.
    """
    flows = explained.told["flows"]
    lines = "".join(_section(number, flow) for number, flow in enumerate(flows) if flow["timeline"])
    table = _table(flows)
    if len(flows) > MOST_ROWS:
        table += f"<p>{len(flows) - MOST_ROWS} smaller flows are in flows.parquet.</p>"
    body = [f"<p>{html.escape(in_sum(flows))}.</p>", f'<p class="hint">{HINT}</p>', _legend()]
    # A long table would hide the time lines.
    body += [table, lines] if len(flows) <= FEW else [lines, "<h2>All flows</h2>", table]
    return sheet(f"What held back {explained.name}", "".join(body), made)


def _legend() -> str:
    keys = "".join(
        f'<span style="white-space:nowrap;margin-right:1em"><svg width="12" height="12">'
        f'<rect width="12" height="12" fill="{COLOURS[name]}"/></svg> {NAMES[name]}</span>'
        for name in CAUSES
    )
    return f"<p>{keys}</p>"


def _table(flows: Sequence[Mapping[str, Any]]) -> str:
    head = "".join(
        f"<th>{name}</th>"
        for name in (
            "",
            "from, to",
            "MB",
            "Mbit/s",
            "held back by",
            "base RTT",
            "bottleneck",
            "buffer",
            "lost",
            "by",
        )
    )
    rows = "".join(_line(number, flow) for number, flow in enumerate(flows[:MOST_ROWS]))
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f'<div class="wide">{table}</div>'


def _line(number: int, flow: Mapping[str, Any]) -> str:
    link = f'<a href="#flow{number}">{number}</a>' if flow["timeline"] else str(number)
    ends = f"{html.escape(flow['sender'])}<br>{html.escape(flow['receiver'])}"
    cells = (
        link,
        ends,
        f"{flow['bytes'] * 1e-6:.3f}",
        f"{flow['goodput'] * 1e-6:.3f}",
        _bar(flow["shares"]) + f"{NAMES[flow['cause']]}",
        _between(flow["base_rtt"], 1e3, "ms"),
        _between(flow["rate"], 1e-6, "Mbit/s"),
        _between(flow["buffer"], 1e-3, "kB"),
        str(flow["lost"]),
        flow["loss"] if flow["loss"] not in ("none", "untold") else "–",
    )
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def estimated(found: Mapping[str, float] | None, scale: float, unit: str) -> str:
    """Return an estimate with its unit, "≤" before one that has no lower bound.

    Examples
    --------
    >>> estimated({"value": 0.02, "low": 0.0, "high": 0.02}, 1e3, "ms"), estimated(None, 1, "kB")
    ('≤ 20 ms', '–')
    """
    if not found:
        return "–"
    sign = "≤ " if found["low"] <= 0 else ""
    return f"{sign}{found['value'] * scale:.4g} {unit}"


def _between(found: Mapping[str, float] | None, scale: float, unit: str) -> str:
    """Return an estimate with the values between which it lies, in small print below it."""
    told = estimated(found, scale, unit)
    if not found or found["low"] <= 0:
        return told
    low, high = (f"{found[end] * scale:.4g}" for end in ("low", "high"))
    return f"{told}<br><small>{low} to {high}</small>"


def _bar(shares: Sequence[float]) -> str:
    x, rects = 0.0, []
    for name, share in zip(CAUSES, shares, strict=True):
        rects.append(
            f'<rect x="{x:.1f}" width="{120 * share:.1f}" height="9" fill="{COLOURS[name]}"/>'
        )
        x += 120 * share
    return f'<svg width="120" height="9" role="img" aria-label="shares">{"".join(rects)}</svg> '


def _section(number: int, flow: Mapping[str, Any]) -> str:
    title = f"{html.escape(flow['sender'])} to {html.escape(flow['receiver'])}"
    return (
        f'<h2 id="flow{number}">{number}: {title}</h2><p>{html.escape(sentence(flow))}</p>'
        f"{_details(flow)}{_drawn(flow)}"
    )


def _details(flow: Mapping[str, Any]) -> str:
    facts = [PLACES[flow["place"]]] if flow["place"] in PLACES else []
    if rounds := flow["rtt_p50"]:
        facts.append(
            f"RTT {1e3 * rounds:.4g} ms at the median, {1e3 * flow['rtt_p99']:.4g} at 99 %"
        )
    if (each := flow["per_acknowledgement"]) is not None:
        facts.append(f"{each:.2g} segments for each acknowledgement")
    if (share := flow["compressed"]) and share >= 0.01:
        facts.append(f"{share:.0%} of acknowledgements came compressed".replace("%", " %"))
    if law := flow.get("law"):
        facts.insert(0, f"law: {likely(law)}")
    elif reason := flow.get("law_not_told"):
        facts.insert(0, f"law: not told; {reason}")
    if flow["offloaded"]:
        size = flow["largest_payload"]
        facts.append(f"{flow['offloaded']} segments of up to {size} bytes, of a network card")
    for name, what in (
        ("restarts", "starts after silence"),
        ("zero_windows", "closed receive windows"),
        ("marked", "segments marked"),
    ):
        if flow[name]:
            facts.append(f"{flow[name]} {what}")
    if flow["unseen"]:
        facts.append(f"{flow['unseen']} bytes arrived that the capture does not have")
    return f'<p class="hint">{html.escape("; ".join(facts))}.</p>' if facts else ""


def _drawn(flow: Mapping[str, Any]) -> str:
    """Draw causes, goodput and round-trip times over time, above each other."""
    line = flow["timeline"]
    pieces = line["pieces"]
    each = -(-len(pieces) // COLUMNS)
    blocks = [pieces[first : first + each] for first in range(0, len(pieces), each)]
    width = WIDTH / len(blocks)
    span = each * line["width"]
    rates = [8e-6 * sum(piece["bytes"] for piece in block) / span for block in blocks]
    trips = [[1e3 * piece["rtt"][1] for piece in block if piece["rtt"][1]] for block in blocks]
    parts = [_causes(blocks, width, span)]
    y = HEIGHT + 20
    parts.append(_curve(rates, width, y, "Mbit/s"))
    parts.append(_curve([max(trip, default=0.0) for trip in trips], width, y + PART + 20, "ms RTT"))
    bottom = y + 2 * PART + 36
    end = span * len(blocks)
    parts.append(
        f'<text x="0" y="{bottom}">0 s</text>'
        f'<text x="{WIDTH}" y="{bottom}" text-anchor="end">{end:.4g} s</text>'
    )
    return (
        f'<div class="wide"><svg viewBox="0 -12 {WIDTH} {bottom + 18}" '
        f'style="width:100%;min-width:640px;font-size:11px" '
        f'fill="currentColor" role="img" aria-label="causes, goodput and round-trip times over '
        f'time">{"".join(parts)}</svg></div>'
    )


def _causes(blocks: Sequence[Sequence[Mapping[str, Any]]], width: float, span: float) -> str:
    rects = []
    for place, block in enumerate(blocks):
        y = 0.0
        for cause, name in enumerate(CAUSES):
            share = sum(piece["causes"][cause] for piece in block) / span
            if share > 1e-4:
                rects.append(
                    f'<rect x="{place * width:.2f}" y="{y:.1f}" width="{width + 0.4:.2f}" '
                    f'height="{HEIGHT * share:.1f}" fill="{COLOURS[name]}"/>'
                )
            y += HEIGHT * share
    return "".join(rects)


def _curve(values: Sequence[float], width: float, y: float, unit: str) -> str:
    top = max(values, default=0.0)
    if top <= 0:
        return ""
    points = " ".join(
        f"{(place + 0.5) * width:.1f},{y + PART * (1 - value / top):.1f}"
        for place, value in enumerate(values)
    )
    return (
        f'<polyline points="{points}" fill="none" stroke="currentColor"/>'
        f'<text x="0" y="{y - 4}">up to {top:.4g} {unit}</text>'
    )

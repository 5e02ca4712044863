"""Score cards as pages: one that compares controllers, and one for each."""

from __future__ import annotations

import hashlib
import html
import math
from collections.abc import Mapping, Sequence

from narrows.made import Made
from narrows.report.sheet import sheet
from narrows.score.card import SIGNS, WORST, Card, Cell, Sign, summed, told
from narrows.score.suite import HIDDEN, KINDS, Requirement

TITLE = "Measured against what documents ask of a controller"
HINT = (
    "✓ all points hold, ✗ some fail, ? not decided within the interval of the seeds, – not "
    "applicable; behind it the points that hold, of those that could be run. There is no total and "
    "no rank: the documents give no weights. Where a bound is from: L a document, T another "
    "project's test, D derived, R relative to Reno and CUBIC in the same network, J nobody but us."
)
# What a table shows of a margin is cut here: a bound missed by its threefold is missed.
DEEPEST = 1.0


def name_of(cc: str) -> str:
    """Return the name of a controller's files.

    Parameters
    ----------
    cc
        The controller.

    Returns
    -------
    str
        Letters, digits and dashes.

    Examples
    --------
    >>> name_of("quinn:cubic")
    'quinn-cubic'
    """
    plain = "".join(sign if sign.isalnum() else "-" for sign in cc)
    # Names that are the same but for signs keep pages of their own.
    digest = hashlib.sha256(cc.encode()).hexdigest()[:6]
    is_alone = plain == cc or (plain.replace("-", ":") == cc and cc.count(":") == 1)
    return plain if is_alone and plain != "index" else f"{plain}-{digest}"


def file_of(cell: Cell, number: int) -> str:
    """Return the name of the file of a cell's scenario.

    Parameters
    ----------
    cell
        One of a card.
    number
        Which of them.

    Returns
    -------
    str
        Ends in ``.toml``.
    """
    plain = "".join(it if it.isalnum() or it in ".-" else "-" for it in cell.requirement.name)
    return f"{plain}-{number}.toml"


def of_all(cards: Sequence[Card], requirements: Sequence[Requirement], made: Made) -> str:
    """Return the page that compares controllers: a row for each requirement.

    Parameters
    ----------
    cards
        One for each controller.
    requirements
        The suite.
    made
        How they were made.

    Returns
    -------
    str
        HTML that needs no other file.
    """
    head = "".join(
        f'<th><a href="{name_of(card.cc)}.html">{html.escape(card.cc)}</a></th>' for card in cards
    )
    rows = []
    for it in requirements:
        cells = "".join(
            f'<td class="{_class(summed(card.of(it)))}">'
            f'<a href="{name_of(card.cc)}.html#{_anchor(it)}">{told(card.of(it))}</a></td>'
            for card in cards
        )
        rows.append(
            f'<tr><th title="{html.escape(it.asks)}">{html.escape(it.name)}</th>'
            f"<td>{_badge(it)}</td><td>{it.kind}</td>{cells}</tr>"
        )
    table = (
        f'<div class="wide"><table class="matrix"><thead><tr><th>requirement</th><th>asks</th>'
        f"<th>bound</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )
    return sheet(TITLE, f'<p class="hint">{HINT}</p>{table}', made)


def of_law(
    card: Card,
    requirements: Sequence[Requirement],
    made: Made,
    figures: Mapping[str, str] | None = None,
) -> str:
    """Return the page of a controller: where not to deploy it, and every point with its numbers.

    Parameters
    ----------
    card
        Of one controller.
    requirements
        The suite.
    made
        How it was made.
    figures
        The file with the figures of a requirement's worst point, by its name.

    Returns
    -------
    str
        HTML that needs no other file than the scenarios beside it.
    """
    numbers = {id(cell): number for number, cell in enumerate(card.cells)}
    parts = [f'<p class="hint"><a href="index.html">all controllers</a>. {HINT}</p>', _where(card)]
    for it in requirements:
        parts.append(_section(card, it, numbers, (figures or {}).get(it.name)))
    return sheet(f"{card.cc}: {TITLE.lower()}", "".join(parts), made)


def _where(card: Card) -> str:
    """Say where not to deploy it: where what a MUST asks for fails, and by how much at worst."""
    if not any(cell.requirement.word == "MUST" for cell in card.cells):
        return ""
    worst: dict[str, Cell] = {}
    for cell in card.cells:
        if cell.requirement.word == "MUST" and cell.sign is Sign.FAILS:
            name = cell.requirement.name
            if name not in worst or cell.margin < worst[name].margin:
                worst[name] = cell
    if not worst:
        return "<p>No bound of what a MUST asks to be evaluated is missed.</p>"
    items = []
    for name, cell in worst.items():
        it = cell.worst
        if it is None:
            reason = html.escape(cell.reason)
            items.append(f"<li>{html.escape(name)}, where a run failed: {reason}</li>")
            continue
        failing = card.count(cell.requirement, Sign.FAILS)
        where = f" where {html.escape(cell.title)}" if cell.title else ""
        items.append(
            f'<li><a href="#{_anchor(cell.requirement)}">{html.escape(name)}</a>, at {failing} '
            f"point{'s' if failing > 1 else ''}, worst{where}: {html.escape(it.title)} "
            f"{html.escape(it.number)}, expected {html.escape(it.limit)}</li>"
        )
    return f"<h2>Where not to deploy it</h2><ul>{''.join(items)}</ul>"


def _section(card: Card, it: Requirement, numbers: dict[int, int], figure: str | None) -> str:
    cells = card.of(it)
    link = f' <a href="{figure}">figures of the worst point</a>' if figure else ""
    parts = [
        f'<h2 id="{_anchor(it)}">{html.escape(it.name)} {told(cells)}</h2>',
        f"<p>{_badge(it)} {html.escape(it.section)}: {html.escape(it.asks)}. "
        f'<span class="hint">Bounds ({KINDS[it.kind]}): {html.escape(it.bounds)}.</span>{link}</p>',
    ]
    if len(cells) > 3:
        parts.append(_heat(cells))
    rows = "".join(_rows(card.cc, cell, numbers[id(cell)]) for cell in cells)
    table = (
        '<div class="wide"><table><thead><tr><th></th><th>point</th><th>number</th><th>seen</th>'
        f"<th>expected</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )
    if len(cells) > 6:
        table = f"<details><summary>All {len(cells)} points</summary>{table}</details>"
    return "".join([*parts, table])


def _rows(cc: str, cell: Cell, number: int) -> str:
    title = html.escape(cell.title or "the scenario")
    if cell.check is None:
        return (
            f'<tr class="{_class(cell.sign)}"><td>{SIGNS[cell.sign]}</td><td>{title}</td>'
            f'<td colspan="3">{html.escape(cell.reason)}</td></tr>'
        )
    link = f'<a href="{name_of(cc)}/{file_of(cell, number)}">{title}</a>'
    rows = []
    for it in cell.check.judgements:
        sign = Sign(it.verdict.value)
        limit = html.escape(it.limit)
        rows.append(
            f'<tr><td class="{_class(sign)}">{SIGNS[sign]}</td><td>{link}</td>'
            f"<td>{html.escape(it.title)}</td><td>{html.escape(it.number)}</td><td>{limit}</td></tr>"
        )
        link = ""
    return "".join(rows)


def _heat(cells: Sequence[Cell]) -> str:
    """Return a heat map of margins: the list with the most values as columns."""
    names = [
        name
        for name in cells[0].point
        if not name.startswith(HIDDEN) and len({str(cell.point[name]) for cell in cells}) > 1
    ]
    if not names:
        return ""
    across = max(names, key=lambda name: len({str(cell.point[name]) for cell in cells}))
    columns = list(dict.fromkeys(str(cell.point[across]) for cell in cells))
    rows: dict[str, dict[str, Cell]] = {}
    for cell in cells:
        rest = " ".join(f"{_short(name)} {cell.point[name]}" for name in names if name != across)
        at, row = str(cell.point[across]), rows.setdefault(rest, {})
        # Points of one name share a square, which shows the worst.
        if at not in row or _rank(cell) < _rank(row[at]):
            row[at] = cell
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    body = "".join(
        f"<tr><th>{html.escape(rest)}</th>"
        + "".join(_square(of.get(column)) for column in columns)
        + "</tr>"
        for rest, of in rows.items()
    )
    return (
        f'<div class="wide"><table class="heat"><caption>Distance from the bound, as a part of it, '
        f"over {html.escape(_short(across))}</caption><thead><tr><th></th>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def _rank(cell: Cell) -> tuple[int, float]:
    return WORST.index(cell.sign), cell.margin


def _square(cell: Cell | None) -> str:
    if cell is None:
        return "<td></td>"
    if cell.check is None:
        return f'<td class="{_class(cell.sign)}">{SIGNS[cell.sign]}</td>'
    margin = cell.margin
    depth = min(abs(margin), DEEPEST) / DEEPEST
    if cell.sign is Sign.UNDECIDED:
        return f'<td class="undecided">{SIGNS[cell.sign]} {_percent(margin)}</td>'
    hue = "var(--bad)" if cell.sign is Sign.FAILS else "var(--good)"
    share = round(15 + 60 * depth)
    style = f"background: color-mix(in srgb, {hue} {share}%, transparent)"
    worst = cell.worst
    told_ = f"{worst.title} {worst.number}, expected {worst.limit}" if worst else ""
    shown = f"{SIGNS[cell.sign]} {_percent(margin)}"
    return f'<td style="{style}" title="{html.escape(told_)}">{shown}</td>'


def _percent(margin: float) -> str:
    if math.isinf(margin):
        return "none" if margin < 0 else "far"
    return f"{margin:+.0%}" if abs(margin) < 10 else f"{1 + margin:.0f} times"


def _anchor(it: Requirement) -> str:
    return html.escape(it.name, quote=True).replace(" ", "-")


def _short(name: str) -> str:
    return name.lstrip("$")


def _class(sign: Sign) -> str:
    return sign.name.lower().replace("_", "-")


def _badge(it: Requirement) -> str:
    return f'<b class="word">{html.escape(it.word)}</b>' if it.word else "–"

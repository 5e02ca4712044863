"""What there is: laws, queues, recoveries, slow starts and presets, with settings and sources."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from narrows import _core
from narrows.errors import Error


@dataclass(frozen=True)
class Setting:
    """A setting of a law or queue, as written after its name: ``cubic:beta=0.8``."""

    name: str
    default: str
    bounds: str
    meaning: str


@dataclass(frozen=True)
class Entry:
    """Something that can be named in a scenario."""

    name: str
    summary: str
    source: str
    aliases: tuple[str, ...] = ()
    settings: tuple[Setting, ...] = ()


def controllers() -> list[Entry]:
    """Return the congestion controllers: a flow's ``cc``.

    Returns
    -------
    list of Entry
        In the order of ``narrows list``.

    Examples
    --------
    >>> import narrows as nw
    >>> cubic = next(law for law in nw.controllers() if law.name == "cubic")
    >>> cubic.source.split(";")[0], cubic.settings[0].name
    ('RFC 9438', 'beta')
    """
    return [_entry(line) for line in _core.controllers()]


def queues() -> list[Entry]:
    """Return the queues: a link's ``queue``.

    Returns
    -------
    list of Entry
        In the order of ``narrows list``.

    Examples
    --------
    >>> import narrows as nw
    >>> "fq-codel" in [queue.name for queue in nw.queues()]
    True
    """
    return [_entry(line) for line in _core.queues()]


def kinds() -> dict[str, list[Entry]]:
    """Return everything that can be named, by kind.

    Returns
    -------
    dict
        Lists of `Entry` by kind, like ``queues``.
    """
    return {"controllers": controllers(), "queues": queues(), **others()}


def chosen(what: str | None) -> dict[str, list[Entry]]:
    """Return what a kind or a name stands for, by kind; everything for None.

    Parameters
    ----------
    what
        A kind, a name, or None.

    Returns
    -------
    dict
        Lists of `Entry` by kind, like ``queues``.

    Raises
    ------
    Error
        If nothing is called that.

    Examples
    --------
    >>> [(kind, [it.name for it in found]) for kind, found in chosen("newreno").items()]
    [('recoveries', ['newreno'])]
    >>> list(chosen("queues"))
    ['queues']
    """
    every = kinds()
    if what is None:
        return every
    if what in every:
        return {what: every[what]}
    named = {
        kind: [entry for entry in entries if what in (entry.name, *entry.aliases)]
        for kind, entries in every.items()
    }
    found = {kind: entries for kind, entries in named.items() if entries}
    if not found:
        known = [*every, *(entry.name for entries in every.values() for entry in entries)]
        near = difflib.get_close_matches(what, known, 1)
        guess = f'; did you mean "{near[0]}"?' if near else ""
        raise Error(f'list: nothing is called "{what}"{guess}; kinds: {", ".join(every)}')
    return found


def _entry(named: _core.Named) -> Entry:
    name, summary, source, aliases, settings = named
    return Entry(
        name, summary, source, tuple(aliases), tuple(Setting(*setting) for setting in settings)
    )


def others() -> dict[str, list[Entry]]:
    """Return recoveries, slow starts, presets, and stacks if this build has any, by kind.

    Returns
    -------
    dict
        Lists of `Entry` by kind, like ``queues``.
    """
    kinds = {
        "recoveries": _core.recoveries(),
        "slow_starts": _core.slow_starts(),
        "presets": _core.presets(),
        "stacks": _core.stacks(),
    }
    return {kind: [Entry(*line) for line in lines] for kind, lines in kinds.items() if lines}

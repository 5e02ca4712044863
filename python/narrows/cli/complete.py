"""What a shell completes: names of laws, queues, pacings and examples, also after a comma."""

from __future__ import annotations

import json
import re

from narrows import _core


def controllers(incomplete: str) -> list[str]:
    """Complete a list of controllers.

    Examples
    --------
    >>> controllers("cubic,ht")
    ['cubic,htcp']
    """
    laws = [law[0] for law in _core.controllers()]
    names = laws + [recovery[0] for recovery in _core.recoveries()]
    return _continued(incomplete, names)


def queues(incomplete: str) -> list[str]:
    """Complete a list of queues."""
    return _continued(incomplete, [name for name, *_ in _core.queues()])


def pacings(incomplete: str) -> list[str]:
    """Complete a list of pacings."""
    named = json.loads(_core.schema())["$defs"]["PacingName"]
    names = named.get("enum") or [one["const"] for one in named["oneOf"]]
    return _continued(incomplete, names)


def example(incomplete: str) -> list[str]:
    """Complete the name of an example."""
    from narrows.cli.work.examples import files

    return [name for name in files() if name.startswith(incomplete)]


def listed(incomplete: str) -> list[str]:
    """Complete a kind or a name that `narrows list` knows."""
    from narrows.listing import kinds

    every = kinds()
    names = [*every, *(entry.name for entries in every.values() for entry in entries)]
    return [name for name in dict.fromkeys(names) if name.startswith(incomplete)]


def experiments(incomplete: str) -> list[str]:
    """Complete the name of an experiment of the papers, or of a paper."""
    try:
        from narrows_papers import EXPERIMENTS
    except ModuleNotFoundError:
        return []
    papers = dict.fromkeys(name.split("/")[0] for name in EXPERIMENTS)
    return [name for name in ("all", *papers, *EXPERIMENTS) if name.startswith(incomplete)]


def _continued(incomplete: str, names: list[str]) -> list[str]:
    """Complete the last name of a list that is separated by commas, slashes or factors."""
    before = re.match(r"(.*[,/*])?", incomplete)
    head = before[0] if before else ""
    return [head + name for name in names if name.startswith(incomplete[len(head) :])]

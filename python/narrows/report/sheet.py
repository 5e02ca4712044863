"""A page of text and tables that needs no script."""

from __future__ import annotations

import html
from importlib import resources

from narrows import _core
from narrows.made import Made


def sheet(title: str, body: str, made: Made) -> str:
    """Return a page.

    Parameters
    ----------
    title
        Text, which is escaped here.
    body
        HTML.
    made
        How it was made.

    Returns
    -------
    str
        HTML that needs no other file.
    """
    template = (resources.files("narrows.report") / "sheet.html").read_text(encoding="utf-8")
    foot = f"narrows {made.version}, engine {_core.engine()}: {' '.join(made.command)}"
    for place, text in (("@title@", html.escape(title)), ("@foot@", html.escape(foot))):
        template = template.replace(place, text)
    return template.replace("@body@", body)

"""The site: these pages, the reference of the package, and the playground beside them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from narrows import __version__

DOCS = Path(__file__).parent

project = "narrows"
copyright = "the narrows developers"
release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "_site"]
html_theme = "furo"
html_title = "narrows"
html_favicon = "../web/public/icon.svg"
html_static_path = ["_site"]
html_css_files = ["site.css"]
myst_heading_anchors = 4
numpydoc_show_class_members = False
# Headings of generated pages go from the page to its fields.
suppress_warnings = ["myst.header"]


def outside(text: str, page: Path) -> str:
    """Write links to files that are no pages as names, which a reader of the sources knows."""

    def named(link: re.Match[str]) -> str:
        words, place = link["words"], link["place"].partition("#")[0]
        if re.match(r"[a-z]+:", place) or not place:
            return link[0]
        target = (page.parent / place).resolve()
        if target.is_relative_to(DOCS) and target.is_file():
            return link[0]
        root = DOCS.parent.resolve()
        name = target.relative_to(root) if target.is_relative_to(root) else place
        return f"{words} (`{name}`)" if str(name) not in words else words

    return re.sub(r"(?<!!)\[(?P<words>[^\]\n]+)\]\((?P<place>[^)\s]+)\)", named, text)


def setup(app: Any) -> None:
    """Read pages as they are on the forge."""

    def read(app: Any, name: str, source: list[str]) -> None:
        source[0] = outside(source[0], Path(app.env.doc2path(name)))

    app.connect("source-read", read)

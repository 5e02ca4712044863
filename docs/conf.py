"""The site: these pages, the reference of the package, and the playground beside them."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from narrows import __version__

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))
from example_pages import page_of  # noqa: E402

project = "narrows"
copyright = "the narrows developers"
release = __version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "equations",
    "example_pages",
    "sphinx_gallery.gen_gallery",
]
html_math_renderer = "katex"
myst_fence_as_directive = ["math"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "_site", "_tutorials"]
html_theme = "furo"
html_title = "narrows"
html_favicon = "../web/public/icon.svg"
html_static_path = ["_site"]
html_css_files = ["site.css"]
myst_heading_anchors = 4
numpydoc_show_class_members = False
nitpicky = True
# Types of others, whose pages are elsewhere; of Rust's; and of fields, which scenario.md has.
nitpick_ignore_regex = [
    ("py:class", r"(np|npt|numpy|pl|polars|collections|concurrent|os|pathlib)\..*"),
    ("py:class", r"Axes|Figure|Ack|Loss|Mark|Run|Table"),
    ("py:class", r"narrows\.(_core|fields|score|seek)\..*"),
    ("py:class", r"Cache|Case|Check|Failure|Judgement|Member|Point|narrows\.lab\.Check"),
]
sphinx_gallery_conf = {
    "examples_dirs": "_tutorials",
    "gallery_dirs": "tutorials",
    # A script that fails ends the build.
    "abort_on_example_error": True,
    "min_reported_time": 1e9,
    "show_memory": False,
    "show_signature": False,
    "within_subsection_order": "FileNameSortKey",
    "write_computation_times": False,
}
# Headings of generated pages go from the page to its fields; two rooms have a Check.
suppress_warnings = ["myst.header", "config.cache", "ref.python"]


def outside(text: str, page: Path) -> str:
    """Write links to files that are no pages as names, which a reader of the sources knows."""

    def named(link: re.Match[str]) -> str:
        words, place = link["words"], link["place"].partition("#")[0]
        if re.match(r"[a-z]+:", place) or not place:
            return link[0]
        target = (page.parent / place).resolve()
        if target.is_relative_to(DOCS) and target.is_file():
            return link[0]
        if example := page_of(target):
            return f"[{words}](/{example.relative_to(DOCS)})"
        root = DOCS.parent.resolve()
        name = target.relative_to(root) if target.is_relative_to(root) else place
        return f"{words} (`{name}`)" if str(name) not in words else words

    return re.sub(r"(?<!!)\[(?P<words>[^\]\n]+)\]\((?P<place>[^)\s]+)\)", named, text)


def setup(app: Any) -> None:
    """Read pages as they are on the forge."""

    def read(app: Any, name: str, source: list[str]) -> None:
        source[0] = outside(source[0], Path(app.env.doc2path(name)))

    app.connect("source-read", read)

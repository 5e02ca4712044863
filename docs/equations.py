"""Equations of the site, typeset when it is built, so that a page needs no script for them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from docutils import nodes

WEB = Path(__file__).parents[1] / "web"
KATEX = WEB / "node_modules/katex/dist"


class Typesetter:
    """A process that typesets one equation after the other."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            ["node", "equations.mjs"],
            cwd=WEB,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def html(self, tex: str, display: bool) -> str:
        """Return an equation as HTML; fail if KaTeX cannot read it."""
        given, made = self._process.stdin, self._process.stdout
        assert given is not None and made is not None
        given.write(json.dumps({"tex": tex, "display": display}) + "\n")
        given.flush()
        line = made.readline()
        if not line:
            raise ValueError(f"KaTeX cannot read {tex!r}")
        return str(json.loads(line))


def setup(app: Any) -> dict[str, bool]:
    """Render math by KaTeX, and bring its style and fonts along."""
    typesetter = Typesetter()

    def inline(writer: Any, node: nodes.math) -> None:
        writer.body.append(typesetter.html(node.astext(), False))
        raise nodes.SkipNode

    def block(writer: Any, node: nodes.math_block) -> None:
        writer.body.append(f'<div class="math">{typesetter.html(node.astext(), True)}</div>')
        raise nodes.SkipNode

    def bring(app: Any, failed: Exception | None) -> None:
        if failed is None and app.builder.format == "html":
            place = Path(app.outdir) / "_static/katex"
            shutil.rmtree(place, ignore_errors=True)
            (place / "fonts").mkdir(parents=True)
            shutil.copy(KATEX / "katex.min.css", place)
            for font in KATEX.glob("fonts/*.woff2"):
                shutil.copy(font, place / "fonts")

    app.add_html_math_renderer("katex", (inline, None), (block, None))
    app.add_css_file("katex/katex.min.css")
    app.connect("build-finished", bring)
    return {"parallel_read_safe": True}

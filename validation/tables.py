"""Tables of the comparisons: on the terminal, and in pages of docs/ between two marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.box import SIMPLE
from rich.table import Table

from narrows.terminal import console

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = tuple(DOCS / f"validation{part}.md" for part in ("-ns2", "-linux", ""))


@dataclass(frozen=True)
class Section:
    """A table with what is said above and below it, as text.

    The name is that of the marks in the page. Texts are Markdown.
    """

    name: str
    head: list[str]
    rows: list[list[str]]
    summary: str

    def show(self) -> None:
        """Print the table for a terminal, then the summary."""
        table = Table(*self.head, box=SIMPLE)
        for cells in self.rows:
            table.add_row(*cells)
        console().print(table)
        print(self.summary)

    def markdown(self) -> str:
        """Return the summary and the table as Markdown."""
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        table = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
        return f"{self.summary}\n\n{table}"


def replaced(page: str, section: Section) -> str:
    r"""Return the page with the text between a section's marks replaced.

    Parameters
    ----------
    page
        Markdown with the lines ``<!-- name -->`` and ``<!-- /name -->``.
    section
        What belongs between them.

    Raises
    ------
    ValueError
        If one of the marks is missing.

    Examples
    --------
    >>> replaced("a\n<!-- t -->\nold\n<!-- /t -->\nb", Section("t", ["x"], [["1"]], "One."))
    'a\n<!-- t -->\nOne.\n\n| x |\n| --- |\n| 1 |\n<!-- /t -->\nb'
    """
    opening, closing = f"<!-- {section.name} -->\n", f"\n<!-- /{section.name} -->"
    before, found, rest = page.partition(opening)
    _, ended, after = rest.partition(closing)
    if not (found and ended):
        raise ValueError(f"the page lacks the marks {opening.strip()} and {closing.strip()}")
    return before + opening + section.markdown() + closing + after


def write(sections: list[Section], pages: Sequence[Path] = PAGES) -> None:
    """Replace the text of each section in the page that has its mark.

    Raises
    ------
    ValueError
        If no page has the marks of a section; nothing is written then.
    """
    texts = {page: page.read_text() for page in pages}
    for section in sections:
        mark = f"<!-- {section.name} -->"
        page = next((page for page, text in texts.items() if mark in text), pages[0])
        texts[page] = replaced(texts[page], section)
    for page, text in texts.items():
        page.write_text(text)

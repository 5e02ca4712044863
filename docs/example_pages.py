"""A page for each example, with the way into the playground where a browser can run it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from narrows.cli.work.examples import files, summary
from narrows.errors import Error
from narrows.playground import address
from narrows.scenario import Scenario

DOCS = Path(__file__).parent
PLACE = DOCS / "examples"
COMMANDS = {"sweeps": "narrows sweep", "checks": "narrows check"}
EXAMPLES = {name: Path(str(file)).resolve() for name, file in files().items()}
PAGES = {file: PLACE / f"{name.replace('/', '-')}.md" for name, file in EXAMPLES.items()}


def page_of(file: Path) -> Path | None:
    """Return the page of an example; None if it has none."""
    return PAGES.get(file.resolve())


def written(name: str, file: Path, text: str) -> str:
    """Return the page of an example that is `text`."""
    is_python = file.suffix == ".py"
    command = "python" if is_python else COMMANDS.get(name.partition("/")[0], "narrows run")
    parts = [
        f"# {name}",
        f"{summary(text)}.",
        f"```sh\nnarrows examples {name} --copy my\n{command} my/{file.name}\n```",
        f"```{'python' if is_python else 'toml'}\n{text}```",
    ]
    if where := played(file, summary(text)):
        parts.insert(2, f'<a href="../playground/index.html{where}">Run it in the playground</a>')
    return "\n\n".join(parts) + "\n"


def played(file: Path, title: str) -> str | None:
    """Return the part of the playground's address that is an example; None if it has none."""
    try:
        scenario = Scenario.load(file)
        # What the page changes is the bottleneck of a dumbbell.
        return address(scenario, title) if scenario.fields.get("dumbbell") else None
    except Error:
        return None


def write(app: Any) -> None:
    """Write all pages and the one that lists them, where they have changed."""
    PLACE.mkdir(exist_ok=True)
    pages, rows = {}, []
    for name, file in EXAMPLES.items():
        text, page = file.read_text(), PAGES[file]
        pages[page] = written(name, file, text)
        rows.append(f"| [{name}]({page.name}) | {summary(text)} |")
    said = "Files to begin with; `narrows examples` lists them, too."
    toc = "```{toctree}\n:hidden:\n:glob:\n*\n```"
    listed = "\n".join(["| | |", "|---|---|", *rows])
    pages[PLACE / "index.md"] = f"# Examples\n\n{said}\n\n{listed}\n\n{toc}\n"
    for page, text in pages.items():
        if not page.exists() or page.read_text() != text:
            page.write_text(text)
    for page in set(PLACE.glob("*.md")) - pages.keys():
        page.unlink()


def setup(app: Any) -> dict[str, bool]:
    """Write them before anything is read."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}

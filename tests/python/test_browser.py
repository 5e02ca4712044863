"""A report in a real browser: what others wrote is shown as text, and is never run."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import narrows as nw
from narrows import report
from narrows.made import Made

HOSTILE = [
    '<script>document.title="PWNED"</script>',
    "</script><script>document.title='PWNED'</script>",
    '<img src=x onerror=document.title="PWNED">',
    "\"><svg/onload=document.title='PWNED'>",
    "<!--<script>document.title='PWNED'//",
    "/*@charts@*/ @charts.js@ @title@",
    "]]>&lt;b&gt;",
]


def shown_by(browser: str, page: Path) -> str:
    """Return the page's document after its scripts have run."""
    done = subprocess.run(
        [
            *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000"),
            *(f"--user-data-dir={page.parent / 'profile'}", "--dump-dom", page.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout


def test_hostile_names_are_text_in_a_browser(tmp_path: Path) -> None:
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("left out 1 test of reports in a browser: there is no chromium")
    links = [
        {"name": name, "from": f"a{number}", "to": f"a{number + 1}", "rate": "10Mbps"}
        | {"delay": "5ms", "buffer": "20p"}
        for number, name in enumerate(HOSTILE)
    ]
    flows = [
        {"name": name, "from": "a0", "to": f"a{len(HOSTILE)}", "cc": cc}
        for name, cc in zip(HOSTILE, ["cubic", "reno"] * 4, strict=False)
    ]
    result = nw.run(nw.Scenario(duration="2s", sample="50ms", links=links, flows=flows))
    made = Made("run", [({HOSTILE[0]: HOSTILE[1]}, result.scenario.to_toml())], [1])
    page = tmp_path / "report.html"
    page.write_text(report.single([result], [], made), encoding="utf-8")
    document = shown_by(browser, page)
    assert "PWNED</title>" not in document
    assert document.count("<canvas") >= 4, "the charts are drawn"
    for name in HOSTILE:
        escaped = name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        assert escaped in document or escaped.replace('"', "&quot;") in document
    # The test itself: the same text as markup does what it should not.
    page.write_text(f"<title>report</title>{HOSTILE[0]}", encoding="utf-8")
    assert "PWNED</title>" in shown_by(browser, page)

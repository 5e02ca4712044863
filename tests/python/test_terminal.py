"""What reaches a terminal, a page or a spreadsheet of texts that strangers wrote."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from rich.table import Table

import narrows as nw
from binary import ROOT, Run
from narrows.terminal import console_into, plain

HOSTILE = [
    "\x1b]0;PWNED\x07\x1b[2J\x1b[31m",
    "a\u202eb",
    "a\u200bb",
    "\ufeffa",
    "a\u2028b",
    "a\x9b31mb",
    "a\rb",
]
SOURCES = [ROOT / "python" / "narrows", ROOT / "papers" / "narrows_papers"]
DOOR = SOURCES[0] / "terminal.py"


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_terminal_obeys_is_shown_as_its_code(text: str) -> None:
    assert plain(text).isprintable()
    assert plain(plain(text)) == plain(text)
    table = Table("name", title=text)
    table.add_row(text)
    out = io.StringIO()
    console_into(out, 80).print(table)
    assert out.getvalue().replace("\n", "").isprintable()


def test_nothing_is_printed_around_the_one_door() -> None:
    around = re.compile(
        r"(?<![\w.])print\(|sys\.(stdout|stderr)\.write|typer\.(echo|secho)|"
        r"(?<!_)Console\(|click\.echo"
    )
    for file in (file for place in SOURCES for file in place.rglob("*.py")):
        if file == DOOR or "examples" in file.parts:
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if line.lstrip().startswith((">>>", "...")) or "console().print(" in line:
                continue
            assert not around.search(line) or "console.print(" in line, f"{file}:{number}: {line}"


@pytest.mark.parametrize("text", HOSTILE)
def test_errors_do_not_carry_a_files_escapes(narrows: Run, tmp_path: Path, text: str) -> None:
    quoted = json.dumps(text)
    base = 'duration = "1s"\n[dumbbell]\nrate = "10Mbps"\nrtt = "40ms"\nbuffer = "20p"\n[[flows]]\n'
    for line in (f"cc = {quoted}", f"{quoted} = 1", f"name = {quoted}"):
        (tmp_path / "x.toml").write_text(base + line)
        done = narrows("run", "x.toml")
        assert done.returncode == 2
        said = done.stderr + done.stdout
        assert said.replace("\n", "").isprintable(), said


def test_a_hostile_made_json_is_told_in_words(narrows: Run, tmp_path: Path) -> None:
    nw_run = nw.dumbbell("10Mbps", "40ms", "20p", duration="1s").to_toml()
    whole = {
        "kind": "run",
        "cases": [[{}, nw_run]],
        "seeds": [1],
        "until": None,
        "command": ["narrows", "run", HOSTILE[0]],
        "version": "0",
        "engine": "\x1b[31m",
    }
    place = tmp_path / "o"
    place.mkdir()
    changes: list[dict[str, object]] = [
        {},
        {"cases": []},
        {"seeds": []},
        {"seeds": [-1]},
        {"seeds": "all"},
        {"cases": [1]},
        {"kind": "compare", "cases": [[[], nw_run]]},
        {"kind": "sweep", "until": [0.1, "nothing", 3]},
        {"kind": "sweep", "until": {}},
        {"command": []},
        {"command": 3},
    ]
    for change in changes:
        (place / "made.json").write_text(json.dumps(whole | change))
        done = narrows("again", "o")
        assert "Traceback" not in done.stderr
        assert (done.stderr + done.stdout).replace("\n", "").isprintable()
        assert done.returncode in ((0, 1) if not change else (2,)), done.stderr


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "@SUM(1)", "+1", "-1"])
def test_names_begin_no_formula(name: str) -> None:
    with pytest.raises(nw.ScenarioError, match="spreadsheet"):
        nw.dumbbell("10Mbps", "40ms", "20p", flows=[{"name": name}])

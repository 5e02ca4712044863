"""Expectations: judged over seeds, printed, kept, told to forges."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import narrows as nw
from binary import ROOT, Run
from narrows import _core
from narrows.check import Verdict, judge

TEXT = """
duration = "2s"
[dumbbell]
rate = "20Mbps"
rtt = "40ms"
buffer = "0.5bdp"
[[flows]]
name = "bulk"
cc = "cubic"
[expect]
"""


def _file(folder: Path, name: str, expect: str) -> Path:
    file = folder / name
    file.write_text(TEXT + expect)
    return file


@pytest.mark.parametrize(
    ("side", "values", "bounds", "verdict"),
    [
        (">=", [0.95, 0.96, 0.95], [0.9] * 3, Verdict.HOLDS),
        (">=", [0.85, 0.86, 0.85], [0.9] * 3, Verdict.FAILS),
        (">=", [0.85, 0.96, 0.93], [0.9] * 3, Verdict.UNDECIDED),
        ("<=", [0.9, 0.9], [0.9, 0.9], Verdict.HOLDS),
        ("<", [0.9, 0.9], [0.9, 0.9], Verdict.FAILS),
        ("<", [0.89], [0.9], Verdict.HOLDS),
        ("==", [0.0, 0.0], [0.0, 0.0], Verdict.HOLDS),
        ("==", [0.0, 1.0], [0.0, 0.0], Verdict.FAILS),
        (">=", [0.95, math.nan], [0.9, 0.9], Verdict.FAILS),
        # In pairs what differs from seed to seed goes.
        (">=", [0.2, 0.5, 0.9], [0.1, 0.4, 0.8], Verdict.HOLDS),
    ],
)
def test_the_interval_of_the_differences_decides(
    side: str, values: list[float], bounds: list[float], verdict: Verdict
) -> None:
    assert judge(side, values, bounds, 0.95) is verdict


def test_more_confidence_decides_less() -> None:
    values, bounds = [0.95, 0.94, 0.97], [0.9] * 3
    assert judge(">=", values, bounds, 0.9) is Verdict.HOLDS
    assert judge(">=", values, bounds, 0.999) is Verdict.UNDECIDED


def test_a_scenario_checks_itself() -> None:
    scenario = nw.Scenario.from_toml(TEXT + "utilisation = '>= 0.5'\nloss_rate = '> 50%'")
    check = scenario.check(seeds=[3, 4])
    assert not check and check.seeds == [3, 4]
    assert [(it.name, it.verdict) for it in check.judgements] == [
        ("loss_rate", Verdict.FAILS),
        ("utilisation", Verdict.HOLDS),
    ]
    told = [nw.run(scenario, seed=seed).summary["utilisation"][0] for seed in (3, 4)]
    assert check.judgements[1].values == told
    assert "fails" in repr(check)
    with pytest.raises(nw.Error, match="nothing is expected"):
        nw.dumbbell("10Mbps", "40ms", "20p").check()
    with pytest.raises(nw.Error, match="seeds: there are none"):
        scenario.check(seeds=0)


FOUND = sorted((ROOT / "examples/seek").glob("*.toml"))


@pytest.mark.parametrize("file", FOUND, ids=[file.stem for file in FOUND])
def test_what_seek_found_still_fails(file: Path) -> None:
    if "quinn" in file.stem and not any(name == "quinn" for name, *_ in _core.stacks()):
        pytest.skip("this build goes without the stacks of others")
    check = nw.Scenario.load(file).check(seeds=3)
    assert [it.verdict for it in check.judgements] == [Verdict.FAILS]


def test_files_that_hold_fail_and_cannot_be_run(
    narrows: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "checks"
    folder.mkdir()
    _file(folder, "good.toml", "utilisation = '>= 0.5'")
    bad = "utilisation = '>= 1.5'\n'groups.bulk.timeouts' = { bound = '> 9', why = 'because' }\n"
    _file(folder, "bad.toml", bad + "[seeds]\ncount = 2")
    (folder / "other.toml").write_text(TEXT.removesuffix("[expect]\n"))
    keep, junit = tmp_path / "kept", tmp_path / "out.xml"
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    done = narrows("check", folder, "-o", keep, "--junit", junit)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY")
    assert done.returncode == 1, done.stderr
    assert "✗ fails  groups.bulk.timeouts" in done.stdout and "because" in done.stdout
    assert f"again: narrows check {keep}/bad/scenario.toml" in done.stdout
    assert "::error file=" in done.stdout and "1 hold, 2 fail" in done.stderr
    assert "other" not in done.stdout
    for name in ("scenario.toml", "report.html", "packets.pcapng", "flow0.sqlog", "made.json"):
        assert (keep / "bad" / name).is_file(), name
    assert not (keep / "good").exists()
    suites = ET.parse(junit).getroot()
    assert {name: suites.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "3",
        "failures": "2",
        "errors": "0",
        "skipped": "0",
    }
    assert "| ✗ fails |" in summary.read_text()
    # What is kept shows the failure again, twice.
    again = narrows("check", keep / "bad" / "scenario.toml", "-o", tmp_path / "more", "--json")
    assert again.returncode == 1
    [utilisation] = [it for it in json.loads(again.stdout)["expectations"] if "util" in it["name"]]
    assert utilisation["verdict"] == "fails" and len(utilisation["values"]) == 1
    # Two files of one name are kept apart.
    (folder / "more").mkdir()
    _file(folder / "more", "bad.toml", "utilisation = '>= 1.5'\n[seeds]\ncount = 1")
    narrows("check", folder, "-o", tmp_path / "both")
    assert {path.name for path in (tmp_path / "both").iterdir()} == {"bad", "bad-2"}
    _file(folder, "wrong.toml", "utilisatio = '>= 1.5'")
    wrong = narrows("check", folder, "-o", keep)
    assert wrong.returncode == 2 and "did you mean" in wrong.stderr
    assert "✓ holds" in wrong.stdout, "the others are checked all the same"


def test_what_is_not_decided_fails_on_demand(narrows: Run, tmp_path: Path) -> None:
    seeds = "[seeds]\ncount = 4"
    start = "flows = [{ cc = 'cubic', count = 5, start_spread = '1s' }]\n"
    text = start + TEXT.replace('[[flows]]\nname = "bulk"\ncc = "cubic"\n', "")
    file = tmp_path / "open.toml"
    file.write_text(text + "jain = '>= 0.8'\n" + seeds)
    values = nw.Scenario.load(file).check().judgements[0].values
    file.write_text(text + f"jain = '>= {sum(values) / 4}'\n" + seeds)
    assert len(set(values)) > 1
    done = narrows("check", file, "--junit", tmp_path / "out.xml")
    assert done.returncode == 0 and "? not decided" in done.stdout
    assert 'skipped="1"' in (tmp_path / "out.xml").read_text()
    strict = ("--strict", "--junit", tmp_path / "strict.xml", "-o", tmp_path / "kept")
    assert narrows("check", file, *strict).returncode == 1
    assert 'failures="1"' in (tmp_path / "strict.xml").read_text()
    assert (tmp_path / "kept" / "open" / "scenario.toml").is_file()


def test_the_examples_hold(narrows: Run) -> None:
    done = narrows("check", ROOT / "examples" / "checks", "--seeds", "2")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_shows_what_its_example_prints(narrows: Run) -> None:
    page = (ROOT / "docs/checks.md").read_text()
    file = ROOT / "examples/checks/small_buffer.toml"
    assert file.read_text().rstrip() in page
    _, *lines = narrows("check", str(file)).stdout.splitlines()
    assert len(lines) == 3
    assert all(line in page for line in lines)

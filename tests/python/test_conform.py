"""`narrows conform`: rows, exit status, baseline, pages, own controllers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest

import narrows as nw
from binary import Run
from narrows import _core
from narrows.conformance import Finding, checks, observe


class Half(nw.Controller):
    """A controller that answers a loss as Reno, and grows like it."""

    beta = 0.5

    def __init__(self, initial_window: float) -> None:
        self.cwnd = initial_window
        self.ssthresh = float("inf")

    def on_ack(self, ack: nw.Ack) -> None:
        if not ack.recovering:
            self.cwnd += ack.packets * (1.0 if self.cwnd < self.ssthresh else 1.0 / self.cwnd)

    def on_loss(self, loss: nw.Loss) -> None:
        if loss.opens_epoch:
            self.ssthresh = max(self.cwnd * self.beta, 2.0)
            self.cwnd = 1.0 if loss.timeout else self.ssthresh

    def window(self) -> float:
        return self.cwnd


class Hardly(Half):
    """The same with another factor."""

    beta = 0.85


PLUGIN = """
import pytest

@pytest.mark.conform("cubic:beta=0.5", only="D1,D2,B4", skip="D2")
def test_controller(row):
    assert row, row

@pytest.mark.conform("quic", as_="reno", only="D1")
def test_other(row):
    assert row.number < 0.54
"""


def test_checks_are_tests_of_pytest(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(PLUGIN)
    words = [sys.executable, "-m", "pytest", "-rs", "-v", "-p", "no:cacheprovider", "test_mine.py"]
    words += ["-p", "narrows.pytest_plugin"] if not installed_plugin() else []
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    told = ran.stdout
    assert "1 failed, 1 passed, 1 skipped" in told, told + ran.stderr
    assert "test_controller[D1] FAILED" in told and "test_other[D1] PASSED" in told
    assert "B4: asked of BBR only" in told and "RFC 9438 §4.6" in told
    assert "✗ D1  beta" in told and "0.68 .. 0.74" in told


@pytest.mark.parametrize(
    ("mark", "says"),
    [
        ('"cubik", only="D1"', "cubik"),
        ('"cubic", only="Q9"', '"Q9" is no check'),
        ('"cubic", only="D1", skip="D*"', "leaves nothing"),
        ('"cubic", strict=True', "strict"),
    ],
)
def test_marks_that_judge_nothing_are_errors(tmp_path: Path, mark: str, says: str) -> None:
    text = f"import pytest\n@pytest.mark.conform({mark})\ndef test_it(row):\n    assert row\n"
    (tmp_path / "test_mine.py").write_text(text)
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "test_mine.py"]
    words += ["-p", "narrows.pytest_plugin"] if not installed_plugin() else []
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode not in (0, 5) and says in ran.stdout + ran.stderr, ran.stdout


def installed_plugin() -> bool:
    found = entry_points(group="pytest11")
    return any(it.value == "narrows.pytest_plugin" for it in found)


def test_the_action_judges_and_tells(tmp_path: Path) -> None:
    """What `action.yml` runs, with its environment, as a forge does it."""
    root = Path(nw.__file__).parents[2]
    summary = tmp_path / "summary.md"
    given = {"INPUT_CC": "cubic:beta=0.5", "INPUT_ONLY": "D1,T1", "INPUT_BADGE": "badge.json"}
    path = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    always = {"GITHUB_STEP_SUMMARY": str(summary), "NARROWS_ACTION": str(root), **path}

    def action(**inputs: str) -> subprocess.CompletedProcess[str]:
        words = [str(root / "scripts" / "conform-action")]
        environment = {"HOME": str(tmp_path), **always, **inputs}
        return subprocess.run(
            words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    ran = action(**given)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "✗ fails" in summary.read_text() and "RFC 9438 §4.6" in summary.read_text()
    badge = json.loads((tmp_path / "badge.json").read_text())
    assert (badge["message"], badge["color"], badge["schemaVersion"]) == ("1 of 2 hold", "red", 1)
    assert ET.parse(tmp_path / "narrows-conform.xml").getroot().get("failures") == "1"
    assert (tmp_path / "out/conform/cubic-beta-0-5/D1/report.html").exists()
    assert action(INPUT_CC="cubic", INPUT_ONLY="D1").returncode == 0
    assert action(INPUT_RUN="exit 7").returncode == 7
    assert action(INPUT_RUN="true", INPUT_CC="cubic").returncode == 2
    assert action().returncode == 2
    names = set(re.findall(r"INPUT_\w+", (root / "action.yml").read_text()))
    assert names == set(re.findall(r"INPUT_\w+", (root / "scripts/conform-action").read_text()))


def test_rows_say_who_asks_for_what() -> None:
    found = nw.conform("cubic", only="D1, T1")
    assert [row.check.id for row in found.rows] == ["D1", "T1"]
    beta = found.rows[0]
    assert beta.finding is Finding.HOLDS and 0.68 <= beta.number <= 0.74
    assert "RFC 9438 §4.6" in beta.check.source and beta.bound == "0.68 .. 0.74"
    assert found.frame["finding"].to_list() == ["holds", "holds"]
    assert "✓ D1  beta" in repr(found)
    assert len(checks()) >= 50 and len({check.name for check in checks().values()}) == len(checks())


def test_the_same_bits_each_time() -> None:
    one, other = (nw.conform("cubic+quic", only="D*,R7,E1") for _ in range(2))
    assert [(row.number, row.seen) for row in one.rows] == [
        (row.number, row.seen) for row in other.rows
    ]


def test_controllers_of_ones_own() -> None:
    assert nw.conform(Half, as_="reno", only="D1").rows[0].finding is Finding.HOLDS
    found = nw.conform(Hardly, as_="reno", only="D1")
    assert not found and found.rows[0].number == pytest.approx(0.85, abs=0.03)
    wire = observe(found, found.rows[0].scenarios[-1])
    assert sum(packet[3] for packet in wire.packets) == 2, "one in slow start, one at 8 s"


def test_what_cannot_be_judged() -> None:
    for arguments, said in (
        ({"cc": "cubic", "as_": "cubik"}, 'no profile "cubik"; known: reno, cubic'),
        ({"cc": "cubic", "only": "Z9"}, '--only: "Z9" is no check'),
        ({"cc": "cubik"}, 'unknown controller "cubik"; did you mean "cubic"'),
        ({"cc": 3}, "neither a name nor a controller"),
        ({"cc": "cubic", "transport": "quic"}, "goes over tcp"),
        ({"cc": Half, "transport": "sctp"}, "try tcp or quic"),
        ({"cc": "bbr", "only": "D1"}, "nothing of D1 is asked of bbr as bbr"),
    ):
        with pytest.raises(nw.Error, match=said):
            nw.conform(**arguments)


def test_the_command(narrows: Run, tmp_path: Path) -> None:
    wrong = ("conform", "--cc", "cubic:beta=0.5", "--only", "D1,D2,T1")
    done = narrows(*wrong, "-o", tmp_path / "kept", "--junit", tmp_path / "out.xml")
    assert done.returncode == 1
    assert "✗ D1  beta" in done.stdout and "RFC 9438 §4.6" in done.stdout
    assert "2 fail (D1 D2)" in done.stdout
    page = tmp_path / "kept" / "cubic-beta-0-5" / "D1"
    assert "Packets in flight" in (page / "report.html").read_text()
    assert narrows("run", page / "scenario.toml").returncode == 0, "what is kept runs by itself"
    assert {"packets.pcapng", "flow0.sqlog"} <= {file.name for file in page.iterdir()}
    cases = ET.parse(tmp_path / "out.xml").getroot().findall(".//testcase")
    assert [case.get("name") for case in cases] == ["D1 beta", "D2 beta below W_max", "T1 back-off"]
    assert [case.find("failure") is not None for case in cases] == [True, True, False]
    # What is known is green, until something else is red.
    baseline = tmp_path / "known.json"
    assert narrows(*wrong, "--baseline", baseline, "--bless").returncode == 0
    assert narrows(*wrong, "--baseline", baseline).returncode == 0
    known = json.loads(baseline.read_text())
    known["cubic:beta=0.5"]["D2"] = "holds"
    baseline.write_text(json.dumps(known))
    assert narrows(*wrong, "--baseline", baseline).returncode == 1
    baseline.write_text("[]")
    broken = narrows(*wrong, "--baseline", baseline)
    assert broken.returncode == 2 and "it is not what --bless writes" in broken.stderr


def test_what_is_kept_has_the_stimulus() -> None:
    scripts = {
        "X3": "twice",
        "U6": "late",
        "X4": "twice",
        "B13": "late",
        "R9": "drop",
        "X5": "late",
    }
    for check, script in scripts.items():
        cc = "bbr" if check == "B13" else "cubic"
        [row] = nw.conform(cc, only=check).rows
        assert f'"{script}' in row.scenarios[-1], check
        assert all(script not in it for it in row.scenarios[:-1]), check


def test_choices(narrows: Run) -> None:
    rows = [
        json.loads(line)
        for line in narrows(
            "conform", "--cc", "sack,quic", "--only", "decrease", "--skip", "D8,D6", "--json"
        ).stdout.splitlines()
    ]
    assert {row["cc"] for row in rows} == {"sack", "quic"}
    assert all(row["engine"] == _core.engine() for row in rows)
    quic = [row["id"] for row in rows if row["cc"] == "quic"]
    assert quic == ["D1", "D2", "D3", "D4", "D5", "D7", "D9"]
    listed = narrows("conform", "--list").stdout
    said = " ".join(listed.split())
    assert all(check.asks in said and check.quote in said for check in checks().values())
    assert [check.id for check in checks().values() if not check.quote] == ["X8"]
    assert all(len(line) <= 80 for line in listed.splitlines())
    assert narrows("conform").returncode == 2
    assert narrows("conform", "--cc", "sack", "--only", "D1", "--skip", "D*").returncode == 2
    assert narrows("conform", "--cc", "sack,sack", "--only", "D1").returncode == 2
    strict = ("conform", "--cc", "cubic+quic", "--only", "U5")
    assert narrows(*strict).returncode == 0
    assert narrows(*strict, "--strict").returncode == 1


def _median_flight(flight: Sequence[tuple[float, float]], start: float, end: float) -> float:
    """Return the median over time of what is in flight, between two times."""
    times, packets = np.array(flight).T
    inside = (times > start) & (times < end)
    before = packets[np.searchsorted(times, start, side="right") - 1]
    values = np.concatenate([[before], packets[inside]])
    lasting = np.diff(np.concatenate([[start], times[inside], [end]]))
    order = np.argsort(values)
    summed = np.cumsum(lasting[order])
    return float(values[order][np.searchsorted(summed, summed[-1] / 2)])


@pytest.mark.parametrize("cc", ["cubic", "sack", "cubic+quic", "quic"])
def test_what_is_in_flight_is_the_window_that_the_law_tells(cc: str) -> None:
    """Section 6.2 of the checks' specification: within 2 % in each round."""
    found = nw.conform(cc, only="D1,D4,D6,R1,E1,G1,G2")
    for row in found.rows:
        if not row.scenarios:
            continue
        scenario = row.scenarios[-1]
        flight = observe(found, scenario).flight
        described = json.loads(scenario) | {"sample": "5ms"}
        series = nw.run(nw.Scenario(**described)).flow_series
        times, windows = series["time"].to_numpy(), series["window"].to_numpy()
        rtt = _core.seconds("rtt", described["rtt"])
        for start in np.arange(2, _core.seconds("duration", described["duration"]) - rtt, 0.5):
            told = float(np.median(windows[(times > start) & (times <= start + rtt)]))
            seen = _median_flight(flight, start, start + rtt)
            assert seen == pytest.approx(told, rel=0.02), f"{row.check.id} at {start} s"

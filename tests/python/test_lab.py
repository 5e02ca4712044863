"""Real connections, where the machine allows them; what is left out is said in the skip."""

from __future__ import annotations

import json
from pathlib import Path

import narrows as nw
import pytest
from binary import Run
from narrows import lab

SMALL = """
duration = "3s"
[dumbbell]
rate = "20Mbps"
rtt = "20ms"
buffer = "20p"
[[flows]]
cc = "cubic"
count = 2
"""


def test_doctor_tells_each_thing_and_what_to_do(narrows: Run) -> None:
    done = narrows("doctor")
    able = all(check.is_there or not check.is_needed for check in lab.doctor())
    assert done.returncode == (0 if able else 1)
    for name in ("TUN", "namespaces", "congestion controls", "BTF"):
        assert name in done.stdout


def test_a_file_runs_for_real(narrows: Run, tmp_path: Path) -> None:
    missing = [check for check in lab.doctor() if check.is_needed and not check.is_there]
    if missing:
        pytest.skip(f"left out 1 test of the lab: {missing[0].name}: {missing[0].told}")
    (tmp_path / "small.toml").write_text(SMALL)
    done = narrows("lab", "run", "small.toml", "--json", "-o", "out")
    # A busy machine may be too late to be believed; then it says so.
    record = json.loads(done.stdout)
    assert done.returncode == (0 if record["valid"] else 1), done.stderr
    assert record["real"] and 0.2 < record["utilisation"] <= 1.001
    assert record["lateness"]["p50"] <= record["lateness"]["p99"] <= record["lateness"]["p999"]
    assert (tmp_path / "out" / "report.html").exists()
    assert narrows("again", "out").returncode == 2


def test_what_a_kernel_cannot_do_is_named(narrows: Run, tmp_path: Path) -> None:
    (tmp_path / "etcp.toml").write_text(SMALL.replace("cubic", "etcp"))
    done = narrows("lab", "run", "etcp.toml")
    assert done.returncode == 2
    assert "flows[0].cc" in done.stderr
    with pytest.raises(nw.ScenarioError, match="dumbbell: a lab has one bottleneck"):
        lab.run(nw.chain([{"rate": "1Mbps", "delay": "1ms", "buffer": "9p"}]))

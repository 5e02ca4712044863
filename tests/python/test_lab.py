"""Real connections, where the machine allows them; what is left out is said in the skip."""

from __future__ import annotations

import fcntl
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import narrows as nw
from binary import Run
from narrows import kernel, lab
from narrows.conformance import Finding

pytestmark = pytest.mark.xdist_group("lab")

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


def needs_lab(tests: int = 1) -> None:
    """Skip if this machine cannot run a lab, saying why."""
    missing = [check for check in lab.doctor() if check.is_needed and not check.is_there]
    if missing:
        what = f"left out {tests} test{'s' if tests > 1 else ''} of the lab"
        pytest.skip(f"{what}: {missing[0].name}: {missing[0].told}")


def needs_laws() -> None:
    """Skip if no law of ours can be loaded here, saying why."""
    needs_lab()
    for check in lab.doctor():
        if check.name == "laws in the kernel" and not check.is_there:
            pytest.skip(f"left out 1 test of laws in the kernel: {check.told}")


def test_the_kernel_is_judged_by_what_is_on_the_wire() -> None:
    needs_lab()
    found = nw.conform("kernel:reno", only="U1,U2,X8")
    rows = {row.check.id: row for row in found.rows}
    assert rows["X8"].finding is Finding.NOT_ASKED, "real time is never twice the same"
    if Finding.UNDECIDED in (rows["U1"].finding, rows["U2"].finding):
        pytest.skip(f"left out 1 test of the lab: {rows['U1'].seen}")
    assert rows["U1"].number == 10, "RFC 6928"
    assert rows["U2"].finding is Finding.HOLDS, rows["U2"]
    with pytest.raises(nw.Error, match="nobody"):
        nw.conform("kernel:nobody", only="U1")


def controls() -> str:
    return Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text()


def namespaces(process: str = "[0-9]*") -> set[str]:
    """Return the network namespaces that a process, or any, is in or has open."""
    found = set()
    for file in [*Path("/proc").glob(f"{process}/ns/net"), *Path("/proc").glob(f"{process}/fd/*")]:
        try:
            target = os.readlink(file)
        except OSError:
            continue
        if target.startswith("net:["):
            found.add(target)
    return found


def start(*arguments: str, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "narrows", *arguments],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_doctor_tells_each_thing_and_what_to_do(narrows: Run) -> None:
    done = narrows("doctor")
    able = all(check.is_there or not check.is_needed for check in lab.doctor())
    assert done.returncode == (0 if able else 1)
    for name in ("TUN", "namespaces", "congestion controls", "laws in the kernel"):
        assert name in done.stdout


def test_doctor_writes_the_hosts_line_of_this_machine(narrows: Run) -> None:
    needs_lab()
    done = narrows("doctor", "--host", "-t", "300ms")
    assert done.returncode == 0, done.stderr
    line = done.stdout.splitlines()[-1]
    assert line.startswith("host = { batch =")
    text = SMALL.replace('cc = "cubic"', f'cc = "cubic"\n{line}')
    assert "host" in nw.Scenario.from_toml(text).fields["flows"][0]


def test_a_file_runs_for_real(narrows: Run, tmp_path: Path) -> None:
    needs_lab()
    (tmp_path / "small.toml").write_text(SMALL)
    done = narrows("lab", "run", "small.toml", "--json", "-o", "out")
    # A busy machine may be too late to be believed; then it says so.
    record = json.loads(done.stdout)
    assert done.returncode == (0 if record["valid"] else 1), done.stderr
    assert record["real"] and 0.2 < record["utilisation"] <= 1.001
    assert record["lateness"]["p50"] <= record["lateness"]["p99"] <= record["lateness"]["p999"]
    assert record["valid"] or record["warnings"][0].startswith("not valid: ")
    assert (tmp_path / "out" / "report.html").exists()
    assert narrows("again", "out").returncode == 2


def test_laws_of_ours_run_in_the_kernel_and_are_gone_after_it(narrows: Run) -> None:
    needs_laws()
    path = ["--rate", "20Mbps", "--rtt", "20ms", "--buffer", "20p", "-t", "3s", "-P", "2"]
    done = narrows("compare", "--both", *path, "--cc", "etcp:p0=0.02,ltcp", "--json")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(records) == 6, done.stderr
    real = [record for record in records if record.get("real")]
    assert [record["cc"] for record in real] == ["etcp:p0=0.02", "ltcp"]
    assert done.returncode == (0 if all(record["valid"] for record in real) else 1)
    # E-TCP loses more than 2 % where it alone fills the path, LTCP far less.
    assert real[0]["loss_rate"] > 0.02 > real[1]["loss_rate"]
    # A run's laws have numbers behind their names.
    assert not re.search(r"nw_(etcp|ltcp)\d", controls())


STEERS = """
own_recovery = true
on_interval = [
  "rate = if(acked > 3, delivery_rate * if(rtt < 1.2 * conn_min_rtt, 1.1, 0.9), rate)",
  "window = max(10, 2 * rate * srtt)",
]
"""


def test_a_law_of_this_process_steers_kernels_connections(narrows: Run, tmp_path: Path) -> None:
    needs_laws()
    (tmp_path / "law.toml").write_text(STEERS)
    path = ["--rate", "20Mbps", "--rtt", "40ms", "--buffer", "4bdp", "-t", "4s", "-P", "2"]
    done = narrows("compare", "--both", *path, "--cc", "formula:law.toml", "--json")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(records) == 3, done.stderr
    [real] = [record for record in records if record.get("real")]
    # It keeps its queue short, and Linux's default would fill it.
    assert real["utilisation"] > 0.5 and real["loss_rate"] == 0
    assert real["max_queue"] < 0.9 * 4 * 67
    assert "nw_steered" not in controls()


def test_a_law_that_fails_as_it_steers_ends_the_run(narrows: Run, tmp_path: Path) -> None:
    needs_laws()

    class Fails(nw.IntervalController):
        def __init__(self, initial_window: float) -> None:
            pass

        def on_interval(self, it: nw.Interval) -> float:
            raise ValueError("no idea")

    with pytest.raises(ValueError, match="no idea"):
        lab.run(nw.dumbbell("20Mbps", "20ms", "20p", cc=Fails, duration="1s"))
    bad = 'own_recovery = true\non_interval = ["window = if(now > 0.5, 0, 20)"]'
    (tmp_path / "bad.toml").write_text(bad)
    path = ["--rate", "20Mbps", "--rtt", "20ms", "--buffer", "20p", "-t", "1s"]
    done = narrows("compare", "--real", *path, "--cc", "formula:bad.toml")
    assert done.returncode == 1, done.stderr
    assert "narrows: formula:bad.toml: window became 0, which is not from" in done.stderr
    (tmp_path / "ack.toml").write_text('on_ack = ["window = window + packets / window"]')
    done = narrows("compare", "--real", *path, "--cc", "formula:ack.toml")
    assert done.returncode == 2, done.stderr
    assert '"formula:ack.toml": it decides at each acknowledgement' in done.stderr


def test_laws_are_loaded_and_unloaded(narrows: Run) -> None:
    needs_laws()
    if "nw_htcp" in controls():
        pytest.skip("left out 1 test: nw_htcp is loaded by somebody")
    done = narrows("kernel", "load", "htcp:beta=0.6")
    assert done.returncode == 0 and done.stdout == "nw_htcp\n", done.stderr
    try:
        assert "nw_htcp" in controls()
        assert kernel.Installed("nw_htcp", ["beta=0.6"]) in kernel.installed()
        assert narrows("kernel", "load", "htcp").returncode == 2
        assert "beta=0.6" in narrows("kernel", "list").stdout
    finally:
        assert narrows("kernel", "unload", "htcp").returncode == 0
    assert "nw_htcp" not in controls()


def test_what_no_kernel_can_do_is_said(narrows: Run) -> None:
    for law, said in {
        "cubic": '"cubic" is not a law that narrows has for the kernel; known: bic, etcp,',
        "etcp:start=delay": "start: the kernel's law ends slow start at the first loss only",
        "etcp:b=1e9": "b: 1000000000 is above 1048576",
        "ltcp:gamma=1": 'unknown setting of ltcp "gamma"',
    }.items():
        done = narrows("kernel", "load", law)
        assert done.returncode == 2 and said in done.stderr, done.stderr
    done = narrows("kernel", "unload", "nw_nothing")
    assert done.returncode in (1, 2)


def test_a_path_stands_for_other_programs(narrows: Run, tmp_path: Path) -> None:
    needs_lab()
    name = f"t{os.getpid()}"
    path = ["--rate", "50Mbps", "--rtt", "10ms", "--buffer", "0.5bdp", "--queue", "fq-codel"]
    up = start("lab", "up", "--name", name, *path, cwd=tmp_path)
    try:
        assert up.stdout is not None
        assert up.stdout.readline().startswith("left is 10.77.0.1")
        serve = (
            "import socket; s = socket.create_server(('10.77.0.2', 9)); c = s.accept()[0];"
            "print(sum(len(b) for b in iter(lambda: c.recv(65536), b'')))"
        )
        right = start(
            "lab", "exec", "--name", name, "right", "--", sys.executable, "-c", serve, cwd=tmp_path
        )
        send = (
            "import socket, time\nfor _ in range(100):\n"
            "    try: s = socket.create_connection(('10.77.0.2', 9)); break\n"
            "    except ConnectionRefusedError: time.sleep(0.05)\n"
            "s.sendall(bytes(1000000))"
        )
        left = narrows("lab", "exec", "--name", name, "left", "--", sys.executable, "-c", send)
        assert left.returncode == 0, left.stderr
        assert right.communicate(timeout=20)[0] == "1000000\n"
        assert narrows("lab", "up", "--name", name).returncode == 2
        missing = narrows("lab", "exec", "--name", name, "left", "--", "no-such-command")
        assert missing.returncode == 2 and "no-such-command" in missing.stderr
        assert narrows("lab", "down", "--name", name).returncode == 0
        assert up.wait(timeout=5) == 0
    finally:
        up.kill()
        up.communicate()
    assert narrows("lab", "exec", "--name", name, "left", "--", "true").returncode == 2


SERVE = (
    "import socket; s = socket.create_server(('0.0.0.0', 8099)); c = s.accept()[0];"
    "c.sendall(bytes(2000000)); c.close()"
)
FETCH = (
    "import os, socket, time\nfor _ in range(200):\n"
    "    try: s = socket.create_connection(('{peer}', 8099)); break\n"
    "    except ConnectionRefusedError: time.sleep(0.02)\n"
    "began = time.monotonic(); got = sum(len(b) for b in iter(lambda: s.recv(65536), b''))\n"
    "print(got, time.monotonic() - began)"
)


@pytest.fixture
def alone() -> Iterator[None]:
    """Hold what tests of devices of this machine's own network must not share."""
    with (Path(tempfile.gettempdir()) / "narrows-devices.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.mark.usefixtures("alone")
def test_a_command_has_a_path_of_its_own(narrows: Run, tmp_path: Path) -> None:
    needs_lab()
    beside = ("--beside", f'{sys.executable} -c "{SERVE}"')
    fetch = ("--", sys.executable, "-c", FETCH.format(peer="10.77.0.1"))
    path = ("--rate", "20Mbps", "--rtt", "10ms", "--buffer", "1bdp")
    before = devices()
    done = narrows("lab", "exec", *path, *beside, *fetch)
    assert done.returncode == 0, done.stderr
    got, seconds = done.stdout.split()
    # 2 MB at 20 Mbps take 0.8 s, headers included 0.83 s.
    assert int(got) == 2_000_000 and 0.8 < float(seconds) < 2.0, done.stdout
    assert "to the command" in done.stderr and "late" in done.stderr
    # Behind another path: both delays, and the slower rate.
    trace = tmp_path / "slow.trace"
    trace.write_text("1\n2\n")
    inner = (sys.executable, "-m", "narrows", "lab", "exec", "--trace", str(trace), *fetch)
    done = narrows("lab", "exec", *path, *beside, "--", *inner)
    assert done.returncode == 0, done.stderr
    got, seconds = done.stdout.split()
    # 12 Mbps of packets of 1500 bytes.
    assert int(got) == 2_000_000 and 1.33 < float(seconds) < 3.0, done.stdout
    assert devices() == before
    assert narrows("lab", "exec", *path, "--", "false").returncode == 1
    missing = narrows("lab", "exec", *path, "--", "no-such-command")
    assert missing.returncode == 2 and "no-such-command" in missing.stderr
    for wrong, said in {
        ("--beside", "true", "--", "true"): "--beside",
        ("--file", "none.toml", "--", "true"): "none.toml",
        ("--file", "none.toml", "--rate", "1Mbps", "--", "true"): "leave the other options",
        ("true",): "say left or right",
    }.items():
        done = narrows("lab", "exec", *wrong)
        assert done.returncode == 2 and said in done.stderr, done.stderr


def devices() -> set[str]:
    return {device.name for device in Path("/sys/class/net").iterdir()}


CHANGING = SMALL.replace(
    "[dumbbell]",
    '[dumbbell]\nrepeat = "200ms"\nchanges = [{ at = "100ms", rate = "5Mbps", rtt = "30ms" }]',
)


@pytest.mark.usefixtures("alone")
def test_a_killed_lab_leaves_nothing(tmp_path: Path, narrows: Run) -> None:
    needs_lab()
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    moments = random.Random(seed)
    (tmp_path / "small.toml").write_text(CHANGING)
    name = f"k{os.getpid()}"
    commands = [
        ("lab", "run", "small.toml"),
        ("lab", "up", "--name", name, "--file", "small.toml"),
        ("lab", "exec", "--file", "small.toml", "--", "sleep", "0.5"),
    ]
    before = devices()
    own, made = namespaces("self"), set()
    for number in range(20):
        process = start(*commands[number % 3], cwd=tmp_path)
        # From before it begins to the middle of a run.
        time.sleep(moments.uniform(0.1, 1.0))
        made |= namespaces(str(process.pid)) - own
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert made, "no process had come so far"
    # A command that ran behind a path ends by itself.
    time.sleep(0.6)
    assert not made & namespaces()
    assert devices() == before
    assert narrows("lab", "down", "--name", name).returncode == 2
    Path(f"/run/narrows/{name}.json").unlink(missing_ok=True)


def test_what_a_kernel_cannot_do_is_named(narrows: Run, tmp_path: Path) -> None:
    (tmp_path / "xcp.toml").write_text(SMALL.replace("cubic", "xcp"))
    done = narrows("lab", "run", "xcp.toml")
    assert done.returncode == 2
    assert "flows[0].cc" in done.stderr
    with pytest.raises(nw.ScenarioError, match="dumbbell: a lab has one bottleneck"):
        lab.run(nw.chain([{"rate": "1Mbps", "delay": "1ms", "buffer": "9p"}]))
    done = narrows("compare", "--real", "--both")
    assert done.returncode == 2 and "--both" in done.stderr

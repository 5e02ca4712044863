"""Judgements: the sandbox against attacks, the marks by hand, the answer as programs read it."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shlex
import shutil
import subprocess
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import narrows as nw
from binary import BINARY, Run
from narrows.errors import Error
from narrows.judging import doors
from narrows.judging.bench import COMPILES
from narrows.judging.marks import Marks, marks, reasons
from narrows.judging.remote import Cell, LawError, law_in
from narrows.judging.suite import KINDS, cases

ROOT = Path(__file__).resolve().parents[2]
needs_a_sandbox = pytest.mark.skipif(
    bool(doors.missing()), reason=f"no sandbox here: {'; '.join(doors.missing())}"
)

RENO = """
import narrows as nw
class Reno(nw.Controller):
    def __init__(self, initial_window):
        self.cwnd, self.ssthresh = initial_window, float("inf")
    def on_ack(self, ack):
        if ack.window_limited and not ack.recovering:
            slow = self.cwnd < self.ssthresh
            self.cwnd += ack.packets if slow else ack.packets / self.cwnd
    def on_loss(self, loss):
        if loss.opens_epoch:
            self.ssthresh = max(self.cwnd / 2, 2.0)
            self.cwnd = 1.0 if loss.timeout else self.ssthresh
    def window(self):
        return self.cwnd
"""
# A law that does something when it is first told of an acknowledgement.
ATTACK = """
import narrows as nw
class Law(nw.Controller):
    def __init__(self, initial_window):
        self.cwnd = initial_window
    def on_ack(self, ack):
{does}
    def on_loss(self, loss):
        pass
    def window(self):
        return self.cwnd
"""
PATH = nw.dumbbell("10Mbps", "20ms", "20p", cc="reno", duration="2s")


def attack(does: str, *, seconds: int = 2) -> dict[str, str]:
    """What is told of a law that does this."""
    source = ATTACK.format(does=textwrap.indent(textwrap.dedent(does), " " * 8))
    with Cell(source, seconds) as cell, pytest.raises(LawError) as raised:
        nw.run(PATH.with_({"flows[0].cc": law_in(cell)}))
    return raised.value.told


@needs_a_sandbox
@pytest.mark.parametrize(
    ("does", "says"),
    [
        ('open("/etc/passwd").read()', "PermissionError"),
        ('open("/tmp/narrows_was_here", "w").write("x")', "PermissionError"),
        ('open("/proc/self/environ").read()', "PermissionError"),
        ("import os; os.listdir('/')", "PermissionError"),
        ("import os; os.fork()", "PermissionError"),
        ("import os; os.kill(os.getppid(), 9)", "PermissionError"),
        ("import os; os.execv('/bin/true', ['true'])", "PermissionError"),
        ("import socket; socket.socket()", "PermissionError"),
        ("import subprocess; subprocess.run(['true'])", "PermissionError"),
        ("import threading; threading.Thread(target=print).start()", "can't start new thread"),
        ("import time; time.sleep(100)", "PermissionError"),
        ("import urllib.request", "a law may import bisect, collections"),
        ("x = bytearray(8 << 30)", "MemoryError"),
        ("def f(): return f()\nf()", "RecursionError"),
        ("raise SystemExit('done')", "SystemExit: done"),
        ("1 / 0", "ZeroDivisionError"),
        ("self.cwnd = float('nan')", "window() returned NaN"),
        ("self.cwnd = None", "window"),
        ("self.cwnd = 'many'", "could not convert"),
    ],
)
def test_what_a_law_may_not_do_is_told(does: str, says: str) -> None:
    told = attack(does)
    assert told["kind"] == "raised" and says in told["message"], told
    assert not Path("/tmp/narrows_was_here").exists()
    if "window" not in told["message"] and "many" not in does:
        assert told["where"].startswith("law.py:"), told


@needs_a_sandbox
@pytest.mark.parametrize(
    ("does", "kind"),
    [
        ("while True: pass", "time"),
        ("import os; os._exit(7)", "died"),
        ("import ctypes; ctypes.string_at(0)", "died"),
    ],
)
def test_a_law_that_ends_takes_nobody_with_it(does: str, kind: str) -> None:
    assert attack(does, seconds=1)["kind"] == kind
    assert nw.run(PATH).summary["delivered"][0] > 100


# By number: socket, open, openat, execve, fork, clone3, kill, ptrace, io_uring_setup, memfd_create,
# prctl, bpf, process_vm_writev, setrlimit, unshare.
RAW = [41, 2, 257, 59, 57, 435, 62, 101, 425, 319, 157, 321, 311, 160, 272]


@needs_a_sandbox
def test_raw_system_calls_are_refused() -> None:
    """The law has ctypes, as that is loaded in its process; EPERM is 1."""
    does = f"""
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    got = []
    for number in {RAW}:
        got.append((libc.syscall(number, 0, 0, 0, 0, 0), ctypes.get_errno()))
    raise ValueError(got)
    """
    told = attack(does)
    assert told["message"] == f"ValueError: {[(-1, 1)] * len(RAW)}", told
    x32 = "import ctypes; ctypes.CDLL(None).syscall(0x40000000 + 41, 2, 1, 0)"
    assert attack(x32)["kind"] in ("forbidden", "died")


@needs_a_sandbox
@pytest.mark.parametrize(
    ("does", "kind"),
    [
        ("self.cwnd = -1", "bounds"),
        ("self.cwnd = 1e300", "bounds"),
        ("self.cwnd = float('inf')", "bounds"),
    ],
)
def test_answers_out_of_bounds_are_no_answers(does: str, kind: str) -> None:
    source = ATTACK.format(does=f"        {does}")
    with Cell(source, 2) as cell, pytest.raises(ValueError, match="window"):
        nw.run(PATH.with_({"flows[0].cc": law_in(cell)}))


@needs_a_sandbox
@pytest.mark.parametrize(
    ("does", "says"),
    [
        # It writes to the pipe before it is asked, and megabytes.
        (
            "import os\nfor fd in range(3, 20):\n  try: os.write(fd, b'x' * 64)\n"
            "  except OSError: pass",
            "",
        ),
        (
            "import os\nfor fd in range(3, 20):\n  try: os.write(fd, b'x' * (1 << 20))\n"
            "  except OSError: pass",
            "",
        ),
    ],
)
def test_a_law_that_writes_to_its_pipe_is_not_believed(does: str, says: str) -> None:
    told = attack(does)
    assert told["kind"] in ("bounds", "died", "raised", "time"), told


@needs_a_sandbox
def test_a_law_prints_to_nobody_and_remembers_nothing() -> None:
    """Each run begins a process: what a class keeps is gone."""
    source = (
        RENO
        + "\nSEEN = []\n"
        + textwrap.dedent("""
    class Law(Reno):
        def __init__(self, initial_window):
            print("hello", flush=True)
            super().__init__(initial_window)
            SEEN.append(1)
            if len(SEEN) > 1:
                raise ValueError("I have been here")
    """)
    )
    with Cell(source) as cell:
        law = law_in(cell)
        results = [nw.run(PATH.with_({"flows[0].cc": law})) for _ in range(3)]
    assert len({result.flows["goodput"][0] for result in results}) == 1


@needs_a_sandbox
def test_a_shut_in_law_does_what_it_does_outside(tmp_path: Path) -> None:
    """Reno's law as a file, in the sandbox and trusted: the same answer, but for its cost."""
    (tmp_path / "law.py").write_text(RENO)
    told = []
    for trusted in (False, True):
        judged = nw.judge(str(tmp_path / "law.py"), key="a", count=4, seeds=1, trusted=trusted)
        assert judged.status == "judged", judged.told["failures"]
        kept = {name: judged.told[name] for name in ("score", "against", "worst")}
        told.append(json.dumps(kept))
    assert told[0] == told[1]
    built_in = nw.judge("reno", key="a", count=4, seeds=1)
    assert built_in.score == pytest.approx(json.loads(told[0])["score"]["total"], abs=8)


@needs_a_sandbox
def test_the_command_answers_with_one_json(narrows: Run, tmp_path: Path) -> None:
    law = tmp_path / "law.py"
    law.write_text(ATTACK.format(does="        if ack.now > 1: 1 / 0"))
    ran = narrows("judge", str(law), "--count", "8", "--seeds", "1", "--key", "k", "--json")
    assert ran.returncode == 1, ran.stderr
    told = json.loads(ran.stdout)
    assert told["status"] == "failed"
    first = told["failures"][0]
    assert (first["kind"], first["where"]) == ("raised", "law.py:7")
    assert "ZeroDivisionError" in first["message"]
    assert first["repeat"].endswith(f"--only {first['id']}") and "--key k" in first["repeat"]
    again = narrows(
        "judge", str(law), "--key", "k", "--only", first["id"], "--count", "8", "--seeds", "1"
    )
    assert again.returncode == 1 and "ZeroDivisionError" in again.stdout
    law.write_text(RENO)
    shown = narrows("judge", str(law), "--count", "3", "--seeds", "1")
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert len(lines) <= 24 and lines[0].split() == [
        "kind",
        "score",
        "goodput",
        "delay",
        "loss",
        "fair",
    ]
    (tmp_path / "there.json").write_text("mine")
    for wrong, says in (
        (["reno", "-o", "there.json"], "there.json: it exists; --force replaces it"),
        (["nowhere.py"], "nowhere.py"),
        (["reno", "--only", "shown/999"], 'only: there is no "shown/999"'),
        (["reno", "--budget", "0s"], "budget"),
        (["lawless"], 'unknown controller "lawless"'),
    ):
        ran = narrows("judge", *wrong)
        assert ran.returncode == 2 and says in ran.stderr, ran.stderr


def test_a_budget_ends_it_with_what_there_is() -> None:
    judged = nw.judge("reno", key="a", seeds=3, budget=0.7)
    assert judged.status == "budget"
    cost = judged.told["cost"]
    assert 0 < cost["runs"] < cost["of"] and cost["wall"] < 120


def test_keys_draw_others_and_hide_them() -> None:
    one, two = cases("held_out", "one"), cases("held_out", "two")
    assert one == cases("held_out", "one") and one != two
    assert cases("shown") == cases("shown", "any") and len({case.id for case in one}) == 100
    assert [case.kind for case in one[:8]] == list(KINDS)
    # The first ten of a hundred are the ten of ten.
    assert cases("held_out", "one", 10) == one[:10]
    hidden = nw.judge("reno", count=8, seeds=1)
    held = [it for it in hidden.told["scenarios"] if it["id"].startswith("held_out")]
    assert not held and hidden.told["score"]["held_out"]["mean"] is not None
    assert hidden.told["key"] is None
    assert not any(one.startswith("held_out") for one in hidden.told["worst"])


def test_marks_by_hand() -> None:
    """All of a link of 10 Mbit/s, at two base RTTs, without loss: 100 · (1/2)^0.2."""
    case = next(case for case in cases("shown") if case.kind == "alone")
    result = nw.run(case.scenario("reno"), seed=1)
    mark = marks(case, result)
    link = result.links.row(0, named=True)
    assert mark.delay == pytest.approx(1 / (1 + link["delay_p95"] / case.rtt))
    assert mark.goodput == pytest.approx(
        result.flows["arrived"][0] * 12000 / (link["departed_bytes"] * 8 / link["utilisation"])
    )
    expected = 100 * mark.goodput**0.4 * mark.delay**0.2 * mark.loss**0.2
    assert mark.score == pytest.approx(expected)
    worst = Marks(0.3, 0.2, 0.5, 1.0, 20.0, mark.raw | {"recovery": 0.7, "timeouts": 5})
    said = reasons(case, worst)
    assert said[0].startswith("uses 30 % of its share, 70 % of the time in recovery")
    assert len(said) == 3


@needs_a_sandbox
def test_a_law_that_knows_the_suite_is_suspected(tmp_path: Path) -> None:
    """It sends at the rates of the shown scenarios, which it knows by their RTTs."""
    known = {round(case.rtt * 1e3, 3): case.rate / 12000 for case in cases("shown")}
    (tmp_path / "law.py").write_text(f"""
import narrows as nw
KNOWN = {known}
class Law(nw.IntervalController):
    def __init__(self, initial_window):
        self.start = initial_window
    def on_interval(self, it):
        if not it.conn_min_rtt:
            return self.start
        near = min(KNOWN, key=lambda rtt: abs(rtt - 1e3 * it.conn_min_rtt))
        if abs(near - 1e3 * it.conn_min_rtt) > 0.004 * near:
            return 4.0
        rate = 0.9 * KNOWN[near]
        return 3 * rate * it.conn_min_rtt + 4, rate
""")
    judged = nw.judge(str(tmp_path / "law.py"), seeds=1, count=24, against=[])
    assert any("knows the shown scenarios" in it for it in judged.told["suspicions"]), judged.told
    gap = judged.told["score"]["gap"]
    assert gap["low"] > 0


def test_a_law_that_asks_for_marks_and_does_not_answer_is_suspected(tmp_path: Path) -> None:
    reno = """
on_loss = [
  "ssthresh = if(opens_epoch, max(window / 2, 2), ssthresh)",
  "window = if(timeout, 1, if(opens_epoch, ssthresh, window))",
]
on_ack = [
  "grown = if(window < ssthresh, packets, packets / window)",
  "window = if(window_limited and not recovering, window + grown, window)",
"""
    answer = """
  "cuts = marked and now > until",
  "ssthresh = if(cuts, max(window / 2, 2), ssthresh)",
  "window = if(cuts, ssthresh, window)",
  "until = if(cuts, now + srtt, until)",
"""
    laws = {
        "deaf": ("state = { grown = 0, seen = 0 }", '"seen = marked",'),
        "hears": ("state = { grown = 0, cuts = 0, until = 0 }", answer),
        "blind": ("state = { grown = 0 }", ""),
    }
    found = {}
    for name, (state, of_marks) in laws.items():
        file = tmp_path / f"{name}.toml"
        file.write_text(f"{state}{reno}{of_marks}]")
        judged = nw.judge(str(file), count=64, seeds=1, key="a", against=[])
        found[name] = [it for it in judged.told["suspicions"] if "marks" in it]
    assert len(found["deaf"]) == 1 and "does not answer them" in found["deaf"][0]
    assert found["hears"] == found["blind"] == []


def test_a_law_of_chance_is_found_out() -> None:
    class Chance(nw.Controller):
        def __init__(self, initial_window: float) -> None:
            import random  # noqa: PLC0415

            self.cwnd = initial_window + 100 * random.random()

        def on_ack(self, ack: nw.Ack) -> None:
            pass

        def on_loss(self, loss: nw.Loss) -> None:
            pass

        def window(self) -> float:
            return self.cwnd

    judged = nw.judge(Chance, count=8, seeds=1, key="a", against=[])
    assert judged.status == "not deterministic"


def test_interval_laws_hear_what_they_should() -> None:
    rows: list[nw.Interval] = []

    class Keeps(nw.IntervalController):
        seconds = 0.5

        def __init__(self, initial_window: float) -> None:
            self.start = initial_window

        def on_interval(self, it: nw.Interval) -> tuple[float, float]:
            rows.append(it)
            return 1000.0, 400.0

    path = nw.dumbbell("10Mbps", "40ms", "100p", cc=Keeps, duration="10s", warmup="0s")
    flow = nw.run(path).flows.row(0, named=True)
    assert len(rows) == 19 or len(rows) == 20
    assert sum(it.sent for it in rows) == pytest.approx(flow["sent"], abs=250)
    assert rows[5].delivery_rate == pytest.approx(400, rel=0.02)
    assert rows[5].row()[0] == pytest.approx(3.0)

    class Wrong(Keeps):
        def on_interval(self, it: nw.Interval) -> tuple[float, float]:
            return 1000.0, -3.0

    with pytest.raises(ValueError, match=r"on_interval\(\): a rate of -3.0 packets/s"):
        nw.run(path.with_({"flows[0].cc": Wrong}))


def test_doors_are_named_when_they_are_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(doors, "missing", lambda: ["Landlock (the kernel has none)"])
    (tmp_path / "law.py").write_text(RENO)
    with pytest.raises(Error, match=r"Landlock .* --trusted"):
        nw.judge(str(tmp_path / "law.py"), count=1)


@needs_a_sandbox
def test_more_children_than_a_socket_holds() -> None:
    """How children end is heard while others begin."""
    with Cell(RENO) as cell:
        for _ in range(400):
            assert cell.child(10.0).told["name"] == "Reno"
        cell.settle()
        assert cell.spent.calls == 400 and cell.spent.seconds > 0.1


@needs_a_sandbox
@pytest.mark.parametrize(
    "does",
    [
        "import threading; lock = threading.Lock(); lock.acquire(); lock.acquire(timeout=3)",
        "import os\nfor fd in range(3, 20):\n  try: os.write(fd, (b'\\0' + b'\\x20\\0\\0\\0'"
        " + bytes(32)) * 3000)\n  except OSError: pass\nimport threading\n"
        "lock = threading.Lock(); lock.acquire(); lock.acquire()",
    ],
)
def test_a_law_that_waits_does_not_outlast_the_budget(tmp_path: Path, does: str) -> None:
    source = ATTACK.format(does=textwrap.indent(does, " " * 8))
    (tmp_path / "law.py").write_text(source)
    begun = time.monotonic()
    judged = nw.judge(str(tmp_path / "law.py"), count=2, seeds=1, against=[], budget=3)
    assert judged.status in ("budget", "failed")
    assert time.monotonic() - begun < 120


@needs_a_sandbox
def test_a_law_learns_nothing_of_its_place() -> None:
    """Neither frames nor ids nor other processes' clocks tell which run it is in."""
    does = """
    import ctypes, sys
    frame, names = sys._getframe(), set()
    while frame:
        names |= set(frame.f_locals)
        frame = frame.f_back
    libc = ctypes.CDLL(None, use_errno=True)
    box = ctypes.create_string_buffer(16)
    other = libc.syscall(228, ~1 << 3 | 2, ctypes.c_void_p(ctypes.addressof(box)))
    own = libc.syscall(228, 1, ctypes.c_void_p(ctypes.addressof(box)))
    raise ValueError(sorted(names & {"asked", "children", "control", "data", "files"}), other, own,
                     libc.syscall(186))
    """
    assert attack(does)["message"] == "ValueError: ([], -1, 0, -1)"


@needs_a_sandbox
@pytest.mark.parametrize("told", ["[]", "junk", "[" * 50_000, '{"name": "x"}'])
def test_what_a_law_says_of_itself_is_checked(told: str) -> None:
    source = ATTACK.format(does="        pass") + textwrap.dedent(f"""
    import os, struct
    said = {told[:100]!r} * {max(1, len(told) // 100)}
    for fd in range(3, 20):
        try:
            os.write(fd, struct.pack("<BI", 0, len(said)) + said.encode())
        except OSError:
            pass
    """)
    with Cell(source) as cell, pytest.raises(LawError, match="cannot be read"):
        law_in(cell)


@needs_a_sandbox
def test_laws_that_ask_for_marks_are_run_with_aqms(tmp_path: Path) -> None:
    for law in ("prague", "dctcp", "bbr"):
        judged = nw.judge(law, count=8, seeds=1, only="shown/007", against=[])
        assert judged.status == "judged", judged.told["failures"]
    source = RENO.replace("    def __init__", "    ecn = 'classic'\n    def __init__")
    source += "    def on_mark(self, mark):\n        pass\n"
    (tmp_path / "law.py").write_text(source)
    judged = nw.judge(str(tmp_path / "law.py"), count=8, seeds=1, only="shown/007", against=[])
    assert judged.status == "judged", judged.told["failures"]


@needs_a_sandbox
@needs_a_sandbox
def test_a_law_is_told_when_and_at_what_it_failed(tmp_path: Path) -> None:
    late = "        if ack.now > 2: raise KeyError(ack.now)"
    (tmp_path / "law.py").write_text(ATTACK.format(does=late))
    told = nw.judge(str(tmp_path / "law.py"), count=4, seeds=1, against=[]).told
    first = told["failures"][0]
    assert (first["kind"], first["event"], first["where"][:6]) == ("raised", "on_ack", "law.py")
    assert 2 < first["at"] < 4 and first["repeat"].endswith(f"--only {first['id']}")
    shown = ["repeat" in it for it in told["failures"]]
    assert shown == sorted(shown, reverse=True) and not all(shown)
    assert all("at" not in it for it in told["failures"] if "repeat" not in it)


@needs_a_sandbox
def test_a_class_that_is_deaf_to_marks_is_suspected(tmp_path: Path) -> None:
    marked = '    ecn = "classic"\n'
    for name, more, trusted in [
        ("deaf", f"{marked}    def on_mark(self, mark): pass\n", False),
        ("hears", f"{marked}    def on_mark(self, mark): self.on_loss(mark)\n", True),
    ]:
        file = tmp_path / f"{name}.py"
        file.write_text(f"{RENO}{more}")
        judged = nw.judge(file, count=8, seeds=1, key="a", against=[], trusted=trusted)
        told = [it for it in judged.told["suspicions"] if "does not answer them" in it]
        assert len(told) == (name == "deaf"), judged.told["suspicions"]


@needs_a_sandbox
def test_what_a_class_says_of_itself_is_told_in_json(tmp_path: Path) -> None:
    for says, told in [
        ('ecn = "classic"', "ecn is set, and there is no on_mark"),
        ('ecn = "ECT(1)"', 'ecn is "ECT(1)"; try "classic", "scalable" or ""'),
    ]:
        (tmp_path / "law.py").write_text(f"{RENO}    {says}\n")
        judged = nw.judge(tmp_path / "law.py", count=2, seeds=1, against=[])
        (failure,) = judged.told["failures"]
        assert (judged.status, failure["kind"]) == ("failed", "bounds")
        assert failure["message"].startswith(told)


@needs_a_sandbox
def test_a_law_that_never_answers_costs_a_few_seconds(tmp_path: Path) -> None:
    """Neither the whole budget nor ten runs of ten seconds."""
    (tmp_path / "law.py").write_text(ATTACK.format(does="        while True: pass"))
    judged = nw.judge(tmp_path / "law.py", count=40, seeds=3, against=[], seconds=1)
    late = [it["kind"] for it in judged.told["failures"]]
    assert set(late) == {"time"} and len(late) < 10 and judged.status == "failed"


def test_what_fails_in_secret_stays_there(tmp_path: Path) -> None:
    (tmp_path / "law.py").write_text(
        ATTACK.format(does="        raise ValueError(ack.min_rtt, ack.now)")
    )
    judged = nw.judge(str(tmp_path / "law.py"), count=2, seeds=1, against=[])
    held = [it for it in judged.told["failures"] if it["id"].startswith("held_out")]
    assert held and all(
        (it["id"], it["message"]) == ("held_out", "ValueError") and "repeat" not in it
        for it in held
    )


def test_what_fails_in_secret_does_not_name_its_scenario(tmp_path: Path) -> None:
    does = '        raise type(f"rtt {ack.min_rtt}", (Exception,), {})("x")'
    (tmp_path / "law.py").write_text(ATTACK.format(does=does))
    judged = nw.judge(str(tmp_path / "law.py"), count=2, seeds=1, against=[])
    held = [it for it in judged.told["failures"] if it["id"].startswith("held_out")]
    assert held and {it["message"] for it in held} == {"an error of its own"}
    assert not any("where" in it for it in held)


def test_an_answer_that_is_too_long_is_not_called_late(tmp_path: Path) -> None:
    does = "        import os\n        for fd in range(64):\n            try:\n"
    does += "                os.write(fd, b'HELLO' * 1000)\n            except OSError: pass"
    (tmp_path / "law.py").write_text(ATTACK.format(does=does))
    judged = nw.judge(str(tmp_path / "law.py"), count=1, seeds=1, against=[], key="mine")
    told = judged.told["failures"][0]
    assert told["kind"] == "bounds" and "bytes" in told["message"], told


def test_laws_are_named_as_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(Error, match="nobody decides for learner"):
        nw.judge("learner", count=2)
    nw.Policy("plain", [(np.zeros((1, 48)), np.zeros(1))]).save(tmp_path / "p.npz")
    law = f"policy:{tmp_path / 'p.npz'}"
    about = nw.judge(law, count=1, seeds=1, against=[], key="mine").told["law"]
    digest = hashlib.sha256((tmp_path / "p.npz").read_bytes()).hexdigest()
    assert (about["kind"], about["file"], about["sha256"]) == ("policy", "p.npz", digest)
    (tmp_path / "law.toml").write_text('on_ack = ["window = window"]\n')
    formula = f"formula:{tmp_path / 'law.toml'}"
    assert nw.judge(formula, count=1, seeds=1, against=[]).told["law"]["kind"] == "formula"


def test_a_formula_needs_no_sandbox(tmp_path: Path) -> None:
    (tmp_path / "law.toml").write_text(
        'on_ack = ["window = window + if(recovering, 0, packets / window)"]\n'
        'on_loss = ["window = if(opens_epoch, max(window / 2, 2), window)"]\n'
    )
    judged = nw.judge(tmp_path / "law.toml", count=8, seeds=1, key="a", against=[])
    assert judged.status == "judged" and judged.told["law"]["kind"] == "formula"
    assert judged.told["scenarios"][0]["repeat"].startswith(f"narrows judge {tmp_path}/law.toml")


@pytest.fixture(scope="session")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile examples/law.rs as docs/judge.md says."""
    page = (ROOT / "docs" / "judge.md").read_text()
    (line,) = (it for it in page.splitlines() if it.startswith("rustc "))
    assert line == f"{COMPILES} law.rs"
    folder = tmp_path_factory.mktemp("module")
    shutil.copy(ROOT / "examples" / "law.rs", folder)
    subprocess.run(shlex.split(line), cwd=folder, check=True)
    return folder / "law.wasm"


def test_a_law_in_rust_is_compiled_and_judged(
    module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, of_module = (
        nw.judge(file, count=2, seeds=1, key="a", against=[], trusted=True).told
        for file in (module.with_suffix(".rs"), module)
    )
    law = told["law"]
    assert (law["file"], law["kind"], law["sandbox"]) == ("law.rs", "rust", "wasm")
    assert told["score"] == of_module["score"]
    (tmp_path / "bad.rs").write_text("fn main(")
    # As below a make whose jobs nobody passed on.
    for name in ("CARGO_MAKEFLAGS", "MAKEFLAGS", "MFLAGS"):
        monkeypatch.setenv(name, "-j2 --jobserver-auth=1022,1023")
    with pytest.raises(Error, match=r"bad\.rs: rustc says: error: "):
        nw.judge(tmp_path / "bad.rs", trusted=True)
    (tmp_path / "mute.rs").write_text('#[unsafe(no_mangle)] pub extern "C" fn hello() {}')
    with pytest.raises(Error, match=r"mute\.rs: it exports no window\(\)"):
        nw.judge(tmp_path / "mute.rs", trusted=True)
    (tmp_path / "reads.rs").write_text('include!("/etc/passwd");')
    with pytest.raises(Error, match=r"reads\.rs: rustc reads and shows what a source includes"):
        nw.judge(tmp_path / "reads.rs")


def test_a_module_is_judged_as_the_law_that_it_is(module: Path) -> None:
    judged = nw.judge(module, count=16, seeds=1, key="a", against=[])
    builtin = nw.judge("reno", count=16, seeds=1, key="a", against=[])
    assert judged.status == "judged" and judged.told["law"]["sandbox"] == "wasm"
    ours, theirs = (it.told["score"]["kinds"] for it in (judged, builtin))
    # Reno answers marks, and the example does not.
    assert {it: ours[it] for it in ours if it != "aqm"} == {
        it: theirs[it] for it in theirs if it != "aqm"
    }
    assert pickle.loads(pickle.dumps(nw.Wasm.load(module))) == nw.Wasm.load(module)


def test_a_law_whose_first_answer_cannot_be_is_told_of_in_json(
    narrows: Run, tmp_path: Path
) -> None:
    (tmp_path / "law.toml").write_text('state = { window = 0 }\non_ack = ["window = 0"]')
    done = narrows("judge", "law.toml", "--count", "8", "--seeds", "1", "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["status"]) == (1, "failed"), done.stderr
    [failure] = told["failures"]
    assert failure["kind"] == "bounds" and "window became 0" in failure["message"]
    assert told["law"]["kind"] == "formula" and told["cost"]["calls"] is None


def test_a_module_is_a_flows_cc(narrows: Run, module: Path, tmp_path: Path) -> None:
    words = ["compare", "--rate", "10Mbps", "--rtt", "40ms", "--buffer", "20p", "-t", "2s"]
    done = narrows(*words, "--cc", f"reno,2*cubic/wasm:{module}", "--json")
    assert done.returncode == 0, done.stderr
    assert f"wasm:{module}" in done.stdout
    bad = tmp_path / "bad.wasm"
    bad.write_bytes(b"\0asm")
    done = narrows(*words, "--cc", f"wasm:{bad}")
    assert done.returncode == 2
    assert f"{bad}: no WebAssembly module: " in done.stderr
    done = narrows(*words, "--cc", "wasm:bad.wasm:beta=0.5")
    assert done.returncode == 2
    assert "a wasm is a file whose name ends in .wasm, without settings" in done.stderr


def test_a_scenario_names_the_file_that_its_law_was_read_from(module: Path) -> None:
    law = nw.Wasm.load(module)
    scenario = nw.dumbbell("10Mbps", "40ms", "20p", flows=[{"cc": law}], duration="2s")
    read = nw.Scenario.from_toml(scenario.to_toml())
    assert read.fields["flows"][0]["cc"] == f"wasm:{module}"
    one, other = nw.run(scenario), nw.run(read)
    assert one.flows.equals(other.flows) and one.flows["cc"].to_list() == [f"wasm:{module}"]
    assert pickle.loads(pickle.dumps(law)).__name__ == law.__name__


def test_a_folder_whose_law_has_changed_says_so(narrows: Run, tmp_path: Path) -> None:
    law = tmp_path / "law.toml"
    law.write_text('state = { window = 10 }\non_ack = ["window = 20"]')
    words = ["compare", "--rate", "10Mbps", "--rtt", "40ms", "--buffer", "20p", "-t", "2s"]
    assert narrows(*words, "--cc", "formula:law.toml", "-o", "out").returncode == 0
    again = narrows("again", "out")
    assert again.returncode == 0 and "another law" not in again.stderr, again.stderr
    law.write_text('state = { window = 10 }\non_ack = ["window = 30"]')
    again = narrows("again", "out")
    assert again.returncode == 1
    assert "law.toml is another law than it was made with" in again.stderr, again.stderr
    law.unlink()
    again = narrows("again", "out")
    assert again.returncode == 2
    assert "narrows: law.toml: " in again.stderr, again.stderr


def test_a_law_that_is_gone_when_the_runs_are_over_loses_nothing(tmp_path: Path) -> None:
    law = tmp_path / "law.toml"
    law.write_text('state = { window = 10 }\non_ack = ["window = 20"]')
    began = hashlib.sha256(law.read_bytes()).hexdigest()
    words = ["--rate", "1Gbps", "--rtt", "2ms", "-t", "60s", "--cc", "formula:law.toml,cubic"]
    command = [str(BINARY), "compare", *words, "-o", "out"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        while not (tmp_path / ".out.part").exists() and process.poll() is None:
            time.sleep(0.01)
        law.write_text("half = ")
        _, errors = process.communicate(timeout=100)
    assert process.returncode == 0, errors
    made = json.loads((tmp_path / "out" / "made.json").read_text())
    assert made["laws"] == {"law.toml": began}


def test_the_way_out_of_a_trusted_law_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "law.py").write_text(ATTACK.format(does="        raise SystemExit(0)"))
    law = str(tmp_path / "law.py")
    judged = nw.judge(law, count=1, seeds=1, trusted=True, against=[])
    assert judged.status == "failed" and "SystemExit" in judged.told["failures"][0]["message"]


@needs_a_sandbox
def test_landlock_holds_where_the_filter_is_not() -> None:
    """In a child that has given up files only."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        said = b"opened"
        try:
            assert doors._libc is not None
            doors._libc.prctl(doors._PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            doors._landlock()
            os.close(os.open("/etc/passwd", os.O_RDONLY))
        except PermissionError:
            said = b"refused"
        os.write(writer, said)
        os._exit(0)
    os.close(writer)
    said = os.read(reader, 10)
    os.close(reader)
    os.waitpid(child, 0)
    assert said == b"refused"

"""`narrows lab up`, `exec` and `down`: a real path that stands for anybody's programs."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from narrows import _core
from narrows.errors import Error
from narrows.scenario import Scenario
from narrows.terminal import complain, live, put, tell
from narrows.trace_files import fields_beside

# Where a standing path says that it stands.
PLACE = Path("/run/narrows")
# How long `down` waits, and a command that is told to end has.
PATIENCE = 5.0
# How long a server has to begin before the command does.
BESIDE = 0.3
# How often the line is written where standard error is no terminal.
QUIET_SECONDS = 10.0
ENDS = {"left": "10.77.0.1", "right": "10.77.0.2"}

_Way = tuple[int, int, int, int, int, list[float], int]


@dataclass(frozen=True)
class StandingPath:
    """A standing path: its process, when that began, and the files of its namespaces."""

    pid: int
    begun: str
    left: str
    right: str

    @property
    def stands(self) -> bool:
        """Whether its process lives."""
        return _begun(self.pid) == self.begun


def _begun(pid: int) -> str | None:
    """Return when a process began, in the kernel's ticks; None if there is none any more."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return None if state in "ZX" else rest[18]
    except (OSError, IndexError, ValueError):
        return None


def _file(name: str) -> Path:
    if not re.fullmatch("[a-z0-9][a-z0-9-]*", name):
        raise Error(f'--name: "{name}" is not made of a-z, 0-9 and -, the first no -; try lab')
    return PLACE / f"{name}.json"


# What becomes of a process that is to run a command elsewhere: the first word is the namespace.
# It ends with this process, however that ends (PR_SET_PDEATHSIG is 1, SIGTERM is 15).
ENTERS = (
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 15); from narrows import _core; "
    "sys.argv[1] and _core.enter(sys.argv[1]); os.execvp(sys.argv[2], sys.argv[2:])"
)
# What a path is like unless it is said.
USUAL = {"rate": "100Mbps", "rtt": "50ms", "buffer": "1bdp"}
# Of single packets, which bursts of up to 64 kB are not.
OF_PACKETS = ("script", "policer", "shaper")


def path_of(
    given: Mapping[str, str | None],
    up_rate: str | None,
    up_trace: str | None,
    file: Path | None,
    seed: int,
    single: bool,
) -> Scenario:
    """Return a scenario whose dumbbell is the path that options describe."""
    said = {field: value for field, value in given.items() if value is not None}
    back = {"rate": up_rate, "trace": up_trace}
    back = {field: value for field, value in back.items() if value is not None}
    if file is not None:
        if said or back:
            raise Error("--file: has the whole path; leave the other options of it out")
        scenario = Scenario.load(file)
        path = scenario.fields.get("dumbbell")
        if path is None:
            raise Error(f"{file}: has no [dumbbell]; a path is one")
        ways = (path, path.get("reverse", {}))
        if not single and (found := [name for name in OF_PACKETS for way in ways if name in way]):
            raise Error(f"{file}: dumbbell.{found[0]} is of single packets; say --single")
        # What a path has is checked against the time of a run.
        about = {name: scenario.fields[name] for name in ("duration",) if name in scenario.fields}
        return Scenario(seed=seed, dumbbell=path, flows=[{"cc": "cubic"}], **about)
    usual = {name: value for name, value in USUAL.items() if name != "rate" or "trace" not in said}
    path = fields_beside({**usual, **said, **({"reverse": back} if back else {})}, Path.cwd())
    return Scenario(seed=seed, dumbbell=path, flows=[{"cc": "cubic"}])


def standing(name: str) -> StandingPath | None:
    """Return the path of that name that stands, if one does."""
    try:
        path = StandingPath(**json.loads(_file(name).read_text()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise Error(f"{_file(name)}: it does not say which path stands: {error}") from None
    return path if path.stands else None


def up(scenario: Scenario, name: str, single: bool) -> None:
    """Let a path stand, with a line that says how it is, until Ctrl-C or `down`."""
    file = _file(name)
    with _alone(name):
        line = _Line(file, name)
        try:
            _core.stand(scenario.core, scenario.seed, single, False, line)
        finally:
            line.end()
            file.unlink(missing_ok=True)


@contextmanager
def _alone(name: str) -> Iterator[None]:
    """Hold the name while a path of that name stands; the kernel lets it go if the process dies."""
    PLACE.mkdir(exist_ok=True)
    with (PLACE / f"{name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            other = standing(name)
            state = f"stands already, in process {other.pid}" if other else "is being set up"
            raise Error(
                f"a path called {name} {state}; narrows lab down --name {name}, or another --name"
            ) from None
        yield


class _Line:
    """Writes the file that says that the path stands, then a line now and then."""

    def __init__(self, file: Path, name: str) -> None:
        self._file = file
        self._name = name
        self._next = 0.0
        self._before: tuple[float, int] | None = None
        self._live = sys.stderr.isatty()

    def __call__(
        self, left: Path, right: Path, _addresses: Sequence[str], ways: list[_Way]
    ) -> None:
        now = time.monotonic()
        if not self._next:
            self._begin(left, right)
        rate = 0.0
        sent = ways[0][4]
        if self._before:
            then, before = self._before
            rate = 8e-6 * (sent - before) / max(now - then, 1e-9)
        if now < self._next:
            return
        self._before = (now, sent)
        self._next = now + (0.5 if self._live else QUIET_SECONDS)
        text = _told(ways, rate)
        if self._live:
            live(text[: shutil.get_terminal_size().columns - 1])
        elif any(way[1] for way in ways):
            complain(text)

    def _begin(self, left: Path, right: Path) -> None:
        pid = os.getpid()
        said = {"pid": pid, "begun": _begun(pid), "left": str(left), "right": str(right)}
        fresh = self._file.with_suffix(".new")
        fresh.write_text(json.dumps(said))
        fresh.replace(self._file)
        named = "" if self._name == "lab" else f" --name {self._name}"
        put(
            f"left is {ENDS['left']}, right is {ENDS['right']}\n"
            f"in other terminals: narrows lab exec{named} right -- COMMAND, "
            f"narrows lab exec{named} left -- COMMAND\n"
            f"Ctrl-C, or narrows lab down{named}, takes it down"
        )

    def end(self) -> None:
        """Leave the line."""
        if self._live and self._next:
            tell("")


def _told(ways: list[_Way], megabits: float) -> str:
    """Say in a line how a path is: the way there, and the worse lateness of both."""
    queue, arrivals, drops, marks, _, _, _ = ways[0]
    late = [max(way[5][place] for way in ways) for place in range(3)]
    stalls = sum(way[6] for way in ways)
    share = f"{100 * drops / arrivals:.2f} %" if arrivals else "-"
    marked = f", {marks} marks" if marks else ""
    return (
        f"{megabits:.1f} Mbit/s, queue {queue}, {drops} drops ({share}){marked}, "
        f"late {1e6 * late[0]:.0f}/{1e6 * late[1]:.0f}/{1e6 * late[2]:.0f} us, {stalls} stalls"
    )


def execute(name: str, end: str, command: list[str]) -> None:
    """Become `command` in the namespace at one end of a standing path."""
    path = _must_stand(name)
    if end not in ENDS:
        raise Error(f'"{end}" is not an end of a path; known: left, right')
    if shutil.which(command[0]) is None:
        raise Error(f"{command[0]}: there is no such command")
    _core.enter(path.left if end == "left" else path.right)
    os.execvp(command[0], command)


class _EndedError(Exception):
    """The command has ended, and so does its path."""


class _Behind:
    """Runs a command behind a path as soon as that stands, and another before it."""

    def __init__(self, command: list[str], beside: str | None) -> None:
        self.ways: list[_Way] = []
        self.status = 0
        self.began = 0.0
        self._command = command
        self._beside = beside
        self._processes: list[subprocess.Popen[bytes]] = []

    def __call__(
        self, _here: Path, there: Path, addresses: Sequence[str], ways: list[_Way]
    ) -> None:
        self.ways = ways
        if not self._processes:
            self._begin(there, addresses)
        status = self._processes[0].poll()
        if status is not None:
            self.status = status
            raise _EndedError

    def _begin(self, there: Path, addresses: Sequence[str]) -> None:
        here, own = addresses
        environment = {**os.environ, "NARROWS_PEER": here, "NARROWS_OWN": own}
        tell(f"this end is {here}, the command's is {own} (NARROWS_PEER and NARROWS_OWN there)")
        beside = []
        if self._beside:
            words = [sys.executable, "-c", ENTERS, "", "sh", "-c", self._beside]
            server = subprocess.Popen(words, stdout=2, start_new_session=True)
            beside.append(server)
            time.sleep(BESIDE)
            if server.poll():
                raise Error(f"--beside: it ended with status {server.returncode}")
        self.began = time.monotonic()
        enters = [sys.executable, "-c", ENTERS, str(there)]
        command = subprocess.Popen([*enters, *self._command], env=environment)
        self._processes = [command, *beside]
        # The terminal's Ctrl-C is for the command, which may have something to say; its path stands
        # until it ends.
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def end(self) -> None:
        """Stop what still runs."""
        for place, process in enumerate(self._processes):
            if process.poll() is None:
                if place:
                    os.killpg(process.pid, signal.SIGTERM)
                else:
                    process.terminate()
                try:
                    process.wait(PATIENCE)
                except subprocess.TimeoutExpired:
                    process.kill()


def _over(way: _Way, seconds: float) -> str:
    """Say in a line what went one way in all, and how late it was delivered.

    Examples
    --------
    >>> _over((0, 200, 3, 0, 250000, [2e-5, 1e-4, 3e-4], 1), 2.0)
    '1.00 Mbit/s over 2.0 s, 3 drops (1.50 %), late by 20/100/300 us (50, 99, 99.9 %), 1 stalls'
    """
    _, arrivals, drops, marks, sent, late, stalls = way
    share = f" ({100 * drops / arrivals:.2f} %)" if drops else ""
    marked = f", {marks} marks" if marks else ""
    by = "/".join(f"{1e6 * value:.0f}" for value in late)
    return (
        f"{8e-6 * sent / seconds:.2f} Mbit/s over {seconds:.1f} s, {drops} drops{share}{marked}, "
        f"late by {by} us (50, 99, 99.9 %), {stalls} stalls"
    )


def execute_behind(scenario: Scenario, single: bool, command: list[str], beside: str | None) -> int:
    """Run a command behind a path of its own; return its exit status."""
    if shutil.which(command[0]) is None:
        raise Error(f"{command[0]}: there is no such command")
    if os.geteuid() != 0:
        _core.become_root()
    behind = _Behind(command, beside)
    try:
        _core.stand(scenario.core, scenario.seed, single, True, behind)
    except _EndedError:
        pass
    finally:
        behind.end()
    if behind.ways:
        seconds = max(time.monotonic() - behind.began, 1e-9)
        for name, way in zip(("to the command", "from it"), behind.ways, strict=True):
            tell(f"{name} {_over(way, seconds)}")
    return behind.status if behind.status >= 0 else 128 - behind.status


def down(name: str) -> None:
    """Take a standing path down, and wait until it is gone."""
    path = _must_stand(name)
    os.kill(path.pid, signal.SIGTERM)
    until = time.monotonic() + PATIENCE
    while path.stands:
        if time.monotonic() > until:
            raise RuntimeError(f"process {path.pid} has not ended in {PATIENCE:.0f} s")
        time.sleep(0.02)


def _must_stand(name: str) -> StandingPath:
    path = standing(name)
    if path is None:
        raise Error(f"no path called {name} stands; narrows lab up lets one stand")
    return path

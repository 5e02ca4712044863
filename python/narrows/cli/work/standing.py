"""`narrows lab up`, `exec` and `down`: a real path that stands for anybody's programs."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from narrows import _core
from narrows.errors import Error
from narrows.scenario import Scenario
from narrows.terminal import complain, live, put, tell

# Where a standing path says that it stands.
PLACE = Path("/run/narrows")
# How long `down` waits.
PATIENCE = 5.0
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
            _core.stand(scenario.core, scenario.seed, single, line)
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

    def __call__(self, left: Path, right: Path, ways: list[_Way]) -> None:
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

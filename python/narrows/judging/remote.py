"""Laws that live in another process, as a flow's ``cc``: events go out, numbers come in."""

from __future__ import annotations

import json
import math
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Self

from narrows._core import Ack, Interval, Loss, Mark
from narrows.controller import Controller, IntervalController
from narrows.errors import Error
from narrows.judging import messages

# Seconds after which a law that does not answer is ended, and the least of wall time for all its
# answers in one run, or else so much for each of its own: a machine may have other work.
PATIENCE, LASTS, SLACK = 20, 30.0, 3.0
# Seconds that a law has for an answer when the judgement is nearly over.
SOON = 0.1
# Characters that are told of what a law says, and of its name.
LONGEST, LONGEST_NAME = 200, 40
_NAMES = {"SIGXCPU": "time", "SIGKILL": "killed", "SIGSYS": "forbidden"}


class LawError(Error):
    """What a law did that ends its run.

    Attributes
    ----------
    told
        ``kind``, ``message`` and ``where`` for the verdict.
    about
        What is known of the law.
    """

    def __init__(self, kind: str, message: str, where: str = "") -> None:
        said = line(message)
        super().__init__(f"{kind}: {said} {where}".strip())
        self.told: dict[str, Any] = {"kind": kind, "message": said, "where": where}
        self.about: dict[str, Any] = {}


class OverError(Exception):
    """The time of the judgement is over."""


def line(text: str, longest: int = LONGEST) -> str:
    r"""Return the beginning of a text that a law wrote, on one line.

    Parameters
    ----------
    text
        The text.
    longest
        Characters.

    Returns
    -------
    str
        What can be printed.

    Examples
    --------
    >>> line("first\nsecond", 8)
    'first se'
    """
    return "".join(sign if sign.isprintable() else " " for sign in text[: 4 * longest])[:longest]


@dataclass
class Spent:
    """What laws have cost.

    Attributes
    ----------
    calls
        Events that they were told of.
    seconds
        Of a processor, by those that have ended.
    """

    calls: int = 0
    seconds: float = 0.0


@dataclass
class Cell:
    """The process that forks a child for each law.

    Parameters
    ----------
    source
        The law's file.
    seconds
        How long each child may compute.
    end
        When all is over, by the monotonic clock.
    """

    source: str
    seconds: int = 3
    end: float = math.inf
    spent: Spent = field(default_factory=Spent)

    def __post_init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "PYTHONHASHSEED": "0",
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-m", "narrows.judging.cell", str(theirs.fileno())],
            pass_fds=(theirs.fileno(),),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        theirs.close()
        self._control, self._lock = ours, threading.RLock()
        self._ended: dict[int, tuple[int, float]] = {}
        self._begun = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._control.close()
        self._process.kill()
        self._process.wait()

    def child(self, window: float) -> Child:
        """Begin a law in a child of its own.

        Parameters
        ----------
        window
            The initial window in packets.

        Returns
        -------
        Child
            What hears events.

        Raises
        ------
        LawError
            If its file cannot be run.
        OverError
            If the time is over.
        """
        ours, theirs = socket.socketpair()
        with self._lock:
            self._hear(0.0)
            self._begun += 1
            number = self._begun
            asked = json.dumps({"id": number, "seconds": self.seconds}).encode()
            socket.send_fds(self._control, [asked], [theirs.fileno()])
        theirs.close()
        # What lasts longer fails, without another system call before each.
        left = int(1e6 * min(PATIENCE, max(self.end - time.monotonic(), SOON)))
        waits = struct.pack("@ll", *divmod(left, 1_000_000))
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            ours.setsockopt(socket.SOL_SOCKET, option, waits)
        return Child(self, number, ours, window)

    def _hear(self, wait: float) -> bool:
        """Hear how children have ended; return whether there was anything to hear."""
        with self._lock:
            self._control.settimeout(wait)
            heard = False
            try:
                while told := self._control.recv(messages.LONGEST):
                    ended = json.loads(told)
                    self._ended[ended["id"]] = (ended["status"], ended["seconds"])
                    self.spent.seconds += ended["seconds"]
                    heard = True
                    self._control.settimeout(0.0)
            except (TimeoutError, OSError, ValueError):
                pass
            finally:
                self._control.settimeout(PATIENCE)
            return heard

    def ended(self, number: int, wait: float) -> tuple[int, float] | None:
        """Return how a child ended: its status and its processor seconds; None if it goes on.

        Parameters
        ----------
        number
            Which.
        wait
            Seconds to wait for it.
        """
        until = time.monotonic() + wait
        while number not in self._ended and time.monotonic() < until:
            self._hear(0.05)
        return self._ended.get(number)

    def settle(self) -> None:
        """Wait a little for children whose runs are over, so that all they cost is counted."""
        until = time.monotonic() + 1.0
        while len(self._ended) < self._begun and time.monotonic() < until:
            self._hear(0.05)

    def kill(self, number: int) -> None:
        """End a child.

        Parameters
        ----------
        number
            Which.
        """
        with self._lock:
            self._control.send(json.dumps({"kill": number}).encode())

    def count(self) -> None:
        """Count a call."""
        with self._lock:
            self.spent.calls += 1


class Child:
    """One law in a process of its own."""

    def __init__(self, cell: Cell, number: int, pipe: socket.socket, window: float) -> None:
        self._cell, self._number = cell, number
        self._file = pipe.detach()
        self._lasts = max(LASTS, SLACK * cell.seconds)
        self._end = time.monotonic() + self._lasts
        body = messages.numbers(1).pack(window) + cell.source.encode()
        self.told = _checked(self._ask(messages.BEGIN, body))

    def __del__(self) -> None:
        # The law's process ends when nobody speaks to it.
        os.close(self._file)

    def _read(self, length: int) -> bytes:
        if time.monotonic() > min(self._end, self._cell.end):
            return b""
        return os.read(self._file, length)

    def _write(self, data: bytes) -> int:
        return os.write(self._file, data)

    def _ask(self, kind: int, body: bytes) -> bytes:
        self._cell.count()
        asked = time.monotonic()
        try:
            messages.send(self._write, kind, body)
            said, answer = messages.receive(self._read)
        except messages.ClosedError as error:
            raise self._gone(str(error), asked) from None
        if said == messages.OK:
            return answer
        try:
            told = json.loads(answer)
            message = f"{told['error']}: {told['message']}".removesuffix(": ")
            where = line(str(told["where"]), LONGEST_NAME)
        except (ValueError, KeyError, TypeError, RecursionError):
            message, where = "an error that cannot be read", ""
        raise LawError("raised", message, where)

    def _gone(self, otherwise: str, asked: float) -> Exception:
        """Say why a child does not answer."""
        if time.monotonic() > self._cell.end:
            self._cell.kill(self._number)
            return OverError()
        waited = time.monotonic() - asked
        ended = self._cell.ended(self._number, 0.5)
        if ended is None:
            self._cell.kill(self._number)
            if time.monotonic() > self._end:
                return LawError("time", f"a run of it has lasted {self._lasts:g} s")
            if waited < 0.9 * PATIENCE:
                return LawError("bounds", otherwise)
            return LawError("time", f"no answer in {PATIENCE:g} s")
        status, seconds = ended
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            name = signal.Signals(number).name
            message = f"ended by {name} after {seconds:.1f} s of computing"
            more = "; --seconds gives it more" if name == "SIGXCPU" else ""
            return LawError(_NAMES.get(name, "died"), message + more)
        return LawError("died", f"its process ended by itself; {otherwise}")

    def tell(self, kind: int, values: tuple[float, ...], truths: tuple[bool, ...]) -> Any:
        """Tell it what happened; return window, threshold, rate and timer, NaN for none.

        Parameters
        ----------
        kind
            What.
        values, truths
            The event's fields.
        """
        body = messages.numbers(len(values)).pack(*values) + bytes(truths)
        try:
            return messages.ANSWER.unpack(self._ask(kind, body))
        except struct.error:
            raise LawError("bounds", "an answer that is not four numbers") from None
        except LawError as error:
            error.told |= {"event": messages.EVENTS[kind], "at": values[0]}
            raise


def _checked(answer: bytes) -> dict[str, Any]:
    """Return what a law says of itself, if it says what it should."""
    try:
        told = json.loads(answer)
        name = line(str(told["name"]), LONGEST_NAME) or "Law"
        truths = (
            "by_interval",
            "own_recovery",
            "rate_samples",
            "on_mark",
            "on_timer",
            "pacing_rate",
        )
        checked: dict[str, Any] = {it: bool(told[it]) for it in truths}
        if told["ecn"] not in ("", "classic", "scalable"):
            raise LawError("bounds", f'ecn is "{told["ecn"]}"; try "classic", "scalable" or ""')
        checked |= {"name": name, "ecn": str(told["ecn"])}
        if checked["by_interval"]:
            seconds = told["seconds"]
            checked["seconds"] = None if seconds is None else float(seconds)
        else:
            first = [None if it is None else float(it) for it in told["first"]]
            if len(first) != 4:
                raise ValueError
            checked["first"] = first
        return checked
    except LawError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError):
        raise LawError("bounds", "what it says of itself cannot be read") from None


def _or_nan(value: float | None) -> float:
    return messages.NAN if value is None else float(value)


def _values(event: Any, names: tuple[str, ...]) -> tuple[float, ...]:
    return tuple(_or_nan(getattr(event, name)) for name in names)


def _truths(event: Any, names: tuple[str, ...]) -> tuple[bool, ...]:
    return tuple(bool(getattr(event, name)) for name in names)


def law_in(cell: Cell) -> type[Controller]:
    """Return a class of controllers that stand for the cell's law.

    Parameters
    ----------
    cell
        Where it lives.

    Returns
    -------
    type
        What a flow's ``cc`` may be, named as the law's class.

    Raises
    ------
    LawError
        If the law's file cannot be run.
    """
    told = cell.child(10.0).told
    name = told["name"]
    abilities: dict[str, Any]
    if told["by_interval"]:
        abilities = {"_cell": cell, "seconds": told["seconds"], "ecn": told["ecn"]}
        return type(name, (_RemoteInterval,), abilities)
    first = tuple(_or_nan(it) for it in told["first"])
    abilities = {
        "_cell": cell,
        "_first": first,
        "own_recovery": told["own_recovery"],
        "rate_samples": told["rate_samples"],
        "ecn": told["ecn"],
    }
    for ability in ("on_mark", "pacing_rate"):
        if told[ability]:
            abilities[ability] = getattr(_Remote, f"_{ability}")
    if told["on_timer"]:
        abilities |= {"on_timer": _Remote._on_timer, "timer": _Remote._timer}
    return type(name, (_Remote,), abilities)


class _Remote(Controller):
    """Stands for a law that hears each event."""

    _cell: Cell
    _first: tuple[float, float, float, float]

    def __init__(self, initial_window: float) -> None:
        self._initial_window = initial_window
        # It is born with its first event: a scenario that is only checked needs none.
        self._child: Child | None = None
        self._answer: tuple[float, ...] = self._first
        self._show()

    def _show(self) -> None:
        if self._answer[1] == self._answer[1]:
            self.ssthresh = self._answer[1]

    def _tell(self, kind: int, values: tuple[float, ...], truths: tuple[bool, ...] = ()) -> None:
        if self._child is None:
            self._child = self._cell.child(self._initial_window)
        self._answer = self._child.tell(kind, values, truths)
        self._show()

    def on_ack(self, ack: Ack) -> None:
        self._tell(
            messages.ACK,
            _values(ack, messages.ACK_FIELDS),
            _truths(ack, messages.ACK_TRUTHS),
        )

    def on_loss(self, loss: Loss) -> None:
        self._tell(
            messages.LOSS,
            _values(loss, messages.LOSS_FIELDS),
            _truths(loss, messages.LOSS_TRUTHS),
        )

    def _on_mark(self, mark: Mark) -> None:
        self._tell(
            messages.MARK,
            _values(mark, messages.MARK_FIELDS),
            _truths(mark, messages.MARK_TRUTHS),
        )

    def _on_timer(self, now: float) -> None:
        self._tell(messages.TIMER, (now,))

    def window(self) -> float:
        return self._answer[0]

    def _pacing_rate(self) -> float | None:
        return None if self._answer[2] != self._answer[2] else self._answer[2]

    def _timer(self) -> float | None:
        return None if self._answer[3] != self._answer[3] else self._answer[3]


class _RemoteInterval(IntervalController):
    """Stands for a law that hears of intervals."""

    _cell: Cell

    def __init__(self, initial_window: float) -> None:
        self._initial_window = initial_window
        self._child: Child | None = None

    def on_interval(self, it: Interval) -> tuple[float, float]:
        if self._child is None:
            self._child = self._cell.child(self._initial_window)
        window, _, rate, _ = self._child.tell(messages.INTERVAL, tuple(it.row()), ())
        return window, rate

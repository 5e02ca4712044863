"""Laws that live in another process, as a flow's ``cc``: events go out, numbers come in."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from typing import Any, Self

from narrows._core import Ack, Interval, Loss, Mark
from narrows.controller import Controller, IntervalController
from narrows.errors import Error
from narrows.judging import messages

# Seconds after which a law that does not answer is ended.
PATIENCE = 10
# Its own table of processor seconds by scenario; see `Cell`.
_NAMES = {signal.SIGXCPU: "time", signal.SIGKILL: "killed", signal.SIGSYS: "forbidden"}


class LawError(Error):
    """What a law did that ends its run.

    Attributes
    ----------
    told
        ``kind``, ``message`` and ``where`` for the verdict.
    """

    def __init__(self, told: dict[str, Any]) -> None:
        super().__init__(f"{told['kind']}: {told['message']} {told.get('where', '')}".strip())
        self.told = told


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
    """

    source: str
    seconds: int = 10
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
        ours.settimeout(PATIENCE)
        self._control, self._lock = ours, threading.Lock()
        self._ended: dict[int, tuple[int, float]] = {}
        self._next = 0

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
        """
        ours, theirs = socket.socketpair()
        with self._lock:
            self._next += 1
            number = self._next
            asked = json.dumps({"id": number, "seconds": self.seconds}).encode()
            socket.send_fds(self._control, [asked], [theirs.fileno()])
        theirs.close()
        # A read that lasts longer fails, without another system call before each.
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", PATIENCE, 0))
        return Child(self, number, ours, window)

    def ended(self, number: int, wait: float) -> tuple[int, float] | None:
        """Return how a child ended: its status and its processor seconds; None if it goes on.

        Parameters
        ----------
        number
            Which.
        wait
            Seconds to wait for it.
        """
        with self._lock:
            self._control.settimeout(max(wait, 0.001))
            try:
                while number not in self._ended:
                    told = json.loads(self._control.recv(messages.LONGEST))
                    self._ended[told["id"]] = (told["status"], told["seconds"])
                    self.spent.seconds += told["seconds"]
            except (TimeoutError, OSError, ValueError):
                return None
            finally:
                self._control.settimeout(PATIENCE)
            return self._ended[number]

    def kill(self, number: int) -> None:
        """End a child.

        Parameters
        ----------
        number
            Which.
        """
        with self._lock:
            self._control.send(json.dumps({"kill": number}).encode())


class Child:
    """One law in a process of its own."""

    def __init__(self, cell: Cell, number: int, pipe: socket.socket, window: float) -> None:
        self._cell, self._number = cell, number
        self._file = pipe.detach()
        begun = {"source": cell.source, "window": window}
        data = json.dumps(begun).encode()
        if len(data) > messages.LONGEST:
            raise LawError(
                {
                    "kind": "input",
                    "message": f"the file has {len(data)} bytes; at most "
                    f"{messages.LONGEST} are read",
                    "where": "",
                }
            )
        self.told: dict[str, Any] = json.loads(self._ask(messages.BEGIN, data))

    def __del__(self) -> None:
        # The law's process ends when nobody speaks to it.
        os.close(self._file)

    def _read(self, length: int) -> bytes:
        return os.read(self._file, length)

    def _write(self, data: bytes) -> int:
        return os.write(self._file, data)

    def _ask(self, kind: int, body: bytes) -> bytes:
        self._cell.spent.calls += 1
        try:
            messages.send(self._write, kind, body)
            said, answer = messages.receive(self._read)
        except messages.ClosedError as error:
            raise LawError(self._gone(str(error))) from None
        if said == messages.OK:
            return answer
        try:
            told = json.loads(answer)
            message = f"{told['error']}: {told['message']}"
            where = str(told["where"])
        except (ValueError, KeyError, TypeError):
            message, where = "an error that cannot be read", ""
        raise LawError({"kind": "raised", "message": message, "where": where})

    def _gone(self, otherwise: str) -> dict[str, Any]:
        """Say why a child does not answer."""
        ended = self._cell.ended(self._number, 0.5)
        if ended is None:
            self._cell.kill(self._number)
            return {"kind": "time", "message": f"no answer in {PATIENCE} s", "where": ""}
        status, seconds = ended
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            kind = _NAMES.get(signal.Signals(number), "died")
            message = f"ended by {signal.Signals(number).name} after {seconds:.1f} s of computing"
            return {"kind": kind, "message": message, "where": ""}
        return {"kind": "died", "message": f"its process ended by itself; {otherwise}", "where": ""}

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
            raise LawError(
                {"kind": "bounds", "message": "an answer that is not four numbers", "where": ""}
            ) from None


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
    name = str(told["name"])
    if told["by_interval"]:
        return type(name, (_RemoteInterval,), {"_cell": cell, "seconds": told["seconds"]})
    first = tuple(_or_nan(it) for it in told["first"])
    abilities: dict[str, Any] = {
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

"""The process in which a law runs that nobody trusts: it hears events and answers numbers.

`python -m narrows.judging.cell FD` waits on a socket for pipes. For each it forks a child, which
closes its doors before it compiles the law, so that nothing is left from one scenario to the next.
"""

from __future__ import annotations

# What laws may import is here before the doors close.
import bisect  # noqa: F401
import collections
import collections.abc  # noqa: F401
import contextlib
import dataclasses  # noqa: F401
import enum  # noqa: F401
import functools  # noqa: F401
import io
import itertools  # noqa: F401
import json
import math
import os
import random
import resource
import select
import signal
import socket
import statistics  # noqa: F401
import struct
import sys
import traceback
import typing  # noqa: F401
from collections.abc import Callable
from types import ModuleType
from typing import Any

import narrows
from narrows import _core
from narrows.controller import Controller, IntervalController
from narrows.judging import doors, messages

# What an error says of those that are not.
IMPORTABLE = (
    "bisect, collections, dataclasses, enum, functools, itertools, math, narrows, numpy, random, "
    "statistics, typing"
)
# Characters of what is told of an error.
LONGEST = 2000
FILE = "law.py"
# Seconds between looks for children that have ended.
LOOKS = 0.01


def serve(control: socket.socket) -> tuple[int, int] | None:
    """Fork a child for each pipe that comes, until there are no more.

    Parameters
    ----------
    control
        Brings pipes' descriptors with JSON of ``id`` and ``seconds`` of computing, or the ``kill``
        of one; hears how each child has ended.

    Returns
    -------
    tuple of int or None
        In a child its pipe, and how long it may compute; None when there are no more. Nothing else
        of what this process knows is left in a child's frames.
    """
    children: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([control], [], [], LOOKS if children else None)
        if ready:
            data, files, _, _ = socket.recv_fds(control, messages.LONGEST, 1)
            if not data:
                return None
            asked = json.loads(data)
            if "kill" in asked:
                for child, one in children.items():
                    if one == asked["kill"]:
                        os.kill(child, signal.SIGKILL)
            else:
                child = os.fork()
                if child == 0:
                    control.close()
                    return files[0], asked["seconds"]
                children[child] = asked["id"]
            for file in files:
                os.close(file)
        _reap(control, children)


def _reap(control: socket.socket, children: dict[int, int]) -> None:
    while children:
        child, status, used = os.wait4(-1, os.WNOHANG)
        if child == 0:
            return
        told: dict[str, float] = {"id": children.pop(child), "status": status}
        told["seconds"] = used.ru_utime + used.ru_stime
        # Nobody waits for those who do not listen.
        with contextlib.suppress(BlockingIOError):
            control.send(json.dumps(told).encode(), socket.MSG_DONTWAIT)


def _optional(name: str) -> ModuleType | None:
    try:
        return __import__(name)
    except ImportError:
        return None


class _Nowhere(io.TextIOBase):
    """Where a law prints to."""

    def write(self, text: str) -> int:
        return len(text)


def _live(pipe: int, seconds: int, numpy: ModuleType | None) -> None:
    """Be a law until the pipe closes; never returns."""
    try:
        sys.stdout = sys.stderr = _Nowhere()
        random.seed(0)
        if numpy is not None:
            numpy.random.seed(0)
        doors.shut(seconds, (pipe,))
        _answer(lambda length: os.read(pipe, length), lambda data: os.write(pipe, data))
    except messages.ClosedError:
        pass
    except BaseException:
        # Whatever a law does to its own process, the rest of this program is not for it.
        pass
    os._exit(0)


def _answer(read: Callable[[int], bytes], write: Callable[[bytes], int]) -> None:
    _, body = messages.receive(read, messages.LONGEST_FILE)
    try:
        window = messages.numbers(1)
        source = body[window.size :].decode()
        law = made(source)(window.unpack_from(body)[0])
        told = _abilities(law)
    except BaseException as error:
        messages.send(write, messages.RAISED, _said(error))
        return
    messages.send(write, messages.OK, json.dumps(told).encode())
    hear = _interval if told["by_interval"] else _event
    while True:
        kind, body = messages.receive(read)
        try:
            answer = hear(law, kind, body)
        except BaseException as error:
            messages.send(write, messages.RAISED, _said(error))
            return
        messages.send(write, messages.OK, answer)


def made(source: str) -> type[Controller]:
    """Compile a law's file; return its class.

    Parameters
    ----------
    source
        The file's text.

    Returns
    -------
    type
        The class named ``Law``, or the only one of controllers.

    Raises
    ------
    TypeError
        If there is none, or more than one.
    Exception
        Whatever the file raises.
    """
    space: dict[str, Any] = {"__name__": "law", "__file__": FILE}
    exec(compile(source, FILE, "exec"), space)
    bases = (Controller, IntervalController)
    classes = [
        found
        for found in space.values()
        if isinstance(found, type)
        and issubclass(found, Controller)
        and found not in bases
        and found.__module__ == "law"
    ]
    named = [found for found in classes if found.__name__ == "Law"] or classes
    if len(named) != 1:
        names = ", ".join(found.__name__ for found in named) or "none"
        raise TypeError(
            f"one class of narrows.Controller is wanted, or one named Law; found {names}"
        )
    return named[0]


def _abilities(law: Controller) -> dict[str, Any]:
    """Return what the simulator must know of a law before anything is sent."""
    kind = type(law)

    def has(name: str) -> bool:
        return getattr(kind, name) is not getattr(Controller, name)

    told: dict[str, Any] = {
        "name": kind.__name__,
        "by_interval": isinstance(law, IntervalController),
        "own_recovery": bool(law.own_recovery),
        "rate_samples": bool(law.rate_samples),
        "ecn": str(law.ecn),
        "on_mark": has("on_mark"),
        "on_timer": has("on_timer"),
        "pacing_rate": has("pacing_rate"),
    }
    if isinstance(law, IntervalController):
        told["seconds"] = None if law.seconds is None else float(law.seconds)
        return told
    told["first"] = [None if math.isnan(it) else it for it in _numbers(law)]
    return told


def _number(value: Any, what: str) -> float:
    if value is None:
        return math.nan
    number = float(value)
    if math.isnan(number):
        raise ValueError(f"{what} returned NaN, which is not a number")
    return number


def _numbers(law: Controller) -> tuple[float, float, float, float]:
    threshold = getattr(law, "ssthresh", None)
    window = law.window()
    if window is None:
        raise TypeError("window() returned None, which is not a number")
    return (
        _number(window, "window()"),
        _number(threshold, "ssthresh"),
        _number(law.pacing_rate(), "pacing_rate()"),
        _number(law.timer(), "timer()"),
    )


def _fields(body: bytes, names: tuple[str, ...], truths: tuple[str, ...]) -> dict[str, Any]:
    packed = messages.numbers(len(names))
    values: dict[str, Any] = dict(zip(names, packed.unpack_from(body), strict=True))
    for name in messages.OPTIONAL:
        if name in values and math.isnan(values[name]):
            values[name] = None
    for name in ("newest", "next"):
        if name in values:
            values[name] = int(values[name])
    flags = body[packed.size :]
    return values | {name: bool(flag) for name, flag in zip(truths, flags, strict=True)}


def _event(law: Controller, kind: int, body: bytes) -> bytes:
    """Tell a law what happened; return what it answers."""
    if kind == messages.ACK:
        law.on_ack(_core.Ack(**_fields(body, messages.ACK_FIELDS, messages.ACK_TRUTHS)))
    elif kind == messages.LOSS:
        law.on_loss(_core.Loss(**_fields(body, messages.LOSS_FIELDS, messages.LOSS_TRUTHS)))
    elif kind == messages.MARK:
        law.on_mark(_core.Mark(**_fields(body, messages.MARK_FIELDS, messages.MARK_TRUTHS)))
    else:
        law.on_timer(messages.numbers(1).unpack(body)[0])
    return messages.ANSWER.pack(*_numbers(law))


_COLUMNS = _core.Intervals.columns()


def _interval(law: Controller, kind: int, body: bytes) -> bytes:
    """Tell a law of an interval; return what it answers."""
    assert isinstance(law, IntervalController)
    values = messages.numbers(len(_COLUMNS)).unpack(body)
    answer = law.on_interval(_core.Interval(**dict(zip(_COLUMNS, values, strict=True))))
    try:
        window, rate = answer if isinstance(answer, tuple) else (answer, 0.0)
        return messages.ANSWER.pack(float(window), math.nan, float(rate), math.nan)
    except (TypeError, ValueError, struct.error):
        raise ValueError(
            f"{type(law).__name__}.on_interval() returned {answer!r:.60}, which is neither a "
            "window in packets nor (window, packets per second)"
        ) from None


def _said(error: BaseException) -> bytes:
    """Return what is told of an error: its kind, its words, and where in the law's file."""
    try:
        places = [it for it in traceback.extract_tb(error.__traceback__) if it.filename == FILE]
        where = f"{FILE}:{places[-1].lineno}" if places else ""
        if isinstance(error, SyntaxError) and error.filename == FILE:
            where = f"{FILE}:{error.lineno}"
        said = str(error)
        if isinstance(error, ModuleNotFoundError):
            said += f"; a law may import {IMPORTABLE}"
        told = {"error": type(error).__name__, "message": said[:LONGEST], "where": where}
        return json.dumps(told).encode()[: messages.LONGEST]
    except BaseException:
        return b'{"error": "Exception", "message": "an error that cannot be told", "where": ""}'


def main() -> None:
    """Serve; in a child be a law."""
    # This process needs little, and what it starts has less.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for name in ("Controller", "IntervalController", "Ack", "Loss", "Mark", "Interval", "Error"):
        getattr(narrows, name)
    numpy = _optional("numpy")
    if numpy is not None:
        # Parts that are imported when they are first named.
        _ = (numpy.linalg, numpy.random)
    begun = serve(socket.socket(fileno=int(sys.argv[1])))
    if begun is not None:
        _live(*begun, numpy)


if __name__ == "__main__":
    main()

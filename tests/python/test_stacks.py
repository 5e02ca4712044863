"""Stacks written in Python, or called from it: aioquic, toys, and ends that fail."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

import narrows as nw
from narrows import _core

EXAMPLES = Path(nw.__file__).parent / "examples"


def run(scenario: nw.Scenario) -> Any:
    return nw.run(scenario)


def path(cc: Any, **fields: Any) -> nw.Scenario:
    return nw.dumbbell("10Mbps", "40ms", "30p", cc=cc, duration="6s", **fields)


def test_aioquic_fills_a_path_and_does_the_same_twice() -> None:
    aioquic = runpy.run_path(str(EXAMPLES / "aioquic_stack.py"))["Aioquic"]
    once, again = (run(path(aioquic("reno"))) for _ in range(2))
    assert once.flows["cc"].to_list() == ["aioquic:reno"]
    assert 0.8 < once.summary["utilisation"][0] <= 1.0
    assert once.flows.equals(again.flows)
    # What it tells of itself is sampled: a window near the path's 33 packets and the buffer's 30.
    windows = once.flow_series["window"].drop_nans()
    assert 20 < windows.max() < 200


def test_aioquic_ends_a_transfer() -> None:
    aioquic = runpy.run_path(str(EXAMPLES / "aioquic_stack.py"))["Aioquic"]
    result = run(path(aioquic("cubic"), size="2MB"))
    # 2 MB take 1.6 s of the link, and slow start some.
    assert 1.6 < result.flows["completion_time"][0] < 4.0


class Silent:
    def handle(self, now: float, datagram: bytes, ecn: int) -> None: ...

    def handle_timeout(self, now: float) -> None: ...

    def poll_transmit(self, now: float) -> Any:
        return None

    def poll_timeout(self) -> float | None:
        return None


class Marked(Silent):
    """Sends one IP packet of 100 bytes, not before 0.5 s."""

    left = 1

    def poll_transmit(self, now: float) -> nw.Transmit | None:
        self.left -= 1
        return nw.Transmit(bytes(100), ecn=2, not_before=0.5, headers=0) if self.left == 0 else None


class Sees(Silent):
    seen: list[tuple[float, int, int]]

    def __init__(self) -> None:
        self.seen = []

    def handle(self, now: float, datagram: bytes, ecn: int) -> None:
        self.seen.append((now, len(datagram), ecn))


def test_a_datagram_leaves_when_and_as_it_is_told_to() -> None:
    far = Sees()

    class Toy(nw.Stack):
        def ends(self, seed: int, size: int | None) -> tuple[nw.Endpoint, nw.Endpoint]:
            return Marked(), far

    run(path(Toy, ecn=True))
    # 20 ms, and 100 bytes at 10 Mbps and twice at 100 Gbps.
    ((now, length, ecn),) = far.seen
    assert (length, ecn) == (100, 2)
    assert now == pytest.approx(0.5 + 0.02 + 80e-6 + 16e-9, abs=1e-9)


class Raises(Silent):
    def handle_timeout(self, now: float) -> None:
        raise RuntimeError("I give up")


class Never(Silent):
    """Says that it wants to be woken at no time that there is."""

    def poll_timeout(self) -> float | None:
        return float("nan")


class Mutable(Silent):
    """Sends what is no bytes object, but can be read like one."""

    left = 1

    def poll_transmit(self, now: float) -> Any:
        self.left -= 1
        return bytearray(100) if self.left == 0 else None


def test_any_bytes_leave() -> None:
    far = Sees()

    class Toy(nw.Stack):
        def ends(self, seed: int, size: int | None) -> tuple[nw.Endpoint, nw.Endpoint]:
            return Mutable(), far

    run(path(Toy))
    assert [length for _, length, _ in far.seen] == [100]


@pytest.mark.parametrize(
    ("ends", "says"),
    [
        (lambda: (Raises(), Silent()), "I give up"),
        (lambda: (Never(), Silent()), r"poll_timeout\(\) is NaN; a time is a finite number"),
        (Silent, "is not an instance of 'tuple'"),
        (lambda: (object(), Silent()), "has no attribute"),
    ],
)
def test_what_an_end_raises_ends_the_run(ends: Any, says: str) -> None:
    class Toy(nw.Stack):
        def ends(self, seed: int, size: int | None) -> tuple[nw.Endpoint, nw.Endpoint]:
            made: tuple[nw.Endpoint, nw.Endpoint] = ends()
            return made

    with pytest.raises(Exception, match=says):
        run(path(Toy))


def test_an_end_that_has_no_rest_is_named() -> None:
    class Restless(Silent):
        def poll_timeout(self) -> float | None:
            return 0.0

    class Toy(nw.Stack):
        def ends(self, seed: int, size: int | None) -> tuple[nw.Endpoint, nw.Endpoint]:
            return Restless(), Silent()

    said = "\n".join(run(path(Toy)).warnings)
    assert "the near end of flow 0, Toy was stopped: 10000 turns at 0." in said


def test_fields_that_a_stack_decides_are_refused() -> None:
    with pytest.raises(nw.ScenarioError, match="has no effect: Toy decides that itself"):

        class Toy(nw.Stack):
            def ends(self, seed: int, size: int | None) -> tuple[nw.Endpoint, nw.Endpoint]:
                return Silent(), Silent()

        path(Toy, pacing="even")


def test_stacks_of_others_are_built_in_or_named() -> None:
    if any(name == "quinn" for name, *_ in _core.stacks()):
        for cc in ["quinn:cubic", "s2n:bbr"]:
            used = run(path(cc)).summary["utilisation"][0]
            assert 0.8 < used < 1.001
        with pytest.raises(nw.ScenarioError, match="neither sends nor answers ECN's bits"):
            path("smoltcp:cubic", ecn=True)
    else:
        with pytest.raises(nw.ScenarioError, match="goes without; Linux wheels have it"):
            path("quinn:cubic")

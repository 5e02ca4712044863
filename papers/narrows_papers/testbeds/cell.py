"""Cells of published testbeds: a set-up, and what the kernels there did."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any


@dataclass(frozen=True)
class Group:
    """Flows of one law.

    Attributes
    ----------
    law
        By the name of its authors' kernel: ``bbr3`` is Google's branch v3, ``reno`` Linux's.
    count
        How many flows.
    ecn
        Whether ECN was negotiated.
    fallback
        Whether Prague's fallback to classic queues was on.
    rtt_ms, rtt_spread_ms
        Base RTT of the first flow, and by how much the last one's is longer, in milliseconds; the
        cell's if None.
    start_s
        When it begins, in seconds.
    """

    law: str
    count: int
    ecn: bool
    fallback: bool
    rtt_ms: float | None
    rtt_spread_ms: float
    start_s: float


@dataclass(frozen=True)
class Measured:
    """A number over trials: mean, least, largest, and how many there were."""

    mean: float
    min: float
    max: float
    n: int


@dataclass(frozen=True)
class Cell:
    """A set-up and what was measured there.

    Attributes
    ----------
    id
        Its key.
    lab
        The file that it is of.
    citation, file
        Whose it is, and their file.
    kernel, sockets, offloads
        The senders' kernel; how large windows may be, as told; which offloads were on, as told.
    bottleneck
        What shapes, as told.
    measured_by
        The program that sent, or what told of it, as told.
    rate_mbps, rtt_ms
        The bottleneck's rate as its authors name it, and the base RTT.
    queue
        As the file has it.
    groups
        The flows.
    duration_s, warmup_s
        The window that was measured is from the latter to the former.
    goodput
        Of each group together, Mbit/s; empty if it was not measured.
    numbers
        ``loss`` (ratio), ``jfi`` and others, where they were measured.
    """

    id: str
    lab: str
    citation: str
    file: str
    kernel: str
    sockets: str
    offloads: str
    bottleneck: str
    measured_by: str
    rate_mbps: float
    rtt_ms: float
    queue: Mapping[str, Any]
    groups: tuple[Group, ...]
    duration_s: float
    warmup_s: float
    goodput: tuple[Measured, ...]
    numbers: Mapping[str, Measured]

    @property
    def laws(self) -> str:
        """Return its laws, like ``bbr3 beside cubic``."""
        return " beside ".join(dict.fromkeys(group.law for group in self.groups))


@cache
def cells(lab: str) -> dict[str, Cell]:
    """Return the cells of a laboratory's set-up, by their keys.

    Parameters
    ----------
    lab
        The file's name, like ``nyu-ware``.

    Returns
    -------
    dict[str, Cell]
        In the file's order.

    Examples
    --------
    >>> len(cells("nyu-ware"))
    252
    """
    folder = resources.files("narrows_papers").joinpath("testbeds", "cells")
    lines = folder.joinpath(f"{lab}.jsonl").read_text("utf-8").splitlines()
    read = [_cell(json.loads(line)) for line in lines]
    return {cell.id: cell for cell in read}


def _cell(given: Mapping[str, Any]) -> Cell:
    measured = dict(given["measured"])
    goodput = tuple(Measured(**values) for values in measured.pop("goodput_mbps", []))
    numbers = {
        name: Measured(**value) for name, value in measured.items() if isinstance(value, dict)
    }
    return Cell(
        given["id"],
        given["lab"],
        given["source"]["citation"],
        given["source"].get("file", ""),
        given["kernel"],
        given.get("sockets", ""),
        given.get("offloads", ""),
        given["bottleneck"],
        given["measured_by"],
        given["rate_mbps"],
        given["rtt_ms"],
        given["queue"],
        tuple(_group(group) for group in given["groups"]),
        given["duration_s"],
        given["warmup_s"],
        goodput,
        numbers,
    )


def _group(given: Mapping[str, Any]) -> Group:
    return Group(
        given["law"],
        given["count"],
        given["ecn"],
        given.get("fallback", False),
        given.get("rtt_ms"),
        given.get("rtt_spread_ms", 0.0),
        given.get("start_s", 0.0),
    )

"""What a bottleneck serves, packet by packet, and how that is bred.

As CC-Fuzz does (Ray, Seshan, HotNets 2022, of which only the abstract was at hand): a service says
for each packet when it may leave. It is drawn unevenly with a packet for each millisecond, mutated
and crossed, by which it may come to have more or fewer. Behind what is bred the bottleneck serves a
packet each millisecond.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from narrows.types import Floats

# Packets in each millisecond.
Service = tuple[int, ...]
# Behind what is bred, in packets per second.
RATE = 1000
# Below so many milliseconds packets fall where chance has it.
SHORTEST = 8
# How wide a mutation is, in milliseconds.
WIDTHS = (50, 100, 200, 400, 800)
# When a service is made simpler, in how many parts it is cut at the most.
FINEST = 64


def drawn(rng: np.random.Generator, length: int) -> Floats:
    """Draw a service: half of the time by halves that are very unequal, and by halves of those.

    Parameters
    ----------
    rng
        Where it is drawn from.
    length
        Its milliseconds, and packets.

    Returns
    -------
    Floats
        Packets in each millisecond.
    """
    service = np.zeros(length)
    parts = [(0, length, length)]
    while parts:
        begin, end, packets = parts.pop()
        if end - begin <= SHORTEST:
            np.add.at(service, rng.integers(begin, end, packets), 1)
            continue
        first = rng.beta(0.5, 0.5) if rng.random() < 0.5 else 0.5
        left, middle = int(rng.binomial(packets, first)), (begin + end) // 2
        parts += [(begin, middle, left), (middle, end, packets - left)]
    return service


def mutated(rng: np.random.Generator, service: Floats) -> Floats:
    """Return a service of which a window is gathered at an instant, scattered, or moved elsewhere.

    Parameters
    ----------
    rng
        What it happens by.
    service
        Packets in each millisecond.

    Returns
    -------
    Floats
        As many packets.
    """
    length = len(service)
    begin = int(rng.integers(length))
    end = min(length, begin + int(rng.choice(WIDTHS)))
    changed, packets = service.copy(), int(service[begin:end].sum())
    changed[begin:end] = 0
    kind = rng.random()
    if kind < 0.4:
        changed[rng.integers(begin, end)] += packets
    elif kind < 0.7:
        np.add.at(changed, rng.integers(begin, end, packets), 1)
    else:
        there = int(rng.integers(length)) + rng.integers(0, 100, packets)
        np.add.at(changed, np.minimum(there, length - 1), 1)
    return changed


def crossed(rng: np.random.Generator, first: Floats, second: Floats) -> Floats:
    """Return the beginning of a service and the end of another.

    Parameters
    ----------
    rng
        Says where one ends.
    first, second
        Packets in each millisecond.

    Returns
    -------
    Floats
        About as many packets.
    """
    cut = int(rng.integers(len(first)))
    return np.concatenate([first[:cut], second[cut:]])


def eased(service: Service) -> Iterator[Service]:
    """Yield services that are steady in a part, the larger parts first.

    Parameters
    ----------
    service
        Packets in each millisecond.

    Yields
    ------
    Service
        That differs from it.

    Examples
    --------
    >>> list(eased((0, 2, 1, 1)))[:2]
    [(1, 1, 1, 1), (1, 1, 1, 1)]
    """
    parts = 1
    while parts <= min(FINEST, len(service)):
        width = -(-len(service) // parts)
        for begin in range(0, len(service), width):
            part = service[begin : begin + width]
            if any(count != 1 for count in part):
                steady = (1,) * len(part)
                yield service[:begin] + steady + service[begin + width :]
        parts *= 2


def lines(service: Service, duration: float) -> str:
    """Return a service and what follows as a trace in mahimahi's format.

    Parameters
    ----------
    service
        Packets in each millisecond.
    duration
        Of the trace in seconds.

    Returns
    -------
    str
        A line a packet.

    Examples
    --------
    >>> lines((0, 2), 0.004).split()
    ['2', '2', '3', '4']
    """
    bred = [at for at, count in enumerate(service, 1) for _ in range(count)]
    steady = range(len(service) + 1, round(duration * RATE) + 1)
    return "".join(f"{at}\n" for at in (*bred, *steady))

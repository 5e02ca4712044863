"""What flows of different laws get of one link, predicted from their response functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from narrows.theory.domain import above, whole
from narrows.types import Floats


@dataclass(frozen=True)
class Part:
    """Flows of one law in a mixture.

    Parameters
    ----------
    response
        The window in packets as a function of the loss per packet sent, falling, such as
        `narrows.theory.response.square_root`; infinite where nothing but loss limits it.
    rtt
        The round trip in seconds, the queue's wait included, above 0.
    flows
        How many, at least 0.
    """

    response: Callable[[float], float]
    rtt: float
    flows: float = 1.0


@dataclass(frozen=True)
class Mixture:
    """The equilibrium of a mixture.

    Parameters
    ----------
    load
        ρ.
    loss
        Share of packets lost.
    windows
        Shape (parts,): packets of a flow of each part.
    shares
        Shape (parts,): what all flows of each part send, over what all parts send.
    """

    load: float
    loss: float
    windows: Floats
    shares: Floats


def of_losses(parts: Sequence[Part], capacity: float, of_load: Callable[[float], float]) -> Mixture:
    """Return the equilibrium of laws that answer to losses: Σ n·W(p)/T = ρC, with p of the load ρ.

    All flows see the same loss: packets come at random, and queues do not lock phases.

    Parameters
    ----------
    parts
        At least one flow in all.
    capacity
        C in packets per second, above 0.
    of_load
        The share lost as a function of ρ, rising, such as
        `narrows.theory.fluid_queues.poisson_loss`.

    Returns
    -------
    Mixture
        The equilibrium.

    Raises
    ------
    ValueError
        If a value is out of bounds, or no load up to twice the capacity is an equilibrium.

    References
    ----------
    E-TCP, §V-B, for E-TCP beside TCP; Kelly, Maulloo, Tan: "Rate control for communication
    networks", J. Oper. Res. Soc. 49 (1998).

    Examples
    --------
    Beside one E-TCP flow, ten Reno flows over 1 Gbps and 100 ms get 13 packets each:

    >>> from narrows.theory import response
    >>> from narrows.theory.fluid_queues import poisson_loss
    >>> etcp = lambda p: float(response.etcp(p / (1 - p))) if p / (1 - p) > 0.01 else np.inf
    >>> reno = lambda p: 1.31 / p**0.5
    >>> found = of_losses([Part(etcp, 0.1), Part(reno, 0.1, 10)], 1e9 / 8320, poisson_loss(20))
    >>> [round(float(w)) for w in found.windows], round(float(found.shares[0]), 4)
    ([10454, 13], 0.9877)
    """
    above("capacity", capacity, 0)
    used = [part for part in parts if part.flows > 0]
    if not used:
        raise ValueError("parts: there is no flow")
    for part in used:
        above("rtt", part.rtt, 0)

    def sent(load: float) -> float:
        loss = of_load(load)
        if loss <= 0:
            return np.inf
        return sum(part.flows * part.response(loss) / part.rtt for part in used)

    def surplus(load: float) -> float:
        return float(np.clip(sent(load) / capacity - load, -1.0, 1.0))

    if not surplus(1e-3) > 0 > surplus(2.0):
        raise ValueError("parts: no load from 0.001 to 2 is their equilibrium")
    load = float(brentq(surplus, 1e-3, 2.0, xtol=1e-14))
    loss = of_load(load)
    windows = np.array([part.response(loss) for part in parts])
    pairs = zip(parts, windows, strict=True)
    rates = np.array([part.flows and part.flows * window / part.rtt for part, window in pairs])
    return Mixture(load, loss, windows, rates / rates.sum())


def of_bbr(buffer: float, bdp: float, bbr_flows: int, rtt: float, seconds: float = 400.0) -> float:
    """Return the share of a link that BBRv1's flows get beside flows that answer to losses.

    It does not depend on how many those are. BBR's flows are limited by their window of twice the
    bandwidth-delay product as they see it, with a queue that never empties; they give it up for
    ProbeRTT every ten seconds.

    Parameters
    ----------
    buffer
        Of a drop-tail queue, in packets; at least one bandwidth-delay product.
    bdp
        The bandwidth-delay product in packets, above 0.
    bbr_flows
        Flows of BBRv1, at least 1.
    rtt
        The round trip without queues, in seconds, above 0.
    seconds
        How long they compete, above 0.

    Returns
    -------
    float
        A ratio.

    Raises
    ------
    ValueError
        If a value is out of bounds.

    References
    ----------
    Ware, Mukerjee, Seshan, Sherry: "Modeling BBR's interactions with loss-based congestion
    control", IMC 2019.

    Examples
    --------
    10 Mbps, 40 ms: with ever larger buffers one flow of BBR falls from all to a third.

    >>> [round(of_bbr(x * 33.333, 33.333, 1, 0.04), 3) for x in (1, 2, 8, 64)]
    [0.972, 0.784, 0.545, 0.367]
    """
    above("bdp", bdp, 0)
    above("rtt", rtt, 0)
    above("seconds", seconds, 0)
    whole("bbr_flows", bbr_flows, 1)
    if not buffer >= bdp:
        raise ValueError(f"buffer: {buffer!r} packets are less than a BDP, {bdp:g}: not modelled")
    others = max(0.0, 0.5 - bdp / (2 * buffer) - 4 * bbr_flows / buffer)
    wait = rtt * buffer / bdp
    probing = (wait + 0.2 + rtt) * seconds / 10
    # In a queue that takes more than ten seconds to drain ProbeRTT never ends.
    return (1 - others) * max(0.0, seconds - probing) / seconds

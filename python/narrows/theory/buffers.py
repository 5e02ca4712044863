"""How much buffer a link needs: what each rule says, in packets, and where it holds.

A bandwidth-delay product (BDP) is C·T packets; s is the standard deviation of a window over its
mean, (1 − β)/(√3(1 + β)) if it is uniform between its ends: 0.192 for Reno.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import erf, erfinv

from narrows.theory import droptail
from narrows.theory.bursts import buffer_of, paced_buffer
from narrows.theory.domain import above, below
from narrows.types import Floats

# E-TCP's answer (Gu and others, §III).
ETCP = 20
# The sum of fewer windows is not normal, and smaller windows are no sawtooth: √n rules do not hold.
FEW, SMALL = 30, 10.0
# RTTs within a tenth of their mean are alike; and BBR beside is a few up to a tenth of the flows.
NARROW, FEW_BBR = 0.1, 0.1
# With fewer bursts than this in a buffer the law does not matter (Spang and others, figure 3).
BURSTS = 4
# What rules of log W take for a window.
LEAST_WINDOW = 4.0
# Laws that lose p0 of their packets whatever the window.
E_TCP = ("etcp", "etcp-rate", "etcp-unit")
# The loss for which queues without feedback are asked.
LOSS = 1e-3


def spread(beta: float) -> float:
    """Return s, the standard deviation of an AIMD window over its mean.

    Parameters
    ----------
    beta
        The share kept after a loss, at least 0 and below 1.

    Returns
    -------
    float
        A ratio.

    Raises
    ------
    ValueError
        If it is outside of these bounds.

    Examples
    --------
    >>> round(spread(0.5), 3), round(spread(0.7), 3)
    (0.192, 0.102)
    """
    kept = float(below("beta", beta, 0, 1))
    return float((1 - kept) / (np.sqrt(3) * (1 + kept)))


def full_queue(bdp: ArrayLike, beta: float = 0.5) -> Floats:
    """Return the buffer that one AIMD flow needs never to empty it: BDP(1/β − 1).

    Parameters
    ----------
    bdp
        In packets, of any shape.
    beta
        The share kept after a loss; Villamizar and Song's whole BDP at Reno's 1/2.

    Returns
    -------
    ndarray
        Packets.

    Raises
    ------
    ValueError
        If a value is out of bounds.

    References
    ----------
    B. Spang, S. Arslan, N. McKeown: "Updating the theory of buffer sizing" (2021),
    arXiv:2109.11693.

    Examples
    --------
    >>> full_queue(1000.0), full_queue(1000.0, 0.7).round()
    (array(1000.), np.float64(429.0))
    """
    return np.asarray(above("bdp", bdp, 0) * (1 / float(above("beta", beta, 0, 1)) - 1))


def sawtooth(bdp: float, target: float, beta: float = 0.5) -> float:
    """Return the buffer with which the sawtooth of one AIMD flow has a mean utilisation.

    Parameters
    ----------
    bdp
        In packets, above 0.
    target
        Above 0, below 1.
    beta
        The share kept after a loss.

    Returns
    -------
    float
        Packets; 0 if no buffer is needed.

    Raises
    ------
    ValueError
        If a value is out of bounds.

    See Also
    --------
    narrows.theory.droptail.utilisation : whose inverse it is.

    Examples
    --------
    >>> round(sawtooth(1000, 0.98, 0.7)), sawtooth(1000, 0.7)
    (247, 0.0)
    """
    wanted = float(above("target", target, 0, 1 - 1e-15))
    kept = float(above("beta", beta, 0, 1))

    def lacking(ratio: float) -> float:
        return float(droptail.utilisation(ratio, kept)) - wanted

    packets = float(above("bdp", bdp, 0))
    return packets * float(brentq(lacking, 0.0, 1 / kept - 1)) if lacking(0.0) < 0 else 0.0


def root_n(bdp: ArrayLike, flows: ArrayLike) -> Floats:
    """Return BDP/√n (Appenzeller, Keslassy, McKeown, SIGCOMM 2004).

    Parameters
    ----------
    bdp, flows
        The BDP in packets and the number of flows, above 0.

    Returns
    -------
    ndarray
        Packets.

    Raises
    ------
    ValueError
        If a value is not above 0.

    Examples
    --------
    >>> root_n(10_000.0, 100)
    array(1000.)
    """
    return np.asarray(above("bdp", bdp, 0) / np.sqrt(above("flows", flows, 0)))


def utilisation(buffer: ArrayLike, bdp: float, flows: float, beta: float = 0.5) -> Floats:
    """Return the utilisation that n flows out of step have at least, by their windows' variance.

    It is erf(B √n/((BDP + B) 2√2 s)): the sum of the windows is normal, and the link is idle while
    it is below the BDP.

    Parameters
    ----------
    buffer
        In packets, of any shape, at least 0.
    bdp, flows
        The BDP in packets and the number of flows.
    beta
        The share kept after a loss.

    Returns
    -------
    ndarray
        Of the shape of `buffer`.

    Raises
    ------
    ValueError
        If a value is out of bounds.

    References
    ----------
    G. Appenzeller, I. Keslassy, N. McKeown: "Sizing router buffers", SIGCOMM 2004, whose factor is
    that of β = 1/2.

    Examples
    --------
    >>> utilisation([100.0, 200.0], bdp=10_000, flows=10_000).round(4)
    array([0.9899, 1.    ])
    """
    room = below("buffer", buffer, 0, np.inf)
    factor = np.sqrt(float(above("flows", flows, 0))) / (2 * np.sqrt(2) * spread(beta))
    return np.asarray(erf(factor * room / (float(above("bdp", bdp, 0)) + room)))


def normal(bdp: float, flows: float, target: float, beta: float = 0.5) -> float:
    """Return the buffer of which `utilisation` is a target.

    Parameters
    ----------
    bdp, flows
        As for `utilisation`.
    target
        Above 0, below 1.
    beta
        The share kept after a loss.

    Returns
    -------
    float
        Packets; infinite if no buffer is enough.

    Raises
    ------
    ValueError
        If a value is out of bounds.

    Examples
    --------
    >>> round(normal(10_000, 10_000, 0.9899), 1)
    100.0
    """
    wanted = float(erfinv(float(above("target", target, 0, 1 - 1e-15))))
    share = wanted * 2 * np.sqrt(2) * spread(beta) / np.sqrt(float(above("flows", flows, 0)))
    return float(above("bdp", bdp, 0) * share / (1 - share)) if share < 1 else float(np.inf)


def flows_of(buffer: float, bdp: float, target: float, beta: float = 0.5) -> float:
    """Return how many flows fill a target of a link over a buffer, as `utilisation` has it.

    One flow is enough if its sawtooth is on average (`sawtooth`).

    Parameters
    ----------
    buffer
        In packets, above 0.
    bdp
        In packets.
    target
        Above 0, below 1.
    beta
        The share kept after a loss, at least 0 and below 1.

    Returns
    -------
    float
        A number of flows, at least 1.

    Raises
    ------
    ValueError
        If a value is out of bounds.

    Examples
    --------
    >>> round(flows_of(100, 10_000, 0.9899)), flows_of(10_000, 10_000, 0.98)
    (10000, 1.0)
    """
    ratio = float(above("buffer", buffer, 0)) / float(above("bdp", bdp, 0))
    wanted = float(erfinv(float(above("target", target, 0, 1 - 1e-15))))
    if float(droptail.utilisation(ratio, below("beta", beta, 0, 1))) >= target:
        return 1.0
    root = wanted * 2 * np.sqrt(2) * spread(beta) * (1 + ratio) / ratio
    return float(max(root**2, 1.0))


def variance(bdp: float, flows: float, beta: float = 0.5) -> float:
    """Return 3.3 s BDP/√n, within which 99.9 % of the sum of windows lie.

    Parameters
    ----------
    bdp, flows
        As for `utilisation`.
    beta
        The share kept after a loss.

    Returns
    -------
    float
        Packets.

    Raises
    ------
    ValueError
        If a value is out of bounds.

    References
    ----------
    D. Wischik, N. McKeown: "Part I: buffer sizes for core routers", CCR 35 (2005), which has 0.63
    for Reno.

    Examples
    --------
    >>> round(variance(10_000, 100), 1)
    635.1
    """
    return float(3.3 * spread(beta) * root_n(bdp, flows))


def log_window(window: float, target: float) -> float:
    """Return E-TCP's rule for TCP, log_ρ(2/W²) − 2: the loss ρ^B is what windows W need (§II).

    Parameters
    ----------
    window
        W in packets, above 0.
    target
        ρ, the utilisation, above 0 and below 1.

    Returns
    -------
    float
        Packets; 0 if windows are so small that even a buffer of none loses less than they take.

    Raises
    ------
    ValueError
        If a value is out of bounds.

    Examples
    --------
    >>> round(log_window(83, 0.9)), round(log_window(83, 0.98)), log_window(1, 0.9)
    (75, 401, 0.0)
    """
    rho = float(above("target", target, 0, 1 - 1e-15))
    packets = np.log(2 / float(above("window", window, 0)) ** 2) / np.log(rho) - 2
    return float(max(packets, 0.0))


def log_window_paced(window: float, target: float) -> float:
    """Return ln(W²/(2(1 − θ)))/ln(1/θ), with which flows of W packets fill θ of a link.

    It is for paced senders, or hosts with access links far slower than the core.

    Parameters
    ----------
    window
        W in packets, above 0.
    target
        θ, the utilisation, above 0 and below 1.

    Returns
    -------
    float
        Packets; 0 if windows are so small that even a buffer of none loses less than they take.

    Raises
    ------
    ValueError
        If a value is out of bounds.

    References
    ----------
    M. Enachescu and others: "Routers with very small buffers", INFOCOM 2006. Its text could not be
    read here; the form is as others have it.

    Examples
    --------
    >>> round(log_window_paced(83, 0.9)), round(log_window_paced(83, 0.98))
    (99, 597)
    """
    theta = float(above("target", target, 0, 1 - 1e-15))
    squared = float(above("window", window, 0)) ** 2
    return float(max(np.log(squared / (2 * (1 - theta))) / np.log(1 / theta), 0.0))


def mm1b_buffer(loss: float, load: float) -> int:
    """Return the least buffer of an M/M/1/B queue that loses no more than a part.

    Parameters
    ----------
    loss
        Above 0, below 1.
    load
        ρ, above 0 and below 1.

    Returns
    -------
    int
        Packets.

    Raises
    ------
    ValueError
        If a value is out of bounds.

    Examples
    --------
    >>> [mm1b_buffer(1e-3, load) for load in (0.9, 0.98)]
    [44, 151]
    """
    rho = float(above("load", load, 0, 1 - 1e-15))
    p = float(above("loss", loss, 0, 1 - 1e-15))
    # (1 − ρ)ρ^B = p(1 − ρ^(B+1)), solved for ρ^B, which is p/(p + (1 − ρ)(1 − p)).
    spare = 1 - rho
    packets = np.log1p(spare * (1 - p) / p) / -np.log1p(-spare)
    return max(1, int(np.ceil(packets - 1e-9)))


@dataclass(frozen=True)
class Link:
    """What rules are asked of.

    Attributes
    ----------
    rate
        Packets a second.
    rtts
        Base RTTs of the flows in seconds, shape (n,).
    beta
        The share that windows keep after a loss.
    burst
        Packets that leave together.
    target
        The utilisation that is wanted, below 1.
    law
        The flows' law by name; it counts where a rule is for one law.
    bbr
        The share of BBR's flows, a ratio.
    halves
        Whether losses take a fixed share of a window.
    pacing
        How bursts are spaced: ``"even"``, ``"fq"``, ``"random"``, or empty for by acknowledgements.
    queue
        The link's queue; rules are of drop-tail ones.
    """

    rate: float
    rtts: Floats
    beta: float
    burst: int
    target: float
    law: str = ""
    bbr: float = 0.0
    halves: bool = True
    pacing: str = ""
    queue: str = "drop-tail"

    @property
    def flows(self) -> int:
        """Their number."""
        return len(self.rtts)

    @property
    def bdp(self) -> float:
        """The BDP in packets, of the harmonic mean of the RTTs.

        Equal losses give equal windows, so the sum of windows is C times that mean.
        """
        return self.rate * float(self.flows / np.sum(1 / self.rtts))

    @property
    def window(self) -> float:
        """A flow's share of the BDP in packets."""
        return self.bdp / self.flows


@dataclass(frozen=True)
class Rule:
    """A rule, and when it does not hold.

    Attributes
    ----------
    name
        What it is called.
    source
        Where it is from.
    packets
        What it says of a link.
    doubt
        Why it does not hold for a link; empty if it does.
    is_open
        Whether it is of a load that does not answer to losses.
    """

    name: str
    source: str
    packets: Callable[[Link], float]
    doubt: Callable[[Link], str]
    is_open: bool = False

    def of(self, link: Link) -> tuple[float, str]:
        """Return what it says of a link, and why it does not hold there."""
        packets = float(self.packets(link))
        if link.queue != "drop-tail":
            return packets, "it holds for drop-tail queues only"
        return packets, self.doubt(link) or (_closed(link, packets) if self.is_open else "")


def _closed(link: Link, packets: float) -> str:
    """Return why what an open load needs is not what windows need."""
    if packets > link.bdp:
        return "it is more than a BDP, with which windows hardly lose"
    if link.halves and 2 / link.window**2 > LOSS:
        return f"windows of {link.window:.3g} packets lose more than {LOSS:g} of them"
    if not link.halves:
        return ""
    few = link.flows < FEW
    moving = (
        float(full_queue(link.bdp, link.beta))
        if few
        else normal(link.bdp, link.flows, link.target, link.beta)
    )
    return "windows that move need more" if moving > packets else ""


def _beside_bbr(link: Link) -> str:
    share = f"{100 * link.bbr:.0f} % of the flows are BBR's"
    return f"{share}, which hardly answer to losses" if link.bbr > FEW_BBR else ""


def _of_shares(link: Link) -> str:
    if link.halves or link.bbr:
        return _beside_bbr(link)
    return f"{link.law} takes no fixed share for a loss"


def _too_small(link: Link) -> str:
    return f"windows of {link.window:.3g} packets are too small for it"


def _many(link: Link) -> str:
    if link.window < SMALL:
        return _too_small(link)
    if link.flows == 1:
        return "it is one flow"
    if link.flows < FEW:
        return f"the sum of {link.flows} windows is not normal"
    if _are_alike(link):
        return "RTTs are alike, so that phases may decide"
    return _of_shares(link)


def _are_alike(link: Link) -> bool:
    return float(np.ptp(link.rtts)) < NARROW * float(np.mean(link.rtts))


def _in_step(link: Link) -> str:
    """Of 2 to 29 flows over 100 Mbps windows do not fall together, unless RTTs are alike."""
    may_be = link.flows == 1 or (link.flows < FEW and _are_alike(link))
    return "" if may_be else f"{link.flows} flows are not in step"


def _one_that_halves(link: Link) -> str:
    return "it is of one flow" if link.flows > 1 else _few_that_halve(link)


def _few_that_halve(link: Link) -> str:
    if link.bbr == 1:
        return "BBR keeps no share of its window"
    if link.window < SMALL:
        return _too_small(link)
    if float(full_queue(link.bdp, link.beta)) < BURSTS * link.burst:
        return f"it is less than {BURSTS} bursts of {link.burst} packets"
    return _in_step(link) or _of_shares(link)


def _one_bbr(link: Link) -> str:
    if link.law != "bbr1":
        return "it is of BBRv1"
    return "it holds for one flow only" if link.flows > 1 else ""


def _at_random(link: Link) -> str:
    return f"packets come in bursts of {link.burst}" if link.burst > 1 else _bursts_at_random(link)


def _bursts_at_random(link: Link) -> str:
    if link.window < LEAST_WINDOW:
        return _too_small(link)
    if link.pacing in ("even", "fq"):
        return "paced packets do not come at random"
    is_few = link.flows < FEW and link.pacing != "random"
    return "packets of few flows do not come at random" if is_few else ""


def _paced(link: Link) -> str:
    if link.burst > 1:
        return f"packets come in bursts of {link.burst}"
    if link.pacing != "even":
        return "packets are not paced evenly"
    return "" if _are_alike(link) else "RTTs, and so rates, differ"


def _of_losses(link: Link) -> str:
    return _at_random(link) or _of_shares(link)


def _of_etcp(link: Link) -> str:
    return "" if link.law in E_TCP else "it is of E-TCP"


RULES = (
    Rule("BDP", "Villamizar, Song, CCR 1994", lambda it: it.bdp, _few_that_halve),
    Rule(
        "BDP(1/β − 1)",
        "Spang, Arslan, McKeown 2021",
        lambda it: float(full_queue(it.bdp, it.beta)),
        _few_that_halve,
    ),
    Rule(
        "mean of a sawtooth",
        "Appenzeller and others, SIGCOMM 2004",
        lambda it: sawtooth(it.bdp, it.target, it.beta),
        _one_that_halves,
    ),
    Rule("BDP/4", "Spang, Arslan, McKeown 2021", lambda it: it.bdp / 4, _one_bbr),
    Rule(
        "BDP/√n",
        "Appenzeller and others, SIGCOMM 2004",
        lambda it: float(root_n(it.bdp, it.flows)),
        _many,
    ),
    Rule(
        "3.3 s BDP/√n",
        "Wischik, McKeown, CCR 2005",
        lambda it: variance(it.bdp, it.flows, it.beta),
        _many,
    ),
    Rule(
        "normal windows",
        "Appenzeller and others, SIGCOMM 2004",
        lambda it: normal(it.bdp, it.flows, it.target, it.beta),
        _many,
    ),
    Rule("log W", "E-TCP, §II", lambda it: log_window(it.window, it.target), _of_losses),
    Rule(
        "log W, paced",
        "after Enachescu and others, INFOCOM 2006",
        lambda it: log_window_paced(it.window, it.target),
        _of_losses,
    ),
    Rule("E-TCP's constant", "E-TCP, §III", lambda _: ETCP, _of_etcp),
    Rule(
        "M/M/1/B",
        "sizes and times at random",
        lambda it: mm1b_buffer(LOSS, it.target),
        lambda _: "packets are of one size",
        is_open=True,
    ),
    Rule(
        "M/D/1/B",
        "equal packets at random",
        lambda it: buffer_of(LOSS, it.target),
        _at_random,
        is_open=True,
    ),
    Rule(
        "M[X]/D/1/B",
        "bursts at random",
        lambda it: buffer_of(LOSS, it.target, it.burst),
        lambda it: _bursts_at_random(it) if it.burst > 1 else "there are no bursts",
        is_open=True,
    ),
    Rule(
        "nD/D/1",
        "paced evenly",
        lambda it: paced_buffer(it.flows, it.target, LOSS),
        _paced,
        is_open=True,
    ),
)


def rules(link: Link) -> Iterator[tuple[str, str, float, str]]:
    """Yield what each rule says of a link.

    Parameters
    ----------
    link
        Rate, RTTs, law and target.

    Yields
    ------
    tuple
        Name, source, packets, and why it does not hold there; that is empty if it does.

    Examples
    --------
    >>> link = Link(1e10 / 12e3, np.linspace(0.02, 0.08, 500), 0.5, 1, 0.98)
    >>> {name: round(packets) for name, _, packets, _ in rules(link)}["BDP/√n"]
    1612
    """
    for rule in RULES:
        packets, doubt = rule.of(link)
        yield rule.name, rule.source, packets, doubt


def linux_burst(rate: float, rtt: float) -> int:
    """Return how many packets leave together, as TSO of Linux 5.18 and later makes them.

    A millisecond at the pacing rate, a fifth above the flow's, plus what a short RTT adds,
    64 kB >> (RTT in µs >> 9); at least 2 packets and at most 64 kB (tcp_tso_autosize).

    Parameters
    ----------
    rate
        Of the flow in bit/s, above 0.
    rtt
        Its least RTT in seconds, above 0.

    Returns
    -------
    int
        Packets of 1448 bytes of payload.

    Raises
    ------
    ValueError
        If a value is not above 0.

    Examples
    --------
    >>> [linux_burst(rate * 1e6, 0.02) for rate in (10, 50, 100, 200, 450)]
    [2, 5, 10, 20, 45]
    """
    pacing = 1.2 * float(above("rate", rate, 0)) / 8
    short = 65536 >> min(int(float(above("rtt", rtt, 0)) * 1e6) >> 9, 31)
    return max(2, int(min(pacing / 1024 + short, 65536) / 1448))

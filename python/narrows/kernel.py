"""narrows' laws as congestion controls of Linux's kernel, and the connections of this machine."""

from __future__ import annotations

from dataclasses import dataclass

from narrows import _core


@dataclass(frozen=True)
class Installed:
    """A law of narrows in the kernel: its name there, and settings that were given."""

    name: str
    given: list[str]


@dataclass(frozen=True)
class Connection:
    """An open TCP connection of this network namespace.

    Attributes
    ----------
    local, remote
        Its ends, as address and port.
    cc
        The kernel's name of its congestion control.
    window, ssthresh
        In packets; the threshold is infinite if there is none. Of E-TCP's laws the window is the
        paper's.
    rtt
        The smoothed RTT in seconds.
    in_flight
        Packets.
    pacing_rate
        Bytes per second; infinite if it does not pace.
    retransmitted, sent
        Packets sent again, and packets with data altogether.
    acked
        Bytes of payload acknowledged.
    mss
        Bytes of payload in a segment.
    """

    local: str
    remote: str
    cc: str
    window: float
    ssthresh: float
    rtt: float
    in_flight: int
    pacing_rate: float
    retransmitted: int
    sent: int
    acked: int
    mss: int


def laws() -> dict[str, str]:
    """Return the laws that there are for the kernel, with their names there.

    Returns
    -------
    dict of str
        Like ``{"etcp": "nw_etcp"}``.
    """
    return dict(_core.kernel_laws())


def installed() -> list[Installed]:
    """Return the laws that are in the kernel to stay.

    Returns
    -------
    list of Installed
        Empty where the kernel has none.
    """
    return [Installed(*line) for line in _core.kernel_installed()]


def check(law: str) -> None:
    """Check a law with settings, like ``etcp:p0=0.005``.

    Parameters
    ----------
    law
        Its name with settings.

    Raises
    ------
    Error
        If there is no such law for the kernel, or it has no such settings.
    """
    _core.kernel_check(law)


def load(law: str) -> str:
    """Load a law with settings, like ``etcp:p0=0.005``, until `unload` or a reboot.

    Parameters
    ----------
    law
        Its name with settings.

    Returns
    -------
    str
        Its name in the kernel, for ``TCP_CONGESTION`` and ``net.ipv4.tcp_congestion_control``.

    Raises
    ------
    Error
        If there is no such law for the kernel, or its name is taken.
    RuntimeError
        If this machine cannot do it, as without root.
    """
    return _core.kernel_install(law)


def unload(name: str) -> None:
    """Take away a law by its name, ``etcp`` or ``nw_etcp``.

    Connections that use it keep it until they close.

    Parameters
    ----------
    name
        As narrows or the kernel calls it.

    Raises
    ------
    Error
        If narrows has loaded none of that name.
    """
    _core.kernel_uninstall(laws().get(name, name))


def connections() -> list[Connection]:
    """Return every open TCP connection of this network namespace.

    A lab's are in others: ``narrows lab exec left -- narrows kernel watch``.

    Returns
    -------
    list of Connection
        Windows in packets, times in seconds, rates in bytes per second.
    """
    return [Connection(*line) for line in _core.connections()]

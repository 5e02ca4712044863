"""Stacks written in Python, or called from it, as the ends of flows: without sockets or clocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeGuard

from narrows._core import ScenarioError, controllers, recoveries


class Transmit(NamedTuple):
    """A datagram that leaves.

    Attributes
    ----------
    datagram
        Its bytes.
    ecn
        The two ECN bits of its IP header (RFC 3168, §5): 0, 1 for ECT(1), 2 for ECT(0).
    not_before
        When it leaves at the earliest, in seconds.
    headers
        Bytes of the headers before it; those of UDP over IPv4, or 0 if it is an IP packet itself.
    """

    datagram: bytes
    ecn: int = 0
    not_before: float | None = None
    headers: int = 28


@dataclass
class Told:
    """What an end says of itself, for tables and samples.

    Attributes
    ----------
    delivered
        Bytes that its application has received in order.
    complete
        Whether its application has received all that there was.
    window, in_flight
        The congestion window, and what is in flight, in bytes.
    rtt
        The smoothed RTT in seconds.
    lost
        Datagrams that it holds for lost.
    ended
        Why it has ended, if it has.
    """

    delivered: int = 0
    complete: bool = False
    window: int | None = None
    rtt: float | None = None
    in_flight: int | None = None
    lost: int | None = None
    ended: str | None = None


class Endpoint(Protocol):
    """One end of a flow. It never asks for the time and never waits.

    After each call of `handle` or `handle_timeout` it is asked for datagrams until it has none, and
    then for its next timer. An end may have a method ``tell() -> Told``, too.
    """

    def handle(self, now: float, datagram: bytes, ecn: int) -> None:
        """Take a datagram that arrives at `now` in seconds, with these ECN bits.

        Parameters
        ----------
        now
            The simulated time in seconds.
        datagram
            The payload of UDP.
        ecn
            The two ECN bits of its IP header: 0 for none, 1 ECT(1), 2 ECT(0), 3 CE.
        """

    def handle_timeout(self, now: float) -> None:
        """Begin, or respond to a time that `poll_timeout` gave.

        Parameters
        ----------
        now
            The simulated time in seconds.
        """

    def poll_transmit(self, now: float) -> bytes | Transmit | None:
        """Return the next datagram that leaves at `now`, the payload of UDP, or None.

        Parameters
        ----------
        now
            The simulated time in seconds.

        Returns
        -------
        bytes or Transmit or None
            The datagram, with its ECN bits if it is a `Transmit`; None once all has left.
        """

    def poll_timeout(self) -> float | None:
        """Return when to wake it, in seconds; None if only a datagram can.

        Returns
        -------
        float or None
            The simulated time in seconds.
        """


class Stack:
    """A stack of yours: subclass it and pass the class, or an instance, as a flow's ``cc``.

    The name of the class is the name of the flow in tables, unless ``name`` says another.

    Examples
    --------
    A sender that keeps ten datagrams under way, and a receiver that returns each:

    >>> import narrows as nw
    >>> class Sender:
    ...     credit = 10
    ...     def handle(self, now, datagram, ecn):
    ...         self.credit += 1
    ...     def handle_timeout(self, now): ...
    ...     def poll_transmit(self, now):
    ...         if self.credit > 0:
    ...             self.credit -= 1
    ...             return bytes(1000)
    ...     def poll_timeout(self): ...
    >>> class Receiver:
    ...     answers, delivered = 0, 0
    ...     def handle(self, now, datagram, ecn):
    ...         self.answers += 1
    ...         self.delivered += len(datagram)
    ...     def handle_timeout(self, now): ...
    ...     def poll_transmit(self, now):
    ...         if self.answers > 0:
    ...             self.answers -= 1
    ...             return b"ack"
    ...     def poll_timeout(self): ...
    ...     def tell(self):
    ...         return nw.Told(delivered=self.delivered)
    >>> class Toy(nw.Stack):
    ...     def ends(self, seed, size):
    ...         return Sender(), Receiver()
    >>> result = nw.run(nw.dumbbell("10Mbps", "40ms", "20p", cc=Toy, duration="5s"))
    >>> round(result.flows["goodput"][0] / 1e6, 2)
    1.96
    """

    name: str = ""

    def ends(self, seed: int, size: int | None) -> tuple[Endpoint, Endpoint]:
        """Return the two ends of a flow: data goes from the first to the second.

        A definition with a fourth argument, ``ends(self, seed, size, offers)``, is given what the
        application has offered, if that is not all at once: pairs of a time in seconds and the
        bytes offered from then on in all, of which the last is None if there is no end. The near
        end sends no more, and asks to be woken when there is more.

        Parameters
        ----------
        seed
            Where their randomness comes from.
        size
            Bytes to transfer; None for no end.

        Returns
        -------
        tuple of Endpoint
            The sender and the receiver.

        Raises
        ------
        NotImplementedError
            If a subclass does not define it.
        """
        raise NotImplementedError(f"{type(self).__name__} needs ends(self, seed, size)")


def is_stack(law: object) -> TypeGuard[Stack | type[Stack]]:
    """Tell whether a law is a stack, or the class of one.

    Parameters
    ----------
    law
        What a flow's ``host`` or ``cc`` is.

    Returns
    -------
    bool
        Whether it is.
    """
    return isinstance(law, Stack) or (isinstance(law, type) and issubclass(law, Stack))


def name_of_stack(stack: Stack | type[Stack]) -> str:
    """Return the name of a stack as tables show it.

    Parameters
    ----------
    stack
        The stack, or its class.

    Returns
    -------
    str
        Its ``name``, or that of its class.
    """
    return stack.name or (stack if isinstance(stack, type) else type(stack)).__name__


def known_stack(place: str, stack: Stack | type[Stack], others: dict[str, Any]) -> str:
    """Add a user's stack to the others, and return its name.

    Parameters
    ----------
    place
        Where it stands in the scenario, for errors.
    stack
        The stack, or a class that is made without arguments.
    others
        What is known already, by name; this one is added.

    Returns
    -------
    str
        Its name in the scenario.

    Raises
    ------
    ScenarioError
        If it cannot be made, or another stack or a law has its name.
    """
    name = name_of_stack(stack)
    try:
        made = stack() if isinstance(stack, type) else stack
    except TypeError as error:
        raise ScenarioError(f"{place}: {name}() cannot be made: {error}") from None
    if any(name.split(":")[0] == entry[0] for entry in (*controllers(), *recoveries())):
        raise ScenarioError(f"{place}: a built-in law is named {name} too; rename the stack")
    other = others.setdefault(name, made)
    # Of a class that is named twice one instance is as good as another.
    same = type(other) is stack if isinstance(stack, type) else other is stack
    if not same:
        raise ScenarioError(f"{place}: two stacks are named {name}; give one another name")
    return name

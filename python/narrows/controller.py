"""Congestion controllers written in Python, run beside the built-in ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from narrows import _core
from narrows._core import Ack, Interval, Loss, Mark, ScenarioError
from narrows.errors import Error
from narrows.stack import Stack, is_stack, name_of_stack


class Controller:
    """A congestion controller: it is told of acknowledgements and losses and returns a window.

    Subclass it and pass the class as a flow's ``cc``. The sender is TCP with selective
    acknowledgements. As for every law, the sender, not the controller, decides when a recovery
    epoch opens, whether the window was the limit, and what the RTT is.

    A class with parameters, ``def __init__(self, initial_window=10.0, *, delta=0.5)``, is passed
    with their values and without the window: ``cc=Mine(delta=0.1)``; each flow gets a controller of
    its own. Any function of the initial window that returns a controller will do, too.

    Parameters
    ----------
    initial_window
        The initial window in packets.

    Attributes
    ----------
    own_recovery
        Whether the window alone decides what leaves in a recovery, too; if not, proportional rate
        reduction (RFC 9937) lets packets go. A window that a loss does not cut should set it.
    rate_samples
        Whether acknowledgements carry samples of the delivery rate.
    ecn
        ``"classic"`` if packets are to leave with ECT(0) (RFC 3168), ``"scalable"`` for ECT(1) (RFC
        9331); empty to leave that to the flow's ``ecn``. Needs `on_mark`.
    ssthresh
        The slow-start threshold in packets, for a law that has one: below it half of the window
        must be used for the window to count as the limit, above it all of it. Until it is set
        the window after the last loss or mark that opened an epoch stands for it. It is read when
        `window` is called.

    Examples
    --------
    Increase the window by one packet per round trip and halve it at a loss:

    >>> import narrows as nw
    >>> class Mine(nw.Controller):
    ...     def __init__(self, initial_window):
    ...         self.cwnd = initial_window
    ...     def on_ack(self, ack):
    ...         if ack.window_limited and not ack.recovering:
    ...             self.cwnd += ack.packets / self.cwnd
    ...     def on_loss(self, loss):
    ...         if loss.opens_epoch:
    ...             self.cwnd = 1.0 if loss.timeout else max(self.cwnd / 2, 2.0)
    ...     def window(self):
    ...         return self.cwnd
    >>> result = nw.run(nw.dumbbell("10Mbps", "40ms", "20p", cc=Mine, duration="5s"))
    >>> result.flows["cc"].to_list()
    ['Mine']
    """

    # What makes controllers like this one, if it was made without an initial window.
    _made_by: Maker | None = None

    own_recovery: bool = False
    rate_samples: bool = False
    ecn: str = ""
    ssthresh: float

    def __new__(cls, *given: Any, **settings: Any) -> Self:
        """Make a controller, or, if it cannot be made without a window, what makes controllers."""
        window = None if given else _first_parameter(cls)
        if window is None or window.name in settings:
            return super().__new__(cls)
        if settings and window.default is inspect.Parameter.empty:
            return Maker(cls, settings)  # type: ignore[return-value]
        made = super().__new__(cls)
        made._made_by = Maker(cls, settings)
        return made

    def __init__(self, initial_window: float) -> None:
        raise NotImplementedError(f"{type(self).__name__} needs __init__(self, initial_window)")

    def on_ack(self, ack: Ack) -> None:
        """Respond to newly acknowledged packets.

        Parameters
        ----------
        ack
            What the acknowledgement says: packets, times in seconds.

        Raises
        ------
        NotImplementedError
            If a subclass does not define it.
        """
        raise NotImplementedError(f"{type(self).__name__} needs on_ack(self, ack)")

    def on_loss(self, loss: Loss) -> None:
        """Respond to a lost packet or to a retransmission timeout.

        Parameters
        ----------
        loss
            Which packet, when, and whether the timer expired.

        Raises
        ------
        NotImplementedError
            If a subclass does not define it.
        """
        raise NotImplementedError(f"{type(self).__name__} needs on_loss(self, loss)")

    def on_mark(self, mark: Mark) -> None:
        """Respond to packets that arrived with an ECN mark; define it to hear of marks.

        Parameters
        ----------
        mark
            How many packets, and when.
        """

    def on_timer(self, now: float) -> None:
        """Respond to the time of `timer`, in seconds; define both to have a timer.

        Parameters
        ----------
        now
            The simulated time in seconds.
        """

    def window(self) -> float:
        """Return the congestion window in packets, at least 1 and at most ten million.

        It is called after the controller is created and after every event.

        Returns
        -------
        float
            In packets.

        Raises
        ------
        NotImplementedError
            If a subclass does not define it.
        """
        raise NotImplementedError(f"{type(self).__name__} needs window(self)")

    def pacing_rate(self) -> float | None:
        """Return packets per second, or None to send as soon as the window allows.

        Define it to pace; it is called when `window` is.

        Returns
        -------
        float or None
            Packets per second, above 0.
        """
        return None

    def timer(self) -> float | None:
        """Return when `on_timer` is to be called, in seconds, or None; called when `window` is.

        Returns
        -------
        float or None
            The simulated time in seconds, later than now.
        """
        return None


class IntervalController(Controller):
    """A controller that decides once an interval, from what was counted in it.

    Packets cost no more than with a built-in law: between two decisions all is counted in Rust.
    Subclass it and pass the class as a flow's ``cc``, as of `Controller`.

    Parameters
    ----------
    initial_window
        The initial window in packets.

    Attributes
    ----------
    seconds
        The interval in seconds; an RTT if None.

    Examples
    --------
    Go on at what arrived, and probe a little above it while the delay is small:

    >>> import narrows as nw
    >>> class Mine(nw.IntervalController):
    ...     def __init__(self, initial_window):
    ...         self.start = initial_window
    ...     def on_interval(self, it):
    ...         if it.rtt_samples == 0:
    ...             return self.start
    ...         gain = 1.1 if it.rtt < 1.2 * it.conn_min_rtt else 0.9
    ...         rate = max(gain * it.delivery_rate, 10)
    ...         return 2 * rate * it.srtt + 4, rate
    >>> result = nw.run(nw.dumbbell("10Mbps", "40ms", "20p", cc=Mine, duration="5s"))
    >>> bool(result.summary["utilisation"][0] > 0.8)
    True
    """

    seconds: float | None = None

    def on_interval(self, it: Interval) -> float | tuple[float, float]:
        """Decide for the interval to come.

        Parameters
        ----------
        it
            What was counted in the one that has ended.

        Returns
        -------
        float or tuple of float
            The window in packets, or that and the pacing rate in packets per second.

        Raises
        ------
        NotImplementedError
            If a subclass does not define it.
        """
        raise NotImplementedError(f"{type(self).__name__} needs on_interval(self, it)")


def _first_parameter(cls: type[Controller]) -> inspect.Parameter | None:
    """Return the parameter of a class that takes the initial window."""
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    return parameters[0] if parameters else None


@dataclass(frozen=True)
class Maker:
    """Makes controllers of one class with the same parameters, like ``Copa(delta=0.1)``."""

    cls: type[Controller]
    settings: dict[str, Any]

    def __call__(self, initial_window: float) -> Controller:
        """Make a controller with this initial window in packets."""
        return self.cls(initial_window, **self.settings)

    @property
    def __name__(self) -> str:
        return _labelled(self.cls.__name__, (), self.settings)


Makes = Callable[[float], Controller] | Stack
Own = type[Controller] | Callable[[float], Controller] | Controller | Stack | type[Stack]
Law = str | Own


def name_of(law: Law) -> str:
    """Return the name of a law as tables show it.

    Parameters
    ----------
    law
        A name, or a user's class of controllers or what makes them.

    Returns
    -------
    str
        The name, with its settings.

    Examples
    --------
    >>> name_of("cubic"), name_of(partial(Controller, delta=0.5))
    ('cubic', 'Controller:delta=0.5')
    """
    if isinstance(law, str):
        return law
    if is_stack(law):
        return name_of_stack(law)
    if isinstance(law, Controller) and law._made_by is not None:
        return name_of(law._made_by)
    if isinstance(law, partial):
        return _labelled(name_of(law.func), law.args, law.keywords)
    name: str = getattr(law, "__name__", type(law).__name__)
    return name.strip("<>")


def _labelled(name: str, args: Sequence[Any], settings: Mapping[str, Any]) -> str:
    """Return a name with settings, as those of built-in laws are written."""
    said = [f"{setting}={value}" for setting, value in settings.items()]
    return ":".join([name, *map(str, args), *said])


def _same(one: Makes, other: Makes) -> bool:
    if isinstance(one, partial) and isinstance(other, partial):
        mine, yours = ((it.func, it.args, it.keywords) for it in (one, other))
        return mine == yours
    return one == other


def names_of(laws: Sequence[Law]) -> list[str]:
    """Return the names of laws, each of which is there once.

    Parameters
    ----------
    laws
        As for `name_of`.

    Returns
    -------
    list of str
        In order.

    Raises
    ------
    Error
        If two have one name.

    Examples
    --------
    >>> names_of(["reno", "cubic"])
    ['reno', 'cubic']
    """
    names = [name_of(law) for law in laws]
    if twice := [name for name in names if names.count(name) > 1]:
        raise Error(f"cc: {twice[0]} is named twice; leave one out")
    return names


def _takes_a_window(law: Any) -> bool:
    try:
        inspect.signature(law).bind(10.0)
    except TypeError:
        return False
    except ValueError:
        # What is written in C need not say what it takes.
        pass
    return True


def known(place: str, law: Own, others: dict[str, Makes]) -> str:
    """Add what makes a user's controllers to the others, and return its name.

    Parameters
    ----------
    place
        Where it stands in the scenario, for errors.
    law
        A user's class, or a function that makes controllers.
    others
        What makes the other controllers, by name; this one is added.

    Returns
    -------
    str
        Its name in the scenario.

    Raises
    ------
    ScenarioError
        If it makes no controllers, or its name is another law's.
    """
    name = name_of(law)
    if isinstance(law, Controller):
        if law._made_by is not None:
            return known(place, law._made_by, others)
        raise ScenarioError(
            f"{place}: {name} is one controller, and each flow needs its own; write {name} for the "
            f"class, or {name}(delta=0.5) without the initial window"
        )
    if (isinstance(law, type) and not issubclass(law, Controller)) or not callable(law):
        raise ScenarioError(
            f"{place}: {name} is not a controller; subclass narrows.Controller, or name a law"
        )
    if not _takes_a_window(law):
        raise ScenarioError(
            f"{place}: {name} cannot be called with the initial window alone, as each flow does; "
            "begin it with def __init__(self, initial_window)"
        )
    head = name.split(":")[0]
    built_in = (_core.controllers(), _core.recoveries())
    if any(head == entry[0] for entries in built_in for entry in entries) or any(
        head in aliases for _, _, _, aliases, _ in _core.controllers()
    ):
        raise ScenarioError(f"{place}: a built-in law is named {head} too; rename the class")
    other = others.setdefault(name, law)
    if not _same(other, law):
        kind = "classes" if isinstance(law, type) and isinstance(other, type) else "controllers"
        raise ScenarioError(f"{place}: two {kind} are named {name}; rename one")
    return name

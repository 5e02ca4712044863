"""Congestion controllers written in Python, run beside the built-in ones."""

from __future__ import annotations

from narrows._core import Ack, Loss


class Controller:
    """A congestion controller: told what happens, it answers with a window.

    Subclass it, and give the class as a flow's ``cc``. The sender is TCP with selective acknowledgements; whether a recovery epoch
    opens, whether the window was the limit and what the RTT is, it decides, as for every law.

    Parameters
    ----------
    initial_window
        Packets to begin with.

    Examples
    --------
    Additive increase of one packet a round trip, half at a loss:

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

    def __init__(self, initial_window: float) -> None:
        raise NotImplementedError(f"{type(self).__name__} needs __init__(self, initial_window)")

    def on_ack(self, ack: Ack) -> None:
        """Packets were acknowledged."""
        raise NotImplementedError(f"{type(self).__name__} needs on_ack(self, ack)")

    def on_loss(self, loss: Loss) -> None:
        """A packet was lost, or the retransmission timer went off."""
        raise NotImplementedError(f"{type(self).__name__} needs on_loss(self, loss)")

    def window(self) -> float:
        """Give the congestion window in packets: finite, at least 1. Asked after everything that is told."""
        raise NotImplementedError(f"{type(self).__name__} needs window(self)")

"""Congestion controllers written in Python, run beside the built-in ones."""

from __future__ import annotations

from narrows._core import Ack, Loss


class Controller:
    """A congestion controller: it is told of acknowledgements and losses and returns a window.

    Subclass it and pass the class as a flow's ``cc``. The sender is TCP with selective
    acknowledgements. As for every law, the sender, not the controller, decides when a recovery
    epoch opens, whether the window was the limit, and what the RTT is.

    Parameters
    ----------
    initial_window
        The initial window in packets.

    Attributes
    ----------
    own_recovery
        Whether the window alone decides what leaves in a recovery, too; if not, proportional rate
        reduction (RFC 9937) lets packets go. A window that a loss does not cut should set it.

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

    own_recovery: bool = False

    def __init__(self, initial_window: float) -> None:
        raise NotImplementedError(f"{type(self).__name__} needs __init__(self, initial_window)")

    def on_ack(self, ack: Ack) -> None:
        """Respond to newly acknowledged packets."""
        raise NotImplementedError(f"{type(self).__name__} needs on_ack(self, ack)")

    def on_loss(self, loss: Loss) -> None:
        """Respond to a lost packet or to a retransmission timeout."""
        raise NotImplementedError(f"{type(self).__name__} needs on_loss(self, loss)")

    def window(self) -> float:
        """Return the congestion window in packets, finite and at least 1.

        It is called after the controller is created and after every event.
        """
        raise NotImplementedError(f"{type(self).__name__} needs window(self)")

"""The cost of a controller written in Python per acknowledgement, compared with the law in Rust."""

from __future__ import annotations

import time

import narrows as nw


class Reno(nw.Controller):
    """Reno's law over a SACK recovery."""

    def __init__(self, initial_window: float) -> None:
        self.cwnd, self.ssthresh = initial_window, float("inf")

    def on_ack(self, ack: nw.Ack) -> None:
        """Grow by one packet per packet acknowledged; above ssthresh, by one per round trip."""
        if ack.window_limited and not ack.recovering:
            self.cwnd += ack.packets if self.cwnd < self.ssthresh else ack.packets / self.cwnd

    def on_loss(self, loss: nw.Loss) -> None:
        """Halve the window once per recovery epoch; after a timeout it is one packet."""
        if loss.opens_epoch:
            self.ssthresh = max(self.cwnd / 2, 2.0)
            self.cwnd = 1.0 if loss.timeout else self.ssthresh

    def window(self) -> float:
        """Return the window in packets."""
        return self.cwnd


def seconds(cc: str | type[nw.Controller]) -> tuple[float, int]:
    """Measure a run's wall-clock time, and count the packets delivered, each with its own ACK."""
    result = nw.run(
        nw.dumbbell("100Mbps", "40ms", "100p", cc=cc, duration="120s", tcp="ns2", sample="0s")
    )
    return result.wall, int(result.summary["delivered"][0])


def main() -> None:
    """Print the cost per acknowledgement."""
    begun = time.perf_counter()
    (rust, packets), (python, same) = (
        min(seconds("sack") for _ in range(3)),
        min(seconds(Reno) for _ in range(3)),
    )
    assert packets == same, "both are Reno's law"
    cost = (python - rust) / packets * 1e6
    print(
        f"a controller in Python: {cost:.2f} us per acknowledgement, "
        f"in addition to {rust / packets * 1e6:.2f} us per packet for everything else"
    )
    print(f"({packets} packets; {time.perf_counter() - begun:.0f} s)")


if __name__ == "__main__":
    main()

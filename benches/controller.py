"""What a controller written in Python costs for each acknowledgement, beside the same law in Rust."""

from __future__ import annotations

import time

import narrows as nw


class Reno(nw.Controller):
    """Reno's law over SACK."""

    def __init__(self, initial_window: float) -> None:
        self.cwnd, self.ssthresh = initial_window, float("inf")

    def on_ack(self, ack: nw.Ack) -> None:
        """One packet more for each, then one more a round trip."""
        if ack.window_limited and not ack.recovering:
            self.cwnd += ack.packets if self.cwnd < self.ssthresh else ack.packets / self.cwnd

    def on_loss(self, loss: nw.Loss) -> None:
        """Half."""
        if loss.opens_epoch:
            self.ssthresh = max(self.cwnd / 2, 2.0)
            self.cwnd = 1.0 if loss.timeout else self.ssthresh

    def window(self) -> float:
        """Packets."""
        return self.cwnd


def seconds(cc: str | type[nw.Controller]) -> tuple[float, int]:
    """Wall time of a run, and the packets delivered: each is acknowledged on its own."""
    result = nw.run(
        nw.dumbbell("100Mbps", "40ms", "100p", cc=cc, duration="120s", tcp="ns2", sample="0s")
    )
    return result.wall, int(result.summary["delivered"][0])


def main() -> None:
    """Print the cost of an acknowledgement."""
    begun = time.perf_counter()
    (rust, packets), (python, same) = (
        min(seconds("sack") for _ in range(3)),
        min(seconds(Reno) for _ in range(3)),
    )
    assert packets == same, "both are Reno's law"
    cost = (python - rust) / packets * 1e6
    print(
        f"a controller in Python: {cost:.2f} us an acknowledgement beside {rust / packets * 1e6:.2f} us a packet of the rest"
    )
    print(f"({packets} packets; {time.perf_counter() - begun:.0f} s)")


if __name__ == "__main__":
    main()

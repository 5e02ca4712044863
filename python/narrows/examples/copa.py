"""Copa's default mode in thirty lines of Python, beside the built-in law.

Arun and Balakrishnan, "Copa: practical delay-based congestion control for the Internet" (NSDI
2018), §2.1: the window moves towards 1/(δ·dq) packets per RTTstanding, where dq is RTTstanding, the
smallest RTT of the last half of a smoothed RTT, minus the smallest RTT of 10 s; v doubles once per
round trip that goes where the last three went.

    python examples/copa.py
"""

from collections import deque

import narrows as nw


class Recent:
    """The least of the values of a time."""

    def __init__(self) -> None:
        self.values: deque[tuple[float, float]] = deque()

    def least(self, now: float, value: float, span: float) -> float:
        while self.values and self.values[-1][1] >= value:
            self.values.pop()
        self.values.append((now, value))
        while self.values[0][0] < now - span:
            self.values.popleft()
        return self.values[0][1]


class Copa(nw.Controller):
    """Copa with δ in 1/packets."""

    own_recovery = True

    def __init__(self, initial_window: float = 10.0, *, delta: float = 0.5) -> None:
        self.cwnd, self.delta = initial_window, delta
        self.slow_start, self.v, self.up, self.rounds = True, 1.0, True, 0
        self.round_ends, self.before = 0, initial_window
        self.standing, self.minimum = Recent(), Recent()
        self.rate: float | None = None

    def on_ack(self, ack: nw.Ack) -> None:
        if ack.rtt is None or ack.smoothed_rtt is None:
            return
        standing = self.standing.least(ack.now, ack.rtt, ack.smoothed_rtt / 2)
        queueing = standing - self.minimum.least(ack.now, ack.rtt, 10.0)
        if ack.newest >= self.round_ends:
            self.round_ends = ack.next
            self.end_round()
        below = self.cwnd * queueing <= standing / self.delta
        if self.slow_start and below:
            self.cwnd += ack.packets if ack.window_limited else 0.0
        else:
            if self.slow_start or (below != self.up and self.v > 1.0):
                self.v, self.up, self.rounds, self.before = 1.0, below, 0, self.cwnd
            self.slow_start = False
            self.v = min(self.v, max(self.delta * self.cwnd, 1.0))
            step = ack.packets * self.v / (self.delta * self.cwnd)
            if not below:
                self.cwnd = max(self.cwnd - step, 2.0)
            elif ack.window_limited:
                self.cwnd += step
        self.rate = 2.0 * self.cwnd / standing

    def end_round(self) -> None:
        if self.slow_start:
            return
        up = self.cwnd > self.before
        self.rounds = self.rounds + 1 if up == self.up else 1
        self.v = 2.0 * self.v if self.rounds > 3 else 1.0
        self.up, self.before = up, self.cwnd

    def on_loss(self, loss: nw.Loss) -> None:
        if loss.timeout:
            self.cwnd, self.slow_start, self.v = loss.in_flight + 1.0, True, 1.0

    def window(self) -> float:
        return self.cwnd

    def pacing_rate(self) -> float | None:
        return self.rate


def main() -> None:
    """Run both over one bottleneck, alone and with δ = 0.1, and print what they do."""
    path = nw.dumbbell("20Mbps", "40ms", "2bdp", flows=2, duration="60s", overhead="100us")
    built_in = "copa:competitive=off:reduce_on_loss=off"
    print(nw.compare(path, [Copa, built_in, Copa(delta=0.1), f"{built_in}:delta=0.1"], seeds=3))


if __name__ == "__main__":
    main()

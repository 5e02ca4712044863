"""Run your own controller in Python: a binomial law beside Reno's law and CUBIC.

W ← W + α/W^(k+1) for each packet acknowledged, W ← W − βW^l once per recovery epoch, with
k = l = 1/2: the law that Bansal and Balakrishnan (INFOCOM 2001) call SQRT.

    python examples/own_controller.py windows.png
"""

import sys

import narrows as nw


class Sqrt(nw.Controller):
    """The binomial law with k = l = 1/2, α = 1, β = 0.5."""

    def __init__(self, initial_window: float) -> None:
        self.cwnd = initial_window
        self.ssthresh = float("inf")

    def on_ack(self, ack: nw.Ack) -> None:
        if not ack.window_limited or ack.recovering:
            return
        self.cwnd += ack.packets * (1.0 if self.cwnd < self.ssthresh else self.cwnd**-1.5)

    def on_loss(self, loss: nw.Loss) -> None:
        if loss.opens_epoch:
            self.ssthresh = max(self.cwnd - 0.5 * self.cwnd**0.5, 2.0)
            self.cwnd = 1.0 if loss.timeout else self.ssthresh

    def window(self) -> float:
        return self.cwnd


def main() -> None:
    """Run it beside Reno's law and CUBIC, print the goodputs, and draw the windows."""
    scenario = nw.Scenario(
        duration="60s",
        dumbbell={"rate": "30Mbps", "rtt": "40ms", "buffer": "1bdp"},
        flows=[{"cc": Sqrt}, {"cc": "sack"}, {"cc": "cubic"}],
    )
    result = nw.run(scenario)
    print(result.flows.select("cc", "goodput", "loss_rate"))
    if len(sys.argv) > 1:
        nw.plot.single(result).savefig(sys.argv[1], dpi=150)


if __name__ == "__main__":
    main()

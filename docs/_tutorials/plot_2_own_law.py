"""
A controller of your own
========================

Binomial congestion control (Bansal, Balakrishnan, INFOCOM 2001) with k = l = 1/2:

.. math::

   W \\leftarrow W + \\frac{\\alpha}{W^{3/2}} \\text{ for each packet acknowledged}, \\qquad
   W \\leftarrow W - \\beta \\sqrt{W} \\text{ once per recovery epoch}
"""

import narrows as nw


class Sqrt(nw.Controller):
    """α = 1, β = 1/2."""

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


# %%
# The class stands where a name would. Losses, recovery and retransmission are the sender's; the law
# says how large the window is.

scenario = nw.Scenario(
    duration="40s",
    dumbbell={"rate": "30Mbps", "rtt": "40ms", "buffer": "1bdp"},
    flows=[{"cc": Sqrt}, {"cc": "reno"}, {"cc": "cubic"}],
)
result = nw.run(scenario)
result.flows.select("cc", "goodput", "loss_rate")

# %%
# Beside Reno's law (``reno``) and CUBIC it takes what its slow growth and small reductions get it.

axes = nw.plot.window(result)

# %%
# Alone on the link, for each buffer, beside the built-in laws:

alone = nw.dumbbell("30Mbps", "40ms", "0.2bdp", duration="30s")
nw.compare(alone, [Sqrt, "reno", "cubic"], seeds=2)

# %%
# Does it do what RFCs ask of every controller? Each check is made from what is on the wire
# (`how <../conformance.html>`_).

nw.conform(Sqrt, as_="any", only="timeouts")

"""
A first experiment
==================

Two CUBIC flows share 100 Mbps over 50 ms. Is a tenth of a bandwidth-delay product of buffer enough?
"""

import narrows as nw

scenario = nw.dumbbell("100Mbps", "50ms", "0.1bdp", cc="cubic", flows=2, duration="30s")
result = nw.run(scenario)
result

# %%
# What the numbers should be read with is said below them. They are polars data frames:
# ``result.summary``, ``result.flows``, ``result.links``.

result.flows.select("cc", "goodput", "loss_rate", "mean_rtt")

# %%
# Windows and queue over time (``nw.plot.single(result).savefig(…)`` writes all pictures of a run):

axes = nw.plot.window(result)

# %%
axes = nw.plot.queue(result)

# %%
# One buffer says little; five say where the knee is. Every combination runs under three seeds, and
# what has run is kept: a second call repeats nothing.

found = nw.sweep(
    scenario,
    buffer=["10p", "0.05bdp", "0.1bdp", "0.3bdp", "1bdp"],
    pacing=["none", "even"],
    seeds=3,
)
found.means("utilisation")

# %%
figure = nw.plot.sweep(found, "buffer", by=["pacing"])

# %%
# So a tenth of a bandwidth-delay product (42 packets) gives 95 to 97 % of the link, and a third of
# one nearly all; ten packets give 79 %, and 92 if packets are spaced evenly.
#
# The same from a terminal::
#
#     narrows compare --rate 100Mbps --rtt 50ms --buffer 10p,0.1bdp,1bdp \
#         --cc 2*cubic --pacing none,even

"""
How much buffer?
================

Twenty flows share 200 Mbps; routers hold tens of packets. What do they need, and what do the rules
of the literature say?
"""

import narrows as nw
from narrows import theory

base = nw.dumbbell("200Mbps", "40ms", "20p", flows=20, duration="10s")
found = nw.sweep(
    base,
    buffer=["10p", "20p", "40p", "80p", "160p"],
    cc=["cubic", "bbr", "etcp"],
    seeds=2,
)
found.means("utilisation")

# %%
figure = nw.plot.sweep(found, "buffer", by=["cc"])

# %%
# Rules are formulas, each with its source and its domain. The bandwidth-delay product is 667
# packets here:

bdp = 200e6 * 0.04 / 12_000
print(f"BDP            {bdp:.0f} packets")
print(f"BDP/√n         {bdp / 20**0.5:.0f}")
print(f"E-TCP, M/D/1/B {theory.queue.p0_for(20, 0.95):.4f} is the p0 for 20 packets and 95 %")

# %%
# The advisor brackets a target by runs and says which rules hold::
#
#     narrows buffer --rate 200Mbps --rtt 40ms --flows 20 --target "utilisation >= 0.95"
#
# Ten thousand runs are the same call with an executor: ``executor=`` takes what has ``submit``, as
# `concurrent.futures` and Dask have it (`sweeps <../sweeps.html>`_).

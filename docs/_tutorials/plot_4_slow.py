"""
Why was it slow?
================

A capture in, causes out. This one is made here; yours comes from ``tcpdump -s 128 -w slow.pcap``.
"""

import tempfile
from pathlib import Path

import narrows as nw

folder = Path(tempfile.mkdtemp())
scenario = nw.dumbbell("20Mbps", "40ms", "0.3bdp", cc="cubic", duration="20s")
nw.run(scenario.with_({"trace.links": ["bottleneck", "reverse"]}), traces_to=folder)

explained = nw.why(folder / "packets.pcapng")
explained

# %%
# Its time line: round trips, and what held the flow back at each instant, are a data frame.

import matplotlib.pyplot as plt

times = explained.times
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.fill_between(times["t"], 1e3 * times["rtt_min"], 1e3 * times["rtt_max"], step="post")
_ = axes.set(xlabel="time (s)", ylabel="RTT (ms), least to largest")

# %%
# The path that the flow saw, as a scenario:

fitted = nw.fit(explained)
print(fitted.scenario.to_toml())

# %%
# So one can ask what another law, or another buffer, would have done there.

nw.compare(fitted.scenario, ["reno", "cubic", "bbr"])

# %%
# From a terminal: ``narrows why slow.pcap``, ``narrows fit slow.pcap`` (`more <../why.html>`_).

"""
Every combination, here and on a cluster
========================================

A sweep runs a scenario at every point under every seed. What has run is kept: stop it, start it
again, and it continues.
"""

from concurrent.futures import ThreadPoolExecutor

import narrows as nw

base = nw.dumbbell("50Mbps", "40ms", "20p", flows=4, duration="10s")
found = nw.sweep(
    base,
    # These go together …
    nw.Zipped(rate=["20Mbps", "50Mbps"], rtt=["100ms", "40ms"]),
    # … and with these in every combination.
    buffer=["10p", "40p", "160p"],
    cc=["cubic", "bbr"],
    seeds=3,
)
found.means("utilisation")

# %%
figure = nw.plot.sweep(found, "buffer", by=["cc", "rate"])

# %%
# Two laws under one seed see the same starts and losses, so that their difference is known better
# than each of them:

found.paired("cc", "bbr", "cubic", "utilisation")

# %%
# Seeds can be added until an interval is narrow enough:

until = nw.sweep(base, buffer=["20p", "80p"], seeds=3, until="3%")
until.means("utilisation")

# %%
# Anything with ``submit`` runs it: a pool of this machine, or of many.

with ThreadPoolExecutor(2) as pool:
    again = nw.sweep(base, buffer=["20p", "80p"], seeds=6, executor=pool)
again.means("utilisation")

# %%
# On a cluster of Slurm's, with ``pip install "narrows[dask]"``::
#
#     from dask_jobqueue import SLURMCluster
#     from distributed import Client
#
#     cluster = SLURMCluster(cores=16, memory="32GB")
#     cluster.scale(jobs=20)
#     nw.sweep(base, cc=[...], seeds=100, executor=Client(cluster).get_executor())
#
# From a terminal a file says the same: ``narrows sweep FILE`` (`more <../sweeps.html>`_).

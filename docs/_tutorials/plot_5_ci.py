"""
A controller in CI
==================

A scenario may say what its runs are expected to show. Over seeds each expectation holds, fails, or
is not decided.
"""

import narrows as nw

scenario = nw.Scenario(
    duration="15s",
    dumbbell={"rate": "100Mbps", "rtt": "40ms", "buffer": "0.2bdp"},
    flows=[{"name": "video", "cc": "bbr", "count": 2}, {"name": "bulk", "cc": "cubic", "count": 2}],
    expect={
        "utilisation": ">= 0.9",
        "links.bottleneck.delay_p99": "<= 12ms",
        "groups.bulk.share": ">= 0.1",
    },
    seeds={"count": 3},
)
checked = scenario.check()
assert checked
checked

# %%
# A run of it:

axes = nw.plot.goodput(nw.run(scenario))

# %%
# ``narrows check suites/`` does so for each file of a folder, with ``--junit`` for a server, and
# keeps captures of what failed (`how <../checks.html>`_).
#
# Whether a controller does what its RFC says is seen on the wire:

found = nw.conform("cubic", only="decrease")
assert found
found

"""What hosts and routers made of software take of a round trip, by idle RTTs published of them.

Where hosts answer at once, arrivals keep step with a queue's departures, and RTTs decide to a
fraction of a packet's turn who loses (S. Floyd, V. Jacobson: On Traffic Phase Effects in
Packet-Switched Gateways; Internetworking: Research and Experience 3, 1992). Times that vary end
that in part. What is left is averaged over: each seed has another of the RTTs that were published.
No cell is looked at here.
"""

from __future__ import annotations

import math
from typing import NamedTuple


class Hosts(NamedTuple):
    """Hosts of a testbed.

    Attributes
    ----------
    low_ms, high_ms
        Between what the least RTT of a run is longer than netem was told, in milliseconds.
    deviation_ms
        The standard deviation of RTTs in a run, in milliseconds.
    """

    low_ms: float
    high_ms: float
    deviation_ms: float

    @property
    def wait(self) -> str:
        """The mean wait of a packet at each of its ends, exponential: two of them deviate so."""
        return f"{1e3 * self.deviation_ms / math.sqrt(2):.3g}us"

    def beyond_ms(self, part: float) -> float:
        """Return by how much the least RTT is longer, a part of the way from low to high."""
        return self.low_ms + part * (self.high_ms - self.low_ms)


# vinitaparasrampuria/IMC-Revisiting-TCP dfc64e34, runs of five pings: 22 without netem on FABRIC
# (fabric-outputs/01-validate, 02-setup-core, 03-setup-intermediate; the least is 0.110 ms) and 40
# on CloudLab (cloudlab-outputs; of those with netem the least is 0.170 to 0.384 ms beyond what it
# was told). They print the least and the largest, 0.109 and 0.114 ms apart on average, and five
# draws from a normal distribution are 2.326 deviations apart. (The mdev that they print has
# rounding errors of up to 0.2 ms.) Others' least on FABRIC are 0.164 ms
# (fatihsarpkaya/bbr-shared-bottleneck db564229, ware-topology-experiments.ipynb), 0.154 and
# 0.195 ms (natty6418/tcp-cc c1020ccd).
FABRIC = Hosts(0.11, 0.195, 0.109 / 2.326)
CLOUDLAB = Hosts(0.17, 0.384, 0.114 / 2.326)
# With a node for the delay on the way: the first srtts of 192 flows over 50 ms are 0.237 to 0.428
# ms beyond it, the 10th to the 90th percentile (fatihsarpkaya/bottleneck-prediction e6154e61,
# data/srtt_main.csv); of these two waits are 0.066 ms.
FABRIC_DELAYED = FABRIC._replace(low_ms=0.171, high_ms=0.362)
# Namespaces of one machine: flent's 723 pings before flows begin, over 20 and 80 ms, are 0.205 ms
# longer on average (L4STeam/l4steam.github.io 43b12daf, ect1-tests), of which two waits are 0.028
# ms; they deviate by 0.039 and 0.031 ms in print, of which rounding to 0.1 ms makes 0.029, and by
# 0.020 ms without it.
NAMESPACES = Hosts(0.177, 0.177, 0.020)
# Least RTTs that iperf3 has seen: 10.059 to 10.060 ms (Greenscreen23/prague-fallback-experiments
# 5462b1fc, prague-results.json) and 10.072 ms with 10 ms one way (gomezgaona/bbr3 ca62095f,
# fairness_time).
GREENSCREEN = NAMESPACES._replace(low_ms=0.06, high_ms=0.06)
GOMEZ = NAMESPACES._replace(low_ms=0.072, high_ms=0.072)

# By laboratory. Of P. Heist's machine, and of the one that the L4S team's tests for the ICCRG were
# run on, nothing is published: the same as the team's other one.
HOSTS = {
    "nyu-ware": FABRIC,
    "nyu-scherrer": FABRIC,
    "nyu-many-fabric": FABRIC,
    "nyu-many-cloudlab": CLOUDLAB,
    "nyu-l4s": FABRIC_DELAYED,
    "heist": NAMESPACES,
    "l4steam": NAMESPACES,
    "greenscreen": GREENSCREEN,
    "gomez": GOMEZ,
}

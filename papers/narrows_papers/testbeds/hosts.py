"""What hosts and routers made of software take of a round trip, by RTTs published of them.

Where hosts answer at once, arrivals keep step with a queue's departures, and RTTs decide to a
fraction of a packet's turn who loses (S. Floyd, V. Jacobson: On Traffic Phase Effects in
Packet-Switched Gateways; Internetworking: Research and Experience 3, 1992). So packets wait for
times that vary, and what is known of an RTT is averaged over: each seed has another. No share that
was measured is looked at here.
"""

from __future__ import annotations

import math
from typing import NamedTuple


class Hosts(NamedTuple):
    """Hosts of a testbed.

    Attributes
    ----------
    low_ms, high_ms
        The least RTT of a run is longer than netem was told. These are the least and the median of
        that over runs, in milliseconds.
    deviation_ms
        The standard deviation of RTTs in a run, in milliseconds.
    """

    low_ms: float
    high_ms: float
    deviation_ms: float

    @property
    def wait(self) -> str:
        """The mean of the exponential time that a packet waits at each of its two ends.

        The sum of two such times has the deviation of RTTs.
        """
        return f"{1e3 * self.deviation_ms / math.sqrt(2):.3g}us"

    def beyond_ms(self, part: float) -> float:
        """Return by how much RTTs are longer, a part of the way from the least to the median."""
        return self.low_ms + part * (self.high_ms - self.low_ms)


# 22 runs of five pings on FABRIC without netem, of which only the least, the mean and the largest
# are printed (vinitaparasrampuria/IMC-Revisiting-TCP dfc64e34, fabric-outputs/01-validate,
# 02-setup-core, 03-setup-intermediate). The largest are taken for first pings, as they are where
# each is printed, and left out: the four that follow in each of three runs deviate by 0.0116 ms
# (fatihsarpkaya/bbr-shared-bottleneck db564229, ware-topology-experiments.ipynb;
# natty6418/tcp-cc c1020ccd, Basic NIC htb and tbf).
FABRIC = Hosts(0.11, 0.1295, 0.0116)
# With a node for the delay on the way: first srtts of 192 flows over 50 ms
# (fatihsarpkaya/bottleneck-prediction e6154e61, data/srtt_main.csv).
FABRIC_DELAYED = FABRIC._replace(low_ms=0.167, high_ms=0.284)
# Ten runs with netem (IMC-Revisiting-TCP, cloudlab-outputs/setup_edge_output.txt). In 40 runs
# the largest of five is 0.114 ms above the least on average, and five draws from a normal
# distribution are 2.326 deviations apart; first pings are not further off there.
CLOUDLAB = Hosts(0.17, 0.3155, 0.114 / 2.326)
# Namespaces of one machine: the least srtts of 87 runs over 20 ms (L4STeam/l4steam.github.io
# 43b12daf, ect1-tests, tcp_rtt). 723 pings before flows begin, the first left out, deviate by
# 0.033 ms, by the likelihood of what is printed to 0.1 ms.
NAMESPACES = Hosts(0.026, 0.16, 0.033)
# The least RTTs that iperf3 has seen in three and in two runs: Greenscreen23/
# prague-fallback-experiments 5462b1fc, data/trace/*/prague-results.json; gomezgaona/bbr3 ca62095f,
# experiments/fairness_time.
GREENSCREEN = NAMESPACES._replace(low_ms=0.059, high_ms=0.06)
GOMEZ = NAMESPACES._replace(low_ms=0.068, high_ms=0.07)

# By laboratory. Of P. Heist's machine nothing is published, and of that of the tests for the ICCRG
# only what the cells' own files say: both as the L4S team's other one.
HOSTS = {
    "nyu-ware": FABRIC,
    "nyu-scherrer": FABRIC,
    "nyu-many-fabric": FABRIC,
    "nyu-many-cloudlab": CLOUDLAB,
    "nyu-l4s": FABRIC_DELAYED,
    "nyu-dominance": FABRIC_DELAYED,
    "heist": NAMESPACES,
    "l4steam": NAMESPACES,
    "greenscreen": GREENSCREEN,
    "gomez": GOMEZ,
}

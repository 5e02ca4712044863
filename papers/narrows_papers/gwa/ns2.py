"""What ns-2.35 gives on GWA's networks, beside which the pages show narrows.

An installed package has no ``validation`` folder, so the numbers stand here; a test compares each
with the runs in ``validation/lan.jsonl`` and ``validation/gwa.jsonl``.
"""

from __future__ import annotations

from typing import NamedTuple


class Network(NamedTuple):
    """One of the networks of §6 at one buffer: its hosts' links and bottleneck in Mbps, its hosts.

    The names are those of the runs' cases.
    """

    bw: float
    access: float
    n: int
    kb: int


class Seen(NamedTuple):
    """Means over ``seeds`` runs, and the longest Telnet delays of all runs in seconds.

    ``most``, ``mean`` and ``least`` are goodputs of an FTP over the link's rate, ``drops`` is the
    share of packets dropped, ``longest`` the shortest, the mean and the longest of the runs'
    longest delays.
    """

    seeds: int
    most: float
    mean: float
    least: float
    drops: float
    longest: tuple[float, float, float]


def lan(kilobytes: int, access: float = 100) -> Network:
    """Return the LAN of §6.1."""
    return Network(100, access, 10, kilobytes)


def wan(kilobytes: int) -> Network:
    """Return the WAN of §6.2."""
    return Network(155, 100, 10, kilobytes)


def many(kilobytes: int) -> Network:
    """Return the network of §6.3, which has no Telnet sessions."""
    return Network(10, 10, 100, kilobytes)


# ns-2's Drop-Tail and RED, and its ECN if it is made to mark above the upper threshold, as the
# paper's (note 7).
NS2: dict[tuple[str, Network], Seen] = {
    ("Drop-Tail", many(200)): Seen(1, 0.6363, 0.00954, 0.00036, 0.06002, (0, 0, 0)),
    ("Drop-Tail", many(300)): Seen(1, 0.3759, 0.00949, 0.00076, 0.07112, (0, 0, 0)),
    ("Drop-Tail", many(400)): Seen(1, 0.2897, 0.00949, 0.00293, 0.05876, (0, 0, 0)),
    ("Drop-Tail", many(600)): Seen(1, 0.3269, 0.00953, 0.00239, 0.04, (0, 0, 0)),
    ("Drop-Tail", many(800)): Seen(1, 0.1093, 0.00954, 0.0031, 0.02519, (0, 0, 0)),
    ("Drop-Tail", lan(30, 99.9)): Seen(
        10, 0.1255, 0.08846, 0.05652, 0.01186, (0.9026, 4.567, 13.82)
    ),
    ("Drop-Tail", lan(30)): Seen(20, 0.2164, 0.08831, 0.02128, 0.008594, (1.36, 7.767, 19.93)),
    ("Drop-Tail", lan(60)): Seen(5, 0.1123, 0.09486, 0.07631, 0.007002, (0.9035, 1.541, 4.088)),
    ("Drop-Tail", lan(120)): Seen(5, 0.1121, 0.09517, 0.08051, 0.005479, (0.6064, 1.018, 1.758)),
    ("Drop-Tail", wan(64)): Seen(2, 0.0725, 0.05463, 0.03922, 0.002043, (0.0762, 0.2163, 0.3564)),
    ("Drop-Tail", wan(128)): Seen(2, 0.1974, 0.08241, 0.0385, 0.0007089, (0.3342, 0.3348, 0.3354)),
    ("Drop-Tail", wan(512)): Seen(2, 0.2179, 0.09406, 0.04386, 0.0002905, (0.1026, 0.1108, 0.119)),
    ("ECN", many(200)): Seen(5, 0.01842, 0.008244, 0.00022, 0.0, (0, 0, 0)),
    ("ECN", many(300)): Seen(1, 0.01826, 0.00812, 0.00348, 0.0, (0, 0, 0)),
    ("ECN", many(400)): Seen(5, 0.02236, 0.008566, 0.002292, 0.0, (0, 0, 0)),
    ("ECN", many(600)): Seen(1, 0.01756, 0.00876, 0.00371, 0.0, (0, 0, 0)),
    ("ECN", many(800)): Seen(5, 0.02424, 0.008734, 0.003502, 0.0, (0, 0, 0)),
    ("ECN", lan(30)): Seen(3, 0.1348, 0.09359, 0.05191, 0.0005352, (0.3, 0.3067, 0.3177)),
    ("ECN", lan(60)): Seen(3, 0.1496, 0.07653, 0.02781, 0.0001104, (0.2997, 1.538, 4.011)),
    ("ECN", lan(120)): Seen(3, 0.1351, 0.09333, 0.06689, 0.0, (0.2889, 0.2978, 0.3034)),
    ("RED", many(200)): Seen(1, 0.01516, 0.0095, 0.0012, 0.1712, (0, 0, 0)),
    ("RED", many(300)): Seen(1, 0.01366, 0.0095, 0.00247, 0.1558, (0, 0, 0)),
    ("RED", many(400)): Seen(1, 0.0128, 0.0095, 0.00281, 0.1384, (0, 0, 0)),
    ("RED", many(600)): Seen(1, 0.01232, 0.00952, 0.00496, 0.1106, (0, 0, 0)),
    ("RED", many(800)): Seen(1, 0.01185, 0.00949, 0.00631, 0.09718, (0, 0, 0)),
    ("RED", lan(30)): Seen(5, 0.1159, 0.0844, 0.04891, 0.01811, (0.3018, 0.7371, 0.9014)),
    ("RED", lan(60)): Seen(5, 0.1302, 0.0906, 0.06343, 0.01928, (0.7614, 0.8732, 0.9017)),
    ("RED", lan(120)): Seen(5, 0.121, 0.09473, 0.06855, 0.0187, (0.3025, 0.4245, 0.6022)),
    ("RED", wan(64)): Seen(2, 0.07436, 0.0463, 0.03311, 0.003855, (0.3382, 0.346, 0.3539)),
    ("RED", wan(128)): Seen(2, 0.08711, 0.06151, 0.0436, 0.001655, (0.3322, 0.3322, 0.3322)),
    ("RED", wan(512)): Seen(2, 0.1073, 0.08187, 0.05053, 0.0005759, (0.0762, 0.218, 0.3598)),
}


def drop_rates(system: str, networks: list[Network]) -> str:
    """Say ns-2's drop rates on some networks, with the number of seeds."""
    return ", ".join(
        f"{NS2[system, network].drops:.2g} at {network.kb} kB ({seeds(system, network)})"
        for network in networks
    )


def seeds(system: str, network: Network) -> str:
    """Say how many seeds ns-2 was run with."""
    count = NS2[system, network].seeds
    return "one seed" if count == 1 else f"{count} seeds"

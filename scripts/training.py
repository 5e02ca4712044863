"""What a wheel is optimised for: short runs of the cases that docs/speed.md measures.

They are small forms: what is usual in them is usual in long ones.
"""

import narrows as nw

SECONDS = "1s"


def run(rate: str, buffer: str, flows: int, cc: str = "cubic", **more: object) -> None:
    """Run `flows` flows over one bottleneck."""
    fields = {"rtt": "40ms", "duration": SECONDS, "warmup": "0s", **more}
    nw.run(nw.dumbbell(rate=rate, buffer=buffer, flows=flows, cc=cc, **fields))


def main() -> None:
    """Run the cases."""
    ns2 = {"tcp": "ns2"}
    run("1Gbps", "20p", 50, "sack", **ns2, rtt="100ms", duration="3s")
    run("1Gbps", "20p", 50, "sack", **ns2, rtt="100ms", rtt_step="1ms")
    run("400Mbps", "2000p", 1, "sack", **ns2)
    run("1Gbps", "500p", 50, "sack", **ns2)
    run("1Gbps", "500p", 1000, "sack", **ns2)
    run("1Gbps", "500p", 5000, "sack", **ns2)
    run("200Mbps", "20p", 20, "sack", **ns2, pacing="even")
    run("200Mbps", "20p", 10, "etcp")
    run("400Mbps", "1000p", 20, "xcp", queue="xcp", **ns2)
    run("400Mbps", "200p", 10, "cubic", queue="fq-codel")
    for cc in ("cubic", "bbr", "cubic+quic", "prague"):
        run("1Gbps", "500p", 50, cc, queue="dualpi2" if cc == "prague" else "drop-tail")


if __name__ == "__main__":
    main()

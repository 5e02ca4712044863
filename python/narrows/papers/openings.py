"""What the pages say before their tables: of each paper in a paragraph, and of all papers."""

from __future__ import annotations

# What a paper claims, what stood up, what did not and why.
OPENINGS: dict[str, str] = {
    "gwa": (
        "Routers that say how much room they have, and senders that keep their window below it, "
        "lose nothing, share fairly and keep the link full; so the paper, against Reno over "
        "Drop-Tail, RED and ECN. That stood up: GWA-RR and GWA-FCFS lose nothing from the first "
        "packet on, in the LAN and the WAN, the goodput of connections with equal round trips is "
        "equal to the percent, Telnet packets take milliseconds, and the traditional systems show "
        "the unfairness, the drop rates and the timeouts that the paper describes, close to "
        "ns-2.35's. What did not: eq. 7 with k = 1/d needs two bandwidth-delay products of "
        "buffer, not one (its window form needs one, if packets are spaced); a Telnet packet over "
        "GWA-RR waits for a packet of each FTP; the numbers of packets in flight and the least "
        "buffer given for the WAN do not follow from its delays; over 10 Mbps with a hundred "
        "flows the count of flows (eq. 9) misses some; BA does not fill the WAN's link over 64 kB "
        "unless its packets are spaced; and a hundred ECN flows are fair, unless their senders "
        "stop when a window of one packet is marked, which contradicts the paper elsewhere. Some "
        "of Drop-Tail's figures at 30 kB hang on which of two events at the same instant comes "
        "first. Drop rates in the WAN exceed the paper's bound at the smallest buffers, as they "
        "do in ns-2.35. Mechanisms that the paper describes and does not measure (feedback on the "
        "SYN, backward notification, the window scale, eq. 10 in the routers, hosts of both "
        "kinds, lossy links) have experiments of our own at the end."
    ),
}

# The page over all papers.
ABOUT = [
    "# The papers, reproduced",
    "",
    "`narrows reproduce etcp` runs a paper, `narrows reproduce etcp/fig06` one experiment; "
    "`--scale quick` uses a tenth of the durations and seeds, and `-o docs/papers` writes these "
    "pages. No number here is typed: each claim is computed from the data beside it, and if it "
    "differs, the reason is given with it. The exit code is 0 if no claim differs and 1 if one "
    "does. Finished runs are kept in `.narrows/`, so drawing a figure again takes no simulation.",
    "",
    "A claim *holds* if our number is within the tolerance that the paper's digits or words allow "
    "(the tolerance and its reason are part of the claim's text), or if the order or the shape is "
    "the one described. It *differs* otherwise, and both numbers stay. It is *not decided* if "
    "the seeds' 95 % confidence intervals do not tell. A number that the paper does not give, but "
    "that follows from its equations, is marked *not given* in the paper's column.",
]

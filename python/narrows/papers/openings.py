"""What the pages say before their tables: of each paper in a paragraph, and of all papers."""

from __future__ import annotations

# What a paper claims, what stood up, what did not and why.
OPENINGS: dict[str, str] = {
    "etcp": (
        "The paper claims that TCP, HSTCP, STCP and BIC leave links with constant buffers ever "
        "emptier as connections become faster, and that a law which holds the loss rate just "
        "above a constant, 1 %, does not. Both stand: over 20 packets of buffer one E-TCP "
        "connection has a goodput of 0.88 or more of every link from 100 kbps to 5 Gbps, and "
        "fifty have more than 0.9; from 1 Gbps on each other protocol has less, a single one at 5 "
        "Gbps 0.55 at most. Windows, queues and loss rates settle where the equations say, "
        "windows of any RTT become equal, newcomers get their share, and lost packets are there "
        "a round trip later. What differs is of six kinds. The paper takes its p for losses per "
        "packet sent, while its equations make it losses per packet acknowledged. Its loads hang "
        "on how random the gaps are: exponential gaps cost up to several hundredths of "
        "utilisation against even ones, and the paper's utilisations in figures 10 and 15 lie "
        "between the two; why is not known. The argument for exponential gaps, fairness among a "
        "few connections (§III-C), finds no support: with even gaps they are the fairer. Its "
        "NewReno and HSTCP are not those of ns-2.35, whose differences ours have (figures 8 and "
        "15). The rate law with b = 25 gives up a large share of a small rate at each loss: at "
        "10 Mbps and 50 ms it swings and leaves more than a third of the link empty, of which b "
        "= 100 gets back most (figure 20). And web traffic (figure 17): throughputs are higher "
        "with E-TCP, but by other shares than the paper's, which hang on access links, sizes and "
        "thinking times that it does not give; and where the link is full, small objects take "
        "longer. Our reliable delivery recovers the losses of a large buffer's overshoot in time, "
        "where theirs did not (figure 23)."
    ),
    "ltcp": (
        "The paper claims that layers let one flow fill a link of gigabits and recover from a "
        "loss an order of magnitude faster than TCP, that flows still converge, that TCP keeps "
        "a share and is not harmed below a window of 50 packets, and that the unfairness "
        "between RTTs shrinks. What stood up: the tables of layers and speed-ups, the "
        "throughput formula, LTCP's throughput and losses (with queues of 6000 packets, and 50 "
        "at 10 Mbps, not with the bandwidth-delay product of the text), the recovery of figure "
        "5, the share that ten TCP flows keep in figure 8, and, with the growth by "
        "acknowledgements of Linux 2.4 on a wire of 773 Mbps, five of the testbed's six "
        "goodputs of one flow. What did not: flows converge, but more slowly than figure 7's "
        "text says, and the law alone is as slow; the condition for convergence (eq. 3) fails "
        "for windows close to each other, on either side of a change of layers; below 50 "
        "packets LTCP is fair to TCP only if slow start has not taken it past them; and layers "
        "make the unfairness between RTTs larger at 50 and 100 Mbps, as eq. 10 implies for "
        "flows that lose together (at 1 Gbps it is not decided: ten minutes are few of TCP's "
        "cycles). What TCP did in the table of figure 6 from 100 Mbps on is not known: neither "
        "narrows nor ns-2.35 loses the five packets that it shows."
    ),
    "htcp": (
        "The paper claims that synchronised AIMD sources are a positive linear system, whose "
        "matrix says when they are fair and how fast they become so, and that H-TCP, which "
        "grows with the time since the last loss and backs off by the ratio of RTTs, is fair, "
        "quick, friendly and efficient. The matrix stands up, to the last digit in arithmetic "
        "and within a few per cent in packets; so do the rise time of four epochs with β = 0.5 "
        "(the formula is printed with 0.95 for 0.05), eq. 22, the scaling by the RTT, and a "
        "convergence time in seconds by a rule of our own. What does not: sources with α below "
        "1 do not see each drop and are not fair, unless more packets are lost at an event; the "
        "bound of 0.8 on β keeps a link with a small queue from staying full; and with the "
        "reset of eq. 25 the flows of figure 14 take 6 to 14 epochs, as the threshold of 20 % lets "
        "the back-off return to 0.8 too early."
    ),
    "pxcp": (
        "The paper claims that XCP over a fast link needs hardly any buffer if its senders pace "
        "their packets and its routers are told 90 % of the rate: 23,360 bytes for 100 flows "
        "instead of 6.4 MB, and 10,200 in a parking lot, with the link at 90 % and perfect "
        "fairness; that without pacing even the rule of thumb is not enough for a few flows; "
        "and that in such buffers paced TCP keeps over 80 % of the link, non-paced TCP very "
        "little unless flows are many. That stood up, and both numbers lie within the spread of "
        "our seeds. Non-paced XCP does nothing in the parking lot, as in the paper, since a "
        "timeout's back-off is kept as ns-2 keeps it. What did not stand up: 800 flows need "
        "less than half of the paper's 124,040 bytes, and why is not known (four tokens in the "
        "pacer's bucket give it, but then 100 flows need too much), so non-paced TCP does not "
        "quite reach its 90 % there; and that pacing data has a much bigger impact than pacing "
        "acknowledgements (§3.2, without a run in the paper) is true only where a queue pushes "
        "acknowledgements together again. Orders of paced Reno, NewReno and HSTCP in the "
        "parking lot are close to ties: they are judged over ten seeds."
    ),
    "gwa": (
        "Routers that say how much room they have, and senders that keep their window below it, "
        "lose nothing, share fairly and keep the link full; so the paper, against Reno over "
        "Drop-Tail, RED and ECN. That stood up: GWA-RR and GWA-FCFS lose nothing from the first "
        "packet on, in the LAN and the WAN, the goodput of connections with equal round trips "
        "is equal to the percent, Telnet packets take milliseconds, and the traditional systems "
        "show the unfairness, the drop rates and the timeouts that the paper describes, close "
        "to ns-2.35's. What did not: eq. 7 with k = 1/d needs two bandwidth-delay products of "
        "buffer, not one (its window form needs one, if packets are spaced); a Telnet packet "
        "over GWA-RR waits for a packet of each FTP; the numbers of packets in flight and the "
        "least buffer given for the WAN do not follow from its delays; over 10 Mbps with a "
        "hundred flows the count of flows (eq. 9) misses some; BA does not fill the WAN's link "
        "over 64 kB unless its packets are spaced; and a hundred ECN flows are fair, unless "
        "their senders stop when a window of one packet is marked, which contradicts the paper "
        "elsewhere. Some of Drop-Tail's figures at 30 kB hang on which of two events at the "
        "same instant comes first. Drop rates in the WAN exceed the paper's bound at the "
        "smallest buffers, as they do in ns-2.35. Mechanisms that the paper describes and does "
        "not measure (feedback on the SYN, backward notification, the window scale, eq. 10 in "
        "the routers, hosts of both kinds, lossy links) have experiments of our own at the end."
    ),
}

# The page over all papers.
ABOUT = [
    "# The papers, reproduced",
    "",
    "`narrows reproduce etcp` runs a paper, `narrows reproduce etcp/fig06` one experiment; "
    "`--scale quick` uses a tenth of the durations and seeds, and `-o docs/papers` writes these "
    "pages. No verdict is typed: each claim is computed from the data beside it, and if it "
    "differs, the reason is given with it. The exit code is 0 if no claim differs and 1 if one "
    "does. Finished runs are kept in `.narrows/`, so drawing a figure again takes no simulation.",
    "",
    "A claim *holds* if our number is within the tolerance that the paper's digits or words allow "
    "(the tolerance and its reason are part of the claim's text), or if the order or the shape is "
    "the one described. It *differs* otherwise, and both numbers stay. It is *not decided* if "
    "the seeds' 95 % confidence intervals do not tell. A number that the paper does not give, but "
    "that follows from its equations, is marked *not given* in the paper's column.",
]

"""What the pages say before their tables: of each paper in a paragraph, and of all papers."""

from __future__ import annotations

# What a paper claims, what stood up, what did not and why.
OPENINGS: dict[str, str] = {
    "etcp": (
        "The paper claims that TCP, HSTCP, STCP and BIC leave links with constant buffers ever "
        "emptier as connections become faster, and that a law which holds the loss rate just "
        "above a constant, 1 %, does not. Both stand: over 20 packets of buffer one E-TCP "
        "connection has a goodput of 0.87 or more of every link from 100 kbps to 5 Gbps, and "
        "fifty have more than 0.9, where each other protocol has less, a single one at 5 Gbps "
        "0.55 at most; windows, queues and loss rates settle where the equations say, windows "
        "of any RTT become equal, newcomers get their share, and lost packets are there a round "
        "trip later. What differs is mostly of four kinds. The paper takes its p for losses per "
        "packet sent, while its equations make it losses per packet acknowledged. Its loads "
        "hang on how random the gaps are: exponential gaps cost up to several hundredths of "
        "utilisation against even ones, and the paper's utilisations in figures 10 and 15 lie "
        "above ours with exponential gaps and are reached with even ones; why is not known. Its "
        "NewReno and HSTCP are not those of ns-2.35, with which ours agree (figures 8 and 15). "
        "And the rate law with b = 25 gives up a large share of a small rate at each loss: at "
        "10 Mbps and 50 ms it swings and leaves a third of the link empty, which b = 100 cures "
        "(figure 20). Web traffic (figure 17) hangs on access links and sizes that the paper "
        "does not give. Our reliable delivery recovers the losses of a large buffer's overshoot "
        "in time, where theirs did not (figure 23)."
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
        "matrix says when they are fair and how fast they become so, and that H-TCP, which grows "
        "with the time since the last loss and backs off by the ratio of RTTs, is fair, quick, "
        "friendly and efficient. The matrix stands up: to the computer's rounding in arithmetic, "
        "and for sources with α of 1 or more within the gain of a round trip in packets, if the "
        "smaller β is not tiny. So do the rise time of four epochs with β = 0.5 (the formula is "
        "printed with 0.95 for 0.05), the shares of sources that do not see each drop (with α = "
        "2(1 − β) over equal round trips they are 5 % from fair), β by eq. 22, the scaling by the "
        "RTT, the growth of figure 9 up to 31,600 packets in 17 s (if packets are spaced: a "
        "flow's own bursts overflow its queue of 50 packets at 2300), and a quick answer to a "
        "flow that leaves, 6 s where TCP takes 67 s. TCP keeps 2 to 5 % of a fast link beside "
        "H-TCP. What does not: sources with α below 1 do not see each drop and are not fair, "
        "unless the pipe is larger and more packets are lost at an event; the bound of 0.8 on β "
        "keeps a link with a small queue from staying full, by eq. 22, too; and with the reset of "
        "eq. 25 the flows of figure 14 take 5 to 13 epochs, 10 in the median, as the threshold of "
        "20 % lets the back-off return to 0.8 too early (5 if it stays at 0.5). Whether the "
        'response function is "similar" to HSTCP\'s is not decided: its exponent is -0.72 where '
        "HSTCP's is -0.835. A convergence time in seconds, for which the paper names no rule, is "
        "kept by ours in seven of ten cases."
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
        "Drop-Tail, RED and ECN. What stood up: GWA-RR and GWA-FCFS lose nothing from the first "
        "packet on in the LAN and the WAN; in the LAN, where round trips are equal, goodputs are "
        "equal to the percent, the link is full and Telnet packets take milliseconds; windows are "
        "smoother than ECN's; senders are told the smallest room of the routers on their path; "
        "and Drop-Tail, RED and ECN have the unfairness and the drop rates that ns-2.35 has on "
        "the same networks. What did not: in the WAN GWA-RR is as unfair as GWA-FCFS, and nears "
        "fairness only with three bandwidth-delay products of buffer; eq. 7 with k = 1/d needs "
        "two of them for a full link, not one (its window form needs one, if packets are spaced); "
        "the count of flows (eq. 9) takes seconds to settle, not 0.5 s, counts Telnets too many, "
        "and misses up to four of five flows if a hundred share 10 Mbps, where GWA-RR then drops "
        "packets at 200 kB and GWA-FCFS is 10 % from fair, as round trips differ; a Telnet packet "
        "over GWA-RR waits for a packet of each FTP, and over GWA-FCFS with 1500 kB in the WAN "
        "longer than over RED; the 450 packets in flight and the least buffer given for the WAN "
        "do not follow from its delays; and BA does not fill the WAN's link over 64 kB unless an "
        "exact clock spaces its packets. ECN is RFC 2481's, which the paper cites, and ns-2's: a "
        "sender whose window is one packet stops at a mark until its timer goes off. That makes "
        "ECN as unfair as the paper has it, but with a hundred flows it leaves up to a sixth of "
        "the link empty and stays unfair over a large buffer, and it delays Telnet packets by up "
        "to 0.8 s in the LAN, all of which the paper denies; with senders that keep two packets, "
        "as Linux's do, the link is full, Telnet packets take milliseconds, and ECN is nearly "
        "fair in both networks: what the paper's senders did is not known. Drop-Tail's and RED's "
        "longest Telnet delays are below a second at most buffers, and their drop rates in the "
        "WAN exceed the paper's bound at the smallest, both as in ns-2.35. Mechanisms that the "
        "paper describes and does not measure (feedback on the SYN, backward notification, the "
        "window scale, eq. 10 in the routers, lossy links, hosts of both kinds) have experiments "
        "of our own: beside Reno, GWA hosts get 6 % of their share over GWA-FCFS with 360 kB, and "
        "95 % over GWA-RR."
    ),
}

# The page over all papers.
ABOUT = [
    "# The papers, reproduced",
    "",
    "`narrows reproduce etcp` runs a paper, `narrows reproduce etcp/fig06` one experiment; "
    "`--scale quick` uses a tenth of the durations and seeds, and `-o docs/papers` writes these "
    "pages. The verdicts and narrows' numbers in the tables are computed from the data beside "
    "them, and if a claim differs, what is known of the reason stands with it; the paragraph at "
    "the head of each page, which sums up its tables, is written by hand. The exit code is 0 if no "
    "claim differs and 1 if one does. Finished runs are kept in `.narrows/`, so drawing a figure "
    "again takes no simulation.",
    "",
    "A claim *holds* if our number is within the tolerance that the paper's digits or words allow "
    "(the tolerance and its reason are part of the claim's text), or if the order or the shape is "
    "the one described. It *differs* otherwise, and both numbers stay. It is *not decided* if "
    "the seeds' 95 % confidence intervals do not tell, or if the paper's words give no measure. A "
    "number that the paper does not give, but that follows from its equations, is marked *not "
    "given* in the paper's column, and a bound that is our reading of its words *taken as*.",
]

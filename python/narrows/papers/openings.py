"""What the pages say before their tables: of each paper in a paragraph, and of all papers."""

from __future__ import annotations

# What a paper claims, what stood up, what did not and why.
OPENINGS: dict[str, str] = {
    "ltcp": "The paper claims that layers let one flow fill a link of gigabits and recover from a "
    "loss an order of magnitude faster than TCP, that flows still converge, that TCP keeps a share "
    "and is not harmed below a window of 50 packets, and that the unfairness between RTTs shrinks. "
    "What stood up: the tables of layers and speed-ups, the throughput formula, LTCP's throughput "
    "and losses (with queues of 6000 packets, and 50 at 10 Mbps, not with the bandwidth-delay "
    "product of the text), the recovery of figure 5, the share that ten TCP flows keep in figure "
    "8, and, with the growth by acknowledgements of Linux 2.4 on a wire of 773 Mbps, five of the "
    "testbed's six goodputs of one flow. What did not: flows converge, but more slowly than figure "
    "7's text says, and the law alone is as slow; the condition for convergence (eq. 3) fails "
    "for windows close to each other, on either side of a change of layers; below 50 packets LTCP "
    "is fair to TCP only if slow start has not taken it past them; and layers make the unfairness "
    "between RTTs larger at 50 and 100 Mbps, as eq. 10 implies for flows that lose together (at 1 "
    "Gbps it is not decided: ten minutes are few of TCP's cycles). What TCP did in the "
    "table of figure 6 from 100 Mbps on is not known: neither narrows nor ns-2.35 loses the five "
    "packets that it shows.",
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

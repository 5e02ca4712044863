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
        "0.55 at most; windows, queues and loss rates settle where the equations say, windows of "
        "any RTT become equal, newcomers get their share, and lost packets are there a round trip "
        "later. What differs is mostly of four kinds. The paper takes its p for losses per packet "
        "sent, while its equations make it losses per packet acknowledged. Its loads hang on how "
        "random the gaps are: exponential gaps cost up to several hundredths of utilisation "
        "against even ones, and the paper's utilisations in figures 10 and 15 lie above ours with "
        "exponential gaps and are reached with even ones; why is not known. Its NewReno and HSTCP "
        "are not those of ns-2.35, with which ours agree (figures 8 and 15). And the rate law "
        "with b = 25 gives up a large share of a small rate at each loss: at 10 Mbps and 50 ms it "
        "swings and leaves a third of the link empty, which b = 100 cures (figure 20). Web "
        "traffic (figure 17) hangs on access links and sizes that the paper does not give. Our "
        "reliable delivery recovers the losses of a large buffer's overshoot in time, where "
        "theirs did not (figure 23)."
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

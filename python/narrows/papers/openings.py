"""What the pages say before their tables: of each paper in a paragraph, and of all papers."""

from __future__ import annotations

# What a paper claims, what stood up, what did not and why.
OPENINGS: dict[str, str] = {}

OPENINGS["pxcp"] = (
    "The paper claims that XCP over a fast link needs hardly any buffer if its senders pace their "
    "packets and its routers are told 90 % of the rate: 23,360 bytes for 100 flows instead of "
    "6.4 MB, and 10,200 in a parking lot, with the link at 90 % and perfect fairness; that without "
    "pacing even the rule of thumb is not enough for a few flows; and that in such buffers paced "
    "TCP keeps over 80 % of the link, non-paced TCP very little unless flows are many. That stood "
    "up, and both numbers lie within the spread of "
    "our seeds. Non-paced XCP does nothing in the parking lot, as in the paper, since a timeout's "
    "back-off is kept as ns-2 keeps it. What did not stand up: 800 flows need less than half of "
    "the paper's 124,040 bytes, and why is not known (four tokens in the pacer's bucket give it, "
    "but then 100 flows need too much), so non-paced TCP does not quite reach its 90 % there; and "
    "that pacing data has a much bigger impact than pacing acknowledgements (§3.2, without a run "
    "in the paper) is true only where a queue pushes acknowledgements together again. Orders of "
    "paced Reno, NewReno and HSTCP in the parking lot are close to ties: they are judged over ten "
    "seeds."
)

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

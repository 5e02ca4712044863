"""The experiments of the papers, and testbeds: a module each, one function per experiment.

Each experiment has its claims and their verdicts.
"""

from narrows_papers import etcp, gwa, htcp, laws, loops, ltcp, pxcp, raina, spang, testbeds
from narrows_papers.claims import Claim
from narrows_papers.registry import EXPERIMENTS, Experiment, choose

__all__ = [
    "EXPERIMENTS",
    "Claim",
    "Experiment",
    "choose",
    "etcp",
    "gwa",
    "htcp",
    "laws",
    "loops",
    "ltcp",
    "pxcp",
    "raina",
    "spang",
    "testbeds",
]

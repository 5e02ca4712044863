"""The score: what documents ask of a controller, tried over grids of networks.

A suite is a folder of files, one for each requirement. Each has a scenario in which ``$cc`` stands
for the controller, with its expectations, and the lists of values that make a grid of it.
"""

from narrows.score.card import Card, Cell, Sign
from narrows.score.suite import Requirement, suites
from narrows.score.work import score

__all__ = ["Card", "Cell", "Requirement", "Sign", "score", "suites"]

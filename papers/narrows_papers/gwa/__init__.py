"""GWA, generalized window advertising.

Gerla, Lo Cigno, Mascolo, Weng: "Generalized window advertising for TCP congestion control".
"""

from narrows_papers.gwa import control, lan, many, mechanisms, unequal, wan

__all__ = ["control", "lan", "many", "mechanisms", "unequal", "wan"]

"""GWA, generalized window advertising.

Gerla, Lo Cigno, Mascolo, Weng: "Generalized window advertising for TCP congestion control".
"""

from narrows.papers.gwa import control, lan, many, wan

__all__ = ["control", "lan", "many", "wan"]

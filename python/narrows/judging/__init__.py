"""Judging laws that nobody trusts: over shown and held-out scenarios, in a sandbox, as one JSON.

Examples
--------
>>> import narrows as nw
>>> verdict = nw.judge("reno", count=8, seeds=1, key="an example")
>>> verdict.status, len(verdict.told["scenarios"])
('judged', 16)
"""

from narrows.judging.bench import judge
from narrows.judging.judged import Judged

__all__ = ["Judged", "judge"]

"""Searching networks for the worst case of an expectation, and making it small.

A search varies what its space says, under the same seeds for all candidates, and keeps the best of
several regions. What it finds is run again under fresh seeds before anything is said, and shrunk to
the fewest and roundest settings that still fail clearly.
"""

from narrows.seek.search import Finding, seek
from narrows.seek.shrink import shrink
from narrows.seek.space import Space, space_of
from narrows.seek.trial import Trial

__all__ = ["Finding", "Space", "Trial", "seek", "shrink", "space_of"]

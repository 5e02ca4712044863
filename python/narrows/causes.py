"""What may hold a sender back, by the core's names and order."""

from __future__ import annotations

import json

from narrows import _core

CAUSES: tuple[str, ...] = tuple(json.loads(_core.causes()))
# As tables and legends have them.
NAMES = {name: name for name in CAUSES} | {"receiver": "receiver's window", "untold": "not told"}

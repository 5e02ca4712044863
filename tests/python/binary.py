"""The paths of the real binary and of the repository, for the tests."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
BINARY = Path(sys.executable).parent / "narrows"

Run = Callable[..., subprocess.CompletedProcess[str]]

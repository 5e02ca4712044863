"""The fixture that the tests share: the real binary, run as a user runs it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import settings

from binary import BINARY, Run

# The same cases each time: what a stranger runs must not depend on luck.
settings.register_profile("fixed", derandomize=True)
settings.load_profile("fixed")


@pytest.fixture
def narrows(tmp_path: Path) -> Run:
    """Return a function that runs the command in an empty folder."""

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [BINARY, *map(str, arguments)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return run

"""What `import narrows` brings, and what it leaves for later."""

from __future__ import annotations

import json
import subprocess
import sys

SLOW = ["matplotlib", "numpy", "polars", "rich", "scipy"]


def said(program: str) -> object:
    """Return what a fresh Python says that runs `program`."""
    run = [sys.executable, "-c", program]
    return json.loads(subprocess.run(run, capture_output=True, check=True, text=True).stdout)


def test_the_slow_parts_wait_until_they_are_named() -> None:
    names = f"[name for name in {SLOW} if name in sys.modules]"
    assert said(f"import json, sys, narrows; print(json.dumps({names}))") == []
    program = f"import json, sys, narrows as nw; nw.theory; print(json.dumps({names}))"
    assert "scipy" in str(said(program))


def test_help_waits_for_nothing_slow() -> None:
    program = f"""if True:
    import contextlib, io, json, sys
    from narrows.cli import main
    sys.argv = ["narrows", "--help"]
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):
        main()
    loaded = [name for name in {SLOW} if name in sys.modules]
    print(json.dumps(["compare" in said.getvalue(), loaded]))
    """
    assert said(program) == [True, []]


def test_each_name_is_there_after_a_bare_import() -> None:
    program = """if True:
    import json, narrows as nw
    parts = ["errors", "results", "scenario", "sweeps", "networks", "plot", "theory"]
    missing = [name for name in [*nw.__all__, *parts] if not hasattr(nw, name)]
    listed = {*nw.__all__, *parts, "__version__"} <= {*dir(nw)}
    print(json.dumps([missing, listed]))
    """
    assert said(program) == [[], True]


def test_a_star_brings_the_functions_and_leaves_scipy() -> None:
    program = """if True:
    import json, sys
    from narrows import *
    print(json.dumps([run.__name__, Scenario.__name__, "scipy" in sys.modules]))
    """
    assert said(program) == ["run", "Scenario", False]

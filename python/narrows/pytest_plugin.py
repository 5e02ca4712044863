"""Checks of conformance as tests of pytest, which finds this by narrows' entry point.

A test that is marked with ``conform`` is run once for each check, with what was found as ``row``::

    @pytest.mark.conform("cubic+quic", skip="U5")
    def test_controller(row):
        assert row, row

The mark takes what `narrows.conform` takes, and ``skip``. A check that is not asked, or that could
not be decided, is skipped with its reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from narrows.conformance import Row


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known.

    Parameters
    ----------
    config
        Of pytest.
    """
    config.addinivalue_line(
        "markers", "conform(cc, as_=None, only='all', skip='', ...): once for each check"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test of each check that the mark names.

    Parameters
    ----------
    metafunc
        A function that may be marked.
    """
    mark = metafunc.definition.get_closest_marker("conform")
    if mark is None or "row" not in metafunc.fixturenames:
        return
    from narrows import _core  # noqa: PLC0415

    given = dict(mark.kwargs)
    chosen = _core.conform_chosen("only", given.pop("only", "all"))
    skip = given.pop("skip", "")
    skipped = _core.conform_chosen("skip", skip) if skip else []
    checks = [check for check in chosen if check not in skipped]
    asks = [(mark.args[0], check, given) for check in checks]
    metafunc.parametrize("row", asks, ids=checks, indirect=True)


@pytest.fixture
def row(request: pytest.FixtureRequest) -> Row:
    """Return what a check found, or skip the test that it is for.

    Parameters
    ----------
    request
        Of the test.

    Returns
    -------
    Row
        True unless it fails.
    """
    from narrows.conformance import Finding, judged  # noqa: PLC0415

    cc, check, given = request.param
    found = judged(cc, check, **given)
    if found.finding in (Finding.NOT_ASKED, Finding.UNDECIDED):
        pytest.skip(f"{check}: {found.seen}")
    return found

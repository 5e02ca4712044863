"""Checks of conformance as tests of pytest, which finds this by narrows' entry point.

A test that is marked with ``conform`` is run once for each check, with what was found as ``row``::

    @pytest.mark.conform("cubic+quic", skip="U5")
    def test_controller(row):
        assert row, row

The mark takes what `narrows.conform` takes, and ``skip``. A check that is not asked, or that could
not be decided, is skipped with its reason.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

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
        "markers",
        "conform(cc, as_=None, only='all', skip='', transport=None, fields=None): "
        "once for each check",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test of each check that the mark names.

    Parameters
    ----------
    metafunc
        A function that may be marked.
    """
    mark = metafunc.definition.get_closest_marker("conform")
    if mark is None:
        return
    where = f"{metafunc.definition.nodeid}: @pytest.mark.conform"
    if "row" not in metafunc.fixturenames:
        raise pytest.UsageError(f"{where}: the test looks at nothing; give it an argument row")
    try:
        checks, given = _asked(*mark.args, **mark.kwargs)
    except (TypeError, ValueError) as error:
        raise pytest.UsageError(f"{where}: {error}") from None
    metafunc.parametrize("row", [(check, given) for check in checks], ids=checks, indirect=True)


def _asked(*args: Any, skip: str | None = None, **kwargs: Any) -> tuple[list[str], dict[str, Any]]:
    """Return the checks that a mark asks for, and what else `narrows.conform` is given."""
    from narrows.conformance import chosen, conform  # noqa: PLC0415
    from narrows.networks import dumbbell  # noqa: PLC0415

    given = inspect.signature(conform).bind(*args, **kwargs).arguments
    if isinstance(given["cc"], str):
        # A law that does not exist would only be skipped.
        dumbbell("10Mbps", "40ms", "1bdp", cc=given["cc"]).valid()
    return chosen(given.pop("only", "all"), skip), given


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

    if not hasattr(request, "param"):
        raise pytest.UsageError("row is of tests that are marked with @pytest.mark.conform")
    check, given = request.param
    found = judged(check=check, **given)
    if found.finding in (Finding.NOT_ASKED, Finding.UNDECIDED):
        pytest.skip(f"{check}: {found.seen}")
    return found

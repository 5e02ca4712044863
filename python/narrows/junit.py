"""JUnit XML, as Jenkins, GitLab and others read it: what was tested, and what came of it.

There is no official schema; this is what testmoapp/junitxml documents as common.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from narrows.terminal import plain


class Outcome(StrEnum):
    """What came of a case; a case that is skipped could not be decided, or does not apply."""

    PASSED = "passed"
    FAILED = "failure"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Case:
    """One case of a suite.

    Attributes
    ----------
    group
        What it belongs to; dots make a tree.
    name
        Its name in the group, without numbers that differ from run to run.
    outcome
        What came of it.
    message
        A line that says why it did not pass.
    body
        All that explains it; GitLab shows nothing else.
    """

    group: str
    name: str
    outcome: Outcome
    message: str = ""
    body: str = ""


@dataclass(frozen=True)
class Suite:
    """The cases of one file, or of one stack.

    Attributes
    ----------
    name
        Its name.
    cases
        In order.
    seconds
        The time that all took.
    properties
        What else is to be known, by name.
    """

    name: str
    cases: Sequence[Case]
    seconds: float
    properties: dict[str, str] = field(default_factory=dict)


def xml(suites: Sequence[Suite], now: datetime | None = None) -> str:
    """Write suites as JUnit XML.

    Parameters
    ----------
    suites
        What was tested.
    now
        When that was; now if None.

    Returns
    -------
    str
        The text of a file.

    Examples
    --------
    >>> print(xml([Suite("a", [Case("b", "c", Outcome.PASSED)], 1.5)], datetime(2026, 11, 25)))
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="narrows" tests="1" failures="0" errors="0" skipped="0" time="1.500">
      <testsuite name="a" tests="1" failures="0" errors="0" skipped="0" time="1.500" \
timestamp="2026-11-25T00:00:00">
        <testcase classname="b" name="c" />
      </testsuite>
    </testsuites>
    <BLANKLINE>
    """
    root = ET.Element("testsuites", {"name": "narrows", **_counts(suites)})
    when = (now or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%S")
    for suite in suites:
        about = {"name": _clean(suite.name), **_counts([suite]), "timestamp": when}
        element = ET.SubElement(root, "testsuite", about)
        if suite.properties:
            properties = ET.SubElement(element, "properties")
            for name, value in suite.properties.items():
                ET.SubElement(properties, "property", {"name": name, "value": _clean(value)})
        for case in suite.cases:
            _write(element, case)
    ET.indent(root)
    body = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _write(suite: ET.Element, case: Case) -> None:
    about = {"classname": _clean(case.group), "name": _clean(case.name)}
    element = ET.SubElement(suite, "testcase", about)
    if case.outcome is Outcome.PASSED:
        return
    reason = ET.SubElement(element, case.outcome.value, {"message": _clean(case.message)})
    if case.outcome is not Outcome.SKIPPED:
        reason.set("type", "expectation" if case.outcome is Outcome.FAILED else "run")
    reason.text = _clean(case.body or case.message)


def _counts(suites: Sequence[Suite]) -> dict[str, str]:
    outcomes = [case.outcome for suite in suites for case in suite.cases]
    return {
        "tests": str(len(outcomes)),
        "failures": str(outcomes.count(Outcome.FAILED)),
        "errors": str(outcomes.count(Outcome.ERROR)),
        "skipped": str(outcomes.count(Outcome.SKIPPED)),
        "time": f"{sum(suite.seconds for suite in suites):.3f}",
    }


def _clean(text: str) -> str:
    """Write control characters, which XML cannot say, as their codes."""
    return plain(text)

"""What narrows refuses, by what was wrong; the message says what would be right."""

from narrows._core import Error, ScenarioError

__all__ = ["Error", "ExperimentError", "ScenarioError", "SweepError"]


class SweepError(Error):
    """A sweep that cannot be run, or that has not what is asked of it."""


class ExperimentError(Error):
    """An experiment that is not there, or cannot be run as asked."""

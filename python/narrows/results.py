"""Running a scenario, and what comes of it as data frames."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from narrows import _core
from narrows.scenario import Scenario

if TYPE_CHECKING:
    import polars as pl


class Result:
    """What one run showed.

    Attributes
    ----------
    scenario
        What was run.
    seed
        Under which seed.
    wall
        Seconds that the run took.
    """

    def __init__(self, scenario: Scenario, seed: int, core: _core.Run) -> None:
        self.scenario = scenario
        self.seed = seed
        self.wall = core.wall
        self._core = core

    def table(self, name: str) -> _core.Table:
        """Give a table as an Arrow stream, for anything that speaks Arrow's PyCapsule interface.

        Parameters
        ----------
        name
            ``summary``, ``flows``, ``links``, ``transfers``, ``flow_series`` or ``link_series``.
        """
        return self._core.table(name)

    @cached_property
    def summary(self) -> pl.DataFrame:
        """One row: utilisation, goodput (bit/s), loss rate, Jain's index, queue (packets), RTT (s) at the bottleneck."""
        return self._frame("summary")

    @cached_property
    def flows(self) -> pl.DataFrame:
        """A row a flow."""
        return self._frame("flows")

    @cached_property
    def links(self) -> pl.DataFrame:
        """A row a link between routers."""
        return self._frame("links")

    @cached_property
    def transfers(self) -> pl.DataFrame:
        """A row an object that a web user asked for: when, how long it took, how large it was."""
        return self._frame("transfers")

    @cached_property
    def flow_series(self) -> pl.DataFrame:
        """A row a flow and sample: window, RTT, throughput over time."""
        return self._frame("flow_series")

    @cached_property
    def link_series(self) -> pl.DataFrame:
        """A row a link and sample: queue, loss rate, utilisation over time."""
        return self._frame("link_series")

    def record(self) -> dict[str, Any]:
        """Give the run as one object for ``--json``: summary, goodput of each flow, speed."""
        record: dict[str, Any] = self.summary.row(0, named=True)
        record["flow_goodput"] = self.flows["goodput"].to_list()
        record["wall"] = self.wall
        record["packets_per_second"] = record["delivered"] / self.wall
        return record

    def write(self, folder: str, prefix: str = "") -> list[str]:
        """Write every table as Parquet, each at once or not at all.

        Parameters
        ----------
        folder
            Must exist.
        prefix
            Put before each name.

        Returns
        -------
        list of str
            The files.
        """
        return self._core.write(folder, prefix)

    def _frame(self, name: str) -> pl.DataFrame:
        import polars as pl  # noqa: PLC0415 (half a second that `narrows list` need not wait)

        return pl.DataFrame(self._core.table(name))


def run(
    scenario: Scenario,
    *,
    seed: int | None = None,
    progress: bool | Callable[[float], None] = False,
    traces_to: str | None = None,
) -> Result:
    """Run a scenario, with the GIL released; Ctrl-C stops it.

    Parameters
    ----------
    scenario
        What to run.
    seed
        Instead of the scenario's.
    progress
        True for a progress bar, or a function of the share done, between 0 and 1; what it raises stops the run.
    traces_to
        The folder for the traces that the scenario asks for; they are not written without one.

    Returns
    -------
    Result
        Data frames.

    Examples
    --------
    >>> import narrows as nw
    >>> result = nw.run(nw.dumbbell("10Mbps", "40ms", "20p", flows=2, duration="2s"))
    >>> result.flows["flow"].to_list()
    [0, 1]
    """
    chosen: int = scenario.fields.get("seed", 1) if seed is None else seed
    json = scenario.to_json()
    if progress is True:
        from narrows.progress import bar  # noqa: PLC0415

        with bar(1) as advance:
            return Result(
                scenario,
                chosen,
                _core.run(
                    json, chosen, lambda share: advance(0, share), traces_to, scenario.controllers
                ),
            )
    return Result(
        scenario, chosen, _core.run(json, chosen, progress or None, traces_to, scenario.controllers)
    )

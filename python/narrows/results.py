"""Running a scenario, and its results as data frames."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from narrows import _core
from narrows.errors import Error
from narrows.files import parquet, write_at_once, writing_into
from narrows.lateness import Real
from narrows.metrics import table_names
from narrows.scenario import Scenario

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table


class Result:
    """The results of one run.

    Attributes
    ----------
    scenario
        The scenario that was run.
    seed
        The seed that it was run with.
    wall
        Wall-clock time that the run took, in seconds.
    real
        Of a run of real connections, how late the emulator was and whether to believe it; None of a
        simulated one.
    """

    def __init__(
        self, scenario: Scenario, seed: int, core: _core.Run, real: Real | None = None
    ) -> None:
        self.real = real
        self.scenario = scenario
        self.seed = seed
        self.wall = core.wall
        self._core = core

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the scenario and the tables."""
        tables = {name: self._frame(name) for name in table_names()}
        return (_restored, (self.scenario, self.seed, self.wall, tables, self.real))

    def table(self, name: str) -> _core.Table:
        """Return a table as an Arrow stream, for any library with Arrow's PyCapsule interface.

        Parameters
        ----------
        name
            ``summary``, ``flows``, ``links``, ``groups``, ``transfers``, ``size_classes``,
            ``queries``, ``flow_series``, ``law_series`` or ``link_series``.

        Returns
        -------
        _core.Table
            An object with ``__arrow_c_stream__``, which polars, pandas, pyarrow and DuckDB read.
        """
        return self._core.table(name)

    @cached_property
    def warnings(self) -> list[str]:
        """What the results should be read with, each with its place in the scenario.

        Examples are a law whose signals no queue on its way gives, two recovery epochs in the whole
        measured time, and a window that was the receiver's.
        """
        said: str = self.summary["warnings"][0]
        return said.splitlines()

    @cached_property
    def summary(self) -> pl.DataFrame:
        """The whole run in one row.

        It has utilisation, loss rate and queue (packets) of the bottleneck, and goodput (bit/s),
        Jain's index and mean RTT (s) of the flows.
        """
        return self._frame("summary")

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row per flow."""
        return self._frame("flows")

    @cached_property
    def groups(self) -> pl.DataFrame:
        """One row per group of flows: its name, its law, its first and last flow, what they did.

        Goodput, epochs and timeouts are sums, the loss rate is of all packets of the group, the
        completion time is a median, and RTT and shares of time under each limit are means. What
        was asked of it or arrived at random is counted, with slowdown and percentiles.
        """
        return self._frame("groups")

    @cached_property
    def links(self) -> pl.DataFrame:
        """One row per link between routers."""
        return self._frame("links")

    @cached_property
    def transfers(self) -> pl.DataFrame:
        """One row per object that was requested or arrived: when, how long it took, its size."""
        return self._frame("transfers")

    @cached_property
    def size_classes(self) -> pl.DataFrame:
        """One row per group of flows and class of sizes: completion times and slowdown."""
        return self._frame("size_classes")

    @cached_property
    def queries(self) -> pl.DataFrame:
        """One row per query that a group of flows answered: when, and how long the last took."""
        return self._frame("queries")

    @cached_property
    def flow_series(self) -> pl.DataFrame:
        """One row per flow and sample: window, RTT and throughput over time."""
        return self._frame("flow_series")

    @cached_property
    def law_series(self) -> pl.DataFrame:
        """One row per flow, sample and quantity: what laws show of themselves, like ``w_max``."""
        return self._frame("law_series")

    @cached_property
    def link_series(self) -> pl.DataFrame:
        """One row per link and sample: queue, loss rate and utilisation over time."""
        return self._frame("link_series")

    @property
    def bottleneck(self) -> int:
        """The number of the link that the summary is about."""
        name: str = self.summary["bottleneck"][0]
        number: int = self.links["name"].to_list().index(name)
        return number

    def link_number(self, link: int | str | None = None) -> int:
        """Return the number of a link, given by number or name; of the bottleneck if None.

        Parameters
        ----------
        link
            The number or name of a link; None for the bottleneck.

        Returns
        -------
        int
            Its place among the links, from 0.

        Raises
        ------
        Error
            If there is no such link.
        """
        if link is None:
            return self.bottleneck
        names: list[str] = self.links["name"].to_list()
        if link in names:
            return names.index(str(link))
        if isinstance(link, int) and 0 <= link < len(names):
            return link
        raise Error(f"link: there is no link {link!r}; known: {', '.join(names)}")

    @property
    def bottleneck_series(self) -> pl.DataFrame:
        """The samples of the bottleneck: queue, loss rate and utilisation over time."""
        return self.link_series.filter(self.link_series["link"] == self.bottleneck)

    def record(self) -> dict[str, Any]:
        """Return the run as one object for ``--json``.

        It has the summary, the goodput of each flow, the groups of flows, the simulator's speed,
        the engine and the warnings.

        Returns
        -------
        dict
            By name: rates in bit/s, times in seconds, queues in packets, shares from 0 to 1.
        """
        record: dict[str, Any] = self.summary.row(0, named=True)
        record["flow_goodput"] = self.flows["goodput"].to_list()
        record["wall"] = self.wall
        record["packets_per_second"] = record["delivered"] / self.wall
        record["warnings"] = self.warnings
        record["groups"] = self.groups.to_dicts()
        record["engine"] = _core.engine()
        if self.real:
            record |= self.real.record()
        return record

    def write(self, folder: str | os.PathLike[str], prefix: str = "") -> list[Path]:
        """Write every table as Parquet; each file is written completely or not at all.

        Parameters
        ----------
        folder
            The output folder, which is made if it is not there.
        prefix
            A prefix for each file name.

        Returns
        -------
        list of pathlib.Path
            The paths of the files.

        Raises
        ------
        Error
            If results of another command are there, or nothing can be written there.
        """
        with writing_into(folder):
            return list(map(Path, self._core.write(os.fspath(folder), prefix)))

    def _tables(self) -> list[Table]:
        from narrows import tables  # noqa: PLC0415

        return tables.of_runs([self])

    def __repr__(self) -> str:
        from narrows.tables import as_text  # noqa: PLC0415

        return as_text(self._tables(), self.warnings)

    def _repr_html_(self) -> str:
        from narrows.tables import as_page  # noqa: PLC0415

        return as_page(self._tables(), self.warnings)

    def _frame(self, name: str) -> pl.DataFrame:
        import polars as pl  # noqa: PLC0415 (half a second, which `narrows list` need not spend)

        return pl.DataFrame(self._core.table(name))


class _Kept:
    """The tables of a run that came from another process."""

    def __init__(self, wall: float, tables: dict[str, pl.DataFrame]) -> None:
        self.wall = wall
        self._tables = tables

    def table(self, name: str) -> pl.DataFrame:
        return self._tables[name]

    def write(self, folder: str, prefix: str) -> list[str]:
        paths = []
        for name, frame in self._tables.items():
            path = Path(folder) / f"{prefix}{name}.parquet"
            write_at_once(path, parquet(frame))
            paths.append(str(path))
        return paths


def _restored(
    scenario: Scenario,
    seed: int,
    wall: float,
    tables: dict[str, pl.DataFrame],
    real: Real | None,
) -> Result:
    return Result(scenario, seed, _Kept(wall, tables), real)  # type: ignore[arg-type]


def run(
    scenario: Scenario,
    *,
    seed: int | None = None,
    progress: bool | Callable[[float], None] = False,
    traces_to: str | os.PathLike[str] | None = None,
) -> Result:
    """Run a scenario with the GIL released; Ctrl-C stops the run.

    Parameters
    ----------
    scenario
        The scenario to run.
    seed
        The seed to use instead of the scenario's.
    progress
        True for a progress bar, or a function that is called with the fraction done, between 0
        and 1. An exception that the function raises stops the run.
    traces_to
        The folder for the traces that the scenario requests, which is made if it is not there. If
        None, no traces are written.

    Returns
    -------
    Result
        The results, as data frames.

    Raises
    ------
    Error
        If `scenario` is not a scenario, the seed is not from 0 to 2^64 - 1, or `traces_to` has the
        results of a command.
    RuntimeError
        If the run fails: a stack or a user's controller broke its promises.
    OSError
        If a trace cannot be written.
    KeyboardInterrupt
        On Ctrl-C.

    Examples
    --------
    >>> import narrows as nw
    >>> result = nw.run(nw.dumbbell("10Mbps", "40ms", "20p", flows=2, duration="2s"))
    >>> result.flows["flow"].to_list()
    [0, 1]
    """
    if not isinstance(scenario, Scenario):
        known = "nw.dumbbell(...), or nw.Scenario.load(file)"
        raise Error(f"scenario: {scenario!r} is not a Scenario; try {known}")
    chosen = scenario.seed if seed is None else int(seed)
    if not 0 <= chosen < 2**64:
        raise Error(f"seed: {chosen} is not from 0 to 2^64 - 1; try 1")
    if traces_to is not None:
        with writing_into(traces_to):
            pass
    folder = None if traces_to is None else os.fspath(traces_to)
    if progress is True:
        from narrows.progress import bar  # noqa: PLC0415

        with bar(1) as advance:
            return Result(
                scenario,
                chosen,
                _core.run(scenario.checked, chosen, lambda share: advance(0, share), folder),
            )
    return Result(
        scenario,
        chosen,
        _core.run(scenario.checked, chosen, progress or None, folder),
    )

"""Laws side by side over one network: the table, the picture, the runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from narrows import _core
from narrows.controller import Law, name_of
from narrows.errors import Error
from narrows.law_files import is_file
from narrows.metrics import row_of_means
from narrows.pool import run_all
from narrows.remarks import gathered
from narrows.results import Result
from narrows.scenario import Scenario
from narrows.shown import buffers_of
from narrows.stack import is_stack
from narrows.statistics import chosen_seeds
from narrows.sweeps.points import Point, points_of, scenario_at

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure


# The group of flows in whose place laws are tried, where others are beside it.
OWN = "own"


@dataclass(frozen=True)
class Case:
    """What is compared with others: what was said of it, and its runs, one for each seed."""

    said: dict[str, str]
    runs: list[Result]

    def label(self, names: Sequence[str], between: str = ", ") -> str:
        """Return what was said of it under these names, in a line.

        Parameters
        ----------
        names
            The names of what is said, such as ``cc``.
        between
            What stands between two values.

        Returns
        -------
        str
            The values, in the order of `names`.
        """
        return between.join(self.said.get(name, "-") for name in names)


def varying(cases: Sequence[Case]) -> list[str]:
    """Return the names of what differs between cases, the law first and always.

    Parameters
    ----------
    cases
        The cases that are compared.

    Returns
    -------
    list of str
        Such as ``["cc", "pacing"]``.
    """
    names = list(dict.fromkeys(name for case in cases for name in case.said))
    differ = {name for name in names if len({case.said.get(name) for case in cases}) > 1}
    return [name for name in names if name == "cc" or name in differ]


def common(cases: Sequence[Case]) -> str:
    """Say in a line what is compared: what differs, and what all cases have in common.

    Parameters
    ----------
    cases
        The cases that are compared.

    Returns
    -------
    str
        A line for the caption of a figure.
    """
    names = varying(cases)
    same = [
        f"{name} {value}"
        for name, value in cases[0].said.items()
        if name not in names and value not in ("0s", "0ms", "own", "none")
    ]
    laws = ", ".join(dict.fromkeys(case.said["cc"] for case in cases))
    others = [name for name in names if name != "cc"]
    by = f" by {', '.join(others)}" if others else ""
    flows = cases[0].runs[0].flows.height
    told = [f"{laws}{by}", f"{flows} flow{'s' if flows > 1 else ''}", *same]
    return "; ".join(told)


@dataclass(frozen=True, repr=False)
class Comparison:
    """Runs of several laws over one network, or over several.

    Prints as a table, in notebooks too; with several seeds a cell is a mean, with half of its 95 %
    confidence interval.

    Attributes
    ----------
    cases
        What is compared, in order.
    """

    cases: list[Case]

    @property
    def results(self) -> list[Result]:
        """All runs, by case and then by seed."""
        return [run for case in self.cases for run in case.runs]

    @property
    def warnings(self) -> list[str]:
        """What the results should be read with; each warning once, with whose it is."""
        names = varying(self.cases)
        return gathered(
            [(case.label(names), [run.warnings for run in case.runs]) for case in self.cases]
        )

    def table(self, name: str) -> pl.DataFrame:
        """Return a table of all runs, with what differs between cases, and the seed, before it.

        Parameters
        ----------
        name
            ``summary``, ``flows``, ``links``, ``groups``, ``transfers``, ``size_classes``,
            ``queries``, ``flow_series``, ``law_series`` or ``link_series``.

        Returns
        -------
        polars.DataFrame
            One row per run and what the table is of.
        """
        import polars as pl  # noqa: PLC0415

        names = varying(self.cases)
        frames = []
        for case in self.cases:
            for run in case.runs:
                frame = pl.DataFrame(run.table(name))
                about = {**{said: case.said.get(said) for said in names}, "seed": run.seed}
                columns = [pl.lit(value).alias(said) for said, value in about.items()]
                rest = [column for column in frame.columns if column not in about]
                frames.append(frame.select(*columns, *rest))
        return pl.concat(frames)

    def means(self, *metrics: str, method: str = "student") -> pl.DataFrame:
        """Compute means over seeds with their 95 % confidence intervals.

        Parameters
        ----------
        *metrics
            Columns of the summary.
        method
            ``student``, or ``bootstrap`` for skewed metrics.

        Returns
        -------
        polars.DataFrame
            One row per case: what differs between cases, the number of ``seeds``, and for each
            metric its mean and the interval's ends, ``_low`` and ``_high``.

        Raises
        ------
        Error
            If no metric is given, or one is not a number of every run.
        """
        import polars as pl  # noqa: PLC0415

        names = varying(self.cases)
        rows: list[dict[str, Any]] = []
        for case in self.cases:
            values = [run.summary.row(0, named=True) for run in case.runs]
            about = {name: case.said.get(name) for name in names}
            rows.append(about | row_of_means(values, metrics, method))
        return pl.DataFrame(rows, infer_schema_length=None)

    @property
    def summary(self) -> pl.DataFrame:
        """One row per run."""
        return self.table("summary")

    @property
    def flows(self) -> pl.DataFrame:
        """One row per run and flow."""
        return self.table("flows")

    @property
    def links(self) -> pl.DataFrame:
        """One row per run and link between routers."""
        return self.table("links")

    @property
    def transfers(self) -> pl.DataFrame:
        """One row per run and object that was requested: when, how long it took, its size."""
        return self.table("transfers")

    @property
    def groups(self) -> pl.DataFrame:
        """One row per run and group of flows."""
        return self.table("groups")

    @property
    def size_classes(self) -> pl.DataFrame:
        """One row per run, group of flows and class of sizes: completion times and slowdown."""
        return self.table("size_classes")

    @property
    def queries(self) -> pl.DataFrame:
        """One row per run and query that a group of flows answered."""
        return self.table("queries")

    @property
    def buffers(self) -> list[str]:
        """Each buffer of the cases' links in all units, with the link's name; each once."""
        return buffers_of([case.runs[0].scenario for case in self.cases])

    @property
    def flow_series(self) -> pl.DataFrame:
        """One row per run, flow and sample."""
        return self.table("flow_series")

    @property
    def law_series(self) -> pl.DataFrame:
        """One row per run, flow, sample and quantity of its law."""
        return self.table("law_series")

    @property
    def link_series(self) -> pl.DataFrame:
        """One row per run, link and sample."""
        return self.table("link_series")

    def plot(self) -> Figure:
        """Draw utilisation, loss rate, mean queue and Jain's index as bars.

        Returns
        -------
        matplotlib.figure.Figure
            With a panel for each of the four.
        """
        from narrows import plot  # noqa: PLC0415

        return plot.comparison(self.cases)

    def __repr__(self) -> str:
        from narrows import tables  # noqa: PLC0415

        shown = tables.of_comparison(self.cases)
        return tables.as_text(shown, self.warnings)

    def _repr_html_(self) -> str:
        from narrows import tables  # noqa: PLC0415

        shown = tables.of_comparison(self.cases)
        return tables.as_page(shown, self.warnings)


def run_cases(
    planned: Sequence[tuple[dict[str, str], Scenario]], seeds: Sequence[int]
) -> Comparison:
    """Run scenarios with every seed; each comes with what is said of it.

    Parameters
    ----------
    planned
        What is said of each scenario, by name, and the scenario.
    seeds
        The seeds of each.

    Returns
    -------
    Comparison
        The cases in the order of `planned`, their runs in that of `seeds`.

    Raises
    ------
    Error
        If the runs may need more memory than there is.
    RuntimeError
        If a run fails.
    """
    runs = run_all([(scenario, seed) for _, scenario in planned for seed in seeds])
    parts = [runs[first : first + len(seeds)] for first in range(0, len(runs), len(seeds))]
    return Comparison([Case(said, part) for (said, _), part in zip(planned, parts, strict=True)])


def compare(
    scenario: Scenario,
    cc: Sequence[Law],
    *,
    seeds: int | Sequence[int] = 1,
    **axes: Sequence[Any],
) -> Comparison:
    """Run a scenario with each law in all of its flows, and each combination of other values.

    Parameters
    ----------
    scenario
        The network and its flows, whose ``cc`` is replaced; if a group is called ``own``, as in
        what `fit` makes, that of this group only. What a law decides by itself, like the pacing of
        ``bbr``, is left out for that law.
    cc
        Laws, like ``["cubic", "bbr"]``, or whatever makes a `Controller`.
    seeds
        The number of seeds, counted from the scenario's, or a list of seeds.
    **axes
        Lists of values by name, as for `sweep`: ``buffer=["20p", "1bdp"]``, ``pacing=["even"]``. A
        law that decides one of them by itself has one case whatever its values are.

    Returns
    -------
    Comparison
        The runs, which print as a table.

    Raises
    ------
    ScenarioError
        If a law or a value does not go with the scenario; nothing has been run then.

    Examples
    --------
    >>> import narrows as nw
    >>> base = nw.dumbbell("10Mbps", "40ms", "20p", flows=2, duration="5s")
    >>> found = nw.compare(base, ["reno", "cubic"])
    >>> [result.summary["cc"][0] for result in found.results]
    ['reno', 'cubic']
    >>> nw.compare(base, ["reno", "bbr"], pacing=["none", "even"]).means("jain")["pacing"].to_list()
    ['none', 'even', 'own']
    """
    if not isinstance(scenario, Scenario):
        known = "nw.dumbbell(...), or nw.Scenario.load(file)"
        raise Error(f"scenario: {scenario!r} is not a Scenario; try {known}")
    laws = [] if isinstance(cc, str) else list(cc)
    if not laws or None in laws:
        raise Error(f'cc: {cc!r} is not a list of laws; try ["cubic", "bbr"]')
    if len(set(map(name_of, laws))) < len(laws):
        raise Error(f"cc: two laws are called the same: {', '.join(map(name_of, laws))}")
    points = points_of([], axes)
    planned = [plan(scenario, law, point) for law in laws for point in points]
    # A law that decides a value by itself is there once for all of them.
    cases = {tuple(said.items()): (said, of_case) for said, of_case in planned}
    chosen = list(dict.fromkeys(chosen_seeds(seeds, scenario.seed)))
    return run_cases(list(cases.values()), chosen)


def plan(scenario: Scenario, law: Law, point: Point) -> tuple[dict[str, str], Scenario]:
    """Return what is said of a law's case at a point, and its scenario.

    Parameters
    ----------
    scenario
        The network and its flows, as for `compare`.
    law
        The law in their place.
    point
        Other values by name; those that the law decides by itself are left out.

    Returns
    -------
    said, scenario
        What is said of it by name, and what is run.
    """
    own = decided_by(law)
    told = {name: value for name, value in point.items() if name not in own}
    of_law = _with_law(scenario, law, own)
    values = {name: "own" if name in own else str(value) for name, value in point.items()}
    return {"cc": name_of(law), **values}, scenario_at(of_law, told) if told else of_law


def decided_by(law: Law) -> list[str]:
    """Return the options of flows that a law decides by itself.

    Parameters
    ----------
    law
        A law.

    Returns
    -------
    list of str
        Names of a flow's fields.

    Examples
    --------
    >>> decided_by("bbr")
    ['pacing', 'ecn', 'max_ssthresh']
    """
    if isinstance(law, str):
        return [] if is_file(law) else _core.decided_by(law)
    # Stacks decide all alike.
    return _core.decided_by("quinn") if is_stack(law) else []


def _with_law(scenario: Scenario, law: Law, own: Sequence[str]) -> Scenario:
    """Return a scenario with this law in its flows, without what the law decides by itself."""
    fields = scenario.fields
    has_own = any(flow.get("name") == OWN for flow in fields["flows"])
    flows = [
        {**{name: value for name, value in flow.items() if name not in own}, "cc": law}
        if not has_own or flow.get("name") == OWN
        else flow
        for flow in fields["flows"]
    ]
    return Scenario(**{**fields, "flows": flows})

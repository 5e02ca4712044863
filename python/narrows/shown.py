"""What figures and reports show of a run: flows, links, scales and words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl

    from narrows.results import Result

FLOWS = 5
LINKS = 6
# A link that is used so much is a bottleneck, too.
BUSY = 0.7


@dataclass(frozen=True)
class Line:
    """A line of a chart: its label, the number of its colour, and its points."""

    label: str
    colour: int
    time: npt.NDArray[np.float64]
    values: npt.NDArray[np.float64]


def told(result: Result) -> str:
    """Say in a line what was run: flows, network, seed.

    Examples
    --------
    >>> import narrows as nw
    >>> told(nw.run(nw.dumbbell("10Mbps", "40ms", "20p", flows=2, duration="2s")))
    '2 × cubic over a dumbbell: 10Mbps, 40ms, 20p; seed 1'
    """
    fields = result.scenario.fields
    groups = ", ".join(
        f"{flow.get('count', 1)} × {_law(flow)}{_paced(flow)}" for flow in fields["flows"]
    )
    return f"{groups} over {network(fields)}; seed {result.seed}"


def network(fields: dict[str, Any]) -> str:
    """Say in some words what network a scenario has."""
    preset = next((name for name in ("dumbbell", "parking_lot", "chain") if name in fields), None)
    if preset is None:
        return f"{len(fields['links'])} links"
    values = [
        value
        for value in fields[preset].values()
        if isinstance(value, (str, int)) and value != "0s"
    ]
    told = f"a {preset.replace('_', ' ')}"
    return f"{told}: {', '.join(map(str, values))}" if values else told


def _law(flow: dict[str, Any]) -> str:
    return "datagrams" if "datagrams" in flow else flow.get("cc", "cubic")


def _paced(flow: dict[str, Any]) -> str:
    pacing = flow.get("pacing", "none")
    return "" if pacing == "none" else f" paced {pacing}"


def warmup(result: Result) -> float:
    """Return the seconds at the beginning that are not measured: a quarter unless it is said."""
    fields = result.scenario.fields
    said = fields.get("warmup")
    return seconds(said) if said else seconds(fields.get("duration", "60s")) / 4


def seconds(text: str) -> float:
    """Return a time in seconds, as the core writes it in a scenario's fields.

    Examples
    --------
    >>> seconds("100ms"), seconds("90s")
    (0.1, 90.0)
    """
    units = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
    number = text.rstrip("pnums")
    return float(number) * units[text.removeprefix(number)]


def top(lines: Sequence[Line], warmup: float) -> float | None:
    """Return where a chart is cut off, so that slow start does not press the rest to the ground.

    None if all of it fits: if no value is above twice the largest one that is measured.
    """
    whole = max((_largest(line.values) for line in lines), default=0.0)
    settled = max((_largest(line.values[line.time > warmup]) for line in lines), default=0.0)
    return 1.4 * settled if whole > 2 * settled > 0 else None


def _largest(values: npt.NDArray[np.float64]) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.max()) if finite.size else 0.0


def flow_lines(
    result: Result, column: str, scale: float, flows: Sequence[int] | None = None
) -> list[Line]:
    """Return a column of flows over time, from each flow's start to its end.

    Groups of flows have a colour each; of a single group each flow has.
    """
    series = result.flow_series
    sampled = set(series["flow"].unique())
    groups = group_of_flow(result)
    chosen = flows_of_each_group(result) if flows is None else flows
    lines = []
    for flow in chosen:
        about = result.flows.row(flow, named=True)
        if flow not in sampled or about["start"] is None:
            continue
        begins, lasts = about["start"], about["completion_time"]
        ends = begins + lasts if lasts is not None else np.inf
        stop = result.scenario.fields["flows"][groups[flow]].get("stop")
        ends = min(ends, seconds(stop)) if stop else ends
        rows = series.filter(
            (series["flow"] == flow) & (series["time"] >= begins) & (series["time"] <= ends)
        )
        colour = groups[flow] if groups[-1] > 0 else flow
        values = _column(rows, column) * scale
        if not np.isnan(values).all():
            lines.append(Line(f"flow {flow}: {about['cc']}", colour, _column(rows, "time"), values))
    return lines


def group_of_flow(result: Result) -> list[int]:
    """Return the number of the group of each flow."""
    counts = [flow.get("count", 1) for flow in result.scenario.fields["flows"]]
    return [group for group, count in enumerate(counts) for _ in range(count)]


def flows_of_each_group(result: Result) -> list[int]:
    """Return the flows that are drawn: as many of each group, the first ones."""
    counts = [flow.get("count", 1) for flow in result.scenario.fields["flows"]]
    if sum(counts) <= FLOWS:
        return list(range(sum(counts)))
    each = max(1, FLOWS // len(counts))
    firsts = np.cumsum([0, *counts[:-1]])
    chosen = [
        int(first) + number
        for first, count in zip(firsts, counts, strict=True)
        for number in range(min(each, count))
    ]
    return chosen[: max(FLOWS, len(counts))]


def of_how_many(result: Result, lines: Sequence[Line]) -> str:
    """Say how many of how many flows are drawn; nothing if all are."""
    flows = result.flows.height
    return f"{len(lines)} of {flows} flows" if len(lines) < flows else ""


def bottlenecks(result: Result) -> list[int]:
    """Return the links that packets are lost, marked or queued at: the bottleneck and others."""
    links = result.links
    tight = (links["utilisation"] > BUSY) | (links["drops"] + links["marks"] > 0)
    found = [int(link) for link in links.filter(tight)["link"]]
    return sorted({result.bottleneck, *found[:LINKS]})


def link_lines(
    result: Result, column: str, scale: float, links: Sequence[int] | None = None
) -> list[Line]:
    """Return a column of links over time; ``mark_rate`` is the share of arrivals marked."""
    lines = []
    for link in bottlenecks(result) if links is None else links:
        rows = result.link_series.filter(result.link_series["link"] == link)
        if column == "mark_rate":
            values = _column(rows, "marks") / np.maximum(_column(rows, "arrivals"), 1)
        else:
            values = _column(rows, column)
        name = result.links["name"][link]
        lines.append(Line(name, link, _column(rows, "time"), values * scale))
    return lines


def _column(frame: pl.DataFrame, name: str) -> npt.NDArray[np.float64]:
    column: npt.NDArray[np.float64] = frame[name].to_numpy().astype(np.float64)
    return column

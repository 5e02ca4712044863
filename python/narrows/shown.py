"""What figures and reports show of a run: flows, links, scales and words."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from narrows import _core

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl

    from narrows.results import Result
    from narrows.scenario import Scenario

FLOWS = 5
KINDS = 8
# Groups that a line of words names.
NAMED = 6
LINKS = 6
BUFFERS = 12
# Points of a line of losses or marks.
POINTS = 200
# A link that is used so much is a bottleneck, too.
BUSY = 0.7


@dataclass(frozen=True)
class Line:
    """A line of a chart: its label, the number of its colour, and its points.

    The line of several flows is their mean, with a band from the 10th to the 90th percentile.
    """

    label: str
    colour: int
    time: npt.NDArray[np.float64]
    values: npt.NDArray[np.float64]
    low: npt.NDArray[np.float64] | None = None
    high: npt.NDArray[np.float64] | None = None


def told(result: Result) -> str:
    """Say in a line what was run: flows, network, seed.

    Examples
    --------
    >>> import narrows as nw
    >>> told(nw.run(nw.dumbbell("10Mbps", "40ms", "20p", flows=2, duration="2s")))
    '2 × cubic over a dumbbell: 10Mbps, 40ms, 20p; seed 1'
    """
    fields = result.scenario.fields
    counts = _counts(fields["flows"], _law)
    if len(counts) > NAMED:
        counts = _counts(fields["flows"], _unnamed)
    groups = [f"{count} × {told}" if count else told for told, count in counts.items()]
    if (more := len(groups) - NAMED) > 0:
        groups = [*groups[:NAMED], f"{more} more"]
    return f"{', '.join(groups)} over {network(fields)}; seed {result.seed}"


def _counts(
    flows: Sequence[dict[str, Any]], called: Callable[[dict[str, Any]], str]
) -> dict[str, int]:
    counts: dict[str, int] = {}
    for flow in flows:
        told = f"{called(flow)}{_paced(flow)}"
        if "arrivals" in flow:
            # Nobody knows how many are under way.
            counts[f"{told} for {flow['arrivals']['sizes']}"] = 0
            continue
        counts[told] = counts.get(told, 0) + flow.get("count", 1)
    return counts


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


def buffers_of(scenarios: Sequence[Scenario]) -> list[str]:
    """Return the buffer of each link of all scenarios in all units, each once."""
    said = (f"{link}: {buffer}" for one in scenarios for link, buffer in one.buffers.items())
    return list(dict.fromkeys(said))


def buffers(told: Sequence[str]) -> str:
    """Return the buffers of links in a line, the first few if there are many.

    Examples
    --------
    >>> buffers(["bottleneck: 20p = 30 kB"])
    'bottleneck: 20p = 30 kB'
    """
    more = f"; and {len(told) - BUFFERS} more" if len(told) > BUFFERS else ""
    return "; ".join(told[:BUFFERS]) + more


def _law(flow: dict[str, Any]) -> str:
    law = _unnamed(flow)
    return f"{flow['name']} ({law})" if "name" in flow else law


def _unnamed(flow: dict[str, Any]) -> str:
    return "datagrams" if "datagrams" in flow else str(flow.get("cc", "cubic"))


def _paced(flow: dict[str, Any]) -> str:
    pacing = flow.get("pacing", "none")
    return "" if pacing == "none" else f" paced {pacing}"


def warmup(result: Result) -> float:
    """Return the seconds at the beginning that are not measured."""
    return result.scenario.checked.times()[1]


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


@dataclass(frozen=True)
class Kind:
    """Flows that a chart shows as one: of a group, or of all groups with one name or law."""

    label: str
    flows: list[int]


def flow_lines(
    result: Result, column: str, scale: float, flows: Sequence[int] | None = None
) -> list[Line]:
    """Return a column of flows over time, from each flow's start to its end.

    A few flows have a line each; many have a line and a band for each kind of them, so that none is
    left out. Groups of flows have a colour each; of a single group each flow has.
    """
    if flows is None and result.flows.height > FLOWS:
        return kind_lines(result, column, scale)
    groups = group_of_flow(result)
    lines = []
    for flow in range(result.flows.height) if flows is None else flows:
        rows = _while_sending(result, column, [flow])
        values = rows["value"].to_numpy() * scale
        if np.isnan(values).all():
            continue
        name = result.flows["name"][flow] or result.flows["cc"][flow]
        colour = groups[flow] if groups[-1] > 0 else flow
        line = Line(f"flow {flow}: {name}", colour, rows["time"].to_numpy(), values)
        lines.append(_coarser(result, line, column))
    return lines


def transfer_lines(result: Result) -> list[Line]:
    """Return the completion times of requests over the time of the request, by kind of flows."""
    import polars as pl  # noqa: PLC0415

    lines = []
    asked = result.transfers.sort("requested")
    for colour, kind in enumerate(kinds(result)):
        rows = asked.filter(pl.col("flow").is_in(kind.flows))
        if rows.height:
            time, took = _column(rows, "requested"), _column(rows, "completion_time")
            lines.append(Line(kind.label, colour, time, took))
    return lines


def kind_lines(result: Result, column: str, scale: float) -> list[Line]:
    """Return a column over time for each kind of flows: their mean, and a band if they differ."""
    import polars as pl  # noqa: PLC0415

    lines = []
    for colour, kind in enumerate(kinds(result)):
        value = pl.col("value").drop_nans()
        rows = (
            _while_sending(result, column, kind.flows)
            .group_by("time")
            .agg(
                value.mean(),
                low=value.quantile(0.1, "linear"),
                high=value.quantile(0.9, "linear"),
                flows=pl.col("flow").n_unique(),
            )
            .drop_nulls("value")
            .sort("time")
        )
        if rows.is_empty():
            continue
        time, mean, low, high = (
            _column(rows, name) * factor
            for name, factor in (("time", 1.0), ("value", scale), ("low", scale), ("high", scale))
        )
        of = f", mean and 10–90 % of {max(rows['flows'])}" if len(kind.flows) > 1 else ""
        line = Line(f"{kind.label}{of}", colour, time, mean)
        if len(kind.flows) > 1:
            line = replace(line, low=low, high=high)
        lines.append(_coarser(result, line, column))
    return lines


def kinds(result: Result) -> list[Kind]:
    """Return the kinds of flows of a run: its groups, or those of one law if groups are many.

    Of more kinds than a chart has colours the last ones are one kind.
    """
    groups = result.groups.to_dicts()
    members: dict[str, list[int]] = {}
    labels = [label_of(group) for group in groups]
    for group, label in zip(groups, labels, strict=True):
        first, last = int(group["first"]), int(group["last"])
        several = labels.count(label) > 1 and len(groups) <= KINDS
        number = f"{first}" if first == last else f"{first}-{last}"
        key = f"{label} (flows {number})" if several else label
        members.setdefault(key, []).extend(range(first, last + 1))
    found = [Kind(label, flows) for label, flows in members.items()]
    if len(found) <= KINDS:
        return found
    rest = found[KINDS - 1 :]
    flows = [flow for kind in rest for flow in kind.flows]
    return [*found[: KINDS - 1], Kind(f"{len(rest)} others", flows)]


def label_of(group: dict[str, Any]) -> str:
    """Return what a group of flows is called: its name, or its law."""
    return str(group["name"] or group["cc"])


def _stops(result: Result) -> list[float | None]:
    """Return when each flow stops, in seconds; None of those that do not."""
    found: list[float | None] = []
    for group, number in enumerate(result.groups["flows"]):
        fields = result.scenario.fields["flows"][group]
        # Those of single flows are given from the last one on.
        own = [*fields.get("stops", []), *[None] * number][:number]
        all_of_it = fields.get("stop")
        times = [stop or all_of_it for stop in reversed(own)]
        found += [_core.seconds("stop", time) if time else None for time in times]
    return found


def _while_sending(result: Result, column: str, flows: Sequence[int]) -> pl.DataFrame:
    """Return flow, time and value of samples between each flow's start and its end."""
    import polars as pl  # noqa: PLC0415

    stops = _stops(result)
    about = result.flows[list(flows)].select(
        "flow",
        "start",
        ends=pl.min_horizontal(
            pl.col("start") + pl.col("completion_time"),
            pl.Series([stops[flow] for flow in flows], dtype=pl.Float64),
        ).fill_null(np.inf),
    )
    return (
        result.flow_series.select("flow", "time", pl.col(column).cast(pl.Float64).alias("value"))
        .join(about, on="flow")
        .filter(pl.col("time").is_between(pl.col("start"), pl.col("ends")))
        .with_columns(pl.col("value").fill_null(np.nan))
        .select("flow", "time", "value")
    )


def _coarser(result: Result, line: Line, column: str) -> Line:
    """Return rates as means over at least two round trips, in which packets come in bunches."""
    rtt = result.flows["mean_rtt"].drop_nans().max()
    if column not in ("goodput", "throughput") or len(line.time) < 2 or not isinstance(rtt, float):
        return line
    each = max(1, math.ceil(2 * rtt / (line.time[1] - line.time[0])))
    return _in_blocks(line, each)


def _in_blocks(line: Line, each: int) -> Line:
    """Return a line whose points are means over `each` points."""
    whole = len(line.time) // each * each
    if each == 1 or whole == 0:
        return line

    def means(values: npt.NDArray[np.float64] | None) -> npt.NDArray[np.float64] | None:
        return None if values is None else values[:whole].reshape(-1, each).mean(axis=1)

    time = line.time[:whole].reshape(-1, each)[:, -1]
    values = line.values[:whole].reshape(-1, each).mean(axis=1)
    return replace(line, time=time, values=values, low=means(line.low), high=means(line.high))


def group_of_flow(result: Result) -> list[int]:
    """Return the number of the group of each flow."""
    return [group for group, count in enumerate(result.groups["flows"]) for _ in range(count)]


def by_group(result: Result, rows: pl.DataFrame) -> list[pl.DataFrame]:
    """Return the rows of each group of flows, which are numbered group by group."""
    ends = [int(end) for end in result.groups["flows"].cum_sum()]
    pairs = zip([0, *ends], ends, strict=False)
    return [rows.filter(rows["flow"].is_between(first, end - 1)) for first, end in pairs]


def bottlenecks(result: Result) -> list[int]:
    """Return the links that packets are lost, marked or queued at: the bottleneck and others."""
    links = result.links
    tight = (links["utilisation"] > BUSY) | (links["drops"] + links["marks"] > 0)
    found = [int(link) for link in links.filter(tight)["link"]]
    return sorted({result.bottleneck, *found[:LINKS]})


def varies(result: Result, links: Sequence[int]) -> bool:
    """Return whether what could leave these links is not the same all the time."""
    lines = link_lines(result, "capacity", 1.0, links)
    return any(bool((line.values != line.values[0]).any()) for line in lines if len(line.values))


def link_lines(
    result: Result, column: str, scale: float, links: Sequence[int] | None = None
) -> list[Line]:
    """Return a column of links over time; ``mark_rate`` is the share of arrivals marked."""
    lines = []
    for link in bottlenecks(result) if links is None else links:
        rows = result.link_series.filter(result.link_series["link"] == link)
        name, time = result.links["name"][link], _column(rows, "time")
        counted = {"mark_rate": "marks", "loss_rate": "drops"}.get(column)
        if counted is None:
            lines.append(Line(name, link, time, _column(rows, column) * scale))
            continue
        # Single marks and losses of short samples are a fence in which no height is seen.
        each = max(1, len(time) // POINTS)
        whole = len(time) // each * each
        count, arrivals = (
            _column(rows, of)[:whole].reshape(-1, each).sum(axis=1) for of in (counted, "arrivals")
        )
        share = scale * count / np.maximum(arrivals, 1)
        lines.append(Line(name, link, time[:whole].reshape(-1, each)[:, -1], share))
    return lines


def _column(frame: pl.DataFrame, name: str) -> npt.NDArray[np.float64]:
    column: npt.NDArray[np.float64] = frame[name].to_numpy().astype(np.float64)
    return column

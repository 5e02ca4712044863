"""Scenarios by the shape of their network, with every field of a scenario file as a keyword."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from narrows._core import ScenarioError
from narrows.controller import Law
from narrows.fields import (
    ChainKeywords,
    ChainLinkFields,
    DumbbellKeywords,
    FlowFields,
    FlowOptions,
    LinkFields,
    ParkingLotKeywords,
    ScenarioOptions,
)
from narrows.scenario import Scenario

# A number of equal flows, or groups of them.
Flows = int | Sequence[FlowFields | Mapping[str, Any]]


def dumbbell(
    rate: str | None = None,
    rtt: str | None = None,
    buffer: str | None = None,
    cc: Law = "cubic",
    flows: Flows = 1,
    **more: Unpack[DumbbellKeywords],
) -> Scenario:
    """Describe flows that share one bottleneck.

    Parameters
    ----------
    rate, rtt, buffer
        The bottleneck's rate, the base round-trip time of the first flow, and the bottleneck's
        buffer, like ``"1Gbps"``, ``"100ms"`` and ``"20p"``. A ``trace`` has the rate, and a
        ``link`` that is known by name, like ``"starlink"``, has all three.
    cc
        A law over a recovery, like ``"cubic:beta=0.8+newreno"``, or what makes a `Controller`.
    flows
        The number of flows, or a list of groups, each a dictionary of a flow's fields.
    **more
        Fields of the run (``duration``, ``warmup``, ``seed``, ``tcp``, ``packet``, …), of the
        bottleneck (``queue``, ``loss``, ``changes``, …) and of each flow (``pacing``,
        ``size``, ``ecn``, …). A group's own fields come first. docs/scenario.md has all.

    Returns
    -------
    Scenario
        The scenario, checked.

    Raises
    ------
    ScenarioError
        If a value is wrong. The message names the place, the value and a valid alternative.

    Examples
    --------
    >>> import narrows as nw
    >>> scenario = nw.dumbbell("1Gbps", "100ms", "20p", cc="newreno", flows=50, pacing="even")
    >>> scenario.buffers["bottleneck"]
    '20p = 30kB = 240us = 0.0024bdp'
    >>> beside = nw.dumbbell("1Gbps", "100ms", "20p", flows=[{"cc": "bbr"}, {"count": 4}])
    >>> [flow["cc"] for flow in beside.fields["flows"]]
    ['bbr', 'cubic']
    """
    network = {"rate": rate, "rtt": rtt, "buffer": buffer}
    return _scenario("dumbbell", network, cc, flows, more)


def parking_lot(
    rate: str | None,
    hops: int,
    delay: str,
    buffer: str,
    cc: Law = "cubic",
    flows: Flows = 1,
    **more: Unpack[ParkingLotKeywords],
) -> Scenario:
    """Describe flows over equal bottlenecks in a row.

    Parameters
    ----------
    rate, delay, buffer
        The rate, one-way delay and buffer of each bottleneck. A ``trace`` has the rate: None
        then.
    hops
        The number of bottlenecks.
    cc
        A law over a recovery, like ``"cubic:beta=0.8+newreno"``, or what makes a `Controller`.
    flows
        The number of flows over all of them, or a list of groups, each a dictionary of a flow's
        fields; a group goes ``over`` a part of them, like ``(2, 2)``.
    **more
        As with `dumbbell`.

    Returns
    -------
    Scenario
        The scenario, checked.

    Examples
    --------
    >>> import narrows as nw
    >>> groups = [{}, *({"over": (link, link)} for link in (1, 2, 3))]
    >>> lot = nw.parking_lot("100Mbps", 3, "10ms", "50p", flows=groups, duration="5s")
    >>> nw.run(lot).links["name"].to_list()[::2]
    ['link1', 'link2', 'link3']
    """
    network = {"rate": rate, "hops": hops, "delay": delay, "buffer": buffer}
    return _scenario("parking_lot", network, cc, flows, more)


def chain(
    hops: Sequence[ChainLinkFields | Mapping[str, Any]],
    cc: Law = "cubic",
    flows: Flows = 1,
    **more: Unpack[ChainKeywords],
) -> Scenario:
    """Describe flows over different links in a row.

    Parameters
    ----------
    hops
        The links, each a dictionary with ``rate``, ``delay``, ``buffer`` and what else is said of
        a link.
    cc, flows
        As with `parking_lot`.
    **more
        As with `dumbbell`; what is said of a link stands in ``hops``.

    Returns
    -------
    Scenario
        The scenario, checked.

    Examples
    --------
    >>> import narrows as nw
    >>> fast = {"rate": "1Gbps", "delay": "5ms", "buffer": "100p"}
    >>> slow = {"rate": "100Mbps", "delay": "20ms", "buffer": "1bdp", "queue": "codel"}
    >>> nw.chain([fast, slow]).buffers["link2"]
    '417p = 625kB = 50ms = 1bdp'
    """
    return _scenario("chain", {"hops": list(hops)}, cc, flows, more)


def network(
    links: Sequence[LinkFields | Mapping[str, Any]],
    flows: Sequence[FlowFields | Mapping[str, Any]],
    rtt: str | None = None,
    **more: Unpack[ScenarioOptions],
) -> Scenario:
    """Describe flows over any network.

    Parameters
    ----------
    links
        The links, each a dictionary with ``from``, ``to``, ``rate``, ``delay`` and what else is
        said of a link; the nodes are those that they name.
    flows
        Groups of flows, each a dictionary with ``from``, ``to`` and what else is said of a flow.
    rtt
        The base RTT that ``bdp`` means in buffers.
    **more
        Fields of the run: ``duration``, ``warmup``, ``seed``, ``tcp``, ``packet``, …

    Returns
    -------
    Scenario
        The scenario, checked.

    Examples
    --------
    >>> import narrows as nw
    >>> link = {"from": "a", "to": "b", "rate": "100Mbps", "delay": "10ms", "buffer": "50p"}
    >>> nw.network([link], [{"from": "a", "to": "b", "cc": "reno"}]).buffers["a-b"]
    '50p = 75kB = 6ms = 0.3bdp'
    """
    given = _given({**more, "rtt": rtt})
    return Scenario(**given, links=list(links), flows=list(flows))


def _scenario(
    preset: str,
    network: Mapping[str, Any],
    cc: Law,
    flows: Flows,
    more: Mapping[str, Any],
) -> Scenario:
    """Sort the keywords into fields of the run, of each flow, and of the network."""
    given = _given(more)
    of_run = {name: given[name] for name in given.keys() & ScenarioOptions.__annotations__}
    of_flow = {name: given[name] for name in given.keys() & FlowOptions.__annotations__}
    # A link's is the name of a file, the run's a table; a link's is a table, a flow's yes or no.
    if isinstance(of_run.get("trace"), str):
        del of_run["trace"]
    if isinstance(of_flow.get("reverse"), Mapping):
        del of_flow["reverse"]
    # Unknown names are left to the network, whose error lists those that there are.
    rest = {name: value for name, value in given.items() if name not in of_run | of_flow}
    groups = list(flows) if isinstance(flows, Sequence) else [{"count": flows}]
    for group in groups:
        if not isinstance(group, Mapping):
            raise ScenarioError(
                f'flows: {group!r} is not a table of fields; write flows=[{{"cc": "cubic"}}]'
            )
    fields = {
        **of_run,
        preset: _given({**network, **rest}),
        "flows": [{"cc": cc, **of_flow, **group} for group in groups],
    }
    return Scenario(**fields)


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what is None, so that a keyword can be passed on."""
    return {name: value for name, value in fields.items() if value is not None}

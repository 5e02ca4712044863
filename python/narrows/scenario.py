"""Scenarios from keywords or TOML; Rust checks them, once for every interface."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from narrows import _core
from narrows.controller import Controller


class Scenario:
    """A checked description of one experiment.

    Parameters
    ----------
    **fields
        The fields of a scenario file: ``duration``, ``warmup``, ``tcp``, ``packet``, ``sample``,
        ``seed``; one of ``dumbbell``, ``parking_lot``, ``chain`` and ``links``; ``flows``.
        Quantities are strings with units. A flow's ``cc`` may be a subclass of `Controller`.

    Raises
    ------
    ScenarioError
        If a value is wrong. The message names the place, the value and a valid alternative.

    Examples
    --------
    >>> import narrows as nw
    >>> scenario = nw.Scenario(
    ...     duration="2s",
    ...     dumbbell={"rate": "10Mbps", "rtt": "40ms", "buffer": "0.5bdp"},
    ...     flows=[{"cc": "cubic", "count": 2}],
    ... )
    >>> scenario.buffers["bottleneck"]
    '17p = 25kB = 20ms = 0.5bdp'
    """

    def __init__(self, **fields: Any) -> None:
        self.controllers: dict[str, type[Controller]] = {}
        if "flows" in fields:
            fields = fields | {"flows": [self._named(flow) for flow in fields["flows"]]}
        self.core = _core.Scenario.from_json(json.dumps(fields))
        self._buffers = dict(self.core.check(self.controllers))

    @classmethod
    def _of(
        cls, core: _core.Scenario, controllers: dict[str, type[Controller]] | None = None
    ) -> Scenario:
        """Check a scenario of the core."""
        scenario = cls.__new__(cls)
        scenario.controllers = dict(controllers or {})
        scenario.core = core
        scenario._buffers = dict(core.check(scenario.controllers))
        return scenario

    def _named(self, flow: Any) -> Mapping[str, Any]:
        """Replace a flow's controller by its name if it is a class."""
        if not isinstance(flow, Mapping):
            raise _core.ScenarioError(
                f'flows: {flow!r} is not a table of fields; write [{{"cc": "cubic"}}]'
            )
        cc = flow.get("cc")
        if not isinstance(cc, type):
            return flow
        if not issubclass(cc, Controller):
            raise _core.ScenarioError(
                f"flows[].cc: {cc.__name__} is not a controller; subclass narrows.Controller"
            )
        if any(cc.__name__ in (name, *aliases) for name, _, _, aliases, _ in _core.controllers()):
            raise _core.ScenarioError(
                f"flows[].cc: a built-in law is named {cc.__name__} too; rename the class"
            )
        known = self.controllers.setdefault(cc.__name__, cc)
        if known is not cc:
            raise _core.ScenarioError(
                f"flows[].cc: two classes are named {cc.__name__}; rename one"
            )
        return {**flow, "cc": cc.__name__}

    @classmethod
    def from_toml(cls, text: str) -> Scenario:
        """Read a scenario from TOML.

        Parameters
        ----------
        text
            The contents of a scenario file.
        """
        return cls._of(_core.Scenario(text))

    @classmethod
    def load(cls, path: str | Path) -> Scenario:
        """Read a scenario file.

        Parameters
        ----------
        path
            The path of a TOML file.

        Raises
        ------
        ScenarioError
            If the file cannot be read or is not a scenario. The message begins with its path.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise _core.ScenarioError(f"{path}: {error}") from None
        try:
            return cls.from_toml(text)
        except _core.ScenarioError as error:
            raise _core.ScenarioError(f"{path}: {error}") from None

    def with_(self, values: Mapping[str, Any]) -> Scenario:
        """Return the same scenario with other values.

        Parameters
        ----------
        values
            Values by path, like ``{"duration": "10s", "flows[0].cc": "reno"}``.

        Raises
        ------
        ScenarioError
            If there is no such place, or the value is wrong there.

        Examples
        --------
        >>> import narrows as nw
        >>> scenario = nw.dumbbell("10Mbps", "40ms", "20p")
        >>> scenario.with_({"flows[0].count": 3}).fields["flows"][0]["count"]
        3
        """
        named: dict[str, Any] = {}
        controllers = Scenario._of(self.core, self.controllers)
        for path, value in values.items():
            is_cc = path.endswith(".cc") and isinstance(value, type)
            named[path] = controllers._named({"cc": value})["cc"] if is_cc else value
        patches = [(path, json.dumps(value)) for path, value in named.items()]
        return Scenario._of(self.core.patched(patches), controllers.controllers)

    @property
    def seed(self) -> int:
        """The seed that it is run with unless another is given."""
        return self.core.seed

    @property
    def fields(self) -> dict[str, Any]:
        """The fields as they were given."""
        fields: dict[str, Any] = json.loads(self.core.to_json())
        return fields

    @property
    def buffers(self) -> dict[str, str]:
        """The buffer of each link in packets, bytes, time and bandwidth-delay products."""
        return dict(self._buffers)

    @property
    def warnings(self) -> list[str]:
        """What runs, but hardly as it was meant, each with its place and a remedy.

        Examples
        --------
        >>> import narrows as nw
        >>> nw.dumbbell("10Mbps", "40ms", "20p", "xcp", queue="xcp").warnings
        []
        """
        return self.core.warnings(self.controllers)

    def to_toml(self) -> str:
        """Return the scenario as TOML: what was given, and nothing else."""
        return self.core.to_toml()

    def to_json(self) -> str:
        """Return the scenario as JSON, with its fields as they were given."""
        return self.core.to_json()

    def __eq__(self, other: object) -> bool:
        """Return whether the same was given, units aside."""
        if not isinstance(other, Scenario):
            return NotImplemented
        return self.core == other.core and self.controllers == other.controllers

    def __hash__(self) -> int:
        """Hash what was given."""
        return hash(self.to_toml())

    def __repr__(self) -> str:
        return f"Scenario({self.to_json()})"


def dumbbell(
    rate: str,
    rtt: str,
    buffer: str,
    cc: str | type[Controller] = "cubic",
    flows: int = 1,
    *,
    rtt_step: str | None = None,
    queue: str | None = None,
    duration: str = "60s",
    warmup: str | None = None,
    tcp: str = "linux",
    packet: str | None = None,
    sample: str | None = None,
    seed: int = 1,
    **flow: Any,
) -> Scenario:
    """Describe identical flows that share one bottleneck.

    Parameters
    ----------
    rate, rtt, buffer
        The bottleneck's rate, the base round-trip time of the first flow, and the bottleneck's
        buffer, like ``"1Gbps"``, ``"100ms"`` and ``"20p"``.
    cc
        A law over a recovery, like ``"cubic:beta=0.8+newreno"``, or a subclass of `Controller`.
    flows
        The number of flows.
    rtt_step
        The amount by which each flow's RTT exceeds the previous flow's.
    queue
        The bottleneck's queue, like ``"fq-codel"`` or ``"red:min=5:max=15"``.
    duration, warmup
        Simulated time, and the initial part of it that is not measured; the default is a quarter.
    tcp
        The TCP implementation that the flows imitate: ``"linux"`` or ``"ns2"``.
    packet
        The size of a data packet on the wire.
    sample
        The interval between two samples of the time series.
    seed
        The seed of all random numbers.
    **flow
        More fields of a flow: ``pacing``, ``start_spread``, ``overhead``, ``quantum``, …

    Returns
    -------
    Scenario
        The scenario, checked.

    Examples
    --------
    >>> import narrows as nw
    >>> scenario = nw.dumbbell("1Gbps", "100ms", "20p", cc="newreno", flows=50, pacing="even")
    >>> scenario.buffers["bottleneck"]
    '20p = 30kB = 240us = 0.0024bdp'
    """
    network = {"rate": rate, "rtt": rtt, "rtt_step": rtt_step, "buffer": buffer, "queue": queue}
    optional = {"warmup": warmup, "packet": packet, "sample": sample}
    return Scenario(
        seed=seed,
        duration=duration,
        tcp=tcp,
        dumbbell=_given(network),
        flows=[{"cc": cc, "count": flows, **flow}],
        **_given(optional),
    )


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}

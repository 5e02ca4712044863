"""Scenarios from keywords or TOML. Every check is made in Rust, once, for all fronts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from narrows import _core
from narrows.controller import Controller


class Scenario:
    """One experiment, checked.

    Parameters
    ----------
    **fields
        The fields of a scenario file: ``duration``, ``warmup``, ``tcp``, ``packet``, ``sample``, ``seed``; one of
        ``dumbbell``, ``parking_lot``, ``chain`` and ``links``; ``flows``. Quantities are texts with units. A flow's ``cc`` may be a
        subclass of `Controller`.

    Raises
    ------
    ScenarioError
        Where a value is wrong; the message names the place, the value and what would be right.

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
        self._json = json.dumps(fields)
        self._buffers = dict(_core.check(self._json, self.controllers))

    def _named(self, flow: dict[str, Any]) -> dict[str, Any]:
        """Give a flow whose controller is a class by that class's name."""
        cc = flow.get("cc")
        if not isinstance(cc, type):
            return flow
        if not issubclass(cc, Controller):
            raise _core.ScenarioError(
                f"flows[].cc: {cc.__name__} is no controller; subclass narrows.Controller"
            )
        known = self.controllers.setdefault(cc.__name__, cc)
        if known is not cc:
            raise _core.ScenarioError(
                f"flows[].cc: two classes are called {cc.__name__}; rename one"
            )
        return flow | {"cc": cc.__name__}

    @classmethod
    def from_toml(cls, text: str) -> Scenario:
        """Read a scenario from a TOML text.

        Parameters
        ----------
        text
            The contents of a scenario file.
        """
        fields: dict[str, Any] = json.loads(_core.from_toml(text))
        return cls(**fields)

    @classmethod
    def load(cls, path: str | Path) -> Scenario:
        """Read a scenario file.

        Parameters
        ----------
        path
            A TOML file.

        Raises
        ------
        ScenarioError
            Where the file is not a scenario; the message begins with its name.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise _core.ScenarioError(f"{path}: {error}") from None
        try:
            return cls.from_toml(text)
        except _core.ScenarioError as error:
            raise _core.ScenarioError(f"{path}: {error}") from None

    @property
    def fields(self) -> dict[str, Any]:
        """The scenario as a dictionary, as given."""
        fields: dict[str, Any] = json.loads(self._json)
        return fields

    @property
    def buffers(self) -> dict[str, str]:
        """Each link's buffer in packets, bytes, time and bandwidth-delay products."""
        return dict(self._buffers)

    def to_toml(self) -> str:
        """Write the scenario as TOML, every default spelled out."""
        return _core.to_toml(self._json)

    def to_json(self) -> str:
        """Write the scenario as JSON, as given."""
        return self._json

    def __repr__(self) -> str:
        return f"Scenario({self._json})"


def dumbbell(
    rate: str,
    rtt: str,
    buffer: str,
    cc: str | type[Controller] = "cubic",
    flows: int = 1,
    *,
    rtt_step: str = "0s",
    queue: str = "drop-tail",
    duration: str = "60s",
    warmup: str | None = None,
    tcp: str = "linux",
    packet: str | None = None,
    sample: str | None = None,
    seed: int = 1,
    **flow: Any,
) -> Scenario:
    """Describe flows of one kind over one bottleneck.

    Parameters
    ----------
    rate, rtt, buffer
        The bottleneck, like ``"1Gbps"``, ``"100ms"``, ``"20p"``.
    cc
        A law over a recovery, like ``"cubic:beta=0.8+newreno"``, or a subclass of `Controller`.
    flows
        How many.
    rtt_step
        Each further flow's RTT is longer by this.
    queue
        The bottleneck's, like ``"fq-codel"`` or ``"red:min=5:max=15"``.
    duration, warmup
        Simulated time, and how much of it is not measured: a quarter unless given.
    tcp
        The habits: ``"linux"`` or ``"ns2"``.
    packet
        A data packet on the wire.
    sample
        Between two samples.
    seed
        Where all randomness comes from.
    **flow
        More fields of a flow: ``pacing``, ``start_spread``, ``overhead``, ``quantum``, …

    Returns
    -------
    Scenario
        Checked.

    Examples
    --------
    >>> import narrows as nw
    >>> nw.dumbbell("1Gbps", "100ms", "20p", cc="newreno", flows=50, pacing="even").buffers["bottleneck"]
    '20p = 30kB = 240us = 0.0024bdp'
    """
    optional = {"warmup": warmup, "packet": packet, "sample": sample}
    return Scenario(
        seed=seed,
        duration=duration,
        tcp=tcp,
        dumbbell={"rate": rate, "rtt": rtt, "rtt_step": rtt_step, "buffer": buffer, "queue": queue},
        flows=[{"cc": cc, "count": flows, **flow}],
        **{name: value for name, value in optional.items() if value is not None},
    )

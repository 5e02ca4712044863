"""Scenarios from keywords or TOML; Rust checks them, once for every interface."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from narrows import _core, trace_files
from narrows.controller import Controller, Makes, known
from narrows.fields import ScenarioFields
from narrows.files import read_text
from narrows.law_files import law_of_file
from narrows.stack import is_stack, known_stack

if TYPE_CHECKING:
    from narrows.check import Check

# A file with more bytes is not read: checking it would take gigabytes. `count` says many flows.
LARGEST = 8 << 20


class Scenario:
    """A checked description of one experiment.

    Parameters
    ----------
    **given
        The fields of a scenario file: ``duration``, ``warmup``, ``tcp``, ``packet``, ``sample``,
        ``seed``; one of ``dumbbell``, ``parking_lot``, ``chain`` and ``links``; ``flows``.
        Quantities are strings with units. A flow's ``cc`` may be a subclass of `Controller`, or
        whatever makes one from an initial window, or a `Stack`.

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

    def __init__(self, **given: Unpack[ScenarioFields]) -> None:
        self.controllers: dict[str, Makes] = {}
        fields: dict[str, Any] = {**given}
        if "flows" in fields:
            if not isinstance(fields["flows"], Iterable):
                raise _core.ScenarioError(
                    f'flows: {fields["flows"]!r} is not a list of tables; write [{{"cc": "cubic"}}]'
                )
            fields = fields | {"flows": [self._named(flow) for flow in fields["flows"]]}
        self.core = _core.Scenario.from_json(_json(fields))
        self._checked: _core.Checked | None = None
        self.valid()

    @classmethod
    def draft(cls, core: _core.Scenario, controllers: Mapping[str, Makes]) -> Scenario:
        """Take a scenario of the core, which is checked when somebody first asks for that.

        Parameters
        ----------
        core
            The scenario.
        controllers
            What makes the user's own controllers and stacks, by name.

        Returns
        -------
        Scenario
            Not checked yet.
        """
        scenario = cls.__new__(cls)
        scenario.controllers = dict(controllers)
        scenario.core = core
        scenario._checked = None
        return scenario

    def valid(self) -> Scenario:
        """Return it, once it has been checked that it can be run.

        Returns
        -------
        Scenario
            This scenario.

        Raises
        ------
        ScenarioError
            If something is wrong.
        """
        _ = self.checked
        return self

    def check(self, seeds: int | Sequence[int] | None = None) -> Check:
        """Find out whether runs show what the scenario expects (``expect``).

        Parameters
        ----------
        seeds
            The number of seeds, counted from the scenario's own, or a list of seeds; as the
            scenario says if None.

        Returns
        -------
        Check
            What was found, of each expectation; true if all hold.

        Raises
        ------
        Error
            If it expects nothing, or a seed is not from 0 to 2^64 - 1.
        RuntimeError
            If a run fails.

        Examples
        --------
        >>> import narrows as nw
        >>> scenario = nw.dumbbell("10Mbps", "40ms", "20p", flows=2, duration="5s")
        >>> check = scenario.with_(expect={"utilisation": ">= 0.9"}).check(seeds=2)
        >>> check.judgements[0].verdict, bool(check)
        (<Verdict.HOLDS: 'holds'>, True)
        """
        from narrows.check import check_all, seeds_of  # noqa: PLC0415

        return check_all([(self, seeds_of(self, seeds))])[0]

    @property
    def checked(self) -> _core.Checked:
        """The scenario as it was checked, once, which can be run."""
        if self._checked is None:
            self._bring_files()
            self._checked = self.core.check(self.controllers)
        return self._checked

    def _bring_files(self) -> None:
        """Read policies and formulas that flows name by their files."""
        for cc in self.core.laws:
            if cc not in self.controllers and (law := law_of_file(cc)) is not None:
                self.controllers[cc] = law

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled; it is checked where it is unpickled, if it is run there."""
        return {**self.__dict__, "_checked": None}

    def _named(self, flow: Any) -> Mapping[str, Any]:
        """Replace a flow's controller by its name if it is a class."""
        if not isinstance(flow, Mapping):
            raise _core.ScenarioError(
                f'flows: {flow!r} is not a table of fields; write [{{"cc": "cubic"}}]'
            )
        cc = flow.get("cc")
        if is_stack(cc):
            return {**flow, "cc": known_stack("flows[].cc", cc, self.controllers)}
        if cc is None or isinstance(cc, str) or not (callable(cc) or isinstance(cc, Controller)):
            return flow
        return {**flow, "cc": known("flows[].cc", cc, self.controllers)}

    @classmethod
    def from_toml(cls, text: str) -> Scenario:
        """Read a scenario from TOML.

        Parameters
        ----------
        text
            The contents of a scenario file.

        Returns
        -------
        Scenario
            Checked.

        Raises
        ------
        ScenarioError
            If the text is not a scenario that can be run; the message names the place, the value
            and what would be right.
        """
        if not isinstance(text, str):
            raise _core.ScenarioError(f"from_toml: {type(text).__name__} is not a text; decode it")
        if text.endswith(".toml") and "\n" not in text:
            raise _core.ScenarioError(f"from_toml: {text} is a file; Scenario.load reads it")
        return cls.draft(_core.Scenario(text), {}).valid()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Scenario:
        """Read a scenario file.

        Parameters
        ----------
        path
            The path of a TOML file.

        Returns
        -------
        Scenario
            Checked.

        Raises
        ------
        ScenarioError
            If the file cannot be read or is not a scenario. The message begins with its path.

        Notes
        -----
        Files that its links are read from (``trace``) are found from the file's own folder.
        """
        try:
            text = read_text(Path(path), LARGEST)
        except OSError as error:
            raise _core.ScenarioError(f"{path}: {error.strerror or error}{_hint(path)}") from None
        except UnicodeDecodeError as error:
            made = "of a capture narrows fit makes one"
            raise _core.ScenarioError(f"{path}: is no scenario ({error}); {made}") from None
        try:
            core = trace_files.beside(_core.Scenario(text), Path(path).parent)
            return cls.draft(core, {}).valid()
        except _core.ScenarioError as error:
            if re.search('unknown field "(product|zipped|function|scenario)"', str(error)):
                message = f"is a sweep; narrows sweep {path} runs it"
                raise _core.ScenarioError(f"{path}: {message}") from None
            raise _core.ScenarioError(f"{path}: {error}") from None

    def with_(self, values: Mapping[str, Any] | None = None, /, **named: Any) -> Scenario:
        """Return the same scenario with other values.

        Parameters
        ----------
        values
            Values by path, like ``{"dumbbell.buffer": "20p", "flows[0].cc": "reno"}``.
        **named
            Values of the scenario's own fields, like ``duration="10s"``.

        Returns
        -------
        Scenario
            Another one, checked.

        Raises
        ------
        ScenarioError
            If there is no such place, or the value is wrong there.

        Examples
        --------
        >>> import narrows as nw
        >>> scenario = nw.dumbbell("10Mbps", "40ms", "20p")
        >>> scenario.with_({"flows[0].count": 3}, duration="5s").fields["flows"][0]["count"]
        3
        """
        return self.drafted({**(values or {}), **named}).valid()

    def drafted(self, values: Mapping[str, Any]) -> Scenario:
        """Return the same with other values by path, unchecked.

        Parameters
        ----------
        values
            Values by path, like ``flows[0].cc``.

        Returns
        -------
        Scenario
            Another one, not checked yet.
        """
        other = Scenario.draft(self.core, self.controllers)
        patches = []
        for path, value in values.items():
            said = value
            if path.endswith(".cc") and not isinstance(value, str):
                said = other._named({"cc": value})["cc"]
            elif path == "flows" and isinstance(value, Sequence) and not isinstance(value, str):
                said = [other._named(flow) for flow in value]
            patches.append((path, _json(said)))
        other.core = self.core.patched(patches)
        return other

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
        return dict(self.checked.buffers())

    @property
    def warnings(self) -> list[str]:
        """What runs, but hardly as it was meant, each with its place and a remedy.

        Examples
        --------
        >>> import narrows as nw
        >>> nw.dumbbell("10Mbps", "40ms", "20p", "xcp", queue="xcp").warnings
        []
        """
        return self.checked.warnings()

    def to_toml(self) -> str:
        """Return the scenario as TOML: what was given, and nothing else.

        Returns
        -------
        str
            What `from_toml` reads.
        """
        return self.core.to_toml()

    def to_json(self) -> str:
        """Return the scenario as JSON, with its fields as they were given.

        Returns
        -------
        str
            An object with the fields of a scenario file.
        """
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
        fields = ", ".join(f"{name}={value!r}" for name, value in self.fields.items())
        return f"Scenario({fields})"

    def _repr_html_(self) -> str:
        """Show the file that says the same, and the buffers in all units."""
        buffers = "".join(
            f"<tr><td>{escape(link)}</td><td>{escape(buffer)}</td></tr>"
            for link, buffer in self.buffers.items()
        )
        head = "<tr><th>link</th><th>buffer</th></tr>"
        return f"<pre>{escape(self.to_toml())}</pre><table>{head}{buffers}</table>"


def _json(value: Any) -> str:
    """Write a value for the core.

    Raises
    ------
    ScenarioError
        If it is or has something that a file cannot say.
    """
    try:
        return json.dumps(value, default=_plain, allow_nan=False)
    except ValueError as error:
        if isinstance(error, _core.ScenarioError):
            raise
        place = _not_finite(value) or "a field"
        raise _core.ScenarioError(f"{place}: the number is not finite; try 1.0") from None


def _not_finite(value: Any, place: str = "") -> str | None:
    """Return the place of a number that is not finite, like ``flows[0].max_ssthresh``."""
    if isinstance(value, float) and not math.isfinite(value):
        return place
    parts: list[tuple[str, Any]] = []
    if isinstance(value, Mapping):
        parts = [(f"{place}.{name}" if place else str(name), part) for name, part in value.items()]
    elif isinstance(value, (list, tuple)):
        parts = [(f"{place}[{number}]", part) for number, part in enumerate(value)]
    found = (_not_finite(part, where) for where, part in parts)
    return next((where for where in found if where is not None), None)


def _plain(value: Any) -> Any:
    """Return what a number of numpy, a path or an array stands for."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    for name in ("item", "tolist"):
        if hasattr(value, name) and (name == "tolist" or getattr(value, "ndim", 0) == 0):
            return getattr(value, name)()
    raise _core.ScenarioError(
        f'{value!r} is not a number, text, list or table; quantities are text, like "20p"'
    )


def _hint(path: str | os.PathLike[str]) -> str:
    """Return what to do about a file that is not there, if an example has its name."""
    name = Path(path).as_posix().removeprefix("examples/").removesuffix(".toml")
    home = resources.files("narrows") / "examples"
    if Path(path).exists() or not name or name.startswith(("/", ".")):
        return ""
    if not (home / f"{name}.toml").is_file():
        return ""
    file = f"my/{Path(name).name}.toml"
    return f"; it is an example: narrows examples {name} --copy my writes {file}"

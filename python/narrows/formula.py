"""Laws written as expressions in a TOML file: safe to run, whoever wrote them."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from narrows import _core
from narrows.errors import Error
from narrows.files import read_text
from narrows.law_files import FileLaw

LISTS = ("on_ack", "on_loss", "on_interval")
# A law's file has no more bytes than this.
LARGEST = 100_000


class Formula(FileLaw):
    """A law written as expressions: a flow's ``cc``.

    It has the variables ``window`` (packets, at first ``initial_window``), ``rate`` (packets/s, 0
    for none) and ``ssthresh`` (packets), and its own. Lists of assignments say what becomes of them
    at an acknowledgement, at a lost packet or a timeout, and once an RTT. docs/judge.md has what
    each may name.

    Parameters
    ----------
    name
        By which results call it, after ``formula:``.
    state
        Expressions of ``initial_window`` with which variables begin.
    on_ack, on_loss, on_interval
        Assignments like ``"window = window + packets / window"``, in order.
    own_recovery
        Whether its window decides in a recovery, too.

    Raises
    ------
    Error
        If a name or an expression is wrong; the message names the place.

    Examples
    --------
    >>> import narrows as nw
    >>> mine = nw.Formula(
    ...     "aimd",
    ...     state={"more": 0},
    ...     on_ack=[
    ...         "more = if(window_limited and not recovering, packets / window, 0)",
    ...         "window = window + more",
    ...     ],
    ...     on_loss=["window = if(opens_epoch, max(window / 2, 2), window)"],
    ... )
    >>> result = nw.run(nw.dumbbell("10Mbps", "40ms", "20p", cc=mine, duration="5s"))
    >>> result.flows["cc"].to_list()
    ['formula:aimd']
    """

    kind = "formula"

    def __init__(
        self,
        name: str,
        *,
        state: Mapping[str, str | float] | None = None,
        on_ack: Sequence[str] = (),
        on_loss: Sequence[str] = (),
        on_interval: Sequence[str] = (),
        own_recovery: bool = False,
    ) -> None:
        super().__init__(name)
        self.written: dict[str, Any] = {
            "state": {variable: str(value) for variable, value in (state or {}).items()},
            "on_ack": list(on_ack),
            "on_loss": list(on_loss),
            "on_interval": list(on_interval),
            "own_recovery": own_recovery,
        }
        self.code = _core.FormulaCode(
            list(self.written["state"].items()),
            self.written["on_ack"],
            self.written["on_loss"],
            self.written["on_interval"],
            own_recovery,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what was written."""
        return _made, (self.name, self.written), {"path": self.path}

    def __eq__(self, other: object) -> bool:
        """Return whether the same was written under the same name."""
        if not isinstance(other, Formula):
            return NotImplemented
        return (self.name, self.written) == (other.name, other.written)

    def __hash__(self) -> int:
        """Hash the name."""
        return hash(self.name)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Formula:
        """Read a law's file.

        Parameters
        ----------
        path
            A TOML file.

        Returns
        -------
        Formula
            Named for its path, without the ending.

        Raises
        ------
        Error
            If it cannot be read, or is no law.
        """
        try:
            given = tomllib.loads(read_text(Path(path), LARGEST))
        except (OSError, ValueError) as error:
            raise Error(f"{path}: {error}") from None
        law = cls.of(str(path).removesuffix(".toml"), given, str(path))
        law.path = str(path)
        return law

    @classmethod
    def of(cls, name: str, given: Mapping[str, Any], place: str) -> Formula:
        """Make a law of what a file says.

        Parameters
        ----------
        name
            By which results call it.
        given
            The file's fields.
        place
            What errors begin with.

        Returns
        -------
        Formula
            The law.

        Raises
        ------
        Error
            If a field is not known or not of its kind, or an expression is wrong.
        """
        known = {"state", "own_recovery", *LISTS}
        if unknown := sorted(set(given) - known):
            raise Error(f'{place}: no field "{unknown[0]}"; known: {", ".join(sorted(known))}')
        state = given.get("state", {})
        if not isinstance(state, dict) or not all(
            isinstance(it, str | int | float) and not isinstance(it, bool) for it in state.values()
        ):
            raise Error(f"{place}: state is a table of numbers and expressions")
        for field in LISTS:
            lines = given.get(field, [])
            if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
                raise Error(f'{place}: {field} is a list of texts, like ["window = window + 1"]')
        if not isinstance(own_recovery := given.get("own_recovery", False), bool):
            raise Error(f"{place}: own_recovery is true or false")
        try:
            lists = {field: given.get(field, []) for field in LISTS}
            return cls(name, state=state, own_recovery=own_recovery, **lists)
        except Error as error:
            raise Error(f"{place}: {error}") from None


def _made(name: str, written: Mapping[str, Any]) -> Formula:
    return Formula(name, **written)

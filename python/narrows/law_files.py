"""Laws that a flow's ``cc`` names by their files: policies, formulas and modules."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from narrows.errors import Error

# What a file's name ends in.
_ENDINGS = {"policy": ".npz", "formula": ".toml", "wasm": ".wasm"}
_FILE = re.compile(r"(policy|formula|wasm):(.+)")
_PART = re.compile(
    r"(?:\s*\d+\*)?\s*(?:(?:policy|formula|wasm):.+?\.(?:npz|toml|wasm)(?=\s*/|\s*$)|[^/]*)"
)


class FileLaw:
    """A law that is made in Rust of what a file says: a flow's ``cc``.

    Parameters
    ----------
    name
        By which results call it, after what it is.

    Attributes
    ----------
    kind
        What it is.
    path
        The file that it was read from, which scenarios name then; None if it was not.
    """

    kind: ClassVar[str]
    path: str | None = None

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def __name__(self) -> str:
        return f"{self.kind}:{self.path or self.name}"

    def __call__(self, initial_window: float) -> Any:
        """Make nothing: its controllers are not Python's.

        Parameters
        ----------
        initial_window
            Packets.

        Raises
        ------
        Error
            Always.
        """
        raise Error(f"a {self.kind} is a flow's cc; it makes no controller in Python")


def parts_of(mixture: str) -> list[str]:
    """Split a mixture of laws at its slashes, but not the paths of files.

    Parameters
    ----------
    mixture
        Like ``2*cubic/bbr``.

    Returns
    -------
    list of str
        The parts.

    Examples
    --------
    >>> parts_of("2*cubic/policy:out/ppo.npz/bbr")
    ['2*cubic', 'policy:out/ppo.npz', 'bbr']
    """
    parts, rest = [], mixture
    while True:
        match = _PART.match(rest)
        end = match.end() if match else len(rest)
        parts.append(rest[:end])
        if end >= len(rest):
            return parts
        rest = rest[end:].lstrip().removeprefix("/")


def file_of(cc: str) -> str | None:
    """Return the path that a flow's ``cc`` names.

    Parameters
    ----------
    cc
        The law.

    Returns
    -------
    str or None
        None if it names no file.

    Examples
    --------
    >>> file_of("policy:out/ppo.npz"), file_of("cubic")
    ('out/ppo.npz', None)
    """
    match = _FILE.fullmatch(cc)
    return match[2] if match else None


def is_file(cc: str) -> bool:
    """Return whether a flow's ``cc`` names a file.

    Parameters
    ----------
    cc
        The law.

    Returns
    -------
    bool
        Whether it is a policy's, a formula's or a module's.

    Examples
    --------
    >>> is_file("policy:ppo.npz"), is_file("cubic")
    (True, False)
    """
    return file_of(cc) is not None


def law_of_file(cc: str) -> FileLaw | None:
    """Read the file that a flow's ``cc`` names.

    Parameters
    ----------
    cc
        Like ``policy:ppo.npz``, ``formula:mine.toml`` or ``wasm:law.wasm``.

    Returns
    -------
    FileLaw or None
        A `Policy`, a `Formula` or a `Wasm`; None if it names no file.

    Raises
    ------
    Error
        If the file cannot be read, or is none.

    Examples
    --------
    >>> law_of_file("cubic") is None
    True
    """
    match = _FILE.fullmatch(cc)
    if match is None:
        return None
    if not match[2].endswith(ending := _ENDINGS[match[1]]):
        raise Error(f"{cc}: a {match[1]} is a file whose name ends in {ending}, without settings")
    if match[1] == "policy":
        from narrows.policy import Policy  # noqa: PLC0415

        return Policy.load(match[2])
    if match[1] == "wasm":
        from narrows.wasm import Wasm  # noqa: PLC0415

        return Wasm.load(match[2])
    from narrows.formula import Formula  # noqa: PLC0415

    return Formula.load(match[2])

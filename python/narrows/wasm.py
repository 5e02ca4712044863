"""Laws as WebAssembly modules: in any language that compiles to them, and safe to run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from narrows import _core
from narrows.errors import Error
from narrows.law_files import FileLaw

# A law's file has no more bytes than this.
LARGEST = 1_000_000


class Wasm(FileLaw):
    r"""A law as a WebAssembly module that imports nothing: a flow's ``cc``.

    It exports ``on_ack``, ``on_loss`` or ``on_interval``, which hear events as 64-bit floats, and
    ``window``, ``rate`` and ``ssthresh``, which answer. docs/judge.md has what each hears;
    examples/law.rs is one in Rust.

    Parameters
    ----------
    name
        By which results call it, after ``wasm:``.
    module
        The module's bytes.

    Raises
    ------
    Error
        If it is no module, imports something, or lacks what a law exports; the message says what
        would have been right.

    Examples
    --------
    >>> import narrows as nw
    >>> nw.Wasm("none", b"not a module")
    Traceback (most recent call last):
        ...
    narrows.Error: no WebAssembly module: it does not begin with \0asm
    """

    kind = "wasm"

    def __init__(self, name: str, module: bytes) -> None:
        super().__init__(name)
        if not isinstance(module, bytes | bytearray | memoryview):
            raise Error(f"module: {type(module).__name__} is not bytes; try nw.Wasm.load(path)")
        self.module = bytes(module)
        self.code = _core.WasmCode(self.module)

    def __repr__(self) -> str:
        """Return the name, and how long the module is."""
        return f"Wasm({self.name!r}, <{len(self.module)} bytes>)"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the module."""
        return Wasm, (self.name, self.module), {"path": self.path}

    def __eq__(self, other: object) -> bool:
        """Return whether it is the same module under the same name."""
        if not isinstance(other, Wasm):
            return NotImplemented
        return (self.name, self.module) == (other.name, other.module)

    def __hash__(self) -> int:
        """Hash name and module."""
        return hash((self.name, self.module))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Wasm:
        """Read a module's file.

        Parameters
        ----------
        path
            A ``.wasm`` file.

        Returns
        -------
        Wasm
            Named for its path, without the ending.

        Raises
        ------
        Error
            If it cannot be read, or is no law.
        """
        try:
            with Path(path).open("rb") as file:
                module = file.read(LARGEST + 1)
        except OSError as error:
            raise Error(f"{path}: {error.strerror}") from None
        if len(module) > LARGEST:
            raise Error(f"{path}: more than {LARGEST} bytes; a law has at most that")
        try:
            law = cls(str(path).removesuffix(".wasm"), module)
        except Error as error:
            raise Error(f"{path}: {error}") from None
        law.path = str(path)
        return law

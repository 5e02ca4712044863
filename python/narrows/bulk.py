"""A file or a directory to another machine over UDP, as QUIC, with any law.

The receiver shows a ticket: its address, the fingerprint of its certificate, and a secret. Whoever
has the ticket may send files to it. What has arrived is kept if a connection ends, and the next
attempt goes on from there; a file gets its name only after its BLAKE3 hash has been found right.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from narrows import _core

PORT = 4433
# Never reached: a socket is connected to it to learn which address this machine would send from.
_ELSEWHERE = ("192.0.2.1", 9)

Progress = Callable[[str, int, int], object]
"""Called with a name, and how many bytes of how many the receiver holds."""
Notice = Callable[[str], object]
"""Called with what a person may want to know."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A file or a directory that was sent.

    Attributes
    ----------
    name
        Its name.
    files
        The number of files that the receiver has.
    refused
        Files of a directory that the receiver would not take, each with the reason.
    size
        The bytes of the files.
    blake3
        The hash of a file, in hexadecimal digits; of several files that of a line for each with its
        hash, two spaces and its name.
    resumed_at
        Bytes that the receiver had before.
    seconds
        Time from the first attempt to the receiver's last word.
    connections
        Connections that it took.
    packets, lost
        QUIC packets that left, and that were lost.
    rtt
        The smoothed RTT at the end, in seconds.
    window
        The law's window at the end, in packets.
    """

    name: str
    files: int
    refused: list[tuple[str, str]]
    size: int
    blake3: str
    resumed_at: int
    seconds: float
    connections: int
    packets: int
    lost: int
    rtt: float
    window: float


@dataclass(frozen=True, slots=True)
class Received:
    """A file or a directory that has arrived.

    Attributes
    ----------
    path
        Where it is.
    files
        The number of files.
    size
        Their bytes.
    blake3
        The hash, as in `Sent`.
    resumed_at
        Bytes that were there when the last sender came.
    seconds
        Time from the last sender's offer until the file had its name.
    sender
        The sender's address.
    """

    path: Path
    files: int
    size: int
    blake3: str
    resumed_at: int
    seconds: float
    sender: str


def send(
    file: str | os.PathLike[str],
    to: str,
    *,
    cc: str = "cubic",
    patience: float = 60.0,
    progress: Progress | None = None,
    notice: Notice | None = None,
) -> Sent:
    """Send a file or a directory to the receiver that has printed a ticket.

    Parameters
    ----------
    file
        The file, or a directory, whose files are sent with those below it; links are left out.
    to
        The ticket.
    cc
        The law, with its settings: ``etcp:p0=0.01``.
    patience
        For how many seconds a receiver that says nothing is waited for and tried again.
    progress, notice
        What to call while it goes on.

    Returns
    -------
    Sent
        The file, and how it went.

    Raises
    ------
    Error
        If `to` is not a ticket, or there is no such law.
    OSError
        If the file cannot be read.
    RuntimeError
        If the receiver has another certificate, refuses, or does not answer, or the file changes.
    """
    what, how = _core.send_file(Path(file), to, cc, patience, _watch(progress, notice))
    return Sent(*what, *how)


class Receiver:
    """Takes files from senders that have its ticket.

    Parameters
    ----------
    directory
        Where they go; made if need be.
    listen
        Address and port; port 0 is any that is free.
    identity
        A file that keeps the key, so that tickets stay valid; None for a new key, which is
        forgotten with this object.

    Examples
    --------
    >>> import tempfile, threading
    >>> from pathlib import Path
    >>> from narrows import bulk
    >>> here = Path(tempfile.mkdtemp())
    >>> _ = (here / "data.bin").write_bytes(b"abc")
    >>> receiver = bulk.Receiver(here / "in", listen="127.0.0.1:0")
    >>> ticket = receiver.ticket()
    >>> thread = threading.Thread(target=receiver.receive)
    >>> thread.start()
    >>> bulk.send(here / "data.bin", ticket, cc="etcp").size
    3
    >>> thread.join()
    >>> (here / "in" / "data.bin").read_bytes()
    b'abc'
    """

    def __init__(
        self,
        directory: str | os.PathLike[str] = ".",
        *,
        listen: str = f"0.0.0.0:{PORT}",
        identity: str | os.PathLike[str] | None = None,
    ) -> None:
        self._listen = listen
        kept = None if identity is None else Path(identity)
        self._receiver = _core.Receiver(Path(directory), listen, kept)

    def ticket(self, host: str | None = None) -> str:
        """Return what a sender must know.

        Parameters
        ----------
        host
            The name or address under which senders find this machine; None for the address that it
            would send from.

        Returns
        -------
        str
            ``HOST:PORT/KEY``, for ``narrows send``; who has it may send.
        """
        return self._receiver.ticket(host or _own(self._listen.rpartition(":")[0]))

    def receive(
        self, *, progress: Progress | None = None, notice: Notice | None = None
    ) -> Received:
        """Wait until a file has arrived.

        Parameters
        ----------
        progress, notice
            What to call while it goes on. Lost connections, strangers, and files that are refused
            are notices: it goes on waiting.

        Returns
        -------
        Received
            The file.
        """
        return Received(*self._receiver.receive(_watch(progress, notice)))


def _watch(
    progress: Progress | None, notice: Notice | None
) -> Callable[[str, str, int, int], None]:
    def watch(kind: str, text: str, done: int, size: int) -> None:
        if kind == "notice" and notice:
            notice(text)
        elif kind == "reading" and progress:
            progress("reading", done, size)
        elif kind == "progress" and progress:
            progress(text, done, size)

    return watch


def _own(listen: str) -> str:
    """Return the address that senders reach, of a socket that listens at `listen`.

    Examples
    --------
    >>> _own("127.0.0.1")
    '127.0.0.1'
    """
    if listen not in {"0.0.0.0", "[::]"}:
        return listen
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_ELSEWHERE)
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])

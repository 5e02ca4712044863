"""aioquic, a QUIC stack in Python, as the ends of a flow: `python aioquic_stack.py`.

It needs ``pip install aioquic``. aioquic is without sockets or clocks of its own below its asyncio
layer, so each of its ends is a few lines. Times and sizes are the same in each run; the bytes are
not, as it draws its keys from the system.
"""

from __future__ import annotations

import datetime
import ssl
from collections.abc import Sequence

from aioquic._buffer import Buffer
from aioquic.quic import events
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.packet import pull_quic_header
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import narrows as nw

SERVER, CLIENT = ("10.0.0.2", 443), ("10.0.0.1", 40_000)
WINDOW = 16 << 20
CHUNK = bytes(1 << 17)
# When how many bytes have been offered in all; None for no end.
Offers = Sequence[tuple[float, int | None]]
BEGINS = 1.0  # To aioquic, a time of 0.0 is no time at all.


def certificate() -> tuple[x509.Certificate, Ed25519PrivateKey]:
    """Return a certificate whose size is the same in each run, which ECDSA's are not."""
    key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name)
    made = made.public_key(key.public_key()).serial_number(1)
    made = made.not_valid_before(datetime.datetime(2020, 1, 1))
    made = made.not_valid_after(datetime.datetime(2100, 1, 1))
    return made.sign(key, None), key


class End:
    """One end of a transfer."""

    def __init__(
        self, *, client: bool, algorithm: str, size: int | None, offers: Offers = ()
    ) -> None:
        self.configuration = QuicConfiguration(
            is_client=client,
            alpn_protocols=["bulk"],
            congestion_control_algorithm=algorithm,
            idle_timeout=1e6,
            max_data=WINDOW,
            max_stream_data=WINDOW,
            max_datagram_size=1452,
            server_name="localhost" if client else None,
        )
        self.client = client
        self.connection: QuicConnection | None = None
        if client:
            self.configuration.verify_mode = ssl.CERT_NONE
            self.connection = QuicConnection(configuration=self.configuration)
        else:
            self.configuration.certificate, self.configuration.private_key = certificate()
        self.stream: int | None = None
        self.left = size
        self.offers = list(offers)
        self.offered = 0 if offers else None
        self.written = 0
        self.leaving: list[bytes] = []
        self.begun = False
        self.told = nw.Told()

    def handle(self, now: float, datagram: bytes, ecn: int) -> None:
        """Take a datagram."""
        if self.connection is None:
            header = pull_quic_header(Buffer(data=datagram), host_cid_length=8)
            self.connection = QuicConnection(
                configuration=self.configuration,
                original_destination_connection_id=header.destination_cid,
            )
        self.connection.receive_datagram(datagram, SERVER if self.client else CLIENT, BEGINS + now)
        self.settle()

    def handle_timeout(self, now: float) -> None:
        """Begin, or let a timer go off."""
        if self.connection is None:
            return
        if self.client and not self.begun:
            self.connection.connect(SERVER, BEGINS + now)
        self.begun = True
        # Asking for the timer also brings up to date what the next call looks at.
        due = self.connection.get_timer()
        if due is not None and due <= BEGINS + now:
            self.connection.handle_timer(BEGINS + now)
            self.settle()

    def settle(self) -> None:
        """Let the application act."""
        assert self.connection is not None
        while (event := self.connection.next_event()) is not None:
            if isinstance(event, events.HandshakeCompleted) and self.client:
                self.stream = self.connection.get_next_available_stream_id(is_unidirectional=True)
            elif isinstance(event, events.StreamDataReceived):
                self.told.delivered += len(event.data)
                self.told.complete |= event.end_stream
            elif isinstance(event, events.ConnectionTerminated):
                self.told.ended = event.reason_phrase or f"error {event.error_code}"

    def write(self, now: float) -> None:
        """Keep half a chunk ready to leave, of what is offered; aioquic itself takes any amount."""
        while self.offers and self.offers[0][0] <= now:
            self.offered = self.offers.pop(0)[1]
        if self.connection is None or self.stream is None or self.left == 0:
            return
        stream = self.connection._streams.get(self.stream)
        ready = stream.sender._buffer_stop - stream.sender.highest_offset if stream else 0
        most = len(CHUNK) if self.offered is None else self.offered - self.written
        chunk = CHUNK[: most if self.left is None else min(most, self.left)]
        if ready < len(CHUNK) // 2 and chunk:
            self.written += len(chunk)
            self.left = None if self.left is None else self.left - len(chunk)
            self.connection.send_stream_data(self.stream, chunk, end_stream=self.left == 0)

    def poll_transmit(self, now: float) -> bytes | None:
        """Return the next datagram."""
        if self.connection is None or (self.client and not self.begun):
            return None
        if not self.leaving:
            self.write(now)
            sent = self.connection.datagrams_to_send(BEGINS + now)
            self.leaving = [datagram for datagram, _ in sent]
        return self.leaving.pop(0) if self.leaving else None

    def poll_timeout(self) -> float | None:
        """Return the time of its next timer."""
        if self.connection is None or (self.client and not self.begun) or self.told.ended:
            return None
        due = self.connection.get_timer()
        times = [due - BEGINS] if due is not None else []
        return min([*times, *(at for at, _ in self.offers[:1])], default=None)

    def tell(self) -> nw.Told:
        """Return what it says of itself."""
        if self.connection is not None:
            loss = self.connection._loss
            self.told.window = loss.congestion_window
            self.told.in_flight = loss.bytes_in_flight
            self.told.rtt = loss._rtt_smoothed or None
        return self.told


class Aioquic(nw.Stack):
    """aioquic with one of its congestion controllers, "reno" or "cubic"."""

    def __init__(self, algorithm: str = "reno") -> None:
        self.algorithm = algorithm
        self.name = f"aioquic:{algorithm}"

    def ends(
        self, seed: int, size: int | None, offers: Offers = ()
    ) -> tuple[nw.Endpoint, nw.Endpoint]:
        """Return a client, which sends, and a server."""
        near = End(client=True, algorithm=self.algorithm, size=size, offers=offers)
        return near, End(client=False, algorithm=self.algorithm, size=None)


if __name__ == "__main__":
    for buffer in ("10p", "30p", "60p"):
        print(buffer)
        print(
            nw.compare(
                nw.dumbbell("10Mbps", "40ms", buffer, duration="20s"),
                ["cubic", Aioquic("reno"), Aioquic("cubic")],
            )
        )

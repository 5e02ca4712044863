"""The ends of a transfer over the lab: a sender that is asked, and a receiver that writes packets.

`lab_captures.py` runs both; each end can write down the packets that pass it.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import struct
import sys
import threading
import time
from pathlib import Path

PORT = 5201
CHUNK = 65536
# struct tcp_info of include/uapi/linux/tcp.h: where the bytes are that have not left, and the
# microseconds for which the receiver's window was the limit.
NOT_SENT, RECEIVER = 144, 176
SO_TIMESTAMPNS = 35


class Packets(threading.Thread):
    """Writes a device's packets as pcap with nanoseconds, each with the kernel's time stamp."""

    def __init__(self, device: str, file: Path) -> None:
        super().__init__(daemon=True)
        every = socket.htons(3)
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, every)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 26)
        self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self._socket.bind((device, 3))
        self._socket.settimeout(0.2)
        self._file = file.open("wb")
        # Raw IP (101), of which headers are kept.
        self._file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 128, 101))
        self._ends = threading.Event()

    def run(self) -> None:
        """Write until somebody asks to end."""
        while not self._ends.is_set():
            try:
                data, said, _, _ = self._socket.recvmsg(CHUNK + 128, 64)
            except TimeoutError:
                continue
            except OSError:
                return
            seconds, nanos = struct.unpack("=qq", said[0][2][:16])
            kept = data[:128]
            self._file.write(struct.pack("<IIII", seconds, nanos, len(kept), len(data)) + kept)

    def end(self) -> None:
        """End, and leave the whole file."""
        time.sleep(0.3)
        self._ends.set()
        self.join()
        self._file.close()


class Waiting(threading.Thread):
    """Looks how often a connection has nothing to send."""

    def __init__(self, peer: socket.socket) -> None:
        super().__init__(daemon=True)
        self._peer = peer
        self.looks = self.empty = 0

    def run(self) -> None:
        """Look each millisecond until the connection is over."""
        while True:
            try:
                told = self._peer.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
            except OSError:
                return
            self.looks += 1
            self.empty += struct.unpack_from("=I", told, NOT_SENT)[0] == 0
            time.sleep(0.001)


def send(given: argparse.Namespace) -> None:
    """Serve one connection, and say what the kernel's account of it is."""
    packets = Packets(given.device, given.pcap) if given.pcap else None
    if packets:
        packets.start()
    server = socket.create_server(("", PORT))
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, given.law.encode())
    server.settimeout(20)
    peer, _ = server.accept()
    begun = time.monotonic()
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    waiting = Waiting(peer)
    waiting.start()
    ends = begun + given.seconds
    while (now := time.monotonic()) < ends:
        if given.every:
            peer.sendall(bytes(given.bytes))
            time.sleep(max(0.0, given.every - (time.monotonic() - now)))
        else:
            peer.settimeout(max(ends - now, 0.01))
            try:
                peer.send(bytes(CHUNK))
            except TimeoutError:
                break
    told = peer.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    account = {
        "seconds": time.monotonic() - begun,
        "receiver": struct.unpack_from("=Q", told, RECEIVER)[0] / 1e6,
        "nothing_to_send": waiting.empty / max(waiting.looks, 1),
    }
    if packets:
        packets.end()
    # Whoever reads ends when this one does, and the path with it.
    given.account.write_text(json.dumps(account))
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()


def receive(given: argparse.Namespace) -> None:
    """Read what a sender has, at a rate of one's own if one is given."""
    packets = Packets(given.device, given.pcap) if given.pcap else None
    if packets:
        packets.start()
    end = socket.socket()
    if given.buffer:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, given.buffer)
    end.connect((os.environ["NARROWS_PEER"], PORT))
    begun, read = time.monotonic(), 0
    try:
        while data := end.recv(CHUNK):
            read += len(data)
            if given.rate:
                time.sleep(max(0.0, begun + 8 * read / given.rate - time.monotonic()))
    except ConnectionResetError:
        pass
    if packets:
        packets.end()


def main() -> None:
    """Be one of the ends."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("end", choices=["send", "receive"])
    parser.add_argument("--pcap", type=Path)
    parser.add_argument("--device", default="narrows0")
    parser.add_argument("--law", default="cubic")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--every", type=float, default=0, help="seconds from write to write")
    parser.add_argument("--bytes", type=int, default=0, help="of each such write")
    parser.add_argument("--account", type=Path)
    parser.add_argument("--buffer", type=int, default=0, help="of the receiver's socket")
    parser.add_argument("--rate", type=float, default=0, help="at which it reads, in bit/s")
    given = parser.parse_args()
    (send if given.end == "send" else receive)(given)
    sys.exit(0)


if __name__ == "__main__":
    main()

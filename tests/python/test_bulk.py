"""`narrows send` and `narrows recv`, as two processes: killed, full, unreachable."""

import asyncio
import json
import os
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from aioquic.asyncio.client import connect
from aioquic.quic.configuration import QuicConfiguration

NARROWS = [sys.executable, "-m", "narrows"]
SIZE = 60_000_000
# A receiver with a disk of 30 MB of its own, in a directory `in`.
SMALL_DISK = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
MOUNT = "mount -t tmpfs -o size=30m none in"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """Return a directory with a file to send and one for what arrives."""
    (tmp_path / "in").mkdir()
    (tmp_path / "data.bin").write_bytes(os.urandom(1000) * (SIZE // 1000))
    return tmp_path


@contextmanager
def receiving(
    here: Path, port: int = 0, command: list[str] | None = None
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a receiver until the end of the block, and yield it with its ticket."""
    listen = ["recv", "in", "--listen", f"127.0.0.1:{port}", "--json"]
    process = subprocess.Popen(
        command or [*NARROWS, *listen],
        cwd=here,
        env={**os.environ, "XDG_STATE_HOME": str(here / "state")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        yield process, json.loads(process.stdout.readline())["ticket"]
    finally:
        process.kill()
        process.communicate()


def sending(here: Path, ticket: str, *options: str) -> subprocess.Popen[str]:
    """Begin to send the file."""
    return subprocess.Popen(
        [*NARROWS, "send", "data.bin", "--json", *options],
        cwd=here,
        env={**os.environ, "NARROWS_TICKET": ticket},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_bytes(here: Path) -> None:
    """Wait until something of the file is there."""
    deadline = time.monotonic() + 60
    while not any(part.stat().st_size for part in (here / "in").glob(".*.part")):
        assert time.monotonic() < deadline, "nothing arrives"
        time.sleep(0.001)


def test_a_receiver_that_is_killed_and_started_again_gets_the_rest(here: Path) -> None:
    with receiving(here) as (first, ticket):
        sender = sending(here, ticket)
        wait_for_bytes(here)
        first.kill()
        first.wait()
    kept = next((here / "in").glob(".*.part")).stat().st_size
    assert 0 < kept < SIZE
    port = int(ticket.rpartition("/")[0].rpartition(":")[2])
    with receiving(here, port) as (second, again):
        assert again == ticket
        out, err = sender.communicate(timeout=60)
        assert sender.returncode == 0, err
        assert "trying again" in err
        assert json.loads(out)["connections"] >= 2
        assert second.stdout
        assert json.loads(second.stdout.readline())["resumed_at"] == kept
        assert second.wait(timeout=10) == 0
    assert (here / "in" / "data.bin").read_bytes() == (here / "data.bin").read_bytes()
    assert [path.name for path in (here / "in").iterdir()] == ["data.bin"]


def test_ctrl_c_ends_a_sender_at_once_and_the_next_goes_on(here: Path) -> None:
    with receiving(here) as (receiver, ticket):
        sender = sending(here, ticket)
        wait_for_bytes(here)
        sender.send_signal(signal.SIGINT)
        out, err = sender.communicate(timeout=10)
        assert (sender.returncode, out) == (130, "")
        assert err.splitlines()[-1] == "narrows: interrupted"
        sender = sending(here, ticket, "--cc", "etcp:p0=0.01")
        out, err = sender.communicate(timeout=60)
        assert sender.returncode == 0, err
        assert json.loads(out)["resumed_at"] > 0
        assert receiver.wait(timeout=10) == 0
    assert (here / "in" / "data.bin").read_bytes() == (here / "data.bin").read_bytes()


def test_a_full_disk_is_said_on_both_sides(here: Path) -> None:
    try:
        subprocess.run([*SMALL_DISK, MOUNT], cwd=here, check=True, capture_output=True)
    except (subprocess.CalledProcessError, FileNotFoundError):
        pytest.skip("no disk of one's own: mounting needs user namespaces")
    # Takes the disk as soon as something of the file is there.
    fill = "(until [ -s in/.data.bin*.part ]; do :; done; head -c 29m /dev/zero > in/x) &"
    recv = "exec " + " ".join([*NARROWS, "recv in --listen 127.0.0.1:0 --json"])
    (here / "data.bin").write_bytes(os.urandom(25_000_000))
    with receiving(here, command=[*SMALL_DISK, f"{MOUNT} && {fill} {recv}"]) as (receiver, ticket):
        sender = sending(here, ticket)
        _, err = sender.communicate(timeout=60)
        assert sender.returncode == 1
        assert "No space left on device" in err
        assert "which are kept; send again" in err
        assert receiver.poll() is None
    (here / "data.bin").write_bytes(os.urandom(33_000_000))
    with receiving(here, command=[*SMALL_DISK, f"{MOUNT} && {recv}"]) as (_, ticket):
        _, err = sending(here, ticket).communicate(timeout=60)
        assert "needs 33000000 bytes more and the disk has" in err


def test_what_is_wrong_is_said_in_one_line(here: Path) -> None:
    os.mkfifo(here / "pipe")
    refused = subprocess.run(
        [*NARROWS, "send", "pipe", f"127.0.0.1:9/{'0' * 64}"],
        cwd=here,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert refused.returncode == 2
    assert "pipe: neither a file nor a directory" in refused.stderr
    for ticket, options, status, text in [
        ("nonsense", (), 2, "is not a ticket"),
        (f"127.0.0.1:9/{'0' * 64}", ("--cc", "xcp"), 2, "asks routers"),
        (f"127.0.0.1:9/{'0' * 64}", ("--patience", "1s"), 1, "is narrows recv running there?"),
    ]:
        sender = sending(here, ticket, *options)
        out, err = sender.communicate(timeout=30)
        assert (sender.returncode, out) == (status, ""), err
        assert text in err.splitlines()[-1]
        assert "Traceback" not in err


async def prove_wrongly(port: int, strangers: int) -> None:
    """Connect as strangers that prove the wrong thing and stay for two seconds."""

    async def one() -> None:
        about = QuicConfiguration(alpn_protocols=["narrows-bulk/2"], verify_mode=ssl.CERT_NONE)
        async with connect("127.0.0.1", port, configuration=about) as protocol:
            _, writer = await protocol.create_stream()
            writer.write(b"x" * 32)
            await asyncio.sleep(2)

    await asyncio.gather(*(one() for _ in range(strangers)), return_exceptions=True)


def test_strangers_that_prove_the_wrong_thing_end_no_other_connection(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "data.bin").write_bytes(b"narrows")
    with receiving(tmp_path) as (receiver, ticket):
        port = int(ticket.split("/")[0].rpartition(":")[2])
        strangers = subprocess.Popen([sys.executable, __file__, str(port), "10"])
        time.sleep(0.8)
        sender = sending(tmp_path, ticket)
        out, err = sender.communicate(timeout=60)
        assert sender.returncode == 0, err
        assert "broke off" not in err and json.loads(out)["connections"] == 1, err
        assert strangers.wait(timeout=60) == 0
        assert receiver.wait(timeout=60) == 0


if __name__ == "__main__":
    asyncio.run(prove_wrongly(int(sys.argv[1]), int(sys.argv[2])))

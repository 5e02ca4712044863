"""Every example runs from the command line and writes its results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from binary import BINARY, ROOT, Run

EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
TUTORIALS = sorted((ROOT / "docs/_tutorials").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_and_writes_everything(narrows: Run, tmp_path: Path, example: Path) -> None:
    done = narrows("run", example, "-o", "out", "--json")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    # If the measured window begins while a packet is being sent, one more packet may end in it than
    # fits into it.
    assert 0.1 < record["utilisation"] <= 1.0001
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {
        "report.html",
        "run.png",
        "scenario.toml",
        "summary.parquet",
        "flows.parquet",
        "links.parquet",
    } <= written


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
def test_tutorial_runs_without_a_word_of_complaint(tmp_path: Path, tutorial: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", tutorial],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def tshark(capture: Path, display: str, *fields: str) -> list[list[str]]:
    command = ["tshark", "-r", str(capture), "-Y", display, "-T", "fields"]
    for field in fields:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traced")
    done = subprocess.run(
        [BINARY, "run", ROOT / "examples" / "trace.toml", "-o", folder / "out"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "out"


def test_tshark_reads_sequence_numbers_sack_and_timestamps(traced: Path) -> None:
    capture = traced / "packets.pcapng"
    data = tshark(capture, "tcp.len > 0", "tcp.seq", "tcp.options.timestamp.tsval", "frame.len")
    assert len(data) > 1000
    assert all(seq and stamp and int(length) > 1000 for seq, stamp, length in data)
    edges = tshark(
        capture,
        "tcp.options.sack.count > 0",
        "tcp.options.sack_le",
        "tcp.options.sack_re",
        "tcp.ack",
    )
    assert edges, "a run with losses has selective acknowledgements"
    for left, right, ack in edges:
        for le, re in zip(left.split(","), right.split(","), strict=True):
            assert int(ack) < int(le) < int(re)
    assert not tshark(capture, "_ws.malformed", "frame.number")


def test_drops_in_the_trace_are_those_of_the_table(traced: Path) -> None:
    dropped = tshark(
        traced / "packets.pcapng", 'frame.comment contains "dropped"', "frame.time_epoch"
    )
    assert dropped
    warmup = float((traced / "scenario.toml").read_text().split('warmup = "')[1].split("s")[0])
    links = pl.read_parquet(traced / "links.parquet")
    assert sum(float(when) >= warmup for (when,) in dropped) == links["drops"][0]


def test_a_capture_has_each_packet_once_and_begins_with_a_handshake(traced: Path) -> None:
    columns = ("frame.interface_name", "ip.src", "tcp.seq_raw", "tcp.options.timestamp.tsval")
    for capture in ("packets.pcapng", "departures.pcapng"):
        seen = tshark(traced / capture, "tcp.len > 0 && ip.src == 10.0.0.1", *columns)
        assert len(seen) > 1000
        # A packet that leaves again within a millisecond has the same stamp.
        assert len(set(map(tuple, seen))) >= 0.99 * len(seen)
        assert tshark(traced / capture, "tcp.flags.syn == 1 && tcp.flags.ack == 0", "tcp.seq")

    def count(capture: str, what: str) -> int:
        return len(tshark(traced / capture, what, "frame.number"))

    # What was dropped comes again, and Wireshark sees that and nothing else; it calls a packet that
    # comes again within three milliseconds out of order.
    again = "tcp.analysis.retransmission || tcp.analysis.out_of_order"
    assert count("packets.pcapng", "tcp && frame.comment") == count("packets.pcapng", again)
    assert count("packets.pcapng", "tcp.analysis.lost_segment") == 0
    assert count("departures.pcapng", "tcp.analysis.lost_segment") > 0
    assert count("departures.pcapng", "frame.comment") == 0
    datagrams = pl.read_parquet(traced / "flows.parquet").filter(pl.col("cc") == "datagrams")
    assert 0 < datagrams["sent"].sum() <= count("packets.pcapng", "udp")


# The fields of draft-ietf-quic-qlog-quic-events-13 that are written, with their types.
QLOG: dict[str, dict[str, type | tuple[type, ...]]] = {
    "quic:packet_sent": {"header": dict, "raw": dict},
    "quic:packet_received": {"header": dict, "raw": dict, "frames": list},
    "quic:packet_lost": {"header": dict},
    "quic:congestion_state_updated": {"old": str, "new": str, "trigger": str},
    "quic:recovery_metrics_updated": {
        **dict.fromkeys(("min_rtt", "smoothed_rtt", "latest_rtt"), (int, float)),
        **dict.fromkeys(("congestion_window", "bytes_in_flight", "ssthresh"), int),
        **dict.fromkeys(("packets_in_flight", "pacing_rate"), int),
    },
}


def records_of(log: Path) -> list[dict[str, Any]]:
    """Return the records of a JSON text sequence (RFC 7464)."""
    parts = log.read_text().split("\x1e")
    assert parts[0] == "" and all(part.endswith("\n") for part in parts[1:])
    return [json.loads(part) for part in parts[1:]]


def test_qlog_is_as_the_draft_has_it(traced: Path) -> None:
    (log, *_) = sorted(traced.glob("*.sqlog"))
    head, *events = records_of(log)
    assert head["file_schema"] == "urn:ietf:params:qlog:file:sequential"
    assert head["serialization_format"] == "application/qlog+json-seq"
    assert head["trace"]["event_schemas"] == ["urn:ietf:params:qlog:events:quic-13"]
    assert head["trace"]["vantage_point"]["type"] == "client"
    assert "cubic" in head["title"] and "seed 1" in head["title"]
    for event in events:
        assert set(event) == {"time", "name", "data"}
        known = QLOG[event["name"]]
        for name, value in event["data"].items():
            assert isinstance(value, known[name]), (event["name"], name, value)
    assert {event["name"] for event in events} == set(QLOG)
    times = [event["time"] for event in events]
    assert times == sorted(times)


def test_qlog_tells_each_packets_fate(traced: Path) -> None:
    (log, *_) = sorted(traced.glob("*.sqlog"))
    sent, lost, acknowledged = set(), set(), set()
    windows = []
    for event in records_of(log)[1:]:
        data = event["data"]
        number = data.get("header", {}).get("packet_number")
        if event["name"] == "quic:packet_sent" and data["header"]["packet_type"] == "1RTT":
            assert number not in sent
            sent.add(number)
        elif event["name"] == "quic:packet_lost":
            assert number in sent
            lost.add(number)
        for frame in data.get("frames", []):
            for first, *last in frame["acked_ranges"]:
                acknowledged |= set(range(first, (last or [first])[0] + 1))
        if "congestion_window" in data:
            windows.append(data["congestion_window"])
    assert acknowledged <= sent
    assert lost and len(sent - acknowledged - lost) < 0.2 * len(sent)
    assert max(windows) > 4 * min(windows), "the window grows, and falls at losses"

"""Every example runs from the command line and writes its results."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import polars as pl
import pytest
from binary import BINARY, ROOT, Run

EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))


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


def test_qlog_is_a_sequence_of_events_with_windows_and_losses(traced: Path) -> None:
    (log, *_) = sorted(traced.glob("*.sqlog"))
    records = [json.loads(line) for line in log.read_text().replace("\x1e", "").splitlines()]
    head, events = records[0], records[1:]
    assert head["serialization_format"] == "JSON-SEQ"
    names = {event["name"] for event in events}
    assert names == {
        "quic:recovery_metrics_updated",
        "quic:congestion_state_updated",
        "quic:packet_lost",
    }
    times = [event["time"] for event in events]
    assert times == sorted(times)
    windows = [
        event["data"]["congestion_window"]
        for event in events
        if "congestion_window" in event["data"]
    ]
    assert max(windows) > 4 * min(windows), "the window grows, and falls at losses"

"""Captures explained: by the real binary, from runs of which the causes are known."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import polars as pl
import pytest

import narrows as nw
from binary import ROOT, Run
from narrows.captures import sentence
from narrows.causes import CAUSES

sys.path.insert(0, str(ROOT / "validation"))

import captures as validation


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two flows over a full link, captured beside it."""
    folder = tmp_path_factory.mktemp("captured")
    path = nw.dumbbell(rate="20Mbps", rtt="40ms", buffer="20p", cc="reno", flows=2)
    trace = {"links": ["bottleneck", "reverse"]}
    nw.run(path.with_({"duration": "30s", "trace": trace}), traces_to=folder)
    return folder / "packets.pcapng"


def test_a_capture_is_told_as_table_and_as_json(narrows: Run, capture: Path) -> None:
    shown = narrows("why", str(capture))
    assert shown.returncode == 0, shown.stderr
    assert "window" in shown.stdout
    assert "to a full queue" in " ".join(shown.stdout.split())
    assert max(map(len, shown.stdout.splitlines())) <= 80
    told = json.loads(narrows("why", str(capture), "--json").stdout)
    assert [flow["cause"] for flow in told["flows"]] == ["window", "window"]
    first = told["flows"][0]
    assert first["rate"]["value"] == pytest.approx(20e6, rel=0.02)
    assert first["base_rtt"]["value"] == pytest.approx(40.6e-3, rel=0.02)
    assert first["loss"] == "congestion"
    assert first["buffer"]["low"] <= 20 * 1500 <= first["buffer"]["high"]
    assert sum(first["shares"].values()) == pytest.approx(1)
    assert set(first["shares"]) == set(CAUSES)
    pieces = first["timeline"]["pieces"]
    assert sum(piece["bytes"] for piece in pieces) == first["bytes"]


def test_a_page_and_tables_are_written(narrows: Run, capture: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    done = narrows("why", str(capture), "-o", str(folder))
    assert done.returncode == 0, done.stderr
    page = (folder / "index.html").read_text()
    assert "10.0.0.1:40000" in page
    assert page.count("<polyline") == 4
    flows = pl.read_parquet(folder / "flows.parquet")
    assert all(share > 0.8 for share in flows["limited_by_window"])
    assert set(pl.read_parquet(folder / "times.parquet")["flow"]) == {0, 1}
    again = narrows("again", str(folder))
    assert again.returncode == 2
    assert "makes it again" in again.stderr


def test_an_anonymous_folder_has_no_address_and_no_name(
    narrows: Run, capture: Path, tmp_path: Path
) -> None:
    hidden = tmp_path / "secret.pcapng"
    hidden.write_bytes(capture.read_bytes())
    folder = tmp_path / "out"
    done = narrows("why", str(hidden), "--anonymous", "-o", str(folder))
    assert done.returncode == 0, done.stderr
    told = narrows("why", str(hidden), "--anonymous", "--json").stdout
    written = [file.read_bytes() for file in folder.iterdir()]
    for text in [done.stdout.encode(), told.encode(), *written]:
        assert b"10.0." not in text
        assert b"10.128." not in text
        assert b"secret" not in text
    assert b"host1:40000" in done.stdout.encode()


def _header(capture: Path) -> bytes:
    contents = capture.read_bytes()
    return contents[: int.from_bytes(contents[4:8], "little")]


def test_what_is_no_capture_is_refused(narrows: Run, capture: Path, tmp_path: Path) -> None:
    for name, contents, message in [
        ("text", b"hello, world", "is neither pcap nor pcapng"),
        ("empty", b"", "is neither pcap nor pcapng"),
        ("header", _header(capture), "holds no TCP connection with payload"),
    ]:
        file = tmp_path / name
        file.write_bytes(contents)
        done = narrows("why", str(file))
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr
        assert str(file) in done.stderr
    done = narrows("why", str(tmp_path / "none"))
    assert (done.returncode, "/none: No such file" in done.stderr) == (2, True)


def test_a_capture_that_breaks_off_is_told_up_to_there(
    narrows: Run, capture: Path, tmp_path: Path
) -> None:
    file = tmp_path / "cut\x1b[31m<b>.pcapng"
    file.write_bytes(capture.read_bytes()[:300_001])
    done = narrows("why", str(file), "-o", str(tmp_path / "out"))
    assert done.returncode == 1
    assert "is broken after" in done.stderr
    fitted = narrows("fit", str(file), "--rate", "20Mbps")
    assert "is broken after" in fitted.stderr
    assert "UserWarning" not in fitted.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert "<b>" not in (tmp_path / "out/index.html").read_text()


def test_what_is_raised_ends_the_reading(capture: Path) -> None:
    def stop(_frames: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        nw.why(capture, watch=stop)


def test_a_fitted_path_says_what_another_law_would_have_done(
    narrows: Run, capture: Path, tmp_path: Path
) -> None:
    file = tmp_path / "path.toml"
    done = narrows("fit", str(capture), "--cc", "reno", "-o", str(file))
    assert done.returncode == 0, done.stderr
    text = file.read_text()
    assert "# rate: " in text
    assert 'cc = "reno"' in text
    again = narrows("fit", str(capture), "-o", str(file))
    assert (again.returncode, "--force" in again.stderr) == (2, True)
    ran = nw.run(nw.Scenario.load(file))
    assert ran.summary["utilisation"][0] > 0.9
    tried = narrows("fit", str(capture), "--compare", "cubic,bbr")
    assert tried.returncode == 0, tried.stderr
    assert [line.split()[0] for line in tried.stdout.splitlines()[1:]] == ["seen", "cubic", "bbr"]
    idle = narrows("fit", str(capture), "--compare", "cubic", "--cc", "reno")
    assert (idle.returncode, "--cc: no scenario is written" in idle.stderr) == (2, True)
    assert narrows("fit", str(capture), "--compare", "").returncode == 2
    wrong = narrows("fit", str(capture), "--flow", "2")
    assert (wrong.returncode, "flow: 2 is none of 0 to 1" in wrong.stderr) == (2, True)


def test_other_laws_get_on_fitted_paths_what_they_get_on_the_true_ones() -> None:
    tried = [validation.try_fit(seed) for seed in range(2000, 2012)]
    misses = sorted(abs(it.ratio - 1) for it in tried if it and it.situation != "several")
    assert len(misses) >= 5
    assert misses[len(misses) // 2] < 0.1, tried


def test_a_time_line_has_the_round_trips_of_either_end(tmp_path: Path) -> None:
    # The first of these is captured beside the sender, the second beside the receiver.
    for number, seed in enumerate((34, 27)):
        drawn = validation.draw(seed)
        assert drawn.place == ("sender", "receiver")[number]
        file, _ = validation.capture(drawn, tmp_path / str(number))
        explained = nw.why(file)
        longest = explained.times["rtt_max"].max()
        p99 = explained.flows["rtt_p99"][0]
        assert isinstance(longest, float)
        assert longest >= 0.98 * p99
        assert p99 > 1.2 * explained.flows["base_rtt"][0]


def test_causes_and_estimates_are_those_of_the_runs() -> None:
    # Seeds that nothing was tuned on; `validation/captures.py` has four hundred.
    rows = [row for seed in range(2000, 2012) for row in validation.look(seed)]
    told, right = (sum(getattr(row, name) for row in rows) for name in ("told", "right"))
    assert told > 0.85 * len(rows)
    assert right > 0.95 * told, rows
    for row in rows:
        assert row.needless[0] == row.needless[1], row
        assert row.base is None or row.base == pytest.approx(1, abs=0.02), row
        assert row.rate is None or row.rate == pytest.approx(1, abs=0.05), row


LOGGED: list[dict[str, object]] = [
    {"cc": "cubic+quic"},
    {"cc": "bbr+quic"},
    {"cc": "cubic+quic", "app": {"rate": "8Mbps"}},
    {"cc": "cubic+quic", "app": {"rate": "8Mbps", "frames": 5}},
    {"cc": "cubic+quic", "max_window": "20p"},
]


@pytest.fixture(scope="module", params=range(len(LOGGED)))
def log(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Logged:
    """A sender over QUIC that logs itself, and the shares of its time that the run tells."""
    folder = tmp_path_factory.mktemp("logged")
    path = {"rate": "20Mbps", "rtt": "40ms", "buffer": "0.5bdp"}
    scenario = nw.Scenario(dumbbell=path, flows=[LOGGED[request.param]], duration="8s")
    result = nw.run(scenario.with_({"trace.flows": [0], "warmup": "0s"}), traces_to=folder)
    return folder / "flow0.sqlog", validation.truth(result.flows.row(0, named=True))


Logged = tuple[Path, dict[str, float]]


def test_a_log_has_all_that_a_capture_has(log: Logged, capture: Path) -> None:
    of_log, of_capture = (nw.why(file).told for file in (log[0], capture))
    assert of_log.keys() == of_capture.keys()
    first, other = (told["flows"][0] for told in (of_log, of_capture))
    assert list(first) == list(other)
    assert first["timeline"].keys() == other["timeline"].keys()
    assert first["timeline"]["pieces"][0].keys() == other["timeline"]["pieces"][0].keys()


def test_a_log_tells_what_its_run_tells(log: Logged) -> None:
    file, true = log
    flow = nw.why(file).flows.row(0, named=True)
    assert sum(flow[f"limited_by_{name}"] for name in CAUSES) == pytest.approx(1)
    # BBR decides in a recovery itself, which its log calls one.
    spare = flow["limited_by_recovery"] - true["recovery"]
    for name, share in true.items():
        reach = 0.03 + max(spare, 0.0)
        assert flow[f"limited_by_{name}"] == pytest.approx(share, abs=reach), name


def test_each_form_of_a_log_tells_the_same(log: Logged, tmp_path: Path) -> None:
    file, _ = log
    records = [json.loads(it) for it in file.read_text().split("\x1e") if it.strip()]
    lines = tmp_path / "lines.qlog"
    lines.write_text("\n".join(map(json.dumps, records)))
    contained = tmp_path / "contained.qlog"
    contained.write_text(json.dumps({"qlog_version": "0.3", "traces": [{"events": records[1:]}]}))
    fields = ["relative_time", "CATEGORY", "EVENT_TYPE", "DATA"]
    old = [
        [str(it["time"] * 1e3), "x", it["name"].rpartition(":")[2], _in_micros(it["data"])]
        for it in records[1:]
    ]
    trace = {"configuration": {"time_units": "us"}, "event_fields": fields, "events": old}
    first = tmp_path / "first.qlog"
    first.write_text(json.dumps({"qlog_version": "draft-00", "traces": [trace]}))
    expected = nw.why(file).flows.row(0, named=True)
    for other in (lines, contained, first):
        found = nw.why(other).flows.row(0, named=True)
        assert found["bytes"] == expected["bytes"]
        assert found["lost"] == expected["lost"]
        for name in CAUSES:
            share = expected[f"limited_by_{name}"]
            assert found[f"limited_by_{name}"] == pytest.approx(share, abs=1e-3)


def _in_micros(data: dict[str, object]) -> dict[str, object]:
    return {
        name: 1e3 * value if isinstance(value, float) and name.endswith("rtt") else value
        for name, value in data.items()
    }


def _as_quinn(records: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Write a log as quinn-proto 0.11 does.

    It has no frames and no states, round trips in seconds, and with each acknowledgement what is
    in flight.
    """
    # RFC 9002 (§6.2.2): what is taken for a round trip before one is measured.
    yield {"time": records[1]["time"], "name": "recovery:metrics_updated", "data": FIRST}
    in_flight: dict[int, float] = {}
    for record in records[1:]:
        name, data = record["name"].rpartition(":")[2], record["data"]
        match name.removeprefix("recovery_"):
            case "metrics_updated":
                told = {
                    of: it / 1e3 if of.endswith("_rtt") else it
                    for of, it in data.items()
                    if of not in ("pacing_rate", "bytes_in_flight")
                }
                yield {**record, "name": "recovery:metrics_updated", "data": told}
            case "packet_sent":
                header = data["header"] | {"length": data["raw"]["length"]}
                in_flight[header["packet_number"]] = data["raw"]["length"]
                yield {**record, "data": {"header": header}}
            case "packet_lost":
                in_flight.pop(data["header"]["packet_number"], None)
                yield {**record, "data": {"header": data["header"]}}
            case "packet_received":
                (frame,) = data.get("frames", [{"acked_ranges": []}])
                for ends in frame["acked_ranges"]:
                    for number in range(ends[0], ends[-1] + 1):
                        in_flight.pop(number, None)
                yield {**record, "data": {"header": data["header"]}}
                told = {"bytes_in_flight": sum(in_flight.values())}
                yield {**record, "name": "recovery:metrics_updated", "data": told}


FIRST = {"latest_rtt": 0.333, "smoothed_rtt": 0.333, "min_rtt": 0.333}


def test_a_log_without_frames_and_states_tells_nearly_the_same(log: Logged, tmp_path: Path) -> None:
    file, _ = log
    records = [json.loads(it) for it in file.read_text().split("\x1e") if it.strip()]
    quinn = tmp_path / "quinn.sqlog"
    quinn.write_text("\n".join(map(json.dumps, [{}, *_as_quinn(records)])))
    expected, found = (nw.why(it).flows.row(0, named=True) for it in (file, quinn))
    assert found["base_rtt"] == pytest.approx(expected["base_rtt"])
    assert found["rtt_p50"] == pytest.approx(expected["rtt_p50"])
    assert found["bytes"] == pytest.approx(expected["bytes"], rel=0.015)
    assert found["lost"] == expected["lost"]
    for name in CAUSES:
        share = expected[f"limited_by_{name}"]
        assert found[f"limited_by_{name}"] == pytest.approx(share, abs=0.035), name


@pytest.mark.parametrize("log", [0], indirect=True)
def test_clocks_of_logs_are_read(log: Logged, tmp_path: Path) -> None:
    file, _ = log
    head, *events = [json.loads(it) for it in file.read_text().split("\x1e") if it.strip()]
    expected = nw.why(file).flows.row(0, named=True)

    def found(name: str, head: dict[str, Any], times: Sequence[float]) -> dict[str, Any]:
        lines = [head, *({**it, "time": at} for it, at in zip(events, times, strict=True))]
        other = tmp_path / f"{name}.sqlog"
        other.write_text("\n".join(map(json.dumps, lines)))
        return nw.why(other).flows.row(0, named=True)

    times = [it["time"] for it in events]
    deltas = [times[0], *(after - before for before, after in pairwise(times))]
    trace = head["trace"]
    delta = {"trace": {**trace, "common_fields": {"time_format": "relative_to_previous_event"}}}
    for row in (
        found("epoch", head, [1.7e12 + at for at in times]),
        found("delta", delta, deltas),
    ):
        assert row["bytes"] == expected["bytes"]
        assert row["seconds"] == pytest.approx(expected["seconds"], rel=1e-4)
        assert row["limited_by_window"] == pytest.approx(expected["limited_by_window"], abs=0.02)
    micros = {"trace": {**trace, "configuration": {"time_units": "us"}}}
    assert found("micros", micros, [1e3 * at for at in times])["seconds"] == pytest.approx(
        expected["seconds"], rel=1e-4
    )


@pytest.mark.parametrize("log", [1], indirect=True)
def test_acknowledgements_have_the_names_of_picoquic(log: Logged, tmp_path: Path) -> None:
    file, _ = log
    expected = nw.why(file).told
    for name in ("ack_ecn", "path_ack"):
        other = tmp_path / f"{name}.sqlog"
        text = file.read_text()
        assert '"frame_type":"ack"' in text
        other.write_text(text.replace('"frame_type":"ack"', f'"frame_type":"{name}"'))
        assert nw.why(other).told == expected
    several = tmp_path / "several.sqlog"
    sent = {"header": {"packet_number": 1, "path_id": 1}, "raw": {"length": 1200}}
    with several.open("a") as stream:
        stream.write(text + json.dumps({"time": 1, "name": "packet_sent", "data": sent}))
    with pytest.raises(nw.Error, match="several paths"):
        nw.why(several)


@pytest.mark.parametrize(
    "trace", [{"configuration": [1], "events": []}, {"events": 5}, {"events": {"a": 1}}, {}]
)
def test_a_log_whose_trace_is_none_is_refused(trace: dict[str, object], tmp_path: Path) -> None:
    file = tmp_path / "log.qlog"
    file.write_text(json.dumps({"qlog_version": "0.3", "traces": [trace]}))
    with pytest.raises(nw.Error, match="no connection"):
        nw.why(file)


def test_wide_acknowledgements_of_nothing_cost_nothing(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [{}]
    for number in range(3000):
        data = {"header": {"packet_number": number}, "raw": {"length": 1200}}
        lines.append({"time": number, "name": "packet_sent", "data": data})
    for number in range(3000):
        frame = {"frame_type": "ack", "acked_ranges": [[10**7 + number, 2**53]]}
        lines.append(
            {"time": 3000 + number, "name": "packet_received", "data": {"frames": [frame]}}
        )
    file = tmp_path / "wide.sqlog"
    file.write_text("\n".join(map(json.dumps, lines)))
    counted = _lines_run(lambda: nw.why(file))
    assert counted < 100 * len(lines), "a step for each acknowledgement, not for each packet"


def _lines_run(call: Callable[[], object]) -> int:
    """Return how many lines of the reader ran, which no load of the machine changes."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        if not frame.f_code.co_filename.endswith("log_sender.py"):
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("seed", range(40))
def test_a_log_with_anything_in_it_is_read_or_refused(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    values: list[object] = [
        None,
        -1,
        1e308,
        "x",
        "1e999",
        [],
        [[]],
        {},
        True,
        2**70,
        [[0, 10**9]],
        [["a", {}]],
    ]
    names = [
        "packet_sent",
        "packet_received",
        "metrics_updated",
        "packet_lost",
        "loss_timer_updated",
    ]
    inner = "header packet_number raw length frames frame_type acked_ranges congestion_window"
    inner += " bytes_in_flight smoothed_rtt latest_rtt min_rtt pacing_rate new event_type"

    def data(depth: int = 0) -> dict[str, object]:
        return {
            name: data(depth + 1) if depth < 2 and rng.random() < 0.3 else rng.choice(values)
            for name in rng.sample(inner.split(), 6)
        }

    events = [
        {"time": rng.choice([*values, *range(9)]), "name": rng.choice(names), "data": data()}
        for _ in range(60)
    ]
    events += [{"time": 9, "name": "packet_sent", "data": {"raw": {"length": 1200}}}]
    file = tmp_path / "log.sqlog"
    file.write_text("\n".join(["{}", *map(json.dumps, events)]))
    flow = nw.why(file).flows.row(0, named=True)
    assert sum(flow[f"limited_by_{name}"] for name in CAUSES) <= 1 + 1e-9


def test_unusual_acknowledgements_are_named() -> None:
    shares = [1.0] + [0.0] * (len(CAUSES) - 1)
    flow = {"shares": shares, "rate": None, "lost": 0, "loss": "none", "needless": 0, "timeouts": 0}
    thinned = sentence(flow | {"per_acknowledgement": 8.2, "compressed": 0.4})
    assert "one for 8.2 segments, not for two" in thinned
    assert "40 % of acknowledgements came compressed" in thinned
    usual = sentence(flow | {"per_acknowledgement": 2.0, "compressed": 0.0})
    assert "cknowledgement" not in usual


def test_a_rate_that_changes_is_told_and_fitted(tmp_path: Path) -> None:
    path = nw.dumbbell(rate="20Mbps", rtt="40ms", buffer="67p", cc="cubic", duration="20s")
    changes = [{"at": "7s", "rate": "5Mbps"}, {"at": "14s", "rate": "40Mbps"}]
    path = path.with_({"dumbbell.changes": changes})
    nw.run(path.with_({"trace.links": ["bottleneck", "reverse"]}), traces_to=tmp_path)
    explained = nw.why(tmp_path / "packets.pcapng")
    [flow] = explained.told["flows"]
    assert flow["buffer"] is None
    assert [round(rate / 1e6) for _, rate in flow["rates"]] == [20, 5, 40]
    assert [at for at, _ in flow["rates"]][1:] == pytest.approx([7, 14], abs=1)
    assert (flow["rate"]["low"], flow["rate"]["high"]) == pytest.approx((5e6, 40e6), rel=0.02)
    assert (
        "whose rate changed (20 Mbit/s, 5 Mbit/s from 6.9 s on, 40 Mbit/s from 14.0 s on)"
        in sentence(flow)
    )
    for cc in ("reno", "bbr"):
        expected = nw.run(path.with_({"flows": [{"cc": cc}]})).summary["goodput"][0]
        found = nw.run(nw.fit(explained, cc=cc).scenario).summary["goodput"][0]
        assert found == pytest.approx(expected, rel=0.1), cc


def test_laws_are_compared_over_a_fitted_path(narrows: Run, capture: Path, tmp_path: Path) -> None:
    assert narrows("fit", str(capture), "-o", "path.toml").returncode == 0
    file = tmp_path / "path.toml"
    done = narrows("compare", "path.toml", "--cc", "cubic,bbr", "--seeds", "2", "--json")
    assert done.returncode == 0, done.stderr
    runs = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(run["cc"], run["seed"]) for run in runs] == [
        ("cubic", 1),
        ("cubic", 2),
        ("bbr", 1),
        ("bbr", 2),
    ]
    # The other flow of the capture is there, and stays as it was.
    kept = nw.compare(nw.Scenario.load(file), ["vegas"])
    laws = kept.results[0].flows["cc"].to_list()
    assert laws == ["vegas", "cubic"]
    again = narrows("compare", "path.toml", "--cc", "bbr", "-o", "out")
    assert again.returncode == 0, again.stderr
    assert narrows("again", "out").returncode == 0


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (["--rate", "5Mbps"], "--rate: path.toml is the whole scenario"),
        (["--pacing", "even"], "--pacing: path.toml is the whole scenario"),
        (["--real"], "--real: path.toml is the whole scenario"),
        (["--cc", "cubic/bbr"], "is a mixture; with a file name one law"),
    ],
)
def test_what_a_file_says_is_not_said_twice(
    narrows: Run, tmp_path: Path, more: list[str], why: str
) -> None:
    path = nw.dumbbell("5Mbps", "40ms", "20p", duration="1s").with_({"seed": 7})
    (tmp_path / "path.toml").write_text(path.to_toml())
    done = narrows("compare", "path.toml", *more)
    assert (done.returncode, why in done.stderr) == (2, True), done.stderr
    [run] = narrows("compare", "path.toml", "--cc", "cubic", "--json").stdout.splitlines()
    assert json.loads(run)["seed"] == 7
    (tmp_path / "packets.pcap").write_bytes(b"\xff\xfe\x00")
    done = narrows("compare", "packets.pcap")
    assert (done.returncode, "narrows fit makes one" in done.stderr) == (2, True)

"""The Python interface: scenarios, results, figures, reports."""

from __future__ import annotations

import base64
import json
import math
import os
import pickle
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes

import narrows as nw
from binary import ROOT
from narrows import _core, report, tables
from narrows.comparison import Case
from narrows.files import Output
from narrows.made import Made
from narrows.metrics import metric
from narrows.progress import Lines
from narrows.reality import HOST, IDEAL, REAL
from narrows.report.page import MOST_POINTS, Chart
from narrows.shown import Line, kinds, told
from narrows.statistics import mean_and_interval


@pytest.fixture(scope="module")
def result() -> nw.Result:
    return nw.run(nw.dumbbell("20Mbps", "40ms", "30p", cc="cubic", flows=3, duration="8s"))


def test_tables_agree_with_each_other(result: nw.Result) -> None:
    summary, flows, links = result.summary, result.flows, result.links
    assert flows.height == 3
    assert summary["goodput"][0] == pytest.approx(flows["goodput"].sum())
    bottleneck = links.filter(pl.col("name") == summary["bottleneck"][0]).row(0, named=True)
    assert summary["utilisation"][0] == bottleneck["utilisation"]
    goodput = flows["goodput"].to_numpy()
    assert summary["jain"][0] == pytest.approx(goodput.sum() ** 2 / (3 * (goodput**2).sum()))


def test_series_add_up_to_the_counters(result: nw.Result) -> None:
    warmup = 2.0
    series = result.flow_series.filter((pl.col("flow") == 0) & (pl.col("time") > warmup + 1e-9))
    # Each row describes the interval that ends at its time.
    assert series["goodput"].mean() == pytest.approx(result.flows["goodput"][0], rel=0.01)
    link = result.link_series.filter((pl.col("link") == 0) & (pl.col("time") > warmup + 1e-9))
    assert link["utilisation"].mean() == pytest.approx(result.links["utilisation"][0], rel=0.01)
    assert link["queue"].to_numpy().max() <= 30


def test_a_table_is_arrow_for_anyone(result: nw.Result) -> None:
    assert pl.DataFrame(result.table("flows")).equals(result.flows)
    with pytest.raises(KeyError, match="flow_series"):
        result.table("packets")


def test_toml_and_keywords_are_the_same_scenario() -> None:
    scenario = nw.dumbbell("10Mbps", "40ms", "20p", flows=2, duration="2s", seed=3)
    again = nw.Scenario.from_toml(scenario.to_toml())
    assert again.to_toml() == scenario.to_toml()
    assert nw.run(again).flows.equals(nw.run(scenario).flows)


def test_the_schema_names_every_field_of_the_examples() -> None:
    schema = json.loads(_core.schema())
    for example in (ROOT / "examples").glob("*.toml"):
        assert nw.Scenario.load(example).fields.keys() <= schema["properties"].keys()


@settings(max_examples=60, deadline=None)
@given(rate=st.floats(0.001, 1e4), unit=st.sampled_from(["Mbps", "Gbit/s", "MB/s", "kbit"]))
def test_rates_survive_the_file(rate: float, unit: str) -> None:
    text = nw.dumbbell(f"{rate:.6f}{unit}", "40ms", "20p", duration="2s", sample="0s").to_toml()
    assert nw.Scenario.from_toml(text).to_toml() == text


@settings(max_examples=300, deadline=None)
@given(text=st.text(max_size=200) | st.binary(max_size=200).map(lambda b: b.decode("latin-1")))
def test_any_text_is_a_scenario_or_an_error(text: str) -> None:
    with pytest.raises(nw.ScenarioError):
        nw.Scenario.from_toml(text)


@settings(max_examples=200, deadline=None)
@given(
    field=st.sampled_from(["rate", "rtt", "buffer"]),
    value=st.text(max_size=12) | st.integers() | st.floats() | st.none() | st.booleans(),
)
def test_any_value_is_read_or_named(field: str, value: object) -> None:
    network = {"rate": "1Mbps", "rtt": "40ms", "buffer": "20p", field: value}
    try:
        nw.Scenario(duration="1s", sample="0s", dumbbell=network, flows=[{}])
    except nw.ScenarioError as error:
        assert field in str(error) or "memory" in str(error)


def test_progress_grows_and_what_it_raises_stops_the_run() -> None:
    shares: list[float] = []

    def watch(share: float) -> None:
        shares.append(share)
        if len(shares) == 3:
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        nw.run(nw.dumbbell("10Gbps", "100ms", "1bdp", flows=20, duration="1000s"), progress=watch)
    assert shares == sorted(shares)
    assert len(shares) == 3


def test_the_gil_is_released() -> None:
    counted, stop = 0, threading.Event()

    def count() -> None:
        nonlocal counted
        while not stop.is_set():
            counted += 1

    # What the other thread has counted whenever the run says how far it is: a run that held the GIL
    # would see one number.
    seen: list[int] = []
    thread = threading.Thread(target=count)
    thread.start()
    try:
        nw.run(
            nw.dumbbell("1Gbps", "50ms", "0.2bdp", flows=10, duration="20s"),
            progress=lambda _: seen.append(counted),
        )
    finally:
        stop.set()
        thread.join()
    assert len(set(seen)) > 3, seen


def test_control_c_is_a_keyboard_interrupt() -> None:
    code = (
        "import os, signal, threading, narrows as nw\n"
        "threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "try:\n    nw.run(nw.dumbbell('10Gbps', '100ms', '1bdp', "
        "flows=20, duration='100000s', sample='0s'))\n"
        "except KeyboardInterrupt:\n    print('stopped')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "stopped\n", done.stderr


@pytest.mark.parametrize(
    "draw",
    [
        nw.plot.window,
        nw.plot.rtt,
        nw.plot.goodput,
        nw.plot.queue,
        nw.plot.loss,
        nw.plot.utilisation,
    ],
)
def test_every_plot_gives_labelled_axes_with_data(result: nw.Result, draw: object) -> None:
    assert callable(draw)
    axes = draw(result)
    assert isinstance(axes, Axes)
    assert axes.get_xlabel() == "time (s)"
    assert axes.get_ylabel()
    assert (
        np.nanmax([np.nanmax(np.asarray(line.get_ydata(), dtype=float)) for line in axes.lines]) > 0
    )


def test_the_report_needs_no_network_and_has_every_chart(result: nw.Result) -> None:
    made = Made("run", [({}, result.scenario.to_toml())], [result.seed])
    page = report.single([result], [], made)
    assert not re.findall(r"""(?:src|href)=["']?https?:""", page)
    assert "@" not in "".join(re.findall(r"@[a-z]+@|/\*@.*?@\*/", page))
    for title in (
        *("Congestion window", "Goodput", "Queue", "Lost", "Utilisation"),
        *("How it was made", f"engine {made.engine}", "seed 1", "[dumbbell]"),
    ):
        assert title in page


def test_a_chart_thinned_keeps_its_peaks() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=100_000)
    values[77_777] = 50.0
    packed = Chart("noise", "x", [Line("noise", 0, np.arange(100_000.0), values)], None).packed()
    data = np.frombuffer(base64.b64decode(packed["data"][1]), "<f4")
    assert len(data) <= MOST_POINTS + 2
    assert data.max() == 50.0
    assert data.min() == pytest.approx(values.min())


def test_intervals_are_students() -> None:
    # n = 3, s = 1: the half-width is t(0.975, 2) = 4.3027 over sqrt(3).
    mean, half = mean_and_interval([1.0, 2.0, 3.0])
    assert mean == 2.0
    assert half == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    full, new = tmp_path / "full", tmp_path / "new"
    full.mkdir()
    (full / "mine.txt").write_text("keep")
    for force in (False, True):
        with pytest.raises(FileExistsError, match="narrows did not write it"):
            Output(full, force)
    with pytest.raises(ZeroDivisionError), Output(new, False) as output:
        output.text("a.txt", "whole")
        _ = 1 // 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full"]
    with Output(new, False) as output:
        output.text("a.txt", "whole")
        with pytest.raises(FileExistsError, match=f"written by process {os.getpid()}"):
            Output(new, False)
        assert not new.exists()
        output.finish(MADE)
    assert {path.name for path in new.iterdir()} == {"a.txt", "made.json"}
    with pytest.raises(FileExistsError, match="--force"):
        Output(new, False)
    with Output(new, True) as output:
        output.text("b.txt", "instead")
        output.finish(MADE)
    assert {path.name for path in new.iterdir()} == {"b.txt", "made.json"}


SCENARIO = nw.dumbbell("10Mbps", "40ms", "20p", duration="1s")
MADE = Made("run", [({}, SCENARIO.to_toml())], [1])


def test_only_what_narrows_wrote_is_replaced(tmp_path: Path) -> None:
    """Files of others and changed files stay, whatever a record says."""
    place = tmp_path / "o"
    with Output(place, False) as output:
        output.text("a.txt", "whole")
        output.finish(MADE)
    for name in ("precious.txt", "sub/x", "a.txt"):
        file = place / name
        before = file.read_text() if file.exists() else None
        file.parent.mkdir(exist_ok=True)
        file.write_text("mine")
        with pytest.raises(FileExistsError, match=re.escape(name)):
            Output(place, True)
        assert file.read_text() == "mine"
        file.unlink() if before is None else file.write_text(before)
    thesis = tmp_path / "thesis"
    thesis.mkdir()
    for record in ("{}", "[]", '{"files": {"thesis.tex": "0"}}', "[" * 100_000):
        (thesis / "made.json").write_text(record)
        (thesis / "thesis.tex").write_text("years")
        with pytest.raises(FileExistsError):
            Output(thesis, True)
        assert (thesis / "thesis.tex").exists()


def test_what_cannot_be_replaced_is_refused_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, real = tmp_path / "w", tmp_path / "real"
    here.mkdir()
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    monkeypatch.chdir(here)
    for target in (".", "..", str(tmp_path / "link"), str(tmp_path / "nowhere"), "/proc", "/"):
        for force in (False, True):
            with pytest.raises(FileExistsError):
                Output(Path(target), force)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "nowhere", "real", "w"]


def test_results_that_cannot_be_put_in_place_stay(tmp_path: Path) -> None:
    place = tmp_path / "o"
    with (
        pytest.raises(OSError, match=r"the results are in .*o\.results1"),
        Output(place, False) as output,
    ):
        output.text("a.txt", "hours of work")
        place.mkdir()
        (place / "theirs.txt").write_text("came meanwhile")
        output.finish(MADE)
    assert (place / "theirs.txt").exists()
    kept = tmp_path / "o.results1"
    assert sorted(path.name for path in kept.iterdir()) == ["a.txt", "made.json"]
    assert not list(tmp_path.glob(".*"))


def test_old_or_new_results_are_there_at_every_moment(tmp_path: Path) -> None:
    place = tmp_path / "o"
    stop, gone = threading.Event(), []

    def look() -> None:
        while not stop.is_set():
            if not (place / "a.txt").exists():
                gone.append(place)

    with Output(place, False) as output:
        output.text("a.txt", "0")
        output.finish(MADE)
    watcher = threading.Thread(target=look)
    watcher.start()
    for number in range(200):
        with Output(place, True) as output:
            output.text("a.txt", str(number))
            output.finish(MADE)
    stop.set()
    watcher.join()
    assert not gone
    assert (place / "a.txt").read_text() == "199"


def test_what_a_killed_process_left_behind_is_cleared(tmp_path: Path) -> None:
    left = tmp_path / ".new.part"
    left.mkdir()
    (left / ".process").write_text("999999999")
    (left / "half.parquet").write_text("half")
    with Output(tmp_path / "new", False) as output:
        output.finish(MADE)
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_windows_are_drawn_until_each_flow_stops() -> None:
    two = {"cc": "cubic", "count": 2, "stops": ["3s"]}
    scenario = nw.dumbbell("20Mbps", "40ms", "1bdp", duration="6s", sample="20ms")
    ran = nw.run(scenario.with_({"flows": [two, {"cc": "reno", "stop": "4s"}]}))
    lines = nw.plot.window(ran).get_lines()
    ends = [max(cast("list[float]", line.get_xdata())) for line in lines]
    assert sorted(round(end) for end in ends) == [3, 4, 6]


def test_what_laws_show_of_themselves_is_a_table_and_a_plot(result: nw.Result) -> None:
    shown = result.law_series.filter(pl.col("name") == "w_max")
    assert set(result.law_series["name"]) == {"w_max", "w_est"}
    # RFC 9438, §4.6 and §4.7: the window falls to 0.7 of itself, and W_max is at most what it was.
    at_the_end = shown["time"] == shown["time"].max()
    windows = result.flow_series.filter(result.flow_series["time"] == shown["time"].max())
    assert (windows["window"] >= 0.7 * shown.filter(at_the_end)["value"]).all()
    assert len(nw.plot.law(result, "w_max").lines) == shown["flow"].n_unique()
    with pytest.raises(nw.Error, match=r'no law shows "alpha"; known here: w_max, w_est'):
        nw.plot.law(result, "alpha")


def test_a_scenario_is_equal_to_what_says_the_same_and_survives_pickling() -> None:
    one = nw.dumbbell("10Mbps", "40ms", "20p", duration="1s")
    assert one == nw.dumbbell("10000kbps", "0.04s", "20p", duration="1000ms")
    assert one != one.with_({"flows[0].cc": "reno"})
    assert pickle.loads(pickle.dumps(one)) == one


def test_headings_scales_and_digits_follow_from_the_kind_of_a_metric() -> None:
    assert metric("loss_rate").cell([0.01, 0.03]) == "2.000 ± 12.706"
    assert metric("mean_rtt", "flows").heading == "RTT ms"
    assert metric("completion_time", "flows").text(1.234) == "1.23"
    assert metric("wall", "summary").axis == "wall (s)"
    with pytest.raises(nw.Error, match='no metric "speed"; known: utilisation, goodput'):
        metric("speed")


def test_mistakes_in_python_name_the_place(result: nw.Result, tmp_path: Path) -> None:
    scenario = nw.dumbbell("10Mbps", "40ms", "20p", duration="1s")
    swept = nw.sweep(scenario, cc=["reno"], cache=tmp_path)
    run, sweep, make = cast(Any, nw.run), cast(Any, nw.sweep), cast(Any, nw.Scenario)
    mistakes: list[tuple[Callable[[], object], str]] = [
        (lambda: run("x"), "scenario: 'x' is not a Scenario"),
        (lambda: run(scenario, seed=-1), "seed: -1 is not from 0"),
        (lambda: run(scenario, seed=2**64), "seed: 18446744073709551616 is not from 0"),
        (lambda: sweep(scenario, seeds="3"), "seeds: '3' is neither a number"),
        (lambda: sweep(scenario, seeds=[-1]), r"seeds: \[-1\] is neither a number"),
        (swept.means, "means: no metric is given"),
        (lambda: swept.means("nope"), 'no metric "nope"'),
        (lambda: nw.plot.sweep(swept, "nope"), 'sweep: no axis "nope"; known: cc'),
        (lambda: nw.plot.window(result, flows=[99]), "flows: there is no flow 99"),
        (lambda: nw.plot.queue(result, link="nope"), "link: there is no link 'nope'; known: bott"),
        (lambda: nw.plot.queue(result, link=9), "link: there is no link 9"),
        (lambda: make(flows="cubic"), "flows"),
        (lambda: make(flows=["cubic"]), "flows: 'cubic' is not a table"),
        (lambda: make(flows={"cc": "cubic"}), "flows: 'cc' is not a table"),
        (lambda: make(flows=3), "flows: 3 is not a list of tables"),
        (lambda: make(flows=None), "flows: None is not a list of tables"),
    ]
    for wrong, said in mistakes:
        with pytest.raises(nw.Error, match=said):
            wrong()


def test_a_result_survives_pickling(result: nw.Result, tmp_path: Path) -> None:
    copy = pickle.loads(pickle.dumps(result))
    assert copy.flows.equals(result.flows)
    assert copy.warnings == result.warnings
    assert repr(copy) == repr(result)
    assert {path.name for path in copy.write(tmp_path)} >= {"flows.parquet", "link_series.parquet"}


def test_what_differs_between_cases_stands_before_their_tables() -> None:
    found = nw.compare(
        nw.dumbbell("10Mbps", "40ms", "20p", duration="1s"), ["reno", "bbr"], seeds=2
    )
    assert found.flows.columns[:2] == ["cc", "seed"]
    assert found.summary.select("cc", "seed").rows() == [
        *(("reno", 1), ("reno", 2), ("bbr", 1), ("bbr", 2))
    ]


def test_a_comparison_goes_over_other_axes_than_the_law() -> None:
    base = nw.dumbbell("10Mbps", "40ms", "20p", flows=2, duration="2s")
    found = nw.compare(base, ["reno", "bbr"], seeds=2, pacing=["none", "even"])
    said = [(case.said["cc"], case.said["pacing"]) for case in found.cases]
    assert said == [("reno", "none"), ("reno", "even"), ("bbr", "own")]
    many = nw.compare(base, ["reno"], buffer=["5p", "40p"], seeds=2)
    means = many.means("mean_queue", "delay_p99")
    assert means["buffer"].to_list() == ["5p", "40p"] and means["seeds"].to_list() == [2, 2]
    assert means["mean_queue"][0] < means["mean_queue"][1]
    assert (means["delay_p99_low"] <= means["delay_p99"]).all()
    assert many.links.columns[:3] == ["cc", "buffer", "seed"]
    with pytest.raises(
        nw.ScenarioError, match=r'at buffer=20 loaves: .*"20 loaves" is not a buffer'
    ):
        nw.compare(base, ["reno"], buffer=["20 loaves"])
    with pytest.raises(nw.Error, match='no metric "nope"'):
        many.means("nope")


def test_real_runs_are_compared_with_the_number_of_their_epochs() -> None:
    result = nw.run(nw.dumbbell("10Mbps", "40ms", "20p", cc="reno", duration="10s"))
    cases = [Case({"cc": "reno", "run": run}, [result]) for run in (IDEAL, HOST, REAL)]
    epochs = str(result.flows["epochs"].sum())
    shown = tables.as_text([tables.differences(cases)])
    assert f"{epochs}, {epochs}, {epochs}" in shown
    assert int(epochs) > 1


def test_lines_are_printed_now_and_then_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = Lines(4, quiet=0.0)
    lines.show(0.0)
    lines.show(1.0)
    assert re.fullmatch(r"narrows: 1 of 4 runs, 25 %, about \d+ s left\n", capsys.readouterr().err)
    quiet = Lines(4, quiet=60.0)
    quiet.show(2.0)
    assert capsys.readouterr().err == ""


def test_frames_go_to_pandas_and_csv(result: nw.Result, tmp_path: Path) -> None:
    assert list(result.flows.to_pandas()["goodput"]) == result.flows["goodput"].to_list()
    result.flows.write_csv(tmp_path / "flows.csv")
    assert pl.read_csv(tmp_path / "flows.csv")["sent"].to_list() == result.flows["sent"].to_list()


def test_a_sweep_has_the_names_of_a_run(tmp_path: Path) -> None:
    base = nw.dumbbell("10Mbps", "40ms", "1000p", duration="1s")
    swept = nw.sweep(base, cc=["reno", "bbr"], cache=tmp_path, series=True)
    assert swept.summary.equals(swept.runs)
    assert set(swept.flow_series["cc"]) == {"reno", "bbr"}
    assert swept.link_series.height > 0 and swept.law_series.height > 0
    assert any("nothing was lost" in warning for warning in swept.warnings)


def test_comparisons_refuse_what_they_cannot_do() -> None:
    path = nw.dumbbell("10Mbps", "40ms", "20p", duration="1s")
    compare = cast(Any, nw.compare)
    for cc, seeds, said in [
        (["cubic"], 10**11, "seeds: 100000000000 is neither"),
        (["cubic"], 0, "seeds: 0 is neither"),
        (["cubic"], "3", "seeds: '3' is neither"),
        ([], 1, r"cc: \[\] is not a list of laws"),
        ("cubic", 1, "cc: 'cubic' is not a list of laws"),
        (["cubic", "cubic"], 1, "two laws are called the same"),
    ]:
        with pytest.raises(nw.Error, match=said):
            compare(path, cc, seeds=seeds)
    assert len(nw.compare(path, ["cubic"], seeds=[1, 1]).results) == 1


def test_who_got_what_in_a_mixture_is_told() -> None:
    mix = nw.network(
        [{"from": "a", "to": "b", "rate": "10Mbps", "delay": "10ms", "buffer": "20p"}],
        [
            {"from": "a", "to": "b", "cc": "cubic", "count": 2},
            {"from": "a", "to": "b", "cc": "bbr"},
        ],
        duration="4s",
        rtt="20ms",
    )
    groups = nw.run(mix).record()["groups"]
    assert [(group["cc"], group["flows"]) for group in groups] == [("cubic", 2), ("bbr", 1)]
    shares = [value for name, value in groups[0].items() if name.startswith("limited_by_")]
    assert sum(shares) == pytest.approx(1.0)


def test_warnings_are_where_results_are_printed() -> None:
    result = nw.run(nw.dumbbell("10Mbps", "40ms", "20p", max_window="5p", duration="4s"))
    told = "was the receiver's for 100 %"
    assert told in result.warnings[0]
    assert told in " ".join(repr(result).split()) and "receiver&#x27;s" in result._repr_html_()


def test_transfers_are_told_by_group(tmp_path: Path) -> None:
    files = {"off": "100ms", "mean": 10.0, "shape": 5.0}
    flows: list[dict[str, Any]] = [
        {"cc": "cubic", "name": "files", "files": files},
        {"cc": "reno"},
    ]
    result = nw.run(nw.dumbbell("10Mbps", "40ms", "1bdp", flows=flows, duration="20s"))
    rows = [line.split() for line in repr(result).splitlines() if "files" in line]
    measured = result.transfers.filter(pl.col("requested") >= 5.0)["completion_time"].drop_nulls()
    expected = [f"{measured.quantile(q, 'linear'):.3f}" for q in (0.1, 0.5, 0.9, 0.99)]
    assert ["0", "files", "cubic", str(len(measured)), *expected] in rows
    over_time, shares = nw.plot.single(result).axes[6:]
    (dots,) = over_time.lines
    (steps,) = shares.lines
    assert np.size(dots.get_xdata()) == result.transfers.height
    assert np.size(steps.get_xdata()) == len(measured)
    case = Case({"cc": "mixed"}, [result])
    of_case = tables.as_text(tables.of_comparison([case])).split("transfers")[-1].split()
    assert of_case[-6:] == ["mixed", str(len(measured)), *expected]
    page = report.single([result], [], Made("run", [({}, result.scenario.to_toml())], [1]))
    assert "Completion of requests" in page and '"dots": true' in page


def test_equal_groups_are_one_in_a_title() -> None:
    flows: list[dict[str, Any]] = [{"cc": "reno"}, {"cc": "cubic"}, {"cc": "reno", "count": 2}]
    result = nw.run(nw.dumbbell("10Mbps", "40ms", "1bdp", flows=flows, duration="1s"))
    assert told(result).startswith("3 × reno, 1 × cubic over a dumbbell")


def test_tables_of_many_laws_are_whole_at_80_columns_and_name_all_flows() -> None:
    laws = [law.name for law in nw.controllers() if law.name not in ("xcp", "ba")][:12]
    flows: list[dict[str, Any]] = [{"cc": law, "name": f"the flow of {law}"} for law in laws]
    result = nw.run(nw.dumbbell("50Mbps", "40ms", "1bdp", flows=flows, duration="2s"))
    shown_as = metric("utilisation", "links").text(result.links["utilisation"][0])
    text = tables.as_text(tables.of_runs([result]))
    assert shown_as in text.split() and max(map(len, text.splitlines())) <= 80
    for flow, law in enumerate(laws):
        goodput = metric("goodput", "flows").text(result.flows["goodput"][flow])
        (row,) = (line for line in text.splitlines() if f"of {law} " in line and goodput in line)
        assert row.split()[:5] == [str(flow), "the", "flow", "of", law]
    members = kinds(result)
    assert members[-1].label == "5 others"
    assert sorted(flow for kind in members for flow in kind.flows) == list(range(len(laws)))
    assert "1 × aimd" in told(result) and ", 6 more over a dumbbell" in told(result)


def test_results_are_written_into_a_folder_that_is_made_and_not_among_others(
    result: nw.Result, tmp_path: Path
) -> None:
    written = result.write(tmp_path / "new" / "folder")
    assert all(path.exists() for path in written)
    (tmp_path / "new" / "folder" / "made.json").write_text("{}")
    with pytest.raises(nw.Error, match=r"holds results that a command wrote \(made.json\)"):
        result.write(tmp_path / "new" / "folder")
    (tmp_path / "file").write_text("")
    with pytest.raises(nw.Error, match="file"):
        result.write(tmp_path / "file")
    traced = nw.dumbbell("10Mbps", "40ms", "20p", duration="1s", trace={"flows": [0]})
    nw.run(traced, traces_to=tmp_path / "traces")
    assert (tmp_path / "traces" / "flow0.sqlog").exists()
    with pytest.raises(nw.Error, match="file"):
        nw.run(traced, traces_to=tmp_path / "file")


def test_rtts_are_dealt_to_laws_in_turn() -> None:
    flows: list[dict[str, Any]] = [
        {"cc": "cubic", "count": 4, "size": "10kB"},
        {"cc": "bbr", "count": 4, "size": "10kB"},
    ]
    quiet = nw.dumbbell("10Gbps", "40ms", "1bdp", flows=flows, rtt_step="10ms", duration="2s")
    rtts = nw.run(quiet.with_(warmup="0s")).flows["mean_rtt"]
    rounded = [round(1e3 * rtt / 10) * 10 for rtt in rtts]
    assert sorted(rounded) == list(range(40, 111, 10))
    assert rounded[:4] == [40, 60, 80, 100] and rounded[4:] == [50, 70, 90, 110]


def test_a_hundred_flows_are_sampled_and_small_groups_wholly() -> None:
    flows = [{"cc": cc, "count": count} for cc, count in (("cubic", 300), ("bbr", 3), ("reno", 99))]
    result = nw.run(nw.dumbbell("100Mbps", "40ms", "1bdp", flows=flows, duration="1s"))
    sampled = result.flow_series["flow"].unique().sort().to_list()
    assert sampled == [*range(48), 300, 301, 302, *range(303, 352)]


def test_what_no_machine_can_hold_is_refused_before_it_runs() -> None:
    with pytest.raises(nw.ScenarioError, match=r"may need .*[GT]B of memory and there are"):
        nw.run(nw.dumbbell("1Gbps", "40ms", "1bdp", flows=10**8, duration="1s"))

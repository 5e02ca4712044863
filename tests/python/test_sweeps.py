"""Sweeps, as their users see them: stopped, resumed, damaged, shared, on other executors."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import narrows as nw
from binary import BINARY, Run
from narrows.statistics import estimate, paired
from narrows.sweeps.cache import canonical, is_whole, key_of, sealed

BASE = nw.dumbbell("10Mbps", "40ms", "20p", flows=2, duration="2s")

FILE = """
seeds = {seeds}
[scenario]
duration = "{duration}"
dumbbell = {{ rate = "100Mbps", rtt = "20ms", buffer = "20p" }}
flows = [{{ cc = "cubic", count = 4 }}]
[product]
cc = ["reno", "cubic"]
"""


def sweep_file(folder: Path, seeds: int = 10, duration: str = "30s") -> Path:
    file = folder / "sweep.toml"
    file.write_text(FILE.format(seeds=seeds, duration=duration))
    return file


def files(cache: Path) -> list[Path]:
    return sorted(cache.glob("runs/*/*.parquet"))


def wait_for_runs(cache: Path, count: int) -> None:
    until = time.monotonic() + 60
    while len(files(cache)) < count:
        assert time.monotonic() < until, "no run finished within a minute"
        time.sleep(0.005)


def test_every_combination_under_every_seed_is_a_row(tmp_path: Path) -> None:
    result = nw.sweep(
        BASE, nw.Zipped(rate=["5Mbps", "10Mbps"], rtt=["20ms", "40ms"]), cc=["reno", "cubic"],
        buffer=lambda point: "10p" if point["rate"] == "5Mbps" else "20p", seeds=2, cache=tmp_path,
    )  # fmt: skip
    rows = result.runs.select("rate", "rtt", "cc", "buffer", "seed").rows()
    networks = [("5Mbps", "20ms", "10p"), ("10Mbps", "40ms", "20p")]
    assert rows == [
        (rate, rtt, cc, buffer, seed)
        for rate, rtt, buffer in networks
        for cc in ("reno", "cubic")
        for seed in (1, 2)
    ]
    assert result.flows.height == 2 * len(rows)
    assert result.runs["goodput"].to_list() == pytest.approx(
        result.flows.group_by("point", "seed", maintain_order=True)
        .agg(pl.col("goodput").sum())["goodput"]
        .to_list()
    )


def test_rows_say_which_warnings_they_should_be_read_with(tmp_path: Path) -> None:
    # A large buffer loses nothing in two seconds, a small one does; both have few epochs or none.
    result = nw.sweep(BASE, buffer=["3p", "100bdp"], seeds=2, cache=tmp_path)
    assert all(result.warned)
    assert result.warned[0] != result.warned[1]
    assert {number for of_point in result.warned for number in of_point} == set(
        range(1, len(result.warnings) + 1)
    )
    text = repr(result)
    for number, warning in enumerate(result.warnings, 1):
        assert f"({number}) {warning[:20]}" in text
    rows = [line for line in text.splitlines() if line.split()[:1] in (["3p"], ["100bdp"])]
    said = [" ".join(f"({number})" for number in of_point) for of_point in result.warned]
    assert [row.rstrip().endswith(marks) for row, marks in zip(rows, said, strict=True)] == [
        True
    ] * 2
    axes = nw.plot.sweep(result, "buffer")
    assert "hollow: with a warning" in axes.get_title()


@pytest.mark.parametrize("name", ["cc", "bottleneck", "warnings", "seed", "nope"])
def test_what_is_no_number_has_no_mean(tmp_path: Path, name: str) -> None:
    result = nw.sweep(BASE, cc=["reno", "cubic"], seeds=2, cache=tmp_path)
    message = f'no metric "{name}" that is a number; known: util'
    with pytest.raises(nw.Error, match=message):
        result.means(name)
    with pytest.raises(nw.Error, match=message):
        result.paired("cc", "reno", "cubic", name)


def test_expressions_that_no_person_writes_are_refused_in_words(tmp_path: Path) -> None:
    for text in (
        "-" * 5000 + "1",
        "(" * 400 + "1" + ")" * 400,
        "1+" * 20_000 + "1",
        "0x" + "f" * 10**5,
    ):
        file = sweep_file(tmp_path)
        file.write_text(file.read_text() + f'[function]\nbuffer = "{{{text}}}p"\n')
        done = subprocess.run(
            [BINARY, "sweep", file], capture_output=True, text=True, cwd=tmp_path, check=False
        )
        assert done.returncode == 2
        assert "buffer: " in done.stderr
        assert "Traceback" not in done.stderr


def test_a_file_is_refused_by_its_size_before_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "zeros.toml"
    with file.open("wb") as stream:
        stream.truncate(1 << 30)
    many = tmp_path / "many.toml"
    many.write_text("[[flows]]\n" * 10**6)
    for command in ("run", "sweep"):
        for large in (file, many):
            done = subprocess.run(
                [BINARY, command, large], capture_output=True, text=True, cwd=tmp_path, check=False
            )
            assert done.returncode == 2
            assert "more than 8 MiB" in done.stderr


def test_wrong_arguments_are_named(tmp_path: Path) -> None:
    with pytest.raises(nw.Error, match="workers: 4 is not a list of values"):
        nw.sweep(BASE, cc=["cubic"], workers=4, cache=tmp_path)  # type: ignore[arg-type]
    with pytest.raises(nw.Error, match="returned 3, which is not a Scenario"):
        nw.sweep(lambda cc: 3, cc=["cubic"], cache=tmp_path)  # type: ignore[arg-type, return-value]
    with pytest.raises(nw.Error, match="not a table of fields"):
        nw.dumbbell("10Mbps", "40ms", "20p", flows=["cubic", "bbr"])  # type: ignore[list-item]

    class Own(nw.Controller):
        """Whatever."""

        def __init__(self, initial_window: float) -> None:
            self.cwnd = initial_window

        def on_ack(self, ack: nw.Ack) -> None: ...

        def on_loss(self, loss: nw.Loss) -> None: ...

        def window(self) -> float:
            return self.cwnd

    assert BASE.with_(flows=[{"cc": Own}]).fields["flows"][0]["cc"] == "Own"
    with pytest.raises(nw.Error, match="not a text"):
        nw.Scenario.from_toml(b"x = 1")  # type: ignore[arg-type]


def test_a_run_of_a_sweep_is_the_run_alone(tmp_path: Path) -> None:
    swept = nw.sweep(BASE, cc=["reno"], seeds=[7], cache=tmp_path)
    alone = nw.run(nw.dumbbell("10Mbps", "40ms", "20p", cc="reno", flows=2, duration="2s"), seed=7)
    for name in ("utilisation", "goodput", "loss_rate", "mean_queue", "mean_rtt", "delivered"):
        assert swept.runs[name][0] == alone.summary[name][0]
    assert swept.flows["goodput"].to_list() == alone.flows["goodput"].to_list()


def test_a_function_may_make_the_scenario(tmp_path: Path) -> None:
    def scenario(size: int, cc: str) -> nw.Scenario:
        return nw.dumbbell("10Mbps", "40ms", f"{size}p", cc=cc, duration="2s")

    result = nw.sweep(scenario, size=[5, 50], cc=["cubic"], cache=tmp_path)
    assert result.runs["max_queue"].to_list()[0] <= 5
    assert result.runs["size"].to_list() == [5, 50]


def test_time_series_are_kept_where_asked_for(tmp_path: Path) -> None:
    with_series = nw.sweep(BASE, cc=["reno"], cache=tmp_path, series=True).series("flow_series")
    assert set(with_series["flow"]) == {0, 1}
    assert with_series["time"].max() == pytest.approx(2.0, rel=0.01)
    with pytest.raises(nw.SweepError, match="no time series were kept"):
        nw.sweep(BASE, cc=["reno"], cache=tmp_path).series("flow_series")


def test_equal_scenarios_share_runs_however_they_are_written(tmp_path: Path) -> None:
    nw.sweep(BASE, rate=["10Mbps"], cache=tmp_path)
    again = nw.sweep(BASE, rate=["0.01Gbps"], warmup=["500ms"], cache=tmp_path)
    other = nw.sweep(BASE, rate=["10Mbps"], warmup=["600ms"], cache=tmp_path)
    assert (other.reused, other.ran) == (0, 1)
    assert (again.reused, again.ran) in ((1, 0), (0, 1))
    assert nw.sweep(BASE, rate=["10000kbps"], cache=tmp_path).reused == 1


@pytest.mark.parametrize(
    ("axes", "named"),
    [
        ({"bufer": ["20p"]}, ['unknown parameter "bufer"', 'did you mean "buffer"?']),
        ({"buffer": ["20p", "20 pkts"]}, ["at buffer=20 pkts", "20 pkts", "20p"]),
        ({"cc": "cubic"}, ["cc", "'cubic' is not a list", "['cubic']"]),
        ({"cc": []}, ["cc: the list is empty"]),
        ({"cc": ["reno"], "flows[0].cc": ["cubic"]}, ["flows[0].cc", "both cc and flows[0].cc"]),
        ({"flows[3].cc": ["reno"]}, ["flows[3].cc=reno", "there is no [3]"]),
    ],
)
def test_a_mistake_is_named_before_anything_runs(
    tmp_path: Path, axes: dict[str, Any], named: list[str]
) -> None:
    with pytest.raises(nw.Error) as caught:
        nw.sweep(BASE, cache=tmp_path / "cache", **axes)
    for part in named:
        assert part in str(caught.value)
    assert not (tmp_path / "cache").exists()


def test_axes_that_are_no_keywords_are_named() -> None:
    with pytest.raises(nw.SweepError, match=r"not an axis: .*write axes as keywords"):
        nw.sweep(BASE, cast(Any, {"cc": ["reno"]}))


def test_killed_and_started_again_it_continues(tmp_path: Path, narrows: Run) -> None:
    file, cache = sweep_file(tmp_path), tmp_path / ".narrows"
    process = subprocess.Popen(
        [BINARY, "sweep", file, "--json"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_for_runs(cache, 2)
    process.kill()
    process.communicate()
    done = {path: path.stat().st_mtime_ns for path in files(cache)}
    assert 2 <= len(done) < 20, "it was not killed halfway"
    again = narrows("sweep", str(file), "--json")
    assert again.returncode == 0, again.stderr
    assert f"{len(done)} of 20 runs are already in .narrows/" in again.stderr
    assert {path: path.stat().st_mtime_ns for path in done} == done, (
        "a finished run was written again"
    )
    whole = narrows("sweep", str(file), "--json", "--cache", "fresh")
    assert again.stdout == whole.stdout


def test_two_sweeps_over_one_cache_do_no_harm(tmp_path: Path, narrows: Run) -> None:
    file = sweep_file(tmp_path, seeds=5)
    command: list[str | Path] = [BINARY, "sweep", file, "--json"]
    both = [
        subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    outputs = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    assert outputs[0][0] == outputs[1][0]
    assert all(is_whole(path.read_bytes(), path.stem) for path in files(tmp_path / ".narrows"))
    assert not list((tmp_path / ".narrows").glob("**/*.tmp.*"))


def test_a_damaged_run_is_found_named_and_done_again(tmp_path: Path, narrows: Run) -> None:
    file = sweep_file(tmp_path, seeds=2, duration="2s")
    first = narrows("sweep", str(file), "--json")
    victims = files(tmp_path / ".narrows")[:2]
    contents = victims[0].read_bytes()
    victims[0].write_bytes(contents[:100] + bytes([contents[100] ^ 1]) + contents[101:])
    victims[1].write_bytes(victims[1].read_bytes()[:-10])
    again = narrows("sweep", str(file), "--json")
    for victim in victims:
        assert f"{victim.relative_to(tmp_path)} is damaged" in again.stderr
    assert "2 of 4 runs are already in .narrows/" in again.stderr
    assert again.stdout == first.stdout
    assert victims[0].read_bytes() == contents


KEY = key_of(canonical(BASE.with_({"flows[0].cc": "reno"})).to_toml(), 1)


def test_a_run_under_another_runs_name_is_not_believed(tmp_path: Path) -> None:
    nw.sweep(BASE, cc=["reno", "cubic"], cache=tmp_path)
    one, other = files(tmp_path)
    one.write_bytes(other.read_bytes())
    again = nw.sweep(BASE, cc=["reno", "cubic"], cache=tmp_path)
    assert (again.reused, again.ran) == (1, 1)
    assert sorted(again.runs["cc"]) == ["cubic", "reno"]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    cache = tmp_path_factory.mktemp("kept")
    nw.sweep(BASE, cc=["reno"], cache=cache)
    [file] = files(cache)
    assert file.stem == KEY
    return file.read_bytes()


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_any_byte_changed_is_noticed(kept: bytes, place: float, flip: int) -> None:
    number = int(place * len(kept))
    assert is_whole(kept, KEY)
    assert not is_whole(kept[:number] + bytes([kept[number] ^ flip]) + kept[number + 1 :], KEY)


@given(st.binary(max_size=200))
def test_any_bytes_are_whole_or_not(contents: bytes) -> None:
    assert not is_whole(contents, KEY)
    assert isinstance(is_whole(sealed(contents + b"narrows.seal" + b"0" * 64, KEY), KEY), bool)


def test_control_c_keeps_what_is_done(tmp_path: Path, narrows: Run) -> None:
    file = sweep_file(tmp_path, seeds=20)
    process = subprocess.Popen(
        [BINARY, "sweep", file],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for_runs(tmp_path / ".narrows", 1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "of 40 runs are kept in .narrows/; start the same sweep again to continue" in errors
    assert "Traceback" not in errors
    assert all(is_whole(path.read_bytes(), path.stem) for path in files(tmp_path / ".narrows"))


class Breaking(Executor):
    """Runs jobs at once, but the workers of jobs with one seed die."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if any(job.seed == self.seed for job in args[0]):
            future.set_exception(RuntimeError("the worker died"))
        else:
            future.set_result(fn(*args, **kwargs))
        return future


def test_failures_come_with_the_command_that_reproduces_them(tmp_path: Path, narrows: Run) -> None:
    result = nw.sweep(
        BASE, cc=["reno", "cubic"], seeds=3, cache=tmp_path / ".narrows", executor=Breaking(seed=2)
    )
    assert [(f.point["cc"], f.seed) for f in result.failures] == [("reno", 2), ("cubic", 2)]
    assert sorted(result.runs["seed"].unique()) == [1, 3]
    failure = result.failures[1]
    assert "the worker died" in str(failure)
    program, *arguments = failure.command.split()
    assert program == "narrows"
    record = json.loads(narrows(*arguments, "--json").stdout)
    assert (record["cc"], record["seed"]) == ("cubic", 2)
    again = nw.sweep(BASE, cc=["reno", "cubic"], seeds=3, cache=tmp_path / ".narrows")
    assert (again.reused, again.ran, again.failures) == (4, 2, [])


class Losing(Executor):
    """Loses every task: the first `spoilt` before their jobs have run, the others after it."""

    def __init__(self, how: str, spoilt: float) -> None:
        self.how = how
        self.spoilt = spoilt

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self.spoilt > 0:
            self.spoilt -= 1
        else:
            fn(*args, **kwargs)
        future: Future[Any] = Future()
        if self.how == "fails":
            future.set_exception(ValueError("not enough values to unpack (expected 3, got 1)"))
        else:
            future.cancel()
        if self.how == "is cancelled":
            future.set_running_or_notify_cancel()
        return future


LOSSES = pytest.mark.parametrize("how", ["fails", "is cancelled", "is cancelled silently"])


@LOSSES
def test_a_run_that_is_kept_is_done_whatever_becomes_of_its_task(tmp_path: Path, how: str) -> None:
    result = nw.sweep(BASE, seeds=3, cache=tmp_path / "cache", executor=Losing(how, 0))
    assert (result.ran, result.failures, result.runs.height) == (3, [], 3)


@LOSSES
def test_a_task_that_is_lost_is_tried_again_once(tmp_path: Path, how: str) -> None:
    again = nw.sweep(BASE, seeds=3, cache=tmp_path / "again", executor=Losing(how, 3))
    assert (again.ran, again.failures) == (3, [])
    never = nw.sweep(BASE, seeds=3, cache=tmp_path / "never", executor=Losing(how, math.inf))
    assert (never.ran, len(never.failures)) == (0, 3)
    told = "not enough values" if how == "fails" else "CancelledError: the executor cancelled it"
    assert told in str(never.failures[0])


class Elsewhere(Executor):
    """Keeps results in a folder other than the caller's."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(args[0], args[1] + "-elsewhere"))
        return future


def test_a_cache_that_is_not_shared_is_named(tmp_path: Path) -> None:
    result = nw.sweep(BASE, cc=["reno"], cache=tmp_path / "cache", executor=Elsewhere())
    assert len(result.failures) == 1
    assert "workers and caller must share" in str(result.failures[0])


def test_a_process_pool_gives_the_same(tmp_path: Path) -> None:
    threads = nw.sweep(BASE, cc=["reno", "cubic"], seeds=2, cache=tmp_path / "threads")
    with ProcessPoolExecutor(2) as pool:
        processes = nw.sweep(
            BASE, cc=["reno", "cubic"], seeds=2, cache=tmp_path / "processes", executor=pool
        )
    assert threads.runs.equals(processes.runs)


def test_a_dask_worker_killed_in_the_middle_loses_nothing(tmp_path: Path) -> None:
    script = Path(__file__).with_name("dask_worker_killed.py")
    cache = tmp_path / "cache"
    cache.mkdir()
    done = subprocess.run(
        [sys.executable, script, cache], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["victim"] not in found["after"], "the worker was not killed"
    assert found["failures"] == []
    assert found["runs"] == 20
    base = nw.dumbbell("100Mbps", "20ms", "20p", flows=4, duration="20s")
    here = nw.sweep(base, cc=["reno", "cubic"], seeds=10, cache=tmp_path / "here")
    there = nw.sweep(base, cc=["reno", "cubic"], seeds=10, cache=cache)
    assert there.ran == 0
    assert here.runs.equals(there.runs)


def test_seeds_are_added_until_the_interval_is_narrow(tmp_path: Path) -> None:
    result = nw.sweep(
        BASE, buffer=["3p", "100p"], until=nw.Until(0.01, "goodput", most_seeds=12), cache=tmp_path
    )
    for point in result.points:
        values = result.values(point, "goodput")
        found = estimate(values)
        assert found.mean is not None
        assert found.low is not None
        assert len(values) == 12 or found.mean - found.low <= 0.01 * found.mean
    with pytest.raises(nw.SweepError, match="not a share of the mean; try 2%"):
        nw.sweep(BASE, buffer=["3p"], until="wide", cache=tmp_path)


def test_pairs_have_the_same_seed(tmp_path: Path) -> None:
    result = nw.sweep(BASE, cc=["reno", "cubic"], buffer=["5p", "20p"], seeds=4, cache=tmp_path)
    table = result.paired("cc", "cubic", "reno", "goodput")
    assert table["buffer"].to_list() == ["5p", "20p"]
    for row in table.iter_rows(named=True):
        cubic, reno = (
            result.values({"cc": cc, "buffer": row["buffer"]}, "goodput")
            for cc in ("cubic", "reno")
        )
        expected = paired(cubic, reno)
        assert (row["difference"], row["low"], row["high"], row["pairs"]) == (
            expected.mean,
            expected.low,
            expected.high,
            4,
        )


def test_intervals_of_skewed_values_are_skewed() -> None:
    skewed = [1.0, 1.1, 1.2, 1.3, 1.1, 1.0, 9.0, 1.2]
    student, bootstrap = estimate(skewed), estimate(skewed, "bootstrap")
    assert student.mean == bootstrap.mean
    assert student.low is not None
    assert student.low < 0
    assert bootstrap.low is not None
    assert bootstrap.high is not None
    assert bootstrap.mean is not None
    # No value is below 1, so the interval of resampled means cannot reach below 1. It is also
    # longer above the mean than below it.
    assert bootstrap.low > 1.0
    assert bootstrap.high - bootstrap.mean > bootstrap.mean - bootstrap.low


def test_paired_differences_meet_the_textbook() -> None:
    # Differences 1, 2, 3: mean 2, s = 1, t(0.975, 2) = 4.3027, half-width 4.3027/√3 = 2.4841.
    found = paired([2.0, 4.0, 6.0], [1.0, 2.0, 3.0])
    assert [found.mean, found.low, found.high] == pytest.approx([2.0, -0.4841, 4.4841], abs=1e-4)


def test_the_cache_is_listed_sized_and_pruned(tmp_path: Path, narrows: Run) -> None:
    narrows("sweep", str(sweep_file(tmp_path, seeds=2, duration="2s")), "--json")
    cache = tmp_path / ".narrows"
    listed = [json.loads(line) for line in narrows("cache", "list", "--json").stdout.splitlines()]
    assert {(entry["cc"], entry["seed"]) for entry in listed} == {
        ("reno", 1),
        ("reno", 2),
        ("cubic", 1),
        ("cubic", 2),
    }
    size = json.loads(narrows("cache", "size", "--json").stdout)
    assert (size["runs"], size["bytes"]) == (4, sum(path.stat().st_size for path in files(cache)))
    victim = files(cache)[0]
    victim.write_bytes(b"not a run")
    stale = victim.with_name("x.tmp.1.2")
    stale.write_bytes(b"")
    os.utime(stale, (0, 0))
    assert json.loads(narrows("cache", "prune", "--json").stdout) == {
        "removed": {"damaged": 1, "leftovers": 1},
        "kept": 3,
    }
    assert json.loads(narrows("cache", "prune", "--older", "1d", "--json").stdout)["kept"] == 3
    assert narrows("cache", "prune", "--older", "old").returncode == 2
    assert json.loads(narrows("cache", "prune", "--all", "--json").stdout)["kept"] == 0


def test_the_files_are_parquet_for_anyone(tmp_path: Path) -> None:
    nw.sweep(BASE, cc=["reno", "cubic"], seeds=2, cache=tmp_path)
    frame = pl.read_parquet(tmp_path / "runs" / "*" / "*.parquet")
    assert frame.height == 4
    assert set(frame["cc"]) == {"reno", "cubic"}
    flows = frame.select("key", "flows").explode("flows").unnest("flows")
    assert flows.height == 8


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (FILE.format(seeds=0, duration="2s"), ["seeds: 0"]),
        ("sedes = 3\n", ['unknown field "sedes"']),
        ("seeds = 3\n", ["no scenario"]),
        ("[scenario]\nduration = 3\n", ["duration"]),
        ("seeds = \n", ["line 1"]),
        ('scenario = "nowhere.toml"\n', ["nowhere.toml"]),
        (
            FILE.format(seeds=1, duration="2s") + 'buffer = "1p..2bananas:3"\n',
            ["buffer", "bananas"],
        ),
        (
            FILE.format(seeds=1, duration="2s") + '[function]\nbuffer = "{2 * flow}p"\n',
            ["buffer", "flow", "known: cc"],
        ),
        (
            FILE.format(seeds=1, duration="2s") + "[function]\nbuffer = \"{__import__('os')}p\"\n",
            ["buffer", "is not a number"],
        ),
    ],
)
def test_a_bad_sweep_file_is_named(
    tmp_path: Path, narrows: Run, text: str, named: list[str]
) -> None:
    (tmp_path / "bad.toml").write_text(text)
    done = narrows("sweep", "bad.toml")
    assert done.returncode == 2
    assert done.stderr.startswith("narrows: bad.toml: ")
    assert "Traceback" not in done.stderr
    for part in named:
        assert part in done.stderr
    assert not (tmp_path / ".narrows").exists()


EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "sweeps").glob("*.toml"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_sweeps_and_writes_everything(
    narrows: Run, tmp_path: Path, example: Path
) -> None:
    shutil.copy(example, tmp_path / "sweep.toml")
    text = (tmp_path / "sweep.toml").read_text()
    shorter = (
        text.replace('duration = "30s"', 'duration = "1s"')
        .replace('duration = "20s"', 'duration = "1s"')
        .replace('warmup = "10s"\n', "")
    )
    (tmp_path / "sweep.toml").write_text(shorter)
    done = narrows("sweep", "sweep.toml", "--seeds", "2", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "runs.parquet",
        "flows.parquet",
        "links.parquet",
        "groups.parquet",
        "sweep.png",
        "report.html",
        "made.json",
    }
    assert "±" in done.stdout
    assert narrows("sweep", "sweep.toml", "-o", "out").returncode == 2


def test_a_sweep_of_a_mixture_says_who_got_what(tmp_path: Path) -> None:
    flows: list[dict[str, Any]] = [{"cc": "cubic", "count": 2}, {"cc": "reno", "name": "old"}]
    base = nw.dumbbell("10Mbps", "40ms", "20p", flows=flows, duration="4s")
    found = nw.sweep(base, buffer=["10p", "1bdp"], seeds=2, cache=tmp_path)
    assert found.laws.select("point", "seed", "law", "flows").rows() == [
        (point, seed, *law)
        for point in (0, 1)
        for seed in (1, 2)
        for law in (("cubic", 2), ("old", 1))
    ]
    of_run = found.flows.filter((found.flows["point"] == 1) & (found.flows["seed"] == 2))
    goodput = found.laws.filter((found.laws["point"] == 1) & (found.laws["seed"] == 2))["goodput"]
    assert goodput[0] == pytest.approx(of_run["goodput"][0] + of_run["goodput"][1])
    shown = repr(found)
    assert "by law, flows together" in shown and "old" in shown and "p99" in shown
    assert found.buffers == [
        "bottleneck: 10p = 15kB = 12ms = 0.3bdp",
        "reverse: unlimited",
        "bottleneck: 33p = 50kB = 40ms = 1bdp",
    ]
    there = found.links.filter(found.links["name"] == "bottleneck")
    delays = there.group_by("point", maintain_order=True).agg(pl.col("delay_p99").mean())
    assert found.means("delay_p99")["delay_p99"].to_list() == delays["delay_p99"].to_list()
    assert found.table("summary").equals(found.runs)
    with pytest.raises(nw.Error, match='no table "nope"; known: summary, flows'):
        found.table("nope")
    alone = nw.sweep(base.with_({"flows": flows[:1]}), buffer=["10p"], cache=tmp_path)
    assert "by law" not in repr(alone)


@pytest.mark.parametrize("place", [0, 1])
def test_a_file_that_lacks_a_column_is_read_with_an_empty_one(tmp_path: Path, place: int) -> None:
    result = nw.sweep(BASE, cc=["reno", "cubic"], cache=tmp_path)
    older = files(tmp_path)[place]
    frame = pl.read_parquet(older).drop("jain")
    links = frame["links"].explode().struct.unnest().drop("marks")
    frame.with_columns(links.to_struct("links").implode()).write_parquet(older)
    for name, empty in (("runs", "jain"), ("links", "marks")):
        rows = getattr(result, name)
        assert rows[empty].null_count() * 2 == rows.height, name


def test_a_column_that_no_file_has_is_named(tmp_path: Path) -> None:
    result = nw.sweep(BASE, cc=["reno"], cache=tmp_path)
    [file] = files(tmp_path)
    pl.read_parquet(file).drop("transfers").write_parquet(file)
    with pytest.raises(nw.SweepError, match="transfers"):
        result.series("transfers")


def test_a_run_of_another_engine_is_named_as_older(narrows: Run, tmp_path: Path) -> None:
    nw.sweep(BASE, cache=tmp_path / ".narrows", cc=["reno"])
    [file] = files(tmp_path / ".narrows")
    contents = file.read_bytes()
    engine = pl.read_parquet(file)["engine"][0]
    frame = pl.read_parquet(file).with_columns(engine=pl.lit("1-00000000"))
    blank = "0" * 64
    frame.write_parquet(file, metadata={"narrows.seal": blank})
    file.write_bytes(sealed(file.read_bytes(), file.stem))
    assert contents != file.read_bytes()
    done = narrows("cache", "size")
    assert "engine 1-00000000 (older; not used): 1 runs" in done.stdout, done.stdout + done.stderr
    assert f"engine {engine} (this one)" not in done.stdout

"""The comparisons of `make validate`: what they run, how they judge, where they write."""

from __future__ import annotations

import math
import shutil
import sys
from pathlib import Path

import pytest

import counts
import linux
import ns2
import short
import tables
import validate
from counts import Count, Verdict


def test_the_ratio_of_counts_has_clopper_and_pearsons_interval() -> None:
    # 3 of 10 is 0.0667 to 0.6525 (Clopper and Pearson, 1934, as every table has it); as odds, and
    # for a reference over twice the time.
    low, high = counts.ratio_interval(Count(3, 1), Count(7, 2))
    assert low == pytest.approx(2 * 0.06674 / (1 - 0.06674), rel=1e-3)
    assert high == pytest.approx(2 * 0.65245 / (1 - 0.65245), rel=1e-3)
    assert counts.ratio_interval(Count(1, 1), Count(0, 1))[1] == math.inf


def test_few_events_neither_agree_nor_differ() -> None:
    assert counts.judge([Count(0, 1)], [Count(0, 1)], 1.5) is Verdict.WITHIN
    assert counts.judge([Count(10, 10)], [Count(3, 1)], 1.5) is Verdict.FEW
    assert counts.judge([Count(100, 10)], [Count(0, 1)], 1.5) is Verdict.OUTSIDE
    assert counts.judge([Count(1000, 10)], [Count(300, 1)], 1.5) is Verdict.OUTSIDE


def test_shares_are_judged_by_trials() -> None:
    # 104 of 200 is 0.448 to 0.591: a share of 0.78 is more than 1.3 times all of it. Two rates of
    # 0.78 and 104 per 200 would not differ as clearly.
    found, reference = Count(7800, 10_000), Count(104, 200)
    assert counts.judge([found], [reference], 1.3, counts.share_ratio_interval) is Verdict.OUTSIDE
    assert counts.judge([found], [reference], 1.3) is Verdict.FEW


def test_one_run_is_no_difference_where_repeated_runs_vary_as_much() -> None:
    # Four runs of one case of Linux 6.18 dropped 43, 39, 36 and 80 packets, two of another 0 and
    # 323.
    repeated = [Count(drops, 1) for drops in (43, 39, 36, 80)]
    ours = [Count(100, 1) for _ in range(10)]
    assert counts.judge(ours, repeated[:1], 1.5) is Verdict.OUTSIDE
    assert counts.judge(ours, repeated, 1.5) is Verdict.FEW
    assert counts.judge(ours, [Count(0, 1), Count(323, 1)], 1.5) is Verdict.FEW
    assert counts.judge(ours, [Count(0, 1)], 1.5) is Verdict.OUTSIDE
    # The simulator's runs may tell how much runs vary, where the reference is one.
    varied = [Count(drops, 1) for drops in (0, 0, 230, 230)]
    assert counts.judge(varied, [Count(0, 1)], 1.5) is Verdict.FEW


def test_means_are_judged_by_the_spread_of_runs() -> None:
    # One Reno flow at 300 Mbps: 1.000 and 0.765 in two runs of the kernel, 0.760 in the reference.
    assert counts.judge_means([1.0] * 9 + [0.999], [0.760], 0.02) is Verdict.OUTSIDE
    assert counts.judge_means([1.0] * 9 + [0.999], [0.760, 1.0, 0.765], 0.02) is Verdict.OUTSIDE
    assert counts.judge_means([1.0, 0.765, 1.0], [0.760], 0.02) is Verdict.FEW
    assert counts.judge_means([1.0], [0.760], 0.02) is Verdict.FEW
    assert counts.judge_means([1.0], [0.985], 0.02) is Verdict.WITHIN


def test_a_buffer_of_4_8_ms_is_judged_and_a_shorter_one_is_not_but_for_bbr() -> None:
    judged = {case.text: case.judged for case in linux.configurations(linux.REFERENCE, None)}
    assert judged["cc=cubic n=4 bw=50 rtt=20 buf=20p nogso"]
    assert judged["cc=cubic n=1 bw=100 rtt=40 buf=1bdp burst"]
    assert not judged["cc=cubic n=1 bw=50 rtt=20 buf=0.1bdp nogso"]
    assert not judged["cc=cubic n=1 bw=100 rtt=40 buf=20p burst"]
    assert judged["cc=bbr n=1 bw=100 rtt=40 buf=20p nogso"], "2.4 ms"
    assert not judged["cc=bbr n=1 bw=200 rtt=20 buf=20p burst"], "1.2 ms"


def test_repeats_are_one_configuration_and_invalid_runs_are_left_out() -> None:
    chosen = linux.configurations(linux.REFERENCE, None)
    repeats = {case.text: len(case.runs) for case in chosen}
    assert repeats["cc=cubic n=4 bw=50 rtt=20 buf=20p nogso"] == 2
    assert all(run["valid"] for case in chosen for run in case.runs)
    assert sum(repeats.values()) < len(linux.REFERENCE.read_text().splitlines())


def test_every_configuration_is_a_scenario_with_the_reference_buffer() -> None:
    for case in linux.configurations(linux.REFERENCE, None):
        buffer = case.scenario({}).buffers["bottleneck"]
        assert buffer.startswith(f"{case.runs[0]['buffer_pkts']}p "), case.text
        case.scenario(linux.HOST)


@pytest.mark.parametrize(
    ("size", "packets", "most"), [(10_000, 7, 1.0), (30_000, 21, 0.96), (100_000, 70, 0.6)]
)
def test_files_have_the_packets_of_their_bytes(size: int, packets: int, most: float) -> None:
    from narrows.results import run  # noqa: PLC0415

    result = run(short.scenario_of(size, "nogso"))
    sizes = [size / short.PAYLOAD for size in result.transfers["bytes"].to_list()]
    assert min(sizes) == packets
    assert sizes.count(packets) / len(sizes) >= most


def test_a_page_has_a_place_for_each_table(tmp_path: Path) -> None:
    pages = [Path(shutil.copy(page, tmp_path)) for page in tables.PAGES]
    names = ("ns2", "lan", "linux", "linux-host", "linux-bbr", "short", "testbeds")
    tables.write([tables.Section(name, ["x"], [["1"]], f"The {name}.") for name in names], pages)
    written = "".join(page.read_text() for page in pages)
    for name in names:
        assert written.count(f"\nThe {name}.\n\n| x |\n| --- |\n| 1 |\n") == 1
    with pytest.raises(ValueError, match="lacks the marks <!-- nowhere -->"):
        tables.write([tables.Section("nowhere", ["x"], [], "")], pages)
    assert "".join(page.read_text() for page in pages) == written


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["bsd"], 'unknown part "bsd"; known: ns2, lan, linux, short, testbeds'),
        (["--reference", "x"], "--reference needs one of the parts"),
        (["linux", "--write", "--only", "cubic"], "drop --only and --reference"),
        (["linux", "--only", "tahoe"], "no case of linux contains 'tahoe'"),
    ],
)
def test_what_cannot_be_done_is_refused(
    arguments: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["validate.py", *arguments])
    with pytest.raises(SystemExit) as exit_:
        validate.main()
    assert exit_.value.code == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_each_part_names_a_reference_that_is_there() -> None:
    for part in (ns2, linux, short):
        assert part.REFERENCE.is_file()

"""`narrows show`: files say how they were made, wherever they go."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from binary import Run
from narrows.stamp import BEGIN_BLOCK, SIGNATURE, stamp_of, stamped

LINK = ["--rate", "10Mbps", "--rtt", "20ms", "--buffer", "20p", "-t", "2"]


@pytest.fixture
def made(narrows: Run, tmp_path: Path) -> Path:
    done = narrows("compare", *LINK, "--cc", "reno,cubic", "--seeds", "2", "-o", "out")
    assert done.returncode == 0, done.stderr
    return tmp_path / "out"


def test_each_file_says_how_it_was_made(narrows: Run, made: Path) -> None:
    for name in ("comparison.png", "report.html", "flows.parquet"):
        done = narrows("show", str(made / name))
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("narrows compare --rate 10Mbps")
        assert "seeds 1, 2" in done.stdout
        assert done.stdout.endswith("as it was written\n")
    whole = narrows("show", str(made), "--scenarios").stdout
    assert whole.count('cc = "') == 2 and "scenario 2 of 2" in whole
    record = json.loads(narrows("show", str(made / "comparison.png"), "--json").stdout)
    assert record["kind"] == "compare" and record["host"]


def test_files_know_it_elsewhere(narrows: Run, made: Path, tmp_path: Path) -> None:
    away = tmp_path / "paper"
    away.mkdir()
    for name in ("comparison.png", "flows.parquet", "report.html"):
        shutil.copy(made / name, away)
        done = narrows("show", str(away / name))
        assert done.returncode == 0 and "narrows compare" in done.stdout
    other = away / "other.txt"
    other.write_text("narrows")
    done = narrows("show", str(other))
    assert done.returncode == 2 and "holds no record" in done.stderr
    # What else reads them does not see it.
    for use_pyarrow in (False, True):
        assert pl.read_parquet(away / "flows.parquet", use_pyarrow=use_pyarrow).height == 4


def test_what_has_been_changed_is_said(narrows: Run, made: Path) -> None:
    page = made / "report.html"
    page.write_text(page.read_text() + "<!-- by hand -->")
    done = narrows("show", str(page))
    assert done.returncode == 1 and "is not as it was written" in done.stdout


def test_a_folder_is_as_it_was_written_or_not(narrows: Run, made: Path) -> None:
    done = narrows("show", str(made))
    assert done.returncode == 0 and done.stdout.endswith("as it was written\n")
    (made / "flows.parquet").unlink()
    (made / "mine.txt").write_text("mine")
    done = narrows("show", str(made))
    assert done.returncode == 1
    assert [line.split()[0] for line in done.stdout.splitlines()[-2:]] == [
        str(made / "flows.parquet"),
        str(made / "mine.txt"),
    ]


@pytest.mark.parametrize("record", ["{", '{"files": ["a"]}', '{"files": {"a": 1}}', "[]"])
def test_records_of_others_above_are_passed_over(
    narrows: Run, made: Path, tmp_path: Path, record: str
) -> None:
    (tmp_path / "made.json").write_text(record)
    away = shutil.copy(made / "comparison.png", tmp_path)
    assert narrows("show", away).returncode == 0
    assert narrows("show", str(made / "flows.parquet")).returncode == 0


def test_a_bomb_is_no_record(made: Path) -> None:
    picture = stamped((made / "comparison.png").read_bytes(), " " * (65 << 20))
    assert len(stamp_of(picture) or "") <= 64 << 20


def test_a_stamp_replaces_the_one_before_and_hurts_no_other_chunk(made: Path) -> None:
    picture = (made / "comparison.png").read_bytes()
    again = stamped(picture, "ünder")
    assert stamp_of(again) == "ünder" and again.count(b"iTXt") == 1
    assert again.endswith(picture[-12:]) and stamped(again, stamp_of(picture) or "") == picture
    for name in ("flows.parquet", "report.html"):
        file = (made / name).read_bytes()
        again = stamped(file, "</script> ünder")
        assert stamp_of(again) == "</script> ünder"
        assert stamped(again, stamp_of(file) or "") == file
    table = (made / "flows.parquet").read_bytes()
    length = b"PAR1" + b"\xff" * 8 + b"PAR1"
    for broken in (b"", SIGNATURE, picture[:40], picture[:-30], SIGNATURE + b"\xff" * 40):
        stamp_of(broken)
    for broken in (b"PAR1", b"PAR1PAR1", length, table[:50], table[50:], b"<html>", BEGIN_BLOCK):
        stamp_of(broken)


def test_a_file_that_is_none_is_said(narrows: Run) -> None:
    done = narrows("show", "nowhere.png")
    assert done.returncode == 2 and "there is no such file" in done.stderr

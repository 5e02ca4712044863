"""`narrows show`: files say how they were made, wherever a picture goes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from binary import Run
from narrows.stamp import SIGNATURE, stamp_of, stamped

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


def test_a_picture_knows_it_elsewhere_and_other_files_do_not(
    narrows: Run, made: Path, tmp_path: Path
) -> None:
    away = tmp_path / "paper"
    away.mkdir()
    for name in ("comparison.png", "flows.parquet"):
        shutil.copy(made / name, away)
    done = narrows("show", str(away / "comparison.png"))
    assert done.returncode == 0 and "narrows compare" in done.stdout
    done = narrows("show", str(away / "flows.parquet"))
    assert done.returncode == 2 and "holds no record" in done.stderr


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
    for broken in (b"", SIGNATURE, picture[:40], picture[:-30], SIGNATURE + b"\xff" * 40):
        stamp_of(broken)


def test_a_file_that_is_none_is_said(narrows: Run) -> None:
    done = narrows("show", "nowhere.png")
    assert done.returncode == 2 and "there is no such file" in done.stderr

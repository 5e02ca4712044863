"""Suites of a judgement: what a file of one's own draws from, and what is refused."""

from __future__ import annotations

import json
import math
import re
import shlex
from pathlib import Path

import pytest

import narrows as nw
from binary import Run
from narrows.judging.suite import USUAL, cases, suite_of


def test_a_suite_of_ones_own_is_drawn_from(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'rate = ["1Gbps", "2Gbps"]\nrtt = ["200us", "2ms"]\nkinds = ["alone", "cubic"]\n'
    )
    judged = nw.judge("cubic", count=2, seeds=1, against=[], key="mine", suite=file)
    assert judged.status == "judged"
    assert set(judged.told["score"]["kinds"]) == {"alone", "cubic"}
    assert judged.told["score"]["total"] is not None
    assert judged.told["suite"]["rate"] == (1e9, 2e9)
    for scenario in judged.told["scenarios"]:
        assert 1000 <= float(scenario["rate"].removesuffix("Mbps")) <= 2000, scenario
        assert 0.2 <= float(scenario["rtt"].removesuffix("ms")) <= 2, scenario


def test_the_command_that_repeats_names_suite_and_no_references(
    narrows: Run, tmp_path: Path
) -> None:
    file, law = tmp_path / "my links.toml", tmp_path / "law.toml"
    file.write_text('rate = ["20Mbps", "40Mbps"]\nkinds = ["alone"]\n')
    law.write_text(
        'on_ack = ["window = window + packets / window"]\non_loss = ["window = window / 2"]'
    )
    judged = nw.judge(law, count=2, seeds=1, against=[], key="mine", suite=file)
    scenario = judged.told["scenarios"][0]
    _, *words = shlex.split(scenario["repeat"])
    again = json.loads(narrows(*words, "--json").stdout)
    assert again["suite"] == json.loads(judged.to_json())["suite"] and again["against"] == {}
    assert again["scenarios"][0]["score"] == scenario["score"]


def test_the_usual_suite_written_down_is_the_usual_one(tmp_path: Path) -> None:
    file = tmp_path / "usual.toml"
    file.write_text('rate = ["5Mbps", "100Mbps"]\nrtt = ["10ms", "200ms"]\nloss = ["0.01%", "2%"]')
    assert suite_of(file) == USUAL


@pytest.mark.parametrize("name", ["", "nowhere.toml"])
def test_a_suite_that_is_no_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(nw.Error, match=r"(?i)directory") as found:
        suite_of(tmp_path / name)
    assert "Errno" not in str(found.value)


def test_what_a_law_may_have_in_flight_is_bounded(tmp_path: Path) -> None:
    # Eight times the buffer and the path at twice its rate; what narrows has needs no bound.
    file = tmp_path / "law.toml"
    file.write_text('own_recovery = true\non_ack = ["window = 10000000"]\n')
    law = nw.Formula.load(file)
    for case in cases("shown", count=8):
        room = case.scenario(law).fields["flows"][0]["max_window"]
        holds = 2 * case.rate * case.rtt / 12000 + case.packets
        assert room == f"{max(1000, math.ceil(8 * holds))}p"
        assert "max_window" not in case.scenario("cubic").fields["flows"][0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('rate = ["5", "6Mbps"]', "rate: '5' is no number with one of the units kbps, Mbps, Gbps"),
        ('rtt = ["5ms"]', "is not a list of two"),
        ('rtt = ["5ms", "1ms"]', "does not go up"),
        ('rate = ["1Mbps", "100Gbps"]', "more than 30 million packets a run"),
        ('kinds = ["alone", "crowd"]', "not a list of some of alone, two"),
        ("kinds = []", "not a list of some of"),
        ('kinds = ["alone", "alone"]', "each once"),
        ('loss = ["50%", "200%"]', "loss: ['50%', '200%'] does not go up within 0.0001% to 50%"),
        ('rate = ["1kbps", "2kbps"]', "does not go up within 100kbps to 100Gbps"),
        ('rtt = ["50s", "100s"]', "does not go up within 10us to 1s"),
        (f'buffer = ["1bdp", "{"9" * 400}bdp"]', "does not go up within 0.001bdp to 1000bdp"),
        ("speed = 1", "speed is no field"),
        ("rate = [", "mine.toml"),
    ],
)
def test_a_wrong_suite_is_refused_by_its_place(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(nw.Error, match=re.escape(said)):
        suite_of(file)

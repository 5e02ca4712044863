"""The types of a scenario's fields are those of the schema."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import narrows as nw
from binary import ROOT
from typed_fields import written

FILE = ROOT / "python" / "narrows" / "fields.py"


def test_the_types_are_those_of_the_schema() -> None:
    if os.environ.get("NARROWS_BLESS"):
        FILE.write_text(written(), encoding="utf-8")
    assert FILE.read_text(encoding="utf-8") == written(), (
        "run again with NARROWS_BLESS=1 if the schema was meant to change"
    )


def test_every_preset_takes_what_its_file_can_say() -> None:
    lot = nw.parking_lot(
        "100Mbps",
        np.int64(2),  # type: ignore[arg-type]
        "5ms",
        "50p",
        flows=[{"count": 2, "cc": "bbr"}, {"over": (2, 2), "reverse": True}],
        queue="codel",
        access_delay="1ms",
        duration="2s",
        start_spread="0s",
    )
    text = """
duration = "2s"
[parking_lot]
rate = "100Mbps"
hops = 2
delay = "5ms"
buffer = "50p"
queue = "codel"
access_delay = "1ms"
[[flows]]
cc = "bbr"
count = 2
start_spread = "0s"
[[flows]]
cc = "cubic"
over = [2, 2]
reverse = true
start_spread = "0s"
"""
    assert lot == nw.Scenario.from_toml(text)
    links = [{"rate": "10Mbps", "delay": "5ms", "buffer": "9p"}, {**lot.fields["parking_lot"]}]
    del links[1]["hops"], links[1]["access_delay"]
    chained = nw.chain(links, "reno", flows=3, access_rate="1Gbps", seed=np.int32(4))  # type: ignore[arg-type]
    assert (chained.seed, len(chained.fields["chain"]["hops"])) == (4, 2)
    with pytest.raises(nw.ScenarioError, match=r"dumbbell.bufer: .*did you mean \"buffer\""):
        nw.dumbbell("10Mbps", "40ms", "20p", bufer="3p")  # type: ignore[call-arg]
    with pytest.raises(nw.ScenarioError, match="not finite"):
        nw.dumbbell("10Mbps", "40ms", "20p", initial_window=float("nan"))


def test_what_is_made_prints_as_people_read_it() -> None:
    scenario = nw.dumbbell("10Mbps", "40ms", "20p", flows=2, duration="2s")
    assert eval(repr(scenario), {"Scenario": nw.Scenario}) == scenario
    found = nw.compare(scenario, ["reno", "cubic"], seeds=2)
    assert [(r.summary["cc"][0], r.seed) for r in found.results] == [
        ("reno", 1),
        ("reno", 2),
        ("cubic", 1),
        ("cubic", 2),
    ]
    for text in (repr(found), repr(found.results[0])):
        assert "utilisation" in text
        assert max(map(len, text.splitlines())) <= 80
    pages = (scenario._repr_html_(), found._repr_html_(), found.results[0]._repr_html_())
    assert all("<table>" in page for page in pages)
    assert found.plot().axes[0].get_ylabel() == "utilisation"


def test_parts_are_there_after_import() -> None:
    code = "import narrows as nw; print(nw.theory.response.etcp, nw.networks.dumbbell)"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert "cubic" in [law.name for law in nw.controllers()]
    assert "codel" in [queue.name for queue in nw.queues()]

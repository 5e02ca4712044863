"""`nw.identify` and `narrows why --law`: which law a capture's flow ran."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import narrows as nw
from binary import Run
from narrows.traits import TOLERANCES, Line, distance, traits
from narrows.types import Floats

SOME = ["reno", "cubic", "scalable", "bbr1"]


def capture(folder: Path, cc: Any, **flow: Any) -> nw.Explained:
    scenario = nw.dumbbell(
        "20Mbps", "40ms", "1bdp", flows=[{"cc": cc} | flow], duration="20s", warmup="0s"
    )
    traced = scenario.with_({"trace.links": ["bottleneck", "reverse"]})
    nw.run(traced, traces_to=folder)
    return nw.why(folder / "packets.pcapng")


@pytest.mark.parametrize(("cc", "law"), [("sack", "reno"), ("cubic", "cubic"), ("bbr1", "bbr1")])
def test_a_law_is_told_from_what_it_does(tmp_path: Path, cc: str, law: str) -> None:
    found = nw.identify(capture(tmp_path, cc), laws=SOME)
    assert found.law == law
    assert found.probabilities[law] > 0.7
    assert sum(found.probabilities.values()) == pytest.approx(1)
    assert set(found.probabilities) == {*SOME, "unknown"}


def test_a_law_that_is_not_tried_is_unknown(tmp_path: Path) -> None:
    found = nw.identify(capture(tmp_path, "vegas"), laws=SOME)
    assert found.law == "unknown"
    assert min(found.distances.values()) > 1.2


@pytest.mark.parametrize(
    ("flow", "rate", "why"),
    [
        ({"app": {"rate": "4Mbps"}}, None, "rate is not told"),
        ({"app": {"rate": "4Mbps"}}, 2e7, "something else limits: application"),
        ({"max_window": "40p"}, 2e7, "something else limits: receiver"),
        ({"size": "400kB"}, 2e7, "too short"),
    ],
)
def test_what_does_not_show_a_law_is_said(
    tmp_path: Path, flow: dict[str, Any], rate: float | None, why: str
) -> None:
    with pytest.raises(nw.Error, match=why):
        nw.identify(capture(tmp_path, "cubic", **flow), rate=rate, laws=SOME)


def test_a_log_does_not_tell_a_law(tmp_path: Path) -> None:
    path = nw.dumbbell("20Mbps", "40ms", "1bdp", cc="cubic+quic", duration="5s")
    nw.run(path.with_({"trace.flows": [0]}), traces_to=tmp_path)
    with pytest.raises(nw.Error, match="a log does not tell the path"):
        nw.identify(nw.why(tmp_path / "flow0.sqlog"))


def test_each_of_ten_flows_is_tried(narrows: Run, tmp_path: Path) -> None:
    path = nw.dumbbell("50Mbps", "20ms", "1bdp", cc="cubic", flows=10, duration="6s")
    traced = path.with_({"warmup": "0s", "trace.links": ["bottleneck", "reverse"]})
    nw.run(traced, traces_to=tmp_path)
    done = narrows("why", str(tmp_path / "packets.pcapng"), "--law", "--flows", "10", "--json")
    assert done.returncode == 0, done.stderr
    flows = json.loads(done.stdout)["flows"]
    assert len(flows) == 10
    assert all("law" in flow for flow in flows)
    assert not any("time line" in flow.get("law_not_told", "") for flow in flows)


def test_wrong_laws_and_flows_are_refused(tmp_path: Path) -> None:
    explained = capture(tmp_path, "cubic")
    with pytest.raises(nw.Error, match='"qubic" is not tried; known: reno, cubic'):
        nw.identify(explained, laws=["qubic"])
    with pytest.raises(nw.Error, match="7 is none of 0 to 0"):
        nw.identify(explained, 7)
    for rate in (0.0, -1.0, math.inf):
        with pytest.raises(nw.Error, match="is not a rate in bit/s"):
            nw.identify(explained, rate=rate)
    # A packet takes longer than the round trip then, and no law does what was seen.
    assert nw.identify(explained, rate=2e4, laws=["reno"]).law == "unknown"
    with pytest.raises(nw.Error, match="there are none to try"):
        nw.identify(explained, laws=[])
    with pytest.raises(nw.Error, match=r"not what nw\.why returns"):
        nw.identify("packets.pcapng")  # type: ignore[arg-type]


def test_the_command_says_it_everywhere(narrows: Run, tmp_path: Path) -> None:
    capture(tmp_path, "cubic")
    file = str(tmp_path / "packets.pcapng")
    done = narrows("why", file, "--law", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "Law of flow 0: cubic" in done.stdout
    assert "law: cubic" in (tmp_path / "out" / "index.html").read_text()
    [flow] = json.loads(narrows("why", file, "--law", "--json").stdout)["flows"]
    assert next(iter(flow["law"])) == "cubic"


def test_a_short_flow_says_why_its_law_is_not_told(narrows: Run, tmp_path: Path) -> None:
    capture(tmp_path, "cubic", size="40kB")
    file = str(tmp_path / "packets.pcapng")
    done = narrows("why", file, "--law", "-o", "out", "--anonymous")
    assert done.returncode == 0, done.stderr
    assert "Law of flow 0: not told; the bottleneck's rate is not told" in done.stdout
    page = (tmp_path / "out" / "index.html").read_text()
    assert "law: not told" in page and "--anonymous --law" in page
    table = pl.read_parquet(tmp_path / "out" / "flows.parquet")
    assert table["law"].to_list() == [None] and table["law_not_told"][0]
    assert narrows("why", file, "--rate", "20Mbps").returncode == 2


def sawtooth(kept: float, bend: float, period: float = 2.0) -> Line:
    """Return twenty seconds of a window that falls to `kept` and grows as timeᵇ."""
    time = np.arange(0, 20, 0.02)
    phase = (time % period) / period
    flight: Floats = 1e5 * (kept + (1 - kept) * phase**bend)
    again = (phase > 0.98).astype(float)
    came = np.full(len(time), 0.02 * 1.9e7 / 8)
    return Line(0.02, flight, np.full(len(time), 0.04), again, came)


def test_traits_are_those_of_a_sawtooth() -> None:
    straight = traits(sawtooth(0.5, 1.0), 2e7, 0.04)
    assert straight["goodput"] == pytest.approx(0.95)
    assert straight["kept"] == pytest.approx(0.55, abs=0.02)
    assert straight["flight_p50"] == pytest.approx(0.75 * 1e5 / 1e5, abs=0.02)
    assert [straight[f"bend_{q}"] for q in (25, 50, 75)] == pytest.approx([0, 0, 0], abs=0.02)
    # 50 kB in 2 s are 0.67 packets in 40 ms.
    assert math.exp(straight["growth"]) == pytest.approx(0.67, rel=0.05)
    hollow = traits(sawtooth(0.5, 3.0), 2e7, 0.04)
    assert hollow["bend_50"] == pytest.approx(0.5**3 - 0.5, abs=0.06)
    assert distance(straight, straight) == 0
    assert distance(straight, hollow) > 1.2


def test_what_only_one_flow_shows_counts_against_both() -> None:
    flow = dict.fromkeys(TOLERANCES, 1.0)
    assert distance(flow, flow | {"kept": math.nan}) == pytest.approx(2 / len(TOLERANCES))

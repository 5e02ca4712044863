"""Suites, cards, arenas and searches: what they ask, how they judge, and what they find."""

from __future__ import annotations

import hashlib
import json
import os
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import narrows as nw
from binary import ROOT, Run
from narrows.arena import Ring, arena
from narrows.errors import Error
from narrows.score.card import Card, Sign
from narrows.score.store import Store
from narrows.score.suite import CC, Requirement, load, suites
from narrows.score.work import score
from narrows.seek import served
from narrows.seek.search import FRESH, seek
from narrows.seek.shrink import shrink
from narrows.seek.space import Settings, space_of
from narrows.seek.trial import Outcome, Trial
from narrows.theory import droptail, response

FILE = """
[requirement]
section = "A document §1"
word = "MUST"
asks = "fill the link"
kind = "R"
bounds = "nine tenths of Reno"

[scenario]
duration = "4s"
seeds = { count = 2 }

[scenario.dumbbell]
rate = "20Mbps"
rtt = "40ms"
buffer = "$room"

[[scenario.flows]]
cc = "$cc"
count = 2

[scenario.expect]
utilisation = ">= $_least * reno"

[scenario.reference]
reno = { cc = "reno" }

[product]
"$room" = ["5p", "50p"]

[[zipped]]
flows = [1, 2]
"$_least" = ["0.9", "99"]

[quick]
product = { "$room" = ["50p"] }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "1.2-fill.toml"
    place.write_text(FILE)
    return place


def _numbers(text: object, unit: str = "") -> float:
    match = re.fullmatch(rf"([\d.]+){unit}", str(text))
    assert match, text
    return float(match[1])


def _suite(name: str) -> dict[str, Requirement]:
    return {it.name: it for it in load([name])}


@pytest.mark.parametrize("suite", sorted(suites()))
@pytest.mark.parametrize("quick", [False, True])
def test_every_point_of_every_suite_is_a_scenario_for_reno_and_cubic(
    suite: str, quick: bool
) -> None:
    for requirement in load([suite], quick):
        points = requirement.points()
        titles = [requirement.title(point) for point in points]
        assert len(set(titles)) == len(titles), requirement.name
        for cc in ("reno", "cubic"):
            for point in points[:: max(1, len(points) // 12)]:
                text = requirement.scenario_of(cc, point).to_toml()
                assert "$" not in text, (requirement.name, text)


def test_bounds_that_are_derived_are_what_their_formulas_give() -> None:
    suite = _suite("rfc9743")
    for point in suite["5.1.3-shallow"].points():
        share = _numbers(point["buffer"], "bdp")
        derived = float(0.8 * droptail.utilisation(share))
        assert _numbers(point["$_least"]) == pytest.approx(derived, abs=0.006)
    for point in suite["5.1.3-highloss"].points():
        allowed = 4 * float(response.tfrc(_numbers(point["loss"], "%") / 100, 0.04))
        text = str(point["$_most"]).replace("Mbps", "e3kbps")
        assert float(text.removesuffix("kbps")) == pytest.approx(allowed / 1e3, rel=0.02)
    # Timeouts of 0.3 s that double, and one more, each with two packets.
    begins = [0.3 * (2**number - 1) for number in range(1, 20)]
    expiries = sum(at < 60 for at in begins) + 1
    for name in ("5.1.1-blackout", "5.2-feedback"):
        sent = suite[name].scenario["expect"]["flows[0].sent"]["bound"]
        assert sent == f"<= {2 * expiries}"
    [breaker] = suite["7.2-breaker"].scenario["expect"].values()
    most = float(re.findall(r"[\d.]+", breaker["bound"])[0]) * 1e6
    # The simple equation, s/(R√(2p/3)).
    assert most == pytest.approx(10 * 12_000 / (0.05 * np.sqrt(0.2)), rel=0.01)
    for point in suite["6.4-loss"].points():
        rate = min(20e6, float(response.tfrc(_numbers(point["loss"], "%") / 100, 0.04)))
        payload = 0.9 * rate * 1448 / 1500
        assert _numbers(point["$_least"], "Mbps") * 1e6 == pytest.approx(payload, rel=0.01)


def test_the_irtfs_round_trips_are_those_of_its_edges() -> None:
    left, right = [0, 12, 25], [2, 37, 75]
    expected = sorted(2 * (a + b + 2) for a in left for b in right)
    groups = _suite("tcpeval")["4.4.2-access"].scenario["flows"]
    found = [_numbers(group["rtt"], "ms") for group in groups if not group.get("reverse")]
    assert sorted(found) == expected


def test_a_requirement_that_lacks_something_names_the_place(file: Path) -> None:
    for old, new, said in (
        ('word = "MUST"', 'word = "must"', "requirement.word: 'must' is none of MUST"),
        ('kind = "R"', 'kind = "X"', "requirement.kind: 'X' is none of"),
        ('asks = "fill the link"\n', "", "requirement.asks: it is missing"),
        ('cc = "$cc"', 'cc = "reno"', f'no flow has cc = "{CC}"'),
        ("[quick]", "[fast]", 'unknown field "fast"'),
        ("[quick]", "[quick]\nspeed = 1", 'quick: unknown field "speed"'),
        ("$_least * reno", "0.9 * reno", "$_least: nothing in the scenario says it"),
        ('buffer = "$room"', 'buffer = "$size"', "$size: no list says what it stands for"),
    ):
        file.write_text(FILE.replace(old, new))
        with pytest.raises(Error, match=re.escape(said)) as error:
            Requirement.load(file)
        assert str(file) in str(error.value)


def test_cells_are_judged_each_and_the_worst_stands_for_all(file: Path) -> None:
    requirements = load([str(file)])
    [card] = score(["cubic"], requirements)
    titles = [cell.title for cell in card.cells]
    assert titles == ["flows=1 room=5p", "flows=1 room=50p", "flows=2 room=5p", "flows=2 room=50p"]
    # No utilisation is 99 times another.
    assert [cell.sign for cell in card.cells[2:]] == [Sign.FAILS] * 2
    assert card.cells[3].worst is not None
    assert card.cells[3].worst.margin == pytest.approx(-0.99, abs=0.01)
    [quick] = score(["cubic"], load([str(file)], quick=True))
    assert len(quick.cells) == 2
    assert all(len(cell.check.seeds) == 1 for cell in quick.cells if cell.check)


def test_what_cannot_be_replaced_is_refused_before_the_run(
    narrows: Run, file: Path, tmp_path: Path
) -> None:
    done = narrows(
        "score", str(file), "--cc", "cubic", "--cache", str(tmp_path), "-o", str(tmp_path)
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert not (tmp_path / "score.jsonl").exists()


def test_damaged_lines_are_passed_over(tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    kept.write_bytes(b'{"run": "a", "found": 7}\n\xff\xfe\n{"run": "b", "found": [[1, "nan"]]}\n')
    assert len(Store(kept)) == 1
    with pytest.raises(Error, match="it is no file"):
        Store(tmp_path)


def test_laws_share_references_and_differ_only_in_themselves(file: Path) -> None:
    [reno] = score(["reno"], load([str(file)]))
    both = score(["cubic", "reno"], load([str(file)]))

    def told(card: Card) -> list[Any]:
        return [cell.record("") for cell in card.cells]

    assert told(both[1]) == told(reno)
    # Reno is its own reference: without chance the two are the same.
    judgement = reno.cells[0].check.judgements[0] if reno.cells[0].check else None
    assert judgement is not None
    assert judgement.bounds == [0.9 * value for value in judgement.values]


def test_what_is_kept_is_not_run_again(file: Path, tmp_path: Path, monkeypatch: Any) -> None:
    kept = tmp_path / "kept.jsonl"
    requirements = load([str(file)])
    [first] = score(["cubic"], requirements, store=Store(kept))
    # A last line that was cut off does not count, nor stop anything.
    lines = kept.read_text().splitlines()
    kept.write_text("\n".join([*lines[:-1], lines[-1][:20]]))
    assert len(Store(kept)) == len(lines) - 1
    [second] = score(["cubic"], requirements, store=Store(kept))
    assert [it.record("") for it in second.cells] == [it.record("") for it in first.cells]

    def refused(*_: object) -> None:
        raise AssertionError("it is run again")

    monkeypatch.setattr("narrows.score.store.numbers", refused)
    [third] = score(["cubic"], requirements, store=Store(kept))
    assert [it.record("") for it in third.cells] == [it.record("") for it in first.cells]


def test_a_cell_that_cannot_be_run_says_why(file: Path) -> None:
    file.write_text(FILE.replace('cc = "$cc"', 'cc = "$cc"\npacing = "even"'))
    [card] = score(["bbr"], load([str(file)]))
    assert {cell.sign for cell in card.cells} == {Sign.NOT_APPLICABLE}
    assert "bbr paces by itself" in card.cells[0].reason


def test_a_law_that_raises_fails_its_points_and_no_others(file: Path) -> None:
    class Broken(nw.Controller):
        def __init__(self, initial_window: float) -> None:
            self.cwnd = initial_window

        def on_ack(self, ack: nw.Ack) -> None:
            raise LookupError("no such thing")

        def on_loss(self, loss: nw.Loss) -> None: ...

        def window(self) -> float:
            return self.cwnd

    broken, cubic = score([Broken, "cubic"], load([str(file)]))
    assert {cell.sign for cell in broken.cells} == {Sign.FAILS}
    assert "no such thing" in broken.cells[0].reason
    assert all(cell.check is not None for cell in cubic.cells)


def test_a_mistake_of_the_file_is_no_fault_of_the_law(file: Path) -> None:
    file.write_text(FILE.replace("utilisation =", "utlisation ="))
    with pytest.raises(Error, match=r"1\.2-fill\.toml: .*utlisation"):
        score(["cubic"], load([str(file)]))


def test_files_of_one_name_are_two_requirements(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / file.name).write_text(FILE.replace('"99"', '"0.1"'))
    requirements = load([str(file), str(other)])
    [card] = score(["reno"], requirements)
    held = [card.count(it, Sign.HOLDS) for it in requirements]
    assert held == [2, 4]


def test_standard_laws_are_bloated_as_the_document_says() -> None:
    bloat = [str(suites()["rfc9743"] / "5.1.2-bloat.toml")]
    for card in score(["reno", "cubic"], load(bloat, quick=True)):
        assert [cell.sign for cell in card.cells] == [Sign.FAILS], card.cc


def test_the_command_prints_and_writes_cards(narrows: Run, file: Path, tmp_path: Path) -> None:
    own = tmp_path / "mine.py"
    own.write_text(
        "import narrows as nw\n"
        "class Mine(nw.Controller):\n"
        "    def __init__(self, initial_window): self.cwnd = 4.0\n"
        "    def on_ack(self, ack): pass\n"
        "    def on_loss(self, loss): pass\n"
        "    def window(self): return self.cwnd\n"
    )
    out, junit = tmp_path / "cards", tmp_path / "junit.xml"
    words = ["score", str(file), "--cc", f"cubic,{own}:Mine", "--cache", str(tmp_path)]
    done = narrows(*words, "-o", str(out), "--junit", str(junit), "--strict", "--figures")
    assert done.returncode == 1, done.stderr
    assert re.search(r"1\.2-fill +MUST +✗ \d/4 +✗ 0/4", done.stdout)
    page = (out / "Mine.html").read_text()
    assert "Where not to deploy it" in page
    assert 'href="http' not in page
    assert 'href="Mine/1.2-fill.html"' in page
    assert "uPlot" in (out / "Mine" / "1.2-fill.html").read_text()
    cells = [json.loads(line) for line in (out / "cells.jsonl").read_text().splitlines()]
    assert {cell["cc"] for cell in cells} == {"cubic", "Mine"}
    names = [case.get("name") for case in ET.parse(junit).getroot().iter("testcase")]
    assert len(names) == 8
    # Each scenario of a law that is narrows' own shows again what the card says of it.
    again = narrows("check", str(out / "cubic" / "1.2-fill-3.toml"), "--json", "-o", str(tmp_path))
    assert (
        json.loads(again.stdout)["expectations"][0]["values"]
        == (cells[3]["expectations"][0]["values"])
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["score", "nothing"], "nothing: no such file, folder or suite; suites: rfc9743"),
        (["score", "--cc", "cubik"], 'unknown controller "cubik"'),
        (["score", "--cc", "none.py:Mine"], "--cc: none.py: FileNotFoundError"),
        (["arena", "--cc", "reno"], "name two controllers or more"),
        (["arena", "--flows", "1x1"], '--flows: "1x1" does not say how many meet how many'),
        (["seek"], "--cc: name a law or a stack"),
        (["seek", "--cc", "bbr", "--worst", "share"], "name the other flow's law with --against"),
        (["seek", "--cc", "bbr", "--vary", "speed"], '--vary: unknown "speed"; known: rate'),
        (["seek", "--cc", "bbr", "--vary", "rtt=9ms"], '"9ms" is no range of rtt'),
        (["seek", "--cc", "bbr", "--changes", "2:mood"], '--changes: unknown "mood"'),
        (["seek", "--cc", "bbr", "--budget", "5"], "budget: 5 is too small"),
        (["seek", "--cc", "bbr", "--served", "99s"], "99s leaves nothing of a run of 60 s"),
        (["seek", "--cc", "bbr", "--vary", ""], '--vary: unknown ""'),
        (
            ["seek", "--cc", "bbr", "--served", "5s", "--duration", "2000h", "-o", "out"],
            "none of 60 candidates can be run",
        ),
        (["seek", "--cc", "bbr", "--served", "0"], "0s is not from 1ms to 600s"),
        (["seek", "--cc", "bbr", "--served", "1000h"], "1000h is not from 1ms to 600s"),
        (["seek", "--cc", "bbr", "--served", "5s", "--vary", "rate"], "leave out rate"),
        (["seek", "--cc", "bbr", "--changes", "99999"], "99999 are more than 50"),
        (["score", "--cc", ""], '--cc: "" has an empty item'),
        (["arena", "--buffer", "20p,20p"], "buffers: 20p, 20p has one twice"),
    ],
)
def test_wrong_words_are_refused(narrows: Run, words: list[str], said: str, tmp_path: Path) -> None:
    done = narrows(*words, "--cache", str(tmp_path))
    assert done.returncode == 2
    assert said in done.stderr


def test_an_arena_is_fair_to_equals_and_shares_add_up() -> None:
    ring = Ring(rate="20Mbps", rtt="40ms", buffers=["20p"], duration="60s", warmup="20s")
    found = arena(["reno", "cubic", "bbr"], ring, seeds=[1, 2, 3])
    shares = np.array(found.matrix("share", "20p"))
    assert np.abs(np.diag(shares) - 0.5).max() < 0.12
    frame = found.frame
    whole = frame["row_goodput"] + frame["column_goodput"]
    assert np.abs((frame["share"] - frame["row_goodput"] / whole).to_numpy()).max() < 1e-9
    harm = 1 - frame["row_goodput"] / frame["alone"]
    assert np.abs((frame["harm"] - harm).to_numpy()).max() < 1e-9
    assert next(iter(found.wins("20p"))) == "bbr"
    # Of equals each wins half.
    assert sum(found.wins("20p").values()) == pytest.approx(1.5)


def test_the_command_writes_an_arena(narrows: Run, tmp_path: Path) -> None:
    out = tmp_path / "arena"
    words = ["arena", "--cc", "reno,vegas", "--buffer", "20p", "--seeds", "1", "--duration", "10"]
    words += ["--warmup", "2", "--rate", "10Mbps", "--cache", str(tmp_path), "-o", str(out)]
    done = narrows(*words)
    assert done.returncode == 0, done.stderr
    assert "mean share beside the others" in done.stdout
    assert {"share.png", "harm.png", "arena.parquet"} <= {file.name for file in out.iterdir()}


def _trial(bound: str, vary: str = "rate,buffer", changes: str = "0") -> Trial:
    base = nw.dumbbell("10Mbps", "50ms", "20p", duration="4s").with_(expect={"max_queue": bound})
    return Trial(base, space_of(vary, changes, 4.0))


def test_a_search_finds_what_fails_and_says_it_shortly() -> None:
    trial = _trial("<= 60p")
    [finding] = seek(trial, budget=48)
    assert finding.small_outcome.fails()
    assert len(finding.small_outcome.values) == len(FRESH)
    for number in (finding.small["rate"], finding.small["buffer"]):
        assert f"{number:.1e}"[:3] in ("1.0", "2.0", "5.0")
    assert seek(trial, budget=48) == [finding]


def test_a_search_finds_nothing_where_all_holds() -> None:
    assert seek(_trial("<= 5000p"), budget=48) == []


class _Known(Trial):
    """A trial whose outcome is known: it fails from a buffer of 37 on, if there is an outage."""

    def outcome(self, settings: Settings, *_: Any, **__: Any) -> Outcome:
        kinds = [kind for _, kind, _ in settings["changes"]]
        miss = 1.0 if settings["buffer"] >= 37 and "outage" in kinds else -1.0
        return Outcome([miss] * 3, [0.0] * 3, [0.0] * 3, "max_queue")


def test_shrinking_ends_at_the_fewest_and_roundest_settings() -> None:
    base = nw.dumbbell("10Mbps", "50ms", "20p", duration="4s").with_(expect={"max_queue": "<= 1p"})
    trial = _Known(base, space_of("rate,rtt,buffer", "3", 4.0))
    events = ((1.3, "rate", 0.37), (2.7, "outage", 0.43), (3.1, "loss", 0.013))
    small = shrink(trial, {"rate": 73.0, "rtt": 320.0, "buffer": 930.0, "changes": events})
    assert small["rate"], small["rtt"] == (10.0, 50.0)
    assert small["buffer"] in (50.0, 100.0, 500.0, 1000.0)
    assert [(at, kind) for at, kind, _ in small["changes"]] == [(2.0, "outage")]


def test_the_command_prints_a_scenario_that_fails_again(narrows: Run, tmp_path: Path) -> None:
    out = tmp_path / "found"
    words = ["seek", "--cc", "cubic", "--worst", "max_queue <= 60p", "--duration", "4"]
    words += ["--budget", "48", "--cache", str(tmp_path), "-o", str(out)]
    done = narrows(*words)
    assert done.returncode == 0, done.stderr
    assert "under 15 fresh seeds; expected <= 60p" in done.stdout
    again = narrows("check", str(out), "-o", str(tmp_path / "kept"))
    assert again.returncode == 1, again.stdout
    # The second time all is known, and the same is printed.
    assert narrows(*words, "--force").stdout == done.stdout
    nothing = narrows(
        "seek",
        "--cc",
        "cubic",
        "--worst",
        "max_queue <= 5000p",
        "--duration",
        "2",
        "--budget",
        "48",
        "--cache",
        str(tmp_path),
    )
    assert nothing.returncode == 1
    assert "none fails" in nothing.stderr


def test_a_service_keeps_its_packets_however_it_is_bred() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        first, second = served.drawn(rng, 1000), served.drawn(rng, 1000)
        changed = served.mutated(rng, first)
        assert (first.sum(), changed.sum()) == (1000, 1000) and not (changed < 0).any()
        child = served.crossed(rng, first, second)
        begins = next(cut for cut in range(1001) if (child[cut:] == second[cut:]).all())
        assert (child[:begins] == first[:begins]).all()
    counts = tuple(int(count) for count in first)
    told = [int(line) for line in served.lines(counts, 1.5).split()]
    assert [told.count(at) for at in range(1, 1001)] == list(counts)
    assert told[-500:] == list(range(1001, 1501))


def test_shrinking_calms_what_need_not_be_uneven() -> None:
    """It fails as long as packets are served at 700 ms; the rest becomes steady."""

    class Known(Trial):
        def outcome(self, settings: Settings, *_: Any, **__: Any) -> Outcome:
            miss = 1.0 if settings["served"][700] == 9 else -1.0
            return Outcome([miss] * 3, [0.0] * 3, [0.0] * 3, "max_queue")

    base = nw.dumbbell("10Mbps", "50ms", "20p", duration="4s").with_(expect={"max_queue": "<= 1p"})
    service = [3, 0] * 500
    service[700] = 9
    trial = Known(base, space_of("rtt,buffer", "0", 4.0, 1000))
    small = shrink(trial, {"rtt": 50.0, "buffer": 20.0, "changes": (), "served": tuple(service)})
    uneven = [at for at, count in enumerate(small["served"]) if count != 1]
    assert 700 in uneven and max(uneven) - min(uneven) <= 1000 / 64


def test_a_service_packet_by_packet_is_bred_until_it_fails(narrows: Run, tmp_path: Path) -> None:
    words = ["seek", "--cc", "cubic", "--worst", "utilisation >= 0.5", "--served", "1s"]
    words += ["--duration", "3", "--budget", "144", "--cache", str(tmp_path), "-o", "out"]
    done = narrows(*words)
    assert done.returncode == 0, done.stderr
    assert 'trace = "worst-1.trace"' in done.stdout
    again = narrows("check", "out", "-o", "kept")
    assert again.returncode == 1, again.stdout
    refused = narrows(*words[:-2])
    assert refused.returncode == 2 and "say with -o where it is written" in refused.stderr


TRACES = ROOT / "suites" / "traces"
LAWS = ("reno", "cubic", "bbr", "prague")


def _digest(scenario: nw.Scenario, folder: Path) -> str:
    """Return the digest of a sender's log without its first line, which names the engine."""
    result = nw.run(scenario, traces_to=folder)
    [log] = folder.glob("*.sqlog")
    assert result.flows["completion_time"][0] is not None
    _, _, events = log.read_bytes().partition(b"\n")
    return hashlib.sha256(events).hexdigest()


def _curve(scenario: nw.Scenario, law: str) -> str:
    """Return a flow's window, flight, round trip and goodput at each tenth of a second, as CSV."""
    series = nw.run(scenario.with_({"sample": "100ms", "trace": None})).flow_series
    scales = {"time": 1.0, "window": 1.0, "in_flight": 1.0, "rtt": 1e3, "goodput": 1e-6}
    lines = []
    for row in series.rows(named=True):
        # There is no round trip before the first acknowledgement.
        told = ["" if row[it] is None else f"{row[it] * by:.6g}" for it, by in scales.items()]
        lines.append(",".join([law, *told]))
    return "\n".join(lines) + "\n"


HEAD = "law,time_s,window_packets,in_flight_packets,rtt_ms,goodput_mbps\n"


def test_reference_traces_are_as_they_were(tmp_path: Path) -> None:
    kept = TRACES / "digests.json"
    found: dict[str, dict[str, str]] = {}
    for file in sorted(TRACES.glob("*.toml")):
        curves = HEAD
        for law in LAWS:
            values: dict[str, Any] = {"flows[0].cc": law}
            if file.stem == "mark" and law in ("bbr", "prague"):
                # Prague has marks of its own kind, and BBR does not answer any.
                values["flows[0].ecn"] = None
            folder = tmp_path / file.stem / law
            folder.mkdir(parents=True)
            scenario = nw.Scenario.load(file).with_(values)
            found.setdefault(file.stem, {})[law] = _digest(scenario, folder)
            curves += _curve(scenario, law)
        curve = file.with_suffix(".csv")
        if os.environ.get("NARROWS_BLESS"):
            curve.write_text(curves)
        assert curve.read_text() == curves, "run again with NARROWS_BLESS=1 if a law was changed"
    if os.environ.get("NARROWS_BLESS"):
        kept.write_text(json.dumps(found, indent=1) + "\n")
    assert found == json.loads(kept.read_text())

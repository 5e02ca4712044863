"""Cells of published testbeds: read, made scenarios of, and judged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from narrows_papers.bench import Bench
from narrows_papers.testbeds.cell import Cell, cells
from narrows_papers.testbeds.compare import run, shares, worst
from narrows_papers.testbeds.equilibria import equilibrium
from narrows_papers.testbeds.models import constant, reno
from narrows_papers.testbeds.setup import QUEUES, scenario, why_not

LABS = ["nyu-ware", "nyu-scherrer", "nyu-l4s", "heist", "l4steam", "nyu-many-cloudlab"]
LABS += ["gomez", "greenscreen", "nyu-dominance"]
HEIST = "s1/prague-20ms+prague-10ms/50mbps/pfifo(1000)"
WARE = "nyu-ware/figure2a/1xbbr1+1xcubic/10mbps/40ms/1bdp"


def test_a_cell_becomes_the_scenario_that_its_file_names() -> None:
    made = scenario(Bench(), cells("nyu-ware")[WARE]).to_toml()
    # htb and bfifo count 1514 bytes of what has 1500 here: 10 Mbps and 51,200 bytes; and htb's
    # packets leave when their turn of 1.2112 ms begins, so that one more finds room; RTTs
    # there are 0.11 to 0.1295 ms longer than netem was told.
    for line in (
        'rate = "9.90753Mbps"',
        'buffer = "52.227kB"',
        'rtt = "38.9086ms"',
        'duration = "1000s"',
        'warmup = "600s"',
        'cc = "bbr1"',
        'cc = "cubic"',
    ):
        assert line in made, made


def test_queues_and_laws_are_those_that_a_cell_names() -> None:
    made = scenario(Bench(), next(_with("nyu-l4s", "dualpi2", "cubic"))).to_toml()
    assert 'queue = "dualpi2:step=1ms:range=0s:min_qlen_step=2:target=5ms"' in made, made
    # By their years: L4STeam's 5.15, and what was before.
    assert "prague:halves_once=false:alpha=1:rtt_transition=4" in made, made
    assert 'tcp = "l4steam"' in made and "least_window" not in made, made
    made = scenario(Bench(), next(_with("nyu-l4s", "fq-threshold", "bbr2"))).to_toml()
    assert 'queue = "fq:flow_limit=' in made and ":ce_threshold=5ms" in made, made
    assert 'cc = "bbr2' in made, made
    made = scenario(Bench(), next(_with("heist", "dualpi2", "cubic"))).to_toml()
    # Its target is not said, and so the usual.
    assert 'queue = "dualpi2:step=1ms:range=0s:min_qlen_step=2"' in made, made
    assert 'tcp = "linux5"' in made and "least_window=2" in made, made
    assert "rtt_control=none" in made and 'max_window = "2172p"' in made, made


def test_single_flows_of_two_sessions_begin_as_far_apart_as_these() -> None:
    # What two draws from 0.52 s differ by has a deviation of 0.52/√6 = 0.21 s.
    cell = next(_with("nyu-l4s", "fifo", "bbr2"))
    assert [it.get("start_spread") for it in _flows(cell)] == ["520ms", "520ms"]
    many = next(it for it in cells("nyu-l4s").values() if it.groups[0].count > 1)
    others = (many, cells("nyu-ware")[WARE], next(_with("heist", "fifo", "cubic")))
    for cell in others:
        counts = [group.count for group in cell.groups]
        far = [it.get("start_spread") == "520ms" for it in _flows(cell)]
        assert far == [cell is many and count == 1 for count in counts], cell.id


def test_the_larger_group_of_one_iperf3_each_begins_a_round_trip_a_stream_later() -> None:
    cell = cells("nyu-dominance")["nyu-dominance/10xbbr1+40xcubic/100mbps/20ms/5bdp"]
    made = scenario(Bench(), cell)
    assert [it.get("start") for it in made.fields["flows"]] == [None, "600ms"]
    # Each for its 120 s, and nothing was turned off.
    assert [it.get("stop") for it in made.fields["flows"]] == ["120s", "120.6s"]
    assert made.fields["duration"] == "120.6s" and made.fields["dumbbell"]["super_packets"]
    even = cells("nyu-dominance")["nyu-dominance/25xbbr1+25xcubic/100mbps/20ms/5bdp"]
    assert all("start" not in it and "stop" not in it for it in _flows(even))
    # What is measured in the end only has starts and no stops; Heist's begin together.
    many = cells("nyu-ware")["nyu-ware/figure2a/4xbbr1+1xcubic/10mbps/40ms/1bdp"]
    assert [(it.get("start"), it.get("stop")) for it in _flows(many)] == [
        ("120ms", None),
        (None, None),
    ]


def test_an_equilibrium_is_where_flows_of_both_laws_have_as_much() -> None:
    # 30 of 50 have 0.6, on the line from 0.4 more at 10 to 0.2 less at 40.
    assert equilibrium({10: (0.6, 0.4), 40: (0.6, 0.4)}, 50) == pytest.approx(30)
    assert equilibrium({10: (0.3, 0.7), 40: (0.9, 0.1)}, 50) == 50, "more with each number"
    assert equilibrium({10: (0.1, 0.9), 40: (0.9, 0.1)}, 50) == 0, "one alone has less"
    # What neither has counts for neither.
    assert equilibrium({10: (0.3, 0.2), 40: (0.3, 0.2)}, 50) == pytest.approx(30)


def test_mathis_constant_is_that_of_a_line_through_the_origin() -> None:
    # 1.3·1448·8/(0.1 s·√0.0004) is 7.5296 Mbps; a flow without a halving says nothing.
    table = pl.DataFrame({"mean_rtt": [0.1, 0.2, 0.1], "goodput": [7.5296e6, 1.8824e6, 1e9]})
    rates = np.array([0.0004, 0.0016, 0.0])
    assert constant(table, rates) == pytest.approx(1.3)
    largest = reno(5000)
    assert largest.rate_mbps == 10_000 and largest.queue["buffer_bytes"] == 375_000_000
    assert (largest.rtt_ms, largest.groups[0].count, largest.duration_s) == (20, 5000, 200)


def test_hosts_take_the_time_that_pings_of_their_kind_did() -> None:
    # By the deviation of four pings in three runs, less √2 as there are two ends; CloudLab's by the
    # range of five, and of namespaces by pings that are printed to a tenth.
    told = {"nyu-many-cloudlab": "34.7us"}
    for lab in LABS:
        for cell in list(cells(lab).values())[:40]:
            waits = [it["host"]["wait"] for it in _flows(cell)]
            assert set(waits) == {told.get(lab, "8.2us" if "nyu" in lab else "23.3us")}, cell.id
    # Each seed has another of the RTTs that are known of the hosts.
    rtts = [
        float(scenario(Bench(), cells("nyu-ware")[WARE], part).fields["dumbbell"]["rtt"][:-2])
        for part in (0.0, 1.0)
    ]
    assert rtts == pytest.approx([38.8988, 38.9183])
    # An RTT of its own has the same time added: 10 ms − 0.2422 ms, a turn at 50 Mbps, + 0.093 ms.
    [mixed] = [it for it in cells("heist").values() if it.id.endswith(HEIST)]
    assert [it.get("rtt") for it in _flows(mixed)] == ["19.8508ms", "9.85076ms"]


def test_receivers_and_routers_are_set_up_as_their_sources_say() -> None:
    heeding = [it for it in cells("nyu-l4s").values() if ("bbr2", True) in _heeds(it)]
    # The notebook's receivers echo marks; files of those that do not are named for it.
    assert all(":echo=true" in scenario(Bench(), it).to_toml() for it in heeding[:3])
    counts = replace(heeding[0], file="bbrv2-dctcp_ecn_dctcp_receiver_tput_data.json")
    assert ":echo" not in scenario(Bench(), counts).to_toml()
    # tc's defaults of limit 150000 avpkt 1000: 12,500 and 37,500 bytes of 1514 in a packet, and
    # (1 − (1 − w)²⁰)/w is 7.4 for an eighth and 11.6 for a sixteenth, where 8.5 are wanted.
    [made] = [
        scenario(Bench(), it).to_toml()
        for it in cells("l4steam").values()
        if it.id.endswith("20ms/red_400000_")
    ]
    assert ":min=22.0167:max=66.0502:weight=0.03125:mean_packet=1000" in made, made
    made = scenario(Bench(), next(_with("heist", "red-adaptive", "reno"))).to_toml()
    assert ":min=8.25627:max=24.7688:weight=0.0625" in made, made


def _flows(cell: Cell) -> list[dict[str, Any]]:
    return list(scenario(Bench(), cell).fields["flows"])


def _heeds(cell: Cell) -> list[tuple[str, bool]]:
    return [(group.law, group.ecn) for group in cell.groups]


def _with(lab: str, kind: str, law: str) -> Iterator[Cell]:
    for cell in cells(lab).values():
        laws = [group.law for group in cell.groups]
        plain = not any(group.fallback for group in cell.groups)
        if cell.queue["kind"] == kind and plain and law in laws and "prague" in laws:
            yield cell


@pytest.mark.parametrize("lab", LABS)
def test_each_cell_is_a_scenario_or_says_why_not(lab: str) -> None:
    bench, kinds = Bench(), set()
    for cell in cells(lab).values():
        known = (
            cell.queue["kind"] in QUEUES and cell.rate_mbps * min(cell.duration_s, 1200) <= 1.2e6
        )
        assert bool(why_not(cell)) is not known, cell.id
        kind = (cell.laws, str(cell.queue), tuple(group.rtt_ms for group in cell.groups))
        if not why_not(cell) and kind not in kinds:
            kinds.add(kind)
            scenario(bench, cell).valid()
            # A tenth has all flows begin, too.
            scenario(Bench(scale=0.1), cell).valid()
    assert kinds


def _judged(tmp_path: Path, *chosen: Cell) -> pl.DataFrame:
    bench = Bench(scale=0.1, cache=tmp_path)
    return shares(chosen, run(bench, chosen, seeds=1))


def test_what_lies_within_the_trials_counts_where_these_are_far_apart(tmp_path: Path) -> None:
    from dataclasses import replace  # noqa: PLC0415

    cell = cells("l4steam")["l4steam/iccrg/Cubic__20_5/fq_codel_tst"]
    plain = _judged(tmp_path, cell)
    found = plain["narrows"][0]
    assert plain["within"].to_list() == [True] and 85 < found < 97
    measured = cell.goodput[0]

    def other(low: float, high: float) -> bool:
        mean = (low + high) / 2 * cell.rate_mbps / 100
        spread = replace(
            measured, mean=mean, min=low * cell.rate_mbps / 100, max=high * cell.rate_mbps / 100
        )
        table = _judged(tmp_path, replace(cell, goodput=(spread,)))
        return bool(worst(table)["within"][0])

    assert not other(found - 8, found - 6), "six points off, and the trials agree"
    assert other(found - 30, found + 1), "the trials are 31 points apart, and it is among them"
    assert not other(found - 30, found - 10), "it is above all of them"

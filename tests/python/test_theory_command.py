"""`narrows theory`: tables of formulas, and packets beside them, by the real command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from binary import Run


def rows(narrows: Run, *arguments: str) -> list[dict[str, Any]]:
    done = narrows("theory", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_losses_are_the_formulas(narrows: Run) -> None:
    [light, heavy] = rows(narrows, "queue", "--load", "0.9,1.05", "--buffer", "20", "--burst", "4")
    assert light["M/M/1/B"] == pytest.approx(1.365139e-2, rel=1e-5)
    assert light["M/D/1/B"] == pytest.approx(1.853176e-3, rel=1e-5)
    assert light["bursts of 4"] == pytest.approx(5.7225e-2, rel=1e-4)
    assert heavy["M/D/1/B"] == pytest.approx(5.550918e-2, rel=1e-5)


def test_the_paper_b_is_stable_and_a_tenth_of_it_is_not(narrows: Run) -> None:
    laws = "etcp,etcp:b=2.5,etcp:b=2.5:p0=0.02"
    found = rows(narrows, "stability", "--cc", laws, "--buffer", "20p")
    margins = {(row["law"], row["queue"]): row["margin"] for row in found}
    assert margins["etcp", "M/D/1/B"] == pytest.approx(1.63, abs=0.01)
    assert margins["etcp:b=2.5", "M/D/1/B"] == pytest.approx(0.163, abs=0.001)
    more_lost = "etcp:b=2.5:p0=0.02", "M/D/1/B"
    assert margins[more_lost] > 1.1 * margins["etcp:b=2.5", "M/D/1/B"]


def test_packets_share_as_predicted(narrows: Run) -> None:
    link = ["--rate", "200Mbps", "--rtt", "50ms", "--buffer", "20p", "--duration", "20"]
    found = rows(narrows, "shares", "--cc", "4*etcp/4*reno", *link)
    etcp, reno = found
    assert etcp["share"] + reno["share"] == pytest.approx(1)
    assert etcp["packets' share"] == pytest.approx(etcp["share"], abs=0.03)
    [alone, _] = rows(narrows, "shares", "--cc", "4*etcp/4*reno", *link[:-1], "0")
    assert "packets' share" not in alone and alone["share"] == etcp["share"]
    [half, _] = rows(narrows, "shares", "--cc", "4*etcp/4*reno", *link[:-1], "0.5")
    assert "packets' share" in half


def test_a_fluid_model_is_drawn_over_packets(narrows: Run, tmp_path: Path) -> None:
    link = ["--rate", "400Mbps", "--rtt", "100ms", "--buffer", "20p", "--duration", "60"]
    found = rows(narrows, "fluid", "--cc", "etcp", *link, "-o", "out")
    means = {row["of"]: (row["fluid"], row["packets"]) for row in found}
    window, packets = means["window of etcp"]
    assert packets == pytest.approx(window, rel=0.03)
    assert means["loss"][1] == pytest.approx(means["loss"][0], rel=0.05)
    assert (tmp_path / "out" / "fluid.png").read_bytes().startswith(b"\x89PNG")


def test_laws_whose_losses_are_out_of_reach_of_an_empty_link_have_shares(narrows: Run) -> None:
    mixture = ["--cc", "cubic/htcp/scalable/ltcp/highspeed", "--duration", "0"]
    found = rows(narrows, "shares", *mixture, "--rate", "100Mbps")
    assert sum(row["share"] for row in found) == pytest.approx(1)
    assert all(row["loss"] == found[0]["loss"] > 1e-6 for row in found)


def test_dctcp_swings_about_its_threshold_in_packets_too(narrows: Run) -> None:
    link = ["--rate", "1Gbps", "--rtt", "1ms", "--buffer", "500p", "--mark", "40p"]
    found = rows(narrows, "fluid", "--cc", "4*dctcp", *link, "--duration", "2s")
    queue = next(row for row in found if row["of"] == "queue")
    assert queue["packets"] == pytest.approx(queue["fluid"], rel=0.3)


def test_xcp_fills_its_link_and_gwa_half_of_it_without_a_queue(narrows: Run) -> None:
    """XCP's flows share a bandwidth-delay product; GWA's q* of one is half of one in flight."""
    link = ["--rate", "100Mbps", "--rtt", "100ms", "--buffer", "1bdp", "--duration", "30s"]
    for law, of_bdp in (("10*xcp", 0.1), ("gwa-rate", 0.5)):
        [window, queue, loss] = rows(narrows, "fluid", "--cc", law, *link)
        assert window["fluid"] == pytest.approx(of_bdp * 833.3, rel=1e-3)
        assert window["packets"] == pytest.approx(window["fluid"], rel=0.03)
        assert queue["fluid"] < 1 and queue["packets"] < 10
        assert loss["packets"] == 0


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["queue", "--load", "x"], '"x" is no number'),
        (["queue", "--load", "-1"], "not between 0 and 100"),
        (["stability", "--cc", "bbr"], 'no fluid model of "bbr"'),
        (["stability", "--cc", "etcp:q=1"], '"q=1"'),
        (["stability", "--cc", "cubic"], "more state than a window"),
        (["shares", "--cc", "copa/reno"], 'no response function of "copa"'),
        (["shares", "--cc", "bbr1/reno", "--buffer", "0.5bdp"], "known from 1bdp on"),
        (["shares", "--cc", "2*bbr1"], "has all of the link"),
        (["fluid", "--cc", "reno", "--rtt", "1ms", "--duration", "1000"], "steps"),
        (["fluid", "--cc", "xcp/reno"], "leave others out"),
        (["fluid", "--cc", "xcp:halve=false"], "no settings"),
        (["fluid", "--cc", "xcp", "--mark", "20p"], "mark nothing"),
        (["stability", "--cc", "xcp"], "only narrows theory fluid"),
        (["fluid", "--cc", "dctcp"], "add --mark"),
        (["fluid", "--cc", "reno", "--mark", "20p"], "cut for each mark"),
        (["stability", "--flows", "100000"], "less than one each"),
    ],
)
def test_what_is_not_known_is_said(narrows: Run, arguments: list[str], named: str) -> None:
    done = narrows("theory", *arguments)
    assert done.returncode == 2
    assert named in done.stderr

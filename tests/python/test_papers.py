"""The registry of experiments: ids, verdicts, and generated pages."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

from binary import Run
from narrows.plot import panels
from narrows_papers import EXPERIMENTS
from narrows_papers.bench import Bench, bottleneck
from narrows_papers.claims import (
    Claim,
    above,
    below,
    digits,
    falling,
    measured,
    near,
    one_of,
    ranked,
    stated,
)
from narrows_papers.etcp.setup import later, scenario, steady, steady_link
from narrows_papers.pages import captions, headlines, is_own, overview, page, place
from narrows_papers.readings import FULL, SAME, least
from narrows_papers.reproduce import letter

DOCS = Path(__file__).parents[2] / "docs" / "papers"


def test_every_experiment_has_an_id_of_its_paper() -> None:
    for name, experiment in EXPERIMENTS.items():
        assert name == experiment.id == f"{experiment.paper}/{experiment.name}"
        assert (
            experiment.run.__module__ == f"narrows_papers.{experiment.paper}"
            or f".{experiment.paper}." in experiment.run.__module__
        )
        assert experiment.run.__doc__, f"{name} does not say which part of the paper it reproduces"


def test_verdicts_are_computed() -> None:
    assert near("a number", 100.0, 104.9, within=0.05, since="about").verdict == "holds"
    assert near("a number", 100.0, 105.1, within=0.05, since="about").verdict == "differs"
    assert digits("a number", "0.82", 0.8249).verdict == "holds"
    assert digits("a number", "0.82", 0.8251).verdict == "differs"
    assert digits("a number", "9.4e-5", 9.46e-5).verdict == "differs"
    assert falling("an order", ["a", "b", "c"], [3.0, 2.0, 1.0]).verdict == "holds"
    assert falling("an order", ["a", "b", "c"], [3.0, 1.0, 2.0]).verdict == "differs"
    assert stated("a shape", "flat", "?", None).verdict == "not decided"
    row = measured("a number", "small", "3")
    assert (row.verdict, row.holds) == ("measured", None)
    assert row.undecided("the run is too short").verdict == "measured"


def test_an_order_is_judged_by_the_seeds_intervals() -> None:
    def order(*samples: list[float]) -> Claim:
        return ranked("an order", ["a", "b", "c"], samples)

    assert order([3.0, 3.1], [2.0, 2.1], [1.0, 1.1]).verdict == "holds"
    assert order([3.0, 3.1], [2.0, 2.1], [2.0, 2.2]).verdict == "not decided"
    assert order([3.0, 3.1], [2.0, 2.1], [4.0, 4.1]).verdict == "differs"
    # Welch: the means are 1 apart, t is 1 / sqrt(0.5 / 2 + 0.5 / 2) = 1.41, below 4.30.
    assert order([3.0, 4.0], [2.0, 3.0], [1.0, 2.0]).verdict == "not decided"
    assert order([3.0], [2.0], [1.0]).verdict == "not decided", "one seed tells nothing"


def test_an_experiment_writes_figure_data_claims_and_page(narrows: Run, tmp_path: Path) -> None:
    done = narrows("reproduce", "htcp/fig03", "--scale", "0.5", "-o", "out", "--json")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["scale"] == 0.5
    assert all(claim["verdict"] == "not decided" for claim in record["claims"])
    assert all("too short" in claim["why"] for claim in record["claims"])
    names = {path.name for path in (tmp_path / "out" / "htcp").iterdir()}
    assert names == {"fig03.png", "fig03.json", "fig03.flow.parquet", "fig03.link.parquet"}
    text = (tmp_path / "out" / "htcp.md").read_text()
    assert "![htcp/fig03](htcp/fig03.png)" in text
    assert "At scale 0.5" in text
    assert "`narrows reproduce htcp/fig03 --scale 0.5`" in text


def test_a_claim_that_differs_makes_exit_1(narrows: Run) -> None:
    done = narrows("reproduce", "etcp/fig02")
    assert done.returncode == 1, done.stderr
    assert "differs" in done.stdout
    assert "differs: " in done.stderr, "the reason is said"


def test_nothing_is_decided_from_what_was_not_measured() -> None:
    nan, inf = math.nan, math.inf
    for claim in (
        near("a number", 100.0, nan, within=0.05, since="about"),
        digits("a number", "0.82", inf),
        falling("an order", ["a", "b"], [nan, 1.0]),
        ranked("an order", ["a", "b"], [[inf, inf], [1.0, 2.0]]),
        above("a bound", 1.0, inf),
        below("a bound", 1.0, nan),
        stated("a shape", "flat", "nan round trips", False),
    ):
        assert claim.verdict == "not decided", claim
        assert claim.why


def test_a_shortened_run_replaces_no_longer_one_and_ends_in_no_traceback(
    narrows: Run, tmp_path: Path
) -> None:
    done = narrows("reproduce", "htcp/fig03", "--scale", "0.5", "-o", "out")
    assert done.returncode == 0, done.stderr
    done = narrows("reproduce", "htcp/fig03", "--scale", "0.3", "-o", "out")
    assert done.returncode == 2
    assert "name another folder" in done.stderr
    assert json.loads((tmp_path / "out/htcp/fig03.json").read_text())["scale"] == 0.5
    done = narrows("reproduce", "ltcp/tab06", "--scale", "0.01")
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1)
    assert (tmp_path / "out/papers-0.01/ltcp.md").exists()


def test_one_thing_can_be_changed_in_a_figure(narrows: Run, tmp_path: Path) -> None:
    command = ("reproduce", "htcp/fig03", "--scale", "0.2", "--scenario", "-o", "out")
    assert narrows(*command, "--set", "buffer=33p").returncode == 0
    scenario = tmp_path / "out/htcp/fig03.toml"
    assert 'buffer = "33p"' in scenario.read_text()
    record = json.loads((tmp_path / "out/htcp/fig03.json").read_text())
    assert record["changes"] == ["buffer=33p"]
    assert {claim["verdict"] for claim in record["claims"]} == {"not decided"}
    assert narrows("run", str(scenario)).returncode == 0
    done = narrows(*command, "--set", "bufer=3p")
    assert done.returncode == 2
    assert "buffer" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["etpc/fig06"], ["etpc/fig06", "known: all"]),
        (["htcp", "--scale", "2"], ["--scale", "full"]),
        ([], ["--list"]),
    ],
)
def test_mistakes_are_named(narrows: Run, arguments: list[str], named: list[str]) -> None:
    done = narrows("reproduce", *arguments)
    assert done.returncode == 2
    for part in named:
        assert part in done.stderr


def test_the_list_has_every_id(narrows: Run) -> None:
    listed = json.loads(narrows("reproduce", "--list", "--json").stdout)
    assert [entry["id"] for entry in listed] == sorted(EXPERIMENTS)


@pytest.mark.parametrize(
    "folder", sorted(path for path in DOCS.glob("*") if path.is_dir()), ids=lambda path: path.name
)
def test_a_page_kept_is_the_one_that_its_records_make(folder: Path) -> None:
    assert folder.with_suffix(".md").read_text() == page(folder.name, folder)
    for record in folder.glob("*.json"):
        claims = json.loads(record.read_text())["claims"]
        assert all((claim["verdict"] == "holds") == bool(claim["holds"]) for claim in claims)


def test_the_page_over_all_papers_is_the_one_that_the_records_make() -> None:
    assert (DOCS / "README.md").read_text() == overview(DOCS)


@pytest.mark.parametrize(("b", "verdict"), [(2, "differs"), (25, "holds")])
def test_what_swings_is_not_called_stable(b: int, verdict: str, tmp_path: Path) -> None:
    # etcp/sec3: b = 2 is far below the bound for stability, b = 25 is the paper's.
    bench = Bench(cache=tmp_path)
    flows = [{"cc": f"etcp:b={b}"}]
    result = bench.run(scenario(bench, "1Gbps", "100ms", flows, 60, sample="100ms"))
    window = later(result.series("flow_series"))["window"]
    claims = [steady("the window is stable", window), *steady_link(bottleneck(result))]
    assert [claim.verdict for claim in claims] == [verdict] * 3, claims


def test_the_papers_experiments_come_before_our_own() -> None:
    for paper in ("etcp", "ltcp", "htcp", "pxcp", "gwa"):
        names = sorted((it.name for it in EXPERIMENTS.values() if it.paper == paper), key=place)
        own = [is_own(name) for name in names]
        assert own == sorted(own), names
        assert names[0].startswith("fig") or names[0].startswith("tab"), names
        assert 5 <= len(headlines(paper)) <= 10, paper


def test_one_more_run_may_give_the_papers_number_if_the_seeds_spread_so_far() -> None:
    # By hand: 1, 2, 3 have mean 2 and deviation 1; with two degrees of freedom t is 4.303, so one
    # more run lies within 4.303·√(1 + 1/3) = 4.97, and half a digit is 0.5.
    assert one_of("queue", "7", [1.0, 2.0, 3.0]).verdict == "holds"
    assert one_of("queue", "8", [1.0, 2.0, 3.0]).verdict == "differs"
    assert one_of("queue", "7.6", [1.0, 2.0, 3.0]).verdict == "differs"
    assert one_of("index", "0.44", [0.444]).verdict == "holds"
    assert one_of("index", "0.44", [0.446]).verdict == "differs"


def test_each_figure_has_a_caption_and_each_caption_a_figure() -> None:
    for folder in sorted(path for path in DOCS.glob("*") if path.is_dir()):
        drawn = {path.stem for path in folder.glob("*.png")}
        said = captions(folder.name)
        assert set(said) == drawn, folder.name
        assert all("*" not in text and text.endswith(".") for text in said.values())


def test_panels_are_named_row_by_row_and_a_second_scale_is_none() -> None:
    figure, axes = panels(2, 2)
    axes[0][1].twinx()
    axes[1][1].set_axis_off()
    letter(figure)
    named = [[ax.get_title(loc="left") for ax in row] for row in axes]
    assert named == [["(a)", "(b)"], ["(c)", ""]]
    alone, axes = panels()
    letter(alone)
    assert axes[0][0].get_title(loc="left") == ""


@pytest.mark.parametrize("path", sorted(DOCS.glob("*.md")), ids=lambda path: path.stem)
def test_a_bound_of_ours_says_why_it_is_that_one(path: Path) -> None:
    bounds = re.findall(r"\(taken as ([^)]*)\)", path.read_text())
    assert all(": " in bound for bound in bounds), [it for it in bounds if ": " not in it]


def test_words_are_read_alike() -> None:
    assert FULL.claim("", 0.951, says="full").verdict == "holds"
    assert FULL.claim("", 0.95, says="full").verdict == "differs"
    assert not SAME.holds(math.nan)
    assert least(2, "why").paper("much", "s") == "much (taken as > 2 s: why)"

"""Traffic as people see it: tables, files of sizes, sweeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import narrows as nw
from binary import Run

SHORT = {
    "name": "short",
    "arrivals": {"sizes": "web-search:max=1MB", "load": 0.5},
}


def dumbbell(**fields: object) -> nw.Scenario:
    flows = fields.pop("flows", [{"name": "long"}, SHORT])
    return nw.dumbbell("100Mbps", "20ms", "1bdp", flows=flows, duration="20s", **fields)  # type: ignore[arg-type]


def test_short_transfers_are_in_every_table() -> None:
    result = nw.run(dumbbell())
    group = result.groups.row(1, named=True)
    assert group["name"] == "short" and group["flows"] == 1000 and group["first"] == 1
    classes = result.size_classes
    assert classes["transfers"].sum() == group["transfers"] > 700
    assert set(classes["class"]) == {"up to 10 kB", "10 to 100 kB", "100 kB to 1 MB"}
    asked = result.transfers.filter(pl.col("requested") >= 5.0)
    assert asked["completion_time"].is_not_null().sum() == group["transfers"]
    assert asked["completion_time"].is_null().sum() == group["unfinished"]
    assert (asked["slowdown"].drop_nulls() >= 1.0).all()
    text = str(result)
    assert "transfers by size" in text and "10 to 100 kB" in text and "short" in text
    # A pool is nobody's share, and nobody's window.
    assert result.summary["jain"][0] == 1.0
    assert set(result.flow_series["flow"]) == {0}


def test_a_run_of_arrivals_alone_is_drawn(narrows: Run, tmp_path: Path) -> None:
    scenario = dumbbell(flows=[SHORT])
    (tmp_path / "short.toml").write_text(scenario.to_toml())
    done = narrows("run", "short.toml", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "run.png").exists() and (tmp_path / "out" / "report.html").exists()
    assert (tmp_path / "out" / "size_classes.parquet").exists()


def test_sizes_are_found_beside_the_scenario(narrows: Run, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "mine.cdf").write_text("0 0\n20000 100\n")
    flows = [{"arrivals": {"sizes": "mine.cdf:max=10kB", "rate": "100/s"}}]
    with pytest.raises(nw.ScenarioError, match=r"mine\.cdf"):
        nw.run(dumbbell(flows=flows))
    text = """
        duration = "5s"
        dumbbell = { rate = "100Mbps", rtt = "20ms", buffer = "1bdp" }
        flows = [{ arrivals = { sizes = "mine.cdf:max=10kB", rate = "100/s" } }]
    """
    (folder / "mine.toml").write_text(text)
    done = narrows("run", folder / "mine.toml", "-o", "out")
    assert done.returncode == 0, done.stderr
    bytes_ = pl.read_parquet(tmp_path / "out" / "transfers.parquet")["bytes"]
    assert 300 < len(bytes_) < 700 and bytes_.max() <= 10_000  # type: ignore[operator]


def test_queries_and_frames_are_told() -> None:
    servers = {"name": "servers", "count": 20, "incast": {"size": "32kB", "every": "500ms"}}
    video = {"name": "video", "app": {"rate": "3Mbps", "frames": 30, "deadline": "60ms"}}
    result = nw.run(dumbbell(flows=[servers, video], queue="fq-codel"))
    assert result.queries.height == 40 and (result.queries["answers"] == 20).all()
    assert 0.0 <= result.groups["late_frames"][1] < 0.2
    assert "queries" in str(result) and "late" in str(result)


def test_a_sweep_has_classes_of_sizes() -> None:
    axes: dict[str, Any] = {"flows[1].cc": ["cubic", "reno"]}
    sweep = nw.sweep(dumbbell(), **axes, seeds=2)
    classes = sweep.table("size_classes")
    assert {"point", "seed", "class", "mean_slowdown"} <= set(classes.columns)
    # What arrives is the same under both laws, seed by seed.
    asked = sweep.transfers.sort("point", "seed", "requested").select("point", "seed", "bytes")
    of_point = [asked.filter(pl.col("point") == point).drop("point") for point in range(2)]
    assert of_point[0].equals(of_point[1])
    assert "transfers" in repr(sweep)
    means = sweep.means("mean_slowdown", "mean_completion_time")
    assert (means["mean_slowdown"] > 1.0).all()


def test_a_trace_is_told(narrows: Run, tmp_path: Path) -> None:
    (tmp_path / "slow.trace").write_text("1\n2\n900\n1000\n")
    done = narrows("trace", "info", "slow.trace")
    assert done.returncode == 0, done.stderr
    assert "4 opportunities in 1.000 s" in done.stdout
    assert "0.05 Mbit/s on average" in done.stdout
    assert "longest silence 0.898 s, 1 of more than 0.5 s" in done.stdout
    (tmp_path / "bad.trace").write_text("1\nx\n")
    done = narrows("trace", "info", "bad.trace")
    assert done.returncode == 2 and "line 2" in done.stderr, done.stderr

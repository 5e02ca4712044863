"""The command line, as its users see it."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

import narrows as nw
from binary import BINARY, ROOT, Run
from narrows.cli import complete
from narrows.cli.reference import page

SMALL = ["--rate", "10Mbps", "--rtt", "40ms", "--buffer", "20p", "-P", "2", "-t", "4"]

JSON_KEYS = {
    *(
        "cc",
        "pacing",
        "seed",
        "utilisation",
        "goodput",
        "loss_rate",
        "jain",
        "mean_queue",
        "max_queue",
        "mean_rtt",
    ),
    *("flow_goodput", "wall", "packets_per_second", "warnings"),
}


def test_a_law_that_no_queue_serves_is_warned_of_everywhere(narrows: Run, tmp_path: Path) -> None:
    asked = "asks routers, and none of the links on its way answers"
    done = narrows("compare", *SMALL, "--cc", "xcp,reno", "--seeds", "2", "-o", "out")
    said = [line for line in done.stderr.splitlines() if asked in line]
    assert said == [f'narrows: warning: flows[0].cc: "xcp" {asked}; give one of them queue = "xcp"']
    assert asked in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    done = narrows("compare", *SMALL, "--cc", "xcp,reno", "--json")
    xcp, reno = (json.loads(line)["warnings"] for line in done.stdout.splitlines())
    assert len([warning for warning in xcp if asked in warning]) == 1
    assert not [warning for warning in reno if asked in warning]


def test_compare_prints_one_json_object_a_run(narrows: Run) -> None:
    done = narrows(
        "compare", *SMALL, "--cc", "reno,cubic", "--pacing", "none,even", "--seeds", "2", "--json"
    )
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(r["cc"], r["pacing"], r["seed"]) for r in records] == [
        (cc, pacing, seed)
        for cc in ("reno", "cubic")
        for pacing in ("none", "even")
        for seed in (1, 2)
    ]
    for record in records:
        assert record.keys() >= JSON_KEYS
        assert 0.3 < record["utilisation"] <= 1.0
        assert len(record["flow_goodput"]) == 2
        # The payload at the receivers is a little less than the bits that left the bottleneck.
        assert record["goodput"] == pytest.approx(sum(record["flow_goodput"]), rel=1e-9)
        assert record["goodput"] < record["utilisation"] * 10e6
        assert 0.040 <= record["mean_rtt"] < 0.080
        assert record["max_queue"] <= 20


def test_same_seed_same_figures(narrows: Run) -> None:
    lines = [
        narrows("compare", *SMALL, "--cc", "cubic", "--seed", "5", "--json").stdout
        for _ in range(2)
    ]
    first, second = (json.loads(line) for line in lines)
    for record in (first, second):
        del record["wall"], record["packets_per_second"]
    assert first == second


def test_several_seeds_give_a_mean_and_its_interval(narrows: Run) -> None:
    table = narrows("compare", *SMALL, "--cc", "cubic", "--seeds", "3").stdout
    assert "±" in table
    assert "±" not in narrows("compare", *SMALL, "--cc", "cubic").stdout


def test_compare_prints_the_buffer_in_all_four_units(narrows: Run) -> None:
    # 20 packets of 1500 bytes at 10 Mbps take 24 ms; the bandwidth-delay product is 50,000 bytes.
    assert "20p = 30kB = 24ms = 0.6bdp" in narrows("compare", *SMALL, "--cc", "reno").stderr


def test_output_is_whole_and_not_overwritten(narrows: Run, tmp_path: Path) -> None:
    command = ["compare", *SMALL, "--cc", "reno", "-o", "out"]
    assert narrows(*command).returncode == 0
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert {
        "comparison.png",
        "report.html",
        "made.json",
        "reno.toml",
        "flows.parquet",
        "link_series.parquet",
    } <= files
    assert not [name for name in files if ".tmp" in name]
    assert pl.read_parquet(tmp_path / "out" / "flows.parquet").height == 2
    again = narrows(*command)
    assert again.returncode == 2
    assert "--force" in again.stderr
    assert narrows(*command, "--force").returncode == 0


@pytest.mark.parametrize(
    "command",
    [
        ["compare", *SMALL, "--cc", "reno"],
        ["score", "--quick"],
        ["theory", "fluid", "--cc", "reno"],
        ["buffer", "--flows", "2"],
    ],
)
def test_what_writes_nothing_has_nothing_to_replace(narrows: Run, command: list[str]) -> None:
    done = narrows(*command, "--force")
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert "--force: nothing is written that it could replace" in done.stderr


def test_the_scenario_written_runs_to_the_same_figures(narrows: Run) -> None:
    compared = json.loads(narrows("compare", *SMALL, "--cc", "cubic", "-o", "out", "--json").stdout)
    run = json.loads(narrows("run", "out/cubic.toml", "--json").stdout)
    assert run["flow_goodput"] == compared["flow_goodput"]


def test_a_queue_does_what_it_is_for(narrows: Run) -> None:
    def loss(*options: str) -> float:
        return float(
            json.loads(narrows("compare", *SMALL, "--cc", "cubic", *options, "--json").stdout)[
                "loss_rate"
            ]
        )

    assert loss() > 0
    assert loss("--queue", "red:min=2:max=6", "--buffer", "100p", "--ecn") == 0


@pytest.mark.parametrize(
    ("queue", "named"),
    [
        ("codle", 'did you mean "codel"?'),
        ("codel:target=5", 'target: "5" is not a time; try 5ms'),
        ("rr:n=3", "rr has no settings"),
    ],
)
def test_a_queue_that_is_none_is_named(narrows: Run, queue: str, named: str) -> None:
    done = narrows("compare", *SMALL, "--queue", queue)
    assert done.returncode == 2
    assert "--queue: " in done.stderr
    assert named in done.stderr


def test_list_names_everything_with_its_source(narrows: Run) -> None:
    listed = json.loads(narrows("list", "--json").stdout)
    assert {"controllers", "recoveries", "slow_starts", "queues", "presets"} == listed.keys()
    assert {"reno", "cubic"} <= {law["name"] for law in listed["controllers"]}
    assert {"dumbbell", "parking_lot", "chain"} == {preset["name"] for preset in listed["presets"]}
    table = narrows("list").stdout
    for lines in listed.values():
        for line in lines:
            assert line["summary"]
            assert line["source"]
            assert line["name"] in table


def test_the_demo_runs_as_the_readme_says(narrows: Run, tmp_path: Path) -> None:
    done = narrows("demo", "-t", "1s", "-o", "demo")
    assert done.returncode == 0, done.stderr
    laws = {file.stem.rpartition("-")[0] for file in (tmp_path / "demo").glob("*.toml")}
    assert laws == {"reno+reno", "newreno", "sack", "cubic"}


@pytest.mark.parametrize("command", ["compare", "run", "list", "demo"])
def test_help_shows_an_example(narrows: Run, command: str) -> None:
    assert f"Example: narrows {command}" in " ".join(narrows(command, "-h").stdout.split())


BAD = {
    "unknown law": (["--cc", "vegass"], ['unknown controller "vegass"', "cubic", "reno"]),
    "near miss": (["--cc", "cubix"], ['did you mean "cubic"?']),
    "a plus of the name": (["--cc", "ledbat+sack"], ['did you mean "ledbat++"?']),
    "unknown recovery": (["--cc", "cubic+sak"], ['"sak"', "newreno"]),
    "unknown parameter": (["--cc", "cubic:betta=0.8"], ['"betta"', "beta"]),
    "parameter out of range": (["--cc", "cubic:beta=1.8"], ["beta", "1.8"]),
    "empty item in a list": (["--cc", "cubic,,reno"], ["--cc", "empty item"]),
    "megabytes or megabits": (["--rate", "10mbps"], ["10mbps", "Mbps"]),
    "rate without unit": (["--rate", "10"], ['"10"', "1Gbps"]),
    "zero rate": (["--rate", "0Mbps"], ["rate", "0"]),
    "negative rate": (["--rate=-1Mbps"], ["-1Mbps"]),
    "zero round trip": (["--rtt", "0ms"], ["rtt"]),
    "negative time": (["--rtt=-5ms"], ["-5ms"]),
    "pkts": (["--buffer", "20 pkts"], ['"20 pkts"', "20p"]),
    "zero buffer": (["--buffer", "0p"], ["buffer"]),
    "zero duration": (["-t", "0"], ["duration"]),
    "warm-up past the end": (["--warmup", "90s"], ["warmup", "90s"]),
    "no seeds": (["--seeds", "none"], ["--seeds", "1..10"]),
    "seeds backwards": (["--seeds", "5..1"], ["--seeds"]),
    "unknown pacing": (["--pacing", "smooth"], ["smooth", "exponential"]),
    "a seed beside a range of seeds": (["--seeds", "1..3", "--seed", "5"], ["--seed", "1..3"]),
    "negative seed": (["--seed", "-1"], ["--seed", "-1"]),
    "not a countable time": (["-t", "6000h"], ["6000h", "5124h"]),
    "two recoveries": (["--cc", "sack+newreno"], ["reno+newreno"]),
    "unknown habit": (["--tcp", "bsd"], ["bsd", "linux"]),
    "no flows": (["-P", "0"], ["-P", "1"]),
    "one-way delay": (["--delay", "20ms"], ["--rtt"]),
    "more than the machine holds": (["-P", "2000000000"], ["GB", "memory"]),
}


@pytest.mark.parametrize(("arguments", "named"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_named_and_nothing_is_written(
    narrows: Run, tmp_path: Path, arguments: list[str], named: list[str]
) -> None:
    done = narrows("compare", *SMALL, "-o", "out", *arguments)
    assert done.returncode == 2, done.stdout
    assert "Traceback" not in done.stderr
    assert "panicked" not in done.stderr
    message = " ".join(done.stderr.replace("│", " ").split())
    for word in named:
        assert word in message, message
    assert not (tmp_path / "out").exists()


DUMBBELL = "duration = '5s'\n[dumbbell]\nrate = '1Mbps'\nrtt = '10ms'\nbuffer = '20p'\n"

BAD_FILES = {
    "not TOML": ("duration = = 3", ["line 1"]),
    "unknown field": ("duration = '5s'\nbuffer = '20p'", ["buffer", "known: seed, duration"]),
    "no flows": (DUMBBELL, ["flows"]),
    "no network": ("duration = '5s'\n[[flows]]\ncc = 'reno'", ["dumbbell"]),
    "no path": (
        "duration = '5s'\nlinks = [{from = 'a', to = 'b', rate = '1Mbps', delay = '1ms'}]\n"
        "flows = [{from = 'b', to = 'c', cc = 'reno'}]",
        ["flows[0]", "c"],
    ),
    "no way back": (
        "duration = '5s'\n"
        "links = [{from = 'a', to = 'b', rate = '1Mbps', delay = '1ms', duplex = false}]\n"
        "flows = [{from = 'a', to = 'b', cc = 'reno'}]",
        ["flows[0]", "b", "a"],
    ),
    "unknown link": (
        DUMBBELL + "[[flows]]\ncc = 'reno'\n[trace]\nlinks = ['bottelneck']",
        ["trace.links[0]", 'did you mean "bottleneck"?'],
    ),
    "two networks": (
        DUMBBELL + "[chain]\nhops = []\n[[flows]]\ncc = 'reno'",
        ["chain", "dumbbell"],
    ),
}


@pytest.mark.parametrize(("text", "named"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_a_bad_file_is_named_with_the_place(
    narrows: Run, tmp_path: Path, text: str, named: list[str]
) -> None:
    (tmp_path / "bad.toml").write_text(text)
    done = narrows("run", "bad.toml")
    assert done.returncode == 2, done.stdout
    assert "Traceback" not in done.stderr
    for word in ["bad.toml", *named]:
        assert word in done.stderr, done.stderr


def test_a_missing_file_is_named(narrows: Run) -> None:
    done = narrows("run", "nowhere.toml")
    assert done.returncode == 2
    assert "nowhere.toml" in done.stderr
    assert "Traceback" not in done.stderr


def test_control_c_stops_a_run_with_one_line(tmp_path: Path) -> None:
    command = [
        str(BINARY),
        "compare",
        "--rate",
        "10Gbps",
        "-t",
        "100000",
        "--cc",
        "reno,cubic",
        "-o",
        "out",
    ]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert "interrupted" in errors
    assert not (tmp_path / "out").exists()


def test_whoever_reads_the_output_may_stop(tmp_path: Path) -> None:
    command = (
        f"{BINARY} compare {' '.join(SMALL)} --cc reno,cubic --pacing none,even --seeds 20 --json "
        "| head -c 10"
    )
    done = subprocess.run(
        command, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stderr == ""


def test_a_law_that_paces_by_itself_is_compared_once(narrows: Run) -> None:
    arguments = ("--cc", "bbr,cubic,dctcp", "--pacing", "none,even", "--ecn", "--json")
    done = narrows("compare", *SMALL, "--queue", "red", *arguments)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["cc"], row["pacing"]) for row in rows] == [
        ("bbr", "own"),
        ("cubic", "none"),
        ("cubic", "even"),
        ("dctcp", "none"),
        ("dctcp", "even"),
    ]


def test_quic_is_paced_unless_the_user_says_otherwise(narrows: Run) -> None:
    def pacings(*pacing: str) -> list[tuple[str, str]]:
        done = narrows("compare", *SMALL, "--cc", "cubic,cubic+quic", *pacing, "--json")
        assert done.returncode == 0, done.stderr
        return [(row["cc"], row["pacing"]) for row in map(json.loads, done.stdout.splitlines())]

    assert pacings() == [("cubic", "none"), ("cubic+quic", "own")]
    assert pacings("--pacing", "none") == [("cubic", "none"), ("cubic+quic", "none")]


def test_what_a_law_decides_by_itself_is_left_out_and_named(narrows: Run) -> None:
    done = narrows("compare", *SMALL, "--cc", "bbr,cubic,etcp", "--max-ssthresh", "100", "--ecn")
    assert done.returncode == 0, done.stderr
    assert "bbr decides by itself: ecn, max_ssthresh\n" in done.stderr + done.stdout
    assert "etcp decides by itself: ecn, max_ssthresh\n" in done.stderr + done.stdout
    assert "cubic decides" not in done.stderr + done.stdout


def test_a_law_named_twice_is_compared_once(narrows: Run) -> None:
    done = narrows("compare", *SMALL, "--cc", "cubic,cubic", "--json")
    assert len(done.stdout.splitlines()) == 1


def test_options_of_cache_prune_are_for_prune(narrows: Run) -> None:
    done = narrows("cache", "size", "--older", "3d")
    assert done.returncode == 2
    assert "--older: is for prune" in done.stderr


def test_an_age_has_a_unit_and_may_be_a_year(narrows: Run) -> None:
    for age in ("3", "1w", "", "100"):
        done = narrows("cache", "prune", "--older", age)
        assert done.returncode == 2, age
        assert 'try "30d" or "12h"' in done.stderr
    assert narrows("cache", "prune", "--older", "365d").returncode == 0


def test_a_pipe_that_nobody_reads_ends_help_too(narrows: Run) -> None:
    command = f"{BINARY} --help | true; exit ${{PIPESTATUS[0]}}"
    statuses = {subprocess.run(["bash", "-c", command], check=False).returncode for _ in range(5)}
    assert statuses <= {0, 141}


def test_version_names_the_engine(narrows: Run) -> None:
    assert re.fullmatch(r"narrows \S+, engine \d+-[0-9a-f]{8}\n", narrows("--version").stdout)


def test_compare_combines_networks_and_mixes_laws(narrows: Run) -> None:
    command = ["compare", *SMALL, "--cc", "1*cubic/reno,cubic", "--buffer", "5p,20p", "--csv"]
    rows = list(csv.DictReader(io.StringIO(narrows(*command).stdout)))
    assert [row["cc"] for row in rows] == ["cubic+reno", "cubic", "cubic+reno", "cubic"]
    assert all(len(row["flow_goodput"].split()) == 2 for row in rows)
    wrong = narrows("compare", *SMALL, "--cc", "5*cubic/reno")
    assert wrong.returncode == 2
    assert "at least 6 flows, and it would have 2" in wrong.stderr


def test_a_mixture_says_how_many_flows_there_are(narrows: Run) -> None:
    small = [it for it in SMALL if it not in ("--flows", "-P", "2")]
    rows = list(
        csv.DictReader(
            io.StringIO(narrows("compare", *small, "--cc", "3*cubic/2*reno", "--csv").stdout)
        )
    )
    assert [len(row["flow_goodput"].split()) for row in rows] == [5]
    wrong = narrows("compare", *small, "--cc", "3*cubic/2*reno,4*cubic")
    assert wrong.returncode == 2
    assert '"4*cubic" is 4 flows, and it would have 5' in wrong.stderr
    none = narrows("compare", *small, "--cc", "0*cubic/reno")
    assert "a law of no flows" in none.stderr


def test_a_scenario_comes_from_standard_input(tmp_path: Path) -> None:
    text = nw.dumbbell("10Mbps", "40ms", "20p", duration="2s").to_toml()
    done = subprocess.run(
        [sys.executable, "-m", "narrows", "run", "-", "--csv"],
        input=text,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    assert done.stdout.startswith("cc,pacing,seed,")


def test_a_folder_is_made_again(narrows: Run, tmp_path: Path) -> None:
    for command in (
        ["compare", *SMALL, "--cc", "reno,bbr", "--seeds", "2"],
        ["run", str(ROOT / "examples" / "trace.toml")],
    ):
        assert narrows(*command, "-o", "out", "--force").returncode == 0
        made = json.loads((tmp_path / "out" / "made.json").read_text())
        assert made["command"][1:] == [*command, "-o", "out", "--force"]
        again = narrows("again", "out")
        assert again.returncode == 0, again.stderr
        assert "tables are the same" in again.stderr, again.stderr
    flows = tmp_path / "out" / "flows.parquet"
    pl.read_parquet(flows).with_columns(goodput=1.0).write_parquet(flows)
    again = narrows("again", "out", "-o", "fresh")
    assert again.returncode == 1
    assert "differ: flows.parquet" in again.stderr
    assert narrows("again", "fresh").returncode == 0
    (tmp_path / "empty").mkdir()
    assert narrows("again", "empty").returncode == 2


def test_termination_is_like_ctrl_c(tmp_path: Path) -> None:
    command = [str(BINARY), "compare", "-t", "2000s", "--rate", "10Gbps", "-o", "out"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 30
        while not (tmp_path / ".out.part").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 143
    assert "narrows: terminated" in errors
    assert not list(tmp_path.iterdir())


def test_a_full_disk_and_a_poor_terminal_are_no_tracebacks(tmp_path: Path) -> None:
    for arguments in ("list", "--help", "schema"):
        done = subprocess.run(
            f"{BINARY} {arguments} > /dev/full",
            shell=True,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2, arguments
        assert "Traceback" not in done.stderr and "No space left" in done.stderr
    poor = {"PYTHONIOENCODING": "ascii"}
    assert subprocess.call([BINARY, "list"], env=poor, stdout=subprocess.DEVNULL) == 0


def test_examples_are_listed_printed_copied_and_run(narrows: Run, tmp_path: Path) -> None:
    listed = narrows("examples").stdout
    for name in ("parking_lot", "sweeps/buffer", "checks/small_buffer"):
        assert name in listed
    text = narrows("examples", "parking_lot").stdout
    assert text == (ROOT / "examples" / "parking_lot.toml").read_text()
    assert "no example" in narrows("examples", "nope").stderr
    assert narrows("examples", "--copy", "mine").returncode == 0
    assert (tmp_path / "mine" / "sweeps" / "buffer.toml").exists()
    assert narrows("examples", "--copy", "mine").returncode == 2
    assert narrows("examples", "parking_lot", "--copy", "one").returncode == 0
    assert (tmp_path / "one" / "parking_lot.toml").read_text() == text
    assert narrows("examples", "stack-ci", "--copy", "ci").returncode == 0
    for copy in (tmp_path / "ci", tmp_path / "mine" / "stack-ci"):
        # Cargo reads the copy, and finds the crates that it names.
        read = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--offline"]
        found = subprocess.run(read, cwd=copy, capture_output=True, text=True, check=True).stdout
        wanted = json.loads(found)["packages"][0]["dependencies"]
        paths = {it["name"]: it.get("path") for it in wanted}
        assert Path(paths["narrows-lab"], "Cargo.toml").exists()


def test_what_would_run_for_days_is_refused_at_once(narrows: Run) -> None:
    for options in (
        ["compare", "-t", "1e7s", "--rate", "10Gbps"],
        ["compare", "--seeds", "1..100000000000"],
        ["compare", "-P", "99999999999999999999"],
    ):
        done = narrows(*options)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
    assert "days of a core" in narrows("compare", "-t", "1e7s", "--rate", "10Gbps").stderr


def test_list_shows_a_kind_or_a_name(narrows: Run) -> None:
    whole, queues = narrows("list").stdout, narrows("list", "queues").stdout
    assert "fq-codel" in queues and "cubic" not in queues and len(queues) < len(whole) / 2
    cubic = narrows("list", "cubic").stdout
    assert cubic.count("RFC 9438") == 1 and "beta=" in cubic and "htcp" not in cubic
    found = json.loads(narrows("list", "reno", "--json").stdout)
    assert {it["name"] for lines in found.values() for it in lines} == {"reno"}
    wrong = narrows("list", "qeues")
    assert wrong.returncode == 2 and 'did you mean "queues"?' in wrong.stderr


def test_a_reader_that_goes_is_no_failure() -> None:
    done = subprocess.run(
        ["bash", "-c", f'{BINARY} list | head -1; echo "${{PIPESTATUS[0]}}"'],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] in ("141", "0")
    assert done.stderr == ""


def test_completion_knows_what_there_is() -> None:
    assert complete.listed("fq-") == ["fq-codel"]
    assert "etcp/fig07" in complete.experiments("etcp/fig0")
    assert "etcp" in complete.experiments("e")


def test_the_page_of_commands_is_what_they_say(narrows: Run) -> None:
    file = ROOT / "docs/commands.md"
    if os.environ.get("NARROWS_BLESS"):
        file.write_text(page())
    assert file.read_text() == page(), "run again with NARROWS_BLESS=1 if help was meant to change"
    for command in ("conform", "lab run", "why"):
        said = narrows(*command.split(), "--help").stdout
        assert said.rstrip() in file.read_text(), command

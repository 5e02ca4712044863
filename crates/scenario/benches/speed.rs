//! Data packets delivered per second of wall-clock time, on one thread, and peak memory; with
//! instructions per packet if `valgrind` is installed, beside ns-2 if `ns` is, and beside htsim if
//! HTSIM names the `sim` folder of a build of it. `make bench` keeps the table in docs/speed.json,
//! with machine and commit; `cargo bench -p narrows-scenario --bench speed -- a d` prints some of
//! the cases.
//!
//! Each case runs in a process of its own, so that its peak memory is its own.

use narrows_scenario::{Checked, Scenario};
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[expect(clippy::disallowed_types, reason = "a bench measures wall time")]
type Clock = std::time::Instant;

/// Simulated seconds in which next to nothing is sent.
const BIRTH: f64 = 0.001;

struct Case {
    name: &'static str,
    cc: &'static str,
    /// The preset of TCP habits.
    tcp: &'static str,
    megabits: u64,
    rtt_ms: u64,
    rtt_spread_ms: u64,
    flows: u64,
    /// In packets.
    buffer: u64,
    queue: &'static str,
    seconds: f64,
    /// More of the bottleneck, and more flows, as in a file.
    more: [&'static str; 2],
}

const DROP_TAIL: &str = "drop-tail";

/// `flows` flows with SACK over `megabits` with a buffer of so many packets, as ns-2 has them.
const fn sack(name: &'static str, megabits: u64, flows: u64, buffer: u64, seconds: f64) -> Case {
    let (cc, tcp, queue) = ("sack", "ns2", DROP_TAIL);
    let (rtt_ms, rtt_spread_ms) = (100, 0);
    let more = ["", ""];
    Case { name, cc, tcp, megabits, rtt_ms, rtt_spread_ms, flows, buffer, queue, seconds, more }
}

/// `case` with more of the bottleneck, and more flows.
const fn and(link: &'static str, flows: &'static str, case: Case) -> Case {
    Case { more: [link, flows], ..case }
}

/// Two changes of the rate each 120 ms.
const CHANGES: &str = "changes = [{ at = \"500us\", rate = \"90Mbps\" }]\nrepeat = \"120ms\"\n";
/// Ten lines, of which each drops a packet of so many.
const SCRIPT: &str = "script = [{ each = 10007, drop = 5001 }, { each = 10009, drop = 5002 }, \
                      { each = 10037, drop = 5003 }, { each = 10039, drop = 5004 }, \
                      { each = 10061, drop = 5005 }, { each = 10067, drop = 5006 }, \
                      { each = 10069, drop = 5007 }, { each = 10079, drop = 5008 }, \
                      { each = 10091, drop = 5009 }, { each = 10093, drop = 5010 }]\n";
/// Some 10⁵ transfers in 16.5 s of 10 Gbps, at a load of 0.6.
const SHORT: &str = "[[flows]]\ncount = 10000\narrivals = { sizes = \"hadoop\", load = 0.6 }\n";
/// A cellular link up and down.
const CELLULAR: &str = "trace = \"narrows:made-up-lte.down\"\n";

/// `case` with another law and queue.
const fn with(cc: &'static str, queue: &'static str, case: Case) -> Case {
    Case { cc, queue, ..case }
}

/// `case` as over Linux, with 50 ms and RTTs that spread by 20 ms.
const fn linux(cc: &'static str, case: Case) -> Case {
    Case { cc, tcp: "linux", rtt_ms: 50, rtt_spread_ms: 20, ..case }
}

const CASES: [Case; 20] = [
    sack("a", 1_000, 50, 20, 20.0),
    sack("b", 1_000, 1, 12_000, 20.0),
    sack("c", 10_000, 100, 1_000, 5.0),
    sack("d", 1_000, 1_000, 500, 10.0),
    sack("e", 1_000, 10_000, 500, 10.0),
    with("etcp", DROP_TAIL, sack("f", 1_000, 1, 20, 20.0)),
    with("etcp", DROP_TAIL, sack("g", 1_000, 50, 20, 20.0)),
    with("etcp", DROP_TAIL, sack("h", 5_000, 1, 20, 4.0)),
    with("xcp+reno", "xcp", sack("i", 1_000, 50, 12_500, 20.0)),
    with("gwa+reno", "gwa-rr", sack("j", 1_000, 50, 25_000, 20.0)),
    with("sack", "rr", sack("k", 1_000, 10, 500, 10.0)),
    with("sack", "rr", sack("l", 1_000, 10_000, 500, 10.0)),
    linux("cubic", sack("cubic", 10_000, 500, 6_250, 5.0)),
    linux("bbr", sack("bbr", 10_000, 500, 6_250, 5.0)),
    linux("cubic", sack("m", 100_000, 100_000, 62_500, 10.0)),
    linux("cubic", sack("n", 100_000, 1_000_000, 62_500, 1.0)),
    and(CHANGES, "", linux("cubic", sack("changes", 100, 1, 400, 60.0))),
    and(CELLULAR, "", linux("cubic", sack("trace", 0, 1, 500, 120.0))),
    and(SCRIPT, "", linux("cubic", sack("script", 100, 1, 400, 60.0))),
    and("", SHORT, linux("cubic", sack("short", 10_000, 4, 6_250, 16.5))),
];

impl Case {
    fn scenario(&self, seconds: f64) -> Checked {
        let Self { cc, tcp, megabits, rtt_ms, rtt_spread_ms, flows, buffer, queue, .. } = self;
        let [link, others] = self.more;
        let rate = match megabits {
            // A trace has the rate.
            0 => String::new(),
            megabits => format!("rate = \"{megabits}Mbps\"\n"),
        };
        let text = format!(
            "duration = \"{seconds}s\"\nwarmup = \"0s\"\ntcp = \"{tcp}\"\nsample = \"0s\"\n\
             [dumbbell]\n{rate}{link}rtt = \"{rtt_ms}ms\"\n\
             buffer = \"{buffer}p\"\nqueue = \"{queue}\"\n\
             [[flows]]\ncc = \"{cc}\"\ncount = {flows}\nrtt_spread = \"{rtt_spread_ms}ms\"\n\
             {others}"
        );
        Scenario::from_toml(&text).and_then(Checked::new).expect("the cases are scenarios")
    }

    /// Runs it here and prints packets delivered, wall seconds and peak resident bytes.
    fn run(&self, seconds: f64) {
        let checked = self.scenario(seconds);
        let start = Clock::now();
        let results = narrows_scenario::run(&checked, 1, None, |_| ControlFlow::Continue(()))
            .expect("nothing stops or traces it");
        let wall = start.elapsed().as_secs_f64();
        println!("{} {wall} {}", results.delivered, peak_bytes().unwrap_or(0));
    }

    /// True if ns-2 and htsim have the same, or nearly: not E-TCP, XCP, GWA, round robin, Linux's
    /// habits. 10,000 flows take ns-2 longer than anybody waits, for their routes alone.
    fn is_common(&self) -> bool {
        self.flows <= 1_000 && self.cc == "sack" && self.more == ["", ""] && self.queue == DROP_TAIL
    }

    /// ns-2 over the same network: packets a wall second.
    fn ns2(&self) -> Option<f64> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../validation/dumbbell.tcl");
        let Self { megabits, flows, buffer, seconds, .. } = self;
        let options = format!(
            "proto=sack n={flows} bw={megabits} rtt=100 buf={buffer} dur={seconds} warm=0 access=100000 seed=1"
        );
        let start = Clock::now();
        let output = Command::new("ns").arg(script).args(options.split(' ')).output().ok()?;
        let wall = start.elapsed().as_secs_f64();
        let text = String::from_utf8_lossy(&output.stdout);
        Some((field(&text, "arrivals")? - field(&text, "drops")?) / wall)
    }

    /// htsim's `program` over the same network without access links: packets a wall second.
    fn htsim(&self, program: &Path) -> Option<f64> {
        let Self { megabits, rtt_ms, flows, buffer, seconds, .. } = self;
        let options = [*flows, *megabits, *rtt_ms, *buffer].map(|option| option.to_string());
        let mut command = Command::new(program);
        command.args(options).arg(seconds.to_string());
        let speed = |command: &mut Command| {
            let start = Clock::now();
            let output = command.output().ok()?;
            let packets: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().ok()?;
            Some(packets / start.elapsed().as_secs_f64())
        };
        (0..RUNS).filter_map(|_| speed(&mut command)).max_by(f64::total_cmp)
    }
}

/// The number after `"name":` in a line of JSON.
fn field(text: &str, name: &str) -> Option<f64> {
    let (_, after) = text.split_once(&format!("\"{name}\":"))?;
    after.trim_start().split(['}', ',', ' ']).next()?.parse().ok()
}

/// The most memory that this process has held, from Linux's /proc; None elsewhere.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}

fn again(program: &[&str], case: &Case, seconds: f64) -> Option<Output> {
    let myself = std::env::current_exe().ok()?.display().to_string();
    let words: Vec<&str> = program.iter().copied().chain([myself.as_str()]).collect();
    let output = Command::new(words[0])
        .args(&words[1..])
        .args(["--one", case.name, &seconds.to_string()])
        .output()
        .ok()?;
    output.status.success().then_some(output)
}

/// Packets delivered, wall seconds, peak bytes of one case in a process of its own; None if that
/// came to a bad end, for want of memory perhaps.
fn measure(case: &Case, seconds: f64) -> Option<[f64; 3]> {
    numbers(&again(&[], case, seconds)?)
}

fn numbers(output: &Output) -> Option<[f64; 3]> {
    let numbers: Vec<f64> = String::from_utf8_lossy(&output.stdout)
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    numbers.try_into().ok()
}

/// Instructions a packet delivered, without those that build the network.
fn instructions(case: &Case) -> Option<f64> {
    let count = |seconds| {
        let output = again(
            &["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"],
            case,
            seconds,
        )?;
        let text = String::from_utf8_lossy(&output.stderr);
        let total = text
            .lines()
            .find_map(|line| line.split_once("Collected :"))?
            .1
            .trim()
            .parse::<f64>()
            .ok()?;
        Some((total, numbers(&output)?[0]))
    };
    let (birth, run) = (count(BIRTH)?, count(case.seconds)?);
    Some((run.0 - birth.0) / run.1)
}

/// Runs of a case, of which the best counts.
const RUNS: usize = 3;
/// Flows above which a case runs once, and nobody waits for valgrind.
const MOST_FLOWS: u64 = 50_000;

/// A case's line of the table; null where something is not there to compare with. A process that
/// simulates one flow holds `nothing` bytes. None if the case cannot be run here.
fn line(case: &Case, htsim: Option<&Path>, nothing: f64) -> Option<Value> {
    let is_large = case.flows > MOST_FLOWS;
    let runs = (0..if is_large { 1 } else { RUNS }).filter_map(|_| measure(case, case.seconds));
    let [packets, wall, peak] = runs.min_by(|a, b| a[1].total_cmp(&b[1]))?;
    let idle = measure(case, BIRTH)?[2];
    let counted = if is_large { None } else { instructions(case) };
    let common = case.is_common();
    let speed = packets / wall;
    let ratio = |other: Option<f64>| other.map(|other| round(speed / other, 2));
    Some(json!({
        "flows": case.flows,
        "packets": packets as u64,
        "wall_s": round(wall, 3),
        "packets_per_s": speed.round() as u64,
        "instructions_per_packet": counted.map(|count| count.round() as u64),
        "ratio_ns2": ratio(common.then(|| case.ns2()).flatten()),
        "ratio_htsim": ratio(htsim.filter(|_| common).and_then(|program| case.htsim(program))),
        "peak_mb": round(peak / 1e6, 1),
        "birth_mb": round(idle / 1e6, 1),
        "bytes_per_flow": ((peak - nothing).max(0.0) / case.flows as f64).round() as u64,
    }))
}

fn round(number: f64, digits: i32) -> f64 {
    let unit = 10_f64.powi(digits);
    (number * unit).round() / unit
}

/// The columns of the table, with their widths.
const COLUMNS: [(&str, usize); 9] = [
    ("flows", 9),
    ("packets", 10),
    ("wall_s", 9),
    ("packets_per_s", 15),
    ("instructions_per_packet", 25),
    ("ratio_ns2", 11),
    ("ratio_htsim", 13),
    ("peak_mb", 9),
    ("bytes_per_flow", 16),
];

/// Builds validation/htsim.cpp against htsim, whose `sim` folder HTSIM names; None without. The
/// path must be absolute: cargo runs a bench in the folder of its crate.
fn build_htsim() -> std::io::Result<Option<PathBuf>> {
    let Some(sim) = std::env::var_os("HTSIM").map(PathBuf::from) else { return Ok(None) };
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../validation/htsim.cpp");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("htsim_dumbbell");
    let mut compiler = Command::new("g++");
    compiler.args(["-O3", "-std=c++11", "-I"]).arg(&sim).arg(source).arg(sim.join("libhtsim.a"));
    if compiler.arg("-o").arg(&program).status()?.success() {
        return Ok(Some(program));
    }
    let wrong = format!(
        "HTSIM={}: g++ could not build {source} against the libhtsim.a there; give the absolute \
         path of htsim's folder `sim`, in which `make libhtsim.a` has run",
        sim.display()
    );
    Err(std::io::Error::other(wrong))
}

/// What `program` says in one line, or "unknown".
fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().ok();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.filter(|text| !text.is_empty()).unwrap_or_else(|| "unknown".into())
}

/// The processor, as /proc/cpuinfo names it.
fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name"));
    model.map_or("unknown".into(), |model| model.trim_start_matches([' ', '\t', ':']).to_owned())
}

/// The commit measured, with `-dirty` if anything but the table differs from it.
fn commit() -> String {
    let commit = said("git", &["describe", "--always", "--exclude=*"]);
    let changed = said("git", &["status", "--porcelain", "-uno", ":/", ":!/docs/speed.json"]);
    if changed == "unknown" { commit } else { format!("{commit}-dirty") }
}

/// Keeps the `cases` measured of `commit` in docs/speed.json, after those of earlier commits and
/// other machines.
fn keep(commit: &str, cases: &serde_json::Map<String, Value>) -> std::io::Result<()> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/speed.json"));
    let date = said("git", &["log", "-1", "--format=%cs"]);
    let kept = std::fs::read_to_string(path).unwrap_or_else(|_| "[]".into());
    let mut runs: Vec<Value> = serde_json::from_str(&kept)
        .map_err(|error| std::io::Error::other(format!("docs/speed.json: {error}; mend it")))?;
    let machine = machine();
    runs.retain(|run| run["commit"] != commit || run["machine"] != machine.as_str());
    runs.push(json!({ "commit": commit, "date": date, "machine": machine, "cases": cases }));
    let new = path.with_extension("json.new");
    std::fs::write(&new, serde_json::to_string_pretty(&runs).expect("numbers and names") + "\n")?;
    std::fs::rename(new, path)
}

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let named = |name: &str| CASES.iter().find(|case| case.name == name);
    if let [flag, name, seconds] = &arguments[..]
        && flag == "--one"
    {
        named(name).expect("a case's name").run(seconds.parse().expect("seconds"));
        return Ok(());
    }
    if let Some(unknown) = arguments.iter().find(|name| named(name).is_none()) {
        let names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        let wrong = format!("there is no case {unknown:?}; try some of {}", names.join(" "));
        return Err(std::io::Error::other(wrong));
    }
    let htsim = build_htsim()?;
    let commit = commit();
    let nothing = measure(named("b").expect("one flow"), BIRTH).map_or(0.0, |one| one[2]);
    println!("best of {RUNS} runs on one thread; - where ns-2, htsim or valgrind is not there");
    let titles = COLUMNS.map(|(name, width)| format!("{name:>width$}"));
    println!("case   {}", titles.concat());
    let mut cases = serde_json::Map::new();
    let chosen = |case: &&Case| arguments.is_empty() || arguments.iter().any(|it| it == case.name);
    for case in CASES.iter().filter(chosen) {
        let Some(line) = line(case, htsim.as_deref(), nothing) else {
            println!("{:<7}came to a bad end, for want of memory perhaps", case.name);
            continue;
        };
        let cells = COLUMNS.map(|(name, width)| match &line[name] {
            Value::Null => format!("{:>width$}", "-"),
            value => format!("{:>width$}", value.to_string()),
        });
        println!("{:<7}{}", case.name, cells.concat());
        cases.insert(case.name.into(), line);
        if arguments.is_empty() {
            keep(&commit, &cases)?;
        }
    }
    Ok(())
}

//! Data packets delivered per second of wall-clock time, on one thread, and peak memory; beside
//! ns-2 where `ns` is installed, and with instructions per packet if `valgrind` is. `make bench`;
//! `cargo bench -p narrows-scenario -- a d` for some of the cases.
//!
//! Each case runs in a process of its own, so that its peak memory is its own.

use narrows_scenario::{Checked, Scenario};
use std::ops::ControlFlow;
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
}

const DROP_TAIL: &str = "drop-tail";

/// `flows` flows with SACK over `megabits` with a buffer of so many packets, as ns-2 has them.
const fn sack(name: &'static str, megabits: u64, flows: u64, buffer: u64, seconds: f64) -> Case {
    let (cc, tcp, queue) = ("sack", "ns2", DROP_TAIL);
    let (rtt_ms, rtt_spread_ms) = (100, 0);
    Case { name, cc, tcp, megabits, rtt_ms, rtt_spread_ms, flows, buffer, queue, seconds }
}

/// `case` with another law and queue.
const fn with(cc: &'static str, queue: &'static str, case: Case) -> Case {
    Case { cc, queue, ..case }
}

/// `case` as over Linux, with 50 ms and RTTs that spread by 20 ms.
const fn linux(cc: &'static str, case: Case) -> Case {
    Case { cc, tcp: "linux", rtt_ms: 50, rtt_spread_ms: 20, ..case }
}

const CASES: [Case; 16] = [
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
];

impl Case {
    fn scenario(&self, seconds: f64) -> Checked {
        let Self { cc, tcp, megabits, rtt_ms, rtt_spread_ms, flows, buffer, queue, .. } = self;
        let text = format!(
            "duration = \"{seconds}s\"\nwarmup = \"0s\"\ntcp = \"{tcp}\"\nsample = \"0s\"\n\
             [dumbbell]\nrate = \"{megabits}Mbps\"\nrtt = \"{rtt_ms}ms\"\n\
             buffer = \"{buffer}p\"\nqueue = \"{queue}\"\n\
             [[flows]]\ncc = \"{cc}\"\ncount = {flows}\nrtt_spread = \"{rtt_spread_ms}ms\"\n"
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

    /// ns-2 over the same network: packets a wall second. None where there is no `ns`, and for
    /// 10,000 flows, whose routes alone take it longer than anybody waits, and for what it has not,
    /// or not alike: E-TCP, XCP, GWA, round robin.
    fn ns2(&self) -> Option<f64> {
        if self.flows > 1_000 || self.cc != "sack" || self.queue != DROP_TAIL {
            return None;
        }
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

/// Packets delivered, wall seconds, peak bytes of one case in a process of its own.
fn measure(case: &Case, seconds: f64) -> [f64; 3] {
    let output = again(&[], case, seconds).expect("this program runs itself");
    numbers(&output).expect("it prints three numbers")
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

fn print(case: &Case) {
    let runs: [[f64; 3]; 3] = std::array::from_fn(|_| measure(case, case.seconds));
    let best = runs.into_iter().min_by(|a, b| a[1].total_cmp(&b[1])).expect("three runs");
    let speed = best[0] / best[1];
    let idle = measure(case, BIRTH)[2];
    let or = |value: Option<f64>, digits: usize| {
        value.map_or("-".into(), |value| format!("{value:.digits$}"))
    };
    let ns2 = case.ns2();
    println!(
        "{:<5}{:>8}{:>12.0}{:>10.2}{:>10.2}{:>12}{:>10}{:>14}{:>14.1}{:>14.1}",
        case.name,
        case.flows,
        best[0],
        best[1],
        speed / 1e6,
        or(ns2.map(|ns2| ns2 / 1e6), 3),
        or(ns2.map(|ns2| speed / ns2), 1),
        or(instructions(case), 0),
        best[2] / 1e6,
        idle / 1e6,
    );
}

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let named = |name: &str| CASES.iter().find(|case| case.name == name);
    if let [flag, name, seconds] = &arguments[..]
        && flag == "--one"
    {
        return named(name).expect("a case's name").run(seconds.parse().expect("seconds"));
    }
    println!(
        "best of three runs on one thread; memory at the peak and before the first packet; - where ns-2 or valgrind is not there"
    );
    println!(
        "case    flows     packets    wall s    Mpkt/s   ns-2's M/s     ratio   instr./packet      peak MB    at birth MB"
    );
    CASES
        .iter()
        .filter(|case| {
            arguments.is_empty() || arguments.iter().any(|argument| argument == case.name)
        })
        .for_each(print);
}

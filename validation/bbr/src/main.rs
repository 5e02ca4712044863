//! Our BBR and noq-proto's on the same paths, packet by packet.
//!
//! `make compare-bbr` prints all; `make compare-bbr WHAT="rounds too-high"` each round trip of a
//! script, `WHAT="losses too-high"` its losses too, `WHAT=utilisation` only the utilisations.

mod law;
mod ours;
mod path;
mod scripts;
mod sender;
mod theirs;

use law::{Law, Shown};
use narrows_units::{Duration, Time};
use ours::Ours;
use path::Path;
use scripts::Script;
use sender::{Run, Spacing};
use std::process::ExitCode;
use std::thread;
use theirs::Theirs;

/// What is seen every 10 ms.
#[derive(Clone, Debug)]
struct Seen {
    time: f64,
    shown: Shown,
    queue: usize,
    in_flight: usize,
    dropped: u64,
    departed: u64,
}

/// The two implementations, and noq's with noq's pacer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Ours,
    Theirs,
    TheirsPaced,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Theirs => "noq",
            Self::TheirsPaced => "noq, its pacer",
        }
    }
}

/// Watches a run of `seconds` over `path`, in a thread of its own (see `Theirs::new`).
fn watch(side: Side, path: &Path, seconds: f64, seed: u64, verbose: bool) -> Vec<Seen> {
    let path = path.clone();
    let run = move || match side {
        Side::Ours => see(Ours::new(seed), &path, Spacing::Even, seconds, seed, verbose),
        Side::Theirs => see(Theirs::new(seed), &path, Spacing::Even, seconds, seed, verbose),
        Side::TheirsPaced => see(Theirs::new(seed), &path, Spacing::Bucket, seconds, seed, verbose),
    };
    thread::spawn(run).join().expect("a run does not panic")
}

fn see<L: Law>(
    law: L,
    path: &Path,
    spacing: Spacing,
    seconds: f64,
    seed: u64,
    verbose: bool,
) -> Vec<Seen> {
    let mut run = Run::new(law, path, spacing, seed, Time::ZERO);
    run.verbose = verbose;
    let step = Duration::from_millis(10);
    let mut seen = Vec::new();
    let mut now = Time::ZERO;
    while now.seconds() < seconds {
        now += step;
        run.until(now);
        seen.push(Seen {
            time: now.seconds(),
            shown: run.law.shows(),
            queue: run.queue(),
            in_flight: run.in_flight(),
            dropped: run.counts.dropped,
            departed: run.counts.departed,
        });
    }
    seen
}

/// The states with the times at which they were first seen.
fn states(seen: &[Seen]) -> Vec<(f64, &'static str)> {
    let mut states: Vec<(f64, &'static str)> = Vec::new();
    for sight in seen {
        if states.last().is_none_or(|(_, state)| *state != sight.shown.state) {
            states.push((sight.time, sight.shown.state));
        }
    }
    states
}

fn print_states(seen: &[Seen]) {
    let line: Vec<String> =
        states(seen).iter().map(|(time, state)| format!("{time:.2} {state}")).collect();
    let shown = line.len().min(16);
    let more = line.len() - shown;
    let more = if more > 0 { format!(" · and {more} more") } else { String::new() };
    println!("          {}{more}", line[..shown].join(" · "));
}

/// Utilisation from `since` to the end, of a path whose rate does not change after `since`.
fn utilisation(seen: &[Seen], since: f64, path: &Path) -> f64 {
    let (Some(first), Some(last)) = (seen.iter().find(|sight| sight.time >= since), seen.last())
    else {
        return f64::NAN;
    };
    let rate = path.rate.at(Time::from_secs(last.time));
    (last.departed - first.departed) as f64 / rate / (last.time - first.time)
}

/// A bound, or a dash if there is none.
fn bound(packets: f64) -> String {
    if packets.is_finite() { format!("{packets:.1}") } else { "-".into() }
}

fn compare(script: &Script) {
    println!("{}: {} ({} s)", script.name, script.shows, script.lasts);
    for side in [Side::Ours, Side::Theirs] {
        let seen = watch(side, &script.path, script.lasts, 1, false);
        let last = seen.last().expect("a script lasts");
        let half = script.lasts / 2.0;
        println!(
            "  {:6}  second half: utilisation {:.3} · at the end: max_bw {:.0}, min_rtt {:.1} ms, \
             longterm {}, shortterm {}, window {:.1}, dropped {}",
            side.name(),
            utilisation(&seen, half, &script.path),
            last.shown.max_bw,
            last.shown.min_rtt,
            bound(last.shown.inflight_longterm),
            bound(last.shown.inflight_shortterm),
            last.shown.window,
            last.dropped,
        );
        print_states(&seen);
    }
    println!();
}

fn print_round(sight: &Seen) -> String {
    let shown = &sight.shown;
    format!(
        "{:8} {:4.2} {:6.0} {:6.0} {:5.1} {:>6} {:>6} {:6.1} {:4} {:4} {:5}",
        shown.state,
        shown.pacing_gain,
        shown.max_bw,
        shown.bw,
        shown.min_rtt,
        bound(shown.inflight_longterm),
        bound(shown.inflight_shortterm),
        shown.window,
        sight.in_flight,
        sight.queue,
        sight.dropped,
    )
}

/// Each round trip of 40 ms of both, side by side.
fn rounds(script: &Script, verbose: bool) {
    println!("{}: {}", script.name, script.shows);
    let sides = [Side::Ours, Side::Theirs].map(|side| {
        if verbose {
            println!("losses of {}", side.name());
        }
        watch(side, &script.path, script.lasts, 1, verbose)
    });
    let columns = "state    gain max_bw     bw   rtt   long  short window  fli  que drops";
    println!("{:6}  ours: {columns}  | noq: {columns}", "time");
    for (ours, theirs) in sides[0].iter().zip(&sides[1]).skip(3).step_by(4) {
        println!("{:6.2}  {}  | {}", ours.time, print_round(ours), print_round(theirs));
    }
}

/// The known comparison: utilisations of 100 Mbit/s and 40 ms from 10 s to 40 s, of five seeds.
fn utilisations() {
    println!("utilisation in %, 100 Mbps, 40 ms, drop-tail, 10 s to 40 s: mean of 5 seeds (range)");
    println!("packets   {:>20} {:>20} {:>20}", "ours", "noq", "noq, its pacer");
    for buffer in [10, 20, 33, 67, 167, 333, 667] {
        let path = scripts::known(buffer);
        let cells = [Side::Ours, Side::Theirs, Side::TheirsPaced].map(|side| {
            let found: Vec<f64> = (1..=5).map(|seed| busy(side, &path, seed)).collect();
            let mean = found.iter().sum::<f64>() / found.len() as f64;
            let least = found.iter().copied().fold(f64::INFINITY, f64::min);
            let most = found.iter().copied().fold(0.0, f64::max);
            format!("{:.1} ({:.1} to {:.1})", 100.0 * mean, 100.0 * least, 100.0 * most)
        });
        println!("{buffer:7}   {:>20} {:>20} {:>20}", cells[0], cells[1], cells[2]);
    }
}

fn busy(side: Side, path: &Path, seed: u64) -> f64 {
    let path = path.clone();
    let run = move || {
        let (since, end) = (Time::from_secs(10.0), Time::from_secs(40.0));
        let (sent, seconds) = match side {
            Side::Ours => departures(Ours::new(seed), &path, Spacing::Even, seed, since, end),
            Side::Theirs => departures(Theirs::new(seed), &path, Spacing::Even, seed, since, end),
            Side::TheirsPaced => {
                departures(Theirs::new(seed), &path, Spacing::Bucket, seed, since, end)
            }
        };
        sent as f64 / path.rate.at(end) / seconds
    };
    thread::spawn(run).join().expect("a run does not panic")
}

fn departures<L: Law>(
    law: L,
    path: &Path,
    spacing: Spacing,
    seed: u64,
    since: Time,
    end: Time,
) -> (u64, f64) {
    let mut run = Run::new(law, path, spacing, seed, since);
    run.until(end);
    (run.counts.departed, end.since(since).seconds())
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let scripts = scripts::all();
    let find = |name: &str| scripts.iter().find(|script| script.name == name);
    match words[..] {
        [] => {
            scripts.iter().for_each(compare);
            utilisations();
        }
        ["utilisation"] => utilisations(),
        ["scripts"] => scripts.iter().for_each(compare),
        ["rounds", name] if find(name).is_some() => {
            find(name).into_iter().for_each(|script| rounds(script, false));
        }
        ["losses", name] if find(name).is_some() => {
            find(name).into_iter().for_each(|script| rounds(script, true));
        }
        _ => {
            let names: Vec<&str> = scripts.iter().map(|script| script.name).collect();
            eprintln!("try nothing, utilisation, scripts, or rounds or losses and a script:");
            eprintln!("{}", names.join(" "));
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

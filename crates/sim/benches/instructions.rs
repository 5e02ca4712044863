//! Instructions per packet of small cases, counted by valgrind, beside those that
//! `instructions.txt` keeps, so that speed does not leak away unseen. `make test-instructions`
//! fails if a case is off by more than 3 %; `make bless-instructions` keeps what is found, and
//! the commit says why.
//!
//! Each case runs twice in a process of its own, once for little more than its birth, so that what
//! is counted is the work per packet.

#[path = "../tests/dumbbell/dumbbell.rs"]
#[expect(dead_code, reason = "the tests use all of it")]
mod dumbbell;

use dumbbell::Dumbbell;
use narrows_control::Gaps;
use narrows_router::registry::{self, Placement};
use narrows_router::{Discipline, Limit};
use narrows_settings::Given;
use narrows_transport::tcp::Habits;
use narrows_units::{Duration, Rate};
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, ExitCode, Output};
use std::thread::{self, available_parallelism};

/// A case may differ by this much from the stored figure (ratio). A gain is kept too, lest it be
/// lost again unseen.
const TOLERANCE: f64 = 0.03;
/// Simulated time in which next to nothing is sent.
const BIRTH: Duration = Duration::from_millis(1);

struct Case {
    name: &'static str,
    dumbbell: fn() -> Dumbbell,
}

/// A small form of each case of `crates/scenario/benches/speed.rs`, by its letter, and of what
/// that leaves out.
///
/// The first three are the first seconds of whole cases, in which losses are as rare as they are in
/// use: (a), (a) with RTTs spread by half, and Linux's habits.
const CASES: [Case; 19] = [
    Case { name: "A", dumbbell: whole },
    Case {
        name: "A spread",
        dumbbell: || Dumbbell { rtt_step: Duration::from_millis(1), ..whole() },
    },
    Case { name: "linux", dumbbell: by_default },
    Case { name: "a", dumbbell: || Dumbbell { flows: 20, ..small(200) } },
    Case { name: "b", dumbbell: || Dumbbell { buffer: 2000, ..small(400) } },
    Case { name: "c", dumbbell: || Dumbbell { flows: 50, buffer: 500, ..small(1000) } },
    Case { name: "d", dumbbell: || Dumbbell { flows: 1000, buffer: 500, ..small(1000) } },
    Case { name: "e", dumbbell: || Dumbbell { flows: 5000, buffer: 500, ..small(1000) } },
    Case { name: "f", dumbbell: || etcp(1, 200) },
    Case { name: "g", dumbbell: || etcp(10, 200) },
    Case { name: "h", dumbbell: || etcp(1, 1000) },
    Case {
        name: "i",
        dumbbell: || Dumbbell {
            flows: 20,
            buffer: 1000,
            law: "xcp",
            queue: queue("xcp"),
            ..small(400)
        },
    },
    Case {
        name: "j",
        dumbbell: || Dumbbell {
            flows: 20,
            buffer: 2000,
            law: "gwa",
            queue: queue("gwa-rr"),
            ..small(400)
        },
    },
    Case { name: "k", dumbbell: || round_robin(10) },
    Case { name: "l", dumbbell: || round_robin(1000) },
    Case { name: "quic", dumbbell: || Dumbbell { quic: true, flows: 20, ..small(200) } },
    Case { name: "cubic", dumbbell: || linux("cubic") },
    Case { name: "bbr", dumbbell: || linux("bbr") },
    Case {
        name: "paced",
        dumbbell: || Dumbbell { pacing: Some(Gaps::Even), flows: 20, ..small(200) },
    },
];

/// 50 flows over 1 Gbps, 100 ms and 20 packets for 5 s.
fn whole() -> Dumbbell {
    Dumbbell {
        flows: 50,
        rtt: Duration::from_millis(100),
        duration: Duration::from_millis(5000),
        ..small(1000)
    }
}

/// What users run unless they say otherwise: CUBIC over Linux, in bursts of a millisecond.
fn by_default() -> Dumbbell {
    Dumbbell { law: "cubic", buffer: 500, habits: Habits::LINUX, quantum: None, ..whole() }
}

/// `megabits` for 1 s.
fn small(megabits: u64) -> Dumbbell {
    Dumbbell {
        rate: Rate::from_megabits(megabits),
        rtt: Duration::from_millis(40),
        duration: Duration::from_millis(1000),
        warmup: Duration::ZERO,
        ..Dumbbell::default()
    }
}

fn etcp(flows: u32, megabits: u64) -> Dumbbell {
    Dumbbell { law: "etcp", pacing: Some(Gaps::Exponential), flows, ..small(megabits) }
}

fn round_robin(flows: u32) -> Dumbbell {
    Dumbbell { queue: Discipline::RoundRobin, flows, buffer: 200, ..small(400) }
}

/// `law` as Linux has it, packet by packet.
fn linux(law: &'static str) -> Dumbbell {
    Dumbbell { law, flows: 50, buffer: 500, habits: Habits::LINUX, ..small(1000) }
}

/// The queue called `name`, as it comes.
fn queue(name: &str) -> Discipline {
    let place = Placement { limit: Limit::Packets(1000), packet: 1000 };
    let entry = registry::find(name).expect("a queue");
    entry.build(&Given::default(), &place).expect("its settings")
}

impl Case {
    /// Runs it here for `duration` and prints the packets delivered.
    fn run(&self, duration: Duration) {
        println!("{}", Dumbbell { duration, ..(self.dumbbell)() }.run().delivered());
    }

    /// Instructions per packet delivered; `None` if valgrind is not there.
    fn instructions(&self) -> Option<f64> {
        let birth = count(self.name, "birth")?;
        let run = count(self.name, "run")?;
        Some((run.0 - birth.0) / run.1)
    }
}

/// Instructions per packet of each case; `None` if valgrind is not there. Every core counts.
fn count_all() -> Option<Vec<f64>> {
    let workers = available_parallelism().map_or(1, usize::from);
    let counted = |worker| {
        let own = CASES.iter().skip(worker).step_by(workers);
        own.map(Case::instructions).collect::<Option<Vec<f64>>>()
    };
    let parts = thread::scope(|scope| {
        let started: Vec<_> =
            (0..workers).map(|worker| scope.spawn(move || counted(worker))).collect();
        let joined =
            started.into_iter().map(|part| part.join().expect("a case that can be counted"));
        joined.collect::<Option<Vec<_>>>()
    })?;
    Some((0..CASES.len()).map(|case| parts[case % workers][case / workers]).collect())
}

/// Instructions and packets of one run under valgrind.
fn count(case: &str, what: &str) -> Option<(f64, f64)> {
    let myself = std::env::current_exe().ok()?;
    let Output { stdout, stderr, status } = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(myself)
        .args(["--one", case, what])
        .output()
        .ok()?;
    assert!(status.success(), "{case}: {}", String::from_utf8_lossy(&stderr));
    let said = String::from_utf8_lossy(&stderr);
    let total = said.lines().find_map(|line| line.split_once("Collected :"));
    let total = total.expect("callgrind says what it collected").1.trim();
    let packets = String::from_utf8_lossy(&stdout);
    let number = |text: &str| text.trim().parse().expect("a number");
    Some((number(total), number(&packets)))
}

/// The stored figure of `case` in `kept`, lines of a name and a number.
fn stored(kept: &str, case: &str) -> Option<f64> {
    let mut lines = kept.lines().filter_map(|line| line.rsplit_once(' '));
    lines.find_map(|(name, number)| (name == case).then(|| number.parse().ok())?)
}

fn compare() -> ExitCode {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/instructions.txt");
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let (mut found, mut moved) = (String::new(), Vec::new());
    let Some(counted) = count_all() else {
        println!("instructions per packet: left out, because valgrind is not installed");
        return ExitCode::SUCCESS;
    };
    for (case, now) in CASES.iter().zip(counted) {
        writeln!(found, "{} {now:.0}", case.name).expect("a string takes it");
        let before = stored(&kept, case.name);
        let change = before.map_or(0.0, |before| now / before - 1.0);
        println!("instructions per packet: {:<15}{now:>6.0}{:>+7.1} %", case.name, 100.0 * change);
        if before.is_none() || change.abs() > TOLERANCE {
            moved.push(case.name);
        }
    }
    if std::env::var_os("NARROWS_BLESS").is_some() {
        std::fs::write(&path, found).expect("a file of the repository can be written");
        return ExitCode::SUCCESS;
    }
    if moved.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!(
        "{}: not within 3 % of the instructions per packet in crates/sim/benches/instructions.txt; \
         find out why, and if that is the price of something, or a gain, run make \
         bless-instructions and say so in the commit",
        moved.join(", ")
    );
    ExitCode::FAILURE
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, name, what] = &arguments[..]
        && flag == "--one"
    {
        let case = CASES.iter().find(|case| case.name == name).expect("a case's name");
        let duration = if what == "birth" { BIRTH } else { (case.dumbbell)().duration };
        case.run(duration);
        return ExitCode::SUCCESS;
    }
    compare()
}

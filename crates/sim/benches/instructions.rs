//! Instructions per packet of five small cases, counted by valgrind, beside those that
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
use narrows_router::Discipline;
use narrows_units::{Duration, Rate};
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, ExitCode, Output};

/// A case may differ by this much from the stored figure (ratio). A gain is kept too, lest it be
/// lost again unseen.
const TOLERANCE: f64 = 0.03;
/// Simulated time in which next to nothing is sent.
const BIRTH: Duration = Duration::from_millis(1);

struct Case {
    name: &'static str,
    dumbbell: fn() -> Dumbbell,
}

const CASES: [Case; 5] = [
    Case { name: "tcp", dumbbell: || Dumbbell { flows: 20, ..small() } },
    Case {
        name: "etcp",
        dumbbell: || Dumbbell { law: "etcp", pacing: Some(Gaps::Exponential), flows: 5, ..small() },
    },
    Case { name: "quic", dumbbell: || Dumbbell { quic: true, flows: 20, ..small() } },
    Case {
        name: "round-robin",
        dumbbell: || Dumbbell { queue: Discipline::RoundRobin, flows: 10, buffer: 100, ..small() },
    },
    Case {
        name: "thousand-flows",
        dumbbell: || Dumbbell {
            flows: 1000,
            buffer: 500,
            rate: Rate::from_megabits(1000),
            ..small()
        },
    },
];

fn small() -> Dumbbell {
    Dumbbell {
        rate: Rate::from_megabits(200),
        rtt: Duration::from_millis(40),
        duration: Duration::from_millis(1000),
        warmup: Duration::ZERO,
        ..Dumbbell::default()
    }
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
    let mut lines = kept.lines().filter_map(|line| line.split_once(' '));
    lines.find_map(|(name, number)| (name == case).then(|| number.parse().ok())?)
}

fn compare() -> ExitCode {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/instructions.txt");
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let (mut found, mut moved) = (String::new(), Vec::new());
    for case in &CASES {
        let Some(now) = case.instructions() else {
            println!("instructions per packet: left out, because valgrind is not installed");
            return ExitCode::SUCCESS;
        };
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

//! Each check is turned red by the fault that it is there for, and by no other: a small stack that
//! is right, and the same with one fault.

mod toy;

use narrows_conform::{Profile, Row, Subject, Transport, Verdict, chosen, conform};
use narrows_scenario::Own;
use narrows_units::Duration;
use std::sync::Arc;
use toy::{Fault, Law, Toy};

fn judged(law: Law, fault: Fault, names: &str) -> Vec<Row> {
    let profile = if law == Law::Cubic { Profile::Cubic } else { Profile::Reno };
    let subject =
        Subject { cc: "toy".to_owned(), profile, transport: Transport::Quic, fields: Vec::new() };
    let own = Own { laws: Vec::new(), stacks: vec![Arc::new(Toy(law, fault))] };
    conform(&subject, &own, &chosen(names).expect("they are checks")).expect("it can be run")
}

/// The checks that are red, and what they saw.
fn red(law: Law, fault: Fault, names: &str) -> (String, String) {
    let rows = judged(law, fault, names);
    let is_red =
        |row: &&Row| matches!(row.verdict, Verdict::Fails | Verdict::Differs | Verdict::Undecided);
    let rows: Vec<&Row> = rows.iter().filter(is_red).collect();
    let told = rows.iter().map(|row| format!("{} {}; ", row.check.id, row.seen)).collect();
    (rows.iter().map(|row| row.check.id).collect::<Vec<_>>().join(" "), told)
}

#[test]
fn what_is_right_is_green() {
    let (red, told) = red(Law::Reno, Fault::Nothing, "all");
    assert_eq!(red, "", "{told}");
}

/// CUBIC without its Reno-friendly region: what asks about its curve.
#[test]
fn each_fault_of_cubic_is_red() {
    for (fault, expected) in [
        (Fault::Nothing, ""),
        (Fault::TimeInSilence, "G6"),
        (Fault::TimeInSilenceAtOnce, "G5 G6"),
        (Fault::NoFastConvergence, "D3"),
    ] {
        let (found, told) = red(Law::Cubic, fault, "D1,D3,G2,G3,G5,G6");
        assert_eq!(found, expected, "{fault:?}: {told}");
    }
}

#[test]
fn each_fault_is_red() {
    let second = Duration::from_millis(1000);
    let mut wrong = Vec::new();
    for (fault, expected) in [
        (Fault::Beta(0.7), "U3 U4 D1 D2 D4 D5 D6 R6 E1 E2 E3"),
        (Fault::Beta(0.35), "D1 D2 D4 D5 D6 D8 R4 R6 E1 E2 E3"),
        (Fault::SecondBeta(0.425), "D2 D8"),
        (Fault::ReducesForEach, "D1 D2 D4 D5 D6 D8 R4 R6 R8 E2 E3"),
        (Fault::Threshold(1), "R1"),
        (Fault::TimeoutReduces, "R8 T3"),
        (Fault::BackOffAdds(second), "T1"),
        (Fault::NeverStartsAnew, "T2"),
        (Fault::InitialWindow(200.0), "U1 U4 U7 R4"),
        (Fault::SlowStart(2.0), "U2 U6"),
        (Fault::Avoidance(2.0), "G1"),
        (Fault::Avoidance(0.5), "G1 D8"),
        (Fault::CountsAcks, "U8 G1 D8 R4"),
        (Fault::HearsTheLast, "U6 U8 R9"),
        (Fault::StaysInSlowStart, "U3 U4 G1 G8 D1 D2 D4 D5 D6 D8 R6 R8 E1 E2 E3"),
        (Fault::IgnoresMarks, "U4 E1 E2"),
        (Fault::MarkReducesTwice, "E1 E2 E3"),
        (Fault::LeavesRecoveryAtOnce, "D4 D5 R6 E2 E3"),
        (Fault::StuckAtFloor, "D7 D8"),
        (Fault::StandsStill(150.0), "G1 G8"),
        (Fault::Unpaced, "P1 P5"),
        (Fault::Bursts, "G1 G7 D1 D4 D5 D6 D7 D8 R6 R7 R10 P2 P4 P5 I3 E1 E2 E3"),
        (Fault::Pace(0.5), "G1 D2 D8 R4 R6"),
        (Fault::Pace(4.0), "P1 P3"),
        (Fault::NoProbe, "R5 R8 I5 T1 T2 T5"),
        (Fault::Storm, "T1 T6"),
        (Fault::ScalableBit, "E7"),
        (Fault::DuplicatesReduce, "X3"),
        (Fault::HiddenClock, "X8"),
        (Fault::DoubleAcksReduce, "U6 X3 X4"),
        (Fault::GrowsWhileLimited, "U7 I3 I4"),
        (Fault::GrowsInSilence, "I1"),
        (Fault::NeverValidates, "E5"),
        (Fault::LateProbe, "I5 T2"),
        (Fault::RepairsOnce, "D7 R4"),
        (Fault::ForgetsThreshold, "R8"),
        (Fault::LeastRoundTrip, "D7 R4 R8 P5 I1 T1 T3 T6 T8"),
        (Fault::LeavesWhenLate, "U6 R8"),
    ] {
        let (found, told) = red(Law::Reno, fault, "all");
        if found != expected {
            wrong.push(format!("{fault:?}: \"{found}\" for \"{expected}\": {told}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

//! Paths that are unusual.

use super::{THEN, always, avoidance, if_it_reduces};
use crate::check::{Check, Finding, Group, Range, Stop, Word};
use crate::network::Stimulus;
use crate::trial::Trial;
use crate::wire::Wire;

pub(super) static CHECKS: &[Check] = &[
    Check {
        id: "X3",
        name: "packets that come twice",
        group: Group::Robustness,
        word: Word::Follows,
        source: "RFC 9000 §12.3, RFC 5681 §2",
        quote: "A receiver MUST discard a newly unprotected packet unless it is certain that it \
               has not processed another packet with the same packet number from the same packet \
               number space.",
        asks: "If every tenth packet comes twice for two seconds, the window is as if none did.",
        applies: if_it_reduces,
        measure: |trial| {
            let without = avoidance(THEN + 2.2);
            let with = without.clone().each("twice", (THEN, THEN + 2.0), 10);
            as_without(trial, &with, &without)
        },
    },
    Check {
        id: "X4",
        name: "acknowledgements that come twice",
        group: Group::Robustness,
        word: Word::Follows,
        source: "RFC 9000 §12.3, RFC 5681 §2",
        quote: "A receiver MUST discard a newly unprotected packet unless it is certain that it \
               has not processed another packet with the same packet number from the same packet \
               number space.",
        asks: "If all acknowledgements of two seconds come twice, the window is as if none did.",
        applies: if_it_reduces,
        measure: |trial| {
            let without = avoidance(THEN + 2.2);
            let with = without.clone().twice_acks((THEN, THEN + 2.0));
            as_without(trial, &with, &without)
        },
    },
    Check {
        id: "X5",
        name: "reordering",
        group: Group::Robustness,
        word: Word::Follows,
        source: "RFC 8985 §3.3.2, RFC 4653 §3",
        quote: "The RACK reordering window SHOULD adaptively increase (using the algorithm in \
               \"Step 4: Update RACK reordering window\" below) if the sender receives a \
               Duplicate Selective Acknowledgment (DSACK) option [RFC2883].",
        asks: "If every tenth packet is late by 5 ms: what arrives in four seconds, as a share of \
               what does without.",
        applies: always,
        measure: |trial| {
            let without = avoidance(THEN + 4.0);
            let with = without.clone().tenth_late((THEN, THEN + 4.0), 0.005);
            let arrived = |wire: &Wire| wire.arrived(THEN, THEN + 4.0);
            let share = arrived(&*trial.run(&with)?) / arrived(&*trial.reference(&without)?);
            Ok(Finding::of(share, "of what arrives without"))
        },
    },
    Check {
        id: "X6",
        name: "a path for smaller packets",
        group: Group::Robustness,
        word: Word::Follows,
        source: "RFC 8899 §4.3, RFC 9000 §14.2, §14.3",
        quote: "When the method detects that the current PLPMTU is not supported, DPLPMTUD sets \
               a lower PLPMTU and a lower MPS.",
        asks: "When packets above 1300 bytes no longer pass, and nobody says so: after how many \
               seconds twenty packets that were sent since have arrived.",
        applies: always,
        measure: |trial| {
            let wire = trial.run(&avoidance(25.0).mtu_from(5.0, 1300))?;
            let mut arrivals: Vec<f64> =
                wire.sent(5.0, f64::INFINITY).iter().map(|packet| packet.arrived).collect();
            arrivals.sort_by(f64::total_cmp);
            Ok(Finding::of(arrivals.get(19).copied().unwrap_or(f64::INFINITY) - 5.0, "s"))
        },
    },
    Check {
        id: "X8",
        name: "two runs",
        group: Group::Robustness,
        word: Word::Follows,
        source: "what tests need",
        quote: "",
        asks: "Two runs under one seed are the same, packet by packet: no clock but the one it is \
               given.",
        applies: always,
        measure: |trial| {
            let (one, other) = trial.run_twice(&avoidance(THEN))?;
            let pairs = one.packets.iter().zip(&other.packets);
            let same = pairs.take_while(|(one, other)| one == other).count();
            if same == one.packets.len().max(other.packets.len()) && one.acks == other.acks {
                return Ok(Finding::of(0.0, "packets differ").should(Range::at_most(0.0)));
            }
            let differing = one.packets.len().max(other.packets.len()) - same;
            if differing == 0 {
                return Err(Stop::Undecided("acknowledgements differ".to_owned()));
            }
            Ok(Finding::of(differing as f64, "packets differ").should(Range::at_most(0.0)))
        },
    },
];

/// The window that two seconds of something leave, over that without: it should be the same.
fn as_without(trial: &mut Trial<'_>, with: &Stimulus, without: &Stimulus) -> Result<Finding, Stop> {
    let window = |wire: &Wire| wire.window(THEN + 1.5, THEN + 2.0);
    let ratio = window(&*trial.run(with)?) / window(&*trial.reference(without)?);
    Ok(Finding::of(ratio, "of the window without").should(Range::between(0.9, 1.1)))
}

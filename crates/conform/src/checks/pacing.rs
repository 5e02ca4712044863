//! How packets are spread over a round.

use super::{THEN, always, at_once, avoidance, first_flight, middle, of_quic};
use crate::check::{Check, Finding, Group, Range, Stop, Word};
use crate::network::{Network, Stimulus};
use crate::subject::Transport;
use crate::trial::Trial;
use crate::wire::Wire;
use std::sync::Arc;

pub(super) static CHECKS: &[Check] = &[
    Check {
        id: "P1",
        name: "spread",
        group: Group::Pacing,
        word: Word::Should,
        source: "RFC 9002 §7.7",
        quote: "A sender SHOULD pace sending of all in-flight packets based on input from the \
               congestion controller.",
        asks: "Packets are spread over the round: no silence is longer than a third of it.",
        applies: always,
        measure: |trial| {
            let wire = steady(trial)?;
            Ok(of_quic(trial, Finding::of(silence(&wire), "of a round"), 0.35))
        },
    },
    Check {
        id: "P2",
        name: "bursts",
        group: Group::Pacing,
        word: Word::Should,
        source: "RFC 9002 §7.7, §7.2",
        quote: "Senders SHOULD limit bursts to the initial congestion window; see Section 7.2.",
        asks: "In congestion avoidance no more than ten packets, or 14,720 bytes, leave one behind the \
               other.",
        applies: always,
        measure: |trial| {
            let wire = steady(trial)?;
            let longest = wire.longest_train(2.0, THEN) as f64;
            Ok(of_quic(trial, Finding::of(longest, "packets"), at_once(&wire)))
        },
    },
    Check {
        id: "P3",
        name: "pacing rate",
        group: Group::Pacing,
        word: Word::Follows,
        source: "RFC 9002 §7.7",
        quote: "Using a value for \"N\" that is small, but at least 1 (for example, 1.25) \
               ensures that variations in RTT do not result in underutilization of the \
               congestion window.",
        asks: "What is paced leaves at N·cwnd/srtt with an N of one or more, and of two at most.",
        applies: |subject| match (subject.transport, subject.profile.is_bbr()) {
            (Transport::Quic, false) => Ok(()),
            _ => Err("asked of QUIC, and of laws that do not pace by themselves"),
        },
        measure: rate,
    },
    Check {
        id: "P4",
        name: "bursts at the start",
        group: Group::Pacing,
        word: Word::Should,
        source: "RFC 9002 §7.7, §7.2",
        quote: "Senders SHOULD limit bursts to the initial congestion window; see Section 7.2.",
        asks: "In slow start, too, no more than ten packets, or 14,720 bytes, leave one behind the \
               other.",
        applies: always,
        measure: |trial| {
            let wire = trial.run(&Stimulus::on(Network::L, 0.7))?;
            let at = first_flight(trial, &wire)?;
            let (from, to) = (at + 0.9 * wire.rtt, at + 4.0 * wire.rtt);
            let longest = wire.longest_train(from, to) as f64;
            Ok(of_quic(trial, Finding::of(longest, "packets"), at_once(&wire)))
        },
    },
    Check {
        id: "P5",
        name: "bursts after silence",
        group: Group::Pacing,
        word: Word::Should,
        source: "RFC 9002 §7.7; RFC 5681 §4.1",
        quote: "Senders MUST either use pacing or limit such bursts. Senders SHOULD limit bursts \
               to the initial congestion window; see Section 7.2.",
        asks: "After five silent seconds no more than ten packets leave one behind the other.",
        applies: super::if_rfc,
        measure: super::idle::train_after_silence,
    },
];

/// A flow in congestion avoidance to which nothing happens.
fn steady(trial: &mut Trial<'_>) -> Result<Arc<Wire>, Stop> {
    trial.run(&avoidance(THEN))
}

/// When the rounds begin in which a steady flow is looked at, in seconds.
fn rounds(wire: &Wire) -> impl Iterator<Item = f64> {
    let (count, rtt) = (((THEN - 5.0) / wire.rtt) as u32, wire.rtt);
    (0..count).map(move |number| 5.0 + f64::from(number) * rtt)
}

/// The longest time of a round without a data packet, as a share of it: the middle one of rounds.
fn silence(wire: &Wire) -> f64 {
    middle(rounds(wire).map(|from| wire.silence(from, from + wire.rtt)).collect())
}

/// The rate at which packets leave while they do, over window and RTT: the middle one of rounds,
/// each without its longest silence.
fn rate(trial: &mut Trial<'_>) -> Result<Finding, Stop> {
    let wire = steady(trial)?;
    let silent = silence(&wire);
    if silent > 0.5 {
        let why = format!("it does not pace: {silent:.2} of a round are silent");
        return Err(Stop::Undecided(why));
    }
    let pace = |from: f64| {
        let sent = wire.sent(from, from + wire.rtt);
        let (first, last) = sent.first().zip(sent.last())?;
        let spread = (last.sent - first.sent) / wire.rtt - wire.silence(from, from + wire.rtt);
        let pace = (sent.len() as f64 - 2.0) / spread / wire.window(from, from + wire.rtt);
        // Of a law that has filled the path, too: then a round trip has a queue.
        let known: Vec<f64> =
            sent.iter().filter(|it| !it.lost).map(|it| it.settled - it.sent).collect();
        Some(pace * middle(known) / wire.rtt)
    };
    let pace = middle(rounds(&wire).filter_map(pace).collect());
    Ok(Finding::of(pace, "of cwnd/srtt").should(Range::between(0.97, 2.1)))
}

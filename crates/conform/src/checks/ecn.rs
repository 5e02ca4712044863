//! Congestion marks.

use super::decrease::{of_several, range};
use super::{THEN, always, avoidance, if_it_reduces, losing, ratio};
use crate::check::{Check, Finding, Group, Range, Stop, Word};
use crate::network::Stimulus;
use crate::subject::{Profile, Subject, Transport};
use crate::trial::Trial;
use narrows_signal::Ecn;

pub(super) static CHECKS: &[Check] = &[
    Check {
        id: "E1",
        name: "answer to a mark",
        group: Group::Ecn,
        word: Word::Must,
        source: "RFC 3168 §5 (updated by RFC 8311 §4.1), RFC 9002 §7.3.2, RFC 8511 §3.1",
        quote: "Upon the receipt by an ECN-Capable transport of a single CE packet, the \
               congestion control algorithms followed at the end-systems MUST be essentially the \
               same as the congestion control response to a *single* dropped packet.",
        asks: "A mark reduces the window as a loss does, or to 0.8 or 0.85 (ABE).",
        applies: if_it_reduces,
        measure: |trial| after_marks(trial, &[1]),
    },
    Check {
        id: "E2",
        name: "two marks in a round",
        group: Group::Ecn,
        word: Word::Follows,
        source: "RFC 3168 §6.1.2, RFC 9002 §7.3.2",
        quote: "TCP should not react to congestion indications more than once every window of \
               data (or more loosely, more than once every round-trip time).",
        asks: "Two marks in one round reduce the window once.",
        applies: if_it_reduces,
        measure: |trial| after_marks(trial, &[1, 41]),
    },
    Check {
        id: "E3",
        name: "a mark and a loss in a round",
        group: Group::Ecn,
        word: Word::Follows,
        source: "RFC 3168 §6.1.2, RFC 9002 §7.3.2",
        quote: "That is, the TCP sender's congestion window should be reduced only once in \
               response to a series of dropped and/or CE packets from a single window of data.",
        asks: "A mark and a loss in one round reduce the window once.",
        applies: if_it_reduces,
        measure: |trial| {
            let stimulus = avoidance(THEN + 0.7).mark(THEN, &[1]).lose(THEN, &[41]);
            let found = of_marks(trial, &stimulus)?;
            Ok(of_several(trial.subject, found))
        },
    },
    Check {
        id: "E4",
        name: "retransmissions cannot be marked",
        group: Group::Ecn,
        word: Word::Must,
        source: "RFC 3168 §6.1.5 (updated by RFC 8311 §4.3)",
        quote: "This document specifies ECN-capable TCP implementations MUST NOT set either ECT \
               codepoint (ECT(0) or ECT(1)) in the IP header for retransmitted data packets \
               [...]",
        asks: "What TCP sends again has no ECT.",
        applies: if_tcp,
        measure: |trial| {
            let stimulus = avoidance(THEN + 0.7).lose(THEN, &[1]).with_ecn();
            let wire = trial.run(&stimulus)?;
            let again: Vec<_> = wire.packets.iter().filter(|packet| packet.repeats).collect();
            if again.is_empty() || wire.packets.iter().all(|it| it.ecn == Ecn::NotCapable) {
                return Err(Stop::Undecided("nothing was sent again, or without ECN".to_owned()));
            }
            let capable = again.iter().filter(|packet| packet.ecn != Ecn::NotCapable).count();
            Ok(Finding::of(capable as f64, "of them with ECT").must(Range::at_most(0.0)))
        },
    },
    Check {
        id: "E5",
        name: "bits that a path takes off",
        group: Group::Ecn,
        word: Word::Must,
        source: "RFC 9000 §13.4.2.2, §13.4.2.1",
        quote: "If validation fails, then the endpoint MUST disable ECN. It stops setting the \
               ECT codepoint in IP packets that it sends, assuming that either the network path \
               or the peer does not support ECN.",
        asks: "If the path takes ECN's bits off, QUIC no longer sends them: their share of packets \
               seven seconds later.",
        applies: always,
        measure: |trial| {
            let wire = trial.run(&capable(trial.subject, avoidance(THEN).clear()))?;
            if wire.packets.iter().all(|packet| packet.ecn == Ecn::NotCapable) {
                return Err(Stop::NotAsked("no packet may be marked".to_owned()));
            }
            let sent = wire.sent(THEN - 1.0, THEN);
            let capable = sent.iter().filter(|packet| packet.ecn != Ecn::NotCapable).count();
            let found = Finding::of(capable as f64 / sent.len().max(1) as f64, "of packets");
            let is_quic = trial.subject.transport == Transport::Quic;
            Ok(if is_quic { found.must(Range::at_most(0.0)) } else { found })
        },
    },
    Check {
        id: "E6",
        name: "many marks under a scalable law",
        group: Group::Ecn,
        word: Word::Should,
        source: "RFC 8257 §3.3, RFC 9331 §4.3",
        quote: "Rather than always halving the congestion window as described in [RFC3168], the \
               sender SHOULD update cwnd as follows:",
        asks: "If every tenth packet is marked, a round's marks reduce the window by a twentieth, \
               which its growth of a packet makes good at twenty packets, or at ten if only every \
               second round brings growth.",
        applies: if_scalable,
        measure: |trial| {
            let marks = avoidance(THEN + 12.0).each("mark", (THEN, THEN + 12.0), 10);
            let wire = trial.run(&marks)?;
            let sent = wire.sent(THEN + 6.0, THEN + 12.0).len() as f64;
            let window = sent * wire.rtt / 6.0;
            Ok(Finding::of(window, "packets").must(Range::between(9.0, 23.0)))
        },
    },
    Check {
        id: "E7",
        name: "ECT(1) only of scalable laws",
        group: Group::Ecn,
        word: Word::Must,
        source: "RFC 8311 §4.2, RFC 9331 §4.3",
        quote: "Protocols and senders MUST NOT use the ECT(1) codepoint to indicate ECT unless \
               otherwise specified by an Experimental RFC in the IETF document stream.",
        asks: "ECT(1) says that the law is scalable, and only such a law sets it.",
        applies: always,
        measure: |trial| {
            let wire = trial.run(&capable(trial.subject, avoidance(THEN)))?;
            if wire.packets.iter().all(|packet| packet.ecn == Ecn::NotCapable) {
                return Err(Stop::Undecided("no packet may be marked".to_owned()));
            }
            let first = wire.packets.iter().take(100);
            let scalable = first.filter(|packet| packet.ecn == Ecn::Scalable).count() as f64;
            let found = Finding::of(scalable, "of 100 packets with ECT(1)");
            Ok(if if_scalable(trial.subject).is_ok() {
                found
            } else {
                found.must(Range::at_most(0.0))
            })
        },
    },
    Check {
        id: "E8",
        name: "loss under a scalable law",
        group: Group::Ecn,
        word: Word::Must,
        source: "RFC 9331 §4.3 (item 2), RFC 8257 §3.5",
        quote: "A DCTCP sender MUST react to loss episodes in the same way as conventional TCP, \
               including fast retransmit and fast recovery algorithms, as specified in \
               [RFC5681].",
        asks: "A loss reduces the window as Reno's or CUBIC's.",
        applies: if_scalable,
        measure: |trial| {
            let (wire, lost) = losing(trial, &[1])?;
            Ok(Finding::of(ratio(&wire, &lost)?, "").must(Range::between(0.49, 0.74)))
        },
    },
];

/// The same with a flow that may be marked; scalable laws ask for that themselves.
fn capable(subject: &Subject, stimulus: Stimulus) -> Stimulus {
    if if_scalable(subject).is_ok() { stimulus } else { stimulus.with_ecn() }
}

fn if_scalable(subject: &Subject) -> Result<(), &'static str> {
    match subject.profile {
        Profile::Prague | Profile::Dctcp => Ok(()),
        _ => Err("asked of scalable laws only"),
    }
}

/// Only TCP says on the wire what it sends again.
pub(super) fn if_tcp(subject: &Subject) -> Result<(), &'static str> {
    match subject.transport {
        Transport::Tcp if !subject.cc.contains(':') || subject.profile != Profile::Any => Ok(()),
        _ => Err("asked of TCP only"),
    }
}

fn after_marks(trial: &mut Trial<'_>, numbers: &[u64]) -> Result<Finding, Stop> {
    of_marks(trial, &avoidance(THEN + 0.7).mark(THEN, numbers))
}

/// The ratio of windows after the first mark: that of a loss, or ABE's.
fn of_marks(trial: &mut Trial<'_>, stimulus: &Stimulus) -> Result<Finding, Stop> {
    let wire = trial.run(stimulus)?;
    let none = || Stop::Undecided("no packet may be marked".to_owned());
    let marked = wire.marked(THEN - 0.1).next().copied().ok_or_else(none)?;
    let found = ratio(&wire, &marked)?;
    let abe = Range::between(0.78, 0.9);
    let is_abe = found > 0.76;
    let words = if is_abe { "as ABE" } else { "as a loss" };
    Ok(Finding::of(found, "").must(if is_abe { abe } else { range(trial.subject) }).told(words))
}

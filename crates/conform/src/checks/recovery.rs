//! What happens until a loss is repaired.

use super::decrease::of_several;
use super::{THEN, always, avoidance, if_it_reduces, if_rfc, losing, of_quic, ratio};
use crate::check::{Check, Finding, Group, Range, Stop, Word};
use crate::network::{ACCESS, ACCESS_DELAY, Network, Stimulus};
use crate::subject::{Profile, Transport};
use crate::trial::Trial;
use crate::wire::{Packet, Wire};

pub(super) static CHECKS: &[Check] = &[
    Check {
        id: "R1",
        name: "reordering threshold",
        group: Group::Recovery,
        word: Word::Should,
        source: "RFC 9002 §6.1.1, RFC 5681 §3.2",
        asks: "A packet that two others have overtaken is not lost.",
        applies: if_it_reduces,
        measure: |trial| {
            let late = overtaken_by_two(&*trial.run(&avoidance(THEN + 0.7))?)?;
            let wire = trial.run(&avoidance(THEN + 0.7).late(THEN, late))?;
            Ok(Finding::of(at_then(&wire)?, "").should(Range::at_least(0.97)))
        },
    },
    Check {
        id: "R2",
        name: "late by 20 ms",
        group: Group::Recovery,
        word: Word::May,
        source: "RFC 8985 §6.2, RFC 4015",
        asks: "A packet that comes late, when it has been taken for lost: the window afterwards; 1 \
               if the reduction was undone.",
        applies: if_it_reduces,
        measure: |trial| {
            let wire = trial.run(&avoidance(THEN + 0.7).late(THEN, 0.02))?;
            Ok(Finding::of(at_then(&wire)?, ""))
        },
    },
    Check {
        id: "R3",
        name: "undo",
        group: Group::Recovery,
        word: Word::May,
        source: "RFC 9438 §4.9.2",
        asks: "Twenty rounds later.",
        applies: if_it_reduces,
        measure: |trial| {
            let wire = trial.run(&avoidance(THEN + 1.3).late(THEN, 0.02))?;
            let before = wire.window(THEN, THEN + 0.95 * wire.rtt);
            let at = THEN + 20.0 * wire.rtt;
            Ok(Finding::of(wire.window(at, at + wire.rtt) / before, ""))
        },
    },
    Check {
        id: "R5",
        name: "tail loss",
        group: Group::Recovery,
        word: Word::Must,
        source: "RFC 9002 §6.2, RFC 8985 §7",
        asks: "If the last three packets of a file are lost, a probe repairs that: the file arrives \
               later by three rounds, a probe timeout of three more and 200 ms at most.",
        applies: if_rfc,
        measure: tail,
    },
    Check {
        id: "R6",
        name: "end of recovery",
        group: Group::Recovery,
        word: Word::Must,
        source: "RFC 9002 §7.3.2, RFC 6582",
        asks: "Twenty losses over one window are one reduction: recovery does not end before a \
               packet sent after the reduction is acknowledged.",
        applies: if_it_reduces,
        measure: |trial| {
            let numbers: Vec<u64> = (0..20).map(|place| 1 + 5 * place).collect();
            let (wire, lost) = losing(trial, &numbers)?;
            let range = match trial.subject.profile {
                Profile::Cubic => Range::between(0.66, 0.74),
                _ => Range::between(0.47, 0.54),
            };
            Ok(of_several(trial.subject, ratio(&wire, &lost)?, range))
        },
    },
    Check {
        id: "R7",
        name: "bursts in recovery",
        group: Group::Recovery,
        word: Word::Should,
        source: "RFC 9002 §7.7, RFC 9937",
        asks: "No more than ten packets leave one behind the other while a loss is repaired.",
        applies: always,
        measure: |trial| {
            let (wire, lost) = losing(trial, &[1])?;
            let (from, to) = (lost.sent + wire.rtt, lost.sent + 3.0 * wire.rtt);
            let longest = wire.longest_train(from, to) as f64;
            Ok(of_quic(trial, Finding::of(longest, "packets"), 10.0))
        },
    },
    Check {
        id: "R9",
        name: "few acknowledgements",
        group: Group::Recovery,
        word: Word::Should,
        source: "RFC 9002 §7.3.1, RFC 5681 §3.1",
        asks: "If every second acknowledgement is lost, nine tenths as much arrives.",
        applies: always,
        measure: |trial| {
            let used = |wire: &Wire| wire.used(Network::THIN.rate, 3.0, 8.0);
            let all = used(&*trial.run(&Stimulus::on(Network::THIN, 8.0))?);
            let half = Stimulus::on(Network::THIN, 8.0).thin_acks((2.0, 8.0));
            let half = used(&*trial.run(&half)?);
            Ok(Finding::of(half / all, "").should(Range::at_least(0.9)))
        },
    },
];

/// By how many seconds the first packet after 8 s must be late so that the next two overtake it.
fn overtaken_by_two(wire: &Wire) -> Result<f64, Stop> {
    let mut leaves = 0.0;
    let mut come = wire.sent(THEN - 5e-3, f64::INFINITY).iter().map(|packet| {
        leaves = packet.sent.max(leaves) + 8.0 * f64::from(packet.bytes) / ACCESS;
        leaves + ACCESS_DELAY
    });
    let none = || Stop::Undecided("nothing was sent after 8 s".to_owned());
    let first = come.find(|at| *at >= THEN).ok_or_else(none)?;
    let (second, third) = (come.nth(1).ok_or_else(none)?, come.next().ok_or_else(none)?);
    Ok(f64::midpoint(second, third) - first)
}

/// The ratio of windows after 8 s and before.
fn at_then(wire: &Wire) -> Result<f64, Stop> {
    let first = wire.sent(THEN - 1e-3, f64::INFINITY).first();
    let none = || Stop::Undecided("nothing was sent after 8 s".to_owned());
    ratio(wire, first.ok_or_else(none)?)
}

/// By how many rounds a file arrives later if its last three packets are lost.
fn tail(trial: &mut Trial<'_>) -> Result<Finding, Stop> {
    const FILE: u64 = 140_000;
    let base = trial.run(&Stimulus::on(Network::F, 3.0).sized(FILE))?;
    // What leaves alone behind it are probes of the path.
    let triple = |three: &[Packet]| three[2].sent - three[0].sent < 0.5 * base.rtt;
    let last = base.packets.windows(3).rposition(triple).map(|place| place + 2);
    let Some(last) = last.filter(|last| *last >= 10) else {
        return Err(Stop::Undecided(format!("the file took {} packets", base.packets.len())));
    };
    let numbers: Vec<u64> = (last as u64 - 1..=last as u64 + 1).collect();
    let stimulus = Stimulus::on(Network::F, 3.0).sized(FILE).lose(0.0, &numbers);
    let wire = trial.run(&stimulus)?;
    let bytes: f64 = base.packets[..=last].iter().map(|packet| f64::from(packet.bytes)).sum();
    let late = wire.time_to(bytes) - base.time_to(bytes);
    let found = Finding::of(late / wire.rtt, "rounds");
    // Without a probe TCP waits for its timer, of a second and more (RFC 6298, §2.4).
    Ok(match trial.subject.transport {
        Transport::Tcp => found.must(Range::at_most(27.0)).should(Range::at_most(10.0)),
        _ => found.must(Range::at_most(10.0)),
    })
}

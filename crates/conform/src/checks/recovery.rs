//! What happens until a loss is repaired.

use super::decrease::of_several;
use super::{
    THEN, always, at_once, avoidance, first_lost, if_it_reduces, if_rfc, losing, of_quic, ratio,
};
use crate::check::{Check, Finding, Group, Range, Stop, Verdict, Word};
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
        quote: "In order to remain similar to TCP, implementations SHOULD NOT use a packet \
               threshold less than 3; see [RFC5681].",
        asks: "A packet that two others have overtaken is not lost.",
        applies: if_it_reduces,
        measure: |trial| {
            let late = overtaken_by_two(&*trial.reference(&avoidance(THEN + 0.7))?)?;
            let wire = trial.run(&avoidance(THEN + 0.7).late(THEN, late))?;
            Ok(Finding::of(at_then(&wire)?, "").should(Range::at_least(0.97)))
        },
    },
    Check {
        id: "R2",
        name: "late by 20 ms",
        group: Group::Recovery,
        word: Word::May,
        source: "RFC 9438 §4.9.2, RFC 8985 §3.3.2",
        quote: "Once the previously declared packet loss is confirmed to be spurious, CUBIC MAY \
               restore the original values of the above-mentioned variables as follows if the \
               current cwnd is lower than cwnd_prior.",
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
        quote: "Once the previously declared packet loss is confirmed to be spurious, CUBIC MAY \
               restore the original values of the above-mentioned variables as follows if the \
               current cwnd is lower than cwnd_prior.",
        asks: "The window twenty rounds after a packet was late by 20 ms, over that before.",
        applies: if_it_reduces,
        measure: |trial| {
            let wire = trial.run(&avoidance(THEN + 1.3).late(THEN, 0.02))?;
            let before = wire.window(THEN, THEN + 0.95 * wire.rtt);
            let at = THEN + 20.0 * wire.rtt;
            Ok(Finding::of(wire.window(at, at + wire.rtt) / before, ""))
        },
    },
    Check {
        id: "R4",
        name: "a lost repair",
        group: Group::Recovery,
        word: Word::Follows,
        source: "RFC 8985 §3.1, RFC 9002 §6.1",
        quote: "Since the time-based logic of RACK applies equally to retransmissions and \
               original transmissions, it can detect lost retransmissions as well.",
        asks: "If the packet that repairs a loss is lost, too, what follows it says so: a file \
               arrives later by four rounds at most, without waiting for a timer.",
        applies: if_rfc,
        measure: repair,
    },
    Check {
        id: "R5",
        name: "tail loss",
        group: Group::Recovery,
        word: Word::Must,
        source: "RFC 9002 §6.2.4, §6.2; RFC 8985 §7.3",
        quote: "When a PTO timer expires, a sender MUST send at least one ack-eliciting packet \
               in the packet number space as a probe.",
        asks: "If the last three packets of a file are lost, a probe repairs that: the file arrives \
               later by three rounds, a probe timeout of three more and 200 ms at most.",
        applies: if_rfc,
        measure: tail,
    },
    Check {
        id: "R6",
        name: "end of recovery",
        group: Group::Recovery,
        word: Word::Follows,
        source: "RFC 9002 §7.3.2, RFC 6582 §3.2",
        quote: "A recovery period ends and the sender enters congestion avoidance when a packet \
               sent during the recovery period is acknowledged.",
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
            let found = Finding::of(ratio(&wire, &lost)?, "").must(range);
            Ok(of_several(trial.subject, found))
        },
    },
    Check {
        id: "R7",
        name: "bursts in recovery",
        group: Group::Recovery,
        word: Word::Should,
        source: "RFC 9002 §7.7, RFC 9937 §6.4",
        quote: "Senders MUST either use pacing or limit such bursts. Senders SHOULD limit bursts \
               to the initial congestion window; see Section 7.2.",
        asks: "No more than ten packets leave one behind the other while a loss is repaired.",
        applies: always,
        measure: |trial| {
            let (wire, lost) = losing(trial, &[1])?;
            let (from, to) = (lost.sent + wire.rtt, lost.sent + 3.0 * wire.rtt);
            let longest = wire.longest_train(from, to) as f64;
            Ok(of_quic(trial, Finding::of(longest, "packets"), at_once(&wire)))
        },
    },
    Check {
        id: "R8",
        name: "slow start after a long silence",
        group: Group::Recovery,
        word: Word::Follows,
        source: "RFC 5681 §3.1, RFC 9002 §7.3.2",
        quote: "On the other hand, when a TCP sender detects segment loss using the \
               retransmission timer and the given segment has already been retransmitted by way \
               of the retransmission timer at least once, the value of ssthresh is held \
               constant.",
        asks: "After three seconds in which all was lost slow start goes on to half of what one \
               reduction leaves at least: the losses reduced the threshold once.",
        applies: if_it_reduces,
        measure: threshold,
    },
    Check {
        id: "R9",
        name: "few acknowledgements",
        group: Group::Recovery,
        word: Word::Recommended,
        source: "RFC 5681 §3.1, RFC 9002 §7.3.3",
        quote: "The RECOMMENDED way to increase cwnd during congestion avoidance is to count the \
               number of bytes that have been acknowledged by ACKs for new data.",
        asks: "If every second acknowledgement is lost, nine tenths as much arrives.",
        applies: always,
        measure: |trial| {
            let used = |wire: &Wire| wire.used(Network::THIN.rate, 3.0, 8.0);
            let all = used(&*trial.reference(&Stimulus::on(Network::THIN, 8.0))?);
            let half = Stimulus::on(Network::THIN, 8.0).thin_acks((2.0, 8.0));
            let half = used(&*trial.run(&half)?);
            Ok(Finding::of(half / all, "").should(Range::at_least(0.9)))
        },
    },
    Check {
        id: "R10",
        name: "acknowledgements in bunches",
        group: Group::Recovery,
        word: Word::Should,
        source: "draft-ietf-ccwg-bbr §5.5.9 BBR.extra_acked; RFC 9002 §7.7",
        quote: "Senders SHOULD limit bursts to the initial congestion window; see Section 7.2.",
        asks: "If acknowledgements come each 4 ms only, nine tenths as much arrives, and QUIC sends \
               no more at once than ten packets and 4 ms of the path.",
        applies: always,
        measure: |trial| {
            let all = trial.reference(&Stimulus::on(Network::THIN, 8.0))?;
            let bunched = trial.run(&Stimulus::on(Network::THIN, 8.0).gathered_acks(0.004))?;
            let used = |wire: &Wire| wire.used(Network::THIN.rate, 3.0, 8.0);
            let train = bunched.longest_train(3.0, 8.0) as f64;
            let most = at_once(&bunched) + (0.004 * Network::THIN.rate / 8.0 / bunched.size).ceil();
            let quotient = Finding::of(used(&bunched) / used(&all), "of the rate without");
            let found = quotient.should(Range::at_least(0.9)).told(format!("{train:.0} at once"));
            if train > most && found.verdict() == Verdict::Holds {
                return Ok(of_quic(trial, Finding::of(train, "packets at once"), most));
            }
            Ok(found)
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

/// By how many rounds a file arrives later if a packet is lost, and the first after that is known.
fn repair(trial: &mut Trial<'_>) -> Result<Finding, Stop> {
    let file = Stimulus::on(Network::F, 3.0).sized(210_000);
    let base = trial.reference(&file)?;
    let once = file.lose(0.0, &[60]);
    let lost = first_lost(&*trial.run(&once)?, 0.0)?;
    if !lost.settled.is_finite() {
        return Err(Stop::Undecided("the loss was never known".to_owned()));
    }
    let wire = trial.run(&once.lose(lost.settled + ACCESS_DELAY, &[1]))?;
    if wire.lost(0.0).count() < 2 {
        return Err(Stop::Undecided("nothing was sent again".to_owned()));
    }
    let ((packets, arrives), (all, usual)) = (file_arrives(&wire), file_arrives(&base));
    if packets < all {
        let why = format!("of a file of {all} packets {packets} arrived, the repairs included");
        return Err(Stop::Undecided(why));
    }
    let late = (arrives - usual) / wire.rtt;
    Ok(Finding::of(late, "rounds").should(Range::at_most(4.0)))
}

/// Where slow start ends after all of three seconds was lost, as a share of the window before.
fn threshold(trial: &mut Trial<'_>) -> Result<Finding, Stop> {
    let (wire, answer) = super::timeouts::long_silence(trial)?;
    let before = wire.window(super::timeouts::FROM - 0.5, super::timeouts::FROM);
    let rounds = wire.rounds(answer, 20);
    let steps = rounds.windows(2).filter(|pair| pair[1] >= 1.3 * pair[0]);
    let ends = steps.map(|pair| pair[1]).fold(0.0, f64::max);
    let beta = if trial.subject.profile == Profile::Cubic { 0.7 } else { 0.5 };
    let told = format!("{ends:.0} of {before:.0} packets");
    Ok(Finding::of(ends / before, "").should(Range::at_least(0.5 * beta)).told(told))
}

/// The packets of a file that arrived, and when the last did, which may be what repairs one. A
/// packet larger than all before it is a probe of the path.
fn file_arrives(wire: &Wire) -> (usize, f64) {
    let mut largest = 0;
    let of_file = wire.packets.iter().filter(|packet| {
        let probes = packet.bytes > largest;
        largest = largest.max(packet.bytes);
        !probes && packet.arrived.is_finite()
    });
    let arrivals: Vec<f64> = of_file.map(|packet| packet.arrived).collect();
    (arrivals.len(), arrivals.into_iter().fold(0.0, f64::max))
}

/// By how many rounds a file arrives later if its last three packets are lost.
fn tail(trial: &mut Trial<'_>) -> Result<Finding, Stop> {
    const FILE: u64 = 140_000;
    let base = trial.reference(&Stimulus::on(Network::F, 3.0).sized(FILE))?;
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

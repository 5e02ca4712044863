//! The start of a connection.

use super::ecn::if_tcp;
use super::{always, avoidance, first_flight, idle, if_it_reduces, large};
use crate::check::{Check, Finding, Group, Range, Stop, Word};
use crate::network::{Network, Stimulus};
use crate::subject::{Profile, Transport};
use crate::trial::Trial;
use crate::wire::{Packet, Wire};

pub(super) static CHECKS: &[Check] = &[
    Check {
        id: "U1",
        name: "initial window",
        group: Group::Start,
        word: Word::Should,
        source: "RFC 9002 §7.2, RFC 6928 §2",
        quote: "Endpoints SHOULD use an initial congestion window of ten times the maximum \
               datagram size (max_datagram_size), while limiting the window to the larger of \
               14,720 bytes or twice the maximum datagram size.",
        asks: "The first flight is ten packets at most; over QUIC two more may belong to the \
               handshake.",
        applies: always,
        measure: |trial| {
            let wire = trial.run(&Stimulus::on(Network::L, 0.7))?;
            let at = first_flight(trial, &wire)?;
            let first = wire.sent(at, at + 0.9 * wire.rtt).len() as f64;
            let handshake = if trial.subject.transport == Transport::Quic { 2.0 } else { 0.0 };
            Ok(Finding::of(first, "packets").should(Range::at_most(10.0 + handshake)))
        },
    },
    Check {
        id: "U2",
        name: "doubling",
        group: Group::Start,
        word: Word::Must,
        source: "RFC 5681 §3.1, RFC 9002 §7.3.1",
        quote: "During slow start, a TCP increments cwnd by at most SMSS bytes for each ACK \
               received that cumulatively acknowledges new data.",
        asks: "In slow start the window grows by what is acknowledged at most: it doubles.",
        applies: always,
        measure: doubling,
    },
    Check {
        id: "U3",
        name: "slow start ends with a loss",
        group: Group::Start,
        word: Word::Must,
        source: "RFC 9002 §7.3.1, RFC 5681 §3.1",
        quote: "The sender MUST exit slow start and enter a recovery period when a packet is \
               lost or when the ECN-CE count reported by its peer increases.",
        asks: "A loss ends slow start, and the window is reduced as for any loss.",
        applies: if_it_reduces,
        measure: |trial| {
            let wire = trial.run(&avoidance(8.7).lose(8.0, &[1]))?;
            let lost = super::first_lost(&wire, 0.0)?;
            left_slow_start(trial, &wire, &lost)
        },
    },
    Check {
        id: "U4",
        name: "slow start ends with a mark",
        group: Group::Start,
        word: Word::Must,
        source: "RFC 9002 §7.3.1, RFC 3168 §5",
        quote: "The sender MUST exit slow start and enter a recovery period when a packet is \
               lost or when the ECN-CE count reported by its peer increases.",
        asks: "A mark ends slow start as a loss does.",
        applies: if_it_reduces,
        measure: |trial| {
            let wire = trial.run(&Stimulus::on(Network::F, 2.0).mark(0.0, &[200]))?;
            let marked = wire.marked(0.0).next().copied();
            let none = || Stop::Undecided("no packet may be marked".to_owned());
            left_slow_start(trial, &wire, &marked.ok_or_else(none)?)
        },
    },
    Check {
        id: "U5",
        name: "overshoot",
        group: Group::Start,
        word: Word::Should,
        source: "RFC 9438 §4.10, RFC 9406 §4.1, §4.2",
        quote: "In general, CUBIC SHOULD use the HyStart++ slow start algorithm [RFC9406] or MAY \
               use the Reno TCP slow start algorithm [RFC5681] in the rare cases when HyStart++ \
               is not suitable.",
        asks: "HyStart++ leaves slow start before the buffer is full; packets lost by then are told \
               in bandwidth-delay products and buffers.",
        applies: always,
        measure: |trial| {
            let wire = trial.run(&Stimulus::on(Network::M, 4.0))?;
            let lost = wire.lost(0.0).count() as f64;
            let found = Finding::of(lost / (2.0 * Network::M.bdp(wire.size)), "of BDP + buffer");
            let hystart = trial.subject.profile == Profile::Cubic;
            Ok(if hystart { found.should(Range::at_most(0.15)) } else { found })
        },
    },
    Check {
        id: "U6",
        name: "a round that is late",
        group: Group::Start,
        word: Word::Follows,
        source: "RFC 9406 §4.1, §4.2",
        quote: "If the RTT reduces during CSS, it's concluded that the RTT spike was not related \
               to congestion caused by the connection sending at a rate greater than the ideal \
               send rate, and the connection resumes slow start.",
        asks: "If the acknowledgements of one round of slow start are late by 20 ms, and then are \
               not, slow start goes on: four rounds later the window is half of what it is without \
               at least.",
        applies: if_it_reduces,
        measure: |trial| {
            let late = Stimulus::on(Network::L, 1.1).late_acks((0.5, 0.6), 0.02);
            let window = |wire: &Wire| wire.window(0.97, 1.07);
            let with = window(&*trial.run(&late)?);
            let without = large(window(&*trial.reference(&Stimulus::on(Network::L, 1.1))?))?;
            let found = Finding::of(with / without, "of the window without");
            Ok(found.should(Range::at_least(0.5)))
        },
    },
    Check {
        id: "U7",
        name: "growth of a limited application",
        group: Group::Start,
        word: Word::Should,
        source: "RFC 9002 §7.8, RFC 9438 §4.6, §5.8",
        quote: "When this occurs, the congestion window SHOULD NOT be increased in either slow \
               start or congestion avoidance.",
        asks: "Nine seconds of 1 Mbps let the window grow to twice the largest flight at most, or \
               leave it the initial one; in the first round without that limit it may grow by what \
               was still under way.",
        applies: if_it_reduces,
        measure: |trial| {
            let limited = Stimulus::on(Network::L, 10.2).offered(0.0, 1000).offered_each(
                (1.0, 10.0),
                0.05,
                6250,
            );
            let wire = trial.run(&limited.endless_from(10.0))?;
            let round = idle::is_limited(&wire, 10.0, 20.0)?;
            let (used, most) = (wire.largest_flight(0.0, 9.99), idle::peak(&wire, 10.0));
            let found = Finding::of(most, "packets").told(format!("of {used:.0} before"));
            Ok(idle::unless_reno(trial, found, (2.0 * used).max(10.0) + round + 2.0))
        },
    },
    Check {
        id: "U8",
        name: "start with few acknowledgements",
        group: Group::Start,
        word: Word::Follows,
        source: "RFC 9002 §7.3.1, RFC 9406 §4.2",
        quote: "While a sender is in slow start, the congestion window increases by the number \
               of bytes acknowledged when each acknowledgment is processed.",
        asks: "The window grows by bytes acknowledged, not by acknowledgements: if every second one \
               is lost, a megabyte takes three tenths longer at most.",
        applies: always,
        measure: |trial| {
            let all = trial.reference(&Stimulus::on(Network::M, 6.0))?;
            let half = trial.run(&Stimulus::on(Network::M, 6.0).thin_acks((0.0, 6.0)))?;
            let (all, half) = (all.time_to(1e6), half.time_to(1e6));
            // RFC 5681, §3.1, lets TCP grow by one packet for each acknowledgement at most.
            let found = Finding::of(half / all, "");
            let is_tcp = trial.subject.transport == Transport::Tcp;
            Ok(if is_tcp { found } else { found.should(Range::at_most(1.3)) })
        },
    },
    Check {
        id: "U9",
        name: "limited by the receiver",
        group: Group::Start,
        word: Word::Follows,
        source: "RFC 9438 §5.8, §4.6",
        quote: "This can happen if the flow is limited by either the sender application or the \
               receiver application (via the receiver's advertised window) and thus sends less \
               data than what is allowed by the sender's congestion window. CUBIC does not \
               increase its congestion window if a flow is application limited.",
        asks: "Five seconds in which the receiver has room for a hundred packets let the window \
               grow to twice as many at most; in the first round without that limit it may grow \
               by what was still under way.",
        applies: |subject| if_tcp(subject).and_then(|()| if_it_reduces(subject)),
        measure: limited_by_receiver,
    },
];

/// Bytes for which the receiver has room, and until when, in seconds.
const ROOM: u32 = 150_000;
const OPENS: f64 = 5.0;

/// The largest flight in the first round after the receiver's window has opened.
fn limited_by_receiver(trial: &mut Trial<'_>) -> Result<Finding, Stop> {
    let stimulus = Stimulus::on(Network::L, OPENS + 0.4).window_until(OPENS, ROOM);
    let wire = trial.run(&stimulus)?;
    let (room, used) = (f64::from(ROOM) / wire.size, wire.largest_flight(OPENS - 2.0, OPENS));
    if used > 1.1 * room {
        let why = "its acknowledgements are not read here, so that no window is lowered";
        return Err(Stop::NotAsked(why.to_owned()));
    }
    let heard = OPENS + 0.5 * wire.rtt;
    let most = wire.largest_flight(heard, heard + wire.rtt);
    let found = Finding::of(most, "packets").told(format!("of {used:.0} before"));
    Ok(idle::unless_reno(trial, found, 3.0 * room + 2.0))
}

/// The largest ratio of packets sent in a round and in the one before, of five rounds.
fn doubling(trial: &mut Trial<'_>) -> Result<Finding, Stop> {
    let wire = trial.run(&Stimulus::on(Network::L, 0.7))?;
    let at = first_flight(trial, &wire)?;
    let counts = wire.rounds(at - 0.1 * wire.rtt, 5);
    // Two packets more are one of a handshake, and one whose acknowledgement came just before.
    let ratio = |pair: &[f64]| (pair[1] - 2.0) / pair[0];
    // A real receiver acknowledges bursts in lumps, and their last packet when its timer of 40 ms
    // goes off, so that a part of a round comes in the next.
    let over_two = |three: &[f64]| ((three[2] - 2.0) / three[0]).sqrt();
    let largest = if trial.is_real() {
        counts.windows(3).map(over_two).fold(0.0, f64::max)
    } else {
        counts.windows(2).map(ratio).fold(0.0, f64::max)
    };
    let told: Vec<String> = counts.iter().map(|count| format!("{count:.0}")).collect();
    Ok(Finding::of(largest, "a round").must(Range::at_most(2.05)).told(told.join(" ")))
}

/// The window three rounds after `packet` over that in flight when the sender could know of it.
fn left_slow_start(trial: &Trial<'_>, wire: &Wire, packet: &Packet) -> Result<Finding, Stop> {
    let round = wire.rtt;
    if !packet.settled.is_finite() {
        return Err(Stop::Undecided("it was never known".to_owned()));
    }
    let before = large(wire.flight_at(packet.settled - 1e-6))?;
    let window =
        |from: f64| wire.window(packet.sent + from * round, packet.sent + (from + 1.0) * round);
    // What is paced is not yet in flight when the loss is known: up to a sixth of the window.
    let reduced = if trial.subject.profile == Profile::Reno { 0.55 } else { 0.75 };
    let most =
        if trial.subject.transport == Transport::Quic { reduced * 7.0 / 6.0 } else { reduced };
    let growth = window(5.0) / window(3.0);
    if growth > 1.1 {
        let told = format!("and goes on growing, by {:.0} % in two rounds", 100.0 * (growth - 1.0));
        return Ok(Finding::of(growth, "").must(Range::at_most(1.1)).told(told));
    }
    Ok(Finding::of(window(3.0) / before, "").must(Range::at_most(most)))
}

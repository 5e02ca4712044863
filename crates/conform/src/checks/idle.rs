//! What comes after silence, and while the application limits what is sent.

use super::{LARGE, THEN, at_once, avoidance, if_it_reduces, if_rfc, of_quic};
use crate::check::{Check, Finding, Group, Range, Stop, Word};
use crate::network::{Network, Stimulus};
use crate::subject::Transport;
use crate::trial::Trial;
use crate::wire::Wire;
use std::sync::Arc;

pub(super) static CHECKS: &[Check] = &[
    Check {
        id: "I1",
        name: "restart after silence",
        group: Group::Idle,
        word: Word::Should,
        source: "RFC 5681 §4.1, RFC 6928 §2; RFC 9002 §7.8",
        quote: "Therefore, a TCP SHOULD set cwnd to no more than RW before beginning \
               transmission if the TCP has not sent data in an interval exceeding the \
               retransmission timeout.",
        asks: "After five silent seconds TCP begins with ten packets at most, unless it paces, and \
               QUIC with no more than its window was.",
        applies: if_rfc,
        measure: restart,
    },
    Check {
        id: "I3",
        name: "window of a limited application",
        group: Group::Idle,
        word: Word::Should,
        source: "RFC 9002 §7.8, RFC 9438 §4.6, §5.8",
        quote: "When this occurs, the congestion window SHOULD NOT be increased in either slow \
               start or congestion avoidance.",
        asks: "In congestion avoidance a window that is not used does not grow: after twenty \
               seconds of 5 Mbps the flight is no larger than before them.",
        applies: if_it_reduces,
        measure: |trial| {
            let steady = trial.reference(&avoidance(THEN))?;
            let rounds = (30..60).map(|number| f64::from(number) * steady.rtt);
            let windows = rounds.map(|at| steady.window(at, at + steady.rtt));
            let before = super::large(windows.fold(0.0, f64::max))?;
            let stimulus = limited(trial, 23.0, 0.02)?.endless_from(23.0).till(23.2);
            let wire = trial.run(&stimulus)?;
            is_limited(&wire, 23.0, LARGE)?;
            let most = peak(&wire, 23.0);
            let found = Finding::of(most / before, "").told(format!("{most:.0} packets"));
            Ok(unless_reno(trial, found, 1.1))
        },
    },
    Check {
        id: "I4",
        name: "on and off",
        group: Group::Idle,
        word: Word::Should,
        source: "RFC 9002 §7.8, RFC 9438 §4.6, §5.8",
        quote: "When this occurs, the congestion window SHOULD NOT be increased in either slow \
               start or congestion avoidance.",
        asks: "If 250 kB come every 200 ms the window grows to three times that at most.",
        applies: if_it_reduces,
        measure: |trial| {
            let bursts = Stimulus::on(Network::F, 10.2).offered_each((0.0, 10.0), 0.2, 250_000);
            let wire = trial.run(&bursts.endless_from(10.0))?;
            let used = wire.sent(5.0, 10.0).len() as f64 / 25.0;
            if !(50.0..=250.0).contains(&used) {
                return Err(Stop::Undecided(format!("it sent {used:.0} packets each time")));
            }
            let times = Finding::of(peak(&wire, 10.0) / used, "of what was used");
            Ok(unless_reno(trial, times, 3.0))
        },
    },
    Check {
        id: "I5",
        name: "probe timeout of a limited application",
        group: Group::Idle,
        word: Word::Follows,
        source: "RFC 9002 §6.2.1, §6.2.4; RFC 6298 §2 (2.3, 2.4)",
        quote: "The PTO period is the amount of time that a sender ought to wait for an \
               acknowledgment of a sent packet.",
        asks: "After seventeen seconds of 5 Mbps a lost tail is probed for within a round trip, the \
               largest acknowledgement delay and two fifths more (TCP: three seconds).",
        applies: if_rfc,
        measure: probe,
    },
];

/// It should be so much at most; to Reno over TCP only RFC 7661 says so, an experiment.
pub(super) fn unless_reno(trial: &Trial<'_>, found: Finding, most: f64) -> Finding {
    if trial.subject.is_reno_over_tcp() { found } else { found.should(Range::at_most(most)) }
}

/// Payload of a flow which only the network limits that has left by about `at` and arrives: an
/// application that offers so much falls silent just before.
pub(super) fn payload_by(wire: &Wire, at: f64) -> u64 {
    let arrive = wire.sent(0.0, at).iter().filter(|packet| !packet.lost);
    let bytes: f64 = arrive.map(|packet| f64::from(packet.bytes)).sum();
    // Headers of QUIC and of TCP are a twenty-fifth of a packet.
    (0.95 * bytes) as u64
}

/// The largest flight in the round that begins at `from`, in packets.
pub(super) fn peak(wire: &Wire, from: f64) -> f64 {
    wire.largest_flight(from, from + wire.rtt)
}

/// The packets of a round while the application limits, in the second before `until`. Fails if
/// there are more than `most`: then it does not.
pub(super) fn is_limited(wire: &Wire, until: f64, most: f64) -> Result<f64, Stop> {
    let round = wire.sent(until - 1.0, until).len() as f64 * wire.rtt;
    if round > most || round < 1.0 {
        let why = format!("it sent {round:.0} packets a round of what its application offered");
        return Err(Stop::Undecided(why));
    }
    Ok(round)
}

/// A flow in congestion avoidance on network F, which its application limits from 3 s until `until`
/// to 12,500 bytes each `every` seconds.
pub(super) fn limited(trial: &mut Trial<'_>, until: f64, every: f64) -> Result<Stimulus, Stop> {
    let payload = payload_by(&*trial.reference(&avoidance(THEN))?, 3.0);
    Ok(avoidance(until).offered(0.0, payload).offered_each((3.0, until), every, 12_500))
}

/// When what is silent from about 8 s on begins again, in seconds.
const AGAIN: f64 = 13.0;

/// A flow that is silent for five seconds, and the window before.
fn silent(trial: &mut Trial<'_>) -> Result<(Arc<Wire>, f64), Stop> {
    let base = Stimulus::on(Network::D, AGAIN + 1.0).avoidance(100);
    let steady = trial.reference(&base.clone().till(THEN + 1.0))?;
    let payload = payload_by(&steady, THEN);
    let wire = trial.run(&base.offered(0.0, payload).endless_from(AGAIN))?;
    falls_silent(&wire, AGAIN, 4.0)?;
    Ok((wire, steady.window(THEN - 0.5, THEN)))
}

/// The time of the last packet before `until`. Fails if it is less than `least` seconds earlier.
pub(super) fn falls_silent(wire: &Wire, until: f64, least: f64) -> Result<f64, Stop> {
    let last = wire.sent(0.0, until - 1e-3).last().map_or(0.0, |packet| packet.sent);
    if until - last < least {
        return Err(Stop::Undecided("it sent on when its application was silent".to_owned()));
    }
    Ok(last)
}

/// The packets of the first round after a silence.
fn restart(trial: &mut Trial<'_>) -> Result<Finding, Stop> {
    let (wire, before) = silent(trial)?;
    let first = wire.sent(AGAIN, AGAIN + 0.95 * wire.rtt).len() as f64;
    let train = wire.longest_train(AGAIN, AGAIN + wire.rtt);
    let told = format!("at most {train} at once, of a window of {before:.0}");
    if trial.subject.transport == Transport::Quic {
        // What is paced needs more than a round to leave, by a round trip that had a queue.
        let flight = wire.largest_flight(AGAIN, AGAIN + 3.0 * wire.rtt);
        let found = Finding::of(flight, "packets in flight").told(told);
        if trial.subject.profile.is_bbr() {
            return Ok(found);
        }
        return Ok(found.should(Range::at_most((1.1 * before + 3.0).max(12.0))));
    }
    let found = Finding::of(first, "packets").told(told);
    let is_paced = train <= 10 && first > 10.0;
    Ok(if is_paced { found } else { found.should(Range::at_most(11.0)) })
}

/// The longest train of the round after a silence.
pub(super) fn train_after_silence(trial: &mut Trial<'_>) -> Result<Finding, Stop> {
    let (wire, _) = silent(trial)?;
    let longest = wire.longest_train(AGAIN, AGAIN + wire.rtt) as f64;
    Ok(of_quic(trial, Finding::of(longest, "packets"), at_once(&wire)))
}

/// How long it takes until the lost end of limited data is probed for.
fn probe(trial: &mut Trial<'_>) -> Result<Finding, Stop> {
    const END: f64 = 20.0;
    let stimulus = limited(trial, END, 0.02)?.till(END + 5.0);
    let wire = trial.run(&stimulus.outage(END - 0.025, END + 5.0))?;
    is_limited(&wire, END, LARGE)?;
    // What the last offer lets go leaves without a silence of half a round.
    let all: Vec<f64> = wire.departures.iter().copied().filter(|at| *at >= END - 0.05).collect();
    let gap = all.windows(2).map(|pair| pair[1] - pair[0]).find(|gap| *gap > 0.6 * wire.rtt);
    let found = Finding::of(gap.unwrap_or(f64::INFINITY), "s");
    Ok(match trial.subject.transport {
        Transport::Quic => found.must(Range::at_most(1.4 * (wire.rtt + 0.025))),
        _ => found.should(Range::at_most(3.0)),
    })
}

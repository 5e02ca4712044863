//! Timers.

use super::{THEN, always, avoidance, if_it_reduces, if_quic, if_rfc};
use crate::check::{Check, Finding, Group, Range, Stop, Word};
use crate::network::{Network, Stimulus};
use crate::subject::Transport;
use crate::trial::Trial;
use crate::wire::Wire;
use std::sync::Arc;

pub(super) static CHECKS: &[Check] = &[
    Check {
        id: "T1",
        name: "back-off",
        group: Group::Timeouts,
        word: Word::Must,
        source: "RFC 9002 §6.2.1, RFC 6298 §5 (5.5)",
        quote: "When a PTO timer expires, the PTO backoff MUST be increased, resulting in the \
               PTO period being set to twice its current value.",
        asks: "Each time that a timer expires, the next time is twice as long.",
        applies: if_rfc,
        measure: back_off,
    },
    Check {
        id: "T2",
        name: "after a long silence of the network",
        group: Group::Timeouts,
        word: Word::Must,
        source: "RFC 9002 §7.6.2, RFC 5681 §3.1",
        quote: "When persistent congestion is declared, the sender's congestion window MUST be \
               reduced to the minimum congestion window (kMinimumWindow), similar to a TCP \
               sender's response on an RTO [RFC5681].",
        asks: "After three seconds in which all was lost the window begins again at its minimum.",
        applies: if_rfc,
        measure: begins_again,
    },
    Check {
        id: "T3",
        name: "a probe timeout is no loss",
        group: Group::Timeouts,
        word: Word::Must,
        source: "RFC 9002 §6.2, §7.5",
        quote: "A PTO timer expiration event does not indicate packet loss and MUST NOT cause \
               prior unacknowledged packets to be marked as lost.",
        asks: "If all acknowledgements are held back for longer than a probe timeout, and then come, \
               the window is not reduced.",
        applies: |subject| if_quic(subject).and_then(|()| if_it_reduces(subject)),
        measure: |trial| {
            let stimulus = avoidance(THEN + 0.9).hold_acks(THEN, THEN + 0.15);
            let wire = trial.run(&stimulus)?;
            let first = wire.sent(THEN, f64::INFINITY).first().copied();
            let first = first.ok_or_else(|| Stop::Undecided("nothing was sent".to_owned()))?;
            let before = wire.window(first.sent - 3.0 * wire.rtt, first.sent);
            let after = wire.window(first.sent + 8.0 * wire.rtt, first.sent + 9.0 * wire.rtt);
            Ok(Finding::of(after / before, "").must(Range::at_least(0.97)))
        },
    },
    Check {
        id: "T4",
        name: "a window late by 400 ms",
        group: Group::Timeouts,
        word: Word::May,
        source: "RFC 9438 §4.9.1, RFC 4015 §3.1, RFC 5682 §4",
        quote: "Given that a TCP sender has enabled a detection algorithm that complies with the \
               requirements set in Section 2, a TCP sender MAY use the Eifel response algorithm \
               as defined in this subsection.",
        asks: "If all data of a window are late by 400 ms and none is lost: the window twenty rounds \
               later.",
        applies: if_it_reduces,
        measure: |trial| {
            let stimulus = avoidance(THEN + 1.7).all_late((THEN, THEN + 0.05), 0.4);
            let wire = trial.run(&stimulus)?;
            let before = wire.window(THEN - 2.0 * wire.rtt, THEN);
            let at = THEN + 0.4 + 20.0 * wire.rtt;
            Ok(Finding::of(wire.window(at, at + wire.rtt) / before, ""))
        },
    },
    Check {
        id: "T5",
        name: "a probe comes",
        group: Group::Timeouts,
        word: Word::Must,
        source: "RFC 9002 §6.2.4, §7.5",
        quote: "When a PTO timer expires, a sender MUST send at least one ack-eliciting packet \
               in the packet number space as a probe.",
        asks: "When nothing is answered any more, a probe leaves within a second (TCP: three), \
               whatever the window.",
        applies: always,
        measure: |trial| {
            let (wire, silent) = silence(trial)?;
            let probe = probes(&wire, silent).first().copied().unwrap_or(f64::INFINITY);
            let found = Finding::of(probe - silent, "s");
            // A timer of TCP is a second at least (RFC 6298, §2.4).
            Ok(match trial.subject.transport {
                Transport::Quic => found.must(Range::at_most(1.0)),
                _ => found.should(Range::at_most(3.0)),
            })
        },
    },
    Check {
        id: "T6",
        name: "no storm",
        group: Group::Timeouts,
        word: Word::Must,
        source: "RFC 8961 §4 (4), RFC 9002 §6.2.4",
        quote: "Each time the RTO is used to detect a loss, the value of the RTO MUST be \
               exponentially backed off such that the next firing requires a longer interval.",
        asks: "In thirty seconds without an answer no more than two packets leave for each expiry of \
               a timer that doubles.",
        applies: always,
        measure: |trial| {
            let (wire, silent) = silence(trial)?;
            let sent = after(&wire, silent).len() as f64;
            // log2(30 s / 0.1 s) expiries, and two more.
            let expiries = (OUTAGE / 0.1).log2() + 2.0;
            Ok(Finding::of(sent, "packets").must(Range::at_most((2.0 * expiries).floor())))
        },
    },
    Check {
        id: "T8",
        name: "a longer path",
        group: Group::Timeouts,
        word: Word::Follows,
        source: "RFC 9002 §6.1.2",
        quote: "Using max(smoothed_rtt, latest_rtt) protects from the two following cases: [...] \
               the latest RTT sample is higher than the smoothed RTT, perhaps due to a sustained \
               increase in the actual RTT, but the smoothed RTT has not yet caught up.",
        asks: "When the round trip becomes twice as long nothing is taken for lost: the window is \
               not reduced; BBR uses eight tenths of the path fifteen seconds later.",
        applies: |subject| if_it_reduces(subject).or_else(|_| super::if_bbr(subject)),
        measure: |trial| {
            if trial.subject.profile.is_bbr() {
                let wire = trial.run(&Stimulus::on(Network::Q, 28.0).rtt_from(THEN, 0.08))?;
                let used = wire.used(Network::Q.rate, 23.0, 28.0);
                return Ok(Finding::of(used, "of the path").should(Range::at_least(0.8)));
            }
            let wire = trial.run(&avoidance(THEN + 2.3).rtt_from(THEN, 0.1))?;
            let before = super::large(wire.window(THEN - wire.rtt, THEN))?;
            let after = wire.window(THEN + 2.0, THEN + 2.2);
            Ok(Finding::of(after / before, "").should(Range::at_least(0.97)))
        },
    },
];

/// When all data begin to be lost, in seconds.
pub(super) const FROM: f64 = 6.0;
/// Of more times between probes the first are told.
const MOST_TOLD: usize = 8;
/// For how long, in seconds.
const OUTAGE: f64 = 30.0;

/// A flow whose data are all lost for thirty seconds, and when it had sent all that it might.
fn silence(trial: &mut Trial<'_>) -> Result<(Arc<Wire>, f64), Stop> {
    let stimulus = Stimulus::on(Network::D, FROM + OUTAGE).avoidance(100);
    let wire = trial.run(&stimulus.outage(FROM, FROM + OUTAGE))?;
    let settled = wire.packets.iter().filter(|it| it.arrived.is_finite()).map(|it| it.settled);
    let last = settled.filter(|at| at.is_finite()).fold(0.0, f64::max);
    if wire.sent(FROM - 1.0, FROM).is_empty() {
        return Err(Stop::Undecided(format!("nothing was sent before {FROM} s")));
    }
    // What its window still let go ends with the first silence of a round.
    let sent = wire.sent(last - wire.rtt, f64::INFINITY);
    let ends =
        sent.windows(2).find(|pair| pair[1].sent.max(last) - pair[0].sent.max(last) > wire.rtt);
    let silent = ends.map_or(last, |pair| pair[0].sent);
    Ok((wire, silent.max(last)))
}

/// When probes left after `silent`. If these are packets of data, what is smaller acknowledges
/// those of the other end.
fn after(wire: &Wire, silent: f64) -> Vec<f64> {
    let data: Vec<f64> =
        wire.sent(silent + 1e-6, f64::INFINITY).iter().map(|packet| packet.sent).collect();
    let all = wire.departures.partition_point(|at| *at < silent + 1e-6);
    if data.len() > 1 { data } else { wire.departures[all..].to_vec() }
}

/// The times at which something left after `silent`, those within 10 ms as one.
fn probes(wire: &Wire, silent: f64) -> Vec<f64> {
    let mut probes: Vec<f64> = Vec::new();
    let mut last = f64::NEG_INFINITY;
    for sent in after(wire, silent) {
        if sent - last > 0.01 {
            probes.push(sent);
        }
        last = sent;
    }
    probes
}

/// The least ratio of the times between probes, from the second time on: the first may begin with a
/// probe that another timer sent.
fn back_off(trial: &mut Trial<'_>) -> Result<Finding, Stop> {
    let (wire, silent) = silence(trial)?;
    let probes = probes(&wire, silent);
    let gaps: Vec<f64> = probes.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // Up to 60 s a timer may stop to grow.
    let ratios =
        gaps.windows(2).skip(1).filter(|pair| pair[0] < 30.0).map(|pair| pair[1] / pair[0]);
    let least = ratios.fold(f64::INFINITY, f64::min);
    if !least.is_finite() {
        return Err(Stop::Undecided(format!("{} probes left in 30 s", probes.len())));
    }
    let told: Vec<String> = gaps.iter().take(MOST_TOLD).map(|gap| format!("{gap:.2}")).collect();
    let rest = if gaps.len() > MOST_TOLD { " …" } else { "" };
    let told = format!("{}{rest} s", told.join(" "));
    Ok(Finding::of(least, "").must(Range::at_least(1.8)).told(told))
}

/// A flow whose data are all lost for three seconds, and when it was answered again.
pub(super) fn long_silence(trial: &mut Trial<'_>) -> Result<(Arc<Wire>, f64), Stop> {
    let stimulus = Stimulus::on(Network::D, 16.0).avoidance(100).outage(FROM, FROM + 3.0);
    let wire = trial.run(&stimulus)?;
    let answer = wire.answered(FROM + 3.0);
    if !answer.is_finite() || answer > 15.5 {
        return Err(Stop::Undecided("there was no answer within 6 s afterwards".to_owned()));
    }
    Ok((wire, answer))
}

/// The packets of the first two rounds after three seconds of silence.
fn begins_again(trial: &mut Trial<'_>) -> Result<Finding, Stop> {
    let (wire, answer) = long_silence(trial)?;
    let rounds = wire.rounds(answer, 2);
    let (first, second) = (rounds[0], rounds[1]);
    let told = format!("{first:.0} and {second:.0}");
    // Of BBR the window that it had comes back when the recovery ends, as its draft has it.
    let (number, most) =
        if trial.subject.profile.is_bbr() { (first, 8.0) } else { (first + second, 10.0) };
    Ok(Finding::of(number, "packets").must(Range::at_most(most)).told(told))
}

//! Congestion avoidance.

use super::{always, avoidance, first_lost, idle, if_cubic, if_it_reduces, if_reno, large};
use crate::check::{Check, Finding, Group, Range, Stop, Word};
use crate::network::{Network, Stimulus};
use crate::trial::Trial;
use crate::wire::Wire;
use std::sync::Arc;

pub(super) static CHECKS: &[Check] = &[
    Check {
        id: "G1",
        name: "Reno's slope",
        group: Group::Growth,
        word: Word::Must,
        source: "RFC 9002 §7.3.3, RFC 5681 §3.1",
        quote: "Note that during congestion avoidance, cwnd MUST NOT be increased by more than \
               SMSS bytes per RTT.",
        asks: "In congestion avoidance the window grows by one packet a round at most, and by no \
               less if acknowledged bytes are counted.",
        applies: if_reno,
        measure: |trial| {
            let wire = trial.run(&avoidance(7.2))?;
            let slope = slope(&wire, 2.0, 7.0, wire.rtt) * wire.rtt;
            let found = Finding::of(slope, "packets a round");
            Ok(found.must(Range::at_most(1.02)).should(Range::at_least(0.9)))
        },
    },
    Check {
        id: "G2",
        name: "CUBIC's curve",
        group: Group::Growth,
        word: Word::Should,
        source: "RFC 9438 §4.2 (figures 1, 2), §5.1",
        quote: "Therefore, C SHOULD be set to 0.4.",
        asks: "W(t) = C(t − K)³ + W_max with C = 0.4 and K = ∛(W_max(1 − β)/C), within 6 %.",
        applies: if_cubic,
        measure: curve,
    },
    Check {
        id: "G3",
        name: "CUBIC's plateau",
        group: Group::Growth,
        word: Word::Follows,
        source: "RFC 9438 §3.1, §4.5",
        quote: "This is because the window size remains almost constant, forming a plateau \
               around the remembered congestion window size of the last congestion event, where \
               network utilization is deemed highest.",
        asks: "Around K the window grows by one percent a round at most.",
        applies: if_cubic,
        measure: |trial| {
            let (wire, epoch) = epoch(trial)?;
            let at = |share: f64| round(&wire, epoch.begins + share * epoch.k);
            let rounds = 0.2 * epoch.k / wire.rtt;
            let growth = 100.0 * (at(1.1) / at(0.9) - 1.0) / rounds;
            Ok(Finding::of(growth, "% a round").must(Range::at_most(1.0)))
        },
    },
    Check {
        id: "G4",
        name: "Reno-friendly region",
        group: Group::Growth,
        word: Word::Should,
        source: "RFC 9438 §4.3",
        quote: "If so, CUBIC is in the Reno-friendly region and cwnd SHOULD be set to W_est at \
               each reception of a new ACK.",
        asks: "On short paths the window grows as that of a Reno with CUBIC's β would: by \
               3(1 − β)/(1 + β) = 0.53 packets a round, and by one from W_max on; here while the \
               RTT grows with the queue.",
        applies: if_cubic,
        measure: |trial| {
            let wire = trial.run(&Stimulus::on(Network::FRIENDLY, 6.2).avoidance(60))?;
            let sent = wire.sent(2.0, 6.0);
            let rtts = sent.iter().map(|packet| packet.settled - packet.sent);
            let rtt = rtts.filter(|rtt| rtt.is_finite()).sum::<f64>() / sent.len() as f64;
            let slope = slope(&wire, 2.0, 6.0, rtt) * rtt;
            Ok(Finding::of(slope, "packets a round").should(Range::between(0.47, 1.05)))
        },
    },
    Check {
        id: "G5",
        name: "growth after silence",
        group: Group::Growth,
        word: Word::Must,
        source: "RFC 9438 §4.2, with §4.4 and §4.5",
        quote: "The lower and upper bounds below ensure that CUBIC's congestion window increase \
               rate is non-decreasing and is less than the increase rate of slow start [SXEZ19].",
        asks: "After twenty silent seconds the window grows by a half each round at most, once it is \
               nearly what it was.",
        applies: if_cubic,
        measure: |trial| {
            let Silence { wire, before, again, .. } = silence(trial)?;
            let rounds = wire.rounds(again, 12);
            let ratios = rounds.windows(2).filter(|pair| pair[0] >= 0.75 * before);
            let most = ratios.map(|pair| pair[1] / pair[0]).fold(0.0, f64::max);
            if most == 0.0 {
                let why = "the window was not as large again within twelve rounds";
                return Err(Stop::Undecided(why.to_owned()));
            }
            Ok(Finding::of(most, "a round").must(Range::at_most(1.55)))
        },
    },
    Check {
        id: "G6",
        name: "CUBIC's time in silence",
        group: Group::Growth,
        word: Word::Must,
        source: "RFC 9438 §4.2, §5.8",
        quote: "The elapsed time t in Figure 1 MUST NOT include periods during which cwnd has \
               not been updated due to application-limited behavior (see Section 5.8).",
        asks: "Time in which the application sends nothing does not count: a second after twenty \
               silent ones the window is a tenth above the curve without them at most.",
        applies: if_cubic,
        measure: |trial| {
            let Silence { wire, epoch, since, again, .. } = silence(trial)?;
            let t = again + 1.0 - epoch.begins - (again - since);
            let asked = cubic(t, epoch.w_max).max(epoch.w_max);
            let seen = round(&wire, again + 0.95);
            let told = format!("{seen:.0} packets");
            Ok(Finding::of(seen / asked, "of the curve").must(Range::at_most(1.1)).told(told))
        },
    },
    Check {
        id: "G7",
        name: "small windows",
        group: Group::Growth,
        word: Word::Follows,
        source: "RFC 9002 §7.2, RFC 5681 §3.1",
        quote: "The RECOMMENDED value is 2 * max_datagram_size.",
        asks: "On a path that holds less than a packet nine tenths of it are used.",
        applies: always,
        measure: |trial| {
            let wire = trial.run(&Stimulus::on(Network::T, 60.0))?;
            Ok(Finding::of(wire.used(Network::T.rate, 10.0, 60.0), "").should(Range::at_least(0.9)))
        },
    },
    Check {
        id: "G8",
        name: "growth goes on",
        group: Group::Growth,
        word: Word::Follows,
        source: "RFC 5681 §3.1, RFC 9438 §4.2",
        quote: "During congestion avoidance, cwnd is incremented by roughly 1 full-sized segment \
               per round-trip time (RTT). Congestion avoidance continues until congestion is \
               detected.",
        asks: "Below what the path holds, and without losses, the window does not stand still for \
               200 rounds.",
        applies: if_it_reduces,
        measure: |trial| {
            let wire = trial.run(&avoidance(33.0))?;
            let bdp = Network::F.bdp(wire.size);
            let spans = [2.0, 12.0, 22.0].into_iter();
            let stands = spans.filter(|from| round(&wire, *from) < 0.9 * bdp);
            let growths = stands.map(|from| round(&wire, from + 10.0) - round(&wire, from));
            let least = growths.fold(f64::INFINITY, f64::min);
            if !least.is_finite() {
                let why = "the window is all that the path holds, already at 2 s";
                return Err(Stop::Undecided(why.to_owned()));
            }
            let found = Finding::of(least, "packets in 200 rounds");
            Ok(found.must(Range::at_least(1.0)))
        },
    },
];

/// The window in the round that begins at `at`, in packets.
fn round(wire: &Wire, at: f64) -> f64 {
    wire.window(at, at + wire.rtt)
}

/// By how many packets a second the window grows in `from..to`: least squares over spans of `step`
/// seconds.
fn slope(wire: &Wire, from: f64, to: f64, step: f64) -> f64 {
    let count = ((to - from) / step).floor() as u32;
    let points: Vec<(f64, f64)> = (0..count)
        .map(|place| {
            let at = from + f64::from(place) * step;
            (at + step / 2.0, wire.window(at, at + step))
        })
        .collect();
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / f64::from(count);
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let products = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>();
    products / points.iter().map(|point| (point.0 - x).powi(2)).sum::<f64>()
}

/// What begins with a loss.
struct Epoch {
    /// When, in seconds.
    begins: f64,
    /// The window when it began, in packets.
    w_max: f64,
    /// When the window is that again, in seconds from its beginning.
    k: f64,
}

/// An epoch of CUBIC with twenty silent seconds in it.
struct Silence {
    wire: Arc<Wire>,
    epoch: Epoch,
    /// The window before, in packets.
    before: f64,
    /// When it began and ended, in seconds.
    since: f64,
    again: f64,
}

/// A flow that falls silent for twenty seconds in the first half of an epoch.
fn silence(trial: &mut Trial<'_>) -> Result<Silence, Stop> {
    let (steady, epoch) = epoch(trial)?;
    let at = epoch.begins + epoch.k / 2.0;
    let again = at + 20.0;
    let stimulus = Stimulus::on(Network::L, again + 1.4).avoidance(400);
    let payload = idle::payload_by(&steady, at);
    let wire = trial.run(&stimulus.offered(0.0, payload).endless_from(again))?;
    let since = idle::falls_silent(&wire, again, 19.0)?;
    let before = large(round(&steady, at - steady.rtt))?;
    Ok(Silence { wire, epoch, before, since, again })
}

const C: f64 = 0.4;
const BETA: f64 = 0.7;

/// The epoch of CUBIC that a loss in slow start begins, of some 400 packets.
fn epoch(trial: &mut Trial<'_>) -> Result<(Arc<Wire>, Epoch), Stop> {
    let wire = trial.run(&Stimulus::on(Network::L, 16.0).avoidance(400))?;
    let lost = first_lost(&wire, 0.0)?;
    if !lost.settled.is_finite() {
        return Err(Stop::Undecided("the loss was never known".to_owned()));
    }
    // The window in the second round says which W_max it began with, whatever β was.
    let t = 1.5 * wire.rtt;
    let seen = large(round(&wire, lost.settled + wire.rtt))?;
    let (mut low, mut high) = (seen, 4.0 * seen);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if cubic(t, middle) > seen { high = middle } else { low = middle }
    }
    Ok((wire, Epoch { begins: lost.settled, w_max: low, k: k(low) }))
}

/// K = ∛(W_max(1 − β)/C), in seconds (RFC 9438, §4.2, eq. 2).
fn k(w_max: f64) -> f64 {
    (w_max * (1.0 - BETA) / C).cbrt()
}

/// W(t) = C(t − K)³ + W_max, in packets (eq. 1).
fn cubic(t: f64, w_max: f64) -> f64 {
    C * (t - k(w_max)).powi(3) + w_max
}

/// The largest departure from the curve at K/2, K, 3K/2 and 2K, as a ratio.
fn curve(trial: &mut Trial<'_>) -> Result<Finding, Stop> {
    let (wire, epoch) = epoch(trial)?;
    let largest = |w_max: f64| {
        let departure = |share: f64| {
            let t = share * epoch.k;
            let (asked, seen) = (cubic(t, w_max), round(&wire, epoch.begins + t));
            (seen - asked).abs() / asked
        };
        [0.5, 1.0, 1.5, 2.0].map(departure).into_iter().fold(0.0, f64::max)
    };
    // A W_max that is known to some packets only is taken as what fits best.
    let near = (-10..=10).map(|percent| epoch.w_max * (1.0 + f64::from(percent) / 100.0));
    let least = near.map(largest).fold(f64::INFINITY, f64::min);
    let told = format!("W_max {:.0} packets, K {:.1} s", epoch.w_max, epoch.k);
    Ok(Finding::of(100.0 * least, "%").must(Range::at_most(6.0)).told(told))
}

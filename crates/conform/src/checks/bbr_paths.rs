//! BBR on paths that change, and under applications that stop.

use super::bbr::is_small;
use super::{idle, if_bbr};
use crate::check::{Check, Finding, Group, Range, Stop, Word};
use crate::network::{Network, Stimulus};
use crate::subject::{Profile, Subject};
use crate::trial::Trial;
use crate::wire::Wire;

pub(super) static CHECKS: &[Check] = &[
    Check {
        id: "B5",
        name: "ten times the rate",
        group: Group::Bbr,
        word: Word::Follows,
        source: "draft-ietf-ccwg-bbr §5.3.3.5, Increasing Bandwidth 10x and Ensuring Full \
               Bandwidth is Reached",
        quote: "Ensure the connection discovers the full 100 Mbit/s bandwidth within a \
               reasonable number of round trips (O(log(BDP))).",
        asks: "When the path becomes ten times as fast nine tenths of it are used after five \
               seconds and twelve rounds.",
        applies: if_bbr,
        measure: |trial| {
            let faster = Stimulus::on(Network::SLOW, 27.0).rate_from(CHANGE, 100e6);
            let wire = trial.run(&faster)?;
            let after = filled(&wire, 100e6, CHANGE, 0.5) - CHANGE;
            let most = 5.0 + 12.0 * wire.rtt;
            Ok(Finding::of(after, "s").should(Range::at_most(most)))
        },
    },
    Check {
        id: "B6",
        name: "a tenth of the rate",
        group: Group::Bbr,
        word: Word::Follows,
        source: "draft-ietf-ccwg-bbr §5.5.3, Decreasing Bandwidth 10x and Ensuring Max Bandwidth \
               Adapts Down",
        quote: "Verify that after the `BBR.max_bw` window expires (2 PROBE_BW cycles, or \
               `BBR.MaxBwFilterLen`), `BBR.max_bw` drops to the new 10 Mbit/s limit, matching \
               the path's delivery rate.",
        asks: "When the path becomes a tenth as fast no more than half a bandwidth-delay product \
               more than usual is in flight ten seconds later.",
        applies: if_bbr,
        measure: |trial| {
            let slower = Stimulus::on(Network::FAST, 28.0).rate_from(CHANGE, 10e6);
            let wire = trial.run(&slower)?;
            let lost = wire.lost(CHANGE).count();
            let window = wire.window(CHANGE + 10.0, 28.0) / Network::SLOW.bdp(wire.size);
            let usual = if trial.subject.profile == Profile::Bbr1 { 1.6 } else { 1.35 };
            let found = Finding::of(window, "BDP").told(format!("{lost} packets lost"));
            Ok(found.should(Range::at_most(usual + 0.5)))
        },
    },
    Check {
        id: "B8",
        name: "a policer",
        group: Group::Bbr,
        word: Word::Follows,
        source: "draft-ietf-ccwg-bbr, Handling Token Bucket Policers",
        quote: "Ensure BBR eventually reaches a stable operating point that conforms to the \
               token rate without excessive continuous packet loss.",
        asks: "Behind a policer of a quarter of the path a tenth of the packets is lost at most.",
        applies: if_bbr,
        measure: |trial| {
            let wire = trial.run(&Stimulus::on(Network::D, 30.0).policed(5e6, 50_000))?;
            let sent = wire.sent(10.0, 29.9);
            let lost = sent.iter().filter(|packet| packet.lost).count();
            let share = lost as f64 / sent.len().max(1) as f64;
            Ok(Finding::of(share, "of packets").should(Range::at_most(0.1)))
        },
    },
    Check {
        id: "B9",
        name: "restart at full rate",
        group: Group::Bbr,
        word: Word::Follows,
        source: "draft-ietf-ccwg-bbr §5.4.1, Skipping PROBE_RTT Due to Application-Limited Sending",
        quote: "When restarting from idle in ProbeBW states, BBR leaves C.cwnd as-is and paces \
               packets at exactly BBR.bw, aiming to return as quickly as possible to its target \
               operating point of rate balance and a full pipe.",
        asks: "After six silent seconds it begins at the bandwidth that it knows: nine tenths of \
               the path are used in the first ten rounds, and no ProbeRTT comes within three \
               seconds.",
        applies: if_bbr,
        measure: restart,
    },
    Check {
        id: "B10",
        name: "start of a limited application",
        group: Group::Bbr,
        word: Word::Follows,
        source: "draft-ietf-ccwg-bbr §5.3.1.2, §5.5.4, Never Exiting PROBE_UP (or STARTUP) When \
               Application-Limited With No Loss",
        quote: "Verify that as long as there is no loss and the rounds are application-limited, \
               the connection stays in PROBE_UP (or STARTUP) indefinitely.",
        asks: "After seventeen seconds of 1 Mbps it finds the path's rate as at a start: nine tenths \
               after as many rounds as doublings and five more.",
        applies: if_bbr,
        measure: |trial| {
            let limited = Stimulus::on(Network::Q, 20.0).offered_each((0.0, 17.0), 0.05, 6250);
            let wire = trial.run(&limited.endless_from(17.0))?;
            let round = idle::is_limited(&wire, 17.0, 20.0)?;
            let after = (filled(&wire, Network::Q.rate, 17.0, 0.08) - 17.0) / wire.rtt;
            let doublings = (Network::Q.bdp(wire.size) / round.max(4.0)).log2();
            Ok(Finding::of(after, "rounds").should(Range::at_most(doublings + 5.0)))
        },
    },
    Check {
        id: "B11",
        name: "aggregation",
        group: Group::Bbr,
        word: Word::Follows,
        source: "draft-ietf-ccwg-bbr §5.5.9",
        quote: "BBR augments C.cwnd by BBR.extra_acked to allow the connection to keep sending \
               during inter-ACK silences, to an extent that matches the recently measured degree \
               of aggregation.",
        asks: "If acknowledgements come each 10 ms only, nine tenths of the path are used.",
        applies: if_bbr,
        measure: |trial| {
            let wire = trial.run(&Stimulus::on(Network::Q, 20.0).gathered_acks(0.01))?;
            let used = wire.used(Network::Q.rate, 2.0, 20.0);
            Ok(Finding::of(used, "").should(Range::at_least(0.9)))
        },
    },
    Check {
        id: "B12",
        name: "start-up ends with losses",
        group: Group::Bbr,
        word: Word::Follows,
        source: "draft-ietf-ccwg-bbr §5.3.1.3",
        quote: "The loss rate over the time scale of a single full round trip exceeds \
               BBR.LossThresh (2%).",
        asks: "If a twentieth of two rounds of start-up is lost, growth ends within three rounds.",
        applies: if_v3,
        measure: |trial| {
            let losing = Stimulus::on(Network::L, 1.4).each("drop", (0.7, 0.9), 20);
            let wire = trial.run(&losing)?;
            if wire.lost(0.6).count() < 12 {
                return Err(Stop::Undecided("fewer than a dozen packets were lost".to_owned()));
            }
            let flight = |from: f64| wire.largest_flight(from, from + wire.rtt);
            let growth = flight(1.2) / flight(1.0);
            Ok(Finding::of(growth, "in two rounds").should(Range::at_most(1.25)))
        },
    },
    Check {
        id: "B13",
        name: "a packet that is late",
        group: Group::Bbr,
        word: Word::Follows,
        source: "draft-ietf-ccwg-bbr §5.5.11",
        quote: "If the transport protocol later declares the loss recovery episode to be \
               spurious, then BBR restores aspects of its state to their previously saved \
               values. This greatly reduces the performance impact of spurious loss recovery \
               episodes.",
        asks: "A packet that is late by 20 ms costs no more than a twentieth of what arrives in \
               two seconds.",
        applies: if_bbr,
        measure: |trial| {
            let without = Stimulus::on(Network::Q, 9.5);
            let late = without.clone().late(7.0, 0.02);
            let arrived = |wire: &Wire| wire.arrived(7.05, 9.05);
            let share = arrived(&*trial.run(&late)?) / arrived(&*trial.reference(&without)?);
            Ok(Finding::of(share, "of what arrives without").should(Range::at_least(0.95)))
        },
    },
];

/// When the rate of a path changes, in seconds.
const CHANGE: f64 = 15.0;

/// Version 3 only: version 1 does not answer losses.
fn if_v3(subject: &Subject) -> Result<(), &'static str> {
    if subject.profile == Profile::Bbr { Ok(()) } else { Err("asked of BBR's version 3 only") }
}

/// The end of the first span of `length` seconds from `from` on in which nine tenths of a `rate`
/// in bit/s arrive.
fn filled(wire: &Wire, rate: f64, from: f64, length: f64) -> f64 {
    let last = wire.packets.last().map_or(0.0, |packet| packet.sent);
    let spans = ((last - from) / length * 4.0).max(0.0) as u32;
    let ends = (0..spans).map(|number| from + length * (1.0 + f64::from(number) / 4.0));
    let mut ends = ends.filter(|end| wire.used(rate, end - length, *end) >= 0.9);
    ends.next().unwrap_or(f64::INFINITY)
}

/// What is used of the path after a silence.
fn restart(trial: &mut Trial<'_>) -> Result<Finding, Stop> {
    const AGAIN: f64 = 18.0;
    let steady = trial.reference(&Stimulus::on(Network::Q, 13.0))?;
    let payload = idle::payload_by(&steady, 12.0);
    let again = Stimulus::on(Network::Q, AGAIN + 3.5).offered(0.0, payload).endless_from(AGAIN);
    let wire = trial.run(&again)?;
    idle::falls_silent(&wire, AGAIN, 5.0)?;
    let rounds = AGAIN + wire.rtt;
    let used = wire.used(Network::Q.rate, rounds, rounds + 10.0 * wire.rtt);
    let steps = (10..58).map(|step| AGAIN + f64::from(step) * 0.05);
    let dips = steps.filter(|at| is_small(&wire, *at)).count();
    // Version 1 probes ten seconds after the last time, which may be now.
    if used >= 0.9 && dips > 0 && trial.subject.profile == Profile::Bbr {
        let found = Finding::of(f64::from(dips as u32) * 0.05, "s of a small flight");
        return Ok(found.should(Range::at_most(0.0)));
    }
    Ok(Finding::of(used, "of the path").should(Range::at_least(0.9)))
}

//! BBR: draft-ietf-ccwg-bbr, and version 1 as Linux has it.

use super::if_bbr;
use crate::check::{Check, Finding, Group, Range, Stop, Word};
use crate::network::{Network, Stimulus};
use crate::subject::Profile;
use crate::trial::Trial;
use crate::wire::Wire;
use std::sync::Arc;

pub(super) static CHECKS: &[Check] = &[
    Check {
        id: "B1",
        name: "start-up ends",
        group: Group::Bbr,
        word: Word::Follows,
        source: "draft-ietf-ccwg-bbr §5.3.1.2, §5.3.1.1",
        quote: "if BBR counts several (three) non-application-limited rounds where attempts to \
               significantly increase the delivery rate actually result in little increase (less \
               than 25 percent), then it estimates that it has fully utilized the per-flow \
               available bandwidth [...]",
        asks: "Start-up ends once three rounds have brought less than a quarter more; until then no \
               more than its gain times the path's bandwidth-delay product is in flight.",
        applies: if_bbr,
        measure: |trial| {
            let wire = trial.run(&Stimulus::on(Network::Q, 5.0))?;
            let bdp = Network::Q.bdp(wire.size);
            let (at, most) = peak(&wire, 0.0, 5.0);
            let rounds = (bdp / 10.0).log2() + 6.0;
            let told = format!("at {at:.2} s");
            if at > rounds * wire.rtt + 0.2 {
                return Ok(Finding::of(at, "s").must(Range::at_most(rounds * wire.rtt + 0.2)));
            }
            let gain = if trial.subject.profile == Profile::Bbr1 { 3.2 } else { 2.9 };
            Ok(Finding::of(most / bdp, "BDP").must(Range::at_most(gain)).told(told))
        },
    },
    Check {
        id: "B2",
        name: "drain",
        group: Group::Bbr,
        word: Word::Follows,
        source: "draft-ietf-ccwg-bbr §5.3.2",
        quote: "In Drain, BBR aims to quickly drain any queue at the bottleneck link that was \
               created in Startup by switching to a pacing_gain well below 1.0, until any \
               estimated queue has been drained.",
        asks: "After start-up the queue is drained: some bandwidth-delay product stays in flight.",
        applies: if_bbr,
        measure: |trial| {
            let wire = cruise(trial)?;
            let window = wire.window(2.0, 5.0) / Network::Q.bdp(wire.size);
            let most = if trial.subject.profile == Profile::Bbr1 { 1.6 } else { 1.35 };
            Ok(Finding::of(window, "BDP").must(Range::at_most(most)))
        },
    },
    Check {
        id: "B3",
        name: "ProbeRTT",
        group: Group::Bbr,
        word: Word::Follows,
        source: "draft-ietf-ccwg-bbr §5.3.4.1, §5.3.4.2",
        quote: "To allow coordination with other BBR flows, each BBR flow MUST use the standard \
               BBR.ProbeRTTInterval of 5 secs.",
        asks: "Every five seconds (version 1: ten) the flight is small for 200 ms.",
        applies: if_bbr,
        measure: |trial| {
            let wire = cruise(trial)?;
            let dips = dips(&wire) as f64;
            let range = match trial.subject.profile {
                Profile::Bbr1 => Range::between(3.0, 4.0),
                _ => Range::between(6.0, 8.0),
            };
            let found = Finding::of(dips, "in 40 s");
            // A real path's round trips vary, and one that is shorter than all before puts it off
            // by ten seconds (Linux, bbr_update_min_rtt).
            Ok(if trial.is_real() { found } else { found.must(range) })
        },
    },
    Check {
        id: "B4",
        name: "bandwidth",
        group: Group::Bbr,
        word: Word::Follows,
        source: "draft-ietf-ccwg-bbr §5.3.3.2, §5.3.4.2",
        quote: "It tries to match the sending rate to the flow's current available bandwidth, to \
               try to achieve high utilization of the available bandwidth without increasing \
               queue pressure.",
        asks: "Alone on a path it uses 94 % of it, ProbeRTT included.",
        applies: if_bbr,
        measure: |trial| {
            let wire = cruise(trial)?;
            let used = wire.used(Network::Q.rate, 2.0, 40.0);
            Ok(Finding::of(used, "").must(Range::at_least(0.94)))
        },
    },
    Check {
        id: "B7",
        name: "less than a packet",
        group: Group::Bbr,
        word: Word::Follows,
        source: "draft-ietf-ccwg-bbr §5.6.4.3",
        quote: "For BBR.max_inflight, BBR imposes a floor of BBR.MinPipeCwnd (4 packets, i.e. 4 \
               * C.SMSS).",
        asks: "On a path that holds less than a packet two to six are in flight, or eight (v1).",
        applies: if_bbr,
        measure: |trial| {
            let wire = trial.run(&Stimulus::on(Network::T, 60.0))?;
            // Linux adds three sends' worth to its four packets.
            let most = if trial.subject.profile == Profile::Bbr1 { 8.0 } else { 6.0 };
            Ok(Finding::of(wire.window(20.0, 60.0), "packets").should(Range::between(2.0, most)))
        },
    },
    Check {
        id: "B14",
        name: "tolerated losses",
        group: Group::Bbr,
        word: Word::Follows,
        source: "draft-ietf-ccwg-bbr §2.8 BBR.LossThresh",
        quote: "BBR.LossThresh: A constant specifying the maximum tolerated per-round-trip \
               packet loss rate when probing for bandwidth (the default is 2%).",
        asks: "Of a path on which every 67th packet is lost (1.5 %) nine tenths are used.",
        applies: if_bbr,
        measure: |trial| {
            let wire = trial.run(&Stimulus::on(Network::Q, 20.0).each("drop", (2.0, 20.0), 67))?;
            let used = wire.used(Network::Q.rate, 3.0, 20.0);
            Ok(Finding::of(used, "").should(Range::at_least(0.9)))
        },
    },
];

/// A flow that is alone for forty seconds.
fn cruise(trial: &mut Trial<'_>) -> Result<Arc<Wire>, Stop> {
    trial.run(&Stimulus::on(Network::Q, 40.0))
}

/// The largest flight in `from..to` by steps of 10 ms: since when, and how many packets.
fn peak(wire: &Wire, from: f64, to: f64) -> (f64, f64) {
    let steps = (0..((to - from) * 100.0) as u32).map(|step| from + f64::from(step) / 100.0);
    let flights: Vec<(f64, f64)> = steps.map(|at| (at, wire.flight_at(at))).collect();
    let most = flights.iter().map(|(_, packets)| *packets).fold(0.0, f64::max);
    // Of a plateau its beginning counts.
    let near = flights.iter().find(|(_, packets)| *packets >= 0.95 * most);
    (near.map_or(from, |(at, _)| *at), most)
}

/// How often the flight stays below 0.65 of a bandwidth-delay product for 50 ms, from 2 s on: a
/// probe for the RTT leaves a half of it or less, one for bandwidth ends above it.
fn dips(wire: &Wire) -> usize {
    let spans: Vec<bool> = (40..800).map(|place| is_small(wire, f64::from(place) / 20.0)).collect();
    // A span or two between are the same dip.
    let begins =
        |place: usize| spans[place] && !spans[place.saturating_sub(6)..place].contains(&true);
    (0..spans.len()).filter(|place| begins(*place)).count()
}

/// Whether the flight on network Q stays below 0.65 of a bandwidth-delay product for 50 ms.
pub(super) fn is_small(wire: &Wire, at: f64) -> bool {
    peak(wire, at, at + 0.05).1 < 0.65 * Network::Q.bdp(wire.size)
}

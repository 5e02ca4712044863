//! Aurora (N. Jay and others, "A Deep Reinforcement Learning Perspective on Internet Congestion
//! Control", ICML 2019), as its environment has it: `network_sim.py` and `sender_obs.py` of
//! PCCproject/PCC-RL, 64bea6e.

use super::{Description, History, Preset, UNLIMITED};
use crate::interval::Interval;
use crate::wanted::Wanted;

const FEATURES: &[(&str, f32, f32)] = &[
    ("sent_latency_inflation", -1.0, 10.0),
    ("latency_ratio", 1.0, 10_000.0),
    ("send_ratio", 0.0, 1000.0),
];
/// Before anything was measured.
const EMPTY: &[f32] = &[0.0, 1.0, 1.0];
const HISTORY: usize = 10;
/// By how much a step of 1 moves the rate (`DELTA_SCALE`).
const DELTA: f64 = 0.025;
/// Packets per second (`MIN_RATE`, `MAX_RATE`).
const RATES: (f64, f64) = (40.0, 1000.0);
/// The largest step: it doubles the rate. The source has 10¹², and bounds the rate.
const MOST: f32 = 40.0;
/// Seconds; the source has no least interval.
const LEAST: f64 = 1e-3;

pub(super) const DESCRIPTION: Description = Description {
    name: "aurora",
    features: FEATURES,
    history: HISTORY,
    most: MOST,
    law: None,
    steps: 400,
    make: || Box::new(Aurora::default()),
};

/// One agent.
pub struct Aurora {
    history: History,
    /// Packets per second.
    rate: f64,
    /// Length of the next interval in seconds (`run_dur`).
    seconds: f64,
    /// The least mean RTT of an interval in seconds; 0 before there is one.
    least: f64,
}

impl Default for Aurora {
    fn default() -> Self {
        let history = History::new(FEATURES, HISTORY, EMPTY);
        Self { history, rate: RATES.0, seconds: LEAST, least: 0.0 }
    }
}

impl Preset for Aurora {
    /// Two intervals of three one-way delays, of which nothing is seen (`reset`).
    fn begin(&mut self, rate: f64, base_rtt: f64) -> Wanted {
        let seconds = (1.5 * base_rtt).max(LEAST);
        *self = Self { rate: rate.clamp(RATES.0, RATES.1), seconds, ..Self::default() };
        Wanted { window: UNLIMITED, rate: self.rate, seconds }
    }

    fn warm_ups(&self) -> usize {
        2
    }

    fn observe(&mut self, interval: &Interval) {
        let Interval { duration, sent, acked, rtt, rtt_samples, rtt_increase, .. } = *interval;
        if rtt > 0.0 && (self.least == 0.0 || rtt < self.least) {
            self.least = rtt;
        }
        // A packet less: the first begins the time in which those after it arrive
        // (`_mi_metric_recv_rate`).
        let (through, ratio) = (acked - 1.0, if self.least > 0.0 { rtt / self.least } else { 1.0 });
        let sends = if through > 0.0 && sent < 1000.0 * through { sent / through } else { 1.0 };
        let inflation = if duration > 0.0 { rtt_increase / duration } else { 0.0 };
        self.history.push(&[inflation, ratio, sends]);
        if rtt_samples > 0.0 {
            self.seconds = (0.5 * rtt).max(LEAST);
        }
    }

    fn seen(&self) -> &[f32] {
        self.history.seen()
    }

    /// Rate · (1 + 0.025 a), or rate / (1 − 0.025 a) below 0 (`apply_rate_delta`).
    fn act(&mut self, action: f32) -> Wanted {
        let delta = f64::from(action.clamp(-MOST, MOST)) * DELTA;
        let rate = if delta >= 0.0 { self.rate * (1.0 + delta) } else { self.rate / (1.0 - delta) };
        self.rate = rate.clamp(RATES.0, RATES.1);
        Wanted { window: UNLIMITED, rate: self.rate, seconds: self.seconds }
    }
}

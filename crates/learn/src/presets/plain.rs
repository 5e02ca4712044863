//! A preset that is the same at every rate and RTT: ratios, on a logarithmic scale where they have
//! one.

use super::{Description, History, Preset};
use crate::interval::Interval;
use crate::wanted::Wanted;

const FEATURES: &[(&str, f32, f32)] = &[
    ("delay", 0.0, 5.0),
    ("gradient", -1.0, 1.0),
    ("sent_over_acked", -5.0, 5.0),
    ("lost", 0.0, 1.0),
    ("rate_over_flight", -5.0, 5.0),
    ("marked", 0.0, 1.0),
];
const HISTORY: usize = 8;
/// Seconds.
const LEAST: f64 = 5e-3;
/// Packets.
const LEAST_WINDOW: f64 = 4.0;
/// Steps that double the rate.
const STEPS: f64 = 4.0;
/// Packets per second.
const RATES: (f64, f64) = (1.0, 1e7);
/// Packets.
const MOST_WINDOW: f64 = 1e6;

pub(super) const DESCRIPTION: Description = Description {
    name: "plain",
    features: FEATURES,
    history: HISTORY,
    most: 1.0,
    law: None,
    steps: 300,
    make: || Box::new(Plain::default()),
};

/// One agent.
pub struct Plain {
    history: History,
    /// Packets per second.
    rate: f64,
    /// Seconds.
    smoothed: f64,
}

impl Default for Plain {
    fn default() -> Self {
        let history = History::new(FEATURES, HISTORY, &[0.0; FEATURES.len()]);
        Self { history, rate: RATES.0, smoothed: LEAST }
    }
}

/// log2 of `above` over `below`, each at least one of something.
fn doublings(above: f64, below: f64) -> f64 {
    libm::log2(above.max(1.0) / below.max(1.0))
}

impl Plain {
    /// The rate, for an RTT, with twice the packets in flight that this needs.
    fn wanted(&self) -> Wanted {
        let window = (2.0 * self.rate * self.smoothed).clamp(LEAST_WINDOW, MOST_WINDOW);
        Wanted { window, rate: self.rate, seconds: self.smoothed.max(LEAST) }
    }
}

impl Preset for Plain {
    /// At `rate` until an RTT without queues is over.
    fn begin(&mut self, rate: f64, base_rtt: f64) -> Wanted {
        *self = Self { rate: rate.clamp(RATES.0, RATES.1), smoothed: base_rtt, ..Self::default() };
        Wanted { seconds: (1.5 * base_rtt).max(LEAST), ..self.wanted() }
    }

    fn observe(&mut self, interval: &Interval) {
        let Interval { sent, acked, lost, marked, rtt, conn_min_rtt, in_flight, .. } = *interval;
        if interval.srtt > 0.0 {
            self.smoothed = interval.srtt;
        }
        let ratio = if conn_min_rtt > 0.0 { (rtt / conn_min_rtt).max(1.0) } else { 1.0 };
        let answered = lost + acked;
        let of_answered = |packets: f64| if answered > 0.0 { packets / answered } else { 0.0 };
        self.history.push(&[
            libm::log(ratio),
            interval.rtt_gradient,
            doublings(sent, acked),
            of_answered(lost),
            doublings(self.rate * conn_min_rtt, in_flight),
            of_answered(marked),
        ]);
    }

    fn seen(&self) -> &[f32] {
        self.history.seen()
    }

    /// Rate · 2^(a/4).
    fn act(&mut self, action: f32) -> Wanted {
        let rate = self.rate * libm::exp2(f64::from(action.clamp(-1.0, 1.0)) / STEPS);
        self.rate = rate.clamp(RATES.0, RATES.1);
        self.wanted()
    }
}

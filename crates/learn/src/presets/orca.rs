//! Orca (S. Abbasloo, C.-Y. Yen and H. J. Chao, "Classic Meets Modern", SIGCOMM 2020), as its
//! sources have it: `envwrapper.py`, `params.json` and `orca-server-mahimahi.cc` of
//! Soheil-ab/Orca, cafaf9a.

use super::{Description, History, Preset};
use crate::interval::Interval;
use crate::wanted::{WINDOWS, Wanted};

const FEATURES: &[(&str, f32, f32)] = &[
    ("delivery", 0.0, 1.0),
    ("pacing", 0.0, 10.0),
    ("loss", 0.0, 1000.0),
    ("samples", 0.0, 1000.0),
    ("seconds", 0.0, 1000.0),
    ("rtt_share", 0.0, 1.0),
    ("delay_metric", 0.0, 1.0),
];
/// `rec_dim`.
const HISTORY: usize = 10;
/// `epoch` of orca.sh, in seconds.
const SECONDS: f64 = 0.02;
/// `delay_margin_coef`.
const MARGIN: f64 = 1.25;
/// What a lost packet weighs against one delivered.
const LOSS: f64 = 5.0;
/// `MIN_CWND`.
const LEAST_WINDOW: f64 = 4.0;
/// Linux paces CUBIC at this multiple of a window in an RTT (`tcp_pacing_ca_ratio`).
const PACING: f64 = 1.2;

pub(super) const DESCRIPTION: Description = Description {
    name: "orca",
    features: FEATURES,
    history: HISTORY,
    most: 1.0,
    law: Some("cubic"),
    steps: 64,
    make: || Box::new(Orca::default()),
};

/// One agent. CUBIC has the window between its decisions.
pub struct Orca {
    history: History,
    /// The window in packets, as CUBIC left it.
    window: f64,
    /// The largest delivery rate of an interval in packets per second.
    most: f64,
}

impl Default for Orca {
    fn default() -> Self {
        let history = History::new(FEATURES, HISTORY, &[0.0; FEATURES.len()]);
        Self { history, window: LEAST_WINDOW, most: 0.0 }
    }
}

/// What the delay takes of the reward: nothing up to a quarter above the least RTT.
pub fn delay_metric(least: f64, smoothed: f64) -> f64 {
    if smoothed > MARGIN * least { MARGIN * least / smoothed } else { 1.0 }
}

impl Preset for Orca {
    /// CUBIC begins as it does alone.
    fn begin(&mut self, _rate: f64, _base_rtt: f64) -> Wanted {
        *self = Self::default();
        Wanted { window: f64::NAN, rate: 0.0, seconds: SECONDS }
    }

    fn warmed_up(&mut self, interval: &Interval) {
        self.window = interval.window;
    }

    fn observe(&mut self, interval: &Interval) {
        let Interval { duration, lost, conn_min_rtt, srtt, delivery_rate, window, .. } = *interval;
        self.window = window;
        self.most = self.most.max(delivery_rate);
        let of_most = |rate: f64| if self.most > 0.0 { rate / self.most } else { 0.0 };
        let paces = if srtt > 0.0 { PACING * window / srtt } else { 0.0 };
        let loses = if duration > 0.0 { lost / duration } else { 0.0 };
        self.history.push(&[
            of_most(delivery_rate),
            of_most(paces),
            of_most(LOSS * loses),
            if window > 0.0 { interval.rtt_samples / window } else { 0.0 },
            duration,
            if srtt > 0.0 { conn_min_rtt / srtt } else { 1.0 },
            delay_metric(conn_min_rtt, srtt),
        ]);
    }

    fn seen(&self) -> &[f32] {
        self.history.seen()
    }

    /// CUBIC's window · 4^a in whole hundredths and packets (`map_action`, `target_ratio`).
    fn act(&mut self, action: f32) -> Wanted {
        let hundredths = (100.0 * libm::pow(4.0, f64::from(action.clamp(-1.0, 1.0)))).floor();
        let window =
            (hundredths * self.window.floor() / 100.0).floor().clamp(LEAST_WINDOW, *WINDOWS.end());
        Wanted { window, rate: 0.0, seconds: SECONDS }
    }
}

//! What is wanted of a learner, and what can be.

use crate::learner::Action;
use narrows_units::{Duration, Time};

/// How long those who decide by RTTs wait before they look again whether there is one, in seconds.
pub const WAITS: f64 = 0.01;

/// What is wanted of a learner until the next decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    /// The window in packets; NaN leaves it to the law below.
    pub window: f64,
    /// The pacing rate in packets per second; 0 for none.
    pub rate: f64,
    /// Seconds until the next decision.
    pub seconds: f64,
}

/// The smallest and the largest window in packets: a packet in flight takes memory.
pub const WINDOWS: std::ops::RangeInclusive<f64> = 1.0..=1e7;
/// The smallest and the largest pacing rate in packets per second.
pub const RATES: std::ops::RangeInclusive<f64> = 1e-3..=1e12;
/// The shortest and the longest time between decisions, in seconds.
const SPANS: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

impl Wanted {
    /// Fails if it cannot be done; `has_law` says whether there is a law below.
    pub fn check(&self, has_law: bool) -> Result<(), String> {
        let Self { window, rate, seconds } = *self;
        if !(has_law && window.is_nan() || WINDOWS.contains(&window)) {
            let text = "is not from 1 to 1e7 packets; for an agent that only paces take 1e6";
            return Err(format!("a window of {window:?} {text}"));
        }
        if rate != 0.0 && !RATES.contains(&rate) {
            return Err(format!(
                "a rate of {rate:?} packets/s is not from 1e-3 to 1e12; 0 is none"
            ));
        }
        if !SPANS.contains(&seconds) {
            return Err(format!("{seconds:?} s until the next decision; take from 1e-6 to 1e6"));
        }
        Ok(())
    }
    /// The same as of `now`.
    pub fn from(&self, now: Time) -> Action {
        let Self { window, rate, seconds } = *self;
        Action { window, rate, until: after(now, seconds) }
    }
}

/// The instant `seconds` after `now`, to the picosecond.
pub fn after(now: Time, seconds: f64) -> Time {
    now + Duration::from_picos((seconds * 1e12).round() as u64)
}

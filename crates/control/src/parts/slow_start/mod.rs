//! Slow start as a part of its own: each way of leaving the first exponential growth can be
//! combined with any window law.

mod hystart;
mod limited;

use crate::Ack;
pub use hystart::HyStart;
pub use limited::Limited;

/// What slow start does at one acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// The window in packets from now on.
    Grow(f64),
    /// Congestion avoidance begins at the present window.
    Leave,
}

/// The growth below the slow-start threshold.
#[derive(Clone, Debug)]
pub enum SlowStart {
    /// W ← W + n for n packets acknowledged, until the threshold (RFC 5681 §3.1, eq. 2).
    Standard,
    /// Gains at most half of `max_ssthresh` packets per round trip (RFC 3742).
    Limited(Limited),
    /// Ends when the delay grows, after a slower phase that guards against noise (RFC 9406).
    HyStart(HyStart),
}

impl SlowStart {
    /// The names by which a scenario chooses one, with what they do and where they come from.
    pub const NAMES: [(&str, &str, &str); 3] = [
        (
            "standard",
            "gains one packet for each packet acknowledged, until the threshold",
            "RFC 5681 §3.1",
        ),
        ("limited", "gains at most max_ssthresh/2 packets per round trip", "RFC 3742"),
        ("hystart++", "ends when the round-trip time grows", "RFC 9406"),
    ];

    /// The step at `ack`, for a sender limited by a window of `window` packets below the threshold.
    pub fn increase(&mut self, window: f64, ack: &Ack) -> Step {
        match self {
            Self::Standard => Step::Grow(window + ack.packets),
            Self::Limited(limited) => Step::Grow(limited.increase(window, ack.packets)),
            Self::HyStart(hystart) => hystart.increase(window, ack),
        }
    }

    /// Begins again after a timeout: the threshold is known now, and only the first slow start
    /// needs guarding (RFC 9406 §4.3).
    pub fn restart(&mut self) {
        if let Self::HyStart(_) = self {
            *self = Self::Standard;
        }
    }
}

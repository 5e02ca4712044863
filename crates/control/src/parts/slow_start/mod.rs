//! Slow start as a part of its own: each way of leaving the first exponential growth can be
//! combined with any window law.

mod hystart;
mod hystart_plus_plus;
mod limited;

use crate::Ack;
pub use hystart::HyStart;
pub use hystart_plus_plus::HyStartPlusPlus;
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
    /// Ends when a train of acknowledgements is long or the delay has grown (Linux's tcp_cubic.c).
    HyStart(HyStart),
    /// Ends when the delay grows, after a slower phase that guards against noise (RFC 9406).
    HyStartPlusPlus(HyStartPlusPlus),
}

impl SlowStart {
    /// The names by which a scenario chooses one, with what they do and where they come from.
    pub const NAMES: [(&str, &str, &str); 4] = [
        (
            "standard",
            "gains one packet for each packet acknowledged, until the threshold",
            "RFC 5681 §3.1",
        ),
        ("limited", "gains at most max_ssthresh/2 packets per round trip", "RFC 3742"),
        (
            "hystart",
            "ends when acknowledgements arrive closely for half a round trip, or the round-trip time \
             has grown",
            "Linux, net/ipv4/tcp_cubic.c",
        ),
        (
            "hystart++",
            "the first slow start ends when the round-trip time has grown for five rounds",
            "RFC 9406",
        ),
    ];

    /// True if slow start ends at `ack`, before the window moves. Called for every acknowledgement,
    /// with the window in packets and whether it is below the threshold (`slow`).
    pub fn ends(&mut self, window: f64, slow: bool, ack: &Ack) -> bool {
        match self {
            Self::HyStart(hystart) => hystart.ends(window, slow, ack),
            Self::Standard | Self::Limited(_) | Self::HyStartPlusPlus(_) => false,
        }
    }

    /// The step at `ack`, for a sender limited by a window of `window` packets below the threshold.
    pub fn increase(&mut self, window: f64, ack: &Ack) -> Step {
        match self {
            Self::Standard | Self::HyStart(_) => Step::Grow(window + ack.packets),
            Self::Limited(limited) => Step::Grow(limited.increase(window, ack.packets)),
            Self::HyStartPlusPlus(hystart) => hystart.increase(window, ack),
        }
    }

    /// True if it is for the initial slow start only, while the threshold is arbitrarily high, as
    /// HyStart++ is (RFC 9406 §4.3).
    pub fn is_initial(&self) -> bool {
        matches!(self, Self::HyStartPlusPlus(_))
    }

    /// A threshold is known: what is for the initial slow start becomes the standard one. If the
    /// threshold goes again, because its epoch was spurious, so must this.
    pub fn has_threshold(&mut self) {
        if self.is_initial() {
            *self = Self::Standard;
        }
    }

    /// The retransmission timer has expired: Linux's HyStart begins anew.
    pub fn timeout(&mut self) {
        if let Self::HyStart(hystart) = self {
            hystart.timeout();
        }
    }
}

//! BIC-TCP (Xu, Harfoush, Rhee: "Binary increase congestion control for fast, long distance
//! networks", INFOCOM 2004), as Linux has it.
//!
//! | source | equation | here |
//! |---|---|---|
//! | §III-A, binary search | a quarter of the way to W_max per round trip, at most S_max | [`Bic::search`] |
//! | §III-A, near W_max | S_min per round trip: 4 packets in `smooth_part` rounds | [`Bic::search`] |
//! | §III-A, max probing | slow at first, then ever faster, at most S_max | [`Bic::probe_beyond`] |
//! | §III-B, "low_window" | Reno's law up to `low_window` | [`Bic::increase`] |
//! | §III-B, decrease | W ← βW, once per recovery epoch | [`Bic::decrease`] |
//! | §III-B, fast convergence | W_max ← W(1 + β)/2 if W < W_max | [`Bic::decrease`] |
//!
//! The paper goes half of the way (B = 2) with β = 0.875, S_max = 32 and S_min = 0.01. Linux since
//! 2.6.13 goes a quarter of it (B = 4) with β = 0.8 and S_max = 16, and takes both the distance and
//! its quarter in whole packets; so do we. Until the first loss W_max is unknown, and growth is 5 %
//! per round.

use crate::entry::{Entry, MovedBy, SlowStartKind, Start};
use crate::{Ack, WindowLaw};
use narrows_settings::{Settings, settings};
use narrows_units::Time;

/// Its line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "bic",
    aliases: &["TcpBic"],
    summary: "goes a quarter of the way to the window of the last loss per round trip, then probes \
              beyond it",
    source: "Xu, Harfoush, Rhee, INFOCOM 2004; Linux's tcp_bic",
    moved_by: MovedBy::Epochs,
    start: Start::Chosen(SlowStartKind::Standard),
    settings: Params::list,
    construct: |birth| Ok(birth.once_per_epoch(Bic::new(birth.settings()?))),
};

settings! {
    /// Settings of BIC.
    pub struct Params {
        /// Share of the window kept in an epoch (ratio): 819/1024 in Linux, 0.875 in §III-B.
        beta: f64 = 819.0 / 1024.0, above(0.0).below(1.0);
        /// Window in packets up to which the law is Reno's (§III-B).
        low_window: f64 = 14.0, at_least(0.0);
        /// S_max, the most packets gained per round trip: 16 in Linux, 32 in §III-B.
        max_increment: f64 = 16.0, at_least(1.0);
        /// Round trips spent on the last four packets before W_max (Linux).
        smooth_part: f64 = 20.0, at_least(B);
        /// Whether a flow whose peaks fall makes room for others (§III-B).
        fast_convergence: bool = true;
        /// Factor on growth above `low_window`: Linux up to version 4 multiplies it by its estimate
        /// of packets per acknowledgement (1.9375 in ns-2, although each packet is acknowledged
        /// there).
        delayed_ack: f64 = 1.0, at_least(1.0);
    }
}

/// The part of the distance that a round trip covers is 1/B (Linux's BICTCP_B).
const B: f64 = 4.0;
/// Packets gained per round trip until the first loss, as a share of the window (Linux).
const UNKNOWN_GROWTH: f64 = 0.05;

/// The law's state.
#[derive(Clone, Debug)]
pub struct Bic {
    params: Params,
    /// W_max in packets; 0 if it is not known.
    w_max: f64,
}

impl Bic {
    /// The law with `params`, which have been checked.
    pub fn new(params: Params) -> Self {
        Self { params, w_max: 0.0 }
    }

    /// Packets per round trip below W_max (§III-A): a quarter of the distance, at most S_max; close
    /// to W_max, 4/`smooth_part`.
    fn search(&self, window: f64) -> f64 {
        let step = ((self.w_max.floor() - window.floor()) / B).floor();
        if step <= 1.0 { B / self.params.smooth_part } else { step.min(self.params.max_increment) }
    }

    /// Packets per round trip at W_max and beyond (§III-A, "max probing"): 4/`smooth_part` for four
    /// packets, then a third of the distance.
    fn probe_beyond(&self, window: f64) -> f64 {
        let distance = window - self.w_max;
        if distance < B {
            B / self.params.smooth_part
        } else {
            (distance / (B - 1.0)).min(self.params.max_increment)
        }
    }
}

impl WindowLaw for Bic {
    /// W ← W + n·step/W for n packets acknowledged, with the step of §III-A; Reno's up to
    /// `low_window` (§III-B).
    fn increase(&mut self, window: f64, ack: &Ack) -> f64 {
        if window <= self.params.low_window {
            return window + ack.packets / window;
        }
        let mut step =
            if window < self.w_max { self.search(window) } else { self.probe_beyond(window) };
        if self.w_max == 0.0 {
            step = step.max(UNKNOWN_GROWTH * window);
        }
        window + ack.packets * (self.params.delayed_ack * step).min(window) / window
    }

    /// W ← βW when an epoch opens (§III-B), half up to `low_window`; W_max with fast convergence.
    fn decrease(&mut self, window: f64, _now: Time) -> f64 {
        let Params { beta, low_window, fast_convergence, .. } = self.params;
        let makes_room = fast_convergence && window.floor() < self.w_max.floor();
        self.w_max = if makes_room { window * (1.0 + beta) / 2.0 } else { window };
        if window <= low_window { window / 2.0 } else { beta * window }
    }

    /// W_max is forgotten (`bictcp_state` in Linux's net/ipv4/tcp_bic.c).
    fn forget(&mut self) {
        self.w_max = 0.0;
    }

    fn probe(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("w_max", self.w_max);
    }
}

//! HighSpeed TCP (RFC 3649).
//!
//! | source | equation | here |
//! |---|---|---|
//! | §5, eq. 2 | log p(w) is linear in log w, from (38, 1.5/38² ≈ 10⁻³) to (83000, 10⁻⁷) | [`Params::loss_rate`] |
//! | §5, eq. 3 | b(w) is linear in log w, from 0.5 to 0.1 | [`Params::share_given_up`] |
//! | §5, eq. 4 | a(w) = w²·p(w)·2·b(w)/(2 − b(w)), and 1 up to low_window | [`Params::packets_a_round_trip`] |
//! | §5 | w ← w + a(w)/w, for each packet acknowledged | [`HighSpeed::increase`] |
//! | §5 | w ← (1 − b(w))·w, once per recovery epoch | [`HighSpeed::decrease`] |
//!
//! We use the formulas of §5, with p(38) = 1.5/38² as ns-2, rather than the table of appendix B,
//! which was computed from p(w) = 0.078/w^1.2: a(w) is 2 to 4 % above it. Beyond high_window, where
//! the RFC's table ends, a and b stay as they are there, as at the end of Linux's table
//! (net/ipv4/tcp_highspeed.c): extended, eq. 3 would reach b = 0 at 567,000 packets. a(w) is
//! recomputed when the window has moved by a packet, as in ns-2: logarithms for each
//! acknowledgement would cost more than the rest of the sender.

use crate::entry::{Entry, MovedBy, SlowStartKind, Start};
use crate::{Ack, WindowLaw};
use libm::{exp, log};
use narrows_settings::{SettingError, Settings, settings};
use narrows_units::Time;

/// Its line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "highspeed",
    aliases: &["hstcp", "TcpHighSpeed"],
    summary: "Reno's law with an increase and a decrease that depend on the window",
    source: "RFC 3649",
    moved_by: MovedBy::Epochs,
    start: Start::Chosen(SlowStartKind::Standard),
    settings: Params::list,
    construct: |birth| {
        let params: Params = birth.settings()?;
        params.check()?;
        Ok(birth.once_per_epoch(HighSpeed::new(params)))
    },
};

settings! {
    /// Settings of HighSpeed TCP.
    pub struct Params {
        /// Window in packets up to which the law is Reno's (§5).
        low_window: f64 = 38.0, at_least(1.0);
        /// Window in packets at which the loss rate is `high_p` (§5).
        high_window: f64 = 83_000.0, above(1.0);
        /// Loss rate at `high_window` (ratio; §5).
        high_p: f64 = 1e-7, above(0.0).below(1.0);
        /// Share of the window given up at `high_window` (ratio; §5).
        high_decrease: f64 = 0.1, above(0.0).at_most(0.5);
    }
}

impl Params {
    /// Refuses settings that contradict each other.
    fn check(&self) -> Result<(), SettingError> {
        if self.high_window <= self.low_window {
            let (low, high) = (self.low_window, self.high_window);
            let message = format!("high_window: {high} is not above low_window, {low}");
            return Err(SettingError::new(message));
        }
        Ok(())
    }

    /// Where log(`window`) lies between those of low_window (0) and high_window (1).
    fn way(&self, window: f64) -> f64 {
        log(window / self.low_window) / log(self.high_window / self.low_window)
    }

    /// p(w), with p(low_window) = 1.5/low_window², Reno's response (§5, eq. 2).
    fn loss_rate(&self, window: f64) -> f64 {
        let low_p = 1.5 / (self.low_window * self.low_window);
        exp(log(low_p) + self.way(window) * log(self.high_p / low_p))
    }

    /// b(w) (§5, eq. 3), that of high_window beyond it.
    fn share_given_up(&self, window: f64) -> f64 {
        if window <= self.low_window {
            0.5
        } else {
            0.5 + (self.high_decrease - 0.5) * self.way(window.min(self.high_window))
        }
    }

    /// a(w) (§5, eq. 4), that of high_window beyond it.
    fn packets_a_round_trip(&self, window: f64) -> f64 {
        if window <= self.low_window {
            return 1.0;
        }
        let window = window.min(self.high_window);
        let b = self.share_given_up(window);
        (window * window * self.loss_rate(window) * 2.0 * b / (2.0 - b)).max(1.0)
    }
}

/// The law's state.
#[derive(Clone, Debug)]
pub struct HighSpeed {
    params: Params,
    /// The window that `a` was computed for.
    computed_for: f64,
    /// a(w) in packets per round trip.
    a: f64,
}

impl HighSpeed {
    /// The law with `params`, which have been checked.
    pub fn new(params: Params) -> Self {
        Self { params, computed_for: 0.0, a: 1.0 }
    }
}

impl WindowLaw for HighSpeed {
    /// w ← w + n·a(w)/w for n packets acknowledged (§5).
    fn increase(&mut self, window: f64, ack: &Ack) -> f64 {
        if (window - self.computed_for).abs() >= 1.0 {
            self.computed_for = window;
            self.a = self.params.packets_a_round_trip(window);
        }
        window + ack.packets * self.a / window
    }

    /// w ← (1 − b(w))·w when an epoch opens (§5).
    fn decrease(&mut self, window: f64, _now: Time) -> f64 {
        (1.0 - self.params.share_given_up(window)) * window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3649: w, a(w), b(w) of appendix B, and of §5 at high_window.
    #[test]
    fn the_table_is_that_of_the_rfc() {
        let table = [
            (38.0, 1.0, 0.50),
            (118.0, 2.0, 0.44),
            (221.0, 3.0, 0.41),
            (1058.0, 8.0, 0.33),
            (10_661.0, 30.0, 0.21),
            (83_000.0, 72.0, 0.10),
        ];
        let params = Params::default();
        for (window, a, b) in table {
            assert!(
                (params.packets_a_round_trip(window + 0.5) - a).abs() <= 1.0,
                "a({window}) = {}",
                params.packets_a_round_trip(window)
            );
            assert!(
                (params.share_given_up(window) - b).abs() < 0.006,
                "b({window}) = {}",
                params.share_given_up(window)
            );
        }
    }
}

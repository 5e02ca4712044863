//! Scalable TCP (Kelly: "Scalable TCP: improving performance in highspeed wide area networks", CCR
//! 33, 2003).
//!
//! | source | equation | here |
//! |---|---|---|
//! | §3.2, eq. 5 | cwnd ← cwnd + a, for each packet acknowledged, a = 0.01 | [`Scalable::increase`] |
//! | §3.2, eq. 6 | cwnd ← cwnd − b·cwnd, once per recovery epoch, b = 0.125 | [`Scalable::decrease`] |
//!
//! Departure: below its legacy window Kelly's sender is Reno's. As in Linux, the increase is Reno's
//! where that is the faster (1/cwnd above a), and the decrease is always eq. 6.

use crate::{Ack, WindowLaw};
use narrows_units::Time;
use serde::Deserialize;

/// Settings of Scalable TCP.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Packets added for each acknowledged. 0.01 (§3.2); 0.02 in Linux 2.6.22.
    pub a: f64,
    /// Share of the window given up in an epoch, a ratio. 0.125 (§3.2).
    pub b: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self { a: 0.01, b: 0.125 }
    }
}

impl Params {
    /// Says which setting is out of bounds, if one is.
    pub fn check(&self) -> Result<(), &'static str> {
        if !(self.a > 0.0 && self.a <= 1.0) {
            return Err("a: above 0, at most 1, like 0.01");
        }
        if !(self.b > 0.0 && self.b < 1.0) {
            return Err("b: between 0 and 1, like 0.125");
        }
        Ok(())
    }
}

/// The law; it has no state.
#[derive(Clone, Debug)]
pub struct Scalable {
    params: Params,
}

impl Scalable {
    /// The law with `params`, which have been checked.
    pub fn new(params: Params) -> Self {
        Self { params }
    }
}

impl WindowLaw for Scalable {
    /// W ← W + n·a for n packets acknowledged (§3.2, eq. 5), or Reno's n/W where that is more.
    fn increase(&mut self, window: f64, ack: &Ack) -> f64 {
        window + ack.packets * self.params.a.max(1.0 / window)
    }

    /// W ← W − b·W when an epoch opens (§3.2, eq. 6).
    fn decrease(&mut self, window: f64, _now: Time) -> f64 {
        window - self.params.b * window
    }
}

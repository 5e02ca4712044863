//! Additive increase, multiplicative decrease, with any two parameters (Chiu and Jain, 1989; Leith
//! and Shorten: "H-TCP", §2).
//!
//! | source | equation | here |
//! |---|---|---|
//! | H-TCP, §2, eq. 2 | W ← W + α/W, for each packet acknowledged: α more a round trip | [`Aimd::increase`] |
//! | H-TCP, §2, eq. 2 | W ← βW, once per recovery epoch | [`Aimd::decrease`] |
//!
//! α = 2(1 − β) is fair to Reno, which is α = 1 and β = 0.5 (H-TCP, §2, (i)).

use crate::{Ack, WindowLaw};
use narrows_units::Time;
use serde::Deserialize;

/// The two parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Packets gained in a round trip. 1, Reno's.
    pub alpha: f64,
    /// Share of the window kept in an epoch, a ratio. 0.5, Reno's.
    pub beta: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self { alpha: 1.0, beta: 0.5 }
    }
}

impl Params {
    /// Says which setting is out of bounds, if one is.
    pub fn check(&self) -> Result<(), &'static str> {
        if !(self.alpha > 0.0 && self.alpha.is_finite()) {
            return Err("alpha: above 0 packets a round trip, like 1");
        }
        if !(self.beta > 0.0 && self.beta < 1.0) {
            return Err("beta: between 0 and 1, like 0.5");
        }
        Ok(())
    }
}

/// The law; it has no state.
#[derive(Clone, Debug)]
pub struct Aimd {
    params: Params,
}

impl Aimd {
    /// The law with `params`, which have been checked.
    pub fn new(params: Params) -> Self {
        Self { params }
    }
}

impl WindowLaw for Aimd {
    /// W ← W + nα/W for n packets acknowledged (H-TCP, §2, eq. 2).
    fn increase(&mut self, window: f64, ack: &Ack) -> f64 {
        window + ack.packets * self.params.alpha / window
    }

    /// W ← βW when an epoch opens (H-TCP, §2, eq. 2).
    fn decrease(&mut self, window: f64, _now: Time) -> f64 {
        self.params.beta * window
    }
}

//! Additive increase, multiplicative decrease, with any two parameters (Chiu and Jain, 1989; Leith
//! and Shorten: "H-TCP", §2).
//!
//! | source | equation | here |
//! |---|---|---|
//! | H-TCP, §2, eq. 2 | W ← W + α/W, for each packet acknowledged: α more per round trip | [`Aimd::increase`] |
//! | H-TCP, §2, eq. 2 | W ← βW, once per recovery epoch | [`Aimd::decrease`] |
//!
//! α = 2(1 − β) is fair to Reno, which has α = 1 and β = 0.5 (H-TCP, §2, (i)).

use crate::entry::{Entry, MovedBy, SlowStartKind, Start};
use crate::{Ack, WindowLaw};
use narrows_settings::{Settings, settings};
use narrows_units::Time;

/// Its line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "aimd",
    aliases: &[],
    summary: "adds `alpha` packets per round trip and keeps the share `beta` after a loss: Reno's \
              law with free parameters",
    source: "Leith, Shorten, §2; Chiu, Jain, 1989",
    moved_by: MovedBy::Epochs,
    start: Start::Chosen(SlowStartKind::Standard),
    settings: Params::list,
    construct: |birth| Ok(birth.once_per_epoch(Aimd::new(birth.settings()?))),
};

settings! {
    /// Settings of AIMD.
    pub struct Params {
        /// Packets gained per round trip; Reno's is 1.
        alpha: f64 = 1.0, above(0.0).at_most(1e6);
        /// Share of the window kept in an epoch (ratio); Reno's is 0.5.
        beta: f64 = 0.5, above(0.0).below(1.0);
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

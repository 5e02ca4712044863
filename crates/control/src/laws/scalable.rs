//! Scalable TCP (Kelly: "Scalable TCP: improving performance in highspeed wide area networks", CCR
//! 33, 2003).
//!
//! | source | equation | here |
//! |---|---|---|
//! | §3.2, eq. 5 | cwnd ← cwnd + a, for each packet acknowledged, a = 0.01 | [`Scalable::increase`] |
//! | §3.2, eq. 6 | cwnd ← cwnd − b·cwnd, once per recovery epoch, b = 0.125 | [`Scalable::decrease`] |
//!
//! Departure: below its legacy window Kelly's sender follows Reno's law. Here, as in Linux, the
//! increase is Reno's if that is faster (1/cwnd above a), and the decrease is always eq. 6.

use crate::entry::{Entry, MovedBy, SlowStartKind, Start};
use crate::{Ack, WindowLaw};
use narrows_settings::{Settings, settings};
use narrows_units::Time;

/// Its line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "scalable",
    aliases: &["stcp", "TcpScalable"],
    summary: "adds a fixed share of the window per round trip and gives up a fixed share after a \
              loss",
    source: "Kelly, CCR 33, 2003",
    moved_by: MovedBy::Epochs,
    start: Start::Chosen(SlowStartKind::Standard),
    settings: Params::list,
    construct: |birth| Ok(birth.once_per_epoch(Scalable::new(birth.settings()?))),
};

settings! {
    /// Settings of Scalable TCP.
    pub struct Params {
        /// Packets added for each packet acknowledged (§3.2); 0.02 in Linux 2.6.22.
        a: f64 = 0.01, above(0.0).at_most(1.0);
        /// Share of the window given up in an epoch (ratio; §3.2).
        b: f64 = 0.125, above(0.0).below(1.0);
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
    /// W ← W + n·a for n packets acknowledged (§3.2, eq. 5), or Reno's n/W if that is more.
    fn increase(&mut self, window: f64, ack: &Ack) -> f64 {
        window + ack.packets * self.params.a.max(1.0 / window)
    }

    /// W ← W − b·W when an epoch opens (§3.2, eq. 6).
    fn decrease(&mut self, window: f64, _now: Time) -> f64 {
        window - self.params.b * window
    }
}

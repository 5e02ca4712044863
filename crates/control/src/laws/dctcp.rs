//! DCTCP (Alizadeh and others, SIGCOMM 2010; RFC 8257).
//!
//! | source | equation | here |
//! |---|---|---|
//! | RFC 8257 §3.3, step 6 | M = packets marked / packets acknowledged, in a window of data | [`Dctcp::observe`] |
//! | RFC 8257 §3.3, step 7 | α ← (1 − g)α + gM | [`Dctcp::observe`] |
//! | RFC 8257 §3.3, step 9 | W ← W(1 − α/2), once per window of data with marks | [`Dctcp::marked`] |
//! | RFC 8257 §3.4; RFC 5681 §3.1, eq. 3 | W ← W + 1/W, for each packet acknowledged | [`Dctcp::increase`] |
//! | RFC 8257 §3.5; RFC 5681 §3.1, eq. 4 | W ← W/2 at a loss, once per recovery epoch | [`Dctcp::decrease`] |
//!
//! Departures: marks are counted in packets, as accurate ECN reports them (RFC 9768), so that
//! delayed acknowledgements need no second rule (§3.2); the window shrinks when the first mark of a
//! window of data is reported, as in Linux, with the α of the window before.

use crate::entry::{Entry, MovedBy, SlowStartKind, Start};
use crate::{Ack, Needs, Rounds, WindowLaw};
use narrows_settings::{Settings, settings};
use narrows_signal::Ecn;
use narrows_units::Time;

/// Its line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "dctcp",
    aliases: &["TcpDctcp"],
    summary: "reduces the window by half the share of packets that carry a mark; needs queues that \
              mark",
    source: "RFC 8257",
    moved_by: MovedBy::Epochs,
    start: Start::Chosen(SlowStartKind::Standard),
    settings: Params::list,
    construct: |birth| Ok(birth.once_per_epoch(Dctcp::new(birth.settings()?))),
};

settings! {
    /// Settings of DCTCP.
    pub struct Params {
        /// Weight of a new window of data in α (ratio; RFC 8257 §4.2).
        g: f64 = 1.0 / 16.0, above(0.0).at_most(1.0);
        /// Initial value of α (ratio; RFC 8257 §4.2).
        alpha: f64 = 1.0, at_least(0.0).at_most(1.0);
        /// Whether packets leave as ECT(1), so that queues recognise a scalable sender (RFC 9331
        /// §4.1).
        l4s: bool = false;
    }
}

/// The law's state.
#[derive(Clone, Debug)]
pub struct Dctcp {
    g: f64,
    /// Estimated share of marked packets.
    alpha: f64,
    l4s: bool,
    rounds: Rounds,
    /// Packets acknowledged in this window of data, and marked ones among them.
    packets: f64,
    marked: f64,
}

impl Dctcp {
    /// The law with `params`, which have been checked.
    pub fn new(params: Params) -> Self {
        Self {
            g: params.g,
            alpha: params.alpha,
            l4s: params.l4s,
            rounds: Rounds::default(),
            packets: 0.0,
            marked: 0.0,
        }
    }
}

impl WindowLaw for Dctcp {
    /// α ← (1 − g)α + gM at the end of each window of data (RFC 8257 §3.3, steps 5 to 7).
    fn observe(&mut self, ack: &Ack) {
        self.packets += ack.packets;
        self.marked += ack.marked;
        if self.rounds.ends_with(ack) {
            let share = self.marked / self.packets.max(1.0);
            self.alpha = (1.0 - self.g) * self.alpha + self.g * share.min(1.0);
            (self.packets, self.marked) = (0.0, 0.0);
        }
    }

    /// W ← W + n/W for n packets acknowledged (RFC 8257 §3.4).
    fn increase(&mut self, window: f64, ack: &Ack) -> f64 {
        window + ack.packets / window
    }

    /// W ← W(1 − α/2) at the first mark of a window of data (RFC 8257 §3.3, step 9).
    fn marked(&mut self, window: f64, _now: Time) -> f64 {
        window * (1.0 - self.alpha / 2.0)
    }

    /// W ← W/2 when an epoch opens (RFC 8257 §3.5).
    fn decrease(&mut self, window: f64, _now: Time) -> f64 {
        window / 2.0
    }

    fn needs(&self) -> Needs {
        Needs { ecn: if self.l4s { Ecn::Scalable } else { Ecn::Capable }, ..Needs::default() }
    }

    fn probe(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("alpha", self.alpha);
    }
}

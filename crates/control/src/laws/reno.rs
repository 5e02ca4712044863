//! Reno's law (Jacobson, 1988; RFC 5681).
//!
//! | source | equation | here |
//! |---|---|---|
//! | RFC 5681 §3.1, eq. 3 | W ← W + 1/W, for each packet acknowledged | [`Reno::increase`] |
//! | RFC 5681 §3.1, eq. 4 | W ← W/2, once per recovery epoch | [`Reno::decrease`] |
//! | RFC 3168 §6.1.2 | at a window of one packet, wait for the timer after a mark, if asked for | [`Abe::stopping`] |
//! | RFC 8511 §3 | W ← beta_ecn·W, once per window of data with marks, if asked for | [`Abe`] |
//!
//! Departure: eq. 4 halves the packets in flight; like ns-2 and Linux we halve the window, which is
//! the same for a sender that the window limits.

use crate::entry::{Entry, MovedBy, SlowStartKind, Start};
use crate::{Abe, Ack, WindowLaw};
use narrows_settings::{Settings, settings};
use narrows_units::Time;

/// Its line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "reno",
    aliases: &["TcpLinuxReno"],
    summary: "adds one packet per round trip and halves the window after a loss",
    source: "RFC 5681",
    moved_by: MovedBy::Epochs,
    start: Start::Chosen(SlowStartKind::Standard),
    settings: Params::list,
    construct: |birth| {
        let params: Params = birth.settings()?;
        let law = Abe::new(Reno, params.beta_ecn).stopping(params.mark_stops);
        Ok(birth.once_per_epoch(law))
    },
};

settings! {
    /// Settings of Reno.
    pub struct Params {
        /// Share of the window kept after a mark (ratio); RFC 8511 §3.1 recommends 0.8.
        beta_ecn: Option<f64> = None => "0.5, as after a loss", above(0.0).below(1.0);
        /// Whether a mark at a window of one packet stops the sender until its retransmission timer
        /// goes off, which backs off while marks go on (RFC 2481, RFC 3168 §6.1.2, ns-2); without
        /// it a mark leaves at least two packets, as in Linux.
        mark_stops: bool = false;
    }
}

/// Additive increase of one packet per round trip, multiplicative decrease by half.
#[derive(Clone, Debug)]
pub struct Reno;

impl WindowLaw for Reno {
    /// W ← W + n/W for n packets acknowledged (RFC 5681 §3.1, eq. 3).
    fn increase(&mut self, window: f64, ack: &Ack) -> f64 {
        window + ack.packets / window
    }

    /// W ← W/2 when an epoch opens (RFC 5681 §3.1, eq. 4).
    fn decrease(&mut self, window: f64, _now: Time) -> f64 {
        window / 2.0
    }
}

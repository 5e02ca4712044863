//! MulTCP: one flow that behaves as N virtual ones (Crowcroft, Oechslin: "Differentiated
//! end-to-end Internet services using a weighted proportional fair sharing TCP", CCR 28(3), 1998).
//! The baseline that LTCP's paper starts from (Bhandarkar, Jain, Reddy, §II, §III).
//!
//! | source | equation | here |
//! |---|---|---|
//! | LTCP §III, "as if it were emulating K virtual flows" | W ← W + N/W, for each packet acknowledged | [`MulTcp::increase`] |
//! | LTCP §II; Crowcroft, Oechslin | W ← W − W/(2N), once per recovery epoch: one of N flows of W/N halves | [`MulTcp::decrease`] |
//!
//! Departure: MulTCP's own slow start, which triples the window per round trip up to where N flows
//! would be, is left out; the slow start is the one that the user chooses, as for every other law.

use crate::entry::{Entry, MovedBy, SlowStartKind, Start};
use crate::{Ack, WindowLaw};
use narrows_settings::{Settings, settings};
use narrows_units::Time;

/// Its line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "multcp",
    aliases: &[],
    summary: "behaves as `n` flows of Reno's law, of which one answers each loss",
    source: "Crowcroft, Oechslin, CCR 28(3), 1998",
    moved_by: MovedBy::Epochs,
    start: Start::Chosen(SlowStartKind::Standard),
    settings: Params::list,
    construct: |birth| Ok(birth.once_per_epoch(MulTcp::new(birth.settings()?))),
};

settings! {
    /// Settings of MulTCP.
    pub struct Params {
        /// N, the number of virtual flows; it need not be whole, and 1 is Reno's law.
        n: f64 = 4.0, at_least(1.0).at_most(1e4);
    }
}

/// The law; it has no state.
#[derive(Clone, Debug)]
pub struct MulTcp {
    params: Params,
}

impl MulTcp {
    /// The law with `params`, which have been checked.
    pub fn new(params: Params) -> Self {
        Self { params }
    }
}

impl WindowLaw for MulTcp {
    /// W ← W + mN/W for m packets acknowledged: N packets per round trip (LTCP §III, and there
    /// MulTCP's).
    fn increase(&mut self, window: f64, ack: &Ack) -> f64 {
        window + ack.packets * self.params.n / window
    }

    /// W ← W − W/(2N) when an epoch opens: one of N equal flows halves (LTCP §II).
    fn decrease(&mut self, window: f64, _now: Time) -> f64 {
        window - window / (2.0 * self.params.n)
    }
}

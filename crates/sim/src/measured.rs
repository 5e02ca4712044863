//! The part of a run that is measured.

use narrows_units::Time;

/// The measured part of a run: from the end of the warm-up to the end of the run.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// The end of the warm-up.
    pub from: Time,
    /// The end of the run.
    pub to: Time,
}

impl Measured {
    /// True if `at` lies in the measured part, its ends included.
    pub fn contains(&self, at: Time) -> bool {
        self.from <= at && at <= self.to
    }

    /// Seconds that the measured part shares with `from..to`.
    pub fn overlap(&self, from: Time, to: Time) -> f64 {
        to.min(self.to).since(from.max(self.from)).seconds()
    }

    /// Length of the measured part in seconds.
    pub fn seconds(&self) -> f64 {
        self.to.since(self.from).seconds()
    }
}

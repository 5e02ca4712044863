//! The application of a near end: what it still has to write.

use narrows_scenario::{Offered, Transfer};
use narrows_units::Time;

/// Writes zeros as they are offered, until all that there is has been written.
#[derive(Clone)]
pub(crate) struct Application {
    /// `None` for no end.
    bytes: Option<u64>,
    written: u64,
    offered: Offered,
}

impl Application {
    pub fn new(transfer: &Transfer) -> Self {
        let Transfer { bytes, offered, .. } = transfer;
        Self { bytes: *bytes, written: 0, offered: offered.clone() }
    }

    /// The bytes that it may write at `now`, up to `most`.
    pub fn ready(&self, now: Time, most: usize) -> usize {
        let end = self.bytes.unwrap_or(u64::MAX).min(self.offered.by(now));
        end.saturating_sub(self.written).min(most as u64) as usize
    }

    /// It has written so many.
    pub fn wrote(&mut self, bytes: usize) {
        self.written += bytes as u64;
    }

    /// Whether all has been written.
    pub fn is_done(&self) -> bool {
        Some(self.written) == self.bytes
    }

    /// When it is offered more after `now`, if it is.
    pub fn next(&self, now: Time) -> Option<Time> {
        self.offered.next(now).filter(|_| !self.is_done())
    }
}

/// The earlier of two times, of which each may be none.
pub(crate) fn earlier(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    one.into_iter().chain(other).min()
}

//! A connection's own time, and datagrams in bytes.

use narrows_units::{Duration, Time};
use std::time::Instant;

/// When a connection began, and how large its datagrams are.
pub(crate) struct Scale {
    /// Bytes of a full datagram.
    pub mtu: u16,
    /// When it began.
    pub begun: Instant,
}

impl Scale {
    /// An instant as a law counts it: from the connection's beginning.
    pub fn time(&self, at: Instant) -> Time {
        let nanos = at.saturating_duration_since(self.begun).as_nanos() as u64;
        Time::ZERO + Duration::from_picos(nanos * 1000)
    }

    /// `packets` in bytes, at least one datagram.
    pub fn bytes(&self, packets: f64) -> u64 {
        let mtu = u64::from(self.mtu);
        ((packets * mtu as f64).min(1e15) as u64).max(mtu)
    }
}

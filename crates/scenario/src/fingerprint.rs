//! What happens in a run as a hash: two runs with one hash are the same, packet by packet.

use narrows_sim::{Crossing, Tap};
use std::sync::{Arc, Mutex, PoisonError};

/// FNV-1a, of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(pub u64);

impl Fingerprint {
    /// Of nothing.
    pub const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    /// Hashes more.
    pub fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Hashes a number, its lowest byte first.
    pub fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }
}

/// A tap that hashes each crossing: when, where, which packet, and how it was marked. Its clones
/// are one.
#[derive(Clone, Debug)]
pub struct History(Arc<Mutex<Fingerprint>>);

impl Default for History {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Fingerprint::EMPTY)))
    }
}

impl History {
    /// The fingerprint of what has happened.
    pub fn so_far(&self) -> Fingerprint {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tap for History {
    fn crossing(&mut self, crossing: &Crossing) {
        let Crossing { at, link, point, flow, segment, .. } = crossing;
        let mut hash = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for number in [
            at.picos(),
            u64::from(*link),
            *point as u64,
            u64::from(*flow),
            segment.number,
            segment.stamp.picos(),
            segment.echoed_stamp.picos(),
            u64::from(segment.bytes),
            segment.kind() as u64,
            segment.ecn() as u64,
            u64::from(segment.is_retransmission()),
        ] {
            hash.number(number);
        }
    }
}

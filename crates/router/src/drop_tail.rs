//! Drop-tail: what finds the queue full is dropped.

use crate::Backlog;

/// The limit of a queue, the packet in transmission included.
///
/// ns-2's `queue-limit` counts alike: its queue holds one packet less than the limit, and one more
/// is on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropTail {
    /// Never drops.
    Unlimited,
    /// At most so many packets.
    Packets(u64),
    /// At most so many bytes.
    Bytes(u64),
}

impl DropTail {
    /// True where a packet of `bytes` still fits behind `backlog`.
    pub fn admits(self, backlog: Backlog, bytes: u32) -> bool {
        match self {
            Self::Unlimited => true,
            Self::Packets(limit) => backlog.packets < limit,
            Self::Bytes(limit) => backlog.bytes + u64::from(bytes) <= limit,
        }
    }
}

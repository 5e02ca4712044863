//! How much a queue may hold.

use crate::Backlog;

/// The limit of a queue, the packet in transmission included.
///
/// ns-2's `queue-limit` counts the same: its queue holds one packet less than the limit, and one
/// more is on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Never drops.
    Unlimited,
    /// At most this many packets.
    Packets(u64),
    /// At most this many bytes.
    Bytes(u64),
}

impl Limit {
    /// True if a packet of `bytes` still fits behind `backlog`.
    pub fn admits(self, backlog: Backlog, bytes: u32) -> bool {
        match self {
            Self::Unlimited => true,
            Self::Packets(limit) => backlog.packets < limit,
            Self::Bytes(limit) => backlog.bytes + u64::from(bytes) <= limit,
        }
    }
}

/// What is left of a limit for packets that wait.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// The queue's limit.
    pub limit: Limit,
    /// What is in transmission, which the limit counts too.
    pub in_transmission: Backlog,
}

impl Room {
    /// True if a packet of `bytes` still fits behind what is `waiting`.
    pub fn admits(self, waiting: Backlog, bytes: u32) -> bool {
        self.limit.admits(waiting + self.in_transmission, bytes)
    }
}

//! What a queue needs to know of a packet, whether it is simulated or real.

use narrows_signal::{Ecn, Request};

/// A packet as routers see it.
pub trait Packet {
    /// Size on the wire.
    fn bytes(&self) -> u32;
    /// The flow it belongs to. Numbers are small, because they are places in a table.
    fn flow(&self) -> u32;
    /// Its congestion bits.
    fn ecn(&self) -> Ecn;
    /// Marks it, if it can be marked.
    fn mark(&mut self);
    /// What it asks of routers; `None` for a packet without data.
    fn request(&mut self) -> Option<&mut Request>;
}

/// What is in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Backlog {
    /// The larger number of packets, and of bytes, of this and `other`.
    pub fn most(self, other: Self) -> Self {
        Self { packets: self.packets.max(other.packets), bytes: self.bytes.max(other.bytes) }
    }

    /// Adds `packet`.
    pub(crate) fn add(&mut self, packet: &impl Packet) {
        self.packets += 1;
        self.bytes += u64::from(packet.bytes());
    }

    /// Removes `packet`.
    pub(crate) fn remove(&mut self, packet: &impl Packet) {
        self.packets -= 1;
        self.bytes -= u64::from(packet.bytes());
    }
}

impl std::ops::Add for Backlog {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

/// What a queue does with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Lets it in, or lets it pass.
    Admit,
    /// Does the same, with a mark.
    Mark,
    /// Drops it.
    Drop,
}

impl Verdict {
    /// The verdict at congestion: a mark if the packet can carry one and the queue marks, else a
    /// drop.
    pub(crate) const fn congestion(ecn: Ecn, marks: bool) -> Self {
        if marks && ecn.is_capable() { Self::Mark } else { Self::Drop }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A packet for tests, by number.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub(crate) struct Parcel {
        pub flow: u32,
        pub number: u64,
        pub bytes: u32,
        pub ecn: Ecn,
        pub request: Request,
    }

    impl Parcel {
        pub fn new(flow: u32, number: u64) -> Self {
            Self { flow, number, bytes: 1000, ecn: Ecn::NotCapable, request: Request::Nothing }
        }
    }

    impl Packet for Parcel {
        fn bytes(&self) -> u32 {
            self.bytes
        }
        fn flow(&self) -> u32 {
            self.flow
        }
        fn ecn(&self) -> Ecn {
            self.ecn
        }
        fn mark(&mut self) {
            self.ecn = self.ecn.mark();
        }
        fn request(&mut self) -> Option<&mut Request> {
            Some(&mut self.request)
        }
    }
}

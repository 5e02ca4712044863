//! A packet in flight, and how routers see it.

use narrows_router::Packet;
use narrows_signal::{Ecn, Request};
use narrows_transport::Segment;
use narrows_units::Time;

/// A packet in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Travelling {
    pub segment: Segment,
    /// Index of the hop that the packet is on its way to.
    pub hop: u32,
    pub path: u32,
}

impl Packet for Travelling {
    fn bytes(&self) -> u32 {
        self.segment.bytes
    }

    /// A flow's data and its acknowledgements are two different flows to a router.
    fn flow(&self) -> u32 {
        self.path
    }

    fn ecn(&self) -> Ecn {
        self.segment.ecn()
    }

    fn mark(&mut self) {
        self.segment.mark();
    }

    fn request(&mut self) -> Option<&mut Request> {
        self.segment.request()
    }
}

/// A packet in a queue that decides on departure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub came: Time,
    /// True if the packet arrived with a mark.
    pub was_marked: bool,
    pub packet: Travelling,
}

impl Packet for Waiting {
    fn bytes(&self) -> u32 {
        self.packet.bytes()
    }
    fn flow(&self) -> u32 {
        self.packet.flow()
    }
    fn ecn(&self) -> Ecn {
        self.packet.ecn()
    }
    fn mark(&mut self) {
        self.packet.mark();
    }
    fn request(&mut self) -> Option<&mut Request> {
        self.packet.request()
    }
}

//! A packet in flight, and how routers see it.

use crate::link::Cargo;
use narrows_router::Packet;
use narrows_signal::{Ecn, Request};
use narrows_transport::Segment;

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

impl Cargo for Travelling {
    fn number_of_flow(&self) -> u32 {
        self.path / 2
    }

    fn damage(&mut self) -> bool {
        self.segment.damage()
    }

    fn clear(&mut self) {
        self.segment.clear();
    }

    fn behind(&self) -> u32 {
        self.segment.behind()
    }

    fn advertise(&mut self, bytes: u32) {
        self.segment.advertise(bytes);
    }
}

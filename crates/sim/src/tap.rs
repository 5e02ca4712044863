//! Taps: an outside view of the packets at a link.

use crate::hosted::Payloads;
use crate::link::Carried;
use crate::packet::Travelling;
use crate::wiring::LinkId;
use narrows_transport::{Header, Segment};
use narrows_units::Time;

/// Where a tapped link is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TapPoint {
    /// The packet arrives at the tail of the queue.
    Arrival,
    /// The last bit leaves the transmitter.
    Departure,
    /// The queue has no room, or drops the packet later.
    Drop,
    /// The packet departs and is lost on the wire.
    WireLoss,
    /// The link's script drops the packet.
    ScriptDrop,
    /// The link's policer drops the packet.
    PolicerDrop,
}

/// One packet at one tap.
#[derive(Clone, Copy, Debug)]
pub struct Crossing<'a> {
    /// The time.
    pub at: Time,
    /// The link's place in [`Network::links`](crate::Network::links).
    pub link: LinkId,
    /// The event at the link.
    pub point: TapPoint,
    /// The flow's place in [`Network::flows`](crate::Network::flows).
    pub flow: u32,
    /// The packet.
    pub segment: Segment,
    /// The bytes of a hosted datagram.
    pub payload: Option<&'a [u8]>,
}

/// A tap is shown each packet at the tapped links. A departure is reported ahead of its time, as
/// soon as it is decided.
pub trait Tap: Send {
    /// Called when a packet crosses a tapped link.
    fn crossing(&mut self, crossing: &Crossing<'_>);
}

/// A tap at a sender is shown what leaves it and what comes back, in order of time.
pub trait EndTap: Send {
    /// A segment leaves the sender of `flow` at `at`.
    fn sent(&mut self, flow: u32, at: Time, segment: &Segment);

    /// A segment reaches the sender of `flow` at `at`.
    fn received(&mut self, flow: u32, at: Time, segment: &Segment);
}

/// The flows that are tapped at their senders, each with its tap.
pub(crate) struct TappedEnds(pub Vec<(u32, Box<dyn EndTap>)>);

impl TappedEnds {
    /// Reports that a segment left the sender of `flow`.
    #[cold]
    pub fn show_sent(&mut self, flow: u32, at: Time, segment: &Segment) {
        self.0.iter_mut().filter(|it| it.0 == flow).for_each(|it| it.1.sent(flow, at, segment));
    }

    /// Reports that a segment reached the sender of `flow`.
    #[cold]
    pub fn show_received(&mut self, flow: u32, at: Time, segment: &Segment) {
        self.0.iter_mut().filter(|it| it.0 == flow).for_each(|it| it.1.received(flow, at, segment));
    }
}

/// The links that are tapped, and the tap.
pub(crate) struct TappedLinks {
    pub links: Vec<LinkId>,
    pub tap: Box<dyn Tap>,
}

impl TappedLinks {
    /// Reports that a packet arrived at `link` at time `at`.
    pub fn show_arrival(&mut self, link: LinkId, at: Time, packet: &Travelling, bytes: &Payloads) {
        self.show((link, TapPoint::Arrival), at, packet, bytes);
    }

    /// Reports that a packet was dropped at time `at`, at this point.
    pub fn show_drop(
        &mut self,
        (link, point): (LinkId, TapPoint),
        at: Time,
        packet: &Travelling,
        bytes: &Payloads,
    ) {
        self.show((link, point), at, packet, bytes);
    }

    /// Reports the fate of a packet, decided at time `at`; if it departs, it leaves at `leaves`,
    /// and if not, it was dropped at the point `drop`.
    pub fn show_fate(
        &mut self,
        (link, at, leaves, drop): (LinkId, Time, Time, TapPoint),
        packet: &Travelling,
        carried: Carried,
        bytes: &Payloads,
    ) {
        let (at, point) = match carried {
            Carried::Arrives(_) => (leaves, TapPoint::Departure),
            Carried::Dropped => (at, drop),
            Carried::Lost => (leaves, TapPoint::WireLoss),
        };
        self.show((link, point), at, packet, bytes);
    }

    #[cold]
    fn show(
        &mut self,
        (link, point): (LinkId, TapPoint),
        at: Time,
        packet: &Travelling,
        bytes: &Payloads,
    ) {
        if self.links.contains(&link) {
            let (flow, segment) = (packet.path / 2, packet.segment);
            let payload = match segment.header {
                Header::Hosted { place, .. } => Some(bytes.at(place)),
                _ => None,
            };
            self.tap.crossing(&Crossing { at, link, point, flow, segment, payload });
        }
    }
}

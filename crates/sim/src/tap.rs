//! What somebody sees who watches packets at links.

use crate::link::Carried;
use crate::packet::Travelling;
use crate::wiring::LinkId;
use narrows_transport::Segment;
use narrows_units::Time;

/// Where a tapped link is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TapPoint {
    /// At the queue's tail.
    Arrival,
    /// Its last bit leaves the transmitter.
    Departure,
    /// The queue had no room, or gave it up.
    Drop,
    /// It departed and was lost on the wire.
    WireLoss,
}

/// One packet at one tap.
#[derive(Clone, Copy, Debug)]
pub struct Crossing {
    /// When.
    pub at: Time,
    /// The link's place in [`Network::links`].
    pub link: LinkId,
    /// Where at the link.
    pub point: TapPoint,
    /// The flow's place in [`Network::flows`].
    pub flow: u32,
    /// The packet.
    pub segment: Segment,
}

/// Is shown each packet at the tapped links. A departure is told with its arrival, which is
/// earlier.
pub trait Tap: Send {
    /// A packet crosses a tapped link.
    fn crossing(&mut self, crossing: &Crossing);
}

/// Links that are tapped, and by whom.
pub(crate) struct TappedLinks {
    pub links: Vec<LinkId>,
    pub tap: Box<dyn Tap>,
}

impl TappedLinks {
    /// A packet came to `link` at `at`.
    pub fn show_arrival(&mut self, link: LinkId, at: Time, packet: &Travelling) {
        self.show(link, at, packet, TapPoint::Arrival);
    }

    /// A queue gave a packet up at `at`.
    pub fn show_drop(&mut self, link: LinkId, at: Time, packet: &Travelling) {
        self.show(link, at, packet, TapPoint::Drop);
    }

    /// What became at `at` of a packet.
    pub fn show_fate(&mut self, link: LinkId, at: Time, packet: &Travelling, carried: &Carried) {
        let (at, point) = match carried {
            Carried::Arrives(departure, _) => (*departure, TapPoint::Departure),
            Carried::Dropped => (at, TapPoint::Drop),
            Carried::Lost(departure) => (*departure, TapPoint::WireLoss),
        };
        self.show(link, at, packet, point);
    }

    #[cold]
    fn show(&mut self, link: LinkId, at: Time, packet: &Travelling, point: TapPoint) {
        if self.links.contains(&link) {
            let (flow, segment) = (packet.path / 2, packet.segment);
            self.tap.crossing(&Crossing { at, link, point, flow, segment });
        }
    }
}

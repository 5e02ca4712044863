//! BA's sender: Reno's law, limited to bandwidth times propagation delay (Gerla, Lo Cigno, Mascolo,
//! Weng, §5).
//!
//! | source | equation | here |
//! |---|---|---|
//! | §5 | W ≤ δ·min v, a lower bound to the transmission window | [`Ba::observe`] |
//! | §5 | δ, the round-trip propagation delay, in place of d, the delay with queues | the smallest RTT so far |
//!
//! v is the bandwidth that routers say is available to the flow, in bytes per second. If no router
//! advertises a bandwidth, the law is Reno's.

use crate::registry::{Entry, MovedBy, SlowStartKind, Start};
use crate::{Ack, Bound};
use narrows_settings::none;
use narrows_signal::{Reply, Request};

/// Its line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "ba",
    aliases: &["ba-tcp"],
    summary: "Reno's law, limited to the bandwidth that routers advertise times the smallest RTT; \
              needs `ba` queues",
    source: "Gerla, Lo Cigno, Mascolo, Weng, §5",
    moved_by: MovedBy::Epochs,
    start: Start::Chosen(SlowStartKind::Standard),
    settings: none,
    construct: |birth| Ok(birth.bounded(Ba::new(birth.packet_bytes))),
};

/// The advertised bandwidth.
#[derive(Clone, Debug)]
pub struct Ba {
    /// Bytes of a packet on the wire.
    packet_bytes: f64,
    /// δ·v in packets.
    bound: f64,
}

impl Ba {
    /// A bound for packets of `packet_bytes`, infinite at first.
    pub fn new(packet_bytes: u32) -> Self {
        Self { packet_bytes: f64::from(packet_bytes), bound: f64::INFINITY }
    }
}

impl Bound for Ba {
    /// W ≤ δ·v (§5).
    fn observe(&mut self, ack: &Ack) {
        if let (Reply::Rate(rate), Some(rtt)) = (ack.reply, ack.rtt)
            && rate.is_finite()
        {
            self.bound = f64::from(rate) * rtt.minimum.seconds() / self.packet_bytes;
        }
    }

    fn packets(&self) -> f64 {
        self.bound
    }

    /// Asks for as much as there is (§5).
    fn request(&self) -> Request {
        Request::Rate(f32::INFINITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_asks_for_as_much_as_there_is() {
        assert_eq!(Ba::new(1500).request(), Request::Rate(f32::INFINITY), "§5");
    }
}

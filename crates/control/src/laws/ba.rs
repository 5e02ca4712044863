//! BA's sender: Reno's law, limited to bandwidth times propagation delay (Gerla, Lo Cigno, Mascolo,
//! Weng, §5).
//!
//! | source | equation | here |
//! |---|---|---|
//! | §5 | W ≤ δ·min v, a lower bound to the transmission window | [`Ba::observe`] |
//! | §5 | δ, the round-trip propagation delay, in place of d, the delay with queues | [`Params::delay`]; the smallest RTT so far unless given |
//! | note 4 | over lossy links slow start and congestion avoidance are off | [`Params::cwnd`] |
//!
//! v is the bandwidth that routers say is available to the flow, in bytes per second. If no router
//! advertises a bandwidth, the law is Reno's.

use crate::entry::{Entry, MovedBy, SlowStartKind, Start};
use crate::laws::reno::Reno;
use crate::{Bound, Rtt};
use narrows_settings::{Settings, settings};
use narrows_signal::{Reply, Request};
use narrows_units::Duration;

/// Its line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "ba",
    aliases: &["ba-tcp"],
    summary: "Reno's law, limited to the bandwidth that routers advertise times the smallest RTT; \
              needs `ba` queues",
    source: "Gerla, Lo Cigno, Mascolo, Weng, §5",
    moved_by: MovedBy::Epochs,
    start: Start::Chosen(SlowStartKind::Standard),
    settings: Params::list,
    construct: |birth| {
        let params: Params = birth.settings()?;
        Ok(birth.bounded(Ba::new(params, birth.packet_bytes), params.cwnd.then_some(Reno)))
    },
};

settings! {
    /// Settings of BA's sender.
    pub struct Params {
        /// Whether the congestion window W_c limits the sender, too; without it the window is δ·v
        /// at once, and losses do not move it (note 4).
        cwnd: bool = true;
        /// Whether the SYN asks routers, too, so that v is known before any data leaves; needs a
        /// handshake.
        syn: bool = false;
        /// δ, the round-trip time without queues, if it is known (§5).
        delay: Option<Duration> = None => "the smallest RTT", above(0.0);
    }
}

/// The advertised bandwidth.
#[derive(Clone, Debug)]
pub struct Ba {
    params: Params,
    /// Bytes of a packet on the wire.
    packet_bytes: f64,
    /// δ·v in packets.
    bound: f64,
}

impl Ba {
    /// A bound for packets of `packet_bytes`, infinite at first.
    pub fn new(params: Params, packet_bytes: u32) -> Self {
        Self { params, packet_bytes: f64::from(packet_bytes), bound: f64::INFINITY }
    }
}

impl Bound for Ba {
    /// W ≤ δ·v (§5).
    fn observe(&mut self, reply: Reply, rtt: Option<Rtt>) {
        let delay = self.params.delay.or(rtt.map(|rtt| rtt.minimum));
        if let (Reply::Rate(rate), Some(delay)) = (reply, delay)
            && rate.is_finite()
        {
            self.bound = f64::from(rate) * delay.seconds() / self.packet_bytes;
        }
    }

    fn packets(&self) -> f64 {
        self.bound
    }

    /// Asks for as much as there is (§5).
    fn request(&self) -> Request {
        Request::Rate(f32::INFINITY)
    }

    fn asks_from_syn(&self) -> bool {
        self.params.syn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_asks_for_as_much_as_there_is() {
        assert_eq!(Ba::new(Params::default(), 1500).request(), Request::Rate(f32::INFINITY), "§5");
    }
}

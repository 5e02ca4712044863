//! GWA's sender: Reno's law, limited to the window that routers and the receiver advertise (Gerla,
//! Lo Cigno, Mascolo, Weng).
//!
//! | source | equation | here |
//! |---|---|---|
//! | eq. 1 | W_t = min(W_c, W_a) − W_u | [`Advertised`](crate::Advertised); W_u is counted by the transport |
//! | eq. 2 | W_a = min(B_r, B_n), by the receiver | [`Gwa::observe`] |
//! | §2 | B_n = B_max at first, with the connection's window scale | [`Gwa::request`] |
//! | §2 | feedback from the SYN on | [`Params::syn`] |
//! | eq. 10 | routers know the connection's delay | [`Params::delay`] |
//! | note 4 | over lossy links slow start and congestion avoidance are off | [`Params::cwnd`] |
//! | eq. 7 | r = k(q* − q − what has been sent in a round trip), k = 1/d | eq. 1, in packets |
//!
//! W_a counts bytes on the wire: headers take room in the routers' buffers, too. If no router
//! advertises a window, the law is Reno's.

use crate::entry::{Entry, MovedBy, SlowStartKind, Start};
use crate::laws::reno::Reno;
use crate::{Bound, Rtt};
use narrows_settings::{Settings, settings};
use narrows_signal::{AdvertisedWindow, Reply, Request};
use narrows_units::Duration;

/// Its line in the registry.
pub(super) const LAW: Entry = Entry {
    name: "gwa",
    aliases: &["gwa-tcp"],
    summary: "Reno's law, limited to the window that routers advertise; needs `gwa-rr` or \
              `gwa-fcfs` queues",
    source: "Gerla, Lo Cigno, Mascolo, Weng",
    moved_by: MovedBy::Epochs,
    start: Start::Chosen(SlowStartKind::Standard),
    settings: Params::list,
    construct: |birth| {
        let params: Params = birth.settings()?;
        let gwa = Gwa::new(params, birth.packet_bytes, birth.receive_window);
        Ok(birth.bounded(gwa, params.cwnd.then_some(Reno)))
    },
};

settings! {
    /// Settings of GWA's sender.
    pub struct Params {
        /// Whether the congestion window W_c limits the sender, too (eq. 1); without it the window
        /// is W_a, and losses do not move it (note 4).
        cwnd: bool = true;
        /// Whether the SYN asks routers, too, so that W_a is known before any data leaves (§2);
        /// needs a handshake.
        syn: bool = false;
        /// The round-trip time without queues, told to `ba` routers, which then advertise a window
        /// by eq. 10.
        delay: Option<Duration> = None => "not told", above(0.0);
    }
}

/// The advertised window.
#[derive(Clone, Debug)]
pub struct Gwa {
    params: Params,
    /// Bytes of a packet on the wire.
    packet_bytes: f64,
    most: AdvertisedWindow,
    /// W_a in packets.
    advertised: f64,
}

impl Gwa {
    /// Asks for B_max, `receive_window` packets of `packet_bytes`. If that is infinite, asks for
    /// the largest window that can be written in steps of a packet.
    pub fn new(params: Params, packet_bytes: u32, receive_window: f64) -> Self {
        let bytes = f64::from(packet_bytes);
        let most = if receive_window.is_finite() {
            AdvertisedWindow::at_most((receive_window * bytes) as u64)
        } else {
            AdvertisedWindow::in_steps_of(packet_bytes)
        };
        Self { params, packet_bytes: bytes, most, advertised: f64::INFINITY }
    }
}

impl Bound for Gwa {
    /// Takes W_a from the receiver (eq. 2).
    fn observe(&mut self, reply: Reply, _rtt: Option<Rtt>) {
        if let Reply::Window(bytes) = reply {
            self.advertised = f64::from(bytes) / self.packet_bytes;
        }
    }

    fn packets(&self) -> f64 {
        self.advertised
    }

    /// B_max (§2).
    fn request(&self) -> Request {
        match self.params.delay {
            Some(delay) => Request::WindowOver(self.most, delay.seconds() as f32),
            None => Request::Window(self.most),
        }
    }

    fn asks_from_syn(&self) -> bool {
        self.params.syn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(law: &Gwa) -> u32 {
        let Request::Window(window) = law.request() else { panic!("{:?}", law.request()) };
        window.bytes()
    }

    #[test]
    fn a_packet_asks_for_the_receivers_window_or_for_all_that_can_be_written() {
        let gwa = |window| Gwa::new(Params::default(), 1500, window);
        assert_eq!(asked(&gwa(30.0)), 45_000, "§2: B_max is 30 packets of 1500 bytes");
        // RFC 7323 §2.3: 2¹⁶ − 1 steps; of the powers of two, 1024 bytes is the largest within a
        // packet of 1500.
        assert_eq!(asked(&gwa(f64::INFINITY)), 65_535 * 1024);
    }

    #[test]
    fn a_delay_that_is_known_is_told() {
        let delay = Some(Duration::from_millis(40));
        let law = Gwa::new(Params { delay, ..Params::default() }, 1000, 30.0);
        let window = AdvertisedWindow::at_most(30_000);
        assert_eq!(law.request(), Request::WindowOver(window, 0.04), "eq. 10: d is 40 ms");
    }
}

//! How many packets of a QUIC sender leave together, and how bursts are spaced (RFC 9002, §7.7).

use super::sender::Sender;
use crate::congestion::{Flight, Spread};
use narrows_units::Time;

impl Sender {
    /// True if a packet may leave as part of a burst: one is under way, or the pacer lets one go
    /// and the window has room for it.
    pub(super) fn begin_or_continue_burst(&mut self, now: Time, again: bool) -> bool {
        if self.release.is_bursting() {
            return true;
        }
        let mut burst = 1;
        let (limit, in_flight) = (self.limit(), self.packets.in_flight());
        if !self.release.is_single() && !again {
            let room = Flight { limit, in_flight, waiting: self.sendable() - self.data.end };
            let payload = f64::from(self.settings.packet_bytes);
            let (congestion, spread) = (&self.congestion, self.spread());
            let sizes = (payload, 1.0);
            let next = self.release.next_burst(congestion, &spread, &room, sizes, |_| true);
            let Some(packets) = next else {
                self.is_full = true;
                return false;
            };
            burst = packets;
        }
        let ready_at = self.ready_at(burst);
        if ready_at > now {
            self.waits_for_pacer = ready_at;
            // §7.8: without the pacer's delay the window would have been used.
            let waiting = self.sendable() - self.data.end + self.data.again.len() as u64;
            self.is_full = (in_flight + waiting) as f64 >= limit.floor();
            return false;
        }
        self.release.begin_burst(burst);
        true
    }

    /// When the pacer lets `packets` leave together.
    pub(super) fn ready_at(&self, packets: u32) -> Time {
        self.release.burst_ready_at(packets, || self.spread())
    }

    /// What packets are spread by.
    pub(super) fn spread(&self) -> Spread {
        let (limit, outstanding) = (self.settings.window_limit, self.packets.in_flight());
        Spread::new(&self.congestion, limit, outstanding, self.rtt.estimate())
    }

    /// Schedules what comes after a burst of `packets` that left at `now`.
    pub(super) fn space(&mut self, now: Time, packets: u32) {
        let (congestion, rtt, limit) = (&self.congestion, &self.rtt, self.settings.window_limit);
        let outstanding = self.packets.in_flight();
        self.release.left(now, packets, congestion, || {
            Spread::new(congestion, limit, outstanding, rtt.estimate())
        });
    }
}

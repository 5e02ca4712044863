//! How many packets of a TCP sender leave together, and how bursts are spaced.

use super::recovery::Recovery;
use super::sender::Sender;
use crate::congestion::{Chance, Flight, Spread};
use narrows_units::Time;

impl<R: Recovery> Sender<R> {
    /// True if a packet may leave as part of a burst: either a burst is under way, or the window
    /// has room for one that is worth it.
    pub(super) fn begin_or_continue_burst(&mut self, now: Time, again: bool, window: f64) -> bool {
        if self.release.is_bursting() {
            return true;
        }
        let mut packets = 1;
        if !self.release.is_single() && !again && !self.recovery.probing() {
            let waiting = self.written - self.recovery.end();
            let room = Flight { limit: window, in_flight: self.in_flight(), waiting };
            let sizes = (self.payload(), self.habits.initial_window);
            let (congestion, spread) = (&self.congestion, self.spread());
            let burst = self.release.next_burst(congestion, &spread, &room, sizes, |free| {
                self.defers(now, free, window)
            });
            let Some(burst) = burst else { return false };
            packets = burst;
        }
        self.release.begin_burst(packets);
        true
    }

    /// True if a burst that is too small for now waits for more room: one of a fixed size always
    /// does, Linux's seldom.
    pub(super) fn defers(&self, now: Time, room: u64, window: f64) -> bool {
        if self.release.is_fixed() {
            return true;
        }
        let (Some(rtt), Some(first_sent)) = (self.rtt.estimate(), self.recovery.first_sent())
        else {
            return false;
        };
        let (last_sent, smoothed_rtt) = (self.last_sent, rtt.smoothed);
        let deferral = self.habits.deferral;
        !self.recovery.repairing()
            && Chance { now, room, window, last_sent, first_sent, smoothed_rtt, deferral }.defers()
    }

    /// Schedules the burst after one of `packets` that left at `now`.
    // Inlined, it would be there twice.
    #[inline(never)]
    pub(super) fn space(&mut self, now: Time, packets: u32) {
        let (congestion, recovery) = (&self.congestion, &self.recovery);
        let (limit, rtt) = (self.limit.packets, &self.rtt);
        self.release.left(now, packets, congestion, || {
            let outstanding = recovery.end() - recovery.first();
            Spread::new(congestion, limit, outstanding, rtt.estimate())
        });
    }

    /// What packets are spread by.
    pub(super) fn spread(&self) -> Spread {
        let outstanding = self.recovery.end() - self.first();
        Spread::new(&self.congestion, self.limit.packets, outstanding, self.rtt.estimate())
    }
}

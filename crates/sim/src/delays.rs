//! Delays of packets from application to application.

use crate::measured::Measured;
use narrows_units::{Duration, Time};
use std::collections::VecDeque;

/// Delays of packets from the application that offers them to the one that receives them in order,
/// including the time for retransmissions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PacketDelays {
    /// For each packet not yet delivered, the time at which it was offered.
    offered: VecDeque<Time>,
    delivered: u64,
    /// Packets older than the newest that has arrived are gone, if they are not there.
    with_gaps: bool,
    /// Packets delivered in the measured part of the run.
    count: u64,
    sum: f64,
    longest: Duration,
}

impl PacketDelays {
    /// Delays over a connection that loses data for good, if it is `with_gaps`.
    pub(crate) fn new(with_gaps: bool) -> Self {
        Self { with_gaps, ..Self::default() }
    }

    /// Records that a packet is offered at `now`.
    pub(crate) fn offer(&mut self, now: Time) {
        self.offered.push_back(now);
    }

    /// Records that all packets below `next` have arrived by `now`; with gaps, that the one just
    /// below it has.
    pub(crate) fn deliver(&mut self, next: u64, now: Time, measured: &Measured) {
        while self.delivered < next
            && let Some(offered) = self.offered.pop_front()
        {
            self.delivered += 1;
            if self.with_gaps && self.delivered < next {
                continue;
            }
            if measured.contains(now) {
                let delay = now.since(offered);
                self.count += 1;
                self.sum += delay.seconds();
                self.longest = self.longest.max(delay);
            }
        }
    }

    /// Mean delay in seconds; NaN if no packet was delivered.
    pub fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }

    /// Longest delay in seconds; NaN if no packet was delivered.
    pub fn longest(&self) -> f64 {
        if self.count == 0 { f64::NAN } else { self.longest.seconds() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_behind_a_hole_is_late_by_the_hole() {
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        let measured = Measured { from: at(0), to: at(1000) };
        let mut delays = PacketDelays::default();
        assert!(delays.mean().is_nan() && delays.longest().is_nan());
        [0, 10, 20].into_iter().for_each(|millis| delays.offer(at(millis)));
        delays.deliver(1, at(30), &measured);
        delays.deliver(1, at(40), &measured);
        delays.deliver(3, at(250), &measured);
        assert!((delays.mean() - (0.030 + 0.240 + 0.230) / 3.0).abs() < 1e-12);
        assert_eq!(delays.longest(), 0.24);
    }

    #[test]
    fn what_is_gone_has_no_delay() {
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        let measured = Measured { from: at(0), to: at(1000) };
        let mut delays = PacketDelays::new(true);
        [0, 10, 20].into_iter().for_each(|millis| delays.offer(at(millis)));
        delays.deliver(1, at(30), &measured);
        delays.deliver(3, at(60), &measured);
        assert!((delays.mean() - (0.030 + 0.040) / 2.0).abs() < 1e-12);
    }
}

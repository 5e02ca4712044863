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
    /// How old a frame may be when its last packet is delivered; `None` of single packets.
    deadline: Option<Duration>,
    /// A packet of the frame that arrives is gone.
    is_broken: bool,
    /// Frames that were delivered in the measured part, or whose deadline passed without.
    frames: u64,
    /// Those of them that came too late, or did not.
    late: u64,
}

impl PacketDelays {
    /// Delays over a connection that loses data for good, if it is `with_gaps`.
    pub(crate) fn new(with_gaps: bool, deadline: Option<Duration>) -> Self {
        Self { with_gaps, deadline, ..Self::default() }
    }

    /// Records that `packets` are offered at `now`, together.
    pub(crate) fn offer(&mut self, packets: u64, now: Time) {
        self.offered.extend((0..packets).map(|_| now));
    }

    /// Records that all packets below `next` have arrived by `now`; with gaps, that the one just
    /// below it has.
    pub(crate) fn deliver(&mut self, next: u64, now: Time, measured: &Measured) {
        while self.delivered < next
            && let Some(offered) = self.offered.pop_front()
        {
            self.delivered += 1;
            let is_gone = self.with_gaps && self.delivered < next;
            self.is_broken |= is_gone;
            if self.offered.front() != Some(&offered) {
                self.end_frame(offered, now, measured);
            }
            if is_gone {
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

    /// The last packet of the frame of `offered` has come by `now`, or is gone.
    fn end_frame(&mut self, offered: Time, now: Time, measured: &Measured) {
        let is_broken = std::mem::take(&mut self.is_broken);
        if let Some(deadline) = self.deadline.filter(|_| measured.contains(now)) {
            self.frames += 1;
            self.late += u64::from(is_broken || now.since(offered) > deadline);
        }
    }

    /// The same with what is overdue at `now`, the end of the `measured` part.
    pub(crate) fn at(&self, now: Time, measured: &Measured) -> Self {
        let mut ended = self.clone();
        let Some(deadline) = self.deadline else { return ended };
        let mut frames: Vec<Time> = self.offered.iter().copied().collect();
        frames.dedup();
        let is_overdue =
            |offered: &&Time| now.since(**offered) > deadline && **offered >= measured.from;
        let overdue = frames.iter().filter(is_overdue).count() as u64;
        ended.frames += overdue;
        ended.late += overdue;
        ended
    }

    /// Frames whose fate is known; 0 if packets come one by one.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// The share of frames that missed their deadline; NaN if there is none.
    pub fn late(&self) -> f64 {
        self.late as f64 / self.frames as f64
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
        [0, 10, 20].into_iter().for_each(|millis| delays.offer(1, at(millis)));
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
        let mut delays = PacketDelays::new(true, None);
        [0, 10, 20].into_iter().for_each(|millis| delays.offer(1, at(millis)));
        delays.deliver(1, at(30), &measured);
        delays.deliver(3, at(60), &measured);
        assert!((delays.mean() - (0.030 + 0.040) / 2.0).abs() < 1e-12);
    }

    #[test]
    fn a_frame_is_late_with_its_last_packet() {
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        let measured = Measured { from: at(0), to: at(1000) };
        let mut delays = PacketDelays::new(false, Some(Duration::from_millis(100)));
        [0, 40, 80, 950].into_iter().for_each(|millis| delays.offer(3, at(millis)));
        delays.deliver(3, at(100), &measured);
        delays.deliver(5, at(110), &measured);
        assert_eq!((delays.frames(), delays.late()), (1, 0.0));
        delays.deliver(6, at(141), &measured);
        assert_eq!((delays.frames(), delays.late()), (2, 0.5));
        // The third never comes; nobody knows of the fourth.
        let ended = delays.at(at(1000), &measured);
        assert_eq!((ended.frames(), ended.late()), (3, 2.0 / 3.0));
    }

    #[test]
    fn a_frame_of_which_a_packet_is_gone_is_late() {
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        let measured = Measured { from: at(0), to: at(1000) };
        let mut delays = PacketDelays::new(true, Some(Duration::from_millis(100)));
        [0, 40, 80].into_iter().for_each(|millis| delays.offer(2, at(millis)));
        // The second packet of the first frame is gone, and the first of the third.
        [(1, 20), (3, 60), (4, 61), (6, 100)]
            .into_iter()
            .for_each(|(next, millis)| delays.deliver(next, at(millis), &measured));
        assert_eq!((delays.frames(), delays.late()), (3, 2.0 / 3.0));
    }
}

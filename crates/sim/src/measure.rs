//! What is counted over the measured window, exactly, whoever looks.

use narrows_transport::Counters;
use narrows_units::{Duration, Time};
use std::collections::VecDeque;

/// The measured part of a run: from the end of the warm-up to the end of the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub from: Time,
    pub to: Time,
}

impl Window {
    /// True where `at` lies in the window; its end belongs to it.
    pub fn contains(&self, at: Time) -> bool {
        self.from <= at && at <= self.to
    }

    /// Seconds that `from..to` and the window share.
    pub fn overlap(&self, from: Time, to: Time) -> f64 {
        to.min(self.to).since(from.max(self.from)).seconds()
    }

    /// Length in seconds.
    pub fn seconds(&self) -> f64 {
        self.to.since(self.from).seconds()
    }
}

/// What one flow did within the measured window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowSummary {
    /// The sender's counters; zero for a datagram source but for `sent`.
    pub sender: Counters,
    /// Packets that reached the receiver for the first time.
    pub arrived: u64,
    /// Packets that reached the receiver again.
    pub duplicates: u64,
    /// Data packets dropped on the way, in the whole run.
    pub dropped: u64,
    /// Acknowledgements dropped on the way, in the whole run.
    pub acks_dropped: u64,
    /// When data first left, in the whole run.
    pub started: Option<Time>,
    /// When the last packet of finite data had arrived, in the whole run.
    pub finished: Option<Time>,
    /// How long packets took, where the application offers them one at a time.
    pub delays: Option<PacketDelays>,
}

/// How long packets took from the application that offered them to the one that gets them in order,
/// retransmissions included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PacketDelays {
    /// When each packet that has not been delivered was offered.
    offered: VecDeque<Time>,
    delivered: u64,
    /// Within the measured window.
    count: u64,
    sum: f64,
    longest: Duration,
}

impl PacketDelays {
    /// A packet is offered at `now`.
    pub(crate) fn offer(&mut self, now: Time) {
        self.offered.push_back(now);
    }

    /// All below `next` have arrived by `now`.
    pub(crate) fn deliver(&mut self, next: u64, now: Time, window: &Window) {
        while self.delivered < next
            && let Some(offered) = self.offered.pop_front()
        {
            self.delivered += 1;
            if window.contains(now) {
                let delay = now.since(offered);
                self.count += 1;
                self.sum += delay.seconds();
                self.longest = self.longest.max(delay);
            }
        }
    }

    /// Their mean in seconds; not a number of nothing.
    pub fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }

    /// The longest in seconds; not a number of nothing.
    pub fn longest(&self) -> f64 {
        if self.count == 0 { f64::NAN } else { self.longest.seconds() }
    }
}

/// What one link did within the measured window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkSummary {
    /// Packets that came to the queue.
    pub arrivals: u64,
    /// Packets that found no room, or were dropped by the queue.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// Packets lost on the wire.
    pub wire_losses: u64,
    /// Packets whose last bit left.
    pub departures: u64,
    /// Their bytes.
    pub departed_bytes: u64,
    /// Bytes departed over bytes that the rate allows.
    pub utilisation: f64,
    /// Packets in the queue, the one in transmission included: mean over time.
    pub mean_queue: f64,
    /// The most packets at any time, where the link is watched.
    pub max_queue: Option<u64>,
    /// The most bytes at any time, where the link is watched.
    pub max_queue_bytes: Option<u64>,
    /// Packets found by arrivals, where the link is watched.
    pub queue_found: Option<Histogram>,
    /// Nanoseconds from arrival to the last bit's departure, where the link is watched.
    pub delay: Option<Histogram>,
}

/// Counts of whole numbers: exact below 64, then to one part in 32.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    sum: f64,
}

const EXACT: u64 = 64;
const STEPS: u64 = 32;

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: Vec::new(), total: 0, sum: 0.0 }
    }
}

impl Histogram {
    /// Counts `value`.
    pub fn add(&mut self, value: u64) {
        let slot = Self::slot(value);
        if slot >= self.counts.len() {
            self.counts.resize(slot + 1, 0);
        }
        self.counts[slot] += 1;
        self.total += 1;
        self.sum += value as f64;
    }

    /// The mean; 0 of nothing.
    pub fn mean(&self) -> f64 {
        if self.total == 0 { 0.0 } else { self.sum / self.total as f64 }
    }

    /// The smallest value that a share of at least `share` of all does not pass; 0 of nothing.
    pub fn quantile(&self, share: f64) -> u64 {
        let wanted = (share * self.total as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (slot, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return Self::value(slot as u64);
            }
        }
        0
    }

    /// Slots are exact below [`EXACT`]; above, each power of two has [`STEPS`] of them.
    fn slot(value: u64) -> usize {
        if value < EXACT {
            return value as usize;
        }
        let power = u64::from(value.ilog2());
        let step = (value >> (power - 5)) - STEPS;
        (EXACT + (power - 6) * STEPS + step) as usize
    }

    /// The smallest value of a slot.
    fn value(slot: u64) -> u64 {
        if slot < EXACT {
            return slot;
        }
        let (power, step) = ((slot - EXACT) / STEPS + 6, (slot - EXACT) % STEPS);
        (STEPS + step) << (power - 5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_packet_behind_a_hole_is_late_by_the_hole() {
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        let window = Window { from: at(0), to: at(1000) };
        let mut delays = PacketDelays::default();
        assert!(delays.mean().is_nan() && delays.longest().is_nan());
        [0, 10, 20].into_iter().for_each(|millis| delays.offer(at(millis)));
        delays.deliver(1, at(30), &window);
        delays.deliver(1, at(40), &window);
        delays.deliver(3, at(250), &window);
        assert!((delays.mean() - (0.030 + 0.240 + 0.230) / 3.0).abs() < 1e-12);
        assert_eq!(delays.longest(), 0.24);
    }

    #[test]
    fn quantiles_of_one_to_a_hundred() {
        let mut histogram = Histogram::default();
        (1..=60).for_each(|value| histogram.add(value));
        assert_eq!(
            (histogram.quantile(0.5), histogram.quantile(0.95), histogram.quantile(1.0)),
            (30, 57, 60)
        );
        assert_eq!(histogram.mean(), 30.5);
    }

    proptest! {
        #[test]
        fn a_slots_value_is_within_a_thirty_second_below(value in 0u64..1 << 60) {
            let found = Histogram::value(Histogram::slot(value) as u64);
            prop_assert!(found <= value && value - found <= value / 32);
        }
    }
}

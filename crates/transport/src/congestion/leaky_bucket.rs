//! Pacing by a leaky bucket, as RFC 9002, §7.7 recommends it: N·window/smoothed_rtt with N = 1.25,
//! and bursts of at most the initial window.

use narrows_units::{Duration, Time};

/// N of §7.7.
const GAIN: f64 = 1.25;

/// The bucket: when it would be empty, if it drained one packet per interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeakyBucket {
    /// Packets that it holds.
    capacity: u32,
    empty_at: Time,
}

impl LeakyBucket {
    /// An empty bucket that holds `capacity` packets.
    pub fn new(capacity: u32) -> Self {
        Self { capacity, empty_at: Time::ZERO }
    }

    /// When `packets` may leave together with a window of `window` packets; more than it holds
    /// leave once it is empty.
    pub fn ready_at(&self, packets: u32, smoothed_rtt: Duration, window: f64) -> Time {
        let room =
            interval(smoothed_rtt, window) * u64::from(self.capacity.saturating_sub(packets));
        Time::ZERO + self.empty_at.since(Time::ZERO).saturating_sub(room)
    }

    /// `packets` left at `now`.
    pub fn sent(&mut self, now: Time, packets: u32, smoothed_rtt: Duration, window: f64) {
        let takes = interval(smoothed_rtt, window) * u64::from(packets);
        self.empty_at = self.empty_at.max(now) + takes;
    }
}

/// The time that the bucket takes for a packet: smoothed_rtt/(1.25·`window`), with `window` in
/// packets.
fn interval(smoothed_rtt: Duration, window: f64) -> Duration {
    smoothed_rtt.scale(1.0 / (GAIN * window))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 80 ms and 8 packets: 1.25·8 packets in 80 ms are one per 8 ms.
    #[test]
    fn after_a_burst_of_the_capacity_packets_leave_at_the_rate() {
        let (rtt, window) = (Duration::from_millis(80), 8.0);
        let mut bucket = LeakyBucket::new(10);
        let mut now = Time::ZERO + Duration::from_millis(1000);
        let mut departures = Vec::new();
        for _ in 0..14 {
            now = now.max(bucket.ready_at(1, rtt, window));
            bucket.sent(now, 1, rtt, window);
            departures.push(now.picos() / 1_000_000_000);
        }
        assert_eq!(departures[..10], [1000; 10]);
        assert_eq!(departures[10..], [1008, 1016, 1024, 1032]);
    }
}

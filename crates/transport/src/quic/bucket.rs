//! Pacing by a leaky bucket, as RFC 9002, §7.7 recommends it: N·window/smoothed_rtt with N = 1.25,
//! and bursts of at most the initial window.

use narrows_units::{Duration, Time};

/// N of §7.7.
const GAIN: f64 = 1.25;

/// The bucket: when it would be empty, if it drained one packet per interval.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bucket {
    empty_at: Time,
}

impl Bucket {
    /// The time that the bucket takes for a packet: smoothed_rtt/(1.25·`window`), with `window` in
    /// packets.
    pub fn interval(smoothed_rtt: Duration, window: f64) -> Duration {
        smoothed_rtt.scale(1.0 / (GAIN * window))
    }

    /// When `packets` may leave together, if the bucket holds `capacity`.
    pub fn ready_at(&self, packets: u32, capacity: u32, interval: Duration) -> Time {
        let room = interval * u64::from(capacity.saturating_sub(packets));
        Time::ZERO + self.empty_at.since(Time::ZERO).saturating_sub(room)
    }

    /// `packets` left at `now`.
    pub fn sent(&mut self, now: Time, packets: u32, interval: Duration) {
        self.empty_at = self.empty_at.max(now) + interval * u64::from(packets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 80 ms and 8 packets: 1.25·8 packets in 80 ms are one per 8 ms.
    #[test]
    fn after_a_burst_of_the_capacity_packets_leave_at_the_rate() {
        let interval = Bucket::interval(Duration::from_millis(80), 8.0);
        assert_eq!(interval, Duration::from_millis(8));
        let (mut bucket, mut now) = (Bucket::default(), Time::ZERO + Duration::from_millis(1000));
        let mut departures = Vec::new();
        for _ in 0..14 {
            now = now.max(bucket.ready_at(1, 10, interval));
            bucket.sent(now, 1, interval);
            departures.push(now.picos() / 1_000_000_000);
        }
        assert_eq!(departures[..10], [1000; 10]);
        assert_eq!(departures[10..], [1008, 1016, 1024, 1032]);
    }
}

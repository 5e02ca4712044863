//! A shaper: a token bucket before a line, as `tc`'s tbf (net/sched/sch_tbf.c).

use super::{Bucket, Service};
use narrows_units::{Rate, Time};

/// A packet begins as soon as it is its turn and the bucket has its tokens, and takes the line's
/// time. It never lets a smaller packet go first ("We MUST NOT reorder"); a packet larger than the
/// bucket must not come. The line must begin when it is told to, unlike a trace.
#[derive(Debug)]
pub struct Shaper {
    bucket: Bucket,
    line: Box<dyn Service>,
}

impl Shaper {
    /// A shaper with `bucket` before `line`.
    pub fn new(bucket: Bucket, line: Box<dyn Service>) -> Self {
        Self { bucket, line }
    }
}

impl Service for Shaper {
    fn send(&mut self, came: Time, from: Time, bytes: u32) -> Time {
        let begins = self.bucket.take_when_there(from, bytes);
        self.line.send(came, begins, bytes)
    }

    fn rate(&self, at: Time) -> Rate {
        self.line.rate(at).min(self.bucket.rate())
    }

    /// What tokens and line let pass; the burst is left out.
    fn offered(&self, from: Time, to: Time, most: Option<Rate>) -> f64 {
        let own = self.bucket.rate();
        self.line.offered(from, to, Some(most.map_or(own, |most| most.min(own))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::BucketSettings;
    use narrows_units::{Bytes, Duration};

    fn shaper(line: u64, burst: u64) -> Shaper {
        let bucket = BucketSettings { rate: Rate::from_megabits(8), burst: Bytes::new(burst) };
        Shaper::new(Bucket::new(bucket), Box::new(Rate::from_megabits(line)))
    }

    /// A line of 80 Mbps takes 0.1 ms for 1000 bytes, the bucket fills in 1 ms by as much.
    #[test]
    fn a_burst_leaves_at_the_lines_rate_and_the_rest_at_the_buckets() {
        let (mut shaper, mut busy) = (shaper(80, 3000), Time::ZERO);
        let found: Vec<u64> = (0..6)
            .map(|_| {
                busy = shaper.send(Time::ZERO, busy, 1000);
                busy.picos() / 100_000_000
            })
            .collect();
        assert_eq!(found, [1, 2, 3, 11, 21, 31], "in tenths of a millisecond");
    }

    #[test]
    fn a_burst_of_one_packet_at_the_lines_rate_changes_nothing() {
        let (mut shaper, mut line) = (shaper(8, 1500), Rate::from_megabits(8));
        let (mut came, mut busy) = (Time::ZERO, Time::ZERO);
        for (gap, bytes) in [(0, 1500), (0, 700), (10, 1500), (2500, 40), (0, 1500), (900, 1500)] {
            came += Duration::from_micros(gap);
            let from = busy.max(came);
            busy = line.send(came, from, bytes);
            assert_eq!(shaper.send(came, from, bytes), busy);
        }
    }
}

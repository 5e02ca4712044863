//! A token bucket, as policers and shapers have it.

use narrows_units::{Bytes, Duration, Rate, Time};

/// How a token bucket is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketSettings {
    /// How fast it fills.
    pub rate: Rate,
    /// How much it holds.
    pub burst: Bytes,
}

/// A token bucket, full at first: exact, to the picosecond.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    settings: BucketSettings,
    /// Tokens at `at`, each worth a bit in a picosecond of a second.
    tokens: u128,
    at: Time,
}

/// Tokens for `bytes`: their bits, each in as many parts as a second has picoseconds.
fn price(bytes: u64) -> u128 {
    u128::from(bytes) * 8_000_000_000_000
}

impl Bucket {
    /// A full bucket.
    pub fn new(settings: BucketSettings) -> Self {
        Self { settings, tokens: price(settings.burst.count()), at: Time::ZERO }
    }

    /// How fast it fills.
    pub fn rate(&self) -> Rate {
        self.settings.rate
    }

    /// How much it holds.
    pub fn burst(&self) -> Bytes {
        self.settings.burst
    }

    fn fill(&mut self, now: Time) {
        let rate = u128::from(self.settings.rate.bits_per_second());
        let grown = self.tokens + rate * u128::from(now.since(self.at).picos());
        self.tokens = grown.min(price(self.settings.burst.count()));
        self.at = self.at.max(now);
    }

    /// Takes the tokens of `bytes` at `now`; returns false, and takes none, if there are too few.
    pub fn take(&mut self, now: Time, bytes: u32) -> bool {
        self.fill(now);
        let left = self.tokens.checked_sub(price(bytes.into()));
        self.tokens = left.unwrap_or(self.tokens);
        left.is_some()
    }

    /// Takes the tokens of `bytes` as soon as they are there, at `now` or later, and after all that
    /// it took before; returns when. Panics if it never holds as many.
    pub fn take_when_there(&mut self, now: Time, bytes: u32) -> Time {
        assert!(u64::from(bytes) <= self.burst().count(), "{bytes} B never fit");
        let now = now.max(self.at);
        self.fill(now);
        let rate = u128::from(self.settings.rate.bits_per_second());
        let missing = price(bytes.into()).saturating_sub(self.tokens);
        let there = now + Duration::from_picos(missing.div_ceil(rate) as u64);
        self.fill(there);
        self.tokens -= price(bytes.into());
        there
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bucket() -> Bucket {
        let rate = Rate::from_megabits(8); // 1000 bytes a millisecond
        Bucket::new(BucketSettings { rate, burst: Bytes::new(3000) })
    }

    /// Twice as much as fits: the bucket of three lets five pass, then each second one.
    #[test]
    fn a_policer_lets_a_burst_pass_and_then_its_rate() {
        let mut bucket = bucket();
        let passes: Vec<u64> = (1..=12)
            .filter(|n| bucket.take(Time::ZERO + Duration::from_micros(500 * (n - 1)), 1000))
            .collect();
        assert_eq!(passes, [1, 2, 3, 4, 5, 7, 9, 11]);
    }

    proptest! {
        /// Between any two moments no more passes than the burst and what the rate brings.
        #[test]
        fn no_more_than_burst_and_rate_passes(
            packets in prop::collection::vec((0u64..4000, 40u32..3000), 2..100),
        ) {
            let (mut bucket, mut now, mut passed) = (bucket(), Time::ZERO, Vec::new());
            for (gap, bytes) in packets {
                now += Duration::from_micros(gap);
                if bucket.take(now, bytes) {
                    passed.push((now, u64::from(bytes)));
                }
            }
            for (place, (from, _)) in passed.iter().enumerate() {
                let mut sum = 0;
                for (to, bytes) in &passed[place..] {
                    sum += bytes;
                    // 8 Mbps are a byte a microsecond.
                    let most = 3000 + to.since(*from).picos() / 1_000_000;
                    prop_assert!(sum <= most, "{sum} of {most}");
                }
            }
        }
    }
}

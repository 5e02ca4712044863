//! A transmitter: sends bits at a fixed rate, one packet after the other.

use narrows_units::{Bytes, Duration, Rate, Time};

/// The end of a queue.
#[derive(Clone, Debug)]
pub struct Transmitter {
    pace: Pace,
    busy_until: Time,
}

impl Transmitter {
    /// A transmitter of `rate`, idle. Panics if that is 2⁶³ bit/s or more.
    pub fn new(rate: Rate) -> Self {
        Self { pace: Pace::of(rate), busy_until: Time::ZERO }
    }

    /// Sends a packet of `bytes` that arrives at `now`, after those that arrived before it; returns
    /// when its last bit leaves.
    #[inline]
    pub fn send(&mut self, now: Time, bytes: u32) -> Time {
        self.busy_until = self.busy_until.max(now) + self.pace.time_to_send(bytes);
        self.busy_until
    }

    /// How long it takes to send a packet of `bytes`.
    pub fn time_to_send(&self, bytes: u32) -> Duration {
        self.pace.time_to_send(bytes)
    }

    /// When the last bit of the last packet leaves, or left.
    pub fn busy_until(&self) -> Time {
        self.busy_until
    }

    /// Its rate.
    pub fn rate(&self) -> Rate {
        self.pace.rate()
    }
}

/// A rate in the form in which it is used most: picoseconds per byte. If that is no whole number,
/// it is bits per second, with [`Self::ODD`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace(u64);

impl Pace {
    const ODD: u64 = 1 << 63;

    /// The pace of `rate`. Panics if that is 2⁶³ bit/s or more.
    pub fn of(rate: Rate) -> Self {
        rate.whole_picos_per_byte().map_or_else(|| Self::odd(rate), Self)
    }

    /// The same, as if it were no whole number.
    pub fn odd(rate: Rate) -> Self {
        let bits = rate.bits_per_second();
        assert!(bits < Self::ODD, "{bits} bit/s: a transmitter sends less than 2^63 bit/s");
        Self(bits | Self::ODD)
    }

    /// A byte's time, if that is a whole number of picoseconds.
    #[inline]
    pub fn whole(self) -> Option<Duration> {
        (self.0 & Self::ODD == 0).then_some(Duration::from_picos(self.0))
    }

    #[inline]
    pub fn time_to_send(self, bytes: u32) -> Duration {
        match self.whole() {
            Some(each) => each * u64::from(bytes),
            None => self.divide(bytes),
        }
    }

    // If it were inlined, the compiler would prepare the division for each packet.
    #[cold]
    #[inline(never)]
    fn divide(self, bytes: u32) -> Duration {
        self.rate().time_to_send(Bytes::new(u64::from(bytes)))
    }

    pub fn rate(self) -> Rate {
        let rate = if self.0 & Self::ODD == 0 {
            Rate::from_picos_per_byte(self.0)
        } else {
            Rate::from_bits_per_second(self.0 & !Self::ODD)
        };
        rate.expect("it was made of a rate")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_follow_each_other_and_an_idle_transmitter_begins_at_once() {
        let ms = |millis| Time::ZERO + Duration::from_millis(millis);
        let mut transmitter = Transmitter::new(Rate::from_megabits(8)); // 1000 bytes take 1 ms.
        assert_eq!(transmitter.send(ms(0), 1000), ms(1));
        assert_eq!(transmitter.send(ms(0), 2000), ms(3));
        assert_eq!(transmitter.send(ms(10), 1000), ms(11));
        // 7 Mbps: 8000/7 µs for 1000 bytes, rounded up to a picosecond.
        let mut odd = Transmitter::new(Rate::from_megabits(7));
        assert_eq!(odd.send(ms(0), 1000).since(ms(0)).picos(), 1_142_857_143);
        assert_eq!(odd.rate(), Rate::from_megabits(7));
        assert_eq!(transmitter.rate(), Rate::from_megabits(8));
    }
}

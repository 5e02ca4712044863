//! A transmitter: sends bits at a fixed rate, one packet after the other.

use narrows_units::{Bytes, Duration, Rate, Time};

/// The end of a queue.
#[derive(Clone, Debug)]
pub struct Transmitter {
    rate: Rate,
    /// Zero if a byte does not take a whole number of picoseconds.
    picos_per_byte: u64,
    busy_until: Time,
}

impl Transmitter {
    /// A transmitter of `rate`, idle.
    pub fn new(rate: Rate) -> Self {
        let picos_per_byte = rate.whole_picos_per_byte().unwrap_or(0);
        Self { rate, picos_per_byte, busy_until: Time::ZERO }
    }

    /// Sends a packet of `bytes` that arrives at `now`, after those that arrived before it; returns
    /// when its last bit leaves.
    pub fn send(&mut self, now: Time, bytes: u32) -> Time {
        self.busy_until = self.busy_until.max(now) + self.time_to_send(bytes);
        self.busy_until
    }

    /// When the last bit of the last packet leaves, or left.
    pub fn busy_until(&self) -> Time {
        self.busy_until
    }

    /// Its rate.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    fn time_to_send(&self, bytes: u32) -> Duration {
        match self.picos_per_byte {
            0 => self.rate.time_to_send(Bytes::new(u64::from(bytes))),
            picos => Duration::from_picos(picos * u64::from(bytes)),
        }
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
    }
}

//! A clock that counts in ticks, as Linux's jiffies.

use narrows_units::{Duration, Time};

/// The clock that a timer runs by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticks {
    /// Time between two ticks; zero for a clock that is exact.
    pub length: Duration,
    /// When the first tick is; less than `length`.
    pub offset: Duration,
}

impl Ticks {
    /// When a timer that is set at `now` for `at` goes off: after as many ticks as the time between
    /// them has, rounded up, but counted from the tick before `now`. So it may be early by up to a
    /// tick (`mod_timer` with `jiffies` + `usecs_to_jiffies`, as in Linux's
    /// net/ipv4/tcp_recovery.c).
    #[inline]
    pub fn expiry(&self, now: Time, at: Time) -> Time {
        if self.length == Duration::ZERO || at == Time::NEVER { at } else { self.round(now, at) }
    }

    #[cold]
    fn round(&self, now: Time, at: Time) -> Time {
        let length = self.length.picos();
        let since_tick = (now.picos() + length - self.offset.picos() % length) % length;
        let ticks = at.since(now).picos().div_ceil(length).max(1);
        let last_tick = Duration::from_picos(now.picos().saturating_sub(since_tick));
        Time::ZERO + last_tick + self.length * ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn a_timer_counts_from_the_tick_before_it_was_set() {
        let length = Duration::from_millis(4);
        let ticks = Ticks { length, offset: Duration::from_millis(1) };
        // Ticks are at 1, 5, 9, 13 ms. 7.1 ms are two ticks.
        assert_eq!(ticks.expiry(at(5000), at(12_100)), at(13_000), "0.9 ms late");
        assert_eq!(ticks.expiry(at(8900), at(16_000)), at(13_000), "3 ms early");
        assert_eq!(ticks.expiry(at(5000), at(5000)), at(9000), "a tick at the least");
        assert_eq!(Ticks::default().expiry(at(8900), at(16_000)), at(16_000), "exact");
    }
}

//! The smallest value of the recent past.

use narrows_units::{Duration, Time};

/// The smallest value of the last while, which is cut into `N` slots: a value counts for at least
/// (N − 1)/N of the while and at most for all of it.
#[derive(Clone, Copy, Debug)]
pub struct RecentMin<const N: usize> {
    /// When each slot began, and its smallest value.
    slots: [(Time, f64); N],
    newest: usize,
}

impl<const N: usize> Default for RecentMin<N> {
    fn default() -> Self {
        Self { slots: [(Time::ZERO, f64::INFINITY); N], newest: 0 }
    }
}

impl<const N: usize> RecentMin<N> {
    /// Adds `value`; returns the smallest of the last `length`, which may differ from call to call.
    pub fn update(&mut self, now: Time, value: f64, length: Duration) -> f64 {
        let (began, smallest) = self.slots[self.newest];
        if now.since(began) >= length.scale(1.0 / N as f64) {
            self.newest = (self.newest + 1) % N;
            self.slots[self.newest] = (now, value);
        } else {
            self.slots[self.newest] = (began, smallest.min(value));
        }
        let recent = self.slots.iter().filter(|(began, _)| now.since(*began) < length);
        recent.map(|(_, smallest)| *smallest).fold(value, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Ten slots in 10 s: the 3 of the first slot counts until 10 s after that slot began.
    #[test]
    fn a_minimum_is_forgotten_after_its_while() {
        let mut filter = RecentMin::<10>::default();
        let mut at = |seconds, value| {
            filter.update(Time::from_secs(seconds), value, Duration::from_millis(10_000))
        };
        assert_eq!(at(1.0, 5.0), 5.0);
        assert_eq!(at(1.9, 3.0), 3.0);
        assert_eq!(at(10.9, 7.0), 3.0, "9 s later");
        assert_eq!(at(11.0, 8.0), 7.0, "9.1 s later, and 10 s after its slot began");
    }

    proptest! {
        /// Never above the smallest of (N − 1)/N of the while, never below that of the whole.
        #[test]
        fn it_lies_between_the_minima_of_seven_eighths_and_of_the_whole(
            gaps in prop::collection::vec((1u64..300, 0.0f64..100.0), 1..200),
        ) {
            let (mut filter, length) = (RecentMin::<8>::default(), Duration::from_millis(1000));
            let (mut now, mut past) = (Time::ZERO, Vec::new());
            for (gap, value) in gaps {
                now += Duration::from_millis(gap);
                past.push((now, value));
                let found = filter.update(now, value, length);
                let smallest = |millis: u64| {
                    let recent = past.iter().filter(|(at, _)| {
                        now.since(*at) < Duration::from_millis(millis)
                    });
                    recent.map(|(_, value)| *value).fold(f64::INFINITY, f64::min)
                };
                prop_assert!(smallest(1000) <= found && found <= smallest(875), "{}", found);
            }
        }
    }
}

//! Windowed maxima, over cycles of bandwidth probing and over round trips.

/// The largest value of this slot and of the one before (§5.5.3: two cycles, so two slots).
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::laws) struct TwoSlots {
    before: f64,
    now: f64,
}

impl TwoSlots {
    pub fn update(&mut self, value: f64) {
        self.now = self.now.max(value);
    }

    pub fn advance(&mut self) {
        (self.before, self.now) = (self.now, 0.0);
    }

    /// As Linux does: a slot without a sample does not count as one.
    pub fn advance_unless_empty(&mut self) {
        if self.now > 0.0 {
            self.advance();
        }
    }

    pub fn largest(&self) -> f64 {
        self.before.max(self.now)
    }
}

/// The largest value over a number of rounds (Nichols' algorithm keeps the best three, each later
/// than the one before; §5.5.5).
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::laws) struct WindowedMax {
    best: [(u64, f64); 3],
}

impl WindowedMax {
    /// Adds `value` at `round`; returns the largest of the last `length` rounds.
    pub fn update(&mut self, round: u64, value: f64, length: u64) -> f64 {
        let sample = (round, value);
        let expired = |(then, _): (u64, f64)| round - then > length;
        if value >= self.best[0].1 || expired(self.best[2]) {
            self.best = [sample; 3];
            return value;
        }
        if value >= self.best[1].1 {
            self.best = [self.best[0], sample, sample];
        } else if value >= self.best[2].1 {
            self.best[2] = sample;
        }
        while expired(self.best[0]) {
            self.best = [self.best[1], self.best[2], sample];
        }
        // If the second best is as old as the best after a quarter of the window, or the third as
        // old as the second after half of it, the newest sample takes its place (Nichols).
        let age = round - self.best[0].0;
        if self.best[1].0 == self.best[0].0 && 4 * age > length {
            self.best = [self.best[0], sample, sample];
        } else if self.best[2].0 == self.best[1].0 && 2 * age > length {
            self.best[2] = sample;
        }
        self.best[0].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_maximum_lasts_for_its_window() {
        let mut filter = WindowedMax::default();
        assert_eq!(filter.update(0, 9.0, 10), 9.0);
        assert!((1..=10).all(|round| filter.update(round, 5.0, 10) == 9.0));
        assert_eq!(filter.update(11, 5.0, 10), 5.0);
    }

    proptest! {
        /// Never below the largest of the last quarter of the window, never above the largest of
        /// the whole: what Nichols' three best promise.
        #[test]
        fn it_lies_between_the_maxima_of_a_quarter_and_the_whole_window(
            values in prop::collection::vec(0.0f64..100.0, 1..200),
        ) {
            let (mut filter, length) = (WindowedMax::default(), 10);
            for round in 0..values.len() {
                let found = filter.update(round as u64, values[round], length);
                let largest = |rounds: usize| {
                    let recent = &values[round.saturating_sub(rounds)..=round];
                    recent.iter().copied().fold(0.0, f64::max)
                };
                let (least, most) = (largest(length as usize / 4), largest(length as usize));
                prop_assert!(least <= found && found <= most, "{} at {}", found, round);
            }
        }
    }
}

//! Histograms of whole numbers.

/// Counts of whole numbers: exact below 64, above that with a resolution of one part in 32.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    counts: Vec<u64>,
    /// Whole, and so wide that it holds 2⁶⁴ of the largest values.
    sum: u128,
}

const EXACT: u64 = 64;
const STEPS: u64 = 32;

impl Histogram {
    /// Counts `value`.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.count(value, 1);
        self.sum += u128::from(value);
    }

    /// Counts all of `values`; each that is repeated at once, where most are.
    #[inline]
    pub fn extend(&mut self, values: impl Iterator<Item = u64>) {
        let (mut sum, mut latest, mut times) = (0, 0, 0);
        values.for_each(|value| {
            if value != latest {
                self.count(latest, times);
                (latest, times) = (value, 0);
            }
            times += 1;
            sum += u128::from(value);
        });
        self.count(latest, times);
        self.sum += sum;
    }

    /// Counts `value` so many `times`.
    pub fn add_all(&mut self, value: u64, times: u64) {
        self.count(value, times);
        self.sum += u128::from(value) * u128::from(times);
    }

    #[inline]
    fn count(&mut self, value: u64, times: u64) {
        let slot = Self::slot(value);
        match self.counts.get_mut(slot) {
            Some(count) => *count += times,
            None => self.begin(slot, times),
        }
    }

    /// Counts the first values in `slot`, which are higher than any before.
    #[cold]
    fn begin(&mut self, slot: usize, times: u64) {
        if times > 0 {
            self.counts.resize(slot + 1, 0);
            self.counts[slot] = times;
        }
    }

    fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The mean of the observations; 0 if there are none.
    pub fn mean(&self) -> f64 {
        let total = self.total();
        if total == 0 { 0.0 } else { self.sum as f64 / total as f64 }
    }

    /// The smallest value v such that at least `share` of the observations are ≤ v: the middle of
    /// its slot, so that it is not above or below on average; 0 if there are none.
    pub fn quantile(&self, share: f64) -> u64 {
        let wanted = (share * self.total() as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (slot, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return Self::middle(slot as u64);
            }
        }
        0
    }

    /// The slot of `value`: below [`EXACT`] each value has its own; above, each power of two has
    /// [`STEPS`] slots.
    fn slot(value: u64) -> usize {
        if value < EXACT {
            return value as usize;
        }
        let power = u64::from(value.ilog2());
        let step = (value >> (power - 5)) - STEPS;
        (EXACT + (power - 6) * STEPS + step) as usize
    }

    /// The value in the middle of a slot.
    fn middle(slot: u64) -> u64 {
        let least = Self::value(slot);
        least + (Self::value(slot + 1) - least - 1) / 2
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
        fn a_slots_value_is_within_a_sixty_fourth(value in 0u64..1 << 60) {
            let found = Histogram::middle(Histogram::slot(value) as u64);
            prop_assert!(found.abs_diff(value) <= value / 64 + u64::from(value >= EXACT));
        }
    }
}

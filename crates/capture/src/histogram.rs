//! Values over many orders of magnitude, in bins of a hundredth.

use std::collections::BTreeMap;

/// Counts in bins that are each a hundredth wide; those without any take no room.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    bins: BTreeMap<u16, f32>,
    total: f64,
}

/// What the first bin begins at.
const LEAST: f64 = 1e-7;
/// The natural logarithm of a bin's width.
const WIDTH: f64 = 0.01;
/// Bins: up to 10¹³.
const BINS: u16 = 4606;
/// Bins on each side that are of a mode.
const REACH: u16 = 2;

fn bin(value: f64) -> u16 {
    ((value / LEAST).ln() / WIDTH).clamp(0.0, f64::from(BINS - 1)) as u16
}

fn middle(bin: u16) -> f64 {
    LEAST * ((f64::from(bin) + 0.5) * WIDTH).exp()
}

impl Histogram {
    /// Counts a value `weight` times.
    pub fn add(&mut self, value: f64, weight: f64) {
        if value > 0.0 && value.is_finite() {
            *self.bins.entry(bin(value)).or_default() += weight as f32;
            self.total += weight;
        }
    }

    /// What all weigh.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// The value below which a share of all lies; zero if there are none.
    pub fn quantile(&self, share: f64) -> f64 {
        let mut below = 0.0;
        let reached = |(_, weight): &(&u16, &f32)| {
            below += f64::from(**weight);
            below >= share * self.total
        };
        let last = self.bins.last_key_value();
        self.bins.iter().find(reached).or(last).map_or(0.0, |(bin, _)| middle(*bin))
    }

    /// The share of all that is below a value, with half of what is in the same bin; a half if
    /// there are none.
    pub fn rank(&self, value: f64) -> f64 {
        let bin = bin(value);
        let below: f64 = self.bins.range(..bin).map(|(_, weight)| f64::from(*weight)).sum();
        let same = self.bins.get(&bin).copied().unwrap_or(0.0);
        if self.total > 0.0 { (below + 0.5 * f64::from(same)) / self.total } else { 0.5 }
    }

    /// The value about which most lies within two hundredths, and the share of all that does.
    pub fn mode(&self) -> Option<(f64, f64)> {
        let near = |bin: u16| self.bins.range(bin.saturating_sub(REACH)..=bin + REACH);
        let sum = |bin: u16| near(bin).map(|(_, weight)| f64::from(*weight)).sum::<f64>();
        let sums = self.bins.keys().map(|bin| (*bin, sum(*bin)));
        let (best, most) = sums.max_by(|a, b| a.1.total_cmp(&b.1))?;
        // Within a mode its centre of gravity.
        let log: f64 = near(best).map(|(bin, weight)| f64::from(*weight) * middle(*bin).ln()).sum();
        Some(((log / most).exp(), most / self.total))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_ranks_and_modes_are_within_a_hundredth() {
        let mut histogram = Histogram::default();
        assert_eq!(
            (histogram.quantile(0.5), histogram.rank(1.0), histogram.mode()),
            (0.0, 0.5, None)
        );
        (1..=1000).for_each(|value| histogram.add(f64::from(value), 1.0));
        assert!((histogram.quantile(0.5) / 500.0 - 1.0).abs() < 0.01);
        assert!((histogram.rank(250.0) - 0.25).abs() < 0.01);
        histogram.add(40.0, 2000.0);
        let (mode, share) = histogram.mode().expect("there are values");
        assert!(
            (mode / 40.0 - 1.0).abs() < 0.01 && (share - 2.0 / 3.0).abs() < 0.01,
            "{mode} {share}"
        );
        [0.0, -1.0, f64::NAN, f64::INFINITY].iter().for_each(|value| histogram.add(*value, 1.0));
        assert_eq!(histogram.total(), 3000.0);
    }
}

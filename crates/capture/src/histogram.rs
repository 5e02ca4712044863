//! Values over many orders of magnitude, in bins of a hundredth.

/// Counts in bins that are each a hundredth wide.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    bins: Vec<f32>,
    total: f64,
}

/// What the first bin begins at.
const LEAST: f64 = 1e-7;
/// The natural logarithm of a bin's width.
const WIDTH: f64 = 0.01;
/// Bins: up to 10¹³.
const BINS: usize = 4606;

fn bin(value: f64) -> usize {
    ((value / LEAST).ln() / WIDTH).clamp(0.0, (BINS - 1) as f64) as usize
}

fn middle(bin: usize) -> f64 {
    LEAST * ((bin as f64 + 0.5) * WIDTH).exp()
}

impl Histogram {
    /// Counts a value `weight` times.
    pub fn add(&mut self, value: f64, weight: f64) {
        if !(value > 0.0 && value.is_finite()) {
            return;
        }
        let bin = bin(value);
        if self.bins.len() <= bin {
            self.bins.resize(bin + 1, 0.0);
        }
        self.bins[bin] += weight as f32;
        self.total += weight;
    }

    /// What all weigh.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// The value below which a share of all lies; zero if there are none.
    pub fn quantile(&self, share: f64) -> f64 {
        let mut below = 0.0;
        let reached = |weight: &f32| {
            below += f64::from(*weight);
            below >= share * self.total && below > 0.0
        };
        self.bins.iter().position(reached).map_or(0.0, middle)
    }

    /// The share of all that is below a value, with half of what is in the same bin.
    pub fn rank(&self, value: f64) -> f64 {
        let (bin, sum) =
            (bin(value), |bins: &[f32]| bins.iter().map(|it| f64::from(*it)).sum::<f64>());
        let below = sum(&self.bins[..bin.min(self.bins.len())]);
        let same = self.bins.get(bin).copied().unwrap_or(0.0);
        if self.total > 0.0 { (below + 0.5 * f64::from(same)) / self.total } else { 0.5 }
    }

    /// The value about which most lies within two hundredths, and the share of all that does.
    pub fn mode(&self) -> Option<(f64, f64)> {
        const REACH: usize = 2;
        let near = |place: usize| {
            &self.bins[place.saturating_sub(REACH)..(place + REACH + 1).min(self.bins.len())]
        };
        let sum = |place: usize| near(place).iter().map(|it| f64::from(*it)).sum::<f64>();
        let best = (0..self.bins.len()).max_by(|a, b| sum(*a).total_cmp(&sum(*b)))?;
        // Within a mode its centre of gravity.
        let first = best.saturating_sub(REACH);
        let places = near(best).iter().zip(first..);
        let log: f64 = places.map(|(it, place)| f64::from(*it) * middle(place).ln()).sum();
        Some(((log / sum(best)).exp(), sum(best) / self.total))
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

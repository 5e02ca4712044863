//! What happened under several seeds.

use crate::artefacts;
use crate::lab::Lab;
use crate::report::Report;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What happened under several seeds, in their order.
#[derive(Debug)]
pub struct Reports(pub Vec<Report>);

/// Quantile of the normal distribution of a two-sided interval of 95 %.
const Z: f64 = 1.96;

impl Reports {
    pub(crate) fn run(lab: &Lab, seeds: &[u64]) -> Self {
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::with_capacity(seeds.len()));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..cores.min(seeds.len()) {
                scope.spawn(|| {
                    while let Some(seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let report = lab.run_under(*seed);
                        done.lock().expect("no thread panics while it holds it").push(report);
                    }
                });
            }
        });
        let mut reports = done.into_inner().expect("no thread panics while it holds it");
        reports.sort_by_key(|report: &Report| report.seed);
        Self(reports)
    }

    /// Goes on if `holds` under at least the share `least` of the seeds, like 0.9; else writes what
    /// happened under the first that it does not hold for to `target/narrows`, and ends the test.
    ///
    /// # Panics
    /// If it does not hold often enough. The message has the interval of 95 % for the share of all
    /// seeds (Wilson's), which says whether more seeds are needed to know.
    #[track_caller]
    pub fn expect(&self, what: &str, least: f64, holds: impl Fn(&Report) -> bool) -> &Self {
        let failed: Vec<&Report> = self.0.iter().filter(|report| !holds(report)).collect();
        let (all, held) = (self.0.len(), self.0.len() - failed.len());
        if let Some(first) = failed.first()
            // A share of a whole number may be a hair above it.
            && (held as f64) < (least * all as f64 - 1e-9).ceil()
        {
            let (low, high) = interval(held, all);
            let seeds: Vec<_> = failed.iter().map(|report| report.seed.to_string()).collect();
            panic!(
                "not so: {what}, in {:.0} % of seeds: in {held} of {all} ({:.0} to {:.0} % of all), \
                 not under {} · {first}\n{}",
                100.0 * least,
                100.0 * low,
                100.0 * high,
                seeds.join(", "),
                artefacts::write(first)
            );
        }
        self
    }
}

/// Wilson's interval of 95 % for a share of which `held` of `all` were seen.
fn interval(held: usize, all: usize) -> (f64, f64) {
    let (n, p) = (all as f64, held as f64 / all as f64);
    let middle = (p + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    (middle - half, middle + half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wilsons_interval_is_as_printed() {
        // Newcombe 1998, table I, method 3: 15 of 148 is 0.0624 to 0.1605.
        let (low, high) = interval(15, 148);
        assert!((low - 0.0624).abs() < 5e-5 && (high - 0.1605).abs() < 5e-5, "{low} {high}");
    }
}

//! What samples say of how goodput was shared as time went by. Only flows that always have data
//! count, and of those the sampled ones ([`Checked::sampled`]) that go the first flow's way.

use crate::results::{FlowResult, FlowSeries, LinkSeries};
use crate::{Checked, CheckedFlow};
use std::ops::Range;

/// How goodput was shared; NaN where it was not sampled, or nothing is to be said.
#[derive(Clone, Debug)]
pub(crate) struct Courses {
    /// Of each group: the longest time for which one of its flows starved, in seconds.
    pub starvation: Vec<f64>,
    /// Of each group: the mean over its flows of the coefficient of variation of their goodput.
    pub variation: Vec<f64>,
    /// From the last start until shares were fair and stayed so, in seconds.
    pub convergence_time: f64,
    /// How much flows' windows move together, 0 if not at all and 1 if in step.
    pub synchronisation: f64,
}

/// A flow starves below this part of the mean of the flows that are there with it.
const STARVED: f64 = 0.1;
/// Shares are fair within this part of their mean (RFC 5166 §2.3.3, δ).
const FAIR: f64 = 0.25;
/// They stay so if they do for so many bins.
const STAYS: usize = 20;
/// A bin takes at least so many of the longest base RTTs (RFC 7928 §2.7, K), and at least this.
const RTTS: f64 = 10.0;
const LONG_BIN: f64 = 1.0;
const SHORT_BIN: f64 = 0.1;

/// A flow that always has data.
struct Greedy<'a> {
    group: usize,
    /// Its rows in the series.
    rows: Range<usize>,
    /// When it began and ended, in seconds.
    life: Range<f64>,
    series: &'a FlowSeries,
}

impl Courses {
    /// What the samples of a run of `checked` say.
    pub fn new(checked: &Checked, flows: &[FlowResult], series: &FlowSeries) -> Self {
        let nothing = vec![f64::NAN; checked.flows.len()];
        let Some(interval) = checked.sample.map(|it| it.seconds()).filter(|_| !flows.is_empty())
        else {
            return Self {
                starvation: nothing.clone(),
                variation: nothing,
                convergence_time: f64::NAN,
                synchronisation: f64::NAN,
            };
        };
        let greedy = greedy(checked, flows, series);
        let rtts = checked.flows.iter().map(|group| group.base_rtt().seconds());
        let rtts = RTTS * rtts.fold(0.0, f64::max);
        let samples = |least: f64| (rtts.max(least) / interval).ceil() as usize;
        let ends = [checked.warmup, checked.duration].map(|it| it.seconds());
        let first = (ends[0] / interval).ceil() as usize;
        let rows = greedy.iter().map(|flow| flow.rows.len()).min().unwrap_or(0);
        let long = bins(&greedy, first, rows, samples(LONG_BIN), interval);
        let short = bins(&greedy, 0, rows, samples(SHORT_BIN), interval);
        let of_group = |of: &dyn Fn(usize) -> f64, sum: &dyn Fn(&[f64]) -> f64| {
            let group = |group: usize| {
                let flows = (0..greedy.len()).filter(|flow| greedy[*flow].group == group);
                let values: Vec<f64> = flows.map(of).filter(|value| !value.is_nan()).collect();
                if values.is_empty() { f64::NAN } else { sum(&values) }
            };
            (0..checked.flows.len()).map(group).collect()
        };
        Self {
            starvation: of_group(&|flow| starvation(&long, flow), &|values| {
                values.iter().copied().fold(0.0, f64::max)
            }),
            variation: of_group(&|flow| variation(&long.of(flow)), &|values| mean(values)),
            convergence_time: convergence_time(&greedy, &short, ends),
            synchronisation: synchronisation(&greedy, first..rows),
        }
    }
}

/// The sampled flows that always have data and go the first flow's way.
fn greedy<'a>(checked: &Checked, flows: &[FlowResult], series: &'a FlowSeries) -> Vec<Greedy<'a>> {
    let groups = checked.flows.iter().enumerate();
    let group_of: Vec<(usize, &CheckedFlow, usize)> = groups
        .flat_map(|(number, group)| (0..group.count as usize).map(move |it| (number, group, it)))
        .collect();
    let mut found = Vec::new();
    let mut begin = 0;
    for rows in series.flow.chunk_by(|a, b| a == b) {
        let number = rows[0] as usize;
        let (group, settings, index) = group_of[number];
        let flow = &flows[number];
        let rows = begin..begin + rows.len();
        begin = rows.end;
        if settings.is_greedy() && flow.reverse == flows[0].reverse {
            let ended = flow.summary.finished.map_or(f64::INFINITY, |time| time.seconds());
            let life = flow.started()..ended.min(settings.stops_at(index).seconds());
            found.push(Greedy { group, rows, life, series });
        }
    }
    found
}

/// Goodput of each flow in each bin, bit/s; NaN where it was not there for all of the bin.
struct Bins {
    /// The length of one in seconds.
    length: f64,
    /// When the first begins, in seconds.
    from: f64,
    /// By bin, then by flow.
    goodput: Vec<Vec<f64>>,
}

/// Bins of so many `samples` each, from row `first` of each flow up to row `rows`.
fn bins(flows: &[Greedy], first: usize, rows: usize, samples: usize, interval: f64) -> Bins {
    let samples = samples.max(1);
    let count = rows.saturating_sub(first + 1) / samples;
    let bin = |number: usize| -> Vec<f64> {
        // Row 0 is the beginning of the run, and each row is of the interval before it.
        let begin = first + number * samples;
        let [from, to] = [begin, begin + samples].map(|row| row as f64 * interval);
        let goodput = |flow: &Greedy| {
            let of = flow.rows.start + begin + 1..flow.rows.start + begin + 1 + samples;
            let is_there = flow.life.start <= from && to <= flow.life.end;
            if is_there { mean(&flow.series.goodput[of]) } else { f64::NAN }
        };
        flows.iter().map(goodput).collect()
    };
    Bins {
        length: samples as f64 * interval,
        from: first as f64 * interval,
        goodput: (0..count).map(bin).collect(),
    }
}

impl Bins {
    fn of(&self, flow: usize) -> Vec<f64> {
        self.goodput.iter().map(|bin| bin[flow]).filter(|value| !value.is_nan()).collect()
    }
}

/// The longest time for which `flow` starved; NaN if it was there for no bin.
fn starvation(bins: &Bins, flow: usize) -> f64 {
    let (mut longest, mut starved, mut is_there) = (0, 0, false);
    for bin in &bins.goodput {
        let own = bin[flow];
        let all: Vec<f64> = bin.iter().copied().filter(|value| !value.is_nan()).collect();
        is_there |= !own.is_nan();
        starved = if own < STARVED * mean(&all) { starved + 1 } else { 0 };
        longest = longest.max(starved);
    }
    if is_there { longest as f64 * bins.length } else { f64::NAN }
}

/// From the last start, or the end of the warm-up, until each of at least two flows that stay to
/// the end is within a quarter of their mean for [`STAYS`] bins; NaN if that never happens.
fn convergence_time(flows: &[Greedy], bins: &Bins, [warmup, end]: [f64; 2]) -> f64 {
    let stay: Vec<usize> = (0..flows.len()).filter(|it| flows[*it].life.end >= end).collect();
    let last = stay.iter().map(|it| flows[*it].life.start).fold(f64::NAN, f64::max).max(warmup);
    let is_fair = |bin: &Vec<f64>| {
        let values: Vec<f64> = stay.iter().map(|flow| bin[*flow]).collect();
        let mean = mean(&values);
        values.len() > 1 && values.iter().all(|value| (value - mean).abs() <= FAIR * mean)
    };
    let begin = |number: usize| bins.from + number as f64 * bins.length;
    let mut stayed = 0;
    for (number, bin) in bins.goodput.iter().enumerate() {
        stayed = if begin(number) >= last && is_fair(bin) { stayed + 1 } else { 0 };
        if stayed == STAYS {
            return begin(number + 1 - STAYS) - last;
        }
    }
    f64::NAN
}

/// (Var ΣW / Σ Var W − 1)/(n − 1) over the samples in `rows`: the mean correlation of windows
/// weighed by their variances; NaN for a single flow, or if no window moves.
fn synchronisation(flows: &[Greedy], rows: Range<usize>) -> f64 {
    let window = |flow: &Greedy, row: usize| flow.series.window[flow.rows.start + row];
    let of = |flow: &Greedy| variance(rows.clone().map(|row| window(flow, row)));
    let single: f64 = flows.iter().map(of).sum();
    let sum = |row: usize| flows.iter().map(|flow| window(flow, row)).sum();
    let all = variance(rows.clone().map(sum));
    if flows.len() < 2 || single == 0.0 {
        return f64::NAN;
    }
    (all / single - 1.0) / (flows.len() as f64 - 1.0)
}

/// The index of dispersion of the arrivals at `link` in the samples from `warmup` on, variance over
/// mean: 1 for Poisson's, below it if they are evener (Gusella, 1991); NaN without samples.
pub(crate) fn burstiness(series: &LinkSeries, link: u32, warmup: f64) -> f64 {
    let interval = series.time.first().copied().unwrap_or(0.0);
    let rows = (0..series.time.len()).filter(|row| series.link[*row] == link);
    let rows = rows.filter(|row| series.time[*row] - interval >= warmup - 1e-9);
    let arrivals: Vec<f64> = rows.map(|row| series.arrivals[row] as f64).collect();
    variance(arrivals.iter().copied()) / mean(&arrivals)
}

/// Standard deviation over mean; NaN for fewer than two values.
fn variation(values: &[f64]) -> f64 {
    if values.len() < 2 { f64::NAN } else { variance(values.iter().copied()).sqrt() / mean(values) }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let (count, sum) = values.clone().fold((0.0, 0.0), |(n, sum), it| (n + 1.0, sum + it));
    values.map(|it| (it - sum / count).powi(2)).sum::<f64>() / count
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: f64 = f64::NAN;

    fn bins(goodput: &[[f64; 2]]) -> Bins {
        Bins { length: 2.0, from: 0.0, goodput: goodput.iter().map(|bin| bin.to_vec()).collect() }
    }

    #[test]
    fn a_flow_below_a_tenth_of_the_mean_starves() {
        // Alone it has the mean; the mean of 1 and 19 is 10, of which 1 is a tenth.
        let bins = bins(&[[5.0, NONE], [0.9, 19.0], [0.0, 9.0], [1.0, 19.0], [0.0, 9.0]]);
        assert_eq!(starvation(&bins, 0), 4.0);
        assert_eq!(starvation(&bins, 1), 0.0);
        assert!(starvation(&self::bins(&[[1.0, NONE]]), 1).is_nan());
    }

    #[test]
    fn two_windows_in_step_are_synchronised_and_opposite_ones_are_not() {
        let of = |second: [f64; 4]| {
            let mut window = vec![1.0, 2.0, 3.0, 2.0];
            window.extend(second);
            let series = FlowSeries { window, ..FlowSeries::default() };
            let flow = |rows| Greedy { group: 0, rows, life: 0.0..9.0, series: &series };
            synchronisation(&[flow(0..4), flow(4..8)], 0..4)
        };
        assert!((of([11.0, 12.0, 13.0, 12.0]) - 1.0).abs() < 1e-12);
        assert!((of([3.0, 2.0, 1.0, 2.0]) + 1.0).abs() < 1e-12);
        assert!(of([2.0, 3.0, 2.0, 1.0]).abs() < 1e-12);
    }

    #[test]
    fn shares_have_converged_once_they_stay_within_a_quarter_of_their_mean() {
        let series = FlowSeries::default();
        let flow = |start| Greedy { group: 0, rows: 0..0, life: start..99.0, series: &series };
        let flows = [flow(0.0), flow(4.0)];
        let mut goodput = vec![[8.0, 12.0]; 25];
        // Fair before the second has come does not count, nor what does not stay.
        goodput[4] = [7.0, 13.0];
        assert_eq!(convergence_time(&flows, &bins(&goodput), [0.0, 60.0]), 6.0);
        // A flow that has gone is not asked.
        let gone = Greedy { life: 0.0..20.0, ..flow(0.0) };
        let mut three: Vec<_> = goodput.iter().map(|bin| vec![bin[0], bin[1], NONE]).collect();
        three[4] = vec![7.0, 13.0, 1.0];
        let three = Bins { length: 2.0, from: 0.0, goodput: three };
        let flows = [flow(0.0), flow(4.0), gone];
        assert_eq!(convergence_time(&flows, &three, [0.0, 60.0]), 6.0);
        let flows = [flow(0.0), flow(4.0)];
        assert!(convergence_time(&flows, &bins(&goodput[..24]), [0.0, 60.0]).is_nan());
    }

    #[test]
    fn constant_arrivals_have_no_dispersion() {
        let series = LinkSeries {
            time: vec![1.0, 2.0, 3.0, 1.0, 2.0, 3.0],
            link: vec![0, 0, 0, 1, 1, 1],
            arrivals: vec![99, 5, 5, 99, 0, 10],
            ..LinkSeries::default()
        };
        assert_eq!(burstiness(&series, 0, 1.0), 0.0);
        assert_eq!(burstiness(&series, 1, 1.0), 5.0);
    }
}

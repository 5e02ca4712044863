//! What the groups of flows showed: sums over their flows, and their transfers by size.

use crate::courses::Courses;
use crate::results::{FlowResult, jain};
use crate::transfers::Transfers;
use crate::{Checked, CheckedFlow};
use narrows_sim::{Application, Usage};
use narrows_transport::SendLimit;

/// What a group of flows showed within the measured window.
#[derive(Clone, Debug)]
pub struct GroupResult {
    /// Its number, from 0.
    pub number: u32,
    /// Its name; empty if it has none.
    pub name: String,
    /// Its `cc`, as written.
    pub cc: String,
    /// Flows of it.
    pub flows: u32,
    /// The number of the first of them.
    pub first: u32,
    /// True from right to left.
    pub reverse: bool,
    /// New payload at its receivers, bit/s.
    pub goodput: f64,
    /// Its goodput over that of all groups of its direction (a ratio).
    pub share: f64,
    /// Data sent on the wire, bit/s.
    pub throughput: f64,
    /// Packets found lost over packets sent.
    pub loss_rate: f64,
    /// Mean of its flows' mean RTTs in seconds; NaN if there are none.
    pub mean_rtt: f64,
    /// Recovery epochs opened.
    pub epochs: u64,
    /// Expiries of retransmission timers.
    pub timeouts: u64,
    /// Median of its flows' completion times in seconds; NaN if none has one.
    pub completion_time: f64,
    /// Jain's index over its flows; NaN if transfers come to them by chance.
    pub jain: f64,
    /// The longest time for which one of its flows starved, in seconds; NaN if it was not sampled.
    pub starvation: f64,
    /// Mean over its flows of the coefficient of variation of goodput; NaN if that was not sampled.
    pub variation: f64,
    /// The share of frames that missed their deadline (a ratio); NaN without frames.
    pub late_frames: f64,
    /// Means over its flows of the shares of time that each spent under each limit; NaN if nothing
    /// limits them.
    limited: [f64; SendLimit::ALL.len()],
    /// Its transfers, whatever their size.
    pub transfers: Taken,
}

/// Transfers of a group that were asked for in the measured window, of sizes up to `class`.
#[derive(Clone, Debug)]
pub struct SizeClass {
    /// Number of the group.
    pub group: u32,
    /// Its name; empty if it has none.
    pub name: String,
    /// The sizes, like "10 to 100 kB".
    pub class: &'static str,
    /// The transfers.
    pub transfers: Taken,
}

/// How long transfers took.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    /// Those that ended.
    pub finished: u64,
    /// Those that the end of the run found under way.
    pub unfinished: u64,
    /// Seconds from the request to the last packet's arrival.
    pub completion_time: Spread,
    /// That over the least that it could have been (a ratio).
    pub slowdown: Spread,
}

/// Mean and percentiles. A percentile above the median is NaN unless ten values lie beyond it.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    /// Mean; NaN without values, as all others.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
}

/// Queries, one row each: those that were asked in the whole run.
#[derive(Clone, Debug, Default)]
pub struct Queries {
    /// Number of the group that answers.
    pub group: Vec<u32>,
    /// When it was asked, in seconds.
    pub asked: Vec<f64>,
    /// From then to the arrival of the last answer, in seconds; NaN if the run ended first.
    pub completion_time: Vec<f64>,
    /// Answers that were complete at the end of the run.
    pub answers: Vec<u32>,
}

/// The classes: what each is called, and the largest size in bytes.
const CLASSES: [(&str, u64); 5] = [
    ("up to 10 kB", 10_000),
    ("10 to 100 kB", 100_000),
    ("100 kB to 1 MB", 1_000_000),
    ("1 to 10 MB", 10_000_000),
    ("above 10 MB", u64::MAX),
];
/// Values that must lie beyond a percentile.
const BEYOND: f64 = 10.0;

impl Default for Spread {
    fn default() -> Self {
        Self::of(&mut [])
    }
}

impl Spread {
    fn of(values: &mut [f64]) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        let count = values.len() as f64;
        let at = |share: f64| {
            let rank = (share * count).ceil().max(1.0) as usize;
            values.get(rank - 1).copied().unwrap_or(f64::NAN)
        };
        let known = |share: f64| {
            // 0.001·10000 is a little less than 10.
            if (1.0 - share) * count >= BEYOND - 1e-6 { at(share) } else { f64::NAN }
        };
        let mean = values.iter().sum::<f64>() / count;
        Self { mean, p50: at(0.5), p95: known(0.95), p99: known(0.99), p999: known(0.999) }
    }
}

impl Taken {
    /// The transfers in these rows.
    fn of(transfers: &Transfers, rows: &[usize]) -> Self {
        let ended = rows.iter().filter(|row| transfers.completion_time[**row].is_finite());
        let ended: Vec<usize> = ended.copied().collect();
        let values =
            |column: &[f64]| -> Vec<f64> { ended.iter().map(|row| column[*row]).collect() };
        Self {
            finished: ended.len() as u64,
            unfinished: (rows.len() - ended.len()) as u64,
            completion_time: Spread::of(&mut values(&transfers.completion_time)),
            slowdown: Spread::of(&mut values(&transfers.slowdown)),
        }
    }
}

/// What each group showed.
pub(crate) fn gather(
    checked: &Checked,
    flows: &[FlowResult],
    transfers: &Transfers,
    courses: &Courses,
) -> Vec<GroupResult> {
    let rows = measured(checked, transfers);
    let of_way = |reverse: bool| -> f64 {
        flows.iter().filter(|flow| flow.reverse == reverse).map(|flow| flow.goodput).sum()
    };
    let ways = [of_way(false), of_way(true)];
    let mut rest = flows;
    let group = |(number, group): (usize, &CheckedFlow)| {
        let (flows, others) = rest.split_at(group.count as usize);
        rest = others;
        let sum = |value: fn(&FlowResult) -> f64| flows.iter().map(value).sum::<f64>();
        let goodput = sum(|flow| flow.goodput);
        let sent = sum(|flow| flow.summary.sender.sent as f64);
        let lost = sum(|flow| f64::from(flow.summary.sender.lost));
        let limited = SendLimit::ALL.map(|limit| mean(flows.iter().map(|it| it.limited(limit))));
        let first = flows.first().map_or(0, |flow| flow.number);
        let goodputs: Vec<f64> = flows.iter().map(|flow| flow.goodput).collect();
        GroupResult {
            number: number as u32,
            name: group.name.clone(),
            cc: group.cc.clone(),
            flows: group.count,
            first,
            reverse: group.reverse,
            goodput,
            share: goodput / ways[usize::from(group.reverse)],
            throughput: sum(|flow| flow.throughput),
            loss_rate: if lost == 0.0 { 0.0 } else { lost / sent.max(lost) },
            mean_rtt: mean(flows.iter().map(|flow| flow.mean_rtt)),
            epochs: flows.iter().map(|flow| u64::from(flow.summary.sender.epochs)).sum(),
            timeouts: flows.iter().map(|flow| u64::from(flow.summary.sender.timeouts)).sum(),
            completion_time: median(flows.iter().filter_map(|flow| flow.completion_time)),
            limited,
            jain: if group.arriving.is_some() { f64::NAN } else { jain(&goodputs) },
            starvation: courses.starvation[number],
            variation: courses.variation[number],
            late_frames: late_frames(flows),
            transfers: Taken::of(transfers, &rows[number]),
        }
    };
    checked.flows.iter().enumerate().map(group).collect()
}

/// Mean of the values that are numbers; NaN without any.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values
        .filter(|value| !value.is_nan())
        .fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value));
    sum / count
}

/// The middle of the values, or the mean of the two in the middle; NaN without any.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    let Some(last) = values.len().checked_sub(1) else { return f64::NAN };
    f64::midpoint(values[last / 2], values[last.div_ceil(2)])
}

impl GroupResult {
    /// The number of its last flow.
    pub fn last(&self) -> u32 {
        self.first + self.flows - 1
    }

    /// Mean over its flows of the share of time that each spent under `limit` (a ratio).
    pub fn limited(&self, limit: SendLimit) -> f64 {
        let place = SendLimit::ALL.iter().position(|other| *other == limit);
        place.map_or(f64::NAN, |place| self.limited[place])
    }
}

/// The share of all flows' frames that missed their deadline; NaN without frames.
fn late_frames(flows: &[FlowResult]) -> f64 {
    let delays = flows.iter().filter_map(|flow| flow.summary.delays.as_ref());
    let frames =
        delays.map(|it| (it.frames() as f64, it.late())).filter(|(frames, _)| *frames > 0.0);
    let (all, late) = frames
        .fold((0.0, 0.0), |(all, late), (frames, share)| (all + frames, late + frames * share));
    late / all
}

/// The transfers of all groups that were asked for in the measured window.
pub(crate) fn of_all(checked: &Checked, transfers: &Transfers) -> Taken {
    Taken::of(transfers, &measured(checked, transfers).concat())
}

/// The rows of each group's transfers that were asked for in the measured window.
fn measured(checked: &Checked, transfers: &Transfers) -> Vec<Vec<usize>> {
    let mut rows = vec![Vec::new(); checked.flows.len()];
    let warmup = checked.warmup.seconds();
    for (row, group) in transfers.group.iter().enumerate() {
        if transfers.requested[row] >= warmup {
            rows[*group as usize].push(row);
        }
    }
    rows
}

/// Transfers that arrived at random and those of web users and files, by size; classes without any
/// are left out.
pub(crate) fn by_size(checked: &Checked, transfers: &Transfers) -> Vec<SizeClass> {
    let mut classes = Vec::new();
    for (group, rows) in measured(checked, transfers).into_iter().enumerate() {
        let mut above = 0;
        for (class, most) in CLASSES {
            let is_of = |row: &&usize| (above + 1..=most).contains(&transfers.bytes[**row]);
            let rows: Vec<usize> = rows.iter().filter(is_of).copied().collect();
            above = most;
            if !rows.is_empty() {
                classes.push(SizeClass {
                    group: group as u32,
                    name: checked.flows[group].name.clone(),
                    class,
                    transfers: Taken::of(transfers, &rows),
                });
            }
        }
    }
    classes
}

/// The queries that groups answered.
pub(crate) fn queries(checked: &Checked, transfers: &Transfers) -> Queries {
    let mut queries = Queries::default();
    let answers = |it: &Application<()>| matches!(it, Application::Requests(Usage::Queries(_), ()));
    let groups = checked.flows.iter().enumerate();
    let groups = groups.filter(|(_, group)| group.application().is_some_and(answers));
    for (group, _) in groups {
        let rows = (0..transfers.group.len()).filter(|row| transfers.group[*row] as usize == group);
        let mut rows: Vec<usize> = rows.collect();
        rows.sort_by(|a, b| transfers.requested[*a].total_cmp(&transfers.requested[*b]));
        for query in rows.chunk_by(|a, b| transfers.requested[*a] == transfers.requested[*b]) {
            let times = query.iter().map(|row| transfers.completion_time[*row]);
            let ended: Vec<f64> = times.filter(|time| time.is_finite()).collect();
            let is_whole = ended.len() == checked.flows[group].count as usize;
            let slowest = ended.iter().copied().fold(0.0, f64::max);
            queries.group.push(group as u32);
            queries.asked.push(transfers.requested[query[0]]);
            queries.completion_time.push(if is_whole { slowest } else { f64::NAN });
            queries.answers.push(ended.len() as u32);
        }
    }
    queries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_needs_ten_values_beyond_it() {
        let spread =
            |count: usize| Spread::of(&mut (1..=count).map(|it| it as f64).collect::<Vec<_>>());
        let of = |count| {
            let Spread { mean, p50, p95, p99, p999 } = spread(count);
            [mean, p50, p95, p99, p999].map(|it| if it.is_nan() { -1.0 } else { it })
        };
        assert_eq!(of(0), [-1.0; 5]);
        assert_eq!(of(1), [1.0, 1.0, -1.0, -1.0, -1.0]);
        assert_eq!(of(199), [100.0, 100.0, -1.0, -1.0, -1.0]);
        assert_eq!(of(200), [100.5, 100.0, 190.0, -1.0, -1.0]);
        assert_eq!(of(1000), [500.5, 500.0, 950.0, 990.0, -1.0]);
        assert_eq!(of(10_000), [5000.5, 5000.0, 9500.0, 9900.0, 9990.0]);
    }
}

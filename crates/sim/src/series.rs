//! Samples at regular intervals, stored in columns.
//!
//! No events are scheduled for samples. An endpoint or link is sampled when its next event comes,
//! for all sample times that have passed, in the state it had at those times. A sample at an
//! instant comes before the events of that instant.

use crate::ends::Sink;
use crate::hosted::Told;
use narrows_transport::Sender;
use narrows_units::{Duration, Time};

/// The state of a sender at each sample time: sample k was taken at k · interval. NaN if the source
/// does not have the quantity.
#[derive(Clone, Debug, Default)]
pub struct SenderSeries {
    /// Congestion window in packets.
    pub window: Vec<f64>,
    /// Slow-start threshold in packets; infinite if there is none.
    pub ssthresh: Vec<f64>,
    /// Smoothed RTT in seconds; NaN before the first sample.
    pub rtt: Vec<f64>,
    /// Packets in flight.
    pub in_flight: Vec<f64>,
    /// Data packets sent so far.
    pub sent: Vec<u64>,
    /// The law's own quantities by name; NaN at a time at which the law does not show one.
    pub law: Vec<(&'static str, Vec<f64>)>,
}

impl SenderSeries {
    pub(crate) fn sample(&mut self, sender: &Sender) {
        self.window.push(sender.controller().window());
        self.ssthresh.push(sender.controller().ssthresh());
        self.rtt.push(sender.rtt().map_or(f64::NAN, |rtt| rtt.smoothed.seconds()));
        self.in_flight.push(sender.in_flight() as f64);
        self.sent.push(sender.counters().sent);
        self.probe(sender);
    }

    fn probe(&mut self, sender: &Sender) {
        let before = self.sent.len() - 1;
        let law = &mut self.law;
        sender.controller().probe(&mut |name, value| {
            let place = law.iter().position(|(known, _)| *known == name);
            let place = place.unwrap_or_else(|| {
                law.push((name, Vec::new()));
                law.len() - 1
            });
            let column = &mut law[place].1;
            column.resize(before, f64::NAN);
            column.push(value);
        });
    }

    /// Samples a hosted end that has sent `sent` datagrams, with packets of `packet` bytes; NaN for
    /// what it does not tell.
    pub(crate) fn sample_hosted(&mut self, told: &Told, sent: u64, packet: u32) {
        let packets =
            |bytes: Option<u64>| bytes.map_or(f64::NAN, |bytes| bytes as f64 / f64::from(packet));
        self.window.push(packets(told.window));
        self.ssthresh.push(f64::NAN);
        self.rtt.push(told.rtt.map_or(f64::NAN, |rtt| rtt.seconds()));
        self.in_flight.push(packets(told.in_flight));
        self.sent.push(sent);
    }

    /// Samples a datagram source that has sent `sent` packets; all other columns are NaN.
    pub(crate) fn sample_datagrams(&mut self, sent: u64) {
        for column in [&mut self.window, &mut self.ssthresh, &mut self.rtt, &mut self.in_flight] {
            column.push(f64::NAN);
        }
        self.sent.push(sent);
    }
}

/// The state of a receiver at each sample time.
#[derive(Clone, Debug, Default)]
pub struct ReceiverSeries {
    /// Packets that had arrived for the first time; of a hosted end, bytes that its application
    /// had.
    pub arrived: Vec<u64>,
    /// Packets that had arrived in order, so that the application has them; all that had arrived if
    /// their numbers have no order.
    pub in_order: Vec<u64>,
}

impl ReceiverSeries {
    pub(crate) fn sample(&mut self, sink: &Sink) {
        self.arrived.push(sink.arrived());
        self.in_order.push(sink.next().unwrap_or(sink.arrived()));
    }
}

/// What happened at a link: row k covers the interval that ends at (k + 1) · interval.
#[derive(Clone, Debug, Default)]
pub struct LinkSeries {
    /// Packets in the queue at the end of the interval, the one in transmission included.
    pub queue: Vec<u64>,
    /// Packets that arrived at the queue.
    pub arrivals: Vec<u64>,
    /// Packets that the queue dropped.
    pub drops: Vec<u64>,
    /// Packets that the queue marked.
    pub marks: Vec<u64>,
    /// Bytes of the packets whose last bit left.
    pub departed_bytes: Vec<u64>,
}

/// Adds `amount` to the interval that contains `at`.
pub(crate) fn count(column: &mut Vec<u64>, interval: Duration, at: Time, amount: u64) {
    let row = (at.picos() / interval.picos()) as usize;
    if row >= column.len() {
        column.resize(row + 1, 0);
    }
    column[row] += amount;
}

/// Adds each amount to the interval that contains its time; the times come in order.
pub(crate) fn count_all(
    column: &mut Vec<u64>,
    interval: Duration,
    amounts: impl Iterator<Item = (Time, u64)>,
) {
    let (mut since, mut end, mut sum) = (Time::ZERO, Time::ZERO, 0);
    amounts.for_each(|(at, amount)| {
        if at >= end {
            count(column, interval, since, std::mem::take(&mut sum));
            let rows = at.picos() / interval.picos() + 1;
            (since, end) = (at, Time::ZERO + interval * rows);
        }
        sum += amount;
    });
    count(column, interval, since, sum);
}

/// When the next sample is due, and when the warm-up ends.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    /// The earlier of the next sample and the end of the warm-up.
    due: Time,
    /// `None` if nothing is sampled: then the warm-up is all that is due.
    samples: Option<Box<Samples>>,
}

#[derive(Clone, Copy, Debug)]
struct Samples {
    next: Time,
    interval: Duration,
    warmup: Time,
}

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    Sample,
    WarmedUp,
}

impl Schedule {
    /// Schedules samples at `interval`, given as (first time, length) or `None`, and one event at
    /// `warmup`.
    pub fn new(interval: Option<(Time, Duration)>, warmup: Time) -> Self {
        let samples = interval.map(|(next, interval)| Samples { next, interval, warmup });
        Self {
            due: samples.map_or(warmup, |samples| samples.next.min(warmup)),
            samples: samples.map(Box::new),
        }
    }

    /// True if something is due at `now` or before.
    #[inline]
    pub fn is_due(&self, now: Time) -> bool {
        self.due <= now
    }

    /// Returns what is due at `now` or before, one item at a time.
    pub fn due(&mut self, now: Time) -> Option<(Due, Time)> {
        if self.due > now || self.due == Time::NEVER {
            return None;
        }
        let at = std::mem::replace(&mut self.due, Time::NEVER);
        let Some(samples) = &mut self.samples else { return Some((Due::WarmedUp, at)) };
        let due = if samples.warmup == at {
            samples.warmup = Time::NEVER;
            Due::WarmedUp
        } else {
            samples.next += samples.interval;
            Due::Sample
        };
        self.due = samples.next.min(samples.warmup);
        Some((due, at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// What is due by 25 ms.
    fn due(interval: Option<Duration>, warmup: Time) -> Vec<(Due, Time)> {
        let mut schedule = Schedule::new(interval.map(|interval| (ms(0), interval)), warmup);
        std::iter::from_fn(|| schedule.due(ms(25))).collect()
    }

    #[test]
    fn samples_and_the_warm_up_come_in_order() {
        let samples = [0, 10, 20].map(|at| (Due::Sample, ms(at)));
        let [first, second, third] = samples;
        let interval = Some(Duration::from_millis(10));
        let warmed_up = |at| (Due::WarmedUp, ms(at));
        assert_eq!(due(interval, ms(15)), [first, second, warmed_up(15), third]);
        assert_eq!(due(interval, ms(10)), [first, warmed_up(10), second, third]);
        assert_eq!(due(interval, ms(0)), [warmed_up(0), first, second, third]);
        assert_eq!(due(interval, ms(30)), samples);
        assert_eq!(due(None, ms(15)), [warmed_up(15)]);
        assert_eq!(due(None, Time::NEVER), []);
    }
}

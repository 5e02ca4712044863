//! What is recorded of a watched link: the longest queue, histograms, samples.

use crate::histogram::Histogram;
use crate::measured::Measured;
use crate::series::{Due, LinkSeries, Schedule, count, count_all};
use narrows_router::Backlog;
use narrows_units::{Duration, Time};

/// Records what a link does.
pub(crate) struct Observer {
    schedule: Schedule,
    interval: Option<Duration>,
    /// The largest number of packets and the largest number of bytes.
    pub max_queue: Backlog,
    pub queue_found: Histogram,
    pub delay: Histogram,
    series: LinkSeries,
}

impl Observer {
    /// Creates an observer that takes samples at `interval`, if it is given, and measures from
    /// `warmup` on.
    pub fn new(interval: Option<Duration>, warmup: Time) -> Self {
        Self {
            schedule: Schedule::new(
                interval.map(|interval| (Time::ZERO + interval, interval)),
                warmup,
            ),
            interval,
            max_queue: Backlog::default(),
            queue_found: Histogram::default(),
            delay: Histogram::default(),
            series: LinkSeries::default(),
        }
    }

    /// The samples so far with their interval; `None` if none are taken.
    pub fn samples(&self) -> Option<(Duration, &LinkSeries)> {
        Some((self.interval?, &self.series))
    }

    /// Takes the samples due by `now`; `backlog` returns the state of the queue at a given time.
    #[inline]
    pub fn catch_up(&mut self, now: Time, backlog: impl FnMut(Time) -> Backlog) {
        if self.schedule.is_due(now) {
            self.sample(now, backlog);
        }
    }

    #[cold]
    #[inline(never)]
    fn sample(&mut self, now: Time, mut backlog: impl FnMut(Time) -> Backlog) {
        while let Some((due, at)) = self.schedule.due(now) {
            match due {
                Due::Sample => self.series.queue.push(backlog(at).packets),
                Due::WarmedUp => self.max_queue = backlog(at),
            }
        }
    }

    /// Records that a packet arrived at `now` and found `found` packets; the queue is now `queue`.
    /// It `counts` if `now` is in the measured part.
    #[inline]
    pub fn arrival(&mut self, now: Time, found: u64, queue: Backlog, counts: bool) {
        if counts {
            self.max_queue = self.max_queue.most(queue);
            self.queue_found.add(found);
        }
        if let Some(interval) = self.interval {
            count(&mut self.series.arrivals, interval, now, 1);
        }
    }

    /// Samples packets that arrived, and bytes that left, each in order of time; what is measured
    /// of them is recorded apart.
    #[inline]
    pub fn sample_all(
        &mut self,
        arrivals: impl Iterator<Item = Time>,
        departures: impl Iterator<Item = (Time, u64)>,
    ) {
        if let Some(interval) = self.interval {
            count_all(&mut self.series.arrivals, interval, arrivals.map(|at| (at, 1)));
            count_all(&mut self.series.departed_bytes, interval, departures);
        }
    }

    /// Records that a packet is dropped at `now`.
    pub fn drop(&mut self, now: Time) {
        if let Some(interval) = self.interval {
            count(&mut self.series.drops, interval, now, 1);
        }
    }

    /// Records that a packet is marked at `now`.
    pub fn mark(&mut self, now: Time) {
        if let Some(interval) = self.interval {
            count(&mut self.series.marks, interval, now, 1);
        }
    }

    /// Records that the last bit of a packet of `bytes` that arrived at `came` leaves at
    /// `departure`. The packet `counts` if it came in the measured part.
    #[inline]
    pub fn departure(
        &mut self,
        came: Time,
        counts: bool,
        departure: Time,
        bytes: u32,
        measured: &Measured,
    ) {
        if counts {
            self.delay.add(departure.since(came).picos() / 1000);
        }
        if let Some(interval) = self.interval
            && departure <= measured.to
        {
            count(&mut self.series.departed_bytes, interval, departure, u64::from(bytes));
        }
    }
}

//! Transfers that arrive at random, each carried by a flow of a pool that has nothing else to do.

use crate::requests::Request;
use crate::sizes::Sizes;
use narrows_units::{Duration, Stream, Time};
use std::ops::Range;

/// Arrivals of transfers at a pool of flows: a Poisson process.
///
/// When they arrive, how large they are and between whom does not depend on what becomes of those
/// before: it is the same for every law.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrivals {
    /// Mean time between one and the next.
    pub gap: Duration,
    /// Their sizes.
    pub sizes: Sizes,
    /// When the first may arrive.
    pub from: Time,
    /// When no more arrive; never if they do to the end.
    pub until: Time,
    /// The flows that carry them, which have [`Usage::Arrivals`](crate::Usage::Arrivals).
    pub flows: Range<u32>,
    /// Bytes of payload in a packet.
    pub payload: u64,
}

/// A pool of flows while it runs.
#[derive(Debug)]
pub(crate) struct Pool {
    arrivals: Arrivals,
    stream: Stream,
    next_at: Time,
    /// When each flow had nothing more to do; never if it has.
    idle_from: Box<[Time]>,
}

/// No flow was free when a transfer arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overrun {
    /// When that was.
    pub at: Time,
    /// The pool, by its place in [`Network::pools`](crate::Network::pools).
    pub pool: usize,
}

impl Pool {
    pub fn new(arrivals: Arrivals, mut stream: Stream) -> Self {
        let idle_from = vec![Time::ZERO; arrivals.flows.len()].into();
        let next_at = arrivals.from + arrivals.gap.scale(stream.exponential());
        Self { next_at, arrivals, stream, idle_from }
    }

    /// When the next one arrives; never if none does.
    pub fn next_at(&self) -> Time {
        if self.next_at < self.arrivals.until { self.next_at } else { Time::NEVER }
    }

    /// The transfer that arrives now, and the flow that is to carry it; `None` if all are busy.
    pub fn arrive(&mut self) -> Option<(u32, Request)> {
        let now = self.next_at;
        let bytes = self.arrivals.sizes.draw(&mut self.stream);
        let flows = self.idle_from.len();
        let wished = (self.stream.uniform() * flows as f64) as usize;
        self.next_at = now + self.arrivals.gap.scale(self.stream.exponential());
        // Eager hops tell of what ends later. What ends just now may be known or not.
        let is_idle = |from: Time| from < now || from == Time::ZERO;
        // The next one that is idle, so that what is drawn is the same whoever is busy.
        let mut places = (0..flows).map(|step| (wished + step) % flows);
        let place = places.find(|place| is_idle(self.idle_from[*place]))?;
        self.idle_from[place] = Time::NEVER;
        let request = Request::of_bytes(now, bytes, self.arrivals.payload);
        Some((self.arrivals.flows.start + place as u32, request))
    }

    /// `flow` has nothing more to do from `now` on.
    pub fn idle(&mut self, flow: u32, now: Time) {
        let place = (flow - self.arrivals.flows.start) as usize;
        debug_assert!(self.idle_from[place] == Time::NEVER, "flow {flow} had nothing to do");
        self.idle_from[place] = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(flows: u32, seed: u64) -> Pool {
        let arrivals = Arrivals {
            gap: Duration::from_millis(10),
            sizes: Sizes::pareto(30_000.0, 1.35),
            from: Time::ZERO + Duration::from_millis(500),
            until: Time::ZERO + Duration::from_millis(1_000_000),
            flows: 7..7 + flows,
            payload: 1000,
        };
        Pool::new(arrivals, Stream::new(seed, 1, 1))
    }

    #[test]
    fn what_arrives_does_not_depend_on_who_is_busy() {
        let (mut idle, mut busy) = (pool(4, 3), pool(4, 3));
        let mut held = Vec::new();
        for number in 0..10_000 {
            let (flow, one) = idle.arrive().expect("one is idle");
            idle.idle(flow, Time::ZERO);
            let (other, same) = busy.arrive().expect("one is idle");
            assert_eq!((one.asked, one.bytes, one.packets), (same.asked, same.bytes, same.packets));
            assert!(!held.contains(&other) && (7..11).contains(&other));
            held.push(other);
            if number % 3 > 0 || held.len() == 4 {
                busy.idle(held.remove(0), Time::ZERO);
            }
        }
    }

    #[test]
    fn gaps_are_exponential() {
        let mut pool = pool(1, 5);
        let mut gaps = Vec::new();
        let mut last = pool.arrivals.from;
        while pool.next_at() < Time::NEVER {
            let (flow, request) = pool.arrive().expect("it is idle");
            gaps.push(request.asked.since(last).seconds() / 0.01);
            last = request.asked;
            pool.idle(flow, Time::ZERO);
        }
        // Kolmogorov and Smirnov at 1 %: 1.63/√n.
        gaps.sort_by(f64::total_cmp);
        let n = gaps.len() as f64;
        let distance = gaps.iter().enumerate().map(|(place, gap)| {
            let share = 1.0 - (-gap).exp();
            (share - place as f64 / n).abs().max((share - (place + 1) as f64 / n).abs())
        });
        let distance = distance.fold(0.0, f64::max);
        assert!((99_000.0..101_000.0).contains(&n) && distance < 1.63 / n.sqrt(), "{n} {distance}");
    }

    #[test]
    fn a_flow_takes_the_next_only_after_its_last() {
        let mut pool = pool(1, 1);
        let (flow, _) = pool.arrive().expect("it is idle");
        // Told ahead of time: when the second arrives, this is still to come.
        pool.idle(flow, pool.next_at());
        assert_eq!(pool.arrive(), None);
        assert!(pool.arrive().is_some());
        assert_eq!(pool.arrive(), None);
    }
}

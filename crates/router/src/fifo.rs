//! First in, first out, at a fixed rate: a packet's departure is known on arrival.

use crate::service::Service;
use crate::{Backlog, Limit, Server};
use narrows_units::{Bytes, Duration, Rate, Time, ties};
use std::collections::VecDeque;

/// A drop-tail queue and its server.
///
/// Arrivals must be offered in order of time. A packet that leaves at the instant at which another
/// arrives has already left or not, as a lot says ([`ties`]).
#[derive(Debug)]
pub struct Fifo {
    server: Server,
    limit: Limit,
    /// Departures to come, with bytes; kept only if a limit or an observer needs them.
    departures: VecDeque<(Time, u32)>,
    backlog_bytes: u64,
    keeps_departures: bool,
    /// Tells this queue's lots from others'.
    salt: u32,
}

impl Fifo {
    /// A queue in front of a server of `rate`.
    pub fn new(rate: Rate, limit: Limit) -> Self {
        Self {
            server: Server::new(rate),
            limit,
            departures: VecDeque::new(),
            backlog_bytes: 0,
            keeps_departures: limit != Limit::Unlimited,
            salt: 0,
        }
    }

    /// In front of a `service` that varies, of the same rate by name.
    pub fn with_service(mut self, service: Box<dyn Service>) -> Self {
        self.server = Server::varying(self.server.rate(), service);
        self
    }

    /// With lots of its own at equal times ([`ties`]).
    pub fn with_salt(mut self, salt: u32) -> Self {
        self.salt = salt;
        self
    }

    /// Keeps count of the backlog even if no limit needs it.
    pub fn keep_backlog(&mut self) {
        self.keeps_departures = true;
    }

    /// A packet of `bytes` arrives at `now`. Returns when its last bit leaves, or `None` if it is
    /// dropped.
    #[inline]
    pub fn offer(&mut self, now: Time, bytes: u32) -> Option<Time> {
        if !self.keeps_departures {
            return Some(self.server.send(now, now, bytes));
        }
        let backlog = self.backlog(now);
        if !self.limit.admits(backlog, bytes) {
            return None;
        }
        let departure = self.server.send(now, now, bytes);
        self.departures.push_back((departure, bytes));
        self.backlog_bytes += u64::from(bytes);
        Some(departure)
    }

    /// What is queued or in transmission at `now`; nothing if no backlog is kept.
    #[inline]
    pub fn backlog(&mut self, now: Time) -> Backlog {
        while let Some(&(departure, bytes)) = self.departures.front()
            && ties::has_left(departure, now, self.salt)
        {
            self.backlog_bytes -= u64::from(bytes);
            self.departures.pop_front();
        }
        self.backlog_then()
    }

    /// What was queued or in transmission when that was last asked, with what has arrived since.
    #[inline]
    pub fn backlog_then(&self) -> Backlog {
        Backlog { packets: self.departures.len() as u64, bytes: self.backlog_bytes }
    }

    /// True if a packet of `bytes` would still fit behind [`Self::backlog_then`].
    pub fn admits(&self, bytes: u32) -> bool {
        self.limit.admits(self.backlog_then(), bytes)
    }

    /// What is queued at `now`, not counting the packet in transmission.
    pub fn waiting(&mut self, now: Time) -> Backlog {
        let backlog = self.backlog(now);
        let leaving = self.departures.front().map_or(0, |(_, bytes)| u64::from(*bytes));
        Backlog { packets: backlog.packets.saturating_sub(1), bytes: backlog.bytes - leaving }
    }

    /// When the last packet that arrived leaves, or left.
    pub fn busy_until(&self) -> Time {
        self.server.busy_until()
    }

    /// How long what is queued at `now` takes to leave, as a router knows: where the rate varies,
    /// as long as it would at the rate of the moment.
    pub fn delay(&mut self, now: Time) -> Duration {
        match self.server.rate_now(now) {
            None => self.busy_until().since(now),
            Some(rate) => rate.time_to_send(Bytes::new(self.backlog(now).bytes)),
        }
    }

    /// Holds at most `limit` from now on: nothing that is queued is dropped.
    pub fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    /// Its server.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The same, to be changed.
    pub fn server_mut(&mut self) -> &mut Server {
        &mut self.server
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_units::Duration;
    use proptest::prelude::*;

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn two_packets_of_room_are_one_in_transmission_and_one_waiting() {
        let mut fifo = Fifo::new(Rate::from_megabits(8), Limit::Packets(2)); // 1000 bytes take 1 ms
        assert_eq!(fifo.offer(at(0), 1000), Some(at(1000)));
        assert_eq!(fifo.offer(at(0), 1000), Some(at(2000)));
        assert_eq!(fifo.offer(at(999), 1000), None);
        assert_eq!(fifo.offer(at(1001), 1000), Some(at(3000)));
        assert_eq!(fifo.backlog(at(1001)), Backlog { packets: 2, bytes: 2000 });
    }

    #[test]
    fn a_packet_that_leaves_when_another_arrives_has_left_as_the_lot_says() {
        for arrives in (1..100).map(|n| at(10_000 * n)) {
            let mut fifo = Fifo::new(Rate::from_megabits(8000), Limit::Packets(1)); // 1 µs each
            assert!(fifo.offer(arrives, 1000).is_some());
            let leaves = arrives + Duration::from_micros(1);
            let is_admitted = fifo.offer(leaves, 1000).is_some();
            assert_eq!(is_admitted, !ties::arrival_comes_first(leaves, 0), "at {leaves}");
        }
    }

    #[test]
    fn a_limit_in_bytes_lets_small_packets_pass() {
        let mut fifo = Fifo::new(Rate::from_megabits(8), Limit::Bytes(1040));
        assert!(fifo.offer(at(0), 1000).is_some());
        assert!(fifo.offer(at(0), 1000).is_none());
        assert!(fifo.offer(at(0), 40).is_some());
    }

    proptest! {
        #[test]
        fn the_backlog_never_passes_the_limit_and_departures_are_in_order(
            limit in 1u64..30,
            arrivals in prop::collection::vec((0u64..3000, 40u32..1500), 1..300),
        ) {
            let mut fifo = Fifo::new(Rate::from_megabits(7), Limit::Packets(limit));
            let (mut now, mut last) = (Time::ZERO, Time::ZERO);
            for (gap, bytes) in arrivals {
                now += Duration::from_micros(gap);
                if let Some(departure) = fifo.offer(now, bytes) {
                    prop_assert!(departure > now && departure > last);
                    last = departure;
                }
                prop_assert!(fifo.backlog(now).packets <= limit);
            }
            prop_assert_eq!(fifo.backlog(last + Duration::from_picos(1)), Backlog::default());
        }
    }
}

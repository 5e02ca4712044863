//! A path that delays, loses, duplicates, reorders and marks, up to the time at which it heals.

use narrows_transport::{Header, Kind, Segment};
use narrows_units::{Duration, Stream, Time};
use std::collections::BTreeMap;

/// What a path does to packets.
#[derive(Clone, Copy, Debug)]
pub struct Weather {
    /// Delay of one direction.
    pub delay: Duration,
    /// Each packet is late by a time drawn uniformly up to this.
    pub jitter: Duration,
    /// If true, packets may overtake each other.
    pub reorders: bool,
    /// Probability that a data packet is lost.
    pub lost: f64,
    /// Probability that an acknowledgement is lost.
    pub acks_lost: f64,
    /// Probability that a packet arrives twice.
    pub doubled: f64,
    /// Probability that an ECN-capable packet is marked.
    pub marked: f64,
    /// A bottleneck for data: the time that it takes for a packet, and the packets that it holds.
    pub bottleneck: Option<(Duration, u64)>,
    /// From here on it only delays.
    pub heals_at: Time,
}

/// What the network did to data packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Books {
    /// Data packets dropped.
    pub lost: u64,
    /// Data packets that it made itself, as copies.
    pub doubled: u64,
    /// Data packets on their way.
    pub under_way: u64,
}

/// A path there and back with the packets on it.
pub struct Network {
    weather: Weather,
    stream: Stream,
    /// By time of arrival and order of departure.
    packets: BTreeMap<(Time, u64), Segment>,
    put: u64,
    /// The last arrival there and back.
    last: [Time; 2],
    free_at: Time,
    books: Books,
}

/// The books are of data: a request for a connection carries none.
fn counts(segment: &Segment) -> bool {
    segment.kind() == Kind::Data && !matches!(segment.header, Header::Syn(_) | Header::QuicInitial)
}

impl Network {
    pub fn new(weather: Weather, seed: u64) -> Self {
        Self {
            weather,
            stream: Stream::new(seed, 0, 0),
            packets: BTreeMap::new(),
            put: 0,
            last: [Time::ZERO; 2],
            free_at: Time::ZERO,
            books: Books::default(),
        }
    }

    pub fn books(&self) -> Books {
        self.books
    }

    /// When the next packet arrives; never if none is under way.
    pub fn next_arrival(&self) -> Time {
        self.packets.first_key_value().map_or(Time::NEVER, |((time, _), _)| *time)
    }

    /// Takes the next packet that arrives.
    pub fn take(&mut self) -> Option<Segment> {
        let (_, segment) = self.packets.pop_first()?;
        self.books.under_way -= u64::from(counts(&segment));
        Some(segment)
    }

    /// A packet enters at `now`.
    pub fn put(&mut self, now: Time, mut segment: Segment) {
        let is_data = segment.kind() == Kind::Data;
        if now >= self.weather.heals_at {
            self.carry(now, Duration::ZERO, segment);
            return;
        }
        let lost = if is_data { self.weather.lost } else { self.weather.acks_lost };
        if self.stream.happens(lost) {
            self.books.lost += u64::from(counts(&segment));
            return;
        }
        if self.stream.happens(self.weather.marked) {
            segment.mark();
        }
        let mut leaves = now;
        if let Some((takes, holds)) = self.weather.bottleneck.filter(|_| is_data) {
            if self.free_at.since(now) >= takes * holds {
                self.books.lost += u64::from(counts(&segment));
                return;
            }
            leaves = now.max(self.free_at) + takes;
            self.free_at = leaves;
        }
        let copies = 1 + u64::from(self.stream.happens(self.weather.doubled));
        self.books.doubled += if counts(&segment) { copies - 1 } else { 0 };
        for _ in 0..copies {
            let late = self.weather.jitter.scale(self.stream.uniform());
            self.carry(leaves, late, segment);
        }
    }

    fn carry(&mut self, leaves: Time, late: Duration, segment: Segment) {
        let is_data = segment.kind() == Kind::Data;
        let last = &mut self.last[usize::from(is_data)];
        let mut arrival = leaves + self.weather.delay + late;
        if !self.weather.reorders {
            arrival = arrival.max(*last);
        }
        *last = arrival.max(*last);
        self.books.under_way += u64::from(counts(&segment));
        self.put += 1;
        self.packets.insert((arrival, self.put), segment);
    }
}

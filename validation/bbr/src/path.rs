//! The path: one bottleneck with a drop-tail queue, whose rate, delay and losses change at given
//! times, and an application that sends as it is told.

use narrows_units::{Duration, Stream, Time};
use std::collections::VecDeque;

/// A quantity that changes at given times: each value with the time from which it holds.
#[derive(Clone, Debug)]
pub struct Steps<T>(Vec<(Time, T)>);

impl<T: Copy> Steps<T> {
    /// `value` from the beginning.
    pub fn always(value: T) -> Self {
        Self(vec![(Time::ZERO, value)])
    }

    /// The same, but `value` from `seconds` on.
    pub fn then(mut self, seconds: f64, value: T) -> Self {
        self.0.push((Time::from_secs(seconds), value));
        self
    }

    fn step(&self, now: Time) -> (Time, T) {
        *self.0.iter().rev().find(|(from, _)| *from <= now).expect("a value from the beginning")
    }

    /// The value at `now`.
    pub fn at(&self, now: Time) -> T {
        self.step(now).1
    }

    fn next_change(&self, now: Time) -> Option<Time> {
        self.0.iter().map(|(from, _)| *from).find(|from| *from > now)
    }
}

/// What the path is like.
#[derive(Clone, Debug)]
pub struct Path {
    /// Packets per second.
    pub rate: Steps<f64>,
    /// The round-trip time without a queue.
    pub rtt: Steps<Duration>,
    /// Packets that the queue holds, the one in transmission included.
    pub buffer: usize,
    /// Share of packets lost after the queue, at random.
    pub loss: Steps<f64>,
    /// Further delay of packets that leave the queue, which lets others overtake them.
    pub late: Steps<Duration>,
    /// Acknowledgements arrive together at multiples of this; zero if each arrives on its own.
    pub hold: Steps<Duration>,
    /// Packets per second that the application offers; infinite if it has always more.
    pub offers: Steps<f64>,
    /// Packets per acknowledgement; at the latest after 25 ms.
    pub ack_every: usize,
}

impl Path {
    /// A path without losses, and an application that has always more to send.
    pub fn new(rate: f64, rtt: Duration, buffer: usize) -> Self {
        Self {
            rate: Steps::always(rate),
            rtt: Steps::always(rtt),
            buffer,
            loss: Steps::always(0.0),
            late: Steps::always(Duration::ZERO),
            hold: Steps::always(Duration::ZERO),
            offers: Steps::always(f64::INFINITY),
            ack_every: 2,
        }
    }
}

/// The bottleneck.
#[derive(Debug)]
pub struct Bottleneck {
    departures: VecDeque<Time>,
    free_at: Time,
    random: Stream,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It found the queue full.
    Dropped,
    /// It left the queue at this time and was lost behind it.
    Lost(Time),
    /// It leaves the queue and arrives at the receiver.
    Arrives { departure: Time, arrival: Time },
}

impl Bottleneck {
    /// An empty queue; random losses are drawn from `seed`.
    pub fn new(seed: u64) -> Self {
        Self { departures: VecDeque::new(), free_at: Time::ZERO, random: Stream::new(seed, 1, 1) }
    }

    /// Packets in the queue, the one in transmission included.
    pub fn queue(&mut self, now: Time) -> usize {
        while self.departures.front().is_some_and(|departure| *departure <= now) {
            self.departures.pop_front();
        }
        self.departures.len()
    }

    /// A packet arrives at the queue.
    pub fn take(&mut self, now: Time, path: &Path) -> Fate {
        if self.queue(now) >= path.buffer {
            return Fate::Dropped;
        }
        let begins = self.free_at.max(now);
        let departure = begins + Duration::from_secs(1.0 / path.rate.at(begins));
        self.free_at = departure;
        self.departures.push_back(departure);
        let loss = path.loss.at(departure);
        if loss > 0.0 && self.random.happens(loss) {
            return Fate::Lost(departure);
        }
        Fate::Arrives {
            departure,
            arrival: departure + path.rtt.at(departure) + path.late.at(departure),
        }
    }
}

/// The application.
#[derive(Debug, Default)]
pub struct Application {
    /// When the next packet is due, while packets come at a finite rate.
    due: Time,
}

impl Application {
    /// True if there is a packet to send.
    pub fn has_packet(&mut self, now: Time, path: &Path) -> bool {
        let (since, rate) = path.offers.step(now);
        self.due = self.due.max(since);
        rate.is_infinite() || rate > 0.0 && self.due <= now
    }

    /// A packet has been sent.
    pub fn sent(&mut self, now: Time, path: &Path) {
        let rate = path.offers.at(now);
        if rate.is_finite() {
            self.due += Duration::from_secs(1.0 / rate);
        }
    }

    /// When there may be a packet again.
    pub fn next(&self, now: Time, path: &Path) -> Option<Time> {
        let due = (path.offers.at(now) > 0.0).then_some(self.due);
        [due, path.offers.next_change(now)].into_iter().flatten().min()
    }
}

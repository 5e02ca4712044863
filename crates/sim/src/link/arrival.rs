//! A link whose queue decides on arrival: a packet's departure is known as soon as it arrives.

use super::{Books, Cargo, Carried};
use crate::measured::Measured;
use narrows_router::{Fifo, OnArrival, Verdict};
use narrows_units::{Stream, Time};

/// A link whose queue decides on arrival.
pub struct ArrivalLink {
    pub(super) fifo: Fifo,
    /// `None` for a drop-tail queue.
    pub(super) judge: Option<OnArrival>,
    /// The random stream of the queue.
    pub(super) chances: Stream,
    pub(super) books: Books,
}

impl ArrivalLink {
    /// Carries a packet that arrives at `now`; the queue may mark it.
    #[inline]
    pub fn carry(&mut self, now: Time, packet: &mut impl Cargo, measured: &Measured) -> Carried {
        self.catch_up(now);
        let counts = measured.contains(now);
        self.books.arrivals += u64::from(counts);
        let bytes = packet.bytes();
        if (self.judge.is_some() || !self.books.fits(bytes)) && !self.judge(now, packet, counts) {
            return Carried::Dropped;
        }
        let departure = self.fifo.offer(now, bytes);
        if let Some(observer) = &mut self.books.observer {
            let queue = self.fifo.backlog_then();
            let found = queue.packets - u64::from(departure.is_some());
            observer.arrival(now, found, queue, counts);
        }
        let Some(departure) = departure else {
            self.books.drop(now, counts);
            return Carried::Dropped;
        };
        if departure >= measured.from {
            self.books.queue_seconds += measured.overlap(now, departure);
        }
        self.books.depart(now, counts, departure, packet, measured)
    }

    /// Lets the queue judge a packet, which it may mark; returns false if it is dropped, for that
    /// or because it is too large for the link.
    #[cold]
    #[inline(never)]
    fn judge(&mut self, now: Time, packet: &mut impl Cargo, counts: bool) -> bool {
        let Self { fifo, judge, chances, books } = self;
        let verdict = match judge {
            Some(judge) => judge.judge(now, fifo, packet, chances),
            None => Verdict::Admit,
        };
        let bytes = packet.bytes();
        let is_refused = verdict == Verdict::Drop || !books.fits(bytes);
        let queue = fifo.backlog(now);
        if is_refused {
            if let Some(observer) = &mut books.observer {
                observer.arrival(now, queue.packets, queue, counts);
            }
            books.drop(now, counts);
        } else if verdict == Verdict::Mark && fifo.admits(bytes) {
            books.mark(now, counts);
        }
        !is_refused
    }

    /// Takes the samples due by `now`.
    pub(super) fn catch_up(&mut self, now: Time) {
        self.books.catch_up(now, |at| self.fifo.backlog(at));
    }
}

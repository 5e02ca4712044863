//! A link whose queue decides on arrival: a packet's departure is known as soon as it comes.

use super::{Books, Carried};
use crate::measured::Measured;
use crate::packet::Travelling;
use narrows_router::{Fifo, OnArrival, Verdict};
use narrows_units::{Stream, Time};

pub(crate) struct ArrivalLink {
    pub fifo: Fifo,
    /// `None` if it only drops the tail.
    pub judge: Option<OnArrival>,
    /// The queue's randomness.
    pub chances: Stream,
    pub books: Books,
}

impl ArrivalLink {
    /// A packet comes at `now`; it may get a mark.
    pub fn carry(&mut self, now: Time, packet: &mut Travelling, measured: &Measured) -> Carried {
        self.catch_up(now);
        self.books.arrivals += u64::from(measured.contains(now));
        let Self { fifo, judge, chances, books } = self;
        let bytes = packet.segment.bytes;
        let verdict = match judge {
            Some(judge) => judge.judge(now, fifo, packet, chances),
            None => Verdict::Admit,
        };
        let departure = if verdict == Verdict::Drop { None } else { fifo.offer(now, bytes) };
        if let Some(observer) = &mut books.observer {
            let queue = fifo.backlog(now);
            let found = queue.packets - u64::from(departure.is_some());
            observer.arrival(now, found, queue, measured);
        }
        let Some(departure) = departure else {
            books.drop(now, measured);
            return Carried::Dropped;
        };
        books.marks += u64::from(verdict == Verdict::Mark && measured.contains(now));
        if departure >= measured.from {
            books.queue_seconds += measured.overlap(now, departure);
        }
        books.depart(now, departure, bytes, measured)
    }

    /// Brings samples up to `now`.
    pub fn catch_up(&mut self, now: Time) {
        self.books.catch_up(now, |at| self.fifo.backlog(at));
    }
}

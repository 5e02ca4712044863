//! A link whose queue decides on arrival: a packet's departure is known as soon as it arrives.

use super::{Books, Carried};
use crate::measured::Measured;
use crate::packet::Travelling;
use narrows_router::{Fifo, OnArrival, Verdict};
use narrows_units::{Stream, Time};

pub(crate) struct ArrivalLink {
    pub fifo: Fifo,
    /// `None` for a drop-tail queue.
    pub judge: Option<OnArrival>,
    /// The random stream of the queue.
    pub chances: Stream,
    pub books: Books,
}

impl ArrivalLink {
    /// Carries a packet that arrives at `now`; the queue may mark it.
    #[inline]
    pub fn carry(&mut self, now: Time, packet: &mut Travelling, measured: &Measured) -> Carried {
        self.catch_up(now);
        let counts = measured.contains(now);
        self.books.arrivals += u64::from(counts);
        let Self { fifo, judge, chances, books } = self;
        let bytes = packet.segment.bytes;
        let verdict = match judge {
            Some(judge) => judge.judge(now, fifo, packet, chances),
            None => Verdict::Admit,
        };
        let is_refused = verdict == Verdict::Drop || !books.fits(bytes);
        let departure = if is_refused { None } else { fifo.offer(now, bytes) };
        if let Some(observer) = &mut books.observer {
            let queue = if is_refused { fifo.backlog(now) } else { fifo.backlog_then() };
            let found = queue.packets - u64::from(departure.is_some());
            observer.arrival(now, found, queue, counts);
        }
        let Some(departure) = departure else {
            books.drop(now, counts);
            return Carried::Dropped;
        };
        if verdict == Verdict::Mark {
            books.mark(now, counts);
        }
        if departure >= measured.from {
            books.queue_seconds += measured.overlap(now, departure);
        }
        books.depart(now, counts, departure, &mut packet.segment, measured)
    }

    /// Takes the samples due by `now`.
    pub fn catch_up(&mut self, now: Time) {
        self.books.catch_up(now, |at| self.fifo.backlog(at));
    }
}

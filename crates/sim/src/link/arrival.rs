//! A link whose queue decides on arrival: a packet's departure is known as soon as it arrives.

use super::gate::{self, Gate};
use super::super_packets::SuperPackets;
use super::{Books, Cargo, Carried};
use crate::measured::Measured;
use narrows_router::{Backlog, Fifo};
use narrows_units::Time;

/// A link whose queue decides on arrival.
pub struct ArrivalLink {
    pub(super) fifo: Fifo,
    /// `None` for a drop-tail queue of a link that does not vary.
    pub(super) gate: Option<Box<Gate>>,
    pub(super) books: Books,
    /// Whether it is the device of the host from which it leads.
    pub(super) is_device: bool,
    /// What becomes of bursts; `None` if packets are queued one by one.
    pub(super) super_packets: Option<Box<SuperPackets>>,
}

impl ArrivalLink {
    /// Carries a packet that arrives at `now`; the queue may mark it.
    #[inline]
    pub fn carry(&mut self, now: Time, packet: &mut impl Cargo, measured: &Measured) -> Carried {
        self.catch_up(now);
        let counts = measured.contains(now);
        self.books.arrivals += u64::from(counts);
        let bytes = packet.bytes();
        if (self.gate.is_some() || !self.books.fits(bytes)) && !self.judge(now, packet, counts) {
            return Carried::Dropped;
        }
        let departure = match &mut self.super_packets {
            None => self.fifo.offer(now, bytes),
            Some(bursts) => bursts.offer(now, packet, &mut self.fifo),
        };
        let mut queue = self.fifo.backlog_then();
        if self.super_packets.is_some() {
            // The rest of a burst may come when that has left.
            queue = queue.most(Backlog { packets: 1, bytes: 0 });
        }
        let Some(departure) = departure else {
            self.books.see(now, queue, counts);
            self.books.drop(now, counts);
            return Carried::Dropped;
        };
        self.books.admit(now, counts, queue, departure, measured);
        self.books.depart(now, counts, departure, packet, measured)
    }

    /// Lets a packet be judged, which may be marked; returns false if it is dropped, for that or
    /// because it is too large for the link.
    #[cold]
    #[inline(never)]
    fn judge(&mut self, now: Time, packet: &mut impl Cargo, counts: bool) -> bool {
        let Self { fifo, gate, books, .. } = self;
        if let Some(gate) = gate {
            return gate.judge(now, packet, fifo, books, counts);
        }
        gate::refuse(now, fifo, books, counts)
    }

    /// What is queued or in transmission at `now`.
    pub(super) fn backlog(&mut self, now: Time) -> Backlog {
        if let Some(gate) = &mut self.gate {
            gate.catch_up(now, &mut self.fifo);
        }
        self.fifo.backlog(now)
    }

    /// Whether a packet of `bytes` finds room at `now`.
    pub(super) fn has_room(&mut self, now: Time, bytes: u32) -> bool {
        self.catch_up(now);
        self.backlog(now);
        match self.gate.as_ref().and_then(|gate| gate.entrance()) {
            Some(entrance) => entrance.limit(now).admits(self.fifo.backlog_then(), bytes),
            None => self.fifo.admits(bytes),
        }
    }

    /// Takes the samples due by `now`.
    pub(super) fn catch_up(&mut self, now: Time) {
        let Self { fifo, gate, books, .. } = self;
        books.catch_up(now, |at| {
            if let Some(gate) = gate {
                gate.catch_up(at, fifo);
            }
            fifo.backlog(at)
        });
    }
}

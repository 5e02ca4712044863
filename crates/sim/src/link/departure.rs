//! A link whose queue decides on departure: packets are held until the transmitter is free.

use super::{Books, Cargo, Carried};
use crate::measured::Measured;
use narrows_router::queues::AdvertisedRoom;
use narrows_router::{Backlog, Drops, Limit, OnDeparture, Packet, Room, Transmitter};
use narrows_signal::{Ecn, Request};
use narrows_units::{Rate, Time};

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
pub struct Waiting<P> {
    came: Time,
    /// True if the packet arrived with a mark.
    was_marked: bool,
    packet: P,
}

impl<P: Packet> Packet for Waiting<P> {
    fn bytes(&self) -> u32 {
        self.packet.bytes()
    }
    fn flow(&self) -> u32 {
        self.packet.flow()
    }
    fn ecn(&self) -> Ecn {
        self.packet.ecn()
    }
    fn mark(&mut self) {
        self.packet.mark();
    }
    fn request(&mut self) -> Option<&mut Request> {
        self.packet.request()
    }
}

/// A link whose queue decides on departure.
pub struct DepartureLink<P> {
    queue: OnDeparture<Waiting<P>>,
    limit: Limit,
    transmitter: Transmitter,
    /// What is in transmission, or was last.
    transmitting: Backlog,
    /// True if an event is scheduled for when the transmitter is free.
    awaited: bool,
    given_up: Drops<Waiting<P>>,
    /// The time up to which the waiting time of packets has been counted.
    counted_to: Time,
    pub(super) books: Books,
}

impl<P: Cargo> DepartureLink<P> {
    pub(super) fn new(
        queue: OnDeparture<Waiting<P>>,
        rate: Rate,
        limit: Limit,
        books: Books,
    ) -> Self {
        Self {
            queue,
            limit,
            transmitter: Transmitter::new(rate),
            transmitting: Backlog::default(),
            awaited: false,
            given_up: Vec::new(),
            counted_to: Time::ZERO,
            books,
        }
    }

    /// The transmitter's rate.
    pub fn rate(&self) -> Rate {
        self.transmitter.rate()
    }

    /// When the last bit of the last packet leaves, or left.
    pub fn busy_until(&self) -> Time {
        self.transmitter.busy_until()
    }

    /// Room that the queue tells `flow` at `now`, in bytes; `None` if it tells none.
    pub fn room_now(&mut self, now: Time, flow: u32) -> Option<AdvertisedRoom> {
        self.queue.room_now(now, flow)
    }

    /// Packets that wait in the queue for the transmitter.
    pub fn held(&self) -> u64 {
        self.queue.backlog().packets
    }

    /// What is queued or in transmission at `now`.
    pub fn backlog(&self, now: Time) -> Backlog {
        self.queue.backlog() + self.in_transmission(now)
    }

    /// Hands a packet that arrives at `now` to the queue.
    pub fn hold(&mut self, now: Time, packet: P, measured: &Measured) {
        self.catch_up(now);
        self.account(now, measured);
        self.books.arrivals += u64::from(measured.contains(now));
        if !self.books.fits(packet.bytes()) {
            return self.refuse(now, packet);
        }
        let in_transmission = self.in_transmission(now);
        let found = (self.queue.backlog() + in_transmission).packets;
        let was_marked = packet.ecn() == Ecn::Marked;
        let waiting = Waiting { came: now, was_marked, packet };
        let room = Room { limit: self.limit, in_transmission };
        self.queue.enqueue(now, waiting, room, &mut self.given_up);
        if let Some(observer) = &mut self.books.observer {
            let queue = self.queue.backlog() + in_transmission;
            observer.arrival(now, found, queue, measured.contains(now));
        }
    }

    /// Drops a packet that is too large for the link.
    #[cold]
    fn refuse(&mut self, came: Time, packet: P) {
        self.given_up.push(Waiting { came, was_marked: false, packet });
    }

    /// Releases the next packet that the queue lets go at `now`, if the transmitter is free;
    /// returns it and what becomes of it.
    pub fn release(&mut self, now: Time, measured: &Measured) -> Option<(P, Carried)> {
        if self.transmitter.busy_until() > now || self.awaited {
            return None;
        }
        self.account(now, measured);
        let mut waiting = self.queue.dequeue(now, &mut self.given_up)?;
        let bytes = waiting.bytes();
        let departure = self.transmitter.send(now, bytes);
        self.transmitting = Backlog { packets: 1, bytes: u64::from(bytes) };
        if waiting.ecn() == Ecn::Marked && !waiting.was_marked {
            self.books.mark(now, measured.contains(now));
        }
        self.books.queue_seconds += measured.overlap(now, departure);
        let (came, counts) = (waiting.came, measured.contains(waiting.came));
        let packet = &mut waiting.packet;
        let carried = self.books.depart(came, counts, departure, packet, measured);
        Some((waiting.packet, carried))
    }

    /// Returns the next packet that the queue has dropped by `now`, if there is one.
    pub fn give_up(&mut self, now: Time, measured: &Measured) -> Option<P> {
        let waiting = self.given_up.pop()?;
        self.books.drop(now, measured.contains(now));
        Some(waiting.packet)
    }

    /// Returns when an event is needed because packets wait for the transmitter; `None` if none do,
    /// or if the event has already been requested.
    pub fn await_transmitter(&mut self) -> Option<Time> {
        let waits = !self.awaited && self.held() > 0;
        self.awaited |= waits;
        waits.then_some(self.transmitter.busy_until())
    }

    /// Notes that the requested event has come.
    pub fn stop_waiting(&mut self) {
        self.awaited = false;
    }

    /// Completes the books at the end of the run.
    pub(super) fn finish(&mut self, measured: &Measured) {
        self.catch_up(measured.to);
        self.account(measured.to, measured);
    }

    /// A packet whose last bit leaves at `at` counts until the event of that has come.
    fn in_transmission(&self, at: Time) -> Backlog {
        let until = self.transmitter.busy_until();
        let transmits = until > at || self.awaited && until == at;
        if transmits { self.transmitting } else { Backlog::default() }
    }

    /// Counts the time that packets have waited, up to `now`.
    fn account(&mut self, now: Time, measured: &Measured) {
        let waited = measured.overlap(self.counted_to, now);
        self.books.queue_seconds += self.held() as f64 * waited;
        self.counted_to = now;
    }

    fn catch_up(&mut self, now: Time) {
        let waiting = self.queue.backlog();
        let (busy_until, transmitting) = (self.transmitter.busy_until(), self.transmitting);
        self.books.catch_up(now, |at| {
            waiting + if busy_until > at { transmitting } else { Backlog::default() }
        });
    }
}

//! A link whose queue decides on departure: packets are held until the transmitter is free.

use super::entrance::{Entrance, Passed, Refusal};
use super::{Books, Cargo, Carried};
use crate::measured::Measured;
use narrows_router::queues::AdvertisedRoom;
use narrows_router::service::KnownRate;
use narrows_router::{Backlog, Drops, Limit, OnDeparture, Packet, Room, Server};
use narrows_signal::{Ecn, Request};
use narrows_units::{Duration, Time};

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
pub struct Waiting<P> {
    came: Time,
    /// True if the packet arrived with a mark.
    was_marked: bool,
    /// By how many nanoseconds it arrives later: so short, it fits beside the mark.
    late: u32,
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
    server: Server,
    /// `None` unless the link varies.
    entrance: Option<Box<Entrance>>,
    /// Why the packet that is given up next did not pass the entrance, if it did not.
    refusal: Option<Refusal>,
    /// The rate of a link that varies, as the queue knows it.
    known: KnownRate,
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
        server: Server,
        limit: Limit,
        entrance: Option<Box<Entrance>>,
        books: Books,
    ) -> Self {
        Self {
            queue,
            limit,
            server,
            entrance,
            refusal: None,
            known: KnownRate::default(),
            transmitting: Backlog::default(),
            awaited: false,
            given_up: Vec::new(),
            counted_to: Time::ZERO,
            books,
        }
    }

    /// What serves the queue.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// What a packet meets first; `None` unless the link varies.
    pub(super) fn entrance(&self) -> Option<&Entrance> {
        self.entrance.as_deref()
    }

    /// What serves the queue, what a packet meets first, and the books, to be changed.
    pub(super) fn parts(&mut self) -> (&mut Server, Option<&mut Entrance>, &mut Books) {
        (&mut self.server, self.entrance.as_deref_mut(), &mut self.books)
    }

    /// When the last bit of the last packet leaves, or left.
    pub fn busy_until(&self) -> Time {
        self.server.busy_until()
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
        let was_marked = packet.ecn() == Ecn::Marked;
        let mut waiting = Waiting { came: now, was_marked, late: 0, packet };
        if self.entrance.is_some() {
            match self.enter(now, &mut waiting.packet) {
                Some(passed) => waiting.late = nanoseconds(passed.late),
                None => {
                    let queue = self.backlog(now);
                    self.books.see(now, queue, measured.contains(now));
                    return self.given_up.push(waiting);
                }
            }
        } else if !self.books.fits(waiting.bytes()) {
            return self.given_up.push(waiting);
        }
        let in_transmission = self.in_transmission(now);
        let found = (self.queue.backlog() + in_transmission).packets;
        let room = Room { limit: self.limit, in_transmission };
        self.queue.enqueue(now, waiting, room, &mut self.given_up);
        if let Some(observer) = &mut self.books.observer {
            let queue = self.queue.backlog() + in_transmission;
            observer.arrival(now, found, queue, measured.contains(now));
        }
    }

    /// Lets a packet pass the entrance, if it does, and brings the queue up to date.
    #[cold]
    fn enter(&mut self, now: Time, packet: &mut P) -> Option<Passed> {
        let entrance = self.entrance.as_deref_mut()?;
        self.limit = entrance.limit(now);
        if let Some(next) = entrance.retuned(now) {
            self.queue.retune(next);
        }
        if self.queue.knows_rate()
            && let Some(rate) = self.known.news(&self.server, now)
        {
            self.queue.follow(rate);
        }
        match entrance.pass(now, packet) {
            // A mark counts when the packet leaves.
            Ok(passed) => Some(passed),
            Err(why) => {
                self.refusal = Some(why);
                None
            }
        }
    }

    /// Releases the next packet that the queue lets go at `now`, if the transmitter is free;
    /// returns it and what becomes of it.
    pub fn release(&mut self, now: Time, measured: &Measured) -> Option<(P, Carried)> {
        if self.server.busy_until() > now || self.awaited {
            return None;
        }
        self.account(now, measured);
        let mut waiting = self.queue.dequeue(now, &mut self.given_up)?;
        let bytes = waiting.bytes();
        let departure = self.server.send(waiting.came, now, bytes);
        self.transmitting = Backlog { packets: 1, bytes: u64::from(bytes) };
        if waiting.ecn() == Ecn::Marked && !waiting.was_marked {
            self.books.mark(now, measured.contains(now));
        }
        self.books.queue_seconds += measured.overlap(now, departure);
        let (came, counts) = (waiting.came, measured.contains(waiting.came));
        if let Some(wire) = &mut self.books.wire {
            wire.late = Duration::from_picos(1000 * u64::from(waiting.late));
        }
        let packet = &mut waiting.packet;
        let carried = self.books.depart(came, counts, departure, packet, measured);
        Some((waiting.packet, carried))
    }

    /// Returns the next packet that the queue has dropped by `now`, if there is one.
    pub fn give_up(&mut self, now: Time, measured: &Measured) -> Option<P> {
        let waiting = self.given_up.pop()?;
        match self.refusal.take() {
            Some(why) => self.books.refuse(now, measured.contains(now), why),
            None => self.books.drop(now, measured.contains(now)),
        }
        Some(waiting.packet)
    }

    /// Returns when an event is needed because packets wait for the transmitter; `None` if none do,
    /// or if the event has already been requested.
    pub fn await_transmitter(&mut self) -> Option<Time> {
        let waits = !self.awaited && self.held() > 0;
        self.awaited |= waits;
        waits.then_some(self.server.busy_until())
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
        let until = self.server.busy_until();
        let transmits = until > at || self.awaited && until == at;
        if transmits { self.transmitting } else { Backlog::default() }
    }

    /// Counts the time that packets have waited, up to `now`.
    fn account(&mut self, now: Time, measured: &Measured) {
        let waited = measured.overlap(self.counted_to, now);
        self.books.queue_seconds += self.held() as f64 * waited;
        self.counted_to = now;
    }

    /// Takes the samples that are due by `now`.
    pub(super) fn catch_up(&mut self, now: Time) {
        let waiting = self.queue.backlog();
        let (busy_until, transmitting) = (self.server.busy_until(), self.transmitting);
        self.books.catch_up(now, |at| {
            waiting + if busy_until > at { transmitting } else { Backlog::default() }
        });
    }
}

/// What a script makes a packet late by, which is never as long as 2³² nanoseconds.
fn nanoseconds(late: Duration) -> u32 {
    u32::try_from(late.picos() / 1000).unwrap_or(u32::MAX)
}

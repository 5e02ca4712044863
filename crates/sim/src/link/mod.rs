//! A link: a queue, a transmitter, and a wire. Whoever moves time tells it when packets arrive, and
//! asks it when the transmitter is free: the simulation's events, or the clock of a machine.
//!
//! If the queue decides on arrival, a packet's departure is known as soon as it arrives
//! ([`arrival`]; [`drop_tail`] for most links). If it decides on departure, packets are held
//! ([`departure`]) until the transmitter is free, and an event marks that time.

mod arrival;
mod books;
mod bursts;
mod departure;
mod drop_tail;
mod entrance;
mod gate;
mod memory;
mod script;
mod super_packets;
mod varying;
mod wire;

pub use arrival::ArrivalLink;
pub use departure::DepartureLink;
pub use drop_tail::DropTailLink;
pub use memory::{Memory, MemoryPort, MemorySettings};
pub(crate) use script::Player;
pub use script::{Act, Admits, Script, ScriptLine};
pub use varying::{Line, Policer, Varying};
pub use wire::{Every, Hold, Jitter, Loss};

use crate::measured::Measured;
use crate::series::LinkSeries;
use crate::summary::LinkSummary;
use crate::tap::TapPoint;
use books::Books;
use entrance::{Entrance, Refusal};
use gate::Gate;
use narrows_router::service::Course;
use narrows_router::{Backlog, Discipline, Fifo, Limit, Machine, Packet, Server, Transmitter};
use narrows_units::{Duration, Rate, Stream, Time};
use std::sync::Arc;

/// How a link is set up.
#[derive(Clone, Debug)]
pub struct LinkSettings {
    /// The transmitter's rate.
    pub rate: Rate,
    /// One-way propagation delay.
    pub delay: Duration,
    /// The queue's limit.
    pub limit: Limit,
    /// The queue discipline.
    pub queue: Discipline,
    /// Moves what the queue hashes.
    pub perturbation: u64,
    /// Losses on the wire.
    pub loss: Loss,
    /// Variation of the delay.
    pub jitter: Jitter,
    /// The largest packet in bytes, headers included; larger ones are dropped without a word.
    /// `None` for no limit.
    pub mtu: Option<u32>,
    /// Whether it is the device of the host from which it leads: TCP there is told if it finds no
    /// room, and keeps its packet. Only of drop-tail queues.
    pub is_device: bool,
    /// Whether what leaves its sender as one burst is queued, dropped and sent as one. Only of
    /// drop-tail queues that do not vary.
    pub super_packets: bool,
    /// How closely the link is watched.
    pub watch: Watch,
    /// What of it varies, if anything does: that counts in place of the limit, the losses, the
    /// delay, its variation and the largest packet above.
    pub varying: Option<Arc<Varying>>,
}

/// How closely a link is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Exact counters only; a plain link keeps none.
    No,
    /// Counters, the longest queue, and histograms of queue and delay.
    Histograms,
    /// All of these, and samples at this interval.
    Samples(Duration),
}

impl LinkSettings {
    /// Settings of a link that never drops and that is not watched.
    pub fn plain(rate: Rate, delay: Duration) -> Self {
        let (limit, queue) = (Limit::Unlimited, Discipline::DropTail);
        let (loss, jitter, watch) = (Loss::None, Jitter::default(), Watch::No);
        let (perturbation, mtu, is_device, varying) = (0, None, false, None);
        Self {
            rate,
            delay,
            limit,
            queue,
            perturbation,
            loss,
            jitter,
            mtu,
            is_device,
            super_packets: false,
            watch,
            varying,
        }
    }

    fn is_plain(&self) -> bool {
        self.only_queues() && self.limit == Limit::Unlimited && self.watch == Watch::No
    }

    /// Whether it does nothing to a packet but queue it, if there is room, and send it.
    fn only_queues(&self) -> bool {
        let impaired = self.loss != Loss::None || self.jitter.most > Duration::ZERO;
        let is_steady = self.mtu.is_none() && self.varying.is_none() && !self.super_packets;
        !impaired && is_steady && self.queue == Discipline::DropTail
    }

    /// Whether every packet that leaves it reaches the other end after the same delay, if it does.
    pub(crate) fn only_delays(&self) -> bool {
        self.varying.is_none() && self.jitter.most == Duration::ZERO && !self.super_packets
    }

    /// Whether its script sends packets twice.
    pub(crate) fn doubles(&self) -> bool {
        self.varying.as_ref().is_some_and(|varying| varying.script.doubles())
    }

    /// Whether a packet may overtake another.
    pub(crate) fn reorders(&self) -> bool {
        self.varying.as_ref().map_or(self.jitter.reorders, |varying| varying.reorders())
    }
}

/// A packet that a link carries.
pub trait Cargo: Packet {
    /// The number of its flow among all, the same on its way and on its way back.
    fn number_of_flow(&self) -> u32;

    /// The wire loses it. Returns true if it arrives all the same, damaged.
    fn damage(&mut self) -> bool;

    /// Takes its ECN bits off, as paths do that do not know them.
    fn clear(&mut self);

    /// Bytes of the packets that left right behind it, of what its sender handed over as one.
    fn behind(&self) -> u32;

    /// If it is an acknowledgement of TCP, lowers the window that it advertises to `bytes`.
    fn advertise(&mut self, bytes: u32);
}

/// The fate of a packet whose departure is decided; if it departs, [`Link::busy_until`] says when.
#[derive(Clone, Copy, Debug)]
pub enum Carried {
    /// The packet departs and reaches the other end at this time.
    Arrives(Time),
    /// The queue dropped the packet.
    Dropped,
    /// The packet departs and is lost on the wire.
    Lost,
}

/// What happened to a packet that arrived at a link.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Offered {
    /// The packet's fate is known.
    Carried(Carried),
    /// The queue holds the packet and decides later.
    Held,
}

/// A link. Plain links (the hosts' own, which never drop and are not watched) are kept small,
/// because there are four per flow.
pub enum Link<P> {
    /// Never drops, and is not watched.
    Plain(PlainLink),
    /// Drops what finds no room, and does nothing else to packets.
    DropTail(Box<DropTailLink>),
    /// Knows on arrival when a packet will leave.
    Arrival(Box<ArrivalLink>),
    /// Holds packets until the transmitter is free.
    Departure(Box<DepartureLink<P>>),
}

/// A link that never drops and that is not watched.
pub struct PlainLink {
    transmitter: Transmitter,
    delay: Duration,
    carried: u64,
}

impl PlainLink {
    /// Carries a packet of `bytes` that arrives at `now`; returns when it reaches the other end.
    #[inline]
    pub fn carry(&mut self, now: Time, bytes: u32) -> Time {
        self.carried += 1;
        self.transmitter.send(now, bytes) + self.delay
    }

    /// How long a packet of `bytes` takes to the other end if none is before it.
    pub fn takes(&self, bytes: u32) -> Duration {
        self.transmitter.time_to_send(bytes) + self.delay
    }
}

impl<P: Cargo> Link<P> {
    /// A link that is measured from `warmup` on. Its randomness comes from `stream`.
    pub fn new(settings: &LinkSettings, warmup: Time, stream: Stream) -> Self {
        if settings.is_plain() {
            let (transmitter, delay) = (Transmitter::new(settings.rate), settings.delay);
            return Self::Plain(PlainLink { transmitter, delay, carried: 0 });
        }
        Self::with_queue(settings, DropTailLink::limit_of(settings), warmup, stream)
    }

    /// The same; as a [`DropTailLink`] of `drop_tail` packets, if that is given.
    fn with_queue(
        settings: &LinkSettings,
        drop_tail: Option<u64>,
        warmup: Time,
        stream: Stream,
    ) -> Self {
        let rate = settings.rate;
        // The queue and the wire have independent random streams, and lots of their own at
        // equal times.
        let mut chances = Stream::new(stream.clone().bits(), 0, 0);
        let salt = Stream::new(stream.clone().bits(), 1, 0).bits() as u32;
        let books = Books::new(settings, stream, warmup);
        if let Some(limit) = drop_tail {
            let link = DropTailLink::new(Server::new(rate), limit, salt, books);
            return Self::DropTail(Box::new(link));
        }
        let varying = settings.varying.as_deref();
        let entrance = varying.map(Entrance::new);
        let service = varying.and_then(|varying| varying.service(rate));
        let discipline = match settings.queue.machine(rate, settings.perturbation, &mut chances) {
            Machine::OnDeparture(queue) => {
                let server = match service {
                    Some(service) => Server::varying(rate, service),
                    None => Server::new(rate),
                };
                let entrance = entrance.map(Box::new);
                let link = DepartureLink::new(queue, server, settings.limit, entrance, books);
                return Self::Departure(Box::new(link));
            }
            Machine::OnArrival(discipline) => Some(discipline),
            Machine::DropTail => None,
        };
        let mut fifo = Fifo::new(rate, settings.limit).with_salt(salt);
        if let Some(service) = service {
            fifo = fifo.with_service(service);
        }
        if settings.watch != Watch::No || discipline.is_some() || entrance.is_some() {
            fifo.keep_backlog();
        }
        let gate = Gate::new(entrance, discipline, chances);
        let is_device = settings.is_device;
        let super_packets = settings.super_packets.then(Box::default);
        Self::Arrival(Box::new(ArrivalLink { fifo, gate, books, is_device, super_packets }))
    }

    /// Offers a packet that arrives at `now`; the queue may mark it.
    pub(crate) fn offer(&mut self, now: Time, packet: &mut P, measured: &Measured) -> Offered
    where
        P: Copy,
    {
        match self {
            Self::Plain(link) => {
                Offered::Carried(Carried::Arrives(link.carry(now, packet.bytes())))
            }
            Self::DropTail(link) => Offered::Carried(link.carry(now, packet.bytes(), measured)),
            Self::Arrival(link) => Offered::Carried(link.carry(now, packet, measured)),
            Self::Departure(link) => {
                link.hold(now, *packet, measured);
                Offered::Held
            }
        }
    }

    /// When the last bit of the last packet leaves, or left.
    pub fn busy_until(&self) -> Time {
        match self {
            Self::Plain(link) => link.transmitter.busy_until(),
            Self::DropTail(link) => link.server().busy_until(),
            Self::Arrival(link) => link.fifo.busy_until(),
            Self::Departure(link) => link.busy_until(),
        }
    }

    /// Whether it is the device of the host from which it leads.
    pub(crate) fn is_device(&self) -> bool {
        matches!(self, Self::Arrival(link) if link.is_device)
    }

    /// Whether a packet of `bytes` finds room at `now`; always unless the queue decides on arrival.
    pub(crate) fn has_room(&mut self, now: Time, bytes: u32) -> bool {
        if let Self::Arrival(link) = self { link.has_room(now, bytes) } else { true }
    }

    /// The link, if its queue decides on departure.
    pub fn as_departure(&mut self) -> Option<&mut DepartureLink<P>> {
        if let Self::Departure(link) = self { Some(link) } else { None }
    }

    /// True if it never drops and nobody watches it.
    pub fn is_plain(&self) -> bool {
        matches!(self, Self::Plain(_))
    }

    /// True if the queue decides on departure.
    pub fn holds(&self) -> bool {
        matches!(self, Self::Departure(_))
    }

    /// True if it must hear of packets in the order of time: because its queue decides on
    /// departure, or shares its memory with others.
    pub(crate) fn needs_order(&self) -> bool {
        let shares = |books: &Books| books.wire.as_ref().is_some_and(|wire| wire.memory.is_some());
        self.holds() || self.books().is_some_and(shares)
    }

    /// Packets that wait in the queue for the transmitter; 0 if the queue decides on arrival.
    pub fn held(&self) -> u64 {
        if let Self::Departure(link) = self { link.held() } else { 0 }
    }

    /// What is queued or in transmission at `now`, as far as that is counted.
    pub fn backlog(&mut self, now: Time) -> Backlog {
        match self {
            Self::Plain(_) => Backlog::default(),
            Self::DropTail(link) => link.backlog(now),
            Self::Arrival(link) => link.backlog(now),
            Self::Departure(link) => link.backlog(now),
        }
    }

    /// Packets that the queue dropped in the whole run.
    pub fn dropped(&self) -> u64 {
        self.books().map_or(0, |books| books.dropped)
    }

    /// Packets that the queue marked in the whole run.
    pub fn marked(&self) -> u64 {
        self.books().map_or(0, |books| books.marked)
    }

    /// What dropped the last packet that was dropped.
    pub(crate) fn drop_point(&self) -> TapPoint {
        match self.books().and_then(|books| books.why) {
            Some(Refusal::Scripted) => TapPoint::ScriptDrop,
            Some(Refusal::Policed) => TapPoint::PolicerDrop,
            Some(Refusal::NotCarried) | None => TapPoint::Drop,
        }
    }

    /// Changes from now on as `settings` say, which up to now say what has been: for packets that
    /// arrive, or that leave once it is no longer busy. Only a link that was built open can.
    pub(crate) fn follow(&mut self, settings: &LinkSettings) {
        let varying = settings.varying.as_deref().filter(|varying| varying.is_open);
        let varying = varying.expect("it is open");
        let (server, entrance, books) = match self {
            Self::Plain(_) | Self::DropTail(_) => unreachable!("an open link varies"),
            Self::Arrival(link) => {
                let ArrivalLink { fifo, gate, books, .. } = &mut **link;
                (fifo.server_mut(), gate.as_mut().and_then(|gate| gate.entrance_mut()), books)
            }
            Self::Departure(link) => link.parts(),
        };
        entrance.expect("it was built open").follow(varying);
        books.wire.as_mut().expect("it was built open").follow(varying);
        // A course has no memory; other services have one, and stay as they are.
        if let (Line::Course(rates), None) = (&varying.line, varying.shaper) {
            server.follow(Box::new(Course::new(rates.clone())));
        }
    }

    fn books(&self) -> Option<&Books> {
        match self {
            Self::Plain(_) => None,
            Self::DropTail(link) => Some(&link.books),
            Self::Arrival(link) => Some(&link.books),
            Self::Departure(link) => Some(&link.books),
        }
    }

    /// Packets that have reached the other end, or will reach it, in the whole run.
    pub fn carried(&self) -> u64 {
        match self {
            Self::Plain(link) => link.carried,
            Self::DropTail(link) => link.carried(),
            Self::Arrival(link) => link.books.carried,
            Self::Departure(link) => link.books.carried,
        }
    }

    /// Packets that did not reach the other end, in the whole run: dropped, or lost on the wire.
    pub fn missing(&self) -> u64 {
        self.books().map_or(0, Books::missing)
    }

    /// Takes the samples that are due by `now`.
    pub(crate) fn look(&mut self, now: Time, measured: &Measured) {
        match self {
            Self::Plain(_) => {}
            Self::DropTail(link) => {
                link.catch_up(now);
                link.write(measured);
            }
            Self::Arrival(link) => link.catch_up(now),
            Self::Departure(link) => link.catch_up(now),
        }
    }

    /// Completes the books at the end of the run.
    pub fn finish(&mut self, measured: &Measured) {
        match self {
            Self::Departure(link) => link.finish(measured),
            other => other.look(measured.to, measured),
        }
    }

    /// The summary of the measured part of the run, once that is over; all zero for a plain link,
    /// which keeps no counters.
    pub fn summary(&self, measured: &Measured) -> LinkSummary {
        let summary = match self {
            Self::Plain(_) => return LinkSummary::default(),
            Self::DropTail(link) => link.books.summary(link.server(), measured),
            Self::Arrival(link) => link.books.summary(link.fifo.server(), measured),
            Self::Departure(link) => link.books.summary(link.server(), measured),
        };
        LinkSummary { idle_lines: self.idle_lines(), ..summary }
    }

    /// Bits that could have left in `from..to`.
    pub fn offered(&self, from: Time, to: Time) -> f64 {
        match self {
            Self::Plain(link) => {
                link.transmitter.rate().bits_per_second() as f64 * to.since(from).seconds()
            }
            Self::DropTail(link) => link.server().offered(from, to),
            Self::Arrival(link) => link.fifo.server().offered(from, to),
            Self::Departure(link) => link.server().offered(from, to),
        }
    }

    /// The lines of its script that have done nothing so far, from 0.
    fn idle_lines(&self) -> Vec<usize> {
        let entrance = match self {
            Self::Plain(_) | Self::DropTail(_) => None,
            Self::Arrival(link) => link.gate.as_ref().and_then(|gate| gate.entrance()),
            Self::Departure(link) => link.entrance(),
        };
        entrance.map_or(Vec::new(), |entrance| entrance.idle_lines().collect())
    }

    /// The samples so far with their interval; `None` if none are taken. Before the end of the run
    /// they are complete once [`look`](Self::look) has been called.
    pub fn series(&self) -> Option<(Duration, &LinkSeries)> {
        self.books()?.observer.as_ref()?.samples()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_small() {
        assert_eq!(size_of::<Link<crate::packet::Travelling>>(), 40);
    }
}

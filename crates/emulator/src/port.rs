//! A queue in front of a transmitter, for packets that come when they come: departures are computed
//! from arrivals, whenever somebody looks, so that looking late delays nothing in the queue.

use narrows_router::{
    Backlog, Discipline, Drops, Fifo, Limit, Machine, OnArrival, OnDeparture, Packet, Room,
    Transmitter, Verdict,
};
use narrows_sim::{Histogram, LinkSummary};
use narrows_units::{Duration, Rate, Stream, Time};
use std::collections::VecDeque;

/// A link's queue and transmitter.
pub struct Port<P> {
    machine: Kind<P>,
    stream: Stream,
    books: Books,
}

enum Kind<P> {
    Arrival { fifo: Fifo, judge: Option<OnArrival> },
    Departure { queue: OnDeparture<Held<P>>, transmitter: Transmitter, limit: Limit, sent: u32 },
}

/// A packet that waits, with when it came.
#[derive(Clone, Debug)]
struct Held<P> {
    came: Time,
    was_marked: bool,
    packet: P,
}

impl<P: Packet> Packet for Held<P> {
    fn bytes(&self) -> u32 {
        self.packet.bytes()
    }
    fn flow(&self) -> u32 {
        self.packet.flow()
    }
    fn ecn(&self) -> narrows_signal::Ecn {
        self.packet.ecn()
    }
    fn mark(&mut self) {
        self.packet.mark();
    }
    fn request(&mut self) -> Option<&mut narrows_signal::Request> {
        self.packet.request()
    }
}

/// Counters of the whole run, and the queue at a time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub queue: u64,
    pub arrivals: u64,
    pub drops: u64,
    pub marks: u64,
    /// Bytes whose transmission has begun.
    pub bytes: u64,
}

/// What happened at a port in the measured time.
#[derive(Clone, Debug, Default)]
struct Books {
    from: Time,
    to: Time,
    /// When the latest packet came.
    newest: Time,
    arrivals: u64,
    marks: u64,
    departures: u64,
    departed_bytes: u64,
    queue_seconds: f64,
    most: Backlog,
    found: Histogram,
    delay: Histogram,
    /// Drops by flow.
    drops: Vec<u64>,
    whole: Counts,
}

/// A packet that has left: when its last bit did, and the packet.
pub(crate) type Departed<P> = VecDeque<(Time, P)>;

impl<P: Packet> Port<P> {
    /// A port of `rate` with the queue of a `discipline`, measured from `from` to `to`; its
    /// randomness comes from `seed`.
    pub fn new(
        rate: Rate,
        limit: Limit,
        discipline: Discipline,
        (from, to): (Time, Time),
        seed: u64,
    ) -> Self {
        /// The family of a port's random stream.
        const FAMILY: u64 = 301;
        let mut stream = Stream::new(seed, FAMILY, 0);
        let perturbation = stream.bits();
        let fifo = |judge| {
            let mut fifo = Fifo::new(rate, limit);
            fifo.keep_backlog();
            Kind::Arrival { fifo, judge }
        };
        let machine = match discipline.machine(rate, perturbation, &mut stream) {
            Machine::DropTail => fifo(None),
            Machine::OnArrival(judge) => fifo(Some(judge)),
            Machine::OnDeparture(queue) => {
                Kind::Departure { queue, transmitter: Transmitter::new(rate), limit, sent: 0 }
            }
        };
        Self { machine, stream, books: Books { from, to, ..Books::default() } }
    }

    /// A packet arrives at `at`, no earlier than the one before it; what leaves by then goes to
    /// `out`, and what a queue decides on arrival goes there with the time at which it will leave.
    pub fn arrive(&mut self, at: Time, mut packet: P, out: &mut Departed<P>) {
        self.advance(at, out);
        let Self { machine, stream, books } = self;
        let (flow, bytes) = (packet.flow(), packet.bytes());
        match machine {
            Kind::Arrival { fifo, judge } => {
                let found = fifo.backlog(at);
                let verdict = judge
                    .as_mut()
                    .map_or(Verdict::Admit, |judge| judge.judge(at, fifo, &mut packet, stream));
                let departure = if verdict == Verdict::Drop { None } else { fifo.offer(at, bytes) };
                books.arrive(at, found, if departure.is_some() { bytes } else { 0 });
                let Some(departure) = departure else { return books.drop(at, flow) };
                books.mark(at, verdict == Verdict::Mark);
                books.depart(at, departure, bytes);
                out.push_back((departure, packet));
            }
            Kind::Departure { queue, transmitter, limit, sent } => {
                let leaving = Backlog { packets: 1, bytes: u64::from(*sent) };
                let in_transmission =
                    if transmitter.busy_until() > at { leaving } else { Backlog::default() };
                let found = queue.backlog() + in_transmission;
                let was_marked = packet.ecn() == narrows_signal::Ecn::Marked;
                let held = Held { came: at, was_marked, packet };
                let mut dropped = Drops::new();
                let room = Room { limit: *limit, in_transmission };
                queue.enqueue(at, held, room, &mut dropped);
                books.arrive(at, found, bytes);
                for packet in dropped {
                    books.drop(at, packet.flow());
                }
                self.advance(at, out);
            }
        }
    }

    /// Lets everything leave whose turn comes at `now` or before.
    pub fn advance(&mut self, now: Time, out: &mut Departed<P>) {
        let Kind::Departure { queue, transmitter, sent, .. } = &mut self.machine else { return };
        let mut dropped = Drops::new();
        while queue.backlog().packets > 0 && transmitter.busy_until() <= now {
            // An idle transmitter takes a packet when that comes.
            let turn = transmitter.busy_until().max(self.books.newest);
            let Some(held) = queue.dequeue(turn, &mut dropped) else { break };
            *sent = held.bytes();
            let departure = transmitter.send(turn, *sent);
            let is_marked = held.ecn() == narrows_signal::Ecn::Marked && !held.was_marked;
            self.books.mark(turn, is_marked);
            self.books.depart(held.came, departure, *sent);
            out.push_back((departure, held.packet));
        }
        for packet in dropped {
            self.books.drop(now, packet.flow());
        }
    }
}

impl<P: Packet> Port<P> {
    /// When it must be asked again because packets wait for the transmitter; never if none do.
    pub fn next(&self) -> Time {
        match &self.machine {
            Kind::Departure { queue, transmitter, .. } if queue.backlog().packets > 0 => {
                transmitter.busy_until()
            }
            _ => Time::NEVER,
        }
    }

    /// What happened in the measured time, at a transmitter of `rate`; the wire lost `wire_losses`.
    pub fn summary(&self, rate: Rate, wire_losses: u64) -> LinkSummary {
        let books = &self.books;
        let seconds = books.to.since(books.from).seconds();
        LinkSummary {
            arrivals: books.arrivals,
            drops: books.drops.iter().sum(),
            marks: books.marks,
            wire_losses,
            departures: books.departures,
            departed_bytes: books.departed_bytes,
            utilisation: books.departed_bytes as f64 / (rate.bytes_per_second() * seconds),
            mean_queue: books.queue_seconds / seconds,
            max_queue: Some(books.most.packets),
            max_queue_bytes: Some(books.most.bytes),
            queue_found: Some(books.found.clone()),
            delay: Some(books.delay.clone()),
        }
    }

    /// Room for a flow at `now` in bytes, that acknowledgements on their way back are told; `None`
    /// if the queue tells none.
    pub fn room_now(&mut self, now: Time, flow: u32) -> Option<u64> {
        match &mut self.machine {
            Kind::Departure { queue, .. } => queue.room_now(now, flow).map(|room| room.bytes),
            Kind::Arrival { .. } => None,
        }
    }

    /// Packets of a flow that the queue dropped in the measured time.
    pub fn drops_of(&self, flow: usize) -> u64 {
        self.books.drops.get(flow).copied().unwrap_or(0)
    }

    /// The queue at `now`, the packet in transmission included, and the counters of the whole run.
    pub(crate) fn counts(&mut self, now: Time) -> Counts {
        let queue = match &mut self.machine {
            Kind::Arrival { fifo, .. } => fifo.backlog(now).packets,
            Kind::Departure { queue, transmitter, .. } => {
                queue.backlog().packets + u64::from(transmitter.busy_until() > now)
            }
        };
        Counts { queue, ..self.books.whole }
    }
}

impl Books {
    fn measures(&self, at: Time) -> bool {
        self.from <= at && at <= self.to
    }

    /// A packet comes, finds a queue, and takes room for `bytes`, or none if it is dropped.
    fn arrive(&mut self, at: Time, found: Backlog, bytes: u32) {
        self.newest = at;
        self.whole.arrivals += 1;
        if self.measures(at) {
            self.arrivals += 1;
            self.found.add(found.packets);
            self.most.packets = self.most.packets.max(found.packets + u64::from(bytes > 0));
            self.most.bytes = self.most.bytes.max(found.bytes + u64::from(bytes));
        }
    }

    fn mark(&mut self, at: Time, is_marked: bool) {
        self.whole.marks += u64::from(is_marked);
        self.marks += u64::from(is_marked && self.measures(at));
    }

    fn drop(&mut self, at: Time, flow: u32) {
        let flow = flow as usize;
        if self.drops.len() <= flow {
            self.drops.resize(flow + 1, 0);
        }
        self.drops[flow] += u64::from(self.measures(at));
        self.whole.drops += 1;
    }

    /// A packet that came at `came` leaves at `departure`.
    fn depart(&mut self, came: Time, departure: Time, bytes: u32) {
        self.whole.bytes += u64::from(bytes);
        if self.measures(departure) {
            self.departures += 1;
            self.departed_bytes += u64::from(bytes);
        }
        if self.measures(came) {
            self.delay.add(departure.since(came).picos() / 1000);
        }
        let stays: Duration = departure.min(self.to).since(came.max(self.from));
        self.queue_seconds += stays.seconds();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Frame;

    fn frame(bytes: usize) -> Frame {
        let mut raw = vec![0; bytes];
        raw[0] = 0x45;
        raw[9] = 17;
        raw[20..24].copy_from_slice(&[0xc0, 0, 0x4e, 0x20]);
        Frame::parse(&raw).expect("it is UDP")
    }

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    fn port(discipline: Discipline, packets: u64) -> Port<Frame> {
        let times = (Time::ZERO, at(1_000_000));
        Port::new(Rate::from_megabits(8), Limit::Packets(packets), discipline, times, 1)
    }

    /// At 8 Mbps 1000 bytes take 1 ms. Three packets come at once into a buffer of two, a fourth
    /// while the second leaves; the queue is looked at late, and that changes no departure.
    #[test]
    fn looking_late_delays_nothing() {
        for discipline in [Discipline::DropTail, Discipline::RoundRobin] {
            let mut port = port(discipline, 2);
            let mut out = Departed::new();
            for micros in [100, 100, 100, 1500] {
                port.arrive(at(micros), frame(1000), &mut out);
            }
            port.advance(at(900_000), &mut out);
            let times: Vec<Time> = out.iter().map(|(time, _)| *time).collect();
            assert_eq!(times, [1100, 2100, 3100].map(at), "{discipline:?}");
            let summary = port.summary(Rate::from_megabits(8), 0);
            assert_eq!((summary.arrivals, summary.drops, summary.departures), (4, 1, 3));
            assert_eq!(port.drops_of(0), 1);
            // 1.0 + 2.0 + 1.6 ms in the queue, of a second.
            assert!((summary.mean_queue - 0.0046).abs() < 1e-9, "{}", summary.mean_queue);
        }
    }

    /// M/D/1/B: 1.8 million Poisson arrivals at 0.9 of the rate, ten places. Losses come in clumps:
    /// runs of a tenth of this spread by 6 %.
    #[test]
    fn poisson_packets_meet_theory() {
        let end = Time::from_secs(2100.0);
        let rate = Rate::from_megabits(8);
        let limit = Limit::Packets(10);
        let mut port = Port::new(rate, limit, Discipline::DropTail, (Time::ZERO, end), 1);
        let (mut now, mut stream, mut out) = (0.0, Stream::new(7, 1, 1), Departed::new());
        let packet = frame(1000);
        while now < 2000.0 {
            now += stream.exponential() * 1e-3 / 0.9;
            port.arrive(Time::from_secs(now), packet.clone(), &mut out);
            out.clear();
        }
        let summary = port.summary(rate, 0);
        let loss = summary.drops as f64 / summary.arrivals as f64;
        let theory = md1b_loss(0.9, 10);
        assert!((loss - theory).abs() < 0.06 * theory, "{loss} for {theory}");
    }

    /// The loss of M/D/1 with room for `places` packets, the one in transmission counted: the chain
    /// embedded at departures, whose steps are Poisson (Gross and Harris, §5.1).
    fn md1b_loss(load: f64, places: usize) -> f64 {
        let mut arrivals = vec![(-load).exp()];
        for k in 1..=places {
            arrivals.push(arrivals[k - 1] * load / k as f64);
        }
        // Unnormalised probabilities of what a departure leaves, 0 to places - 1.
        let mut left = vec![1.0];
        for n in 0..places - 1 {
            let sum: f64 = (1..=n).map(|j| left[j] * arrivals[n - j + 1]).sum();
            let next = (left[n] - left[0] * arrivals[n] - sum) / arrivals[0];
            left.push(next);
        }
        let empty = left[0] / left.iter().sum::<f64>();
        1.0 - 1.0 / (empty + load)
    }
}

//! A link: a queue, a transmitter, and a wire.
//!
//! Where the queue decides on arrival, a packet's departure is known as soon as it comes
//! ([`Link::carry`]). Where it decides on departure, packets are held ([`Link::hold`]) until the
//! transmitter is free ([`Link::release`]), and an event says when that is.

use crate::measure::{LinkSummary, Window};
use crate::packet::{Travelling, Waiting};
use crate::probe::LinkSeries;
use crate::watcher::Watcher;
use crate::wire::{Impairments, Jitter, Loss};
use narrows_router::{
    Backlog, Discipline, DropTail, Drops, Fifo, OnArrival, OnDeparture, Packet, Verdict,
};
use narrows_signal::Ecn;
use narrows_units::{Bytes, Duration, Rate, Stream, Time};

/// How a link is set up.
#[derive(Clone, Debug)]
pub struct LinkSettings {
    /// The transmitter's rate.
    pub rate: Rate,
    /// One-way propagation delay.
    pub delay: Duration,
    /// The queue's limit.
    pub limit: DropTail,
    /// What the queue does besides.
    pub queue: Discipline,
    /// Losses on the wire.
    pub loss: Loss,
    /// Variation of the delay.
    pub jitter: Jitter,
    /// Keeps the longest queue and the histograms of queue and delay, and takes samples at this
    /// interval where it is given.
    pub watched: Option<Option<Duration>>,
}

impl LinkSettings {
    /// A link that never drops and that nobody watches.
    pub fn plain(rate: Rate, delay: Duration) -> Self {
        let (limit, queue) = (DropTail::Unlimited, Discipline::DropTail);
        Self {
            rate,
            delay,
            limit,
            queue,
            loss: Loss::None,
            jitter: Jitter::default(),
            watched: None,
        }
    }
}

/// What became of a packet offered to a link.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Carried {
    /// Departs at the first time and reaches the other end at the second.
    Arrives(Time, Time),
    /// The queue did not take it.
    Dropped,
    /// Departs at the given time and is lost on the wire.
    Lost(Time),
}

/// A link is small where it is plain: a host's own, that never drops and that nobody watches. There
/// are four a flow.
pub(crate) struct Link {
    rate: Rate,
    /// Zero where a byte does not take a whole number of picoseconds.
    picos_per_byte: u64,
    delay: Duration,
    busy_until: Time,
    /// Packets that reached the other end, or will, in the whole run.
    pub carried: u64,
    special: Option<Box<Special>>,
}

/// What a link between routers has besides.
struct Special {
    queue: Queue,
    stream: Stream,
    impairments: Option<Impairments>,
    watcher: Option<Watcher>,
    /// In the whole run.
    dropped: u64,
    lost: u64,
    /// In the measured window.
    arrivals: u64,
    drops: u64,
    marks: u64,
    departures: u64,
    departed_bytes: u64,
    queue_seconds: f64,
}

enum Queue {
    Known { fifo: Fifo, judge: Option<OnArrival> },
    Held(Held),
}

/// Packets whose departure is decided when it comes.
struct Held {
    queue: OnDeparture<Waiting>,
    limit: DropTail,
    busy_until: Time,
    /// What is, or was last, in transmission.
    transmitting: Backlog,
    /// An event will come when the transmitter is free.
    awaited: bool,
    given_up: Drops<Waiting>,
    counted_to: Time,
}

impl Link {
    pub fn new(settings: &LinkSettings, warmup: Time, stream: Stream) -> Self {
        let impaired = settings.loss != Loss::None || settings.jitter.most > Duration::ZERO;
        let plain = !impaired
            && settings.watched.is_none()
            && settings.limit == DropTail::Unlimited
            && settings.queue == Discipline::DropTail;
        Self {
            rate: settings.rate,
            picos_per_byte: settings.rate.whole_picos_per_byte().unwrap_or(0),
            delay: settings.delay,
            busy_until: Time::ZERO,
            carried: 0,
            special: (!plain).then(|| Box::new(Special::new(settings, stream, warmup))),
        }
    }

    /// A packet comes at `now` to a queue that decides on arrival; it may get a mark there.
    pub fn carry(&mut self, now: Time, packet: &mut Travelling, window: &Window) -> Carried {
        let carried = match &mut self.special {
            Some(special) => special.carry(now, packet, self.delay, window),
            None => {
                self.busy_until =
                    self.busy_until.max(now) + self.time_to_send(packet.segment.bytes);
                Carried::Arrives(self.busy_until, self.busy_until + self.delay)
            }
        };
        self.carried += u64::from(matches!(carried, Carried::Arrives(..)));
        carried
    }

    /// True where the queue decides on departure.
    pub fn holds(&self) -> bool {
        self.special.as_ref().is_some_and(|special| matches!(special.queue, Queue::Held(_)))
    }

    /// A packet comes at `now` to a queue that decides on departure.
    pub fn hold(&mut self, now: Time, packet: Travelling, window: &Window) {
        let special = self.special.as_mut().expect("a link that holds is special");
        special.hold(now, packet, window);
    }

    /// The next packet that a queue lets go at `now`, if the transmitter is free, and what becomes
    /// of it.
    pub fn release(&mut self, now: Time, window: &Window) -> Option<(Travelling, Carried)> {
        let special = self.special.as_mut().expect("a link that holds is special");
        let Queue::Held(held) = &mut special.queue else { return None };
        if held.busy_until > now {
            return None;
        }
        special.account(now, window);
        let Queue::Held(held) = &mut special.queue else { return None };
        let waiting = held.queue.dequeue(now, &mut held.given_up)?;
        let bytes = waiting.bytes();
        let departure = now + time_to_send(self.picos_per_byte, self.rate, bytes);
        held.busy_until = departure;
        held.transmitting = Backlog { packets: 1, bytes: u64::from(bytes) };
        special.marks +=
            u64::from(waiting.ecn() == Ecn::Marked && !waiting.was_marked && window.contains(now));
        special.queue_seconds += window.overlap(now, departure);
        let carried = special.depart(waiting.came, departure, bytes, self.delay, window);
        self.carried += u64::from(matches!(carried, Carried::Arrives(..)));
        Some((waiting.packet, carried))
    }

    /// The next packet that the queue has given up by `now`, if there is one.
    pub fn give_up(&mut self, now: Time, window: &Window) -> Option<Travelling> {
        let special = self.special.as_mut()?;
        let Queue::Held(held) = &mut special.queue else { return None };
        let waiting = held.given_up.pop()?;
        special.lose_to_queue(now, window);
        Some(waiting.packet)
    }

    /// When an event must come because packets wait for the transmitter; `None` where none do, or
    /// where it has been asked for.
    pub fn await_transmitter(&mut self) -> Option<Time> {
        let Queue::Held(held) = &mut self.special.as_mut()?.queue else { return None };
        let waits = !held.awaited && held.queue.backlog().packets > 0;
        held.awaited |= waits;
        waits.then_some(held.busy_until)
    }

    /// The event has come.
    pub fn stop_waiting(&mut self) {
        if let Some(special) = &mut self.special
            && let Queue::Held(held) = &mut special.queue
        {
            held.awaited = false;
        }
    }

    /// Packets that wait for their departure to be decided.
    pub fn held(&self) -> u64 {
        match self.special.as_ref().map(|special| &special.queue) {
            Some(Queue::Held(held)) => held.queue.backlog().packets,
            _ => 0,
        }
    }

    /// Packets that did not reach the other end, in the whole run: dropped, or lost on the wire.
    pub fn missing(&self) -> u64 {
        self.special.as_ref().map_or(0, |special| special.dropped + special.lost)
    }

    /// Brings samples up to `now`.
    pub fn catch_up(&mut self, now: Time) {
        if let Some(special) = &mut self.special {
            special.catch_up(now);
        }
    }

    /// Ends the books at the end of the run.
    pub fn finish(&mut self, window: &Window) {
        self.catch_up(window.to);
        if let Some(special) = &mut self.special {
            special.account(window.to, window);
        }
    }

    /// The counters of the measured window, once it is over; a plain link keeps none.
    pub fn summary(&self, window: &Window) -> LinkSummary {
        let Some(special) = &self.special else { return LinkSummary::default() };
        special.summary(self.rate, window)
    }

    /// The samples so far, with their interval, where any are taken.
    pub fn series(&self) -> Option<(Duration, &LinkSeries)> {
        let watcher = self.special.as_ref()?.watcher.as_ref()?;
        Some((watcher.interval?, &watcher.series))
    }

    fn time_to_send(&self, bytes: u32) -> Duration {
        time_to_send(self.picos_per_byte, self.rate, bytes)
    }
}

fn time_to_send(picos_per_byte: u64, rate: Rate, bytes: u32) -> Duration {
    match picos_per_byte {
        0 => rate.time_to_send(Bytes::new(u64::from(bytes))),
        picos => Duration::from_picos(picos * u64::from(bytes)),
    }
}

impl Queue {
    fn new(settings: &LinkSettings, stream: &mut Stream) -> Self {
        if let Some(queue) = settings.queue.on_departure(settings.rate, stream) {
            let (busy_until, counted_to) = (Time::ZERO, Time::ZERO);
            let (transmitting, given_up) = (Backlog::default(), Vec::new());
            return Self::Held(Held {
                queue,
                limit: settings.limit,
                busy_until,
                transmitting,
                awaited: false,
                given_up,
                counted_to,
            });
        }
        let judge = settings.queue.on_arrival(settings.rate);
        let mut fifo = Fifo::new(settings.rate, settings.limit);
        if settings.watched.is_some() || judge.is_some() {
            fifo.keep_backlog();
        }
        Self::Known { fifo, judge }
    }

    /// What is queued or in transmission at `at`.
    fn backlog(&mut self, at: Time) -> Backlog {
        match self {
            Self::Known { fifo, .. } => fifo.backlog(at),
            Self::Held(held) => held.queue.backlog() + held.in_transmission(at),
        }
    }
}

impl Held {
    fn in_transmission(&self, at: Time) -> Backlog {
        if self.busy_until > at { self.transmitting } else { Backlog::default() }
    }
}

impl Special {
    fn new(settings: &LinkSettings, wire_stream: Stream, warmup: Time) -> Self {
        // The queue's chances are not the wire's.
        let mut stream = Stream::new(wire_stream.clone().bits(), 0, 0);
        let queue = Queue::new(settings, &mut stream);
        Self {
            queue,
            impairments: Impairments::new(settings.loss, settings.jitter, wire_stream),
            stream,
            watcher: settings.watched.map(|interval| Watcher::new(interval, warmup)),
            dropped: 0,
            lost: 0,
            arrivals: 0,
            drops: 0,
            marks: 0,
            departures: 0,
            departed_bytes: 0,
            queue_seconds: 0.0,
        }
    }

    fn carry(
        &mut self,
        now: Time,
        packet: &mut Travelling,
        delay: Duration,
        window: &Window,
    ) -> Carried {
        self.catch_up(now);
        self.arrivals += u64::from(window.contains(now));
        let Queue::Known { fifo, judge } = &mut self.queue else { return Carried::Dropped };
        let bytes = packet.segment.bytes;
        let verdict = judge
            .as_mut()
            .map_or(Verdict::Admit, |judge| judge.judge(now, fifo, packet, &mut self.stream));
        let departure = if verdict == Verdict::Drop { None } else { fifo.offer(now, bytes) };
        if let Some(watcher) = &mut self.watcher {
            let queue = fifo.backlog(now);
            let found = queue.packets - u64::from(departure.is_some());
            watcher.arrival(now, found, queue, window);
        }
        let Some(departure) = departure else {
            self.lose_to_queue(now, window);
            return Carried::Dropped;
        };
        self.marks += u64::from(verdict == Verdict::Mark && window.contains(now));
        if departure >= window.from {
            self.queue_seconds += window.overlap(now, departure);
        }
        self.depart(now, departure, bytes, delay, window)
    }

    fn hold(&mut self, now: Time, packet: Travelling, window: &Window) {
        self.catch_up(now);
        self.account(now, window);
        self.arrivals += u64::from(window.contains(now));
        let found = self.queue.backlog(now).packets;
        let Queue::Held(held) = &mut self.queue else { return };
        let waiting =
            Waiting { came: now, was_marked: packet.segment.ecn() == Ecn::Marked, packet };
        held.queue.enqueue(now, waiting, held.in_transmission(now), held.limit, &mut held.given_up);
        let queue = self.queue.backlog(now);
        if let Some(watcher) = &mut self.watcher {
            watcher.arrival(now, found, queue, window);
        }
    }

    fn lose_to_queue(&mut self, now: Time, window: &Window) {
        self.dropped += 1;
        self.drops += u64::from(window.contains(now));
        if let Some(watcher) = &mut self.watcher {
            watcher.drop(now);
        }
    }

    /// A packet of `bytes` that came at `came` leaves at `departure`.
    fn depart(
        &mut self,
        came: Time,
        departure: Time,
        bytes: u32,
        delay: Duration,
        window: &Window,
    ) -> Carried {
        if window.contains(departure) {
            self.departures += 1;
            self.departed_bytes += u64::from(bytes);
        }
        if let Some(watcher) = &mut self.watcher {
            watcher.departure(came, departure, bytes, window);
        }
        let arrival = departure + delay;
        let Some(impairments) = &mut self.impairments else {
            return Carried::Arrives(departure, arrival);
        };
        if impairments.loses() {
            self.lost += 1;
            impairments.losses_in_window += u64::from(window.contains(departure));
            return Carried::Lost(departure);
        }
        Carried::Arrives(departure, impairments.vary(arrival))
    }

    /// The seconds that packets have waited in a queue that holds them, up to `now`.
    fn account(&mut self, now: Time, window: &Window) {
        if let Queue::Held(held) = &mut self.queue {
            self.queue_seconds +=
                held.queue.backlog().packets as f64 * window.overlap(held.counted_to, now);
            held.counted_to = now;
        }
    }

    fn catch_up(&mut self, now: Time) {
        if let Some(watcher) = &mut self.watcher {
            watcher.catch_up(now, |at| self.queue.backlog(at));
        }
    }

    fn summary(&self, rate: Rate, window: &Window) -> LinkSummary {
        let capacity = rate.bytes_per_second() * window.seconds();
        let watcher = self.watcher.as_ref();
        LinkSummary {
            arrivals: self.arrivals,
            drops: self.drops,
            marks: self.marks,
            wire_losses: self
                .impairments
                .as_ref()
                .map_or(0, |impairments| impairments.losses_in_window),
            departures: self.departures,
            departed_bytes: self.departed_bytes,
            utilisation: self.departed_bytes as f64 / capacity,
            mean_queue: self.queue_seconds / window.seconds(),
            max_queue: watcher.map(|watcher| watcher.max_queue.packets),
            max_queue_bytes: watcher.map(|watcher| watcher.max_queue.bytes),
            queue_found: watcher.map(|watcher| watcher.queue_found.clone()),
            delay: watcher.map(|watcher| watcher.delay.clone()),
        }
    }
}

//! A link: a queue, a transmitter, and a wire that may lose, delay and reorder.

use crate::measure::{Histogram, LinkSummary, Window};
use crate::probe::{Due, LinkSeries, Watch, count};
use narrows_router::{DropTail, Fifo};
use narrows_signal::Ecn;
use narrows_transport::Segment;
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
    /// A packet that finds so many before it is marked, where its sender is capable (DCTCP's K; RFC 8257 §3.1).
    pub mark_from: Option<u64>,
    /// Losses on the wire.
    pub loss: Loss,
    /// Variation of the delay.
    pub jitter: Jitter,
    /// Keeps the longest queue and the histograms of queue and delay, and takes samples at this interval where it is given.
    pub watched: Option<Option<Duration>>,
}

/// Which packets a wire loses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Loss {
    /// None.
    #[default]
    None,
    /// Each with the same probability (a ratio).
    Bernoulli(f64),
    /// In bursts: Gilbert and Elliott's chain of a good and a bad state; all ratios a packet.
    GilbertElliott {
        /// From good to bad.
        enter: f64,
        /// From bad to good.
        leave: f64,
        /// Lost in the good state.
        good: f64,
        /// Lost in the bad state.
        bad: f64,
    },
}

/// How a wire's delay varies: uniformly, between nothing and `most` on top of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Jitter {
    /// The longest addition.
    pub most: Duration,
    /// Whether a packet may overtake another.
    pub reorders: bool,
}

/// What became of a packet offered to a link.
pub(crate) enum Carried {
    /// Departs at the first time and reaches the other end at the second.
    Arrives(Time, Time),
    /// The queue had no room.
    Dropped,
    /// Departs at the given time and is lost on the wire.
    Lost(Time),
}

/// A link is small where it is plain: a host's own, that never drops and that nobody watches. There are four a flow.
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
    fifo: Fifo,
    mark_from: Option<u64>,
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

struct Impairments {
    loss: Loss,
    jitter: Jitter,
    stream: Stream,
    in_bad_state: bool,
    last_arrival: Time,
    losses_in_window: u64,
}

struct Watcher {
    watch: Watch,
    interval: Option<Duration>,
    max_queue: u64,
    queue_found: Histogram,
    delay: Histogram,
    series: LinkSeries,
}

impl Link {
    pub fn new(settings: &LinkSettings, warmup: Time, stream: Stream) -> Self {
        let impaired = settings.loss != Loss::None || settings.jitter.most > Duration::ZERO;
        let plain = !impaired && settings.watched.is_none() && settings.limit == DropTail::Unlimited && settings.mark_from.is_none();
        Self {
            rate: settings.rate,
            picos_per_byte: settings.rate.whole_picos_per_byte().unwrap_or(0),
            delay: settings.delay,
            busy_until: Time::ZERO,
            carried: 0,
            special: (!plain).then(|| Box::new(Special::new(settings, impaired.then_some(stream), warmup))),
        }
    }

    /// A packet comes to the queue at `now`, and may get a mark there.
    pub fn carry(&mut self, now: Time, packet: &mut Segment, window: &Window) -> Carried {
        let bytes = packet.bytes;
        let carried = match &mut self.special {
            Some(special) => {
                special.mark(now, packet, window);
                special.carry(now, bytes, self.delay, window)
            }
            None => {
                let time = match self.picos_per_byte {
                    0 => self.rate.time_to_send(Bytes::new(u64::from(bytes))),
                    picos => Duration::from_picos(picos * u64::from(bytes)),
                };
                self.busy_until = self.busy_until.max(now) + time;
                Carried::Arrives(self.busy_until, self.busy_until + self.delay)
            }
        };
        self.carried += u64::from(matches!(carried, Carried::Arrives(..)));
        carried
    }

    /// Packets that did not reach the other end, in the whole run: found no room, or were lost on the wire.
    pub fn missing(&self) -> u64 {
        self.special.as_ref().map_or(0, |special| special.dropped + special.lost)
    }

    /// Brings samples up to `now`.
    pub fn catch_up(&mut self, now: Time) {
        if let Some(special) = &mut self.special {
            special.catch_up(now);
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
}

impl Special {
    fn new(settings: &LinkSettings, impaired: Option<Stream>, warmup: Time) -> Self {
        let mut fifo = Fifo::new(settings.rate, settings.limit);
        if settings.watched.is_some() || settings.mark_from.is_some() {
            fifo.keep_backlog();
        }
        Self {
            fifo,
            mark_from: settings.mark_from,
            impairments: impaired.map(|stream| Impairments::new(settings, stream)),
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

    fn mark(&mut self, now: Time, packet: &mut Segment, window: &Window) {
        if packet.ecn() != Ecn::NotCapable && self.mark_from.is_some_and(|from| self.fifo.backlog(now).packets >= from) {
            packet.mark();
            self.marks += u64::from(window.contains(now));
        }
    }

    fn carry(&mut self, now: Time, bytes: u32, delay: Duration, window: &Window) -> Carried {
        self.catch_up(now);
        let in_window = window.contains(now);
        self.arrivals += u64::from(in_window);
        let departure = self.fifo.offer(now, bytes);
        if let Some(watcher) = &mut self.watcher {
            watcher.look(now, bytes, departure, in_window, &mut self.fifo, window);
        }
        let Some(departure) = departure else {
            self.dropped += 1;
            self.drops += u64::from(in_window);
            return Carried::Dropped;
        };
        if window.contains(departure) {
            self.departures += 1;
            self.departed_bytes += u64::from(bytes);
        }
        if departure >= window.from {
            self.queue_seconds += window.overlap(now, departure);
        }
        self.cross_the_wire(departure, delay, window)
    }

    fn cross_the_wire(&mut self, departure: Time, delay: Duration, window: &Window) -> Carried {
        let arrival = departure + delay;
        let Some(impairments) = &mut self.impairments else { return Carried::Arrives(departure, arrival) };
        if impairments.loses() {
            self.lost += 1;
            impairments.losses_in_window += u64::from(window.contains(departure));
            return Carried::Lost(departure);
        }
        Carried::Arrives(departure, impairments.vary(arrival))
    }

    fn catch_up(&mut self, now: Time) {
        if let Some(watcher) = &mut self.watcher {
            watcher.catch_up(now, &mut self.fifo);
        }
    }

    fn summary(&self, rate: Rate, window: &Window) -> LinkSummary {
        let capacity = rate.bytes_per_second() * window.seconds();
        LinkSummary {
            arrivals: self.arrivals,
            drops: self.drops,
            marks: self.marks,
            wire_losses: self.impairments.as_ref().map_or(0, |impairments| impairments.losses_in_window),
            departures: self.departures,
            departed_bytes: self.departed_bytes,
            utilisation: self.departed_bytes as f64 / capacity,
            mean_queue: self.queue_seconds / window.seconds(),
            max_queue: self.watcher.as_ref().map(|watcher| watcher.max_queue),
            queue_found: self.watcher.as_ref().map(|watcher| watcher.queue_found.clone()),
            delay: self.watcher.as_ref().map(|watcher| watcher.delay.clone()),
        }
    }
}

impl Impairments {
    fn new(settings: &LinkSettings, stream: Stream) -> Self {
        let (loss, jitter) = (settings.loss, settings.jitter);
        Self { loss, jitter, stream, in_bad_state: false, last_arrival: Time::ZERO, losses_in_window: 0 }
    }

    fn loses(&mut self) -> bool {
        match self.loss {
            Loss::None => false,
            Loss::Bernoulli(ratio) => self.stream.happens(ratio),
            Loss::GilbertElliott { enter, leave, good, bad } => {
                let changes = self.stream.happens(if self.in_bad_state { leave } else { enter });
                self.in_bad_state ^= changes;
                self.stream.happens(if self.in_bad_state { bad } else { good })
            }
        }
    }

    fn vary(&mut self, arrival: Time) -> Time {
        if self.jitter.most == Duration::ZERO {
            return arrival;
        }
        let late = arrival + self.jitter.most.scale(self.stream.uniform());
        if self.jitter.reorders {
            return late;
        }
        // One picosecond apart: two packets of a wire never arrive at one instant.
        self.last_arrival = late.max(self.last_arrival + Duration::from_picos(1));
        self.last_arrival
    }
}

impl Watcher {
    fn new(interval: Option<Duration>, warmup: Time) -> Self {
        Self {
            watch: Watch::new(interval.map(|interval| (Time::ZERO + interval, interval)), warmup),
            interval,
            max_queue: 0,
            queue_found: Histogram::default(),
            delay: Histogram::default(),
            series: LinkSeries::default(),
        }
    }

    fn catch_up(&mut self, now: Time, fifo: &mut Fifo) {
        while let Some((due, at)) = self.watch.due(now) {
            match due {
                Due::Sample => self.series.queue.push(fifo.backlog(at).packets),
                Due::WarmedUp => self.max_queue = fifo.backlog(at).packets,
            }
        }
    }

    /// A packet has been offered at `now`; it departs at `departure`, if it does.
    fn look(&mut self, now: Time, bytes: u32, departure: Option<Time>, in_window: bool, fifo: &mut Fifo, window: &Window) {
        let queue = fifo.backlog(now).packets;
        if in_window {
            self.max_queue = self.max_queue.max(queue);
            self.queue_found.add(queue - u64::from(departure.is_some()));
            if let Some(departure) = departure {
                self.delay.add(departure.since(now).picos() / 1000);
            }
        }
        let Some(interval) = self.interval else { return };
        count(&mut self.series.arrivals, interval, now, 1);
        match departure {
            None => count(&mut self.series.drops, interval, now, 1),
            Some(departure) if departure <= window.to => count(&mut self.series.departed_bytes, interval, departure, u64::from(bytes)),
            Some(_) => {}
        }
    }
}

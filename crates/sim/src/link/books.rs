//! The counters of a link, and what its wire does.

use super::bursts::Bursts;
use super::entrance::Refusal;
use super::wire::Wire;
use super::{Cargo, Carried, LinkSettings, Watch};
use crate::measured::Measured;
use crate::observer::Observer;
use crate::summary::LinkSummary;
use narrows_router::{Backlog, Server};
use narrows_units::{Duration, Stream, Time};

pub(super) struct Books {
    pub delay: Duration,
    /// What happens after departures besides a constant delay.
    pub wire: Option<Wire>,
    /// Why the last packet that was dropped did not reach the queue; `None` if it did.
    pub why: Option<Refusal>,
    /// The largest packet in bytes.
    mtu: u32,
    pub observer: Option<Observer>,
    /// Counted in the whole run.
    pub carried: u64,
    pub marked: u64,
    pub dropped: u64,
    lost: u64,
    /// Counted in the measured part of the run.
    pub arrivals: u64,
    pub drops: u64,
    scripted: u64,
    policed: u64,
    bursts: Bursts,
    marks: u64,
    pub departures: u64,
    pub departed_bytes: u64,
    pub queue_seconds: f64,
}

impl Books {
    /// Creates empty books; the randomness of the wire comes from `stream`.
    pub fn new(settings: &LinkSettings, stream: Stream, warmup: Time) -> Self {
        let observer = match settings.watch {
            Watch::No => None,
            Watch::Histograms => Some(Observer::new(None, warmup)),
            Watch::Samples(interval) => Some(Observer::new(Some(interval), warmup)),
        };
        Self {
            delay: settings.delay,
            why: None,
            wire: Wire::new(settings, stream),
            // The entrance of a link that varies asks for the size.
            mtu: settings.mtu.filter(|_| settings.varying.is_none()).unwrap_or(u32::MAX),
            observer,
            carried: 0,
            marked: 0,
            dropped: 0,
            lost: 0,
            arrivals: 0,
            drops: 0,
            scripted: 0,
            policed: 0,
            bursts: Bursts::default(),
            marks: 0,
            departures: 0,
            departed_bytes: 0,
            queue_seconds: 0.0,
        }
    }

    /// True if a packet of `bytes` is not too large for the link.
    pub fn fits(&self, bytes: u32) -> bool {
        bytes <= self.mtu
    }

    /// Packets that did not reach the other end, in the whole run.
    pub fn missing(&self) -> u64 {
        self.dropped + self.lost
    }

    /// Takes the samples due by `now`; `backlog` returns the state of the queue at a given time.
    #[inline]
    pub fn catch_up(&mut self, now: Time, backlog: impl FnMut(Time) -> Backlog) {
        if let Some(observer) = &mut self.observer {
            observer.catch_up(now, backlog);
        }
    }

    /// Counts a packet that the queue dropped, in the measured part if it `counts`.
    pub fn drop(&mut self, now: Time, counts: bool) {
        self.why = None;
        self.dropped += 1;
        if counts {
            self.drops += 1;
            self.bursts.drop(self.arrivals);
        }
        if let Some(observer) = &mut self.observer {
            observer.drop(now);
        }
    }

    /// Shows the observer a packet that arrives at `now` and is not let into the `queue`.
    pub fn see(&mut self, now: Time, queue: Backlog, counts: bool) {
        if let Some(observer) = &mut self.observer {
            observer.arrival(now, queue.packets, queue, counts);
        }
    }

    /// Counts a packet that did not even reach the queue, in the measured part if it `counts`.
    pub fn refuse(&mut self, now: Time, counts: bool, why: Refusal) {
        let counter = match why {
            Refusal::Scripted => &mut self.scripted,
            Refusal::Policed => &mut self.policed,
            Refusal::NotCarried => return self.drop(now, counts),
        };
        *counter += u64::from(counts);
        self.why = Some(why);
        self.dropped += 1;
        if let Some(observer) = &mut self.observer {
            observer.drop(now);
        }
    }

    /// Counts a packet that the queue marked, if it `counts`.
    pub fn mark(&mut self, now: Time, counts: bool) {
        self.marked += 1;
        self.marks += u64::from(counts);
        if let Some(observer) = &mut self.observer {
            observer.mark(now);
        }
    }

    /// Counts a packet that arrived at `came`, makes `queue` of what is there, and leaves at
    /// `departure`; in the measured part if it `counts`.
    #[inline(always)]
    pub fn admit(
        &mut self,
        came: Time,
        counts: bool,
        queue: Backlog,
        departure: Time,
        measured: &Measured,
    ) {
        if let Some(observer) = &mut self.observer {
            observer.arrival(came, queue.packets - 1, queue, counts);
        }
        if departure >= measured.from {
            self.queue_seconds += measured.overlap(came, departure);
        }
    }

    /// Counts the departure, at `departure`, of a packet of `bytes` that arrived at `came`, which
    /// `counts` if that was in the measured part.
    #[inline(always)]
    pub fn leave(
        &mut self,
        came: Time,
        counts: bool,
        departure: Time,
        bytes: u32,
        measured: &Measured,
    ) {
        let leaves_in_time = measured.contains(departure);
        self.departures += u64::from(leaves_in_time);
        self.departed_bytes += if leaves_in_time { u64::from(bytes) } else { 0 };
        if let Some(observer) = &mut self.observer {
            observer.departure(came, counts, departure, bytes, measured);
        }
    }

    /// Counts the departure of `packet` as [`leave`](Self::leave) does; returns what becomes of it
    /// on the wire, which may damage it.
    #[inline(always)]
    pub fn depart(
        &mut self,
        came: Time,
        counts: bool,
        departure: Time,
        packet: &mut impl Cargo,
        measured: &Measured,
    ) -> Carried {
        self.leave(came, counts, departure, packet.bytes(), measured);
        let mut arrival = departure + self.delay;
        if let Some(wire) = &mut self.wire {
            match carry(wire, departure, packet, measured) {
                Some(later) => arrival = later,
                None => {
                    self.lost += 1;
                    return Carried::Lost;
                }
            }
        }
        self.carried += 1;
        Carried::Arrives(arrival)
    }

    /// The summary of the measured part of the run, in which `server` could have sent more.
    pub fn summary(&self, server: &Server, measured: &Measured) -> LinkSummary {
        let capacity = server.offered_up_to(measured.from, measured.to) / 8.0;
        let observer = self.observer.as_ref();
        LinkSummary {
            arrivals: self.arrivals,
            drops: self.drops,
            scripted: self.scripted,
            idle_lines: Vec::new(),
            policed: self.policed,
            loss_bursts: self.bursts.number,
            longest_loss_burst: self.bursts.longest,
            marks: self.marks,
            wire_losses: self.wire.as_ref().map_or(0, |wire| wire.losses_in_window),
            departures: self.departures,
            departed_bytes: self.departed_bytes,
            utilisation: if capacity > 0.0 { self.departed_bytes as f64 / capacity } else { 0.0 },
            mean_queue: self.queue_seconds / measured.seconds(),
            max_queue: observer.map(|observer| observer.max_queue.packets),
            max_queue_bytes: observer.map(|observer| observer.max_queue.bytes),
            queue_found: observer.map(|observer| observer.queue_found.clone()),
            delay: observer.map(|observer| observer.delay.clone()),
        }
    }
}

/// When a packet that departs at `departure` arrives over a wire that does more than delay it;
/// `None` if it is lost.
#[cold]
#[inline(never)]
fn carry(
    wire: &mut Wire,
    departure: Time,
    packet: &mut impl Cargo,
    measured: &Measured,
) -> Option<Time> {
    if let Some(memory) = &wire.memory {
        memory.take(departure, packet.bytes());
    }
    if wire.loses(departure) {
        wire.losses_in_window += u64::from(measured.contains(departure));
        if !packet.damage() {
            wire.late = Duration::ZERO;
            return None;
        }
    }
    Some(wire.arrival(departure))
}

//! The door: ends of flows that somebody else wrote, in virtual time.
//!
//! An [`Endpoint`] is given datagrams and times, and asked for datagrams and for the time of its
//! next timer. What it may do with its processor is up to its host: it acts in *turns*, one for
//! each time at which the host lets it see arrivals, or lets a timer go off.

use crate::host::{Cpu, Host, HostSettings};
use crate::wiring::HostedEnds;
use narrows_signal::Ecn;
use narrows_transport::{Counters, Header, Segment};
use narrows_units::{Duration, Stream, Time};
use std::any::Any;
use std::collections::VecDeque;

/// One end of a flow. It never asks for the time and never waits.
///
/// After each call of [`handle`](Self::handle) or [`handle_timeout`](Self::handle_timeout) it is
/// asked for datagrams until it has none, and then for its next timer. A flow's data goes from its
/// near end to its far end.
pub trait Endpoint: Any + Send {
    /// A datagram arrives, byte for byte. Its memory may be kept: swap it for other.
    fn handle(&mut self, now: Time, datagram: &mut Vec<u8>, ecn: Ecn);

    /// The flow begins, or a time that [`poll_timeout`](Self::poll_timeout) gave has come.
    fn handle_timeout(&mut self, now: Time);

    /// Writes the next datagram that leaves at `now` into `datagram`, which is empty; `None` if
    /// there is none now.
    fn poll_transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> Option<Transmit>;

    /// When to wake it; `None` if only a datagram can. A time that has passed means now.
    fn poll_timeout(&mut self) -> Option<Time>;

    /// What it says of itself, for reports and samples. Everything is optional.
    fn tell(&self) -> Told {
        Told::default()
    }
}

/// How a datagram leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Bytes on the wire, headers included. If they are no more than the datagram has, it is an IP
    /// packet with its headers; if they are more, it is the payload of UDP.
    pub bytes: u32,
    /// Whether queues may mark it.
    pub ecn: Ecn,
    /// It leaves no earlier, as with Linux's `SO_TXTIME`; datagrams keep their order.
    pub not_before: Time,
}

impl Transmit {
    /// Bytes of the headers of UDP over IPv4.
    pub const UDP_HEADERS: u32 = 28;

    /// A payload of UDP over IPv4 that leaves at once.
    pub fn udp(payload: &[u8], ecn: Ecn) -> Self {
        Self { bytes: payload.len() as u32 + Self::UDP_HEADERS, ecn, not_before: Time::ZERO }
    }

    /// An IP packet that leaves at once.
    pub fn ip(packet: &[u8], ecn: Ecn) -> Self {
        Self { bytes: packet.len() as u32, ecn, not_before: Time::ZERO }
    }
}

/// What an end says of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    /// Bytes that its application has received in order.
    pub delivered: u64,
    /// True if its application has received all that there was.
    pub complete: bool,
    /// The congestion window in bytes.
    pub window: Option<u64>,
    /// The smoothed RTT.
    pub rtt: Option<Duration>,
    /// Bytes in flight.
    pub in_flight: Option<u64>,
    /// Datagrams that it holds for lost.
    pub lost: Option<u64>,
    /// Why it has ended, if it has: an error as its users would see it.
    pub ended: Option<String>,
}

/// Which end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The one that data comes from.
    Near,
    /// The one that data goes to.
    Far,
}

/// What one hosted end did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EndSummary {
    /// Datagrams sent and arrived in the measured part of the run.
    pub datagrams: Exchanged,
    /// Bytes of these on the wire.
    pub wire_bytes: Exchanged,
    /// Bytes that its application received in order in the measured part of the run.
    pub delivered: u64,
    /// Datagrams that it found lost in the measured part of the run, if it says so.
    pub lost: Option<u64>,
    /// Turns in the whole run.
    pub turns: u64,
    /// Of the times and sizes of all datagrams that it sent.
    pub times: u64,
    /// Of their times, sizes and contents.
    pub bits: u64,
    /// Why it ended, if it did.
    pub ended: Option<String>,
    /// What it says of itself that cannot be.
    pub contradiction: Option<String>,
}

/// A number of what left and what came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exchanged {
    /// What left.
    pub sent: u64,
    /// What came.
    pub arrived: u64,
}

/// The bytes of datagrams under way, in places that are reused.
#[derive(Default)]
pub(crate) struct Payloads {
    bytes: Vec<Vec<u8>>,
    free: Vec<u32>,
}

impl Payloads {
    /// An empty place.
    fn claim(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.bytes.push(Vec::new());
            u32::try_from(self.bytes.len() - 1).expect("memory ends before 2^32 datagrams")
        })
    }

    /// A place with the same bytes as `place`.
    pub fn copy(&mut self, place: u32) -> u32 {
        let copy = self.claim();
        self.bytes[copy as usize] = self.bytes[place as usize].clone();
        copy
    }

    /// The bytes at `place`.
    pub fn at(&self, place: u32) -> &[u8] {
        &self.bytes[place as usize]
    }

    /// Frees the place of a packet; returns false if it has none.
    pub fn free(&mut self, segment: &Segment) -> bool {
        let Header::Hosted { place, .. } = segment.header else { return false };
        self.free_place(place);
        true
    }

    fn free_place(&mut self, place: u32) {
        self.bytes[place as usize].clear();
        self.free.push(place);
    }

    /// Places in use.
    pub fn in_use(&self) -> u64 {
        (self.bytes.len() - self.free.len()) as u64
    }
}

/// Turns at one instant after which an end is held for restless.
const MOST_TURNS: u32 = 10_000;
/// Datagrams in one turn after which an end is held for restless; a window of 100 MB is fewer.
const MOST_DATAGRAMS: usize = 1 << 17;

/// Bytes in one turn after which it is, too: none of them has left, and all take memory.
const MOST_BYTES: usize = 64 << 20;

/// One hosted end and its host.
pub(crate) struct HostedEnd {
    endpoint: Box<dyn Endpoint>,
    end: End,
    /// As messages call it.
    name: String,
    host: Host,
    cpu: Option<Cpu>,
    is_running: bool,
    /// What has arrived and has not been seen: place and ECN bits.
    inbox: VecDeque<(u32, Ecn)>,
    /// When it sees what has arrived; never if nothing has.
    sees_at: Time,
    /// When its timer goes off.
    wakes_at: Time,
    /// When it goes on with what its processor had no time for.
    resumes_at: Time,
    busy_until: Time,
    /// What leaves in this turn, in order.
    departing: Vec<Segment>,
    last_departure: Option<Time>,
    last_turn: Time,
    turns_here: u32,
    counted: EndSummary,
    at_warmup: EndSummary,
    numbers: u64,
    /// Bytes that count as a packet in samples of windows.
    packet: u32,
    /// Whether its datagrams may be marked.
    ecn: bool,
    /// Samples of the RTT: their number and their sum in seconds.
    rtts: (u64, f64),
}

impl HostedEnd {
    /// Both ends of a flow, near and far, on hosts that draw from the streams.
    pub fn pair(ends: HostedEnds, host: HostSettings, streams: [Stream; 2]) -> (Self, Self) {
        let HostedEnds { near, far, name, packet, ecn, .. } = ends;
        let [near_stream, far_stream] = streams;
        let (near_name, far_name) =
            (format!("the near end of {name}"), format!("the far end of {name}"));
        let near = Self::new(near, (End::Near, near_name), (host, packet), near_stream);
        let far = Self::new(far, (End::Far, far_name), (host, packet), far_stream);
        (Self { ecn, ..near }, Self { ecn, ..far })
    }

    fn new(
        endpoint: Box<dyn Endpoint>,
        (end, name): (End, String),
        (settings, packet): (HostSettings, u32),
        stream: Stream,
    ) -> Self {
        Self {
            endpoint,
            end,
            name,
            host: Host::new(settings, stream).map_or_else(Host::default, |host| *host),
            cpu: settings.cpu,
            is_running: false,
            inbox: VecDeque::new(),
            sees_at: Time::NEVER,
            wakes_at: Time::NEVER,
            resumes_at: Time::NEVER,
            busy_until: Time::ZERO,
            departing: Vec::new(),
            last_departure: None,
            last_turn: Time::NEVER,
            turns_here: 0,
            counted: EndSummary::default(),
            at_warmup: EndSummary::default(),
            numbers: 0,
            packet,
            ecn: true,
            rtts: (0, 0.0),
        }
    }

    /// When its next turn is.
    pub fn next_turn(&self) -> Time {
        self.sees_at.min(self.wakes_at).min(self.resumes_at)
    }

    pub fn begin(&mut self, now: Time) {
        self.is_running = true;
        self.wakes_at = now;
    }

    /// Ends it as if its process were killed.
    pub fn stop(&mut self, payloads: &mut Payloads) {
        self.is_running = false;
        (self.sees_at, self.wakes_at, self.resumes_at) = (Time::NEVER, Time::NEVER, Time::NEVER);
        self.inbox.drain(..).for_each(|(place, _)| payloads.free_place(place));
        for segment in self.departing.drain(..) {
            payloads.free(&segment);
        }
    }

    fn fail(&mut self, why: &str, payloads: &mut Payloads) {
        self.counted.ended = Some(format!("{} was stopped: {why}", self.name));
        self.stop(payloads);
    }

    /// A datagram arrives at the host at `now`.
    pub fn arrive(&mut self, now: Time, segment: &Segment, payloads: &mut Payloads) {
        self.counted.datagrams.arrived += 1;
        self.counted.wire_bytes.arrived += u64::from(segment.bytes);
        let Header::Hosted { place, ecn, .. } = segment.header else { return };
        if !self.is_running {
            return payloads.free_place(place);
        }
        if self.inbox.is_empty() {
            let handled_at = self.host.handled_at(now);
            self.sees_at = self.host.wakes(handled_at).max(self.busy_until);
        }
        self.inbox.push_back((place, ecn));
    }

    /// Lets it do what is due at `now`; what leaves is then in [`Self::departures`].
    pub fn turn(&mut self, now: Time, payloads: &mut Payloads) {
        if now < self.busy_until {
            return self.postpone();
        }
        self.counted.turns += 1;
        self.turns_here = if self.last_turn == now { self.turns_here + 1 } else { 0 };
        self.last_turn = now;
        self.host.reach(now);
        if self.turns_here > MOST_TURNS {
            return self
                .fail(&format!("{MOST_TURNS} turns at {now}, when nothing arrives"), payloads);
        }
        let mut handled = 0;
        if self.sees_at <= now {
            self.sees_at = Time::NEVER;
            while let Some((place, ecn)) = self.inbox.pop_front() {
                self.endpoint.handle(now, &mut payloads.bytes[place as usize], ecn);
                payloads.free_place(place);
                handled += 1;
            }
        } else if self.wakes_at <= now {
            self.endpoint.handle_timeout(now);
        }
        self.resumes_at = Time::NEVER;
        self.poll(now, handled, payloads);
        if self.is_running {
            let asked = self.endpoint.poll_timeout();
            let asked = asked.map_or(Time::NEVER, |asked| asked.max(now));
            self.wakes_at = self.host.expires(asked).max(self.busy_until);
        }
    }

    /// Its processor is busy: what is due is due later.
    fn postpone(&mut self) {
        for due in [&mut self.sees_at, &mut self.wakes_at, &mut self.resumes_at] {
            *due = (*due).max(self.busy_until);
        }
    }

    /// Asks for what leaves: all that there is if its processor takes no time, else a train.
    fn poll(&mut self, now: Time, handled: u64, payloads: &mut Payloads) {
        let most = self.cpu.map_or(MOST_DATAGRAMS, |cpu| cpu.train as usize);
        let mut leaves_at = now;
        let (mut datagrams, mut bytes) = (0, 0);
        while datagrams < most {
            if bytes > MOST_BYTES {
                let why = format!("more than {} MB of datagrams at {now}", MOST_BYTES >> 20);
                return self.fail(&why, payloads);
            }
            let place = payloads.claim();
            let datagram = &mut payloads.bytes[place as usize];
            let Some(transmit) = self.endpoint.poll_transmit(now, datagram) else {
                payloads.free_place(place);
                break;
            };
            let length = datagram.len();
            if length == 0 || transmit.bytes < length as u32 {
                let why = format!("a datagram of {length} bytes is {} on the wire", transmit.bytes);
                payloads.free_place(place);
                return self.fail(&why, payloads);
            }
            leaves_at = leaves_at.max(transmit.not_before);
            self.numbers += 1;
            datagrams += 1;
            bytes += length;
            let back = self.end == End::Far;
            let ecn = if self.ecn { transmit.ecn } else { Ecn::NotCapable };
            let header = Header::Hosted { place, ecn, back };
            self.departing.push(Segment::data(self.numbers - 1, leaves_at, transmit.bytes, header));
        }
        match self.cpu {
            Some(cpu) => {
                self.busy_until = now + cpu.datagram * (handled + datagrams as u64);
                if datagrams == most {
                    self.resumes_at = self.busy_until;
                }
            }
            None if datagrams == most => {
                self.fail(&format!("{MOST_DATAGRAMS} datagrams at {now}"), payloads);
            }
            None => {}
        }
        let ready = self.busy_until;
        for place in 0..self.departing.len() {
            self.depart(place, ready, payloads);
        }
    }

    /// Says when a datagram leaves: a picosecond after the one before it or later, so that the
    /// datagrams of a burst have an order.
    fn depart(&mut self, place: usize, ready: Time, payloads: &Payloads) {
        let segment = &mut self.departing[place];
        let after_the_last = self.last_departure.map(|last| last + Duration::from_picos(1));
        segment.stamp = segment.stamp.max(ready).max(after_the_last.unwrap_or_default());
        self.last_departure = Some(segment.stamp);
        self.counted.datagrams.sent += 1;
        self.counted.wire_bytes.sent += u64::from(segment.bytes);
        let Header::Hosted { place, ecn, .. } = segment.header else { return };
        let about = segment.stamp.picos() ^ u64::from(segment.bytes) << 40 ^ (ecn as u64) << 60;
        self.counted.times = mixed(self.counted.times, about);
        self.counted.bits = print(mixed(self.counted.bits, about), payloads.at(place));
    }

    /// What leaves in this turn; to be given back empty.
    pub fn departures(&mut self) -> Vec<Segment> {
        std::mem::take(&mut self.departing)
    }

    /// Takes back the memory of [`Self::departures`].
    pub fn give_back(&mut self, mut departures: Vec<Segment>) {
        departures.clear();
        self.departing = departures;
    }

    /// True if it sees by `now` what has arrived.
    pub fn sees_by(&self, now: Time) -> bool {
        self.sees_at <= now
    }

    pub fn tell(&self) -> Told {
        self.endpoint.tell()
    }

    /// What it says of itself, at a sample.
    pub fn sample(&mut self) -> Told {
        let told = self.endpoint.tell();
        if let Some(rtt) = told.rtt {
            self.rtts = (self.rtts.0 + 1, self.rtts.1 + rtt.seconds());
        }
        told
    }

    /// Its counters so far; its RTTs are those of samples.
    pub fn counters(&self) -> Counters {
        Counters {
            sent: self.counted.datagrams.sent,
            lost: self.tell().lost.unwrap_or(0) as u32,
            rtt_samples: self.rtts.0,
            rtt_sum: self.rtts.1,
            ..Counters::default()
        }
    }

    /// Datagrams sent so far.
    pub fn sent(&self) -> u64 {
        self.counted.datagrams.sent
    }

    /// Bytes that count as a packet.
    pub fn packet(&self) -> u32 {
        self.packet
    }

    pub fn has_all(&self) -> bool {
        self.endpoint.tell().complete
    }

    /// Notes the counters at the end of the warm-up.
    pub fn warmed_up(&mut self) {
        self.at_warmup = self.so_far();
    }

    fn so_far(&self) -> EndSummary {
        let told = self.endpoint.tell();
        let ended = self.counted.ended.clone().or(told.ended);
        let arrived = self.counted.wire_bytes.arrived;
        let contradiction = (told.delivered > arrived).then(|| {
            format!(
                "{} says that {} bytes were delivered, and datagrams of {arrived} bytes have \
                 arrived there",
                self.name, told.delivered
            )
        });
        let (delivered, lost) = (told.delivered, told.lost);
        EndSummary { delivered, lost, ended, contradiction, ..self.counted.clone() }
    }

    /// What it did in the measured part of the run.
    pub fn summary(&self) -> EndSummary {
        let (now, before) = (self.so_far(), &self.at_warmup);
        let since = |now: Exchanged, before: Exchanged| Exchanged {
            sent: now.sent - before.sent,
            arrived: now.arrived - before.arrived,
        };
        EndSummary {
            datagrams: since(now.datagrams, before.datagrams),
            wire_bytes: since(now.wire_bytes, before.wire_bytes),
            delivered: now.delivered.saturating_sub(before.delivered),
            lost: now.lost.map(|lost| lost.saturating_sub(before.lost.unwrap_or(0))),
            ..now
        }
    }

    /// Datagrams that have arrived and have not been seen.
    pub fn unseen(&self) -> u64 {
        self.inbox.len() as u64
    }

    /// The endpoint itself.
    pub fn endpoint(&self) -> &dyn Endpoint {
        &*self.endpoint
    }
}

/// A step of a fingerprint.
fn mixed(print: u64, word: u64) -> u64 {
    (print.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The fingerprint of `before` and `bytes`.
fn print(before: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let print = words.iter().fold(before, |print, word| mixed(print, u64::from_le_bytes(*word)));
    rest.iter().fold(print, |print, byte| mixed(print, u64::from(*byte)))
}

//! QUIC's two ends on any path: everything arrives, no packet number is used twice, what is in
//! flight is within the window but for probes, and nothing is lost from the books.

use super::case::{gaps, millis, weather};
use super::law::{Law, Ledger};
use super::network::{Network, Weather};
use narrows_control::registry;
use narrows_signal::{AckRanges, QuicAck, Range};
use narrows_transport::congestion::{EcnOfUser, Path, Spacing};
use narrows_transport::quic::{AckPolicy, QuicSettings, Receiver};
use narrows_transport::{DataHeader, Header, Kind, Segment, Sender};
use narrows_units::{Duration, Stream, Time};
use proptest::prelude::*;
use std::collections::VecDeque;

/// One case.
#[derive(Clone, Debug)]
pub struct Case {
    settings: QuicSettings,
    law: Law,
    /// The application waits for so long, then offers so many packets.
    offers: Vec<(Duration, u64)>,
    /// A portion that finds everything acknowledged begins a new connection.
    renews: bool,
    weather: Weather,
    seed: u64,
}

fn law() -> impl Strategy<Value = Law> {
    let names: Vec<&'static str> = registry::names().collect();
    let rate = (1.0..60.0, 20.0..5000.0, gaps()).prop_map(|(window, rate, gaps)| Law::Rate {
        window,
        rate,
        gaps,
    });
    let constant = (1.0..60.0).prop_map(|window| Law::Constant { window, own_recovery: false });
    prop_oneof![2 => constant, 1 => rate, 6 => prop::sample::select(names).prop_map(Law::Named)]
}

fn settings() -> impl Strategy<Value = QuicSettings> {
    let spacing =
        prop_oneof![(1u32..20).prop_map(Spacing::Recommended), gaps().prop_map(Spacing::Window)];
    let acks = (1u32..=8, millis(0..=100)).prop_map(|(every, delay)| AckPolicy { every, delay });
    let limit = prop_oneof![3 => Just(f64::INFINITY), 1 => 1.0..40.0];
    let flags = (any::<bool>(), any::<bool>());
    (prop::option::of(spacing), acks, limit, 1u32..=8, flags).prop_map(
        |(pacing, acks, window_limit, quantum, (asked, handshake))| QuicSettings {
            handshake,
            acks,
            window_limit,
            pacing,
            quantum,
            ecn: EcnOfUser { asked, on_retransmissions: false },
            ..QuicSettings::new(1000)
        },
    )
}

/// Any case.
pub fn case() -> impl Strategy<Value = Case> {
    let offers = prop::collection::vec((millis(0..=1500), prop_oneof![1u64..60, 1u64..400]), 1..5);
    (settings(), law(), offers, any::<bool>(), weather(), any::<u64>()).prop_map(
        |(settings, law, offers, renews, weather, seed)| Case {
            settings,
            law,
            offers,
            renews,
            weather,
            seed,
        },
    )
}

/// What an acknowledgement claims, relative to the next packet number: how far below it the ranges
/// end and how long they are, from the newest on; the delay and the time before it in milliseconds.
#[derive(Clone, Debug)]
pub struct Claim {
    ranges: Vec<(u64, u64)>,
    ahead: u64,
    marked: u16,
    delay: u64,
    wait: u64,
}

pub fn claim() -> impl Strategy<Value = Claim> {
    let range = (0u64..30, prop_oneof![8 => 1u64..20, 1 => 1u64..1 << 40]);
    let ranges = prop::collection::vec(range, 0..6);
    let ahead = prop_oneof![8 => Just(0u64), 1 => 1u64 << 20..1 << 40];
    (ranges, ahead, any::<u16>(), 0u64..5000, 1u64..300).prop_map(
        |(ranges, ahead, marked, delay, wait)| Claim { ranges, ahead, marked, delay, wait },
    )
}

impl Claim {
    fn segment(&self, next: u64, now: Time) -> Segment {
        let (mut ranges, mut end) = (Vec::new(), next + self.ahead);
        for (gap, length) in &self.ranges {
            let Some(last) = end.checked_sub(gap + 1) else { break };
            let start = last.saturating_sub(length - 1);
            ranges.push(Range { start, end: last + 1 });
            end = start.saturating_sub(1);
        }
        let number = ranges.first().map_or(next + self.ahead, |range| range.end - 1);
        let ranges = AckRanges::new(ranges);
        let ack = QuicAck { ranges, marked: self.marked, ..QuicAck::default() };
        let delay = now.since(Time::ZERO).saturating_sub(Duration::from_millis(self.delay));
        let (stamp, echoed_stamp) = (now, Time::ZERO + delay);
        Segment { number, stamp, echoed_stamp, bytes: 67, header: Header::QuicAck(ack) }
    }
}

/// A case under way.
pub struct Run<'a> {
    case: &'a Case,
    sender: Sender,
    receiver: Receiver,
    network: Network,
    ledger: Ledger,
    offers: VecDeque<(Time, u64)>,
    now: Time,
    departures: Vec<(Time, u32)>,
    /// A connection has been asked for, and how often nobody answered in time.
    asks: bool,
    unanswered: u32,
    /// Packets that may leave beyond the window: probes, and one if a recovery begins.
    probes: u32,
    begins_recovery: bool,
    /// The connection's first packet.
    begins_at: u64,
    epochs: u32,
    /// Packets that were in flight when their connection ended.
    forgotten: u64,
}

impl<'a> Run<'a> {
    pub fn new(case: &'a Case) -> Self {
        Self::over(case, case.weather.delay * 2)
    }

    /// A sender that will be told anything, also of impossible round trips.
    pub fn misled(case: &'a Case) -> Self {
        Self::over(case, Duration::ZERO)
    }

    fn over(case: &'a Case, path: Duration) -> Self {
        let ledger = Ledger::default();
        let mut time = Time::ZERO;
        let offers = case.offers.iter().map(|(wait, packets)| {
            time += *wait;
            (time, *packets)
        });
        let law = case.law.make(10.0, path, ledger.clone());
        Self {
            case,
            sender: Sender::new(
                case.settings.clone(),
                law,
                Path::new(Stream::new(case.seed, 1, 0)),
            ),
            receiver: Receiver::new(case.settings.acks, u64::MAX),
            network: Network::new(case.weather, case.seed),
            ledger,
            offers: offers.collect(),
            now: Time::ZERO,
            departures: Vec::new(),
            asks: false,
            unanswered: 0,
            probes: 0,
            begins_recovery: false,
            begins_at: 0,
            epochs: 0,
            forgotten: 0,
        }
    }

    /// When packets left, and with which data.
    pub fn departures(&self) -> &[(Time, u32)] {
        &self.departures
    }

    /// Goes on until everything has been acknowledged; checks that this happens soon after the
    /// network has healed: a timer that has backed off waits for as long again as nothing was
    /// heard, and two packets per round trip leave at the least.
    pub fn finish(&mut self) {
        let last_offer = self.offers.back().map_or(Time::ZERO, |(time, _)| *time);
        let healed = last_offer.max(self.case.weather.heals_at);
        let weather = &self.case.weather;
        let gap = Duration::from_millis(50);
        let round = (weather.delay + weather.jitter) * 2 + self.case.settings.acks.delay + gap;
        let offered: u64 = self.case.offers.iter().map(|(_, packets)| packets).sum();
        let deadline = healed + Duration::from_millis(60_000) + round * 2 * offered;
        while !(self.offers.is_empty() && self.sender.is_done()) {
            self.step();
            assert!(self.now <= deadline, "{} at {}", self.sender.first(), self.now);
        }
    }

    fn step(&mut self) {
        let offer = self.offers.front().map_or(Time::NEVER, |(time, _)| *time);
        let arrival = self.network.next_arrival();
        let timers = self.sender.retransmit_at().min(self.sender.pace_at());
        let next = offer.min(arrival).min(timers).min(self.receiver.wakeup());
        assert!(next < Time::NEVER, "nobody has anything to do, but {}", self.sender.first());
        assert!(next >= self.now, "a timer of {next}, which had passed at {}", self.now);
        self.now = next;
        if next == arrival {
            self.arrive();
        } else if next == offer {
            self.offer();
        } else if next == self.receiver.wakeup() {
            let ack = self.receiver.on_wakeup(next).expect("the acknowledgement is due");
            self.network.put(next, ack);
        } else {
            self.wake();
        }
        self.send();
    }

    fn arrive(&mut self) {
        let Some(segment) = self.network.take() else { return };
        if segment.kind() == Kind::Data {
            if let Some(ack) = self.receiver.on_data(self.now, &segment) {
                self.network.put(self.now, ack);
            }
            return;
        }
        if segment.header == Header::QuicAccept {
            // The answer to an earlier request, of a connection that is over, is not meant.
            self.asks &= segment.number != self.departures.len() as u64;
        } else {
            // What answers a connection that is over changes nothing.
            self.begins_recovery &= segment.number < self.begins_at;
        }
        self.sender.on_ack(self.now, &segment);
    }

    fn offer(&mut self) {
        let Some((_, packets)) = self.offers.pop_front() else { return };
        if self.case.renews && self.sender.is_done() {
            let path = self.case.weather.delay * 2;
            self.forgotten += self.sender.in_flight();
            self.begins_recovery = false;
            self.begins_at = self.departures.len() as u64;
            self.sender.renew(self.case.law.make(10.0, path, self.ledger.clone()));
        }
        self.sender.offer(packets);
    }

    fn wake(&mut self) {
        let due = self.sender.retransmit_at() <= self.now;
        let lost = self.sender.counters().lost;
        self.sender.on_wakeup(self.now);
        if due && self.asks {
            self.unanswered += 1;
        } else if due && self.sender.counters().lost == lost {
            // §6.2.4: one or two packets.
            self.probes = 2;
        }
    }

    /// Lets everything leave that may.
    fn send(&mut self) {
        let epochs = self.sender.counters().epochs;
        self.begins_recovery |= epochs > self.epochs;
        self.epochs = epochs;
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            self.left(&segment);
            self.network.put(self.now, segment);
        }
        self.probes = 0;
        let at = self.sender.retransmit_at();
        let waits = self.sender.in_flight() > 0 || self.asks;
        assert!(at >= self.now && waits == (at < Time::NEVER), "the timer is set to {at}");
        let window = self.sender.controller().window();
        let least = self.sender.controller().least_window();
        assert!(window.is_finite() && window >= least, "a window of {window}");
    }

    fn left(&mut self, segment: &Segment) {
        assert_eq!((segment.kind(), segment.stamp), (Kind::Data, self.now));
        let Header::Data(DataHeader { quic: Some(data), .. }) = segment.header else {
            assert_eq!(segment.header, Header::QuicInitial);
            self.asks = true;
            return;
        };
        assert_eq!(segment.number, self.departures.len() as u64, "one number after the other");
        self.departures.push((self.now, data));
        let controller = self.sender.controller();
        let (limit, window) = (controller.flight_limit(), controller.window());
        let limit = if limit.is_finite() { limit } else { 2.0 * window.max(0.5) };
        if self.sender.in_flight() as f64 > limit.max(1.0) {
            let free = self.probes > 0 || std::mem::take(&mut self.begins_recovery);
            assert!(free, "{} in flight, {limit} may be", self.sender.in_flight());
            self.probes = self.probes.saturating_sub(1);
        }
        let end = self.sender.first() as f64 + self.case.settings.window_limit.floor();
        assert!(f64::from(data) < end, "{data} is beyond the receiver's window");
    }

    /// An acknowledgement that no receiver sends.
    pub fn suffer(&mut self, claim: &Claim) {
        if let Some((_, packets)) = self.offers.pop_front() {
            self.sender.offer(packets);
        }
        // What leaves just now can't have been answered.
        let known = self.departures.len() as u64;
        let due = self.now + Duration::from_millis(claim.wait);
        loop {
            let next = self.sender.retransmit_at().min(self.sender.pace_at());
            if next > due {
                break;
            }
            self.now = next.max(self.now);
            self.wake();
            self.accept();
        }
        self.now = due;
        self.accept();
        let ack = claim.segment(known, self.now);
        // What has not left cannot be acknowledged, and such an acknowledgement is ignored.
        self.begins_recovery &= ack.number >= self.departures.len() as u64;
        self.sender.on_ack(self.now, &ack);
        self.accept();
        assert!(self.sender.first() <= self.departures.len() as u64);
    }

    /// Lets everything leave that may; a connection that is asked for is accepted.
    fn accept(&mut self) {
        self.send();
        if std::mem::take(&mut self.asks) {
            let (stamp, header) = (self.now, Header::QuicAccept);
            let answer = Segment { number: 0, stamp, echoed_stamp: stamp, bytes: 1228, header };
            self.sender.on_ack(self.now, &answer);
            self.send();
        }
    }

    /// Whatever was sent arrived, arrived twice, was lost or is under way; whatever the sender
    /// counts is what was seen from outside and what its law was told.
    pub fn check_counts(&self) {
        let (books, told, counters) =
            (self.network.books(), self.ledger.told(), self.sender.counters());
        let offered: u64 = self.case.offers.iter().map(|(_, packets)| packets).sum();
        assert_eq!((self.receiver.arrived(), self.receiver.next()), (offered, offered));
        assert_eq!(
            counters.sent + books.doubled,
            self.receiver.arrived() + self.receiver.duplicates() + books.lost + books.under_way,
            "sent = arrived + duplicates + lost + under way"
        );
        assert_eq!(counters.sent, self.departures.len() as u64);
        assert_eq!(counters.sent, offered + u64::from(counters.retransmitted));
        assert_eq!(
            (told.lost, told.epochs, told.timeouts + self.unanswered),
            (counters.lost, counters.epochs, counters.timeouts),
            "what the law was told, and what is counted"
        );
        assert_eq!(
            told.acked + f64::from(told.lost) + (self.sender.in_flight() + self.forgotten) as f64,
            counters.sent as f64,
            "each packet is acknowledged, lost, in flight or of a connection that is over"
        );
    }
}

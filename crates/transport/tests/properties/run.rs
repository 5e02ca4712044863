//! A sender and a receiver at the two ends of a network.

use super::case::Case;
use super::law::{Law, Ledger};
use super::network::Network;
use super::watch::{Before, Watch};
use narrows_transport::tcp::Receiver;
use narrows_transport::{Header, Kind, Segment, Sender};
use narrows_units::{Duration, Time};
use std::collections::VecDeque;

/// A case under way.
pub struct Run<'a> {
    case: &'a Case,
    sender: Sender,
    receiver: Receiver,
    network: Network,
    watch: Watch,
    ledger: Ledger,
    offers: VecDeque<(Time, u64)>,
    now: Time,
    departures: Vec<(Time, u64)>,
    /// A connection has been asked for, and how often nobody answered in time.
    asks: bool,
    unanswered: u32,
}

impl<'a> Run<'a> {
    pub fn new(case: &'a Case) -> Self {
        let ledger = Ledger::default();
        let path = case.weather.delay * 2;
        let law = case.law.make(case.habits.initial_window, path, ledger.clone());
        let sender = Sender::new(case.settings(), law, case.place());
        let mut time = Time::ZERO;
        let offers = case.offers.iter().map(|(wait, packets)| {
            time += *wait;
            (time, *packets)
        });
        let receiver = Receiver::new(case.habits.acks, 40, u64::MAX);
        Self {
            case,
            receiver: if case.habits.paces_acks { receiver.paced() } else { receiver },
            network: Network::new(case.weather, case.seed),
            watch: Watch::new(case, &sender),
            sender,
            ledger,
            offers: offers.collect(),
            now: Time::ZERO,
            departures: Vec::new(),
            asks: false,
            unanswered: 0,
        }
    }

    /// When and which packets left.
    pub fn departures(&self) -> &[(Time, u64)] {
        &self.departures
    }

    /// Goes on until everything has been acknowledged; checks that this happens soon after the
    /// network has healed.
    pub fn finish(&mut self) {
        let last_offer = self.offers.back().map_or(Time::ZERO, |(time, _)| *time);
        let healed = last_offer.max(self.case.weather.heals_at);
        let deadline = healed + self.longest();
        // Paced acknowledgements are spread over the round trip that the sender has measured, which
        // they make longer.
        let mut spread = Duration::ZERO;
        while !(self.offers.is_empty() && self.sender.is_done()) {
            self.step();
            if self.case.habits.paces_acks {
                let smoothed = self.sender.rtt().map_or(Duration::ZERO, |rtt| rtt.smoothed);
                spread = spread.max(smoothed * self.case.offered());
            }
            assert!(
                self.now <= deadline + spread,
                "{} of {} packets have been acknowledged {} after the network has healed",
                self.sender.first(),
                self.case.offered(),
                self.now.since(healed)
            );
        }
    }

    /// How long it may take after the network has healed and the last packet has been offered: a
    /// timer that has backed off waits for up to 60 s; then two round trips per packet, as with a
    /// window of one packet, of which each leaves twice.
    fn longest(&self) -> Duration {
        let weather = &self.case.weather;
        let gap = match self.case.law {
            Law::Rate { rate, .. } => Duration::from_secs(1.0 / rate),
            Law::Constant { .. } | Law::Named(_) => Duration::ZERO,
        };
        let round = weather.delay * 2 + weather.jitter + self.case.habits.acks.delay + gap;
        // Where losses look like a policer's, BBRv1 keeps to the rate of the time in which it
        // waited for them for 48 round trips (`bbr_lt_bw_max_rtts` in Linux's net/ipv4/tcp_bbr.c),
        // each of which lasts as long as its packet waits for the pacer.
        let policed = match self.case.law {
            Law::Named("bbr1") => 48,
            _ => 0,
        };
        self.case.habits.timeouts.longest * (1 + policed) + round * 2 * self.case.offered()
    }

    /// Does what comes next.
    fn step(&mut self) {
        let offer = self.offers.front().map_or(Time::NEVER, |(time, _)| *time);
        let arrival = self.network.next_arrival();
        let timers = self.sender.retransmit_at().min(self.sender.pace_at());
        let next = offer.min(arrival).min(timers).min(self.receiver.wakeup());
        assert!(
            next < Time::NEVER,
            "nobody has anything to do, but only {} of {} packets have arrived",
            self.receiver.next(),
            self.case.offered()
        );
        assert!(next >= self.now, "a timer of {next}, which had passed at {}", self.now);
        self.now = next;
        if next == arrival {
            self.arrive();
        } else if next == offer {
            self.offer();
        } else if next == self.receiver.wakeup() {
            // What a receiver has merged may have to wait for more, what it paces for its turn.
            let habits = &self.case.habits;
            let waits = habits.acks.merges_for > Duration::ZERO || habits.paces_acks;
            let ack = self.receiver.on_wakeup(next);
            assert!(ack.is_some() || waits, "the acknowledgement is due");
            assert!(self.receiver.wakeup() > next, "what was due is done");
            ack.into_iter().for_each(|ack| self.network.put(next, ack));
        } else {
            let before = Before::of(&self.sender);
            let due = self.sender.retransmit_at() <= next;
            self.sender.on_wakeup(next);
            if due && self.asks {
                self.unanswered += 1;
                assert_eq!(self.sender.retransmit_at(), Time::NEVER, "it asks again at once");
            } else if due {
                self.watch.woken(next, before, &self.sender);
                assert!(self.sender.retransmit_at() > next, "a timer that went off runs anew");
            }
        }
        self.send();
        self.check_timer();
    }

    fn arrive(&mut self) {
        let Some(segment) = self.network.take() else { return };
        if segment.kind() == Kind::Data {
            if let Some(ack) = self.receiver.on_data(self.now, &segment) {
                self.network.put(self.now, ack);
            }
        } else {
            let before = Before::of(&self.sender);
            self.sender.on_ack(self.now, &segment);
            if segment.header == Header::SYN_ACK {
                self.asks = false;
                return;
            }
            self.watch.acked(self.now, before, &segment, &self.sender);
        }
    }

    fn offer(&mut self) {
        let Some((_, packets)) = self.offers.pop_front() else { return };
        if self.case.renews && self.sender.is_done() {
            let path = self.case.weather.delay * 2;
            let window = self.case.habits.initial_window;
            self.sender.renew(self.case.law.make(window, path, self.ledger.clone()));
        }
        self.sender.offer(packets);
        self.watch.offered(packets);
    }

    /// Lets everything leave that may.
    fn send(&mut self) {
        loop {
            let before = Before::of(&self.sender);
            let Some(segment) = self.sender.poll_transmit(self.now) else { break };
            self.left(before, segment);
        }
        let window = self.sender.controller().window();
        let least = self.sender.controller().least_window();
        assert!(window.is_finite() && window >= least, "a window of {window}");
    }

    fn left(&mut self, before: Before, segment: Segment) {
        if segment.header == Header::SYN {
            assert_eq!((segment.stamp, segment.number), (self.now, self.watch.end));
            assert_eq!(self.sender.first(), self.watch.end, "nothing of it has left before");
            self.asks = true;
            self.network.put(self.now, segment);
            return;
        }
        assert_eq!((segment.kind(), segment.stamp), (Kind::Data, self.now));
        self.watch.left(before, segment.number, segment.is_retransmission(), &self.sender);
        self.departures.push((self.now, segment.number));
        self.network.put(self.now, segment);
    }

    /// The retransmission timer runs if and only if something is outstanding, and is never in the
    /// past.
    fn check_timer(&self) {
        let at = self.sender.retransmit_at();
        assert!(at >= self.now, "the timer is set to {at}, which has passed at {}", self.now);
        let outstanding = self.sender.first() < self.watch.end || self.asks;
        assert!(
            outstanding == (at < Time::NEVER),
            "{} is the lowest not acknowledged of {}, and the timer is set to {at}",
            self.sender.first(),
            self.watch.end
        );
    }

    /// No packet is beyond the receiver's window, which begins at the last number acknowledged
    /// (RFC 9293 §3.8.6).
    pub fn finish_within_the_receivers_window(&mut self) {
        let mut seen = 0;
        while !(self.offers.is_empty() && self.sender.is_done()) {
            let first = self.sender.first();
            self.step();
            let first = first.max(self.sender.first()) as f64;
            for (_, number) in &self.departures[seen..] {
                assert!(
                    (*number as f64) < first + self.case.window_limit,
                    "{number} left, {first} is the lowest not acknowledged, and the receiver's \
                     window is {}",
                    self.case.window_limit
                );
            }
            seen = self.departures.len();
        }
    }

    /// A window of W packets lets W leave per round trip: a packet leaves the pipe when it, or one
    /// that left after it, is acknowledged, and that is a round trip after it left at the earliest.
    /// Each timeout empties the pipe (RFC 6675 §5.1), and the retransmission that begins a recovery
    /// needs no room (§5, step 4.3), nor does a loss probe (RFC 8985 §7.3).
    pub fn check_rate(&self) {
        let counters = self.sender.counters();
        let path = self.case.weather.delay * 2;
        let trips = self.now.since(Time::ZERO).picos() / path.picos() + 1;
        let windows = trips + u64::from(counters.timeouts);
        let window = self.sender.controller().window().floor() as u64;
        let allowed = window * windows + u64::from(counters.epochs) + self.watch.quiet;
        assert!(
            counters.sent <= allowed,
            "{} packets left in {trips} round trips with {} timeouts and {} recoveries; a window of \
             {window} allows {allowed}",
            counters.sent,
            counters.timeouts,
            counters.epochs
        );
    }

    /// Whatever was sent arrived, arrived twice, was lost or is under way; whatever the sender
    /// counts is what was seen from outside and what its law was told.
    pub fn check_counts(&self) {
        let (books, told) = (self.network.books(), self.ledger.told());
        let counters = self.sender.counters();
        let offered = self.case.offered();
        assert_eq!((self.receiver.arrived(), self.receiver.next()), (offered, offered));
        assert_eq!(
            counters.sent + books.doubled,
            self.receiver.arrived() + self.receiver.duplicates() + books.lost + books.under_way,
            "sent = arrived + duplicates + lost + under way"
        );
        assert_eq!(counters.sent, self.watch.sent);
        assert_eq!(u64::from(counters.retransmitted), self.watch.again);
        assert_eq!(counters.sent, offered + self.watch.again);
        assert_eq!(
            (told.lost, told.epochs, told.timeouts + self.unanswered, told.spurious),
            (counters.lost, counters.epochs, counters.timeouts, counters.spurious),
            "what the law was told, and what is counted"
        );
        if self.case.habits.counts_packets {
            assert_eq!(told.acked, offered as f64, "each packet is acknowledged once");
        }
    }
}

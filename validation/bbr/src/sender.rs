//! A sender as QUIC has it: each packet has a number of its own, and one is lost when one that left
//! three later has been acknowledged (RFC 9002 §6.1.1). What was lost is not sent again; nothing
//! here depends on the data.

use crate::law::{Arrival, Law, Sent};
use crate::path::{Application, Bottleneck, Fate, Path};
use narrows_units::{Duration, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// How departing packets are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// One at a time, in even gaps.
    Even,
    /// noq-proto's token bucket (src/connection/pacing.rs, `rate_capacity`): 2 ms at the rate, but
    /// at least ten packets and at most 256, and those at most 10 ms.
    Bucket,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A packet is at the receiver.
    Data(u64),
    /// These packets are acknowledged.
    Ack(Vec<u64>),
    /// The receiver has waited long enough, unless it has answered since.
    Delayed(u64),
    /// The sender looks whether it can send.
    Wake,
}

/// What happened to packets during a run, from `since` on.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    pub sent: u64,
    pub dropped: u64,
    pub departed: u64,
}

/// A connection over a path.
pub struct Run<'a, L> {
    pub law: L,
    path: &'a Path,
    spacing: Spacing,
    bottleneck: Bottleneck,
    application: Application,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    scheduled: u64,
    now: Time,
    next: u64,
    outstanding: BTreeMap<u64, Sent>,
    /// Thought lost in the last recovery, and not arrived since.
    lost: BTreeSet<u64>,
    lost_any: bool,
    recovery_ends: Option<u64>,
    largest: u64,
    app_limited: bool,
    rtt: Duration,
    heard_at: Time,
    tokens: f64,
    filled_at: Time,
    ready_at: Time,
    wake_at: Time,
    expected: u64,
    unanswered: Vec<u64>,
    answers: u64,
    since: Time,
    pub counts: Counts,
    /// Prints each loss as it happens.
    pub verbose: bool,
}

impl<'a, L: Law> Run<'a, L> {
    pub fn new(law: L, path: &'a Path, spacing: Spacing, seed: u64, since: Time) -> Self {
        let mut run = Self {
            law,
            path,
            spacing,
            bottleneck: Bottleneck::new(seed),
            application: Application::default(),
            events: BinaryHeap::new(),
            scheduled: 0,
            now: Time::ZERO,
            next: 0,
            outstanding: BTreeMap::new(),
            lost: BTreeSet::new(),
            lost_any: false,
            recovery_ends: None,
            largest: 0,
            app_limited: false,
            rtt: Duration::from_millis(333),
            heard_at: Time::ZERO,
            tokens: 10.0,
            filled_at: Time::ZERO,
            ready_at: Time::ZERO,
            wake_at: Time::NEVER,
            expected: 0,
            unanswered: Vec::new(),
            answers: 0,
            since,
            counts: Counts::default(),
            verbose: false,
        };
        run.wake(Time::ZERO);
        run
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.scheduled += 1;
        self.events.push(Reverse((at, self.scheduled, event)));
    }

    /// Looks at `at`, and not at the time set before.
    fn wake(&mut self, at: Time) {
        if at != self.wake_at {
            self.wake_at = at;
            self.schedule(at, Event::Wake);
        }
    }

    /// Runs until `end`.
    pub fn until(&mut self, end: Time) {
        while self.events.peek().is_some_and(|Reverse((at, ..))| *at <= end) {
            let Some(Reverse((at, _, event))) = self.events.pop() else { return };
            self.now = at;
            match event {
                Event::Data(number) => self.receive(number),
                Event::Ack(numbers) => self.hear(&numbers),
                Event::Delayed(answers) if answers == self.answers => self.answer(),
                Event::Delayed(_) => {}
                Event::Wake if at == self.wake_at => {
                    self.wake_at = Time::NEVER;
                    self.send();
                }
                Event::Wake => {}
            }
        }
        self.now = end;
    }

    /// Packets in the queue now.
    pub fn queue(&mut self) -> usize {
        self.bottleneck.queue(self.now)
    }

    pub fn in_flight(&self) -> usize {
        self.outstanding.len()
    }

    fn receive(&mut self, number: u64) {
        self.unanswered.push(number);
        let in_order = number == self.expected;
        self.expected = self.expected.max(number + 1);
        if !in_order || self.unanswered.len() >= self.path.ack_every {
            self.answer();
        } else if self.unanswered.len() == 1 {
            self.schedule(self.now + Duration::from_millis(25), Event::Delayed(self.answers));
        }
    }

    fn answer(&mut self) {
        self.answers += 1;
        let numbers = std::mem::take(&mut self.unanswered);
        if numbers.is_empty() {
            return;
        }
        let hold = self.path.hold.at(self.now).picos().max(1);
        let at = Time::from_picos(self.now.picos().div_ceil(hold) * hold);
        self.schedule(at, Event::Ack(numbers));
    }

    fn hear(&mut self, numbers: &[u64]) {
        self.heard_at = self.now;
        let in_flight = self.outstanding.len();
        let mut acked: Vec<Sent> =
            numbers.iter().filter_map(|number| self.outstanding.remove(number)).collect();
        acked.sort_by_key(|packet| packet.number);
        numbers.iter().for_each(|number| {
            self.lost.remove(number);
        });
        if self.lost_any && self.lost.is_empty() {
            self.lost_any = false;
            self.law.was_spurious();
        }
        let Some(newest) = acked.last().copied() else { return };
        self.rtt = self.now.since(newest.at);
        self.largest = self.largest.max(newest.number);
        let recovering = self.recovery_ends.is_some_and(|end| newest.number < end);
        if !recovering {
            self.recovery_ends = None;
        }
        let (lost, opens_recovery) = self.find_losses();
        let arrival = Arrival {
            now: self.now,
            acked: &acked,
            lost: &lost,
            in_flight,
            next: self.next,
            opens_recovery,
            recovering: self.recovery_ends.is_some(),
            app_limited: self.app_limited,
        };
        self.law.arrives(&arrival);
        self.send();
    }

    fn find_losses(&mut self) -> (Vec<Sent>, bool) {
        let limit = (self.largest + 1).saturating_sub(3);
        let later = self.outstanding.split_off(&limit);
        let lost: Vec<Sent> =
            std::mem::replace(&mut self.outstanding, later).into_values().collect();
        let opens = !lost.is_empty() && self.recovery_ends.is_none();
        if opens {
            self.recovery_ends = Some(self.next);
            self.lost.clear();
            self.lost_any = true;
        }
        if self.verbose {
            let shown = self.law.shows();
            for packet in &lost {
                println!(
                    "{:9.4} {:8} packet {} is lost, which left at {:.4}",
                    self.now.seconds(),
                    shown.state,
                    packet.number,
                    packet.at.seconds()
                );
            }
        }
        self.lost.extend(lost.iter().map(|packet| packet.number));
        (lost, opens)
    }

    /// Sends what window, pacing and application allow. A probe leaves in any case if nothing has
    /// been heard for a while.
    fn send(&mut self) {
        loop {
            let silence = Duration::from_secs(3.0 * self.rtt.seconds());
            let probes = !self.outstanding.is_empty() && self.now >= self.heard_at + silence;
            if !self.application.has_packet(self.now, self.path) {
                self.app_limited = true;
                self.law.has_nothing(self.outstanding.len());
                if let Some(at) = self.application.next(self.now, self.path) {
                    self.wake(at);
                }
                return;
            }
            self.app_limited = false;
            if !probes && (self.outstanding.len() + 1) as f64 > self.law.window() {
                self.law.is_full();
                self.wake(self.now.max(self.heard_at + silence));
                return;
            }
            if let Some(at) = self.paced_until() {
                self.wake(at);
                return;
            }
            if probes {
                self.heard_at = self.now;
            }
            self.transmit();
        }
    }

    /// When the pacer lets the next packet go, if not now.
    fn paced_until(&mut self) -> Option<Time> {
        if self.spacing == Spacing::Even {
            return (self.ready_at > self.now).then_some(self.ready_at);
        }
        let rate = self.law.rate();
        let capacity = (0.002 * rate).clamp(10.0, 256.0).min((0.01 * rate).max(1.0));
        let earned = rate * self.now.since(self.filled_at).seconds();
        self.tokens = (self.tokens + earned).min(capacity);
        self.filled_at = self.now;
        if self.tokens >= 1.0 - 1e-9 {
            return None;
        }
        // A nanosecond more, so that rounding never leaves a part of a packet to wait for.
        let wait = Duration::from_secs((1.0 - self.tokens) / rate + 1e-9);
        Some(self.now + wait)
    }

    fn transmit(&mut self) {
        let packet = Sent { number: self.next, at: self.now };
        self.next += 1;
        self.outstanding.insert(packet.number, packet);
        self.law.departs(packet, self.outstanding.len());
        self.application.sent(self.now, self.path);
        self.tokens = (self.tokens - 1.0).max(0.0);
        self.ready_at = self.now + Duration::from_secs(1.0 / self.law.rate());
        if self.outstanding.len() == 1 {
            self.heard_at = self.now;
        }
        let fate = self.bottleneck.take(self.now, self.path);
        if let Fate::Arrives { arrival, .. } = fate {
            self.schedule(arrival, Event::Data(packet.number));
        }
        if self.now >= self.since {
            self.counts.sent += 1;
            self.counts.dropped += u64::from(fate == Fate::Dropped);
        }
        if let Fate::Lost(departure) | Fate::Arrives { departure, .. } = fate {
            self.counts.departed += u64::from(departure >= self.since);
        }
    }
}

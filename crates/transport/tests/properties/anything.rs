//! A sender to which anything is said, also what no receiver would say.

use super::case::{Case, case, plain_case};
use super::law::Ledger;
use narrows_signal::{Range, SackBlocks};
use narrows_transport::{AckHeader, Header, Segment, Sender};
use narrows_units::{Duration, Time};
use proptest::prelude::*;

/// Something that happens to a sender.
#[derive(Clone, Debug)]
pub enum Happening {
    Offer(u64),
    Ack(Claim),
    /// The next of its timers goes off, if it does so within a minute.
    Timer,
    /// It is woken although nothing is due.
    Wakeup,
    Wait(Duration),
    Stop,
    Renew,
}

/// What an acknowledgement claims, relative to what the sender has sent.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The number acknowledged, above or below the lowest outstanding.
    number: i64,
    /// SACK blocks as distance above the number and length.
    blocks: Vec<(u64, u64)>,
    /// The echoed stamp, in milliseconds before now; after now if negative.
    age: i64,
    marked: u16,
    ece: bool,
    /// The first block is a packet that has arrived before.
    duplicate: bool,
}

fn claim() -> impl Strategy<Value = Claim> {
    let far = || any::<i32>().prop_map(i64::from);
    let number = prop_oneof![4 => Just(0i64), 4 => 0i64..12, 1 => -20i64..2000, 1 => far()];
    let start = prop_oneof![8 => 0u64..40, 1 => 0u64..u64::from(u32::MAX)];
    let length = prop_oneof![8 => 0u64..12, 1 => 0u64..u64::from(u32::MAX)];
    let blocks = prop::collection::vec((start, length), 0..=4);
    let age = prop_oneof![4 => 0i64..300, 1 => far()];
    let flags = (any::<u16>(), any::<bool>(), any::<bool>());
    (number, blocks, age, flags).prop_map(|(number, blocks, age, (marked, ece, duplicate))| Claim {
        number,
        blocks,
        age,
        marked,
        ece,
        duplicate,
    })
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        2 => (1u64..50).prop_map(Happening::Offer),
        12 => claim().prop_map(Happening::Ack),
        3 => Just(Happening::Timer),
        1 => Just(Happening::Wakeup),
        4 => (0u64..300).prop_map(|millis| Happening::Wait(Duration::from_millis(millis))),
        1 => Just(Happening::Stop),
        1 => Just(Happening::Renew),
    ]
}

/// Any sender and what happens to it.
pub fn story() -> impl Strategy<Value = (Case, Vec<Happening>)> {
    (case(), prop::collection::vec(happening(), 1..120))
}

/// A sender of which the plain way is usual, and what happens to it: bare acknowledgements, mostly.
pub fn plain_story() -> impl Strategy<Value = (Case, Vec<Happening>)> {
    let bare = (0i64..4, 0i64..300).prop_map(|(number, age)| {
        let blocks = Vec::new();
        Happening::Ack(Claim { number, blocks, age, marked: 0, ece: false, duplicate: false })
    });
    let offer = (1u64..50).prop_map(Happening::Offer);
    let happening = prop_oneof![10 => bare, 2 => offer, 3 => happening()];
    let happenings = (1u64..400, prop::collection::vec(happening, 1..120));
    let happenings = happenings.prop_map(|(offered, mut happenings)| {
        happenings.insert(0, Happening::Offer(offered));
        happenings
    });
    (plain_case(), happenings)
}

/// A sender under fire.
pub struct Target<'a> {
    case: &'a Case,
    sender: Sender,
    ledger: Ledger,
    now: Time,
    /// One past the highest number that left, and what was offered.
    end: u64,
    offered: u64,
    /// What has left.
    departures: Vec<(Time, Segment)>,
}

impl<'a> Target<'a> {
    pub fn new(case: &'a Case) -> Self {
        let ledger = Ledger::default();
        let law = case.law.make(case.habits.initial_window, Duration::ZERO, ledger.clone());
        let sender = Sender::new(case.settings(), law, case.place());
        let departures = Vec::new();
        Self { case, sender, ledger, now: Time::ZERO, end: 0, offered: 0, departures }
    }

    /// The same, whose sender has no plain way.
    pub fn general(case: &'a Case) -> Self {
        let target = Self::new(case);
        Self { sender: target.sender.without_plain_way(), ..target }
    }

    /// Everything that can be seen of it, in words.
    pub fn state(&self) -> String {
        let Self { sender, ledger, now, departures, .. } = self;
        let law = sender.controller();
        format!(
            "{now} {:?} {:?} {:?} {:?} {:?} {} {} {} {:?} {:?} {:?} {:?}",
            ledger.told(),
            sender.counters(),
            sender.limited(*now),
            sender.retransmit_at(),
            sender.pace_at(),
            sender.in_flight(),
            sender.first(),
            sender.recovering(),
            sender.rtt(),
            (law.window(), law.ssthresh(), law.flight_limit()),
            departures.len(),
            departures.last(),
        )
    }

    pub fn suffer(&mut self, happening: &Happening) {
        let first = self.sender.first();
        match happening {
            Happening::Offer(packets) => {
                self.sender.offer(*packets);
                self.offered += packets;
            }
            Happening::Ack(claim) => self.sender.on_ack(self.now, &claim.segment(first, self.now)),
            Happening::Timer => self.wait_for_timer(),
            Happening::Wakeup => self.sender.on_wakeup(self.now),
            Happening::Wait(time) => {
                let due = self.sender.retransmit_at();
                self.now = (self.now + *time).min(due);
            }
            Happening::Stop => {
                self.sender.stop();
                self.offered = self.end;
            }
            Happening::Renew => {
                let (window, ledger) = (self.case.habits.initial_window, self.ledger.clone());
                self.sender.renew(self.case.law.make(window, Duration::ZERO, ledger));
            }
        }
        self.send();
        assert!(self.sender.first() >= first, "what was acknowledged stays so");
    }

    fn wait_for_timer(&mut self) {
        let due = self.sender.retransmit_at().min(self.sender.pace_at());
        if due.since(self.now) <= self.case.habits.timeouts.longest {
            self.now = due.max(self.now);
            self.sender.on_wakeup(self.now);
        }
    }

    fn send(&mut self) {
        // Whatever happens, a window of packets leaves at most, and a burst.
        let window = self.sender.controller().flight_limit().min(self.case.window_limit);
        let most = window.max(self.sender.controller().window()) as u64 + 600;
        for _ in 0..most {
            let Some(segment) = self.sender.poll_transmit(self.now) else { return self.check() };
            self.departures.push((self.now, segment));
            if segment.header == Header::SYN {
                let (number, stamp) = (segment.number, self.now);
                let header = Header::SYN_ACK;
                let answer = Segment { number, stamp, echoed_stamp: stamp, bytes: 60, header };
                self.sender.on_ack(self.now, &answer);
                continue;
            }
            assert!(segment.number <= self.end && segment.number < self.offered);
            assert!(segment.number >= self.sender.first());
            self.end = self.end.max(segment.number + 1);
        }
        panic!("{most} packets leave at one moment with a window of {window}");
    }

    fn check(&self) {
        let (sender, window) = (&self.sender, self.sender.controller().window());
        assert!(sender.first() <= self.end, "what was never sent cannot be acknowledged");
        let least = sender.controller().least_window();
        assert!(window.is_finite() && window >= least, "a window of {window}");
        let outstanding = self.end - sender.first();
        // Of each packet outstanding the original and a retransmission may be in the pipe.
        assert!(sender.in_flight() <= 2 * outstanding);
        let at = sender.retransmit_at();
        assert!(at >= self.now && (outstanding > 0) == (at < Time::NEVER), "timer at {at}");
    }

    /// From here on all that leaves is acknowledged at once, and lost never.
    pub fn make_peace(&mut self) {
        self.sender.offer(1);
        self.offered += 1;
        // A timer may have backed off, and a law sends a packet per round trip at the least.
        for _ in 0..20 * self.offered + 100 {
            self.send();
            if self.sender.is_done() {
                return;
            }
            let due = self.sender.retransmit_at().min(self.sender.pace_at());
            assert!(due < Time::NEVER, "{} of {}", self.sender.first(), self.offered);
            // A pacer that was told of a round trip of days waits for days.
            let idle = self.sender.first() == self.end;
            let trip = if idle { Time::NEVER } else { self.now + Duration::from_millis(100) };
            self.now = due.min(trip).max(self.now);
            self.sender.on_wakeup(self.now);
            self.send();
            let all = Claim {
                number: 0,
                blocks: Vec::new(),
                age: 0,
                marked: 0,
                ece: false,
                duplicate: false,
            };
            let ack = all.segment(self.end, self.now);
            self.sender.on_ack(self.now, &ack);
        }
        panic!("{} of {} have been acknowledged", self.sender.first(), self.offered);
    }
}

impl Claim {
    fn segment(&self, first: u64, now: Time) -> Segment {
        let number = first.saturating_add_signed(self.number);
        let most = number + u64::from(u32::MAX);
        let blocks = self.blocks.iter().map(|(start, length)| {
            let start = number + start;
            Range { start, end: (start + length).min(most) }
        });
        let sack = SackBlocks::of(number, blocks.filter(|block| !block.is_empty()));
        let age = Duration::from_millis(self.age.unsigned_abs());
        let echoed_stamp = if self.age < 0 {
            now + age
        } else {
            Time::ZERO + now.since(Time::ZERO).saturating_sub(age)
        };
        let header = Header::Ack(AckHeader {
            sack,
            marked: self.marked,
            ece: self.ece,
            duplicate: self.duplicate,
            ..AckHeader::default()
        });
        Segment { number, stamp: now, echoed_stamp, bytes: 40, header }
    }
}

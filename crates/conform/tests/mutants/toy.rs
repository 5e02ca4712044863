//! A sender as RFC 9002 has it, with NewReno, small enough to be read; and one fault of it.

use narrows_scenario::{Offered, Stack, StackEnds, Transfer, Wish};
use narrows_signal::Ecn;
use narrows_sim::{Endpoint, Told, Transmit};
use narrows_units::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    Nothing,
    /// The window after a loss, as a share of that before.
    Beta(f64),
    /// A loss below the last peak costs more, as in quinn's pull request 2640.
    SecondBeta(f64),
    /// Each lost packet reduces the window.
    ReducesForEach,
    /// A packet is lost once so many that were sent later have arrived.
    Threshold(u64),
    TimeoutReduces,
    /// A timer grows by so much, not twofold.
    BackOffAdds(Duration),
    NeverStartsAnew,
    InitialWindow(f64),
    /// Packets by which the window grows for each that is acknowledged in slow start.
    SlowStart(f64),
    /// Packets by which it grows each round in congestion avoidance.
    Avoidance(f64),
    CountsAcks,
    /// Of what an acknowledgement repeats only the last two count, so that none may be lost.
    HearsTheLast,
    StaysInSlowStart,
    IgnoresMarks,
    MarkReducesTwice,
    /// Each loss in the round after a reduction is another one.
    LeavesRecoveryAtOnce,
    StuckAtFloor,
    /// It stops to grow at so many packets.
    StandsStill(f64),
    Unpaced,
    Bursts,
    /// Its pace over cwnd/srtt.
    Pace(f64),
    NoProbe,
    Storm,
    ScalableBit,
    /// What arrives twice is a loss.
    DuplicatesReduce,
    /// An acknowledgement that says nothing new is a loss.
    DoubleAcksReduce,
    /// What the application does not use of the window grows, too.
    GrowsWhileLimited,
    /// The window is twice as large after a silence.
    GrowsInSilence,
    /// That the path takes ECN's bits off is not looked at.
    NeverValidates,
    /// A probe timeout is four times as long.
    LateProbe,
    /// What is sent again is lost only once the timer says so.
    RepairsOnce,
    /// What is lost for long leaves no threshold.
    ForgetsThreshold,
    /// A packet is lost if there is no answer within one and a half of the least round trip.
    LeastRoundTrip,
    /// Slow start ends as soon as a round trip is longer.
    LeavesWhenLate,
    /// CUBIC's time goes on in silence; and its window grows at once to where that is.
    TimeInSilence,
    TimeInSilenceAtOnce,
    NoFastConvergence,
    HiddenClock,
}

/// Bytes of a packet's payload.
const PAYLOAD: usize = 1252;
/// The largest window in packets.
const MOST: f64 = 5000.0;
/// Packets of a burst.
const BURST: u64 = 32;
/// Numbers that an acknowledgement repeats, so that some may be lost.
const REPEATED: usize = 150;

/// How the window grows in congestion avoidance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    Reno,
    /// RFC 9438 without its Reno-friendly region.
    Cubic,
}

/// The stack with a fault, as scenarios name it.
pub struct Toy(pub Law, pub Fault);

impl Stack for Toy {
    fn name(&self) -> &'static str {
        "toy"
    }

    fn packet(&self) -> u32 {
        PAYLOAD as u32 + Transmit::UDP_HEADERS
    }

    fn ends(&self, wish: &Wish) -> Result<StackEnds, String> {
        Ok((Box::new(Near::new(self.0, self.1, &wish.transfer)), Box::<Far>::default()))
    }
}

struct Sent {
    at: Time,
    /// It carries what was lost.
    repeats: bool,
}

struct Near {
    law: Law,
    fault: Fault,
    /// Packets of data that there are, that have been sent, and that were lost.
    total: u64,
    fresh: u64,
    lost: u64,
    offered: Offered,
    /// The application, not the window, was the limit when it was last asked.
    limited: bool,
    no_ecn: bool,
    /// Since when nothing is under way.
    silent: Option<Time>,
    least_rtt: f64,
    /// CUBIC's W_max, and when its epoch began.
    w_max: f64,
    epoch: Option<Time>,
    next: u64,
    outstanding: BTreeMap<u64, Sent>,
    largest: Option<u64>,
    marks: u64,
    doubles: u64,
    window: f64,
    threshold: f64,
    peak: f64,
    /// What was sent until then has been answered for.
    recovery: Option<Time>,
    srtt: Option<f64>,
    variance: f64,
    latest: f64,
    timeouts: i32,
    probes: u32,
    last_sent: Time,
    next_at: Time,
    now: Time,
}

impl Near {
    fn new(law: Law, fault: Fault, transfer: &Transfer) -> Self {
        let total = transfer.bytes.map_or(u64::MAX, |bytes| bytes.div_ceil(PAYLOAD as u64));
        let window = if let Fault::InitialWindow(packets) = fault { packets } else { 10.0 };
        Self {
            law,
            fault,
            total,
            fresh: 0,
            lost: 0,
            offered: transfer.offered.clone(),
            limited: false,
            no_ecn: false,
            silent: None,
            least_rtt: f64::INFINITY,
            w_max: 0.0,
            epoch: None,
            next: 0,
            outstanding: BTreeMap::new(),
            largest: None,
            marks: 0,
            doubles: 0,
            window,
            threshold: f64::INFINITY,
            peak: 0.0,
            recovery: None,
            srtt: None,
            variance: 0.0,
            latest: 0.0,
            timeouts: 0,
            probes: 0,
            last_sent: Time::ZERO,
            next_at: Time::ZERO,
            now: Time::ZERO,
        }
    }

    /// srtt + max(4 · rttvar, 1 ms) + 25 ms (RFC 9002, §6.2.1).
    fn probe_timeout(&self) -> f64 {
        let srtt = self.srtt.unwrap_or(0.333);
        let timeout = srtt + (4.0 * self.variance).max(1e-3) + 0.025;
        if self.fault == Fault::LateProbe { 4.0 * timeout } else { timeout }
    }

    fn deadline(&self) -> Time {
        if self.outstanding.is_empty() || self.fault == Fault::NoProbe {
            return Time::NEVER;
        }
        let timeout = match self.fault {
            Fault::BackOffAdds(more) => {
                self.probe_timeout() + more.seconds() * f64::from(self.timeouts)
            }
            Fault::Storm => self.probe_timeout(),
            _ => self.probe_timeout() * 2_f64.powi(self.timeouts),
        };
        self.last_sent + Duration::from_secs(timeout)
    }

    /// When a packet is lost because others that left so much later have arrived (§6.1.2).
    fn lost_at(&self) -> Time {
        let largest = self.largest.unwrap_or(0);
        // Higher numbers left later.
        let largest = if self.fault == Fault::LeastRoundTrip { u64::MAX } else { largest };
        let older = self.outstanding.range(..largest).map(|(_, sent)| sent.at).next();
        older.map_or(Time::NEVER, |at| at + self.patience())
    }

    fn patience(&self) -> Duration {
        if self.fault == Fault::LeastRoundTrip {
            return Duration::from_secs(1.5 * self.least_rtt.min(10.0));
        }
        Duration::from_secs(1.125 * self.latest.max(self.srtt.unwrap_or(0.0)))
    }

    fn sample(&mut self, rtt: f64) {
        self.latest = rtt;
        self.least_rtt = self.least_rtt.min(rtt);
        if self.fault == Fault::LeavesWhenLate && rtt > 1.1 * self.least_rtt {
            self.threshold = self.threshold.min(self.window);
        }
        let Some(srtt) = self.srtt else {
            (self.srtt, self.variance) = (Some(rtt), rtt / 2.0);
            return;
        };
        self.variance = 0.75 * self.variance + 0.25 * (srtt - rtt).abs();
        self.srtt = Some(0.875 * srtt + 0.125 * rtt);
    }

    fn grow(&mut self, now: Time, packets: f64) {
        if self.limited && self.fault != Fault::GrowsWhileLimited {
            return;
        }
        if self.window < self.threshold || self.fault == Fault::StaysInSlowStart {
            let each = if let Fault::SlowStart(each) = self.fault { each } else { 1.0 };
            self.window += each * packets;
        } else if self.law == Law::Cubic {
            self.window += packets * (self.target(now) / self.window - 1.0);
        } else {
            let each = if let Fault::Avoidance(each) = self.fault { each } else { 1.0 };
            self.window += each * packets / self.window;
        }
        let most = if let Fault::StandsStill(most) = self.fault { most } else { MOST };
        self.window = self.window.min(most);
    }

    /// Where CUBIC's window is a round trip later (RFC 9438, §4.2).
    fn target(&mut self, now: Time) -> f64 {
        let t = now.since(*self.epoch.get_or_insert(now)).seconds() + self.latest;
        let k = (self.w_max * 0.3 / 0.4).cbrt();
        let most = match self.fault {
            Fault::TimeInSilenceAtOnce => f64::INFINITY,
            _ => 1.5 * self.window,
        };
        (0.4 * (t - k).powi(3) + self.w_max).clamp(self.window, most.max(self.window))
    }

    /// Whether the application has nothing more to send at `now`.
    fn is_limited(&self, now: Time) -> bool {
        let offered = self.offered.by(now).div_ceil(PAYLOAD as u64);
        self.lost == 0 && self.fresh >= self.total.min(offered)
    }

    /// Nothing was under way until `now`.
    fn ends_silence(&mut self, now: Time) {
        let Some(since) = self.silent.take() else { return };
        let silent = now.since(since);
        let runs = matches!(self.fault, Fault::TimeInSilence | Fault::TimeInSilenceAtOnce);
        self.epoch = self.epoch.map(|epoch| if runs { epoch } else { epoch + silent });
        if self.fault == Fault::GrowsInSilence && silent.seconds() > 1.0 {
            self.window *= 2.0;
        }
    }

    /// What was sent at `at` was lost, or marked.
    fn congestion(&mut self, now: Time, at: Time) {
        let answered = match self.fault {
            Fault::ReducesForEach => false,
            Fault::LeavesRecoveryAtOnce => self.recovery.is_some_and(|from| now <= from),
            _ => self.recovery.is_some_and(|from| at <= from),
        };
        if answered {
            return;
        }
        self.recovery = Some(now);
        let beta = match self.fault {
            Fault::Beta(beta) => beta,
            Fault::SecondBeta(beta) if self.window < self.peak => beta,
            _ if self.law == Law::Cubic => 0.7,
            _ => 0.5,
        };
        let lower = self.window < self.w_max && self.fault != Fault::NoFastConvergence;
        self.w_max = if lower { 0.85 * self.window } else { self.window };
        self.epoch = None;
        self.peak = self.window;
        self.window = (self.window * beta).max(2.0);
        self.threshold = self.window;
        if self.fault == Fault::StuckAtFloor && self.window < 10.0 {
            self.fault = Fault::StandsStill(self.window);
        }
    }

    fn find_lost(&mut self, now: Time) {
        let Some(largest) = self.largest else { return };
        let threshold = if let Fault::Threshold(packets) = self.fault { packets } else { 3 };
        let wait = self.patience();
        let end = if self.fault == Fault::LeastRoundTrip { u64::MAX } else { largest };
        let older = self.outstanding.range(..end);
        let is_lost = |(number, sent): &(&u64, &Sent)| {
            **number + threshold <= largest || sent.at + wait <= now
        };
        let once = self.fault == Fault::RepairsOnce;
        let waits = Duration::from_secs(8.0 * wait.seconds());
        let late = |sent: &Sent| !(once && sent.repeats) || sent.at + waits <= now;
        let lost: Vec<(u64, Time)> = older
            .take_while(is_lost)
            .filter(|(_, sent)| late(sent))
            .map(|(number, sent)| (*number, sent.at))
            .collect();
        let Some(((_, first), (_, last))) = lost.first().zip(lost.last()) else { return };
        let span = last.since(*first).seconds();
        for (number, at) in &lost {
            self.outstanding.remove(number);
            self.lost += 1;
            if self.fault == Fault::ReducesForEach {
                self.congestion(now, *at);
            }
        }
        self.congestion(now, *last);
        if span > 3.0 * self.probe_timeout() && self.fault != Fault::NeverStartsAnew {
            self.window = 2.0;
            if self.fault == Fault::ForgetsThreshold {
                self.threshold = 2.0;
            }
        }
    }

    fn hear(&mut self, now: Time, ack: &Ack) {
        let heard = if self.fault == Fault::HearsTheLast { 2 } else { usize::MAX };
        let numbers = ack.numbers.iter().copied().take(heard);
        let known: Vec<u64> = numbers.filter(|it| self.outstanding.contains_key(it)).collect();
        let mut newest = None;
        for number in &known {
            let Some(sent) = self.outstanding.remove(number) else { continue };
            if self.largest.is_none_or(|largest| *number > largest) {
                newest = Some(sent.at);
                self.largest = Some(*number);
            }
            if self.recovery.is_none_or(|from| sent.at > from) && self.fault != Fault::CountsAcks {
                self.grow(now, 1.0);
            }
        }
        if !known.is_empty() && self.fault == Fault::CountsAcks {
            self.grow(now, 1.0);
        }
        if known.is_empty() && self.fault == Fault::DoubleAcksReduce {
            self.congestion(now, now);
        }
        if self.outstanding.is_empty() {
            self.silent.get_or_insert(now);
        }
        if let Some(at) = newest {
            self.sample(now.since(at).seconds());
        }
        if !known.is_empty() {
            self.timeouts = 0;
        }
        self.find_lost(now);
        if ack.marks > self.marks && self.fault != Fault::IgnoresMarks {
            let at = newest.unwrap_or(now);
            self.congestion(now, at);
            if self.fault == Fault::MarkReducesTwice {
                self.recovery = None;
                self.congestion(now, at);
            }
        }
        self.marks = ack.marks;
        // RFC 9000, §13.4.2: none of what has arrived had ECN's bits.
        let taken_off = ack.capable == 0 && self.fresh > 10 && !known.is_empty();
        self.no_ecn |= taken_off && self.fault != Fault::NeverValidates;
        if ack.doubles > self.doubles && self.fault == Fault::DuplicatesReduce {
            self.congestion(now, now);
        }
        self.doubles = ack.doubles;
    }

    fn may_send(&self, now: Time) -> bool {
        if self.is_limited(now) && self.probes == 0 {
            return false;
        }
        self.probes > 0
            || (self.outstanding.len() as f64) < self.window.floor() && now >= self.next_at
    }

    fn pace(&mut self, now: Time) {
        let Some(srtt) = self.srtt.filter(|_| self.fault != Fault::Unpaced) else { return };
        let gain = match self.fault {
            Fault::Pace(gain) => gain,
            _ if self.window < self.threshold => 2.0,
            _ => 1.25,
        };
        let mut gap = srtt / self.window / gain;
        if self.fault == Fault::Bursts {
            let rests = self.next.is_multiple_of(BURST);
            gap = if rests { gap * BURST as f64 } else { 0.0 };
        }
        if self.fault == Fault::HiddenClock {
            static CALLS: AtomicU64 = AtomicU64::new(0);
            gap *= 1.0 - 1e-4 * (CALLS.fetch_add(1, Ordering::Relaxed) % 7) as f64;
        }
        self.next_at = self.next_at.max(now) + Duration::from_secs(gap);
    }
}

impl Endpoint for Near {
    fn handle(&mut self, now: Time, datagram: &mut Vec<u8>, _: Ecn) {
        self.now = now;
        self.hear(now, &Ack::read(datagram));
    }

    fn handle_timeout(&mut self, now: Time) {
        self.now = now;
        if self.lost_at() <= now {
            self.find_lost(now);
        }
        if self.deadline() <= now {
            self.timeouts += 1;
            self.probes = 1;
            if self.fault == Fault::TimeoutReduces {
                self.congestion(now, now);
            }
        }
    }

    fn poll_transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> Option<Transmit> {
        if !self.may_send(now) {
            // While it waits for its pace it is what it was.
            let room = (self.outstanding.len() as f64) < self.window.floor();
            self.limited = room && (self.limited || self.is_limited(now));
            return None;
        }
        self.ends_silence(now);
        self.probes = self.probes.saturating_sub(1);
        let repeats = self.lost > 0;
        if repeats {
            self.lost -= 1;
        } else if !self.is_limited(now) {
            self.fresh += 1;
        }
        datagram.extend(self.next.to_le_bytes());
        datagram.resize(PAYLOAD, 0);
        self.outstanding.insert(self.next, Sent { at: now, repeats });
        self.next += 1;
        self.last_sent = now;
        self.pace(now);
        let ecn = match self.fault {
            _ if self.no_ecn => Ecn::NotCapable,
            Fault::ScalableBit => Ecn::Scalable,
            _ => Ecn::Capable,
        };
        Some(Transmit::udp(datagram, ecn))
    }

    fn poll_timeout(&mut self) -> Option<Time> {
        let waits =
            !self.is_limited(self.now) && (self.outstanding.len() as f64) < self.window.floor();
        let paced = if waits { self.next_at } else { Time::NEVER };
        let offer = self.offered.next(self.now).unwrap_or(Time::NEVER);
        let at = paced.min(self.deadline()).min(self.lost_at()).min(offer);
        (at < Time::NEVER).then_some(at)
    }
}

/// What an acknowledgement says.
struct Ack {
    numbers: Vec<u64>,
    marks: u64,
    doubles: u64,
    /// Packets that arrived with any of ECN's bits.
    capable: u64,
}

impl Ack {
    fn read(datagram: &[u8]) -> Self {
        let mut words = datagram
            .chunks_exact(8)
            .map(|word| u64::from_le_bytes(word.try_into().expect("words have eight bytes")));
        let mut next = || words.next().unwrap_or(0);
        let (marks, doubles, capable) = (next(), next(), next());
        Self { numbers: words.collect(), marks, doubles, capable }
    }
}

#[derive(Default)]
struct Far {
    seen: BTreeSet<u64>,
    recent: VecDeque<u64>,
    marks: u64,
    doubles: u64,
    capable: u64,
    unanswered: u32,
    answers_at: Option<Time>,
}

impl Endpoint for Far {
    fn handle(&mut self, now: Time, datagram: &mut Vec<u8>, ecn: Ecn) {
        let number = Ack::read(datagram).marks;
        let is_next = self.seen.last().is_none_or(|last| last + 1 == number);
        if !self.seen.insert(number) {
            self.doubles += 1;
        }
        self.recent.push_back(number);
        if self.recent.len() > REPEATED {
            self.recent.pop_front();
        }
        self.marks += u64::from(ecn == Ecn::Marked);
        self.capable += u64::from(ecn != Ecn::NotCapable);
        self.unanswered += if is_next { 1 } else { 2 };
        self.answers_at = Some(now + Duration::from_millis(25));
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.answers_at.is_some_and(|at| at <= now) {
            self.unanswered = 2;
        }
    }

    fn poll_transmit(&mut self, _: Time, datagram: &mut Vec<u8>) -> Option<Transmit> {
        if self.unanswered < 2 {
            return None;
        }
        (self.unanswered, self.answers_at) = (0, None);
        datagram.extend(self.marks.to_le_bytes());
        datagram.extend(self.doubles.to_le_bytes());
        datagram.extend(self.capable.to_le_bytes());
        // Of the many that are repeated a short packet says only the last.
        for number in self.recent.iter().rev().take(REPEATED) {
            datagram.extend(number.to_le_bytes());
        }
        Some(Transmit::udp(datagram, Ecn::NotCapable))
    }

    fn poll_timeout(&mut self) -> Option<Time> {
        self.answers_at.filter(|_| self.unanswered < 2)
    }

    fn tell(&self) -> Told {
        Told { delivered: (self.seen.len() * PAYLOAD) as u64, ..Told::default() }
    }
}

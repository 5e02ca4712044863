//! The second reading: what a sender waited for, as it saw things itself.
//!
//! An acknowledgement that the capture shows has its effect when the sender has it, and what the
//! sender does then is seen again one time to the sender and back later ([`Survey::back`]). So an
//! acknowledgement is held back for that time, and then nothing else stands between it and the
//! segments that it lets go.

use crate::causes::{Account, Cause};
use crate::losses::{Losses, Policer};
use crate::numbers::{Board, Flight, Numbers, Sent, Stamps};
use crate::path::Path;
use crate::segment::Segment;
use crate::survey::{Place, Survey, hear};
use crate::waits::{PROMPT, Wait, Waits};
use narrows_units::{Duration, Time};
use std::collections::VecDeque;

/// One way of a connection, with what its first reading has found.
pub struct Sender {
    pub survey: Survey,
    pub account: Option<Account>,
    pub losses: Losses,
    pub path: Path,
    pub counts: Counts,
    with_line: bool,
    is_established: bool,
    numbers: Numbers,
    /// The number behind the last byte sent.
    highest: Option<i64>,
    /// What the capture has heard.
    here: Board,
    flight: Flight,
    policer: Option<Policer>,
    /// What the sender has heard.
    heard: Board,
    /// What it is yet to hear, and when that shows.
    pending: VecDeque<(Time, Segment)>,
    last_heard: Time,
    last_sent: Option<LastSent>,
    /// Waits behind the end of a write, one after another.
    ends_in_a_row: u32,
    /// When the sender heard the first acknowledgements of new data since it has sent.
    unanswered: [Option<Time>; SOME_ACKS],
    /// The number behind the last byte that the receiver has room for, and before what was heard
    /// since the last segment.
    room: Option<i64>,
    room_before: Option<i64>,
    /// Since when nothing is under way.
    idle_since: Option<Time>,
    /// It became so with data of the other end: a question and its answer.
    was_answered: bool,
    /// The receiver had room then.
    had_room: bool,
    /// What has to arrive until what was lost is repaired.
    repairs: Option<i64>,
    waits: Waits,
    /// Timestamps of the receiver.
    stamps: Stamps,
    zero_since: Option<Time>,
}

/// What has left last.
#[derive(Clone, Copy)]
struct LastSent {
    at: Time,
    /// Segments that have left with it, one after another.
    burst: u32,
    /// It ends what the application had written, as far as it shows.
    ends: bool,
    /// It is no full segment.
    is_short: bool,
}

/// What was counted of one way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub segments: u64,
    pub again: u64,
    /// Bytes that arrived for the first time.
    pub delivered: u64,
    /// Segments with payload larger than any on the wire, which a card has put together or will
    /// cut.
    pub offloaded: u64,
    /// The largest payload.
    pub largest: u32,
    /// Acknowledgements of new data, and those which come within a tenth of the time that their
    /// bytes took on the path.
    pub advancing: u64,
    pub compressed: u64,
    /// Bytes that were acknowledged without having been seen.
    pub unseen: u64,
    pub marked: u64,
    /// The largest window of the receiver in bytes.
    pub receive_window: Option<u64>,
    pub zero_windows: u64,
    /// Seconds for which the receiver had no room at all.
    pub zero_seconds: f64,
    /// Silences of more than the least timeout after which it went on.
    pub restarts: u64,
    pub first: Option<Time>,
    pub last: Option<Time>,
}

/// RFC 6298 asks for a second; Linux has a fifth.
const LEAST_TIMEOUT: Duration = Duration::from_millis(200);
/// Ends of writes in a row after which every segment counts as a write, and after which a full one
/// with PSH counts as an end: Linux sets PSH on each burst, too, which the path takes apart.
const IN_A_ROW: u32 = 16;
const SOME_IN_A_ROW: u32 = 4;
/// Acknowledgements that a window does not leave unanswered.
const SOME_ACKS: usize = 3;
/// Segments this close together left as one burst: software cuts super-packets at this pace.
const AS_ONE: Duration = Duration::from_micros(30);
/// A silence that is no timer's.
const SILENCE: Duration = Duration::from_millis(10);
/// Seconds by which a timestamp can be older than it says; of a millisecond, as most are, and some
/// for the receiver.
const TICK: f64 = 1.5e-3;
/// Acknowledgements that are held back.
const MOST_PENDING: usize = 1 << 16;

impl Sender {
    /// Begins the second reading, with a time line if one is wanted.
    pub fn new(survey: Survey, with_line: bool) -> Self {
        let policer = Policer::of(&survey);
        let path = Path::new(&survey);
        Self {
            survey,
            account: None,
            losses: Losses::default(),
            path,
            counts: Counts::default(),
            with_line,
            is_established: false,
            numbers: Numbers::default(),
            highest: None,
            here: Board::default(),
            flight: Flight::default(),
            policer,
            heard: Board::default(),
            pending: VecDeque::new(),
            last_heard: Time::ZERO,
            last_sent: None,
            ends_in_a_row: 0,
            unanswered: [None; SOME_ACKS],
            room: None,
            room_before: None,
            idle_since: None,
            was_answered: false,
            had_room: false,
            repairs: None,
            waits: Waits::default(),
            stamps: Stamps::default(),
            zero_since: None,
        }
    }

    /// Somebody asks for the connection.
    pub fn begin(&mut self, at: Time) {
        if self.account.is_none() {
            self.account = Some(Account::new(at, self.with_line));
        }
    }

    /// This way's sender may send from now on.
    pub fn establish(&mut self, at: Time) {
        let at = at + self.back();
        let is_first = !std::mem::replace(&mut self.is_established, true);
        if let Some(account) = self.account.as_mut().filter(|_| is_first && self.highest.is_none())
        {
            account.spend(Cause::Handshake, at);
        }
    }

    fn back(&self) -> Duration {
        self.survey.back.unwrap_or(Duration::ZERO)
    }

    fn largest(&self) -> u32 {
        self.survey.segment()
    }

    /// A segment of this way's sender.
    pub fn on_sent(&mut self, segment: &Segment) {
        if segment.payload == 0 {
            return;
        }
        let at = segment.at;
        self.begin(at);
        self.settle(at);
        let start = self.numbers.whole(segment.number);
        let end = start + i64::from(segment.payload);
        if self.asks_only(segment, end) {
            return;
        }
        self.count(segment);
        let highest =
            self.highest.map_or(start, |it| it.max(self.heard.below).max(self.here.below));
        if self.highest.is_none() {
            (self.here.below, self.heard.below) = (start, start);
        }
        let echo = segment.options.stamps.and_then(|(_, echo)| self.stamps.since(echo, at));
        if self.path.is_behind() {
            // What waited for a timer or for the application says nothing of the path.
            let follows = self.last_sent.is_some_and(|last| at.since(last.at) < self.back());
            let rtt = echo.filter(|_| start >= highest && follows);
            let rtt = rtt.and_then(|echo| Some(echo + self.survey.there?));
            self.see(at, f64::from(segment.payload), rtt);
        }
        let tokens = self.policer.as_mut().map_or(0.0, |policer| policer.pass(at, segment.payload));
        if start > highest {
            self.losses.miss(tokens);
        }
        if start < highest {
            self.on_again(at, start, end, segment);
        } else {
            self.on_new(at, end, echo);
        }
        if end > highest {
            self.flight.send(Sent { start, end, at, again: start < highest, tokens });
            self.highest = Some(end);
        }
        self.note_sent(at, segment);
        (self.room_before, self.idle_since) = (self.room, None);
        let under_way = (highest.max(end) - self.heard.below - self.heard.sacked()).max(0) as u64;
        if let Some(piece) = self.account.as_mut().and_then(|account| account.piece(at)) {
            piece.flight = piece.flight.max(under_way);
            piece.again += u32::from(start < highest);
        }
    }

    /// Bytes have come through the path, with a round-trip time if it can be told.
    fn see(&mut self, at: Time, bytes: f64, rtt: Option<Duration>) {
        self.path.see(at, bytes, rtt);
        if let (Some(account), Some(rtt)) = (&mut self.account, rtt) {
            account.note_rtt(at, rtt.seconds());
        }
    }

    /// Whether a segment of one byte only asks whether somebody is there (RFC 9293, §3.8.4), or
    /// whether there is room (§3.8.6.1).
    fn asks_only(&mut self, segment: &Segment, end: i64) -> bool {
        if segment.payload != 1 {
            return false;
        }
        if self.zero_since.is_some() {
            self.spend(Cause::Receiver, segment.at);
            return true;
        }
        self.idle_since.is_some() && self.highest.is_some_and(|highest| end <= highest)
    }

    fn count(&mut self, segment: &Segment) {
        let counts = &mut self.counts;
        counts.segments += 1;
        counts.marked += u64::from(segment.marked);
        counts.offloaded += u64::from(segment.payload > self.survey.segment());
        counts.largest = counts.largest.max(segment.payload);
        counts.first.get_or_insert(segment.at);
        counts.last = Some(segment.at);
        if let Some(idle) = self.idle_since
            && segment.at.since(idle) > LEAST_TIMEOUT
        {
            counts.restarts += 1;
        }
    }

    /// What has left last is what comes before the next wait.
    fn note_sent(&mut self, at: Time, segment: &Segment) {
        let segments = segment.payload.div_ceil(self.largest());
        let goes_on = |last: &LastSent| {
            let wait = at.since(last.at);
            wait <= AS_ONE || self.is_next(wait, segment.payload)
        };
        let goes_on = self.last_sent.filter(goes_on);
        let burst = goes_on.map_or(0, |last| last.burst) + segments;
        let is_short = !segment.payload.is_multiple_of(self.largest());
        // What leaves as one always ends so (`__tcp_transmit_skb` of Linux).
        let ends = is_short || (segment.pushes && burst == 1);
        self.last_sent = Some(LastSent { at, burst, ends, is_short });
        self.unanswered = [None; SOME_ACKS];
    }

    /// Whether bytes that come after a wait have left about as soon as any ever did.
    fn is_next(&self, wait: Duration, bytes: u32) -> bool {
        let own = self.survey.least_gap.unwrap_or(0.0);
        wait.seconds() <= 1.5 * own * f64::from(bytes)
    }

    /// Whether a full segment that comes after a wait has left as soon as the sender's own link was
    /// free, which is known if that is faster than the path.
    fn follows(&self, wait: Duration) -> bool {
        let own = self.survey.least_gap.map(|gap| gap * f64::from(self.largest()));
        let is_known =
            own.zip(self.path.packet_seconds()).is_some_and(|(own, path)| own < 0.5 * path);
        is_known && self.is_next(wait, self.largest())
    }

    /// New data leaves: what has it waited for?
    fn on_new(&mut self, at: Time, end: i64, echo: Option<Duration>) {
        let Some(last) = self.last_sent else {
            self.spend(Cause::Application, at);
            return;
        };
        if self.repairs.is_some() {
            return self.spend(Cause::Recovery, at);
        }
        let is_full = self.room_before.is_some_and(|room| end > room);
        let waits = |idle: &Time| {
            (self.was_answered || at.since(*idle) > PROMPT) && (self.had_room || !is_full)
        };
        if let Some(idle) = self.idle_since.filter(waits) {
            let before = match (is_full, last.ends) {
                (true, _) => Cause::Receiver,
                (_, true) => Cause::Application,
                _ => Cause::Window,
            };
            self.spend(before, idle);
            return self.spend(Cause::Application, at);
        }
        if is_full {
            return self.spend(Cause::Receiver, at);
        }
        if self.path.is_behind() {
            return self.arrived(at, last, echo);
        }
        if self.survey.place() == Place::Untold {
            return self.spend(Cause::Untold, at);
        }
        let waited = at.since(last.at);
        let follows = self.follows(waited);
        // A pacer lets bursts of a millisecond go at most (`tcp_tso_autosize` of Linux).
        let in_lumps = last.burst > 2 && waited > Duration::from_millis(5);
        // Nobody who has less to send than the path takes fills it, but for the time of a write.
        let is_over = last.is_short && self.leaves_unanswered(at);
        let wait = Wait {
            until: at,
            after: at.since(self.last_heard),
            follows,
            ends: last.ends && (is_over || !self.path.is_busy()),
            in_lumps,
        };
        let Some(account) = &mut self.account else { return };
        self.waits.add(wait, self.path.latest_rtt(), account);
    }

    /// From behind the bottleneck one sees the path's work. Where it has none, what left as soon as
    /// an acknowledgement allowed it comes a round trip after that.
    fn arrived(&mut self, at: Time, last: LastSent, echo: Option<Duration>) {
        let late = echo.map(|echo| echo.seconds() - self.back().seconds());
        let gap = at.since(last.at).seconds();
        self.ends_in_a_row = if last.ends { self.ends_in_a_row.saturating_add(1) } else { 0 };
        let cause = match late {
            _ if last.is_short && self.leaves_unanswered(at) => Cause::Application,
            _ if self.path.is_busy() || self.path.lets_through(gap, self.survey.least_gap) => {
                Cause::Path
            }
            // Writes end behind what a full window has sent, too, but not each time.
            _ if self.ends_in_a_row >= IN_A_ROW => Cause::Application,
            // Between timestamps one does not see what came first.
            Some(late) if late <= TICK && gap > TICK => Cause::Window,
            _ if last.is_short || self.ends_in_a_row >= SOME_IN_A_ROW => Cause::Application,
            _ => Cause::Untold,
        };
        self.spend(cause, at);
    }

    /// Whether acknowledgements came that let nothing go, until a tick before `at`.
    fn leaves_unanswered(&self, at: Time) -> bool {
        self.unanswered[SOME_ACKS - 1].is_some_and(|heard| at.since(heard).seconds() > TICK)
    }

    /// Data is sent again: a loss is repaired, or thought to be.
    fn on_again(&mut self, at: Time, start: i64, end: i64, segment: &Segment) {
        self.counts.again += 1;
        let known = self.flight.send_again(start, end);
        let stamp = segment.options.stamps.map(|(stamp, _)| stamp);
        let segments = segment.payload.div_ceil(self.largest());
        self.losses.repair((start, end), segments, stamp, known);
        if let (Some(policer), Some(_)) = (&mut self.policer, known.filter(|sent| !sent.again)) {
            policer.refund(segment.payload);
        }
        let silence = at.since(self.last_heard.max(self.last_sent.map_or(at, |last| last.at)));
        // Nothing that acknowledgements have brought about comes so late.
        let timeout = self.path.latest_rtt().scale(1.5).max(SILENCE);
        let otherwise = if self.repairs.is_some() { Cause::Recovery } else { Cause::Window };
        if silence >= timeout {
            self.spend(otherwise, self.last_heard.min(at));
            self.spend(Cause::Timeout, at);
            self.losses.timeouts += u64::from(start <= self.heard.below);
        } else {
            self.spend(otherwise, at);
        }
        if self.repairs.is_none() {
            self.losses.open(self.path.latest(), self.path.recent_most());
            self.repairs = self.highest;
        }
    }

    fn spend(&mut self, cause: Cause, to: Time) {
        let Some(account) = &mut self.account else { return };
        self.waits.flush(account);
        account.spend(cause, to);
    }

    /// A segment of this way's receiver.
    pub fn on_heard(&mut self, segment: &Segment) {
        let at = segment.at;
        if let Some((stamp, _)) = segment.options.stamps {
            self.stamps.see(stamp, at);
        }
        if let Some(newly) = hear(&mut self.here, self.numbers, self.highest, segment) {
            let age = self.flight.age(newly.newest, at);
            let rtt = age.and_then(|age| Some(age + self.survey.back?));
            if !self.path.is_behind() {
                self.see(at, newly.bytes as f64, rtt);
            }
            self.counts.delivered += newly.bytes as u64;
            self.counts.advancing += 1;
            self.counts.unseen +=
                (self.here.below - self.highest.unwrap_or(i64::MAX)).max(0) as u64;
            self.highest = self.highest.map(|highest| highest.max(self.here.below));
            self.counts.compressed += u64::from(self.path.was_compressed());
            if let Some(piece) = self.account.as_mut().and_then(|account| account.piece(at)) {
                piece.bytes += newly.bytes as u64;
            }
        }
        let losses = &mut self.losses;
        losses.hear(self.here.below, segment, self.numbers);
        self.flight.forget(self.here.below).for_each(|sent| losses.pass(&sent));
        if self.pending.len() == MOST_PENDING {
            self.hear_next();
        }
        self.pending.push_back((at + self.back(), segment.clone()));
        self.settle(at);
    }

    /// What the sender has heard by now.
    fn settle(&mut self, now: Time) {
        while self.pending.front().is_some_and(|(due, _)| *due <= now) {
            self.hear_next();
        }
    }

    fn hear_next(&mut self) {
        let Some((due, segment)) = self.pending.pop_front() else { return };
        let Some(highest) = self.highest else { return self.give_room(due, &segment) };
        let newly = hear(&mut self.heard, self.numbers, Some(highest), &segment);
        self.give_room(due, &segment);
        self.last_heard = self.last_heard.max(due);
        if newly.is_none() {
            return;
        }
        self.waits.heard += 1;
        if let Some(free) = self.unanswered.iter_mut().find(|it| it.is_none()) {
            *free = Some(due);
        }
        if self.repairs.is_some_and(|until| self.heard.below >= until) {
            self.spend(Cause::Recovery, due);
            self.repairs = None;
        }
        if self.heard.below >= highest && self.idle_since.is_none() {
            self.idle_since = Some(due);
            self.was_answered = segment.payload > 0;
            let next = highest + i64::from(self.largest());
            self.had_room = self.room.is_none_or(|room| room >= next);
        }
    }

    /// How far the receiver lets the sender go.
    fn give_room(&mut self, at: Time, segment: &Segment) {
        let (Some(acknowledged), false) = (segment.acknowledged, segment.reset) else { return };
        self.note_room(at, segment);
        let scale = if segment.syn { Some(0) } else { self.survey.scale };
        // Without the handshake nobody knows what a window means.
        let Some(scale) = scale else { return };
        let window = i64::from(segment.window) << scale;
        if !segment.syn {
            self.counts.receive_window = self.counts.receive_window.max(Some(window as u64));
        }
        let mut numbers = self.numbers;
        if self.highest.is_none() {
            numbers = Numbers::default();
        }
        let room = numbers.whole(acknowledged) + window;
        if self.highest.is_some() {
            self.room = Some(self.room.map_or(room, |before| before.max(room)));
        }
    }

    /// Whether the receiver has any room, which does not hang on the scale.
    fn note_room(&mut self, at: Time, segment: &Segment) {
        match (segment.window, self.zero_since) {
            (0, None) if !segment.syn => {
                self.zero_since = Some(at);
                self.counts.zero_windows += 1;
            }
            (1.., Some(since)) => {
                self.counts.zero_seconds += at.since(since).seconds();
                self.zero_since = None;
            }
            _ => {}
        }
    }

    /// The capture has ended.
    pub fn finish(&mut self) {
        while !self.pending.is_empty() {
            self.hear_next();
        }
        if let Some(since) = self.zero_since.take() {
            self.counts.zero_seconds += self.last_heard.since(since).seconds();
            self.spend(Cause::Receiver, self.last_heard);
        }
        if let Some(account) = &mut self.account {
            self.waits.flush(account);
        }
        let losses = &mut self.losses;
        self.flight.forget(i64::MAX).for_each(|sent| losses.pass(&sent));
    }
}

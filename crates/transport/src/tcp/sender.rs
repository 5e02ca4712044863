//! The TCP sender: turns an application's data into segments, as far as the controller, the
//! recovery and the pacer allow.

use super::recovery::{Answer, Ears, Next, Recovery};
use super::usage::{Pause, Usage};
use super::{Detection, Habits, Metering, RecoveryKind, probe};
use crate::congestion::{
    Abilities, Chance, Congestion, EcnOfUser, Flight, Marked, Path, Quantum, Release, Sending,
    Spacing, Spread,
};
use crate::handshake::Handshake;
use crate::{
    AckHeader, DataHeader, Header, Outstanding, RttEstimator, Segment, SendLimit, Ticks, Timeouts,
};
use narrows_control::{Ack, Controller, RateSample, Restart, Rtt, Timeout};
use narrows_signal::{Ecn, Reply, Request};
use narrows_units::{Duration, Time};
use std::sync::Arc;

/// How a sender is set up.
#[derive(Clone, Debug)]
pub struct TcpSettings {
    /// How losses are detected and repaired.
    pub recovery: RecoveryKind,
    /// Everything that is not the controller; shared by flows with the same settings.
    pub habits: Arc<Habits>,
    /// Bytes of a data packet on the wire, headers included.
    pub packet_bytes: u32,
    /// The receiver's window in packets; infinite if it does not limit the sender.
    pub window_limit: f64,
    /// How packets are spaced; not as QUIC recommends.
    pub pacing: Option<Spacing>,
    /// Packets that leave together, as with segmentation offload.
    pub quantum: Quantum,
    /// What the user asks of ECN.
    pub ecn: EcnOfUser,
}

impl TcpSettings {
    /// Settings without pacing or ECN, for packets that leave one by one and a receiver whose
    /// window does not limit the sender.
    pub fn new(recovery: RecoveryKind, habits: Arc<Habits>, packet_bytes: u32) -> Self {
        Self {
            recovery,
            habits,
            packet_bytes,
            window_limit: f64::INFINITY,
            pacing: None,
            quantum: Quantum::Packets(1),
            ecn: EcnOfUser::default(),
        }
    }
}

/// A TCP sender with recovery `R`. Its methods are [`Sender`](crate::Sender)'s.
pub(crate) struct Sender<R> {
    pub(super) congestion: Congestion,
    pub(super) release: Release,
    pub(super) recovery: R,
    pub(super) rtt: RttEstimator,
    /// The stamp of the last acknowledgement, which data echoes (TSecr).
    pub(super) echo: Time,
    pub(super) habits: Arc<Habits>,
    pub(super) packet_bytes: u32,
    /// The receiver's own window in packets.
    receive_window: f64,
    /// The window that acknowledgements advertise, in packets: the receiver's own, unless a router
    /// on their way has lowered it.
    pub(super) window_limit: f64,
    /// The same in whole packets.
    window_limit_packets: u64,
    pub(super) offered: u64,
    /// Karn's rule: the packet being timed, and when it left.
    pub(super) timed: Option<(u64, Time)>,
    pub(super) handshake: Handshake,
    ticks: Ticks,
    timer: Timer,
    /// When the timer expires.
    pub(super) retransmit_at: Time,
    pub(super) last_sent: Time,
    /// The timer has expired since the lowest number outstanding advanced.
    pub(super) timed_out: bool,
    /// The losses of a timeout have been repaired once everything below this number is
    /// acknowledged.
    timed_out_below: u64,
    pub(super) usage: Usage,
    pub(super) waits_for_pacer: bool,
    /// Whether the plain way may be tried, and whether it never is.
    is_plain: bool,
    pub(super) is_general: bool,
}

/// Bytes of a SYN and of its answer on the wire: IPv4 and TCP headers, with the options for the
/// segment size, selective acknowledgements, timestamps and the window scale, padded.
pub(super) const SYN_BYTES: u32 = 60;
/// Timeouts that do not double the next one (`tcp_syn_linear_timeouts`, in Linux since 6.5;
/// `tcp_retransmit_timer` in net/ipv4/tcp_timer.c).
const LINEAR_TIMEOUTS: u32 = 4;

/// What the timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timer {
    /// Nothing has come back for long.
    Retransmission,
    /// Packets that may be late only count as lost (RFC 8985 §6.2, step 5).
    Reordering,
    /// A probe is to leave (RFC 8985 §7.2).
    Probe,
}

/// What a recovery needs to report; borrows of the sender whatever else it does not use.
macro_rules! ears {
    ($sender:ident, $now:expr) => {
        Ears {
            next: $sender.congestion.counters.sent,
            answered_to: $sender.congestion.marks.map_or(0, |marks| marks.answers_losses_to()),
            congestion: &mut $sender.congestion,
            now: $now,
            rtt: &$sender.rtt,
            timestamps: $sender.habits.timestamps,
        }
    };
}

impl<R: Recovery> Sender<R> {
    pub fn new(settings: TcpSettings, controller: Box<dyn Controller>, path: Path) -> Self {
        let TcpSettings { recovery, habits, packet_bytes, window_limit, pacing, quantum, ecn } =
            settings;
        assert!(
            !matches!(pacing, Some(Spacing::Recommended(_))),
            "RFC 9002 recommends {pacing:?} for QUIC, and TCP has no bucket for it"
        );
        let congestion =
            Congestion::new(controller, Abilities { ecn, deliveries: R::TELLS_DELIVERIES });
        let metering = if congestion.own_recovery() { Metering::ByLaw } else { habits.metering };
        let mut sender = Self {
            release: Release::new(pacing, quantum, path),
            recovery: R::new(recovery, metering, &habits),
            congestion,
            rtt: RttEstimator::default(),
            echo: Time::ZERO,
            handshake: Handshake::new(habits.handshake),
            usage: Usage::new(),
            habits,
            packet_bytes,
            receive_window: window_limit,
            window_limit,
            window_limit_packets: window_limit as u64,
            offered: 0,
            timed: None,
            ticks: Ticks::default(),
            timer: Timer::Retransmission,
            retransmit_at: Time::NEVER,
            last_sent: Time::ZERO,
            timed_out: false,
            timed_out_below: 0,
            waits_for_pacer: false,
            is_plain: false,
            is_general: cfg!(general),
        };
        sender.is_plain = sender.find_plain();
        sender
    }

    pub fn go_general(&mut self) {
        (self.is_plain, self.is_general) = (false, true);
    }

    pub fn set_ticks(&mut self, ticks: Ticks) {
        self.ticks = ticks;
    }

    pub fn offer(&mut self, packets: u64) {
        self.offered = self.offered.saturating_add(packets);
    }

    pub fn stop(&mut self) {
        self.offered = self.recovery.end();
    }

    pub fn renew(&mut self, controller: Box<dyn Controller>) {
        self.congestion.renew(controller);
        self.release.renew();
        self.rtt = RttEstimator::default();
        self.timed = None;
        self.recovery.renew();
        self.handshake = Handshake::new(self.habits.handshake);
        self.usage = Usage::new();
        self.is_plain = self.find_plain();
    }

    #[inline]
    pub fn on_ack(&mut self, now: Time, ack: &Segment) {
        if !(self.is_plain && self.hear_plain(now, ack)) {
            self.hear_any(now, ack);
        }
    }

    /// Handles any acknowledgement.
    #[inline]
    fn hear_any(&mut self, now: Time, ack: &Segment) {
        let header = match &ack.header {
            Header::Ack(header) => header,
            Header::SynAck(reply) => return self.accepted(now, ack, *reply),
            _ => &AckHeader::NOTHING,
        };
        if !matches!(self.handshake, Handshake::Done) {
            // It answers a connection that is over.
            return;
        }
        let prior_in_flight = self.congestion.samples().then(|| self.in_flight());
        let advances = ack.number > self.first();
        self.echo = ack.stamp;
        self.hear(header, advances);
        let rtt_is_fresh = advances && self.measure_rtt(now, ack);
        let answer = self.recover(now, ack);
        // A reduction for a mark that this acknowledgement brings does not count yet.
        let recovering = self.recovering();
        if let Some(sent) = answer.original_sent.filter(|_| !advances) {
            // Linux takes a sample from selective acknowledgements, too (`tcp_clean_rtx_queue`).
            self.take_rtt(now, sent, self.first());
        }
        let marked = self.tell_marks(now, header, answer.newest);
        let rate = prior_in_flight.and_then(|before| self.rate_sample(now, before));
        self.timed_out &= !advances;
        if answer.packets > 0 {
            // By count, what has arrived out of order ends it, too, as in ns-2.
            self.timed_out &= self.habits.detection == Detection::ByTime;
            let packets = if self.habits.counts_packets { answer.packets as f64 } else { 1.0 };
            let window_limited = self.uses_window() && !self.recovery.regrowing();
            let recovering = recovering || !advances || self.is_echo(header);
            if !recovering {
                self.usage.grew(now);
            }
            self.congestion.acknowledged(&Ack {
                now,
                packets,
                newest: answer.newest,
                next: self.congestion.counters.sent,
                rtt: self.rtt.estimate(),
                rtt_is_fresh,
                in_flight: self.in_flight() as f64,
                window_limited,
                recovering,
                marked,
                reply: header.reply,
                rate,
            });
        }
        self.set_timer(now, &answer);
        if self.release.hears() {
            let spread = self.spread();
            let fresh = spread.rtt.filter(|_| rtt_is_fresh).map(|rtt| rtt.latest);
            self.release.hear(now, answer.packets, fresh, &spread);
        }
    }

    /// Lets the recovery handle an acknowledgement.
    #[inline]
    fn recover(&mut self, now: Time, ack: &Segment) -> Answer {
        if !self.congestion.samples()
            && let Some(answer) = self.recovery.advance(ack, self.habits.timestamps)
        {
            return answer;
        }
        let (was_recovering, epochs) =
            (self.recovery.recovering(), self.congestion.counters.epochs);
        let answer = self.recovery.on_ack(ack, &mut ears!(self, now));
        let begins = self.recovery.recovering() && !was_recovering;
        if begins {
            self.timed = None;
        }
        if self.congestion.counters.epochs > epochs || begins {
            self.say_reduced();
        }
        answer
    }

    /// What an acknowledgement says besides what has arrived: a window, if a router has lowered it
    /// for a sender that asks nothing, and whether a mark is echoed.
    #[inline]
    fn hear(&mut self, header: &AckHeader, advances: bool) {
        if !self.congestion.asks()
            && let Reply::Window(bytes) = header.reply
        {
            self.take_window(bytes, advances);
        }
        if self.is_echo(header) {
            self.recovery.forbid_undo();
        }
    }

    /// The window that an acknowledgement advertises, in bytes, lowered by a router on its way; a
    /// smaller one counts only if it acknowledges more (`tcp_may_update_window` in Linux's
    /// net/ipv4/tcp_input.c).
    #[cold]
    fn take_window(&mut self, bytes: u32, advances: bool) {
        let packets = (f64::from(bytes) / f64::from(self.packet_bytes)).min(self.receive_window);
        if advances || packets > self.window_limit {
            self.window_limit = packets;
            self.window_limit_packets = packets as u64;
        }
    }

    /// The rate sample of an acknowledgement before which `prior_in_flight` packets were in flight.
    fn rate_sample(&mut self, now: Time, prior_in_flight: u64) -> Option<RateSample> {
        let first = self.first();
        let repairing = self.recovery.repairing() || first < self.timed_out_below;
        let departs_in = self.release.ready_at().since(now);
        self.congestion.rate_sample(first, &Sending { prior_in_flight, repairing, departs_in })
    }

    /// The connection is accepted: data may leave, and the RTT is known.
    fn accepted(&mut self, now: Time, answer: &Segment, reply: Reply) {
        let Handshake::Asked(times) = self.handshake else { return };
        self.handshake = Handshake::Done;
        self.is_plain = self.find_plain();
        self.retransmit_at = Time::NEVER;
        self.echo = answer.stamp;
        if self.habits.timestamps || times == 1 {
            self.take_rtt(now, answer.echoed_stamp, answer.number);
        }
        self.congestion.accepted(reply, self.rtt.estimate());
        if !self.is_idle() {
            self.restart_timer(now);
        }
    }

    pub fn on_wakeup(&mut self, now: Time) {
        self.congestion.wake(now);
        if self.retransmit_at > now {
            return;
        }
        self.retransmit_at = Time::NEVER;
        match (self.handshake, self.timer) {
            (Handshake::Asked(times), _) => {
                self.congestion.counters.timeouts += 1;
                if times > LINEAR_TIMEOUTS {
                    self.rtt.back_off();
                }
                self.handshake = Handshake::Due(times);
            }
            (_, Timer::Retransmission) => self.time_out(now),
            (_, Timer::Reordering) => {
                let was_recovering = self.recovery.recovering();
                self.recovery.on_reordering_timer(&mut ears!(self, now));
                if self.recovery.recovering() && !was_recovering {
                    self.timed = None;
                }
                self.rearm(now);
            }
            (_, Timer::Probe) if self.recovery.may_probe() => {
                self.recovery.probe();
                self.restart_timer(now);
            }
            (_, Timer::Probe) => self.rearm(now),
        }
    }

    fn time_out(&mut self, now: Time) {
        if let Some(marks) = &mut self.congestion.marks
            && std::mem::take(&mut marks.stopped)
            && self.is_idle()
        {
            return;
        }
        self.congestion.was_silent(self.timeout(), now);
        self.rtt.back_off();
        self.timed = None;
        self.release.abandon_burst();
        let again = std::mem::replace(&mut self.timed_out, true);
        let timed_out = self.recovery.on_timeout(again, &mut ears!(self, now));
        self.timed_out_below = self.recovery.end();
        let (opens_epoch, in_flight) = (timed_out.opens_epoch, timed_out.in_flight);
        self.congestion.timed_out(&Timeout { now, opens_epoch, in_flight });
        self.say_reduced();
        self.restart_timer(now);
    }

    /// The next new packet tells the receiver that the window has been reduced (RFC 3168 §6.1.2).
    fn say_reduced(&mut self) {
        if let Some(marks) = &mut self.congestion.marks {
            marks.says_reduced = true;
        }
    }

    pub fn may_transmit(&mut self, now: Time) -> bool {
        if !matches!(self.handshake, Handshake::Done) {
            return matches!(self.handshake, Handshake::Due(_)) && self.has_new();
        }
        if self.is_stopped() {
            return false;
        }
        let limit = self.flight_limit().min(self.window_limit);
        let next = self.recovery.next(limit, self.sendable());
        matches!(next, Next::New | Next::Again(_)) && self.release.ready_at() <= now
    }

    #[inline]
    pub fn transmit_into(&mut self, now: Time, segment: &mut Segment) -> bool {
        if self.is_plain
            && let Some(sent) = self.transmit_plain(now, segment)
        {
            return sent;
        }
        self.transmit_any(now, segment)
    }

    #[inline]
    fn transmit_any(&mut self, now: Time, segment: &mut Segment) -> bool {
        self.waits_for_pacer = false;
        if !matches!(self.handshake, Handshake::Done) {
            return self.ask(now, segment);
        }
        if self.is_stopped() {
            return false;
        }
        let paced = self.release.ready_at() > now
            && !self.release.is_bursting()
            && !self.recovery.probing();
        let window = self.flight_limit();
        let limit = window.min(self.window_limit);
        let (number, again) = match self.recovery.next(limit, self.sendable()) {
            Next::WaitForWindow => {
                let own = window <= self.window_limit;
                self.pause(now, own, window);
                self.waits(now, if own { SendLimit::Window } else { SendLimit::Receiver });
                return false;
            }
            Next::WaitForData => {
                self.wait_for_data(now, window);
                return false;
            }
            Next::New => (self.recovery.end(), false),
            Next::Again(number) => (number, true),
        };
        if paced {
            self.waits_for_pacer = true;
            let is_used =
                !self.habits.validates_window || self.release.spreads_window(&self.congestion);
            let own = is_used && window <= self.window_limit;
            self.pause(now, own, window);
            self.waits(now, SendLimit::Pacing);
            return false;
        }
        if !self.begin_or_continue_burst(now, again, limit) {
            self.pause(now, window <= self.window_limit, window);
            self.waits(now, SendLimit::Window);
            return false;
        }
        self.transmit(now, number, again, segment);
        true
    }

    /// Asks for the connection, if there is data for it and nobody has asked yet.
    #[cold]
    fn ask(&mut self, now: Time, segment: &mut Segment) -> bool {
        let Handshake::Due(times) = self.handshake else { return false };
        if !self.has_new() {
            return false;
        }
        self.handshake = Handshake::Asked(times + 1);
        self.restart_timer(now);
        let header = Header::Syn(self.congestion.first_request());
        *segment = Segment::data(self.recovery.end(), now, SYN_BYTES, header);
        true
    }

    /// Packets that the controller lets be in flight: below one it is for the pacer to wait.
    pub(super) fn flight_limit(&self) -> f64 {
        self.congestion.flight_limit().max(1.0)
    }

    /// One past the highest number that the application and the receiver's window let leave (RFC
    /// 9293 §3.8.6).
    pub(super) fn sendable(&self) -> u64 {
        self.offered.min(self.first().saturating_add(self.window_limit_packets))
    }

    fn has_new(&self) -> bool {
        self.recovery.end() < self.offered
    }

    /// Nothing more leaves at `now` because of `limit`, or because losses are being repaired.
    #[inline]
    pub(super) fn waits(&mut self, now: Time, limit: SendLimit) {
        self.congestion.waits(now, limit, self.recovery.repairing());
    }

    /// Nothing more may leave at `now`, with a limit of `flight` packets; `is_full` if that is the
    /// reason.
    #[inline]
    fn pause(&mut self, now: Time, is_full: bool, flight: f64) {
        if self.habits.validates_window {
            self.validate(now, is_full, flight);
        } else {
            self.usage.forget(is_full);
        }
    }

    fn validate(&mut self, now: Time, is_full: bool, flight: f64) {
        let window = self.congestion.window();
        // A law that paces its window may let more be in flight than that.
        let is_full = is_full || self.in_flight() as f64 + 1.0 > flight.min(window.max(1.0));
        let unused = self.usage.pause(&Pause {
            now,
            is_full,
            outstanding: (self.first(), self.recovery.end()),
            window,
            ssthresh: self.congestion.ssthresh(),
            timeout: self.timeout(),
            is_open: !self.recovery.repairing(),
        });
        if let Some(used) = unused.filter(|_| self.habits.restart != Restart::Never) {
            self.congestion.unused(used);
        }
    }

    /// True if the window, not the application or the receiver, is what held the sender back.
    fn uses_window(&self) -> bool {
        self.usage.was_full()
            || self.habits.validates_window
                && self.usage.is_used(self.congestion.window(), self.congestion.ssthresh())
    }

    /// The application or the receiver's window is the limit.
    fn wait_for_data(&mut self, now: Time, flight: f64) {
        self.pause(now, false, flight);
        let in_flight = self.in_flight();
        self.waits(now, if self.has_new() { SendLimit::Receiver } else { SendLimit::Application });
        if !self.has_new() {
            self.congestion.application_limits(in_flight);
        }
    }

    pub fn pace_at(&self) -> Time {
        if self.waits_for_pacer { self.release.ready_at() } else { Time::NEVER }
    }

    pub fn retransmit_at(&self) -> Time {
        self.congestion.or_wakes(self.retransmit_at)
    }

    pub fn congestion(&self) -> &Congestion {
        &self.congestion
    }

    pub fn rtt(&self) -> Option<Rtt> {
        self.rtt.estimate()
    }

    pub fn in_flight(&self) -> u64 {
        self.recovery.in_flight()
    }

    pub fn first(&self) -> u64 {
        self.recovery.first()
    }

    pub fn places(&self) -> [Option<*const ()>; 2] {
        self.recovery.places()
    }

    pub fn recovering(&self) -> bool {
        self.recovery.recovering()
    }

    pub fn is_done(&self) -> bool {
        self.first() >= self.offered
    }

    /// Tells the controller about packets that arrived with a mark; returns their number.
    #[inline]
    fn tell_marks(&mut self, now: Time, ack: &AckHeader, newest: u64) -> f64 {
        if self.congestion.marks.is_none() { 0.0 } else { self.tell_of_marks(now, ack, newest) }
    }

    fn tell_of_marks(&mut self, now: Time, ack: &AckHeader, newest: u64) -> f64 {
        let reduced = self.recovery.recovering() || self.recovery.repairing();
        let Some(marks) = &mut self.congestion.marks else { return 0.0 };
        marks.heard(ack.ece);
        let counted = marks.newly(ack.marked);
        // An echo is one mark, as far as the sender knows.
        let packets = if marks.classic { f64::from(u8::from(ack.ece)) } else { counted };
        if packets > 0.0 {
            let next = self.congestion.counters.sent;
            let reduced_to = if reduced { u64::MAX } else { 0 };
            let marked = Marked { now, packets, newest, next, reduced_to };
            let answered = self.congestion.marked(&marked);
            if answered.backs_off {
                self.rtt.back_off();
            }
            if answered.opens_epoch {
                self.recovery.reduces_for_mark();
            }
        }
        packets
    }

    /// True if a mark has stopped the sender until the timer goes off.
    fn is_stopped(&self) -> bool {
        self.congestion.marks.is_some_and(|marks| marks.stopped)
    }

    /// RFC 3168 §6.1.2: the window does not grow for an acknowledgement that echoes a mark.
    fn is_echo(&self, ack: &AckHeader) -> bool {
        ack.ece && self.congestion.marks.is_some_and(|marks| marks.classic)
    }

    fn timeout(&self) -> Duration {
        self.rtt.timeout(&self.habits.timeouts)
    }

    /// True if nothing is outstanding.
    pub(super) fn is_idle(&self) -> bool {
        self.first() == self.recovery.end()
    }

    /// Takes an RTT sample from a new acknowledgement, by its timestamp or from the packet being
    /// timed; returns true if there is one.
    pub(super) fn measure_rtt(&mut self, now: Time, ack: &Segment) -> bool {
        let timed = self.timed.take_if(|(number, _)| *number < ack.number);
        let keeps = self.congestion.marks.is_some_and(|marks| {
            marks.keeps_back_off(matches!(ack.header, Header::Ack(header) if header.ece))
        });
        if timed.is_some() && !keeps {
            self.rtt.end_back_off();
        }
        let stamped = self.habits.timestamps.then_some(ack.echoed_stamp);
        let Some(sent) = stamped.or(timed.map(|(_, sent)| sent)) else { return false };
        self.take_rtt(now, sent, ack.number);
        true
    }

    /// Takes an RTT sample of what left at `sent`; everything below `number` is acknowledged.
    fn take_rtt(&mut self, now: Time, sent: Time, number: u64) {
        let rtt = now.since(sent);
        let outstanding = Outstanding { first: number.max(self.first()), end: self.recovery.end() };
        self.rtt.sample(rtt, &self.habits.timeouts, outstanding);
        if !self.habits.keeps_back_off {
            self.rtt.end_back_off();
        }
        self.congestion.count_rtt(rtt);
    }

    /// Sets the timer after an acknowledgement.
    fn set_timer(&mut self, now: Time, answer: &Answer) {
        if self.is_idle() {
            self.retransmit_at = Time::NEVER;
            if self.is_stopped() {
                self.restart_timer(now);
            }
        } else if let Some(at) = answer.reordering_at {
            self.set_to(Timer::Reordering, now, at.min(now + self.timeout()));
        } else if answer.restarts_timer {
            self.restart_timer(now);
            self.set_probe_timer(now);
        }
    }

    fn set_to(&mut self, timer: Timer, now: Time, at: Time) {
        (self.timer, self.retransmit_at) = (timer, self.ticks.expiry(now, at.max(now)));
    }

    /// The retransmission timer runs from now on.
    pub(super) fn restart_timer(&mut self, now: Time) {
        self.set_to(Timer::Retransmission, now, now + self.timeout());
    }

    /// The retransmission timer runs since the lowest packet outstanding left, and for a tick at
    /// the least (`tcp_rearm_rto` in Linux's net/ipv4/tcp_input.c).
    fn rearm(&mut self, now: Time) {
        let from = self.recovery.first_sent().unwrap_or(now);
        let soonest = now + self.habits.timeouts.granularity;
        self.set_to(Timer::Retransmission, now, (from + self.timeout()).max(soonest));
    }

    /// If a probe may leave, the timer is for that, and expires no later than for a retransmission
    /// (`tcp_schedule_loss_probe` in Linux's net/ipv4/tcp_output.c).
    #[inline]
    fn set_probe_timer(&mut self, now: Time) {
        if self.habits.probes && self.recovery.may_probe() {
            self.time_probe(now);
        }
    }

    fn time_probe(&mut self, now: Time) {
        let outstanding = self.recovery.end() - self.first();
        let Timeouts { least, initial, .. } = self.habits.timeouts;
        let at = now + probe::timeout(self.rtt.estimate(), outstanding, least, initial);
        self.set_to(Timer::Probe, now, at.min(self.retransmit_at));
    }

    /// True if a packet may leave as part of a burst: either a burst is under way, or the window
    /// has room for one that is worth it.
    fn begin_or_continue_burst(&mut self, now: Time, again: bool, window: f64) -> bool {
        if self.release.is_bursting() {
            return true;
        }
        let mut packets = 1;
        if !self.release.is_single() && !again && !self.recovery.probing() {
            let waiting = self.offered - self.recovery.end();
            let room = Flight { limit: window, in_flight: self.in_flight(), waiting };
            let headers = if self.habits.timestamps { 52.0 } else { 40.0 };
            let sizes = (f64::from(self.packet_bytes) - headers, self.habits.initial_window);
            let (congestion, spread) = (&self.congestion, self.spread());
            let burst = self.release.next_burst(congestion, &spread, &room, sizes, |free| {
                self.defers(now, free, window)
            });
            let Some(burst) = burst else { return false };
            packets = burst;
        }
        self.release.begin_burst(packets);
        true
    }

    /// True if a burst that is too small for now waits for more room: one of a fixed size always
    /// does, Linux's seldom.
    fn defers(&self, now: Time, room: u64, window: f64) -> bool {
        if self.release.is_fixed() {
            return true;
        }
        let (Some(rtt), Some(first_sent)) = (self.rtt.estimate(), self.recovery.first_sent())
        else {
            return false;
        };
        let (last_sent, smoothed_rtt) = (self.last_sent, rtt.smoothed);
        !self.recovery.repairing()
            && Chance { now, room, window, last_sent, first_sent, smoothed_rtt }.defers()
    }

    /// Something leaves after a silence.
    pub(super) fn restart(&mut self, now: Time) {
        // A stamp from before the silence would be taken for an RTT as long.
        self.echo = Time::ZERO;
        let (timeout, restart) = (self.timeout(), self.habits.restart);
        self.congestion.restarted(now, self.last_sent, timeout, restart);
        self.recovery.restarted(self.congestion.window());
    }

    /// Puts the packet `number`, which leaves at `now`, into `segment`.
    // Inlined, the segment would be put together from its parts three times.
    #[inline(never)]
    fn transmit(&mut self, now: Time, number: u64, again: bool, segment: &mut Segment) {
        if self.is_idle() && self.congestion.counters.sent > 0 {
            self.restart(now);
        }
        self.congestion.counters.retransmitted += u32::from(again);
        self.recovery.sent(number, self.congestion.counters.sent, now);
        self.congestion.sent(number, now, || self.recovery.in_flight() as u32);
        self.last_sent = now;
        let times_one = !self.habits.timestamps || self.habits.keeps_back_off;
        if self.timed.is_none() && !again && times_one {
            self.timed = Some((number, now));
        }
        if self.retransmit_at == Time::NEVER
            || again
                && number == self.first()
                && self.timer == Timer::Retransmission
                && self.habits.detection == Detection::ByTime
        {
            self.restart_timer(now);
        } else if !again && self.timer == Timer::Probe {
            self.rearm(now);
        }
        if !again {
            self.set_probe_timer(now);
        }
        let burst = self.release.one_left();
        if let Some(packets) = burst {
            self.space(now, packets);
        }
        // Linux says so of what leaves as one, and of the end of what was written
        // (`__tcp_transmit_skb`, `tcp_push`).
        let pushes = burst.is_some_and(|packets| packets > 1) || number + 1 == self.offered;
        let (ecn, reduced) = match &mut self.congestion.marks {
            Some(marks) => marks.on_departure(again),
            None => (Ecn::NotCapable, false),
        };
        *segment = Segment {
            number,
            stamp: now,
            echoed_stamp: self.echo,
            bytes: self.packet_bytes,
            header: Header::Data(DataHeader {
                retransmission: again,
                ecn,
                reduced,
                pushes,
                request: Request::Nothing,
                quic: None,
            }),
        };
        if self.congestion.asks() {
            self.ask_routers(segment);
        }
    }

    /// Puts the controller's request into a packet.
    // Inlined, every packet's request takes a detour by the stack, also if it asks nothing.
    #[cold]
    #[inline(never)]
    fn ask_routers(&self, segment: &mut Segment) {
        if let Some(request) = segment.request() {
            *request = self.congestion.request();
        }
    }

    /// Schedules the burst after one of `packets` that left at `now`.
    #[inline]
    fn space(&mut self, now: Time, packets: u32) {
        let (congestion, recovery) = (&self.congestion, &self.recovery);
        let (limit, rtt) = (self.window_limit, &self.rtt);
        self.release.left(now, packets, congestion, || {
            let outstanding = recovery.end() - recovery.first();
            Spread::new(congestion, limit, outstanding, rtt.estimate())
        });
    }

    /// What packets are spread by.
    fn spread(&self) -> Spread {
        let outstanding = self.recovery.end() - self.first();
        Spread::new(&self.congestion, self.window_limit, outstanding, self.rtt.estimate())
    }
}

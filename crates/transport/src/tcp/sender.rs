//! The TCP sender: turns an application's data into segments, as far as the controller, the
//! recovery and the pacer allow.

use super::autosize::{self, Chance};
use super::estimates::{BandwidthShare, Estimate, FourHops};
use super::handshake::{self, Handshake};
use super::marks::Marks;
use super::rate_sampler::{RateSampler, Sending};
use super::recovery::{Answer, Ears, Next, Recovery};
use super::usage::{Pause, Usage};
use super::{Detection, Habits, Metering, Quantum, RecoveryKind, probe};
use crate::limits::Limits;
use crate::{
    AckHeader, Counters, DataHeader, Header, Limited, Outstanding, Pacer, RttEstimator, Segment,
    SendLimit, Ticks, Timeouts,
};
use narrows_control::{
    Ack, Controller, Gaps, Idle, Mark, Pacing, RateSample, Restart, Rtt, Timeout,
};
use narrows_signal::{Ecn, Reply, Request};
use narrows_units::{Duration, Stream, Time};
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
    /// Paces a controller that does not pace itself.
    pub pacing: Option<Spacing>,
    /// Packets that leave together, as with segmentation offload.
    pub quantum: Quantum,
    /// If true, packets are ECN-capable and marks are answered as RFC 3168 says, even if the
    /// controller does not ask for ECN; a controller that does ask takes precedence.
    pub ecn: bool,
    /// If true, retransmissions are ECN-capable, too, as RFC 2481 lets them and ns-2 has them; RFC
    /// 3168 §6.1.5 forbids it.
    pub ecn_retransmit: bool,
    /// The random stream that exponential gaps are drawn from.
    pub stream: Stream,
}

impl TcpSettings {
    /// Settings without pacing or ECN, for packets that leave one by one and a receiver whose
    /// window does not limit the sender.
    pub fn new(
        recovery: RecoveryKind,
        habits: Arc<Habits>,
        packet_bytes: u32,
        stream: Stream,
    ) -> Self {
        Self {
            recovery,
            habits,
            packet_bytes,
            window_limit: f64::INFINITY,
            pacing: None,
            quantum: Quantum::Packets(1),
            ecn: false,
            ecn_retransmit: false,
            stream,
        }
    }
}

/// How packets are spaced if the controller leaves that to the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// One window per round trip, with such gaps.
    Window(Gaps),
    /// As TCP over Linux's fq: 2.0 windows per round trip while the window is below half the
    /// threshold, then 1.2, and the first ten packets of a connection at once
    /// (`tcp_update_pacing_rate` in net/ipv4/tcp_input.c).
    Fq,
    /// One window per round trip by a token bucket that holds this many tokens.
    Bucket(u32),
    /// By Westwood's estimate of the bandwidth share, see `estimates.rs`.
    BandwidthShare,
    /// By the delay of four hops, on a path of this many links, see `estimates.rs`.
    FourHops(u32),
}

impl Spacing {
    fn pacer(self, stream: Stream) -> Pacer {
        let pacer = Pacer::new(stream);
        if let Self::Bucket(tokens) = self { pacer.with_bucket(tokens) } else { pacer }
    }

    /// Whether it depends on what acknowledgements say.
    fn hears(self) -> bool {
        !matches!(self, Self::Window(_) | Self::Fq)
    }

    fn estimate(self) -> Option<Box<Estimate>> {
        let estimate = match self {
            Self::Window(_) | Self::Fq | Self::Bucket(_) => return None,
            Self::BandwidthShare => Estimate::BandwidthShare(BandwidthShare::default()),
            Self::FourHops(hops) => Estimate::FourHops(FourHops::new(hops)),
        };
        Some(Box::new(estimate))
    }
}

/// A TCP sender with recovery `R`: compiled for it, because each packet asks it a dozen things. Its
/// methods are [`Sender`](super::Sender)'s.
pub(super) struct SenderOver<R> {
    controller: Box<dyn Controller>,
    recovery: R,
    rtt: RttEstimator,
    pacer: Pacer,
    /// What paces it instead of the window.
    estimate: Option<Box<Estimate>>,
    /// The stamp of the last acknowledgement, which data echoes (TSecr).
    echo: Time,
    /// Whether anything but the controller hears of acknowledgements: an estimate, a bucket.
    tells_pacing: bool,
    sampler: Option<Box<RateSampler>>,
    marks: Option<Marks>,
    /// Whether the controller decides in a recovery, too.
    own_recovery: bool,
    /// Whether the controller has a timer of its own.
    has_timer: bool,
    /// Whether packets carry the controller's requests to routers.
    asks: bool,
    /// Whether the SYN does, too.
    asks_from_syn: bool,
    habits: Arc<Habits>,
    pacing: Option<Spacing>,
    packet_bytes: u32,
    /// The receiver's own window in packets.
    receive_window: f64,
    /// The window that acknowledgements advertise, in packets: the receiver's own, unless a router
    /// on their way has lowered it.
    window_limit: f64,
    /// The same in whole packets.
    window_limit_packets: u64,
    quantum: Quantum,
    /// The longest time that a burst may take, if the controller sets it.
    longest_burst: Option<Duration>,
    /// Packets of the burst that is leaving: those still to go, and the total.
    burst: (u32, u32),
    offered: u64,
    /// Karn's rule: the packet being timed, and when it left.
    timed: Option<(u64, Time)>,
    handshake: Handshake,
    ticks: Ticks,
    timer: Timer,
    /// When the timer expires.
    retransmit_at: Time,
    last_sent: Time,
    /// The timer has expired since the lowest number outstanding advanced.
    timed_out: bool,
    /// The losses of a timeout have been repaired once everything below this number is
    /// acknowledged.
    timed_out_below: u64,
    usage: Usage,
    waits_for_pacer: bool,
    limits: Limits,
    counters: Counters,
}

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
            controller: &mut *$sender.controller,
            now: $now,
            next: $sender.counters.sent,
            counters: &mut $sender.counters,
            rtt: &$sender.rtt,
            timestamps: $sender.habits.timestamps,
            sampler: $sender.sampler.as_deref_mut(),
            answered_to: $sender.marks.map_or(0, |marks| marks.answers_losses_to()),
        }
    };
}

impl<R: Recovery> SenderOver<R> {
    pub fn new(settings: TcpSettings, controller: Box<dyn Controller>) -> Self {
        let TcpSettings {
            recovery,
            habits,
            packet_bytes,
            window_limit,
            pacing,
            quantum,
            ecn,
            ecn_retransmit,
            stream,
        } = settings;
        let needs = controller.needs();
        let metering = if needs.own_recovery { Metering::ByLaw } else { habits.metering };
        let recovery = R::new(recovery, metering, &habits);
        let samples = needs.rate_samples && R::TELLS_DELIVERIES;
        Self {
            controller,
            recovery,
            sampler: samples.then(Box::default),
            marks: Marks::new(needs, ecn, ecn_retransmit),
            own_recovery: needs.own_recovery,
            has_timer: needs.timer,
            asks: needs.routers,
            asks_from_syn: needs.routers_from_syn,
            rtt: RttEstimator::default(),
            pacer: pacing.map_or(Pacer::new(stream.clone()), |spacing| spacing.pacer(stream)),
            estimate: pacing.and_then(Spacing::estimate),
            echo: Time::ZERO,
            tells_pacing: pacing.is_some_and(Spacing::hears),
            handshake: Handshake::new(habits.handshake),
            usage: Usage::new(),
            habits,
            pacing,
            packet_bytes,
            receive_window: window_limit,
            window_limit,
            window_limit_packets: window_limit as u64,
            quantum,
            longest_burst: needs.burst,
            burst: (0, 0),
            offered: 0,
            timed: None,
            ticks: Ticks::default(),
            timer: Timer::Retransmission,
            retransmit_at: Time::NEVER,
            last_sent: Time::ZERO,
            timed_out: false,
            timed_out_below: 0,
            waits_for_pacer: false,
            limits: Limits::new(),
            counters: Counters::default(),
        }
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
        self.controller = controller;
        self.rtt = RttEstimator::default();
        self.pacer.renew();
        self.estimate = self.pacing.and_then(Spacing::estimate);
        self.timed = None;
        self.burst = (0, 0);
        self.recovery.renew();
        self.handshake = Handshake::new(self.habits.handshake);
        self.usage = Usage::new();
        self.marks.iter_mut().for_each(Marks::renew);
        // The rate sampler goes on: packets of the old connection may still be acknowledged, and
        // samples are of differences only.
    }

    pub fn on_ack(&mut self, now: Time, ack: &Segment) {
        let header = match &ack.header {
            Header::Ack(header) => header,
            Header::SynAck(reply) => return self.accepted(now, ack, *reply),
            _ => &AckHeader::NOTHING,
        };
        if !matches!(self.handshake, Handshake::Done) {
            // It answers a connection that is over.
            return;
        }
        let prior_in_flight = self.sampler.as_ref().map(|_| self.in_flight());
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
            self.controller.on_ack(&Ack {
                now,
                packets,
                newest: answer.newest,
                next: self.counters.sent,
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
        if self.tells_pacing {
            self.tell_pacing(now, answer.packets, rtt_is_fresh);
        }
    }

    /// Lets the recovery handle an acknowledgement.
    #[inline]
    fn recover(&mut self, now: Time, ack: &Segment) -> Answer {
        if self.sampler.is_none()
            && let Some(answer) = self.recovery.advance(ack, self.habits.timestamps)
        {
            return answer;
        }
        let (was_recovering, epochs) = (self.recovery.recovering(), self.counters.epochs);
        let answer = self.recovery.on_ack(ack, &mut ears!(self, now));
        let begins = self.recovery.recovering() && !was_recovering;
        if begins {
            self.timed = None;
        }
        if self.counters.epochs > epochs || begins {
            self.say_reduced();
        }
        answer
    }

    /// What an acknowledgement says besides what has arrived: a window, if a router has lowered it
    /// for a sender that asks nothing, and whether a mark is echoed.
    #[inline]
    fn hear(&mut self, header: &AckHeader, advances: bool) {
        if !self.asks
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

    /// What paces the sender hears of an acknowledgement of `packets`.
    #[cold]
    fn tell_pacing(&mut self, now: Time, packets: u64, rtt_is_fresh: bool) {
        let Some(rtt) = self.rtt.estimate() else { return };
        if let Some(estimate) = &mut self.estimate {
            estimate.hear(now, packets, rtt_is_fresh.then_some(rtt.latest));
        }
        self.pacer.refill(now, self.paced_window(), &rtt);
    }

    /// The rate sample of an acknowledgement before which `prior_in_flight` packets were in flight.
    fn rate_sample(&mut self, now: Time, prior_in_flight: u64) -> Option<RateSample> {
        let first = self.first();
        let sampler = self.sampler.as_mut()?;
        let repairing = self.recovery.repairing() || first < self.timed_out_below;
        let departs_in = self.pacer.ready_at().since(now);
        sampler.take(first, &Sending { prior_in_flight, repairing, departs_in })
    }

    /// The connection is accepted: data may leave, and the RTT is known.
    fn accepted(&mut self, now: Time, answer: &Segment, reply: Reply) {
        let Handshake::Asked(times) = self.handshake else { return };
        self.handshake = Handshake::Done;
        self.retransmit_at = Time::NEVER;
        self.echo = answer.stamp;
        if self.habits.timestamps || times == 1 {
            self.take_rtt(now, answer.echoed_stamp, answer.number);
        }
        if reply != Reply::Nothing {
            self.controller.on_accepted(reply, self.rtt.estimate());
        }
        if !self.is_idle() {
            self.restart_timer(now);
        }
    }

    pub fn on_wakeup(&mut self, now: Time) {
        if self.has_timer && self.controller.wakes_at() <= now {
            self.controller.on_timer(now);
        }
        if self.retransmit_at > now {
            return;
        }
        self.retransmit_at = Time::NEVER;
        match (self.handshake, self.timer) {
            (Handshake::Asked(times), _) => {
                self.counters.timeouts += 1;
                if times > handshake::LINEAR_TIMEOUTS {
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
        if let Some(marks) = &mut self.marks
            && std::mem::take(&mut marks.stopped)
            && self.is_idle()
        {
            return;
        }
        self.counters.timeouts += 1;
        self.limits.timed_out(self.timeout(), now);
        self.rtt.back_off();
        self.timed = None;
        self.burst = (0, 0);
        let again = std::mem::replace(&mut self.timed_out, true);
        let timed_out = self.recovery.on_timeout(again, &mut ears!(self, now));
        self.timed_out_below = self.recovery.end();
        let (opens_epoch, in_flight) = (timed_out.opens_epoch, timed_out.in_flight);
        self.controller.on_timeout(&Timeout { now, opens_epoch, in_flight });
        self.say_reduced();
        self.restart_timer(now);
    }

    /// The next new packet tells the receiver that the window has been reduced (RFC 3168 §6.1.2).
    fn say_reduced(&mut self) {
        if let Some(marks) = &mut self.marks {
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
        matches!(next, Next::New | Next::Again(_)) && self.pacer.ready_at() <= now
    }

    #[inline]
    pub fn transmit_into(&mut self, now: Time, segment: &mut Segment) -> bool {
        self.waits_for_pacer = false;
        if !matches!(self.handshake, Handshake::Done) {
            return self.ask(now, segment);
        }
        if self.is_stopped() {
            return false;
        }
        let paced = self.pacer.ready_at() > now && self.burst.0 == 0 && !self.recovery.probing();
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
            let is_used = !self.habits.validates_window || self.pacer_follows_window();
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

    /// True if a window is spread over a round trip: without the pacer's delay it would have been
    /// used (RFC 9002 §7.8). Linux's own pacing is faster than that, and lets the window be the
    /// limit.
    fn pacer_follows_window(&self) -> bool {
        matches!(self.controller.pacing(), Pacing::Unpaced)
            && !matches!(self.pacing, None | Some(Spacing::Fq))
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
        let request = if self.asks_from_syn { self.controller.request() } else { Request::Nothing };
        let header = Header::Syn(request);
        *segment = Segment::data(self.recovery.end(), now, handshake::BYTES, header);
        true
    }

    /// Packets that the controller lets be in flight: below one it is for the pacer to wait.
    fn flight_limit(&self) -> f64 {
        self.controller.flight_limit().max(1.0)
    }

    /// One past the highest number that the application and the receiver's window let leave (RFC
    /// 9293 §3.8.6).
    fn sendable(&self) -> u64 {
        self.offered.min(self.first().saturating_add(self.window_limit_packets))
    }

    fn has_new(&self) -> bool {
        self.recovery.end() < self.offered
    }

    /// Nothing more leaves at `now` because of `limit`, or because losses are being repaired.
    #[inline]
    fn waits(&mut self, now: Time, limit: SendLimit) {
        let repairs = !self.own_recovery && self.recovery.repairing();
        self.limits.set(if repairs { SendLimit::Recovery } else { limit }, now);
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
        let window = self.controller.window();
        // A law that paces its window may let more be in flight than that.
        let is_full = is_full || self.in_flight() as f64 + 1.0 > flight.min(window.max(1.0));
        let unused = self.usage.pause(&Pause {
            now,
            is_full,
            outstanding: (self.first(), self.recovery.end()),
            window,
            ssthresh: self.controller.ssthresh(),
            timeout: self.timeout(),
            is_open: !self.recovery.repairing(),
        });
        if let Some(used) = unused.filter(|_| self.habits.restart != Restart::Never) {
            self.controller.on_unused(used);
        }
    }

    /// True if the window, not the application or the receiver, is what held the sender back.
    fn uses_window(&self) -> bool {
        self.usage.was_full()
            || self.habits.validates_window
                && self.usage.is_used(self.controller.window(), self.controller.ssthresh())
    }

    /// The application or the receiver's window is the limit.
    fn wait_for_data(&mut self, now: Time, flight: f64) {
        self.pause(now, false, flight);
        let in_flight = self.in_flight();
        self.waits(now, if self.has_new() { SendLimit::Receiver } else { SendLimit::Application });
        if let Some(sampler) = &mut self.sampler
            && self.recovery.end() >= self.offered
        {
            sampler.application_limits(in_flight);
        }
    }

    pub fn pace_at(&self) -> Time {
        if self.waits_for_pacer { self.pacer.ready_at() } else { Time::NEVER }
    }

    pub fn retransmit_at(&self) -> Time {
        if self.has_timer {
            return self.retransmit_at.min(self.controller.wakes_at());
        }
        self.retransmit_at
    }

    pub fn controller(&self) -> &dyn Controller {
        &*self.controller
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

    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    pub fn limited(&self, now: Time) -> Limited {
        self.limits.spent(now)
    }

    /// Tells the controller about packets that arrived with a mark; returns their number.
    #[inline]
    fn tell_marks(&mut self, now: Time, ack: &AckHeader, newest: u64) -> f64 {
        if self.marks.is_none() { 0.0 } else { self.tell_of_marks(now, ack, newest) }
    }

    fn tell_of_marks(&mut self, now: Time, ack: &AckHeader, newest: u64) -> f64 {
        let reduced = self.recovery.recovering() || self.recovery.repairing();
        let Some(marks) = &mut self.marks else { return 0.0 };
        marks.heard(ack.ece);
        let packets = marks.newly(ack);
        if packets > 0.0 {
            let opens_epoch = !reduced && newest >= marks.answered_to;
            if opens_epoch {
                marks.answered_to = self.counters.sent;
                marks.says_reduced = true;
            }
            if opens_epoch && marks.answered_at(self.controller.window()) {
                self.rtt.back_off();
            }
            self.controller.on_mark(&Mark { now, packets, opens_epoch });
            if opens_epoch {
                self.recovery.reduces_for_mark();
            }
        }
        packets
    }

    /// True if a mark has stopped the sender until the timer goes off.
    fn is_stopped(&self) -> bool {
        self.marks.is_some_and(|marks| marks.stopped)
    }

    /// RFC 3168 §6.1.2: the window does not grow for an acknowledgement that echoes a mark.
    fn is_echo(&self, ack: &AckHeader) -> bool {
        ack.ece && self.marks.is_some_and(|marks| marks.classic)
    }

    fn timeout(&self) -> Duration {
        self.rtt.timeout(&self.habits.timeouts)
    }

    /// True if nothing is outstanding.
    fn is_idle(&self) -> bool {
        self.first() == self.recovery.end()
    }

    /// Takes an RTT sample from a new acknowledgement, by its timestamp or from the packet being
    /// timed; returns true if there is one.
    fn measure_rtt(&mut self, now: Time, ack: &Segment) -> bool {
        let timed = self.timed.take_if(|(number, _)| *number < ack.number);
        let keeps = self.marks.is_some_and(|marks| {
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
        self.counters.rtt_samples += 1;
        self.counters.rtt_sum += rtt.seconds();
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
    fn restart_timer(&mut self, now: Time) {
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
        if self.burst.0 > 0 {
            return true;
        }
        let mut burst = 1;
        if !matches!(self.quantum, Quantum::Packets(1)) && !again && !self.recovery.probing() {
            let half_window = (window / 2.0).max(1.0) as u64;
            let room = (window as u64).saturating_sub(self.in_flight());
            let waiting = self.offered - self.recovery.end();
            let aim = match self.quantum {
                Quantum::Packets(packets) => packets.min(self.longest_burst()),
                Quantum::Auto => self.autosize(),
            };
            let aim = u64::from(aim).min(half_window).min(waiting);
            if room < aim && self.in_flight() > 0 && self.defers(now, room, window) {
                return false;
            }
            burst = aim.min(room.max(1));
        }
        self.burst = (burst as u32, burst as u32);
        true
    }

    /// Packets that may leave together for as long as the controller says.
    fn longest_burst(&self) -> u32 {
        let Some((longest, rtt)) = self.longest_burst.zip(self.rtt.estimate()) else {
            return u32::MAX;
        };
        (self.rate(&rtt) * longest.seconds()).max(1.0) as u32
    }

    /// Packets per second that the flow is paced at, or would be.
    fn rate(&self, rtt: &Rtt) -> f64 {
        match self.controller.pacing() {
            Pacing::Rate { packets_per_second, .. } => packets_per_second,
            Pacing::Window { gain, .. } => self.paced_window() * gain / rtt.smoothed.seconds(),
            Pacing::Unpaced => self.pacing_rate(rtt),
        }
    }

    /// Packets that leave together at the flow's pacing rate.
    fn autosize(&self) -> u32 {
        let Some(rtt) = self.rtt.estimate() else { return self.habits.initial_window as u32 };
        if self.longest_burst.is_some() {
            return self.longest_burst();
        }
        let rate = self.rate(&rtt);
        let headers = if self.habits.timestamps { 52.0 } else { 40.0 };
        let least = self.controller.least_burst();
        autosize::burst(rate, rtt.minimum, f64::from(self.packet_bytes) - headers, least)
    }

    fn pacing_rate(&self, rtt: &Rtt) -> f64 {
        let outstanding = self.recovery.end() - self.first();
        let (window, ssthresh) = (self.controller.window(), self.controller.ssthresh());
        autosize::pacing_rate(window.min(self.window_limit), ssthresh, outstanding, rtt)
    }

    /// True if a burst that is too small for now waits for more room: one of a fixed size always
    /// does, Linux's seldom.
    fn defers(&self, now: Time, room: u64, window: f64) -> bool {
        if self.quantum != Quantum::Auto {
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
    fn restart(&mut self, now: Time) {
        // A stamp from before the silence would be taken for an RTT as long.
        self.echo = Time::ZERO;
        let (length, timeout) = (now.since(self.last_sent), self.timeout());
        self.controller.on_restart(&Idle {
            now,
            length,
            timeout,
            restart: self.habits.restart,
            app_limited: self.sampler.as_ref().is_some_and(|sampler| sampler.is_app_limited()),
        });
        self.recovery.restarted(self.controller.window());
    }

    /// Puts the packet `number`, which leaves at `now`, into `segment`.
    // Inlined, the segment would be put together from its parts three times.
    #[inline(never)]
    fn transmit(&mut self, now: Time, number: u64, again: bool, segment: &mut Segment) {
        if self.is_idle() && self.counters.sent > 0 {
            self.restart(now);
        }
        let transmission = self.counters.sent;
        self.counters.sent += 1;
        self.counters.retransmitted += u32::from(again);
        self.recovery.sent(number, transmission, now);
        if let Some(sampler) = &mut self.sampler {
            sampler.sent(number, now, self.recovery.in_flight() as u32);
        }
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
        self.burst.0 -= 1;
        let ends_burst = self.burst.0 == 0;
        if ends_burst {
            self.space(now, self.burst.1);
        }
        // Linux says so of what leaves as one, and of the end of what was written
        // (`__tcp_transmit_skb`, `tcp_push`).
        let pushes = ends_burst && self.burst.1 > 1 || number + 1 == self.offered;
        let (ecn, reduced) = match &mut self.marks {
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
        if self.asks {
            self.ask_routers(segment);
        }
    }

    /// Puts the controller's request into a packet.
    // Inlined, every packet's request takes a detour by the stack, also if it asks nothing.
    #[cold]
    #[inline(never)]
    fn ask_routers(&self, segment: &mut Segment) {
        if let Some(request) = segment.request() {
            *request = self.controller.request();
        }
    }

    /// Schedules the burst after one of `packets` that left at `now`.
    #[inline]
    fn space(&mut self, now: Time, packets: u32) {
        match (self.controller.pacing(), self.pacing) {
            (Pacing::Unpaced, None) => self.pacer.sent_unpaced(packets),
            (pacing, spacing) => self.pace(now, packets, pacing, spacing),
        }
    }

    fn pace(&mut self, now: Time, packets: u32, pacing: Pacing, spacing: Option<Spacing>) {
        let rtt = self.rtt.estimate();
        let pacing = match (pacing, spacing) {
            (Pacing::Unpaced, Some(Spacing::Window(gaps))) => Pacing::Window { gain: 1.0, gaps },
            (Pacing::Unpaced, Some(Spacing::Bucket(_))) => {
                Pacing::Window { gain: 1.0, gaps: Gaps::Even }
            }
            (Pacing::Unpaced, Some(Spacing::BandwidthShare | Spacing::FourHops(_))) => {
                self.pacing_by_estimate()
            }
            (Pacing::Unpaced, Some(Spacing::Fq)) => {
                if let Some(rtt) = &rtt {
                    let rate = self.pacing_rate(rtt);
                    self.pacer.sent_over_fq(now, packets, rate);
                }
                return;
            }
            (pacing, _) => pacing,
        };
        self.pacer.sent(now, packets, pacing, self.paced_window(), rtt.as_ref());
    }

    /// The estimate's pacing; the window's before there is one.
    fn pacing_by_estimate(&self) -> Pacing {
        let gaps = Gaps::Even;
        let grows_fast = self.controller.window() < self.controller.ssthresh() / 2.0;
        let gap = self.estimate.as_ref().and_then(|estimate| estimate.gap(grows_fast));
        gap.map_or(Pacing::Window { gain: 1.0, gaps }, |gap| Pacing::Rate {
            packets_per_second: 1.0 / gap,
            gaps,
        })
    }

    /// The window in packets that is spread over a round trip.
    fn paced_window(&self) -> f64 {
        self.controller.window().min(self.window_limit)
    }
}

//! The TCP sender: turns an application's data into segments, as far as the controller, the
//! recovery and the pacer allow.

use super::rate_sampler::RateSampler;
use super::recovery::{AnyRecovery, Ears, Next, Recovery};
use super::{Habits, Metering, RecoveryKind};
use crate::{AckHeader, Counters, DataHeader, Header, Outstanding, Pacer, RttEstimator, Segment};
use narrows_control::{Ack, Controller, Gaps, Idle, Mark, Needs, Pacing, Restart, Rtt, Timeout};
use narrows_signal::{Ecn, Request};
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
    /// Paces a controller that does not pace itself, at one window per round trip.
    pub pacing: Option<Gaps>,
    /// Packets that leave together, as with segmentation offload; 1 without it.
    pub quantum: u32,
    /// If true, packets are ECN-capable and marks are answered as RFC 3168 says, even if the
    /// controller does not ask for ECN; a controller that does ask takes precedence.
    pub ecn: bool,
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
            quantum: 1,
            ecn: false,
            stream,
        }
    }
}

/// A TCP sender.
///
/// Feed it with [`on_ack`](Self::on_ack) and [`on_wakeup`](Self::on_wakeup). After each of these
/// calls, and after [`offer`](Self::offer), call [`poll_transmit`](Self::poll_transmit) until it
/// returns `None`; then wake the sender at [`pace_at`](Self::pace_at) and
/// [`retransmit_at`](Self::retransmit_at).
pub struct Sender {
    controller: Box<dyn Controller>,
    recovery: AnyRecovery,
    rtt: RttEstimator,
    pacer: Pacer,
    sampler: Option<Box<RateSampler>>,
    marks: Option<Marks>,
    /// Whether packets carry the controller's requests to routers.
    asks: bool,
    habits: Arc<Habits>,
    pacing: Option<Gaps>,
    packet_bytes: u32,
    window_limit: f64,
    quantum: u32,
    /// Packets of the burst that is leaving: those still to go, and the total.
    burst: (u32, u32),
    offered: u64,
    /// Karn's rule: the packet being timed, and when it left.
    timed: Option<(u64, Time)>,
    retransmit_at: Time,
    last_sent: Time,
    /// The timer has expired since the last acknowledgement of something new.
    timed_out: bool,
    window_limited: bool,
    waits_for_pacer: bool,
    counters: Counters,
}

/// What a sender knows of marks, if its controller or its user asks for ECN.
#[derive(Clone, Copy, Debug)]
struct Marks {
    /// The ECN bits that new data carries.
    leaves_as: Ecn,
    /// If true, the receiver echoes marks (RFC 3168); otherwise it counts them (RFC 9768).
    classic: bool,
    /// The latest value seen of the receiver's counter.
    counted: u16,
    /// A mark or a loss of this transmission or a later one belongs to a new window of data.
    answered_to: u64,
    /// The law hears of each recovery that begins, even if it has answered a mark in that window.
    own_recovery: bool,
    /// The next new packet tells the receiver that the sender has responded to its echo.
    says_reduced: bool,
}

impl Marks {
    /// `None` if nobody asks for ECN.
    fn new(needs: Needs, classic: bool) -> Option<Self> {
        let asked = needs.ecn;
        let leaves_as = if asked.is_capable() { asked } else { Ecn::Capable };
        let classic = classic && !asked.is_capable();
        (classic || asked.is_capable()).then_some(Self {
            leaves_as,
            classic,
            counted: 0,
            answered_to: 0,
            own_recovery: needs.own_recovery,
            says_reduced: false,
        })
    }

    /// A loss of an earlier transmission is in a window of data whose marks have been answered: the
    /// window is not cut again (RFC 3168 §6.1.2; Linux's `tcp_enter_recovery` in CWR).
    fn answers_losses_to(&self) -> u64 {
        if self.own_recovery { 0 } else { self.answered_to }
    }

    /// Packets marked since the last acknowledgement, as far as the sender knows: an echo counts as
    /// one.
    fn newly(&mut self, ack: &AckHeader) -> f64 {
        let new = ack.marked.wrapping_sub(self.counted);
        self.counted = ack.marked;
        if self.classic { f64::from(u8::from(ack.ece)) } else { f64::from(new) }
    }
}

impl Sender {
    /// Creates a sender that has no data to send.
    pub fn new(settings: TcpSettings, controller: Box<dyn Controller>) -> Self {
        let TcpSettings {
            recovery,
            habits,
            packet_bytes,
            window_limit,
            pacing,
            quantum,
            ecn,
            stream,
        } = settings;
        let needs = controller.needs();
        let metering = if needs.own_recovery { Metering::ByPipe } else { habits.metering };
        let recovery = AnyRecovery::new(recovery, metering, &habits);
        let samples = needs.rate_samples && matches!(recovery, AnyRecovery::Selective(_));
        Self {
            controller,
            recovery,
            sampler: samples.then(Box::default),
            marks: Marks::new(needs, ecn),
            asks: needs.routers,
            rtt: RttEstimator::default(),
            pacer: Pacer::new(stream),
            habits,
            pacing,
            packet_bytes,
            window_limit,
            quantum,
            burst: (0, 0),
            offered: 0,
            timed: None,
            retransmit_at: Time::NEVER,
            last_sent: Time::ZERO,
            timed_out: false,
            window_limited: false,
            waits_for_pacer: false,
            counters: Counters::default(),
        }
    }

    /// The application has `packets` more packets to send.
    pub fn offer(&mut self, packets: u64) {
        self.offered = self.offered.saturating_add(packets);
    }

    /// The application withdraws everything that has not been sent yet.
    pub fn stop(&mut self) {
        self.offered = self.recovery.end();
    }

    /// Begins a new connection where the old one ended: nothing is known of the path any more, but
    /// sequence numbers continue.
    pub fn renew(&mut self, controller: Box<dyn Controller>) {
        self.controller = controller;
        self.rtt = RttEstimator::default();
        self.pacer.renew();
        self.timed = None;
        self.burst = (0, 0);
        // The rate sampler goes on: packets of the old connection may still be acknowledged, and
        // samples are of differences only.
    }

    /// An acknowledgement arrived.
    pub fn on_ack(&mut self, now: Time, ack: &Segment) {
        let advances = ack.number > self.first();
        let rtt_is_fresh = advances && self.measure_rtt(now, ack);
        let rtt = self.rtt.estimate();
        let (next, timestamps) = (self.counters.sent, self.habits.timestamps);
        let sampler = self.sampler.as_deref_mut();
        let mut ears = Ears {
            controller: &mut *self.controller,
            counters: &mut self.counters,
            now,
            next,
            rtt,
            timestamps,
            sampler,
            answered_to: self.marks.map_or(0, |marks| marks.answers_losses_to()),
        };
        let was_recovering = self.recovery.recovering();
        let answer = self.recovery.on_ack(ack, &mut ears);
        let recovering = self.recovery.recovering();
        if recovering && !was_recovering {
            self.timed = None;
        }
        let header =
            if let Header::Ack(header) = ack.header { header } else { AckHeader::default() };
        if recovering
            && !was_recovering
            && let Some(marks) = &mut self.marks
        {
            marks.says_reduced = true;
        }
        let marked = self.tell_marks(now, &header, recovering, answer.delivered.newest);
        let first = self.first();
        let rate = self.sampler.as_mut().and_then(|sampler| sampler.take(first));
        if answer.delivered.packets > 0 {
            self.timed_out = false;
            let packets =
                if self.habits.counts_packets { answer.delivered.packets as f64 } else { 1.0 };
            self.controller.on_ack(&Ack {
                now,
                packets,
                newest: answer.delivered.newest,
                next,
                rtt,
                rtt_is_fresh,
                in_flight: self.in_flight() as f64,
                window_limited: self.window_limited && !self.recovery.regrowing(),
                recovering: recovering || !advances || self.is_echo(&header),
                marked,
                reply: header.reply,
                rate,
            });
        }
        if self.is_idle() {
            self.retransmit_at = Time::NEVER;
        } else if answer.restarts_timer {
            self.retransmit_at = now + self.timeout();
        }
    }

    /// One of the wake-up times has come.
    pub fn on_wakeup(&mut self, now: Time) {
        if self.retransmit_at > now {
            return;
        }
        self.counters.timeouts += 1;
        self.rtt.back_off();
        self.timed = None;
        self.burst = (0, 0);
        self.recovery.on_timeout();
        let opens_epoch = !std::mem::replace(&mut self.timed_out, true);
        self.controller.on_timeout(&Timeout { now, opens_epoch, in_flight: 0.0 });
        self.retransmit_at = now + self.timeout();
    }

    /// True if the window and the pacer let a packet go at `now`.
    pub fn may_transmit(&mut self, now: Time) -> bool {
        let limit = self.controller.flight_limit().min(self.window_limit);
        let next = self.recovery.next(limit, self.offered);
        matches!(next, Next::New | Next::Again(_)) && self.pacer.ready_at() <= now
    }

    /// The next segment to leave at `now`, if one may.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        let paced = self.pacer.ready_at() > now && self.burst.0 == 0;
        let window = self.controller.flight_limit();
        let limit = window.min(self.window_limit);
        let next = self.recovery.next(limit, self.offered);
        self.waits_for_pacer = false;
        let (number, again) = match next {
            Next::WaitForWindow => {
                self.window_limited = window <= self.window_limit;
                return None;
            }
            Next::WaitForData => {
                self.window_limited = false;
                let in_flight = self.in_flight();
                if let Some(sampler) = &mut self.sampler {
                    sampler.application_limits(in_flight);
                }
                return None;
            }
            Next::New => (self.recovery.end(), false),
            Next::Again(number) => (number, true),
        };
        self.window_limited = window <= self.window_limit;
        if paced {
            self.waits_for_pacer = true;
            return None;
        }
        if !self.begin_or_continue_burst(again, limit) {
            return None;
        }
        Some(self.transmit(now, number, again))
    }

    /// When the pacer lets the next packet go; never if the sender waits for something else.
    pub fn pace_at(&self) -> Time {
        if self.waits_for_pacer { self.pacer.ready_at() } else { Time::NEVER }
    }

    /// When the retransmission timer expires; never if nothing is outstanding.
    pub fn retransmit_at(&self) -> Time {
        self.retransmit_at
    }

    /// The congestion controller.
    pub fn controller(&self) -> &dyn Controller {
        &*self.controller
    }

    /// The current RTT estimate; `None` until there is a sample.
    pub fn rtt(&self) -> Option<Rtt> {
        self.rtt.estimate()
    }

    /// Estimated number of packets in flight.
    pub fn in_flight(&self) -> u64 {
        self.recovery.in_flight()
    }

    /// The lowest number that is not acknowledged, which is also the number of packets delivered in
    /// order, as far as the sender knows.
    pub fn first(&self) -> u64 {
        self.recovery.first()
    }

    /// True while a recovery is under way.
    pub fn recovering(&self) -> bool {
        self.recovery.recovering()
    }

    /// True if all data offered has been acknowledged.
    pub fn is_done(&self) -> bool {
        self.first() >= self.offered
    }

    /// The sender's counters so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Tells the controller about packets that arrived with a mark; returns their number.
    fn tell_marks(&mut self, now: Time, ack: &AckHeader, recovering: bool, newest: u64) -> f64 {
        let Some(marks) = &mut self.marks else { return 0.0 };
        let packets = marks.newly(ack);
        if packets > 0.0 {
            let opens_epoch = !recovering && newest >= marks.answered_to;
            if opens_epoch {
                marks.answered_to = self.counters.sent;
                marks.says_reduced = true;
            }
            self.controller.on_mark(&Mark { now, packets, opens_epoch });
        }
        packets
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
        let sent = if self.habits.timestamps {
            ack.echoed_stamp
        } else {
            let Some((_, sent)) = self.timed.take_if(|(number, _)| *number < ack.number) else {
                return false;
            };
            sent
        };
        let rtt = now.since(sent);
        let outstanding =
            Outstanding { first: ack.number.max(self.first()), end: self.recovery.end() };
        self.rtt.sample(rtt, &self.habits.timeouts, outstanding);
        self.counters.rtt_samples += 1;
        self.counters.rtt_sum += rtt.seconds();
        true
    }

    /// True if a packet may leave as part of a burst: either a burst is under way, or the window
    /// has room for a whole one.
    fn begin_or_continue_burst(&mut self, again: bool, window: f64) -> bool {
        if self.burst.0 > 0 {
            return true;
        }
        let mut burst = 1;
        if self.quantum > 1 && !again {
            let half_window = (window / 2.0).max(1.0) as u64;
            let room = (window as u64).saturating_sub(self.in_flight());
            let waiting = self.offered - self.recovery.end();
            burst = u64::from(self.quantum).min(half_window).min(waiting);
            if room < burst && self.in_flight() > 0 {
                return false;
            }
            burst = burst.min(room.max(1));
        }
        self.burst = (burst as u32, burst as u32);
        true
    }

    fn transmit(&mut self, now: Time, number: u64, again: bool) -> Segment {
        if self.is_idle() && self.counters.sent > 0 {
            let (length, timeout) = (now.since(self.last_sent), self.timeout());
            self.controller.on_restart(&Idle { now, length, timeout, restart: Restart::Initial });
        }
        let transmission = self.counters.sent;
        self.counters.sent += 1;
        self.counters.retransmitted += u32::from(again);
        self.recovery.sent(number, transmission, now);
        if let Some(sampler) = &mut self.sampler {
            sampler.sent(number, now, self.recovery.in_flight() as u32);
        }
        self.last_sent = now;
        if self.timed.is_none() && !again && !self.habits.timestamps {
            self.timed = Some((number, now));
        }
        if self.retransmit_at == Time::NEVER {
            self.retransmit_at = now + self.timeout();
        }
        self.burst.0 -= 1;
        if self.burst.0 == 0 {
            let rtt = self.rtt.estimate();
            let window = self.controller.window().min(self.window_limit);
            self.pacer.sent(now, self.burst.1, self.pacing(), window, rtt.as_ref());
        }
        let request = if self.asks { self.controller.request() } else { Request::Nothing };
        let (ecn, reduced) = match &mut self.marks {
            // RFC 3168 §6.1.5: a retransmission is not ECN-capable.
            Some(marks) if !again => (marks.leaves_as, std::mem::take(&mut marks.says_reduced)),
            _ => (Ecn::NotCapable, false),
        };
        Segment::data(
            number,
            now,
            self.packet_bytes,
            Header::Data(DataHeader { retransmission: again, ecn, reduced, request }),
        )
    }

    fn pacing(&self) -> Pacing {
        match (self.controller.pacing(), self.pacing) {
            (Pacing::Unpaced, Some(gaps)) => Pacing::Window { gain: 1.0, gaps },
            (pacing, _) => pacing,
        }
    }
}

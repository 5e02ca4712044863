//! The TCP sender: turns an application's data into segments, as far as the controller, the
//! recovery and the pacer allow.

use super::plain::Way;
use super::recovery::{Answer, Next, Recovery, ears};
use super::send_buffer::{Outstanding, SendBuffer, SendBufferSettings};
use super::timer::{Timer, TimerKind};
use super::usage::Usage;
use super::{Detection, Habits, Metering, RecoveryKind};
use crate::congestion::{
    Abilities, Congestion, EcnOfUser, Path, Quantum, Release, Sending, Spacing,
};
use crate::handshake::Handshake;
use crate::{AckHeader, DataHeader, Header, RttEstimator, Segment, SendLimit, Ticks};
use narrows_control::{Ack, Controller, RateSample, Rtt};
use narrows_signal::{Ecn, Reply, Request};
use narrows_units::Time;
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
    /// The sender's own buffer; none if it does not limit the sender.
    pub send_buffer: Option<SendBufferSettings>,
    /// How packets are spaced; not as QUIC recommends.
    pub pacing: Option<Spacing>,
    /// Packets that leave together, as with segmentation offload.
    pub quantum: Quantum,
    /// What the user asks of ECN.
    pub ecn: EcnOfUser,
}

impl TcpSettings {
    /// Settings without pacing or ECN, for packets that leave one by one and hosts whose buffers do
    /// not limit the sender.
    pub fn new(recovery: RecoveryKind, habits: Arc<Habits>, packet_bytes: u32) -> Self {
        Self {
            recovery,
            habits,
            packet_bytes,
            window_limit: f64::INFINITY,
            send_buffer: None,
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
    pub(super) limit: ReceiveLimit,
    /// One past the highest number that the application has, and one past the highest that it has
    /// written: all, unless the send buffer has no room.
    pub(super) offered: u64,
    pub(super) written: u64,
    pub(super) buffer: Option<Box<SendBuffer>>,
    /// Karn's rule: the packet being timed, and when it left.
    pub(super) timed: Option<(u64, Time)>,
    pub(super) handshake: Handshake,
    pub(super) timer: Timer,
    pub(super) last_sent: Time,
    pub(super) usage: Usage,
    /// One past the highest number sent when the host's device last had no room.
    refused_to: u64,
    pub(super) waits_for_pacer: bool,
    pub(super) way: Way,
}

/// Bytes of a SYN and of its answer on the wire: IPv4 and TCP headers, with the options for the
/// segment size, selective acknowledgements, timestamps and the window scale, padded.
pub(crate) const SYN_BYTES: u32 = 60;
/// How much the receiver lets leave.
pub(super) struct ReceiveLimit {
    /// The receiver's own window in packets.
    pub own: f64,
    /// The window that acknowledgements advertise, in packets: the receiver's own, unless a router
    /// on their way has lowered it.
    pub packets: f64,
    /// The same in whole packets.
    pub whole: u64,
}

impl ReceiveLimit {
    pub(super) fn new(packets: f64) -> Self {
        Self { own: packets, packets, whole: packets as u64 }
    }
}

impl<R: Recovery> Sender<R> {
    pub fn new(settings: TcpSettings, controller: Box<dyn Controller>, path: Path) -> Self {
        let TcpSettings {
            recovery,
            habits,
            packet_bytes,
            window_limit,
            send_buffer,
            pacing,
            quantum,
            ecn,
        } = settings;
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
            limit: ReceiveLimit::new(window_limit),
            offered: 0,
            written: 0,
            buffer: None,
            timed: None,
            timer: Timer::new(),
            last_sent: Time::ZERO,
            refused_to: 0,
            waits_for_pacer: false,
            way: if cfg!(general) { Way::OnlyGeneral } else { Way::General },
        };
        sender.buffer = send_buffer.map(|settings| {
            let overhead = f64::from(sender.habits.burst_memory);
            Box::new(SendBuffer::new(settings, sender.payload(), overhead))
        });
        sender.way = sender.find_way();
        sender
    }

    /// Bytes of data in a packet.
    pub(super) fn payload(&self) -> f64 {
        let headers = if self.habits.timestamps { 52.0 } else { 40.0 };
        f64::from(self.packet_bytes) - headers
    }

    pub fn go_general(&mut self) {
        self.way = Way::OnlyGeneral;
    }

    pub fn set_ticks(&mut self, ticks: Ticks) {
        self.timer.ticks = ticks;
    }

    pub fn offer(&mut self, packets: u64) {
        self.offered = self.offered.saturating_add(packets);
        self.note_written();
    }

    pub fn stop(&mut self) {
        self.offered = self.recovery.end();
        self.note_written();
    }

    pub fn renew(&mut self, controller: Box<dyn Controller>) {
        self.congestion.renew(controller);
        self.release.renew();
        self.rtt = RttEstimator::default();
        self.timer.departed = Time::NEVER;
        self.timed = None;
        self.recovery.renew();
        if let Some(buffer) = &mut self.buffer {
            buffer.renew(self.recovery.end());
        }
        self.note_written();
        self.handshake = Handshake::new(self.habits.handshake);
        self.usage = Usage::new();
        self.way = self.find_way();
    }

    #[inline]
    pub fn on_ack(&mut self, now: Time, ack: &Segment) {
        let is_heard = self.way == Way::ByCount && self.hear_plain(now, ack)
            || self.way == Way::ByTime && self.hear_by_time(now, ack);
        if !is_heard {
            self.hear_any(now, ack);
        }
    }

    /// Handles any acknowledgement.
    #[inline]
    pub(super) fn hear_any(&mut self, now: Time, ack: &Segment) {
        let header = match &ack.header {
            Header::Ack(header) => header,
            Header::SynAck(reply) => return self.accepted(now, ack, *reply),
            _ => &AckHeader::NOTHING,
        };
        if !matches!(self.handshake, Handshake::Done) {
            // It answers a connection that is over.
            return;
        }
        // What it says of the RTT may move the timer.
        self.timer.departed = Time::NEVER;
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
        let marked = self.tell_marks(now, header, &answer);
        let rate = prior_in_flight.and_then(|before| self.rate_sample(now, before));
        self.timer.has_expired &= !advances;
        if answer.packets > 0 {
            // By count, what has arrived out of order ends it, too, as in ns-2.
            self.timer.has_expired &= self.habits.detection == Detection::ByTime;
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
    pub(super) fn recover(&mut self, now: Time, ack: &Segment) -> Answer {
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

    /// The rate sample of an acknowledgement before which `prior_in_flight` packets were in flight.
    // Once in the browser, where size counts.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub(super) fn rate_sample(&mut self, now: Time, prior_in_flight: u64) -> Option<RateSample> {
        let first = self.first();
        let repairing = self.recovery.repairing() || first < self.timer.repairs_to;
        let departs_in = self.release.ready_at().since(now);
        self.congestion.rate_sample(first, &Sending { prior_in_flight, repairing, departs_in })
    }

    /// The connection is accepted: data may leave, and the RTT is known.
    pub(super) fn accepted(&mut self, now: Time, answer: &Segment, reply: Reply) {
        let Handshake::Asked(times) = self.handshake else { return };
        self.handshake = Handshake::Done;
        self.way = self.find_way();
        self.timer.at = Time::NEVER;
        self.echo = answer.stamp;
        if self.habits.timestamps || times == 1 {
            self.take_rtt(now, answer.echoed_stamp, answer.number);
        }
        self.congestion.accepted(reply, self.rtt.estimate());
        if !self.is_idle() {
            self.restart_timer(now);
        }
    }

    /// The host's own device has no room for what was to leave, which stays here: the window is
    /// reduced, once in a window of data, as after a mark (`tcp_enter_cwr` in `tcp_transmit_skb` of
    /// Linux's net/ipv4/tcp_output.c).
    #[cold]
    pub fn on_local_congestion(&mut self, now: Time) {
        // It tries again when something arrives, not at the pacer's next turn, which has come.
        self.waits_for_pacer = false;
        let answered = self.first() < self.refused_to;
        if answered || self.recovery.recovering() || self.recovery.repairing() {
            return;
        }
        self.refused_to = self.recovery.end();
        self.congestion.marked_by_stack(now, true);
        self.recovery.reduces_for_mark();
    }

    pub fn may_be_refused(&mut self, now: Time) -> bool {
        !self.recovery.probing() && self.in_flight() > 0 && self.may_transmit(now)
    }

    pub fn may_transmit(&mut self, now: Time) -> bool {
        if !matches!(self.handshake, Handshake::Done) {
            return matches!(self.handshake, Handshake::Due(_)) && self.has_new();
        }
        if self.is_stopped() {
            return false;
        }
        let limit = self.flight_limit().min(self.limit.packets);
        self.write();
        let next = self.recovery.next(limit, self.sendable());
        matches!(next, Next::New | Next::Again(_)) && self.release.ready_at() <= now
    }

    #[inline]
    pub fn transmit_into(&mut self, now: Time, segment: &mut Segment) -> bool {
        if self.way == Way::ByCount
            && let Some(sent) = self.transmit_plain(now, segment)
        {
            return sent;
        }
        if self.way == Way::ByTime
            && let Some(sent) = self.transmit_by_time(now, segment)
        {
            return sent;
        }
        self.transmit_any(now, segment)
    }

    #[inline]
    pub(super) fn transmit_any(&mut self, now: Time, segment: &mut Segment) -> bool {
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
        let limit = window.min(self.limit.packets);
        self.write();
        let (number, again) = match self.recovery.next(limit, self.sendable()) {
            Next::WaitForWindow => {
                self.fill_buffer();
                let own = window <= self.limit.packets;
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
            self.fill_buffer();
            self.wait_for_pacer(now, window <= self.limit.packets, window);
            return false;
        }
        if !self.begin_or_continue_burst(now, again, limit) {
            self.fill_buffer();
            self.pause(now, window <= self.limit.packets, window);
            self.waits(now, SendLimit::Window);
            return false;
        }
        self.transmit(now, number, again, segment);
        true
    }

    /// Asks for the connection, if there is data for it and nobody has asked yet.
    #[cold]
    pub(super) fn ask(&mut self, now: Time, segment: &mut Segment) -> bool {
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

    /// One past the highest number that was written and the receiver's window lets leave (RFC 9293
    /// §3.8.6).
    pub(super) fn sendable(&self) -> u64 {
        self.written.min(self.first().saturating_add(self.limit.whole))
    }

    /// The application writes as far as it need not ask for room.
    fn write(&mut self) {
        if self.buffer.is_some() && !self.release.is_bursting() {
            self.write_to(SendBuffer::write);
        }
    }

    /// What has been written stays here: the application writes what there is room for.
    pub(super) fn fill_buffer(&mut self) {
        if self.buffer.is_some() {
            self.write_to(SendBuffer::fill);
        }
    }

    #[cold]
    #[inline(never)]
    fn write_to(&mut self, write: fn(&mut SendBuffer, &Outstanding)) {
        let (first, end, sacked) =
            (self.recovery.first(), self.recovery.end(), self.recovery.sacked());
        if let Some(buffer) = &mut self.buffer {
            write(buffer, &Outstanding { first, end, sacked });
        }
        self.note_written();
    }

    /// What is offered, or what the buffer has, may have changed.
    // Inlined, it would be there eight times.
    #[inline(never)]
    fn note_written(&mut self) {
        let most = self.buffer.as_ref().map_or(u64::MAX, |buffer| buffer.written());
        self.written = self.offered.min(most);
    }

    /// Whether the application has more than the buffer has room for.
    pub(super) fn wants_to_write(&self) -> bool {
        self.written < self.offered
    }

    pub(super) fn has_new(&self) -> bool {
        self.recovery.end() < self.offered
    }

    pub fn pace_at(&self) -> Time {
        if self.waits_for_pacer { self.release.ready_at() } else { Time::NEVER }
    }

    pub fn retransmit_at(&self) -> Time {
        self.congestion.or_wakes(self.timer.at)
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

    /// True if nothing is outstanding.
    pub(super) fn is_idle(&self) -> bool {
        self.first() == self.recovery.end()
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
    pub(super) fn transmit(&mut self, now: Time, number: u64, again: bool, segment: &mut Segment) {
        if self.is_idle() && self.congestion.counters.sent > 0 {
            self.restart(now);
        }
        self.congestion.counters.retransmitted += u32::from(again);
        self.recovery.sent(number, self.congestion.counters.sent, now);
        let followers = self.release.followers(self.packet_bytes);
        self.congestion.sent(number, now, followers, || self.recovery.in_flight() as u32);
        self.last_sent = now;
        let times_one = !self.habits.timestamps || self.habits.keeps_back_off;
        if self.timed.is_none() && !again && times_one {
            self.timed = Some((number, now));
        }
        if self.timer.at == Time::NEVER
            || again
                && number == self.first()
                && self.timer.kind == TimerKind::Retransmission
                && self.habits.detection == Detection::ByTime
        {
            self.restart_timer(now);
        } else if !again && self.timer.kind == TimerKind::Probe {
            self.rearm(now);
        }
        if !again {
            self.set_probe_timer(now);
        }
        let burst = self.release.one_left();
        if let Some(packets) = burst {
            self.space(now, packets);
            if let Some(buffer) = self.buffer.as_mut().filter(|_| !again) {
                buffer.left(number + 1);
            }
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
                behind: u32::from(followers) * self.packet_bytes,
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
    pub(super) fn ask_routers(&self, segment: &mut Segment) {
        if let Some(request) = segment.request() {
            *request = self.congestion.request();
        }
    }
}
